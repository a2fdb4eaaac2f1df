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
from sot.state import Command


class TorqueLimits(Constraint):
    """Keeps torques within the motors' limits: |τ| ≤ scale · limit. At velocity level it asks for nothing."""

    kind = "torque_limits"
    limits_motors = True

    def __init__(
        self,
        scale: float = 1.0,
        limit: Limit | None = None,
        joints: Joints | None = None,
        *,
        name: str | None = None,
        weight: float = 1.0,
    ) -> None:
        """
        Args:
            scale: Share of the limit that may be used.
            limit: N·m or N, for all or per joint, in place of the robot's own limits.
            joints: Names or patterns; by default all joints with a motor.
            name: Name in reports and look-ups; by default `torque_limits`.
            weight: Importance against the other entries of the same level, where the limits are soft.
        """
        super().__init__(name=name, weight=weight)
        self.scale = positive(scale, f"{self.name}: scale")
        self.limit, self.joints = limit, joints

    def setup(self, model: Model) -> None:
        limit = self.scale * limits.efforts(model, self.limit, self.joints, f"{self.name}: limit")
        self._columns = np.flatnonzero(model.robot.actuated & np.isfinite(limit))
        if not self._columns.size:
            raise TaskError(f"{self.name}: robot '{model.robot.name}' has no motor with a torque limit; give limit=")
        self._limit = limit[self._columns]
        self._pick = np.eye(model.nv)[self._columns]
        names = model.velocity_names()
        self._names = [names[c] for c in self._columns]

    def rows(self, model: Model, tick: Tick) -> Rows:
        return Rows(np.zeros((0, model.nv)), np.zeros(0), np.zeros(0))

    def dynamic_rows(self, model: Model, tick: Tick) -> Rows:
        return Rows(self._pick, -self._limit, self._limit, on="torque")

    def broken_by(self, model: Model, tick: Tick, command: Command) -> float:
        """By how much the worst torque is beyond its limit, N·m or N."""
        if command.tau is None:
            return 0.0
        return float(np.max(np.abs(command.tau[self._columns]) - self._limit, initial=0.0))

    def labels(self, count: int) -> list[str]:
        return self._names[:count]

    def units(self, count: int) -> list[str]:
        return [""] * count
