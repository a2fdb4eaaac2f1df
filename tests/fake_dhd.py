"""The stand-in for the vendor's library, compiled and at hand."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).with_name("fake_dhd.c")


def compiled(folder: Path, *defines: str) -> Path:
    """Compile it; a machine without a C compiler cannot test the driver, and says so."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    assert compiler, "the tests of the Force Dimension driver compile a small C library: install a C compiler (cc)"
    path = folder / "libfake_dhd.so"
    flags = ["-std=c99", "-D_GNU_SOURCE", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", *defines]
    subprocess.run([compiler, *flags, str(SOURCE), "-o", str(path), "-lm"], check=True)
    return path


class Fake:
    """What tests program and look up."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.c = ctypes.CDLL(str(path))
        for name in ("fake_time", "fake_max_force", "fake_sent"):
            getattr(self.c, name).restype = ctypes.c_double
        self.c.fake_call.restype = ctypes.c_char_p
        self.c.fake_mass.argtypes = self.c.fake_wait.argtypes = [ctypes.c_double]
        self.c.fake_place.argtypes = self.c.fake_move.argtypes = [ctypes.c_double] * 3
        self.c.fake_reset()

    def fail(self, name: str, code: int) -> None:
        """Give this code from a function from now on."""
        self.c.fake_code(name.encode(), code)

    @property
    def calls(self) -> list[str]:
        """Names of all calls so far; dhdEnableForce with its argument."""
        return [self.c.fake_call(k).decode() for k in range(self.c.fake_count())]

    @property
    def sent(self) -> np.ndarray:
        """All forces so far, shape (n, 3)."""
        return np.array([[self.c.fake_sent(k, i) for i in range(3)] for k in range(self.c.fake_sent_count())])
