"""Distance of joints from their limits."""

from __future__ import annotations

from collections.abc import Sequence

from sot import features
from sot.feature import Value
from sot.features.joints import MIDDLE
from sot.features.selection import Joints
from sot.gain import Gain
from sot.reference import Reference
from sot.task import FeatureTask, Mask


class JointLimitDistance(FeatureTask):
    """Keeps joints away from their limits: one row per joint (rad or m).

    See `sot.features.JointLimitDistance` for the measure. The constraint that never lets a joint pass a limit is
    `JointLimits`.
    """

    kind = "joint_limit_distance"

    def __init__(
        self,
        joints: Joints | None = None,
        *,
        reference: Reference | Value | None = MIDDLE,
        name: str | None = None,
        gain: float | Sequence[float] | Gain = 5.0,
        weight: float = 1.0,
        mask: Mask | None = None,
    ) -> None:
        """
        Args:
            joints: Names or patterns; by default all joints with two position limits.
            reference: Distance (rad or m), one number for all or one per joint, or a reference. By default
                `middle`: as far from both limits as can be.
            name: Name in reports and look-ups; by default `joint_limit_distance`.
            gain: λ in 1/s: one number, one per row, an AdaptiveGain or a PD.
            weight: Importance against the other tasks of the same level.
            mask: Rows to keep, by the names of the joints; or a boolean per row.
        """
        feature = features.JointLimitDistance(joints)
        super().__init__(feature, reference=reference, name=name, gain=gain, weight=weight, mask=mask)
