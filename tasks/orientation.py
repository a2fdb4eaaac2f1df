"""Orientation of a frame."""

from __future__ import annotations

from collections.abc import Sequence

from sot import features
from sot.feature import Value
from sot.features.frame import Expressed
from sot.gain import Gain
from sot.reference import Reference
from sot.task import FeatureTask, Mask


class Orientation(FeatureTask):
    """Turns a frame to an orientation: e = log(R R*ᵀ), or log(R*ᵀ R) in local axes; three rows (rad)."""

    kind = "orientation"

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
            expressed: Axes of the error: `aligned` (the world's; `world` is the same) or `local` (the frame's).
            reference: A 3×3 matrix, a quaternion (x y z w), roll-pitch-yaw (rad) or a reference. By default the
                orientation at the start.
            name: Name in reports and look-ups; by default `orientation_<frame>`.
            gain: λ in 1/s: one number, one per row, an AdaptiveGain or a PD.
            weight: Importance against the other tasks of the same level.
            mask: Rows to keep, by label: rx, ry, rz; or a boolean per row.
        """
        self.frame = frame
        feature = features.FrameOrientation(frame, expressed, relative_to)
        super().__init__(feature, reference=reference, name=name, gain=gain, weight=weight, mask=mask)

    def default_name(self) -> str:
        return f"orientation_{self.frame}"
