"""The door to numba: `kernel` compiles a function, keeps the result on disk, and says if it cannot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

# `contract` allows fused multiply-add. Without `_nrt` views of arrays are not counted as references: kernels never
# allocate, and counting costs more than the arithmetic on a view of thirty numbers.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}, "_nrt": False}


def kernel(function: F) -> F:
    """Compile a numeric function on its first call."""
    return _compile(function, OPTIONS)


def sum_kernel(function: F) -> F:
    """As `kernel`, but running sums may be split: much faster, still the same bits in every run on one machine."""
    return _compile(function, {**OPTIONS, "fastmath": {"contract", "reassoc"}})


def _compile(function: F, options: dict[str, Any]) -> F:
    from numba import njit

    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # no folder to keep compiled code in: compile anew in every process
        return njit(**options)(function)
