"""Where the vendor's library is: what the caller says, an environment variable, or where the system keeps libraries."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import sys
from pathlib import Path

from sot.errors import RobotError

VARIABLE = "SOT_DHD_LIBRARY"
NAMES = {
    "win32": ("dhd64.dll", "dhd.dll"),
    "darwin": ("libdhd.3.dylib", "libdhd.dylib"),
    "linux": ("libdhd.so.3", "libdhd.so"),
}


def load_library(library: str | Path | None = None) -> ctypes.CDLL:
    """The library, loaded. A path that was given, here or by the variable, is the only one that is tried.

    Args:
        library: Path or name; by default that in `SOT_DHD_LIBRARY`, else the system is searched.

    Raises:
        RobotError: There is none that can be loaded; says what was looked for.
    """
    given = os.environ.get(VARIABLE) if library is None else os.fspath(library)
    names = [given] if given else _names()
    reasons = []
    for name in names:
        try:
            return _kind()(name)
        except OSError as error:
            reasons.append(f"{name} ({error})")
    raise RobotError(
        f"the Force Dimension library could not be loaded; tried {', '.join(reasons)}. Install the vendor's SDK, and "
        f"name its library by library='…/libdhd.so.3' or by the environment variable {VARIABLE}"
    )


def _names() -> list[str]:
    found = ctypes.util.find_library("dhd")
    usual = NAMES.get(sys.platform, NAMES["linux"])
    return ([found] if found else []) + [name for name in usual if name != found]


def _kind() -> type[ctypes.CDLL]:
    """Windows has a calling convention of its own; with 64 bits the two are one."""
    return getattr(ctypes, "WinDLL", ctypes.CDLL)
