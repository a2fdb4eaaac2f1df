"""Checks on what robots are given: mistakes are RobotErrors, and nothing has moved when they are raised."""

from __future__ import annotations

import numpy as np

from sot.checks import positive
from sot.description.postures import normalized
from sot.errors import ModelError, RobotError, TaskError
from sot.model import Model


def number(value: object, where: str, *, zero: bool = False) -> float:
    """A finite number above zero, or zero where allowed."""
    try:
        return positive(value, where, zero=zero)
    except TaskError as error:
        raise RobotError(str(error)) from None


def numbers(value: object, size: int, where: str) -> np.ndarray:
    """A copy of so many finite numbers."""
    try:
        array = np.array(value).astype(float, casting="same_kind")  # not from text or complex numbers
    except (TypeError, ValueError):
        raise RobotError(f"{where}: expected {size} numbers, got {value!r}") from None
    if array.shape != (size,):
        raise RobotError(f"{where}: expected {size} numbers, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise RobotError(f"{where}: entry {int(np.argmin(np.isfinite(array)))} is not finite")
    return array


def configuration(model: Model, value: object, where: str = "start configuration q") -> np.ndarray:
    """A configuration of a robot, its quaternions normalised."""
    q = numbers(value, model.nq, where)
    try:
        return normalized(model.pin, q, where)
    except ModelError as error:
        raise RobotError(str(error)) from None
