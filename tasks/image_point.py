"""Visual servoing of a point."""

from __future__ import annotations

from collections.abc import Sequence

from sot import features
from sot.feature import Value
from sot.gain import Gain
from sot.reference import Reference
from sot.task import FeatureTask, Mask


class ImagePoint(FeatureTask):
    """Brings the image of a point to a place in a camera's image: e = (u, v) − (u, v)*, and its depth if asked."""

    kind = "image_point"

    def __init__(
        self,
        frame: str,
        point: Sequence[float] = (0.0, 0.0, 0.0),
        attached_to: str | None = None,
        depth: bool = False,
        *,
        reference: Reference | Value | None = None,
        name: str | None = None,
        gain: float | Sequence[float] | Gain = 5.0,
        weight: float = 1.0,
        mask: Mask | None = None,
    ) -> None:
        """
        Args:
            frame: Name of the camera's frame: z forward, x right, y down.
            point: Coordinates of the observed point, m.
            attached_to: Frame that carries the point, in whose axes the coordinates are; the world by default.
            depth: Regulate the depth too (m).
            reference: (u, v) or (u, v, depth), in units of the focal length and m, or a reference. By default the
                image at the start.
            name: Name in reports and look-ups; by default `image_<frame>`.
            gain: λ in 1/s: one number, one per row, an AdaptiveGain or a PD.
            weight: Importance against the other tasks of the same level.
            mask: Rows to keep, by label: u, v, depth; or a boolean per row.
        """
        self.frame = frame
        feature = features.ImagePoint(frame, point, attached_to, depth)
        super().__init__(feature, reference=reference, name=name, gain=gain, weight=weight, mask=mask)

    def default_name(self) -> str:
        return f"image_{self.frame}"
