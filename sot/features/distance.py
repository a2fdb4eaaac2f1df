"""Distances between two bodies: of two points, and of two lines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sot.feature import Feature
from sot.features.direction import Axis, as_axis, orthogonal
from sot.features.motion import Point
from sot.lie import skew
from sot.model import ALIGNED, Model

TOUCHING = 1e-9  # m: closer than this a distance has no direction
PARALLEL = 1e-6  # sine of the angle below which two lines count as parallel


class PointDistance(Feature):
    """Distance d = ‖p₂ − p₁‖ of two points, m. One row, J = n (J₂ − J₁) with n the direction from 1 to 2."""

    dim = 1

    def __init__(
        self,
        frame: str,
        other: str | None = None,
        point: Sequence[float] = (0.0, 0.0, 0.0),
        other_point: Sequence[float] = (0.0, 0.0, 0.0),
    ) -> None:
        """
        Args:
            frame: Frame that carries the first point.
            other: Frame that carries the second point; the world by default.
            point: The first point in the axes of its frame, m.
            other_point: The second point in the axes of its frame, m.
        """
        self.first = Point(point, frame, f"distance of '{frame}'")
        self.second = Point(other_point, other, f"distance of '{frame}': other")

    def setup(self, model: Model) -> None:
        self.first.setup(model)
        self.second.setup(model)

    def value(self, model: Model) -> np.ndarray:
        return np.array([np.linalg.norm(self.second.at(model).p - self.first.at(model).p)])

    def jacobian(self, model: Model) -> np.ndarray:
        w, J = self._between(model)
        return (_unit(w) @ J)[None]

    def drift(self, model: Model) -> np.ndarray:
        """d̈ = n · ẅ + (‖ẇ‖² − ḋ²) / d with w = p₂ − p₁."""
        w, J = self._between(model)
        n, rate, distance = _unit(w), J @ model.v, max(float(np.linalg.norm(w)), TOUCHING)
        a = self.second.acceleration(model) - self.first.acceleration(model)
        return np.array([n @ a + (rate @ rate - (n @ rate) ** 2) / distance])

    def _between(self, model: Model) -> tuple[np.ndarray, np.ndarray]:
        first, second = self.first.at(model), self.second.at(model)
        return second.p - first.p, second.J - first.J

    def labels(self) -> list[str]:
        return ["distance"]


class LineDistance(Feature):
    """Signed distance d = w · n of two endless lines, m, with w from line 1 to line 2 and n = u₁ × u₂ / ‖u₁ × u₂‖.

    Signed, because then it has a derivative also where the lines cross, so that it can be driven to zero (a tool
    through a fixed hole). It is positive where line 2 passes line 1 on the side of u₁ × u₂.
    The closest points do not move along n, so ḋ = n · (ẋ₂ − ẋ₁) for these points of the two bodies.

    Parallel lines have no u₁ × u₂: there the distance is ‖w‖ at right angles to them, not negative, and the
    closest points are those nearest to the two given points. Tilting parallel lines by however little makes them
    meet far away, so this distance jumps there: it is no feature for lines that should become parallel.
    """

    dim = 1

    def __init__(
        self,
        frame: str,
        axis: Axis,
        other: str | None,
        other_axis: Axis,
        point: Sequence[float] = (0.0, 0.0, 0.0),
        other_point: Sequence[float] = (0.0, 0.0, 0.0),
    ) -> None:
        """
        Args:
            frame: Frame that carries the first line.
            axis: Direction of the first line in its frame.
            other: Frame that carries the second line; None is the world.
            other_axis: Direction of the second line in its frame.
            point: A point of the first line in its frame, m.
            other_point: A point of the second line in its frame, m.
        """
        where = f"line distance of '{frame}'"
        self.axis, self.other_axis = as_axis(axis, f"{where}: axis"), as_axis(other_axis, f"{where}: other_axis")
        self.first, self.second = Point(point, frame, where), Point(other_point, other, f"{where}: other")

    def setup(self, model: Model) -> None:
        self.first.setup(model)
        self.second.setup(model)

    def value(self, model: Model) -> np.ndarray:
        w, n, *_ = self._closest(model)
        return np.array([w @ n])

    def jacobian(self, model: Model) -> np.ndarray:
        _, n, arm, other_arm = self._closest(model)
        J = self._carried(model, self.second, other_arm) - self._carried(model, self.first, arm)
        return (n @ J)[None]

    def _closest(self, model: Model) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """w, n and the ways from the two given points to the closest points, each of shape (3,).

        s and t make w + t u₂ − s u₁ shortest; parallel lines share the way between them.
        """
        u1, u2 = self._axis(model, self.first, self.axis), self._axis(model, self.second, self.other_axis)
        w = self.second.at(model).p - self.first.at(model).p
        cross = skew(u1) @ u2
        sine = float(np.linalg.norm(cross))
        if sine <= PARALLEL:
            half = 0.5 * (w @ u1) * u1
            return w, _unit(w - 2.0 * half, u1), half, -half
        s = float(skew(w) @ u2 @ cross) / sine**2
        t = float(skew(w) @ u1 @ cross) / sine**2
        return w, cross / sine, s * u1, t * u2

    @staticmethod
    def _axis(model: Model, point: Point, axis: np.ndarray) -> np.ndarray:
        return axis if point.frame is None else model.placement(point.frame_id).rotation @ axis

    @staticmethod
    def _carried(model: Model, point: Point, arm: np.ndarray) -> np.ndarray:
        """Jacobian of the point of a body that is `arm` away from a given point of it, shape (3, nv)."""
        J = point.at(model).J
        if point.frame is None:
            return J
        return J - skew(arm) @ model.jacobian(point.frame_id, ALIGNED)[3:]

    def labels(self) -> list[str]:
        return ["distance"]


def _unit(w: np.ndarray, away_from: np.ndarray | None = None) -> np.ndarray:
    """Direction of w; where there is none, one that is always the same (and at right angles to `away_from`)."""
    length = float(np.linalg.norm(w))
    if length > TOUCHING:
        return w / length
    return np.array([1.0, 0.0, 0.0]) if away_from is None else orthogonal(away_from)
