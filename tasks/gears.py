"""Joints that follow other joints, and joints that stand still."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from sot import features
from sot.checks import vector
from sot.errors import TaskError, unknown
from sot.feature import Value
from sot.gain import Gain
from sot.model import Model
from sot.reference import Reference
from sot.selection import Joints
from sot.task import FeatureTask, Mask, Task

Follower = tuple[str, str, float, float]  # joint, the joint it follows, ratio, offset


class _Following(Task):
    """e = q_joint − ratio q_of − offset, one row per joint that follows."""

    @abstractmethod
    def followers(self, model: Model) -> list[Follower]:
        """Who follows whom."""

    def setup(self, model: Model) -> None:
        followers = self.followers(model)
        self._labels = [follower[0] for follower in followers]
        self._q = np.zeros((len(followers), model.nq))
        self._v = np.zeros((len(followers), model.nv))
        self._offset = np.array([offset for *_, offset in followers])
        for row, (joint, of, ratio, _) in enumerate(followers):
            for name, factor in ((joint, 1.0), (of, -ratio)):
                found = model.joint(name)
                if not found.is_scalar:
                    simple = [j.name for j in model.joints.values() if j.is_scalar]
                    raise TaskError(f"{self.name}: {unknown('joint with one coordinate', name, simple)}")
                self._q[row, found.q] += factor
                self._v[row, found.v] += factor
        super().setup(model)

    def error(self, model: Model) -> np.ndarray:
        return self._q @ model.q - self._offset

    def jacobian(self, model: Model) -> np.ndarray:
        return self._v

    def drift(self, model: Model) -> np.ndarray:
        return np.zeros(len(self._v))

    def row_labels(self, dim: int) -> list[str]:
        return self._labels


class Mimic(_Following):
    """A joint follows another: q_joint = ratio · q_of + offset. Put it on level 0 to hold it always."""

    kind = "mimic"

    def __init__(
        self,
        joint: str,
        of: str,
        ratio: float = 1.0,
        offset: float = 0.0,
        *,
        name: str | None = None,
        gain: float | Gain = 20.0,
        weight: float = 1.0,
    ) -> None:
        """
        Args:
            joint: The joint that follows.
            of: The joint it follows.
            ratio: Its motion per motion of the other.
            offset: Where it stands when the other is at zero, rad or m.
            name: Name in reports and look-ups; by default `mimic_<joint>`.
            gain: λ in 1/s, at which a deviation decays.
            weight: Importance against the other tasks of the same level.
        """
        self.joint, self.of = joint, of
        if joint == of:
            raise TaskError(f"mimic: joint '{joint}' cannot follow itself")
        super().__init__(name=name, gain=gain, weight=weight)
        self.ratio = float(vector(ratio, 1, f"{self.name}: ratio")[0])
        self.offset = float(vector(offset, 1, f"{self.name}: offset")[0])

    def default_name(self) -> str:
        return f"mimic_{self.joint}"

    def followers(self, model: Model) -> list[Follower]:
        return [(self.joint, self.of, self.ratio, self.offset)]


class Gears(_Following):
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


class Locked(FeatureTask):
    """Joints stand still: v = −λ (q ⊖ q*). Put it on level 0 to hold them always. The base may be one of them."""

    kind = "locked"

    def __init__(
        self,
        joints: Joints,
        *,
        reference: Reference | Value | None = None,
        name: str | None = None,
        gain: float | Sequence[float] | Gain = 20.0,
        weight: float = 1.0,
        mask: Mask | None = None,
    ) -> None:
        """
        Args:
            joints: Names or patterns (`gripper_*`).
            reference: Where they should stand, as for `Posture`. By default where they are at the start.
            name: Name in reports and look-ups; by default `locked`.
            gain: λ in 1/s, at which a deviation decays.
            weight: Importance against the other tasks of the same level.
            mask: Rows to keep, by the names of the joints; or a boolean per row.
        """
        feature = features.JointPosture(joints)
        super().__init__(feature, reference=reference, name=name, gain=gain, weight=weight, mask=mask)
