"""The door to numba: `kernel` compiles a function, keeps the result on disk, and says if it cannot."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

# `contract` allows fused multiply-add. Without `_nrt` views of arrays are not counted as references: kernels never
# allocate, and counting costs more than the arithmetic on a view of thirty numbers.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}, "_nrt": False}
INNER = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def entry_kernel(function: F) -> F:
    """Compile a function that Python calls, on its first call."""
    return _compile(function, OPTIONS)


def kernel(function: F) -> F:
    """Compile a function that only other kernels call: without a way in from Python it compiles faster."""
    return _compile(function, {**OPTIONS, **INNER})


def sum_kernel(function: F) -> F:
    """As `kernel`, but running sums may be split: much faster, still the same bits in every run on one machine."""
    return _compile(function, {**OPTIONS, **INNER, "fastmath": {"contract", "reassoc"}})


def _compile(function: F, options: dict[str, Any]) -> F:
    from numba import njit

    try:
        compiled = njit(cache=True, **options)(function)
    except RuntimeError:  # no folder to keep compiled code in: compile anew in every process
        return njit(**options)(function)
    _bind_to_sources(compiled)
    return compiled


def _bind_to_sources(compiled: Any) -> None:
    """Let compiled code go stale when any kernel changes.

    Numba looks only at the file of the function itself, so after an upgrade it would go on calling the old version
    of a kernel from another file, which is part of the caller's compiled code.
    """
    file = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if file is not None and hasattr(file, "_source_stamp"):
        file._source_stamp = (file._source_stamp, _fingerprint())


@functools.cache
def _fingerprint() -> str:
    """Hash of the sources of all kernels, and of the modules whose constants they use."""
    here = Path(__file__).parent
    sources = [*sorted(here.glob("*.py")), here.parent / "solvers" / "status.py", here.parent / "viability.py"]
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
