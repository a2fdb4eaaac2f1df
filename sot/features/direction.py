"""Directions: an axis of a frame in the world, and the direction in which a point is seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sot.checks import vector
from sot.errors import TaskError, unknown
from sot.feature import Feature
from sot.features.motion import SeenPoint
from sot.lie import exp3, skew
from sot.model import ALIGNED, Model

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
AXES.update({f"-{name}": (-x, -y, -z) for name, (x, y, z) in list(AXES.items())})

Axis = str | Sequence[float]


def as_axis(axis: object, where: str) -> np.ndarray:
    """A unit vector from `x`, `y`, `z`, `-x`, `-y`, `-z` or from 3 numbers that are not all zero."""
    if isinstance(axis, str):
        if axis not in AXES:
            raise TaskError(f"{where}: {unknown('axis', axis, AXES)}, or 3 numbers")
        return np.array(AXES[axis])
    n = vector(axis, 3, where, repeat=False)
    length = float(np.linalg.norm(n))
    if not (length > 1e-9):
        raise TaskError(f"{where}: {n.tolist()} has no direction")
    return n / length


class UnitVector(Feature):
    """A feature on the sphere. Three rows of rank 2: the rotation vector (rad) that turns n* into n.

    It is at right angles to n, and so are the rows of the Jacobian: turning about n itself costs nothing. Three
    rows in fixed axes are smooth everywhere; two rows would need a basis on the sphere, and no such basis is.
    """

    dim = 3

    def difference(self, value: np.ndarray, reference: np.ndarray) -> np.ndarray:
        axis = skew(reference) @ value
        sine, cosine = float(np.linalg.norm(axis)), float(reference @ value)
        if sine > 1e-12:
            return np.arctan2(sine, cosine) / sine * axis
        # At half a turn every way round is as short as any other: take one, always the same.
        return axis if cosine > 0.0 else np.pi * orthogonal(value)

    def integrate(self, value: np.ndarray, step: np.ndarray) -> np.ndarray:
        return exp3(np.asarray(step, dtype=float)) @ value

    def as_value(self, target: object, where: str) -> np.ndarray:
        return as_axis(target, where)

    def labels(self) -> list[str]:
        return ["rx", "ry", "rz"]


class Direction(UnitVector):
    """Direction n = R a of a frame's axis a in the world.

    ṅ = ω × n, and n × ṅ = (I − n nᵀ) ω is the velocity of the rotation vector: J = (I − n nᵀ) J_ω.
    """

    def __init__(self, frame: str, axis: Axis = "z") -> None:
        """
        Args:
            frame: Name of the frame.
            axis: The axis in the frame: `x`, `y`, `z`, `-x`, `-y`, `-z` or 3 numbers.
        """
        self.frame = frame
        self.axis = as_axis(axis, f"direction of '{frame}': axis")
        self.frame_id = -1

    def setup(self, model: Model) -> None:
        self.frame_id = model.frame(self.frame)

    def value(self, model: Model) -> np.ndarray:
        return model.placement(self.frame_id).rotation @ self.axis

    def jacobian(self, model: Model) -> np.ndarray:
        n, J = self.value(model), model.jacobian(self.frame_id, ALIGNED)[3:]
        return J - np.outer(n, n @ J)

    def drift(self, model: Model) -> np.ndarray:
        """d/dt (I − n nᵀ) ω = (I − n nᵀ) ω̇ − (n · ω) ω × n."""
        n = self.value(model)
        w, dw = model.velocity(self.frame_id, ALIGNED)[3:], model.drift(self.frame_id, ALIGNED)[3:]
        return dw - n * (n @ dw) - (n @ w) * (skew(w) @ n)


class Gaze(UnitVector):
    """Direction m = r / ‖r‖ in which a frame sees a point, in the frame's own axes.

    Drive it to an axis of the frame, and this axis points at the point. With m × ṁ = r × ṙ / ‖r‖² the Jacobian is
    J = [r]× J_r / ‖r‖².
    """

    def __init__(self, frame: str, axis: Axis, point: Sequence[float], attached_to: str | None = None) -> None:
        """
        Args:
            frame: Name of the frame that looks, such as a camera's.
            axis: The axis of the frame that should point at the point, and the target unless another is set.
            point: Coordinates of the point, m.
            attached_to: Frame that carries the point, in whose axes the coordinates are; the world by default.
        """
        self.frame = frame
        self.axis = as_axis(axis, f"gaze of '{frame}': axis")
        self.seen = SeenPoint(frame, point, attached_to, f"gaze of '{frame}'")

    def setup(self, model: Model) -> None:
        self.seen.setup(model)

    def value(self, model: Model) -> np.ndarray:
        r = self.seen.at(model).p
        return r / self._length(r)

    def jacobian(self, model: Model) -> np.ndarray:
        seen = self.seen.at(model)
        return skew(seen.p) @ seen.J / self._length(seen.p) ** 2

    def drift(self, model: Model) -> np.ndarray:
        """d/dt (r × ṙ / ‖r‖²) = r × r̈ / ‖r‖² − 2 (r · ṙ) r × ṙ / ‖r‖⁴."""
        seen, square = self.seen.at(model), self._length(self.seen.at(model).p) ** 2
        r, dr = seen.p, seen.J @ model.v
        return skew(r) @ (self.seen.acceleration(model) - 2.0 * (r @ dr) / square * dr) / square

    def _length(self, r: np.ndarray) -> float:
        length = float(np.linalg.norm(r))
        if not (length > 1e-6):
            raise TaskError(f"gaze of '{self.frame}': the point is at the frame's origin, so it has no direction")
        return length


def orthogonal(n: np.ndarray) -> np.ndarray:
    """A unit vector at right angles to the unit vector n."""
    other = np.eye(3)[int(np.argmin(np.abs(n)))]
    across = skew(n) @ other
    return across / np.linalg.norm(across)
