"""Directions: align an axis, look at a point."""

from __future__ import annotations

from collections.abc import Sequence

from sot import features
from sot.feature import Value
from sot.features.direction import Axis
from sot.gain import Gain
from sot.reference import Reference
from sot.task import FeatureTask, Mask


class Direction(FeatureTask):
    """Turns an axis of a frame to a direction in the world, free about that axis.

    e is the rotation vector that turns n* into n: three rows of rank 2 (rad).
    """

    kind = "direction"

    def __init__(
        self,
        frame: str,
        axis: Axis = "z",
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
            axis: The axis in the frame: `x`, `y`, `z`, `-x`, `-y`, `-z` or 3 numbers.
            reference: A direction in the world (3 numbers or an axis such as `-z`) or a reference. By default the
                direction at the start.
            name: Name in reports and look-ups; by default `direction_<frame>`.
            gain: λ in 1/s: one number, one per row, an AdaptiveGain or a PD.
            weight: Importance against the other tasks of the same level.
            mask: Rows to keep, by label: rx, ry, rz; or a boolean per row.
        """
        self.frame = frame
        feature = features.Direction(frame, axis)
        super().__init__(feature, reference=reference, name=name, gain=gain, weight=weight, mask=mask)

    def default_name(self) -> str:
        return f"direction_{self.frame}"


class Gaze(FeatureTask):
    """Points an axis of a frame at a point, free about that axis.

    e is the rotation vector from the axis to the point, in the frame's own axes: three rows of rank 2 (rad).
    """

    kind = "gaze"

    def __init__(
        self,
        frame: str,
        axis: Axis = "z",
        point: Sequence[float] = (0.0, 0.0, 0.0),
        attached_to: str | None = None,
        *,
        reference: Reference | Value | None = None,
        name: str | None = None,
        gain: float | Sequence[float] | Gain = 5.0,
        weight: float = 1.0,
        mask: Mask | None = None,
    ) -> None:
        """
        Args:
            frame: Name of the frame that looks, such as a camera's.
            axis: The axis that should point at the point.
            point: Coordinates of the point, m.
            attached_to: Frame that carries the point, in whose axes the coordinates are; the world by default.
            reference: Where in the frame's axes the point should be seen, if not along `axis`.
            name: Name in reports and look-ups; by default `gaze_<frame>`.
            gain: λ in 1/s: one number, one per row, an AdaptiveGain or a PD.
            weight: Importance against the other tasks of the same level.
            mask: Rows to keep, by label: rx, ry, rz; or a boolean per row.
        """
        self.frame = frame
        feature = features.Gaze(frame, axis, point, attached_to)
        reference = feature.axis if reference is None else reference
        super().__init__(feature, reference=reference, name=name, gain=gain, weight=weight, mask=mask)

    def default_name(self) -> str:
        return f"gaze_{self.frame}"
