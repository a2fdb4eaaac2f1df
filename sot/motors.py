"""What motors can do: torque limits that fall with speed.

Towards its no-load speed v₀ a motor's own voltage leaves less and less current in the direction of motion:

    τ sign(v) ≤ limit · (v₀ − |v|) / (v₀ − v_c)      from the corner speed v_c on
    |τ| ≤ limit                                      always

Against the motion, for braking, the whole torque is there at every speed. Both bounds are continuous in v.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from sot import limits
from sot.errors import TaskError
from sot.features.selection import Joints
from sot.limits import Limit
from sot.model import Model


@dataclass(frozen=True, eq=False)
class Motors:
    """Motors of some joints; all arrays have one entry per motor.

    Attributes:
        columns: Which entries of v they move.
        limit: Largest torque, N·m or N; inf if there is no limit.
        no_load: Speed without load, rad/s or m/s; inf if the torque does not fall with speed.
        corner: Speed from which on the torque falls, rad/s or m/s.
    """

    columns: np.ndarray
    limit: np.ndarray
    no_load: np.ndarray
    corner: np.ndarray

    @cached_property
    def slope(self) -> np.ndarray:
        """1 / (v₀ − v_c), 0 where the torque does not fall."""
        return 1.0 / (self.no_load - self.corner)

    @cached_property
    def _constant(self) -> tuple[np.ndarray, np.ndarray]:
        return -self.limit, self.limit

    def bounds(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Smallest and largest torque at a velocity, N·m or N.

        Args:
            v: Velocity of the robot, shape (nv,).
        """
        if not self.slope.any():
            return self._constant
        speed = v[self.columns]
        return -self.limit * self._left(-speed), self.limit * self._left(speed)

    def _left(self, speed: np.ndarray) -> np.ndarray:
        """Part of the torque that is left in a direction, at a speed in that direction."""
        return np.minimum(np.maximum(1.0 - (speed - self.corner) * self.slope, 0.0), 1.0)

    def beyond(self, v: np.ndarray, tau: np.ndarray) -> float:
        """By how much the worst torque is beyond its bound, N·m or N; 0 if none is."""
        lower, upper = self.bounds(v)
        torque = tau[self.columns]
        return float(np.max([torque - upper, lower - torque], initial=0.0))


@runtime_checkable
class LimitsMotors(Protocol):
    """An entry that bounds the torques of motors by what they can do, which the compiled rows know."""

    motors: Motors

    def setup(self, model: Model) -> None:
        """Look up names; `motors` are known afterwards."""


def motors(
    model: Model,
    columns: np.ndarray,
    limit: np.ndarray,
    no_load: Limit | None = None,
    corner: Limit | None = None,
    joints: Joints | None = None,
    where: str = "motors",
) -> Motors:
    """Motors with the robot's own speeds, or with a user's.

    Args:
        model: The robot.
        columns: Which entries of v they move.
        limit: Largest torque of every joint, N·m or N, shape (nv,).
        no_load: Speed without load, rad/s or m/s, for all or per joint, in place of the robot's own.
        corner: Speed from which on the torque falls, in place of the robot's own.
        joints: Joints that the two speeds are of; by default all but the base.
        where: What errors call them.
    """
    fastest, full = model.robot.no_load_speed, model.robot.corner_speed
    if no_load is not None:
        fastest, full = limits.spread(model, no_load, joints, f"{where}: no_load_speed"), np.zeros(model.nv)
    if corner is not None:
        given = limits.spread(model, corner, joints, f"{where}: corner_speed", zero=True)
        full = np.where(np.isfinite(given), given, full)
    fastest = np.where(np.isfinite(limit), fastest, np.inf)  # what has no limit does not fall either
    names = model.velocity_names()
    for i in columns:
        if not (full[i] < fastest[i]):
            raise TaskError(
                f"{where}: no_load_speed of {names[i]}, {fastest[i]:g}, is not above its corner_speed, {full[i]:g}"
            )
    return Motors(columns, limit[columns], fastest[columns], full[columns])
