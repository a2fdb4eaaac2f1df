"""The force of a command, and what of it a hand may be given."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sot.errors import RobotError
from sot.robot_checks import numbers
from sot.state import Command, State


def commanded_force(command: Command, state: State, where: str) -> np.ndarray:
    """τ + kp (q* − q) + kd (v* − v), as far as the command has these parts; N, shape (3,).

    Raises:
        RobotError: The command has a velocity only, or a part is not three finite numbers.
    """
    if command.tau is None and command.kp is None and command.kd is None:
        raise RobotError(
            f"{where}: the command has a velocity only, and a haptic device takes forces; make the controller "
            f"with output='torque'"
        )
    parts = {name: getattr(command, name) for name in ("tau", "kp", "kd", "q", "v")}
    given = {name: numbers(value, 3, f"{where}: {name}") for name, value in parts.items() if value is not None}
    force = given.get("tau", np.zeros(3))
    if "kp" in given and "q" in given:
        force = force + given["kp"] * (given["q"] - state.q)
    if "kd" in given and "v" in given:
        force = force + given["kd"] * (given["v"] - state.v)
    return numbers(force, 3, f"{where}: force")  # finite parts may have a sum that is not


@dataclass(frozen=True)
class Bounded:
    """A force within its limits.

    Attributes:
        force: N, shape (3,).
        clamped: It was larger than the largest force allowed.
        slowed: It would have changed too fast.
    """

    force: np.ndarray
    clamped: bool
    slowed: bool


def bounded(force: np.ndarray, last: np.ndarray, largest: float, step: float) -> Bounded:
    """The force, no longer than `largest` along its direction, then no farther than `step` from the last one.

    Both sets are convex and hold the last force, so the second limit cannot break the first.

    Args:
        force: Wanted, N, shape (3,).
        last: What was sent before, N, shape (3,).
        largest: N.
        step: Largest change, N.
    """
    size = math.hypot(*force)  # whose squares do not overflow
    clamped = not (size <= largest)
    if clamped:
        force = largest / size * force
    change = force - last
    way = float(np.linalg.norm(change))
    slowed = not (way <= step)
    return Bounded(last + step / way * change if slowed else force, clamped, slowed)
