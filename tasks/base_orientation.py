"""Orientation of a robot's base."""

from __future__ import annotations

from collections.abc import Sequence

from sot import features
from sot.errors import TaskError
from sot.feature import Value
from sot.features.frame import Expressed
from sot.gain import Gain
from sot.model import Model
from sot.reference import Reference
from sot.task import FeatureTask, Mask


class BaseOrientation(FeatureTask):
    """Turns the base of a robot that walks, flies or drives to an orientation; three rows (rad).

    It is an `Orientation` of the first body of the robot, whatever its name, so the same stack fits many robots.
    """

    kind = "base_orientation"

    def __init__(
        self,
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
            expressed: Axes of the error: `aligned` (the world's; `world` is the same) or `local` (the base's own).
            reference: A 3×3 matrix, a quaternion (x y z w), roll-pitch-yaw (rad) or a reference. By default the
                orientation at the start.
            name: Name in reports and look-ups; by default `base_orientation`.
            gain: λ in 1/s: one number, one per row, an AdaptiveGain or a PD.
            weight: Importance against the other tasks of the same level.
            mask: Rows to keep, by label: rx, ry, rz; or a boolean per row.
        """
        feature = features.FrameOrientation("", expressed)  # its frame is known when the robot is
        super().__init__(feature, reference=reference, name=name, gain=gain, weight=weight, mask=mask)

    def setup(self, model: Model) -> None:
        if model.robot.root == "fixed":
            raise TaskError(f"{self.name}: the base of robot '{model.robot.name}' is fixed; it cannot turn")
        self.feature.frame = _base(model)  # type: ignore[attr-defined]  # it is a FrameOrientation
        super().setup(model)


def _base(model: Model) -> str:
    """Name of the first frame that the base's joint carries."""
    frames = sorted(model.frames.items(), key=lambda item: item[1])
    return next(name for name, index in frames if model.pin.frames[index].parentJoint == 1)
