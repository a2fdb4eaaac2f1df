"""Joints that follow other joints, and joints that stand still."""

from __future__ import annotations

from collections.abc import Sequence

from sot import features
from sot.checks import vector
from sot.errors import TaskError
from sot.feature import Value
from sot.features.selection import Joints
from sot.gain import Gain
from sot.gears import Follower, Following, Gears
from sot.model import Model
from sot.reference import Reference
from sot.task import FeatureTask, Mask

__all__ = ["Gears", "Locked", "Mimic"]


class Mimic(Following):
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
