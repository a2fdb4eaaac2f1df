"""Two frames of a robot that are joined: a loop that a tree of joints does not know of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from sot.errors import TaskError, unknown
from sot.feature import Value
from sot.features.frame import FramePose, FramePosition
from sot.gain import Gain
from sot.model import Model
from sot.reference import Reference
from sot.task import FeatureTask, Mask

Joined = Literal["fixed", "ball"]


class ClosedLoop(FeatureTask):
    """Holds two frames together, by forces that are found with the motion. Put it on level 0.

        ClosedLoop("left_hand", "right_hand")                  # both hold a bar
        ClosedLoop("crank_end", "rocker_end", joined="ball")    # a four-bar linkage; its URDF is a tree

    With J the Jacobian of what is held, the frame's motion as seen from the other one, J v̇ + J̇v = 0, and a drift
    decays. At torque level the loop's forces λ are unknowns: they act as Jᵀ λ, without a cone. λ is what the frame
    receives, in its own axes for `fixed` and in those of the other frame for `ball`; the other frame receives the
    opposite. At velocity level only the motion is held.
    """

    kind = "closed_loop"

    def __init__(
        self,
        frame: str,
        other: str,
        joined: Joined = "fixed",
        *,
        reference: Reference | Value | None = None,
        name: str | None = None,
        gain: float | Sequence[float] | Gain = 20.0,
        weight: float = 1.0,
        mask: Mask | None = None,
    ) -> None:
        """
        Args:
            frame: One of the two frames.
            other: The frame that it is joined to.
            joined: What is held: `fixed` (position and orientation) or `ball` (the position of the frame's origin).
            reference: Pose, or position for `ball`, of the frame as seen from the other. By default as it is when the
                loop is closed.
            name: Name in reports and look-ups; by default `closed_loop_<frame>`.
            gain: λ in 1/s, at which a drift of the loop is corrected.
            weight: Importance against the other entries of the same level.
            mask: Directions that are held: a boolean per row, or labels; `["x", "y", "z", "rx", "ry"]` is a hinge about
                the z axis of the frame.
        """
        self.frame, self.other, self.joined = frame, other, joined
        if joined not in get_args(Joined):
            raise TaskError(f"closed_loop_{frame}: joined: {unknown('joint', joined, get_args(Joined))}")
        if frame == other:
            raise TaskError(f"closed_loop_{frame}: other: a frame cannot be joined to itself")
        fixed = joined == "fixed"
        feature = FramePose(frame, "local", other) if fixed else FramePosition(frame, "aligned", other)
        super().__init__(feature, reference=reference, name=name, gain=gain, weight=weight, mask=mask)

    def default_name(self) -> str:
        return f"{self.kind}_{self.frame}"

    def setup(self, model: Model) -> None:
        super().setup(model)
        carriers = [model.attachment(model.frame(name)) for name in (self.frame, self.other)]
        if carriers[0][0] == carriers[1][0]:
            raise TaskError(f"{self.name}: '{self.frame}' and '{self.other}' are on one link; that is no loop")

    @property
    def size(self) -> int:
        """Number of unknown forces, known after `setup`."""
        return self.kept.size

    def force_jacobian(self, model: Model) -> np.ndarray:
        """J: the generalised force of λ is its transpose times λ, shape (size, nv)."""
        return self.jacobian(model)[self.kept]

    @property
    def force_labels(self) -> list[str]:
        """A name for each of its forces."""
        names = {"x": "fx", "y": "fy", "z": "fz", "rx": "tx", "ry": "ty", "rz": "tz"}
        return [names[label] for label in self.labels(self.size)]

    def wrench(self, forces: np.ndarray) -> np.ndarray:
        """Force (N) and torque (N·m) on the frame, 0 where nothing is held, shape (6,)."""
        wrench = np.zeros(6)
        wrench[self.kept] = forces
        return wrench
