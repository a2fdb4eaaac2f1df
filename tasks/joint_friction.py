"""Friction in the joints."""

from __future__ import annotations

import numpy as np

from sot.checks import positive, vector
from sot.entry import Load, Tick
from sot.errors import TaskError
from sot.features.selection import Joints, all_joints, indices, is_base, select
from sot.limits import Limit
from sot.model import Model


class JointFriction(Load):
    """Friction of the joints as the robot's files give it: −(d v + f tanh(v/v₀)). Commanded torques make up for it.

    d is viscous and f dry friction. The dry part changes its sign over the speed v₀ and is 0 at rest, so torques do not
    jump where a joint turns round. More than the true friction would push a joint on by itself: where the numbers are
    not known well, take a `scale` below 1. It has no rows, and does nothing at velocity level.
    """

    kind = "joint_friction"

    def __init__(
        self,
        scale: float = 1.0,
        speed: float = 0.05,
        friction: Limit | None = None,
        damping: Limit | None = None,
        joints: Joints | None = None,
        *,
        name: str | None = None,
    ) -> None:
        """
        Args:
            scale: Share of the friction that is made up for.
            speed: v₀, rad/s or m/s, from which on dry friction is about full.
            friction: Dry friction f, N·m or N, for all or per joint, in place of the robot's own.
            damping: Viscous friction d, N·m·s/rad or N·s/m, for all or per joint, in place of the robot's own.
            joints: Names or patterns of the joints; by default all but the base.
            name: Name in reports and look-ups; by default `joint_friction`.
        """
        super().__init__(name=name)
        self.scale = positive(scale, f"{self.name}: scale")
        self.speed = positive(speed, f"{self.name}: speed")
        self.friction, self.damping, self.joints = friction, damping, joints

    def setup(self, model: Model) -> None:
        robot = model.robot
        self._dry = self.scale * self._numbers(model, self.friction, robot.joint_friction, "friction")
        self._viscous = self.scale * self._numbers(model, self.damping, robot.joint_damping, "damping")

    def _numbers(self, model: Model, given: Limit | None, own: np.ndarray, what: str) -> np.ndarray:
        """Of the chosen joints, 0 elsewhere, shape (nv,)."""
        among = [joint for joint in all_joints(model) if not is_base(model, joint)]
        columns = indices(joint.v for joint in select(model, self.joints, among, f"{self.name}: joints"))
        result = np.zeros(model.nv)
        result[columns] = own[columns] if given is None else vector(given, columns.size, f"{self.name}: {what}")
        if not (result >= 0.0).all():
            raise TaskError(f"{self.name}: {what}: expected numbers ≥ 0, got {result[columns].tolist()}")
        return result

    def torques(self, model: Model, tick: Tick) -> np.ndarray:
        return -(self._viscous * model.v + self._dry * np.tanh(model.v / self.speed))

    def facts(self, model: Model, tick: Tick, v: np.ndarray) -> dict[str, float | str]:
        """The largest friction of a joint, N·m or N, and the power that is lost, W."""
        torques = self.torques(model, tick)
        return {"largest": float(np.abs(torques).max(initial=0.0)), "power": float(-torques @ model.v)}
