"""Pose of a frame."""

from __future__ import annotations

from collections.abc import Sequence

from sot import features
from sot.feature import Value
from sot.features.frame import Expressed
from sot.gain import Gain
from sot.reference import Reference
from sot.task import FeatureTask, Mask


class Pose(FeatureTask):
    """Brings a frame to a pose: e = T ⊖ T*, six rows, linear (m) then angular (rad).

        hand = Pose("gripper_left_base_link", gain=20.0)
        hand.reference = sot.move(by=[0.1, 0.0, 0.2], duration=2.0)

    See `sot.features.FramePose` for what the three `expressed` mean.
    """

    kind = "pose"

    def __init__(
        self,
        frame: str,
        relative_to: str | None = None,
        expressed: Expressed = "aligned",
        *,
        reference: Reference | Value | None = None,
        name: str | None = None,
        gain: float | Sequence[float] | Gain = 5.0,
        weight: float = 1.0,
        mask: Mask | None = None,
    ) -> None:
        """
        Args:
            frame: Name of the frame.
            relative_to: Frame from which it is seen, in place of the world.
            expressed: Axes of the error: `aligned` (the world's), `local` (the frame's own) or `world`.
            reference: An SE3, a 4×4 matrix, 7 numbers (x y z qx qy qz qw), or a reference such as
                `sot.move(...)`. By default the pose at the start.
            name: Name in reports and look-ups; by default `pose_<frame>`.
            gain: λ in 1/s: one number, one per row, an AdaptiveGain or a PD.
            weight: Importance against the other tasks of the same level.
            mask: Rows to keep, by label: x, y, z, rx, ry, rz; or a boolean per row.
        """
        self.frame = frame
        feature = features.FramePose(frame, expressed, relative_to)
        super().__init__(feature, reference=reference, name=name, gain=gain, weight=weight, mask=mask)

    def default_name(self) -> str:
        return f"pose_{self.frame}"
