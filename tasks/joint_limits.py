"""Limits of joint position, velocity and acceleration.

All four constraints give the box of `sot.viability`: velocities from which the limits can still be kept at every
later tick. Each is hard on level 0 of a stack, and soft on any other.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from sot import limits
from sot.checks import positive
from sot.entry import Box, Tick
from sot.errors import TaskError
from sot.features.selection import Joints
from sot.limits import Limit
from sot.model import Model
from sot.viability import Explanation, JointBox, bounds, explain_bounds


class _JointLimits(Box):
    """A box made of a `JointBox`."""

    def __init__(self, joints: Joints | None, name: str | None, weight: float) -> None:
        super().__init__(name=name, weight=weight)
        self.joints = joints

    @abstractmethod
    def joint_box(self, model: Model) -> JointBox:
        """The limits as numbers."""

    def setup(self, model: Model) -> None:
        self._box = self.joint_box(model)
        self._names = model.velocity_names()
        self._check_ranges(model)

    def _check_ranges(self, model: Model) -> None:
        """A margin must leave something of every joint's range."""
        for i in np.flatnonzero(~(self._box.q_lower <= self._box.q_upper)):
            place = self._box.q_index[i]
            low, high = model.pin.lowerPositionLimit[place], model.pin.upperPositionLimit[place]
            raise TaskError(
                f"{self.name}: margin: leaves nothing of the range of joint '{self._names[i]}', [{low:g}, {high:g}]; "
                f"it can be {0.5 * (high - low):g} at most"
            )

    def box(self, model: Model, tick: Tick) -> tuple[np.ndarray, np.ndarray]:
        return bounds(self._box, model.q, tick.previous, tick.dt)

    def explain(self, model: Model, tick: Tick) -> Explanation:
        """The bounds, and which kind of limit set each."""
        return explain_bounds(self._box, model.q, tick.previous, tick.dt)

    def violation(self, model: Model, tick: Tick, v: np.ndarray) -> float:
        """How far position, speed or acceleration is beyond its limit, whatever the box allowed."""
        return self._box.violation(model.q, v, tick.previous, tick.dt)

    def labels(self, count: int) -> list[str]:
        return self._names


class JointPositionLimits(_JointLimits):
    """Keeps joints between their position limits: v ≤ (1 − exp(−λ dt)) / dt · distance, both ways."""

    kind = "joint_position_limits"

    def __init__(
        self,
        damper: float = 25.0,
        acceleration: Limit | None = None,
        margin: float = 0.0,
        joints: Joints | None = None,
        *,
        name: str | None = None,
        weight: float = 1.0,
    ) -> None:
        """
        Args:
            damper: λ in 1/s, at which a joint may come near its limit; inf: the whole way in one tick.
            acceleration: With which it can brake, rad/s² or m/s², for all or per joint. It then also gains and
                loses speed no faster. By default it can stop at once.
            margin: Distance to keep from the limits, rad or m.
            joints: Names or patterns; by default all joints that have limits.
            name: Name in reports and look-ups; by default `joint_position_limits`.
            weight: Importance against the other entries of the same level, where the limits are soft.
        """
        super().__init__(joints, name, weight)
        self.damper = positive(damper, f"{self.name}: damper", infinite=True)
        self.margin = positive(margin, f"{self.name}: margin", zero=True)
        self.acceleration = acceleration

    def joint_box(self, model: Model) -> JointBox:
        index, lower, upper = limits.positions(model, self.joints, self.margin, self.name)
        a_max = limits.spread(model, self.acceleration, self.joints, f"{self.name}: acceleration")
        return JointBox(index, lower, upper, limits.none(model), a_max, np.full(model.nv, self.damper))


class JointVelocityLimits(_JointLimits):
    """Keeps joints below their speed limits: |v| ≤ scale · limit."""

    kind = "joint_velocity_limits"

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
            limit: rad/s or m/s, for all or per joint, in place of the robot's own limits.
            joints: Names or patterns; by default all joints, the base only as far as the robot has limits for it.
            name: Name in reports and look-ups; by default `joint_velocity_limits`.
            weight: Importance against the other entries of the same level, where the limits are soft.
        """
        super().__init__(joints, name, weight)
        self.scale = positive(scale, f"{self.name}: scale")
        self.limit = limit

    def joint_box(self, model: Model) -> JointBox:
        v_max = limits.velocities(model, self.limit, self.joints, f"{self.name}: limit")
        return limits.without_positions(model, self.scale * v_max, limits.none(model))


class JointAccelerationLimits(_JointLimits):
    """Keeps joints below an acceleration: |v − v_before| ≤ limit · dt.

    Alone it does not know of the position limits, and where both are in a stack a joint may be too fast to stop in
    front of its limit. Give the acceleration to `JointLimits` instead: it brakes in time.
    """

    kind = "joint_acceleration_limits"

    def __init__(
        self,
        limit: Limit | None = None,
        joints: Joints | None = None,
        *,
        name: str | None = None,
        weight: float = 1.0,
    ) -> None:
        """
        Args:
            limit: rad/s² or m/s², for all or per joint; by default those of the robot's description.
            joints: Names or patterns; by default all joints but the base.
            name: Name in reports and look-ups; by default `joint_acceleration_limits`.
            weight: Importance against the other entries of the same level, where the limits are soft.
        """
        super().__init__(joints, name, weight)
        self.limit = limit

    def joint_box(self, model: Model) -> JointBox:
        a_max = limits.accelerations(model, self.limit, self.joints, f"{self.name}: limit")
        return limits.without_positions(model, limits.none(model), a_max)


class JointLimits(_JointLimits):
    """Keeps all joint limits at once, in a way that never has to break one of them for another."""

    kind = "joint_limits"

    def __init__(
        self,
        position: bool = True,
        velocity: bool = True,
        acceleration: bool | Limit | None = None,
        damper: float = 25.0,
        margin: float = 0.0,
        scale: float = 1.0,
        *,
        name: str | None = None,
        weight: float = 1.0,
    ) -> None:
        """
        Args:
            position: Keep the robot's position limits.
            velocity: Keep the robot's velocity limits.
            acceleration: Largest acceleration, rad/s² or m/s², for all joints but the base or per joint; true for
                those of the robot's description.
            damper: λ in 1/s, at which a joint may come near its limit; inf: the whole way in one tick.
            margin: Distance to keep from the position limits, rad or m.
            scale: Share of the velocity limits that may be used.
            name: Name in reports and look-ups; by default `joint_limits`.
            weight: Importance against the other entries of the same level, where the limits are soft.
        """
        super().__init__(None, name, weight)
        self.position, self.velocity, self.acceleration = position, velocity, acceleration
        self.damper = positive(damper, f"{self.name}: damper", infinite=True)
        self.margin = positive(margin, f"{self.name}: margin", zero=True)
        self.scale = positive(scale, f"{self.name}: scale")

    def joint_box(self, model: Model) -> JointBox:
        v_max, a_max = limits.none(model), limits.none(model)
        box = limits.without_positions(model, v_max, a_max)
        index, lower, upper = box.q_index, box.q_lower, box.q_upper
        if self.position:
            index, lower, upper = limits.positions(model, None, self.margin, self.name)
        if self.velocity:
            v_max = self.scale * limits.velocities(model, None, None, f"{self.name}: velocity")
        if self.acceleration is not None and self.acceleration is not False:
            limit = None if self.acceleration is True else self.acceleration
            a_max = limits.accelerations(model, limit, None, f"{self.name}: acceleration")
        return JointBox(index, lower, upper, v_max, a_max, np.full(model.nv, self.damper))
