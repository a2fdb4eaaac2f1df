"""Keeps C++ libraries from writing to the terminal, and turns what they throw into one error."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from typing import IO

from sot.errors import ModelError, SotError

LINES = 3  # lines of a library's complaint that an error repeats


@contextlib.contextmanager
def quiet(what: str) -> Iterator[None]:
    """Run library code in silence; anything it throws becomes a ModelError: `what`, and the library's reason.

    C++ writes past `sys.stdout`, to the file descriptors 1 and 2, so these are sent to a file for the while.
    """
    with tempfile.TemporaryFile() as file:
        try:
            with _redirected(file):
                yield
        except SotError:
            raise
        except Exception as error:  # a foreign library may throw anything
            file.seek(0)
            said = file.read().decode(errors="replace")
            raise ModelError(f"{what}: {_reason(said, str(error))}") from None


@contextlib.contextmanager
def _redirected(file: IO[bytes]) -> Iterator[None]:
    _flush()
    saved: list[tuple[int, int]] = []
    with contextlib.suppress(OSError):  # a process may have no terminal at all
        for descriptor in (1, 2):
            saved.append((descriptor, os.dup(descriptor)))
            os.dup2(file.fileno(), descriptor)
    try:
        yield
    finally:
        _flush()
        for descriptor, copy in saved:
            os.dup2(copy, descriptor)
            os.close(copy)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).fflush(None)  # what C and C++ still hold in their buffers


def _reason(said: str, thrown: str) -> str:
    """The distinct lines of a complaint, on one line."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", f"{said}\n{thrown}")
    lines = list(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))
    return "; ".join(lines[:LINES]) or "no reason given"
