"""Convex hulls of points: how far a point is from one, its volume with a ball swept over it, the hull worn off."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import linprog
from scipy.spatial import ConvexHull, HalfspaceIntersection, QhullError

MOST = 300_000  # entries of one table of distances; more points are looked at in turns
FLAT = 1e-7  # m; what spreads less has no thickness


@dataclass(frozen=True, eq=False)
class Surface:
    """What bounds a hull: corners, triangles of them, planes n·p + o ≤ 0, and the measures of Steiner's formula."""

    corners: np.ndarray  # (k, 3)
    faces: np.ndarray  # (m, 3), indices of corners
    planes: np.ndarray  # (m, 4)
    volume: float
    area: float
    bend: float  # Σ ½ l θ over the edges


class Polytope:
    """Convex hull of points. A single point, a line and a flat polygon are hulls as well."""

    def __init__(self, points: np.ndarray) -> None:
        cloud = np.unique(np.asarray(points, dtype=float), axis=0)
        spread, axes = np.linalg.svd(cloud - cloud.mean(axis=0), full_matrices=False)[1:]
        self.rank = int((spread > FLAT).sum())
        self.surface = (_line, _line, _polygon, _solid)[self.rank](cloud, axes)

    @property
    def corners(self) -> np.ndarray:
        """Points that span the hull, shape (k, 3), m."""
        return self.surface.corners

    def signed_distance(self, points: np.ndarray) -> np.ndarray:
        """Distance of points from the surface, m, negative inside; shape (n,).

        Outside it is the distance to the nearest triangle or edge; inside the nearest plane decides, max n·p + o.
        """
        turn = max(1, MOST // len(self.surface.faces))
        return np.concatenate([self._signed(points[i : i + turn]) for i in range(0, len(points), turn)])

    def _signed(self, points: np.ndarray) -> np.ndarray:
        if self.rank < 3:
            return self._to_surface(points)
        planes = self.surface.planes
        distance = (points @ planes[:, :3].T + planes[:, 3]).max(axis=1)
        outside = distance > 0.0
        if outside.any():
            distance[outside] = self._to_surface(points[outside])
        return distance

    def _to_surface(self, points: np.ndarray) -> np.ndarray:
        a, b, c = (self.corners[self.surface.faces[:, i]] for i in range(3))
        tables = [_to_segments(points, a, b)]
        if self.rank > 1:
            tables += [_to_segments(points, b, c), _to_segments(points, c, a), _to_insides(points, a, b, c)]
        return np.min(tables, axis=(0, 2))

    def volume(self, radius: float = 0.0) -> float:
        """Volume with a ball swept over it, m³ (Steiner): V + S r + r² Σ ½ l θ + 4/3 π r³."""
        s = self.surface
        return s.volume + s.area * radius + s.bend * radius**2 + 4.0 / 3.0 * np.pi * radius**3

    @cached_property
    def core(self) -> tuple[np.ndarray, float]:
        """Centre and radius of the largest ball inside, m: max r with n·c + r ≤ −o."""
        planes = self.surface.planes
        if self.rank < 3:
            return self.corners.mean(axis=0), 0.0
        rows = np.hstack([planes[:, :3], np.ones((len(planes), 1))])
        limits = [(None, None)] * 3 + [(0.0, None)]
        found = linprog([0.0, 0.0, 0.0, -1.0], A_ub=rows, b_ub=-planes[:, 3], bounds=limits)
        return (found.x[:3], float(found.x[3])) if found.success else (self.corners.mean(axis=0), 0.0)

    def eroded(self, depth: float) -> np.ndarray:
        """Corners of what is left when a layer is taken off every face, shape (k, 3); `depth` in m."""
        center, radius = self.core
        if not (0.0 < depth < radius):
            return self.corners
        planes = np.unique(self.surface.planes.round(9), axis=0)
        planes[:, 3] += depth
        try:
            return np.unique(HalfspaceIntersection(planes, center).intersections.round(9), axis=0)
        except QhullError:  # too thin to be told from a plane
            return self.corners


def _line(points: np.ndarray, axes: np.ndarray) -> Surface:
    """A line, or a single point: one triangle without height, bent by a full turn around its length."""
    along = points @ axes[0]
    ends = np.unique(points[[along.argmin(), along.argmax()]], axis=0)
    length = float(np.linalg.norm(ends[-1] - ends[0]))
    faces = np.array([[0, len(ends) - 1, len(ends) - 1]])
    return Surface(ends, faces, np.zeros((1, 4)), 0.0, 0.0, np.pi * length)


def _polygon(points: np.ndarray, axes: np.ndarray) -> Surface:
    """A flat polygon: a fan of triangles, two sides, every edge bent by half a turn."""
    hull = ConvexHull(points @ axes[:2].T)
    corners = points[hull.vertices]  # in order, in the plane
    fan = np.array([[0, i, i + 1] for i in range(1, len(corners) - 1)])
    return Surface(corners, fan, np.zeros((1, 4)), 0.0, 2.0 * hull.volume, 0.5 * np.pi * hull.area)


def _solid(points: np.ndarray, axes: np.ndarray) -> Surface:
    hull = ConvexHull(points, qhull_options="Qt")
    triangles = points[hull.simplices]
    # Neighbour i of a face lies across the edge that does not hold its corner i.
    edges = np.linalg.norm(triangles[:, [1, 2, 0]] - triangles[:, [2, 0, 1]], axis=2)
    normals = hull.equations[:, :3]
    cosines = np.einsum("mi,mni->mn", normals, normals[hull.neighbors])
    bend = 0.25 * float((edges * np.arccos(np.clip(cosines, -1.0, 1.0))).sum())  # every edge is met twice
    faces = np.searchsorted(hull.vertices, hull.simplices)
    return Surface(points[hull.vertices], faces, hull.equations, float(hull.volume), float(hull.area), bend)


def _to_segments(points: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Distance of each point from each segment, shape (n, m)."""
    along = end - start
    length2 = np.maximum((along**2).sum(axis=1), 1e-300)
    away = points[:, None] - start
    part = np.clip(np.einsum("nmi,mi->nm", away, along) / length2, 0.0, 1.0)
    return np.linalg.norm(away - part[..., None] * along, axis=2)


def _to_insides(points: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Distance of each point from each triangle it stands above or below, else infinity, shape (n, m).

    With u = b − a, v = c − a, n = u × v: the foot is a + x u + y v, x = (w × v)·n/n², y = (u × w)·n/n².
    """
    u, v = b - a, c - a
    n = np.cross(u, v)
    n2 = np.maximum((n**2).sum(axis=1), 1e-300)
    w = points[:, None] - a
    # (w × v)·n = w·(v × n): one product with constants instead of a table of cross products.
    x = np.einsum("nmi,mi->nm", w, np.cross(v, n)) / n2
    y = np.einsum("nmi,mi->nm", w, np.cross(n, u)) / n2
    above = (x >= 0.0) & (y >= 0.0) & (x + y <= 1.0)
    return np.where(above, np.abs(np.einsum("nmi,mi->nm", w, n)) / np.sqrt(n2), np.inf)
