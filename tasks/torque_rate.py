"""A limit of how fast torques change."""

from __future__ import annotations

import numpy as np

from sot import limits
from sot.entry import Constraint, Rows, Tick
from sot.errors import TaskError
from sot.features.selection import Joints
from sot.limits import Limit
from sot.model import Model
from sot.motors import motors
from sot.state import Command


class TorqueRate(Constraint):
    """Keeps torques from changing too fast: |τ − τ_before| ≤ limit · dt. At velocity level it asks for nothing.

    The first tick has no torque before it and is free. What a motor can give at all comes first: where the torque
    before is beyond its limit, or the limit falls with speed faster than the rate allows, the limit is what counts.
    """

    kind = "torque_rate"
    limits_motors = True

    def __init__(
        self,
        limit: Limit,
        joints: Joints | None = None,
        torque: Limit | None = None,
        *,
        name: str | None = None,
        weight: float = 1.0,
    ) -> None:
        """
        Args:
            limit: N·m/s or N/s, for all or per joint.
            joints: Names or patterns; by default all joints with a motor.
            torque: What the motors can give at most, N·m or N, for all or per joint, in place of the robot's own
                limits: the same as in `TorqueLimits`, if numbers are given there.
            name: Name in reports and look-ups; by default `torque_rate`.
            weight: Importance against the other entries of the same level, where the limit is soft.
        """
        super().__init__(name=name, weight=weight)
        self.limit, self.joints, self.torque = limit, joints, torque

    def setup(self, model: Model) -> None:
        rate = limits.spread(model, self.limit, self.joints, f"{self.name}: limit")
        torque = limits.efforts(model, self.torque, self.joints, f"{self.name}: torque")
        self._columns = np.flatnonzero(model.robot.actuated & np.isfinite(rate))
        if not self._columns.size:
            raise TaskError(f"{self.name}: robot '{model.robot.name}' has no motor among the joints that are limited")
        self._rate = rate[self._columns]
        self._motors = motors(model, self._columns, torque, where=self.name)
        self._pick = np.eye(model.nv)[self._columns]
        names = model.velocity_names()
        self._names = [names[c] for c in self._columns]

    def rows(self, model: Model, tick: Tick) -> Rows:
        return Rows(np.zeros((0, model.nv)), np.zeros(0), np.zeros(0))

    def dynamic_rows(self, model: Model, tick: Tick) -> Rows:
        return Rows(self._pick, *self._bounds(model, tick), on="torque")

    def _bounds(self, model: Model, tick: Tick) -> tuple[np.ndarray, np.ndarray]:
        """Smallest and largest torque of each of its motors now, N·m or N."""
        if tick.previous_torque is None:
            anything = np.full(self._columns.size, np.inf)
            return -anything, anything
        before, step = tick.previous_torque[self._columns], self._rate * tick.dt
        least, most = self._motors.bounds(model.v)
        return np.clip(before - step, least, most), np.clip(before + step, least, most)

    def broken_by(self, model: Model, tick: Tick, command: Command) -> float:
        """By how much the worst torque changed too fast, N·m or N."""
        if command.tau is None:
            return 0.0
        lower, upper = self._bounds(model, tick)
        torque = command.tau[self._columns]
        return float(np.max([torque - upper, lower - torque], initial=0.0))

    def labels(self, count: int) -> list[str]:
        return self._names[:count]

    def units(self, count: int) -> list[str]:
        return [""] * count
