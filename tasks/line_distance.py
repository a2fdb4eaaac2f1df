"""Distance of two lines."""

from __future__ import annotations

from collections.abc import Sequence

from sot import features
from sot.feature import Value
from sot.features.direction import Axis
from sot.gain import Gain
from sot.reference import Reference
from sot.task import FeatureTask, Mask


class LineDistance(FeatureTask):
    """Brings the signed distance of two lines to a value: one row (m). Zero makes them meet.

    See `sot.features.LineDistance` for the sign, and for parallel lines.
    """

    kind = "line_distance"

    def __init__(
        self,
        frame: str,
        axis: Axis,
        other: str | None,
        other_axis: Axis,
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
            frame: Frame that carries the first line.
            axis: Direction of the first line in its frame: `x`, `y`, `z`, `-x`, `-y`, `-z` or 3 numbers.
            other: Frame that carries the second line; None is the world.
            other_axis: Direction of the second line in its frame.
            point: A point of the first line in its frame, m.
            other_point: A point of the second line in its frame, m.
            reference: The distance (m) or a reference. By default the distance at the start.
            name: Name in reports and look-ups; by default `line_distance_<frame>`.
            gain: λ in 1/s: one number, one per row, an AdaptiveGain or a PD.
            weight: Importance against the other tasks of the same level.
            mask: Rows to keep, of no use with one row.
        """
        self.frame = frame
        feature = features.LineDistance(frame, axis, other, other_axis, point, other_point)
        super().__init__(feature, reference=reference, name=name, gain=gain, weight=weight, mask=mask)

    def default_name(self) -> str:
        return f"line_distance_{self.frame}"
