"""Checks on what robots are given: mistakes are RobotErrors, and nothing has moved when they are raised."""

from __future__ import annotations

import numpy as np

from sot.checks import positive
from sot.description.postures import normalized
from sot.errors import ModelError, RobotError, TaskError
from sot.model import Model
from sot.state import Command

PARTS = {"v": "velocity command", "tau": "torque command", "kp": "stiffness kp", "kd": "damping kd"}


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


def is_command(value: object, where: str) -> None:
    """Refuse what is no command: an array or a tuple would else be a command without any part."""
    if not isinstance(value, Command):
        hint = "; as a velocity it is Command(time, v)" if isinstance(value, np.ndarray) else ""
        raise RobotError(f"{where}: expected a sot.Command, as Controller.step gives it, got {_shown(value)}{hint}")


def joint_command(model: Model, command: object, time: float, where: str) -> Command:
    """A copy of a joint impedance command that is safe to follow: with torques, with gains, or of a velocity alone."""
    is_command(command, where)
    given = {part: getattr(command, part) for part in ("v", "q", "tau", "kp", "kd")}
    alone = all(given[part] is None for part in ("tau", "kp", "kd"))
    for part, name in PARTS.items():
        if given[part] is not None or (part == "v" and (alone or given["kd"] is not None)):
            given[part] = numbers(given[part], model.nv, f"{where}: {name}")
    if given["kp"] is not None:
        given["q"] = configuration(model, given["q"], f"{where}: configuration command")
    for part in ("kp", "kd"):
        if given[part] is not None and not (given[part] >= 0.0).all():
            raise RobotError(f"{where}: {PARTS[part]}: has negative entries")
    return Command(time, **given)


def _shown(value: object) -> str:
    return f"an array of shape {value.shape}" if isinstance(value, np.ndarray) else f"{value!r:.60}"
