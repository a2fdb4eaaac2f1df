"""Checks on what users pass in, written so that NaN fails them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sot.errors import ConfigError, TaskError


def _numbers(size: int) -> str:
    return "1 number" if size == 1 else f"{size} numbers"


def numbers(value: object) -> np.ndarray:
    """An array of numbers. True and false are none, although numpy takes them for 1 and 0; raises a TypeError."""
    if _has_boolean(value):
        raise TypeError("true and false are no numbers")
    return np.array(value, dtype=float)


def _has_boolean(value: object) -> bool:
    if isinstance(value, list | tuple):
        return any(_has_boolean(item) for item in value)
    return isinstance(value, bool | np.bool_) or (isinstance(value, np.ndarray) and value.dtype == bool)


def vector(value: object, size: int, where: str, *, repeat: bool = True) -> np.ndarray:
    """A finite vector of the given size; a single number is repeated, unless `repeat` is off."""
    try:
        array = numbers(value)
    except (TypeError, ValueError):
        raise TaskError(f"{where}: expected {_numbers(size)}, got {value!r}") from None
    if array.ndim == 0 and (repeat or size == 1):
        array = np.full(size, float(array))
    if array.shape != (size,):
        raise TaskError(f"{where}: expected {_numbers(size)}, got {_shape(array)}")
    if not np.isfinite(array).all():
        raise TaskError(f"{where}: has a value that is not finite: {array.tolist()}")
    return array


def _shape(array: np.ndarray) -> str:
    return f"the single number {float(array):g}" if array.ndim == 0 else f"shape {array.shape}"


def positive(value: object, where: str, *, zero: bool = False, infinite: bool = False) -> float:
    """A number above zero (or zero, or infinite, where allowed)."""
    try:
        if isinstance(value, bool | np.bool_ | str):
            raise TypeError("no number, though Python would make one of it")
        number = float(value)  # type: ignore[arg-type]  # the except clause answers wrong types
    except (TypeError, ValueError):
        raise TaskError(f"{where}: expected a number, got {value!r}") from None
    ok = number >= 0.0 if zero else number > 0.0
    if not (ok and (infinite or number < np.inf)):
        raise TaskError(f"{where}: expected a number {'≥' if zero else '>'} 0, got {number}")
    return number


def writable(path: str | Path, *endings: str, what: str) -> Path:
    """A path with one of some endings, in a folder that is there."""
    path = Path(path)
    if path.suffix.lower() not in endings:
        raise ConfigError(f"{path}: {what} ends with {' or '.join(endings)}")
    if not path.parent.is_dir():
        raise ConfigError(f"{path}: there is no folder {path.parent}")
    return path
