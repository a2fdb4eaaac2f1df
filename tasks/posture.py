"""Posture of the joints."""

from __future__ import annotations

from collections.abc import Sequence

from sot import features
from sot.feature import Value
from sot.features.joints import HOME
from sot.features.selection import Joints
from sot.gain import Gain
from sot.reference import Reference
from sot.task import FeatureTask, Mask


class Posture(FeatureTask):
    """Brings joints to a posture: e = q ⊖ q*, one row per degree of freedom (rad or m)."""

    kind = "posture"

    def __init__(
        self,
        joints: Joints | None = None,
        *,
        reference: Reference | Value | None = HOME,
        name: str | None = None,
        gain: float | Sequence[float] | Gain = 5.0,
        weight: float = 1.0,
        mask: Mask | None = None,
    ) -> None:
        """
        Args:
            joints: Names or patterns (`arm_left_*`); by default all joints with a motor, without the base.
            reference: By default the robot's `home`. Another named posture, a table joint → value (the others
                at home), the coordinates of the joints, a whole configuration, or a reference; `sot.hold()` stays
                where the robot is at the start.
            name: Name in reports and look-ups; by default `posture`.
            gain: λ in 1/s: one number, one per row, an AdaptiveGain or a PD.
            weight: Importance against the other tasks of the same level.
            mask: Rows to keep, by the names of the joints; or a boolean per row.
        """
        feature = features.JointPosture(joints)
        super().__init__(feature, reference=reference, name=name, gain=gain, weight=weight, mask=mask)
