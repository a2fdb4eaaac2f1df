"""Distance of two points."""

from __future__ import annotations

from collections.abc import Sequence

from sot import features
from sot.feature import Value
from sot.gain import Gain
from sot.reference import Reference
from sot.task import FeatureTask, Mask


class PointDistance(FeatureTask):
    """Brings the distance of two points of two bodies to a value: one row (m)."""

    kind = "point_distance"

    def __init__(
        self,
        frame: str,
        other: str | None = None,
        point: Sequence[float] = (0.0, 0.0, 0.0),
        other_point: Sequence[float] = (0.0, 0.0, 0.0),
        *,
        reference: Reference | Value | None = None,
        name: str | None = None,
        gain: float | Sequence[float] | Gain = 5.0,
        weight: float = 1.0,
        mask: Mask | None = None,
    ) -> None:
        """
        Args:
            frame: Frame that carries the first point.
            other: Frame that carries the second point; the world by default.
            point: The first point in its frame, m.
            other_point: The second point in its frame, m.
            reference: The distance (m) or a reference. By default the distance at the start.
            name: Name in reports and look-ups; by default `point_distance_<frame>`.
            gain: λ in 1/s: one number, one per row, an AdaptiveGain or a PD.
            weight: Importance against the other tasks of the same level.
            mask: Rows to keep, of no use with one row.
        """
        self.frame = frame
        feature = features.PointDistance(frame, other, point, other_point)
        super().__init__(feature, reference=reference, name=name, gain=gain, weight=weight, mask=mask)

    def default_name(self) -> str:
        return f"point_distance_{self.frame}"
