"""Checks on what a simulation is given: mistakes are ConfigErrors that begin with the name of the key."""

from __future__ import annotations

import numpy as np

from sot.checks import positive, vector
from sot.errors import ConfigError, TaskError


def number(value: object, where: str, *, zero: bool = False) -> float:
    """A finite number above zero, or zero where allowed."""
    try:
        return positive(value, where, zero=zero)
    except TaskError as error:
        raise ConfigError(str(error)) from None


def numbers(value: object, size: int, where: str) -> np.ndarray:
    """So many finite numbers."""
    try:
        return vector(value, size, where, repeat=False)
    except TaskError as error:
        raise ConfigError(str(error)) from None


def yes_or_no(value: object, where: str) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise ConfigError(f"{where}: expected True or False, got {value!r}")
    return value


def count(value: object, where: str, least: int = 1) -> int:
    """An integer from `least` on."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not (value >= least):
        raise ConfigError(f"{where}: expected an integer from {least} on, got {value!r}")
    return int(value)
