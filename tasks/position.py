"""Position of a frame."""

from __future__ import annotations

from collections.abc import Sequence

from sot import features
from sot.feature import Value
from sot.gain import Gain
from sot.reference import Reference
from sot.task import FeatureTask, Mask


class Position(FeatureTask):
    """Brings a frame's origin to a point: e = p − p*, three rows (m), in axes of the world or of `relative_to`."""

    kind = "position"

    def __init__(
        self,
        frame: str,
        relative_to: str | None = None,
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
            reference: A point (3 numbers, m) or a reference. By default the position at the start.
            name: Name in reports and look-ups; by default `position_<frame>`.
            gain: λ in 1/s: one number, one per row, an AdaptiveGain or a PD.
            weight: Importance against the other tasks of the same level.
            mask: Rows to keep, by label: x, y, z; or a boolean per row.
        """
        self.frame = frame
        feature = features.FramePosition(frame, relative_to=relative_to)
        super().__init__(feature, reference=reference, name=name, gain=gain, weight=weight, mask=mask)

    def default_name(self) -> str:
        return f"position_{self.frame}"
