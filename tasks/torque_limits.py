"""Limits of what motors can do."""

from __future__ import annotations

import numpy as np

from sot import limits
from sot.checks import positive
from sot.entry import Constraint, Rows, Tick
from sot.errors import TaskError
from sot.features.selection import Joints
from sot.limits import Limit
from sot.model import Model
from sot.motors import motors
from sot.state import Command


class TorqueLimits(Constraint):
    """Keeps torques within the motors' limits: |τ| ≤ scale · limit. At velocity level it asks for nothing.

    Where a motor's no-load speed v₀ is known, by the robot's file or the arguments, what it can do in the direction of
    motion falls with speed, from all of it at the corner speed v_c to nothing at v₀:

        τ sign(v) ≤ scale · limit · (v₀ − |v|) / (v₀ − v_c)

    For braking the whole torque is there at every speed.
    """

    kind = "torque_limits"
    limits_motors = True

    def __init__(
        self,
        scale: float = 1.0,
        limit: Limit | None = None,
        joints: Joints | None = None,
        no_load_speed: Limit | None = None,
        corner_speed: Limit | None = None,
        curve: bool = True,
        *,
        name: str | None = None,
        weight: float = 1.0,
    ) -> None:
        """
        Args:
            scale: Share of the limit that may be used.
            limit: N·m or N, for all or per joint, in place of the robot's own limits.
            joints: Names or patterns; by default all joints with a motor.
            no_load_speed: v₀, rad/s or m/s, for all or per joint, in place of the robot's own.
            corner_speed: v_c, rad/s or m/s, for all or per joint, in place of the robot's own; 0 if neither is known.
            curve: Let torque limits fall with speed, where the no-load speed is known.
            name: Name in reports and look-ups; by default `torque_limits`.
            weight: Importance against the other entries of the same level, where the limits are soft.
        """
        super().__init__(name=name, weight=weight)
        self.scale = positive(scale, f"{self.name}: scale")
        self.limit, self.joints = limit, joints
        self.no_load_speed, self.corner_speed, self.curve = no_load_speed, corner_speed, curve
        if not curve and not (no_load_speed is None and corner_speed is None):
            raise TaskError(f"{self.name}: curve: is off; leave no_load_speed and corner_speed out")

    def setup(self, model: Model) -> None:
        limit = self.scale * limits.efforts(model, self.limit, self.joints, f"{self.name}: limit")
        columns = np.flatnonzero(model.robot.actuated & np.isfinite(limit))
        if not columns.size:
            raise TaskError(f"{self.name}: robot '{model.robot.name}' has no motor with a torque limit; give limit=")
        no_load, corner = (self.no_load_speed, self.corner_speed) if self.curve else (np.inf, None)
        self.motors = motors(model, columns, limit, no_load, corner, self.joints, self.name)
        self._pick = np.eye(model.nv)[columns]
        names = model.velocity_names()
        self._names = [names[c] for c in columns]

    def rows(self, model: Model, tick: Tick) -> Rows:
        return Rows(np.zeros((0, model.nv)), np.zeros(0), np.zeros(0))

    def dynamic_rows(self, model: Model, tick: Tick) -> Rows:
        return Rows(self._pick, *self.motors.bounds(model.v), on="torque")

    def broken_by(self, model: Model, tick: Tick, command: Command) -> float:
        """By how much the worst torque is beyond its limit, N·m or N."""
        return 0.0 if command.tau is None else self.motors.beyond(model.v, command.tau)

    def labels(self, count: int) -> list[str]:
        return self._names[:count]

    def units(self, count: int) -> list[str]:
        return [""] * count
