"""Joints that follow other joints: what a controller holds by itself for every robot that has them."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from sot.errors import TaskError, unknown
from sot.gain import Gain
from sot.model import Model
from sot.task import Task

Follower = tuple[str, str, float, float]  # joint, the joint it follows, ratio, offset


class Following(Task):
    """e = q_joint − ratio q_of − offset, one row per joint that follows."""

    @abstractmethod
    def followers(self, model: Model) -> list[Follower]:
        """Who follows whom."""

    def setup(self, model: Model) -> None:
        followers = self.followers(model)
        self._labels = [joint for joint, *_ in followers]
        self.pairs = [self._pair(model, *follower) for follower in followers]
        self._v = np.zeros((len(followers), model.nv))
        for row, (joint, of, ratio, _) in enumerate(followers):
            self._v[row, model.joint(joint).v] = 1.0
            self._v[row, model.joint(of).v] -= ratio
        super().setup(model)

    def _pair(self, model: Model, joint: str, of: str, ratio: float, offset: float) -> tuple[int, int, float, float]:
        """Place of both joints in q, ratio and offset."""
        for name in (joint, of):
            if not model.joint(name).is_scalar:
                simple = [j.name for j in model.joints.values() if j.is_scalar]
                raise TaskError(f"{self.name}: {unknown('joint with one coordinate', name, simple)}")
        return model.joint(joint).q.start, model.joint(of).q.start, ratio, offset

    def error(self, model: Model) -> np.ndarray:
        return np.array([model.q[i] - ratio * model.q[j] - offset for i, j, ratio, offset in self.pairs])

    def jacobian(self, model: Model) -> np.ndarray:
        return self._v

    def drift(self, model: Model) -> np.ndarray:
        return np.zeros(len(self._v))

    def row_labels(self, dim: int) -> list[str]:
        return self._labels


class Gears(Following):
    """All joints follow that the robot's description says to follow (the `mimic` tags of a URDF)."""

    kind = "gears"

    def __init__(self, *, name: str | None = None, gain: float | Gain = 20.0, weight: float = 1.0) -> None:
        """
        Args:
            name: Name in reports and look-ups; by default `gears`.
            gain: λ in 1/s, at which a deviation decays.
            weight: Importance against the other tasks of the same level.
        """
        super().__init__(name=name, gain=gain, weight=weight)

    def followers(self, model: Model) -> list[Follower]:
        if not model.robot.mimics:
            raise TaskError(f"{self.name}: robot '{model.robot.name}' has no joints that follow others")
        return [(gear.joint, gear.of, gear.ratio, gear.offset) for gear in model.robot.mimics]
