"""Pose, position and orientation of a frame, in the world or as seen from another frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal

import numpy as np

from sot.errors import TaskError, unknown
from sot.feature import Feature
from sot.features import motion
from sot.lie import SE3, as_pose, as_rotation, exp3, exp6_vector, log3, log6_vector
from sot.model import ALIGNED, LOCAL, WORLD, Model

Expressed = Literal["aligned", "local", "world"]


class _FrameFeature(Feature):
    """What the three have in common.

    Attributes:
        frame_id: Index of the frame, known after `setup`.
        reference_id: Index of the frame it is seen from; −1 is the world.
        expressed: `local`, `world` or `aligned`.
    """

    axes: ClassVar[tuple[str, ...]] = (ALIGNED, LOCAL, WORLD)
    rows: ClassVar[slice]  # which rows of a frame's Jacobian

    def __init__(self, frame: str, expressed: Expressed = "aligned", relative_to: str | None = None) -> None:
        """
        Args:
            frame: Name of the frame.
            expressed: Axes of errors and Jacobians: `aligned` (those of the world), `local` (the frame's own)
                or `world` (those of the world, for the point that passes its origin).
            relative_to: Frame from which it is seen, in place of the world.
        """
        if expressed not in self.axes:
            where = f"{type(self).__name__} of '{frame}': expressed"
            raise TaskError(f"{where}: {unknown('axes', expressed, self.axes)}")
        self.frame = frame
        self.expressed: str = expressed
        self.relative_to = relative_to
        self.frame_id = motion.ABSOLUTE
        self.reference_id = motion.ABSOLUTE

    def setup(self, model: Model) -> None:
        self.frame_id = model.frame(self.frame)
        self.reference_id = motion.ABSOLUTE if self.relative_to is None else model.frame(self.relative_to)

    def jacobian(self, model: Model) -> np.ndarray:
        return motion.jacobian(model, self.frame_id, self.reference_id, self.expressed)[self.rows]

    def drift(self, model: Model) -> np.ndarray:
        return motion.drift(model, self.frame_id, self.reference_id, self.expressed)[self.rows]

    def _pose(self, model: Model) -> SE3:
        return motion.placement(model, self.frame_id, self.reference_id)


class FramePose(_FrameFeature):
    """Pose T of a frame. Six rows: linear (m), angular (rad). The error T ⊖ T* is

    - aligned: (p − p*, log(R R*ᵀ)): the origin goes straight, on its own, while the frame turns;
    - local: log(T*⁻¹ T), a screw motion in the frame's axes;
    - world: log(T T*⁻¹), the same screw in the world's.
    """

    dim = 6
    rows = slice(0, 6)

    def value(self, model: Model) -> SE3:
        return self._pose(model)

    def difference(self, value: SE3, reference: SE3) -> np.ndarray:
        if self.expressed == LOCAL:
            return log6_vector(reference.actInv(value))
        if self.expressed == WORLD:
            return log6_vector(value * reference.inverse())
        turn = log3(value.rotation @ reference.rotation.T)
        return np.concatenate([value.translation - reference.translation, turn])

    def integrate(self, value: SE3, step: np.ndarray) -> SE3:
        if self.expressed == LOCAL:
            return value * exp6_vector(step)
        if self.expressed == WORLD:
            return exp6_vector(step) * value
        return SE3(exp3(step[3:]) @ value.rotation, value.translation + step[:3])

    def along(self, origin: SE3, basis: np.ndarray) -> Callable[[np.ndarray], SE3]:
        if self.expressed != ALIGNED or basis[:, 3:].any():
            return super().along(origin, basis)
        R, p = origin.rotation.copy(), origin.translation.copy()
        return lambda step: SE3(R, p + step[:3])  # nothing turns: half the time of `integrate`

    def as_value(self, target: object, where: str) -> SE3:
        return as_pose(target, where)

    def labels(self) -> list[str]:
        return ["x", "y", "z", "rx", "ry", "rz"]


class FramePosition(_FrameFeature):
    """Position p of a frame's origin, m. Three rows, e = p − p*, in the axes of the world or of `relative_to`.

    In the frame's own axes there is no such error: Rᵀ(p − p*) also changes when the frame only turns, so its rate
    is not that of the origin. Take a pose in `local` axes, or a position relative to another frame.
    """

    dim = 3
    axes = (ALIGNED,)
    rows = slice(0, 3)

    def value(self, model: Model) -> np.ndarray:
        return self._pose(model).translation.copy()

    def labels(self) -> list[str]:
        return ["x", "y", "z"]


class FrameOrientation(_FrameFeature):
    """Rotation matrix R of a frame. Three rows (rad): log(R R*ᵀ), or log(R*ᵀ R) in local axes."""

    dim = 3
    rows = slice(3, 6)

    def value(self, model: Model) -> np.ndarray:
        return self._pose(model).rotation.copy()

    def difference(self, value: np.ndarray, reference: np.ndarray) -> np.ndarray:
        return log3(reference.T @ value if self.expressed == LOCAL else value @ reference.T)

    def integrate(self, value: np.ndarray, step: np.ndarray) -> np.ndarray:
        return value @ exp3(step) if self.expressed == LOCAL else exp3(step) @ value

    def as_value(self, target: object, where: str) -> np.ndarray:
        return as_rotation(target, where)

    def labels(self) -> list[str]:
        return ["rx", "ry", "rz"]
