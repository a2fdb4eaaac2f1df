"""What a robot stands on, seen from above: the convex hull of its contact points, and signed distances to its edge."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sot.checks import positive, vector
from sot.errors import TaskError

TINY = 1e-9  # m; points closer than this are one point, polygons thinner than this a segment
UP = (0.0, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Polygon:
    """A convex polygon {p : normals p ≤ offsets}.

    The half-planes bound it in every case: a segment has four (its two sides and its two ends), so has a point. Without
    any vertex it is empty.

    Attributes:
        vertices: Corners, counter-clockwise, m, shape (k, 2); two of a segment, one of a point.
        normals: Unit normals of the half-planes, outwards, shape (m, 2).
        offsets: Their distances from the origin, m, shape (m,).
    """

    vertices: np.ndarray
    normals: np.ndarray
    offsets: np.ndarray

    def margin(self, point: np.ndarray) -> float:
        """Distance to the edge, m: positive inside, negative outside, −inf if there is no polygon."""
        if not len(self.vertices):
            return -np.inf
        room = float((self.offsets - self.normals @ point).min())
        return room if room >= 0.0 else -self._distance(point)

    def _distance(self, point: np.ndarray) -> float:
        """Distance from a point outside to the nearest point of the edge."""
        starts, edges = self.vertices, np.roll(self.vertices, -1, axis=0) - self.vertices
        squares = np.maximum((edges**2).sum(axis=1), 1e-300)
        along = np.clip(((point - starts) * edges).sum(axis=1) / squares, 0.0, 1.0)
        return float(np.linalg.norm(point - starts - along[:, None] * edges, axis=1).min())

    def contains(self, point: np.ndarray, tolerance: float = TINY) -> bool:
        """True if the point is inside, or outside by no more than the tolerance, m."""
        return self.margin(point) >= -tolerance

    def shrunk(self, by: float) -> Polygon:
        """The polygon of all points with at least this margin, m: the same half-planes, moved inwards.

        Where no point has it, no vertex is left, and the half-planes contradict each other.
        """
        smaller = replace(self, offsets=self.offsets - positive(by, "support polygon: by", zero=True))
        return replace(smaller, vertices=_clipped(self.vertices, smaller))


def support_polygon(points: np.ndarray, up: np.ndarray | tuple[float, float, float] = UP) -> Polygon:
    """The convex hull of contact points, seen along gravity: the ground may slope, heights may differ.

    Args:
        points: In the world, m, shape (n, 3), or on the horizontal plane already, shape (n, 2).
        up: Against gravity; with the default, x and y of the polygon are those of the world.
    """
    array = np.asarray(points, dtype=float)
    if array.size == 0:
        return Polygon(np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0))
    if array.ndim != 2 or array.shape[1] not in (2, 3) or not np.isfinite(array).all():
        raise TaskError(f"support polygon: expected finite points of shape (n, 2) or (n, 3), got {points!r}")
    return _of_vertices(_hull(array if array.shape[1] == 2 else array @ horizontal_axes(up).T))


def horizontal_axes(up: np.ndarray | tuple[float, float, float] = UP) -> np.ndarray:
    """Two axes at right angles to gravity, shape (2, 3); x and y of the world if gravity is along z."""
    z = vector(up, 3, "support polygon: up", repeat=False)
    if not (np.linalg.norm(z) > 0.0):
        raise TaskError("support polygon: up: is zero")
    z = z / np.linalg.norm(z)
    x = np.array([1.0, 0.0, 0.0]) if abs(z[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    x = x - (x @ z) * z
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x)])


def _hull(points: np.ndarray) -> np.ndarray:
    """Corners of the convex hull, counter-clockwise (monotone chain)."""
    points = points[np.lexsort((points[:, 1], points[:, 0]))]
    corners = _distinct(np.array(_chain(points)[:-1] + _chain(points[::-1])[:-1] or [points[0]]))
    if len(corners) < 2:
        return corners
    first = corners[np.argmax(np.linalg.norm(corners - corners[0], axis=1))]
    last = corners[np.argmax(np.linalg.norm(corners - first, axis=1))]  # of a thin polygon these two are the ends
    side = _turned(last - first) / np.linalg.norm(last - first)
    return corners if np.ptp(corners @ side) > TINY else np.stack([first, last])


def _chain(points: np.ndarray) -> list[np.ndarray]:
    """One half of the hull: only left turns."""
    chain: list[np.ndarray] = []
    for p in points:
        while len(chain) > 1 and _cross(chain[-1] - chain[-2], p - chain[-2]) <= 0.0:
            chain.pop()
        chain.append(p)
    return chain


def _distinct(corners: np.ndarray) -> np.ndarray:
    """Corners without those that are the same point as the one before."""
    apart = np.linalg.norm(corners - np.roll(corners, 1, axis=0), axis=1) > TINY
    return corners[apart] if apart.any() else corners[:1]


def _of_vertices(vertices: np.ndarray) -> Polygon:
    """Half-planes of a hull."""
    if len(vertices) == 1:
        normals, through = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]), vertices[[0, 0, 0, 0]]
    else:
        edges = np.roll(vertices, -1, axis=0) - vertices
        normals, through = np.array([-_turned(edge) / np.linalg.norm(edge) for edge in edges]), vertices
    if len(vertices) == 2:  # side, end, other side, other end: counter-clockwise
        end = (vertices[1] - vertices[0]) / np.linalg.norm(vertices[1] - vertices[0])
        normals, through = np.array([normals[0], end, normals[1], -end]), vertices[[0, 1, 1, 0]]
    return Polygon(vertices, normals, (normals * through).sum(axis=1))


def _clipped(vertices: np.ndarray, polygon: Polygon) -> np.ndarray:
    """What is left of a polygon inside half-planes (Sutherland and Hodgman)."""
    for normal, offset in zip(polygon.normals, polygon.offsets, strict=True):
        kept: list[np.ndarray] = []
        for p, q in zip(vertices, np.roll(vertices, -1, axis=0), strict=True):
            room_p, room_q = offset - normal @ p, offset - normal @ q
            if room_p >= 0.0:
                kept.append(p)
            if (room_p >= 0.0) != (room_q >= 0.0):
                kept.append(p + (q - p) * room_p / (room_p - room_q))
        vertices = np.array(kept).reshape(-1, 2)
    return vertices


def _cross(a: np.ndarray, b: np.ndarray) -> float:
    return float(a[0] * b[1] - a[1] * b[0])


def _turned(edge: np.ndarray) -> np.ndarray:
    """A quarter turn counter-clockwise."""
    return np.array([-edge[1], edge[0]])
