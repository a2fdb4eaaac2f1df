"""The door to coal: shapes of links as points, distances between hulls, whether meshes touch."""

from __future__ import annotations

from itertools import product
from typing import Any

import coal
import numpy as np

from sot.collision.cloud import Cloud
from sot.collision.polytope import Polytope
from sot.collision.shape import Hull
from sot.errors import ModelError
from sot.lie import SE3

ROUND = 32  # sides of the prism that stands for a cylinder, and holds it: 0.5 % wider at its edges


def cloud_of(shape: Any, where: str) -> Cloud:
    """A link's shape as points or balls that span it.

    Cylinders and cones become prisms and pyramids around them, ellipsoids the points of a slightly larger one.
    """
    points, radius = _span(shape, where)
    if not len(points) or not np.isfinite(points).all():
        raise ModelError(f"{where}: the mesh has no vertices, or some that are not finite")
    swept = shape.getSweptSphereRadius() if isinstance(shape, coal.ShapeBase) else 0.0
    return Cloud(points, np.full(len(points), radius + swept))


def _span(shape: Any, where: str) -> tuple[np.ndarray, float]:
    if isinstance(shape, coal.Sphere):
        return np.zeros((1, 3)), shape.radius
    if isinstance(shape, coal.Capsule):
        return np.array([[0.0, 0.0, -shape.halfLength], [0.0, 0.0, shape.halfLength]]), shape.radius
    if isinstance(shape, coal.Box):
        return np.array(list(product((-1.0, 1.0), repeat=3))) * shape.halfSide, 0.0
    if isinstance(shape, coal.Cylinder):
        return np.vstack([_ring(shape.radius, -shape.halfLength), _ring(shape.radius, shape.halfLength)]), 0.0
    if isinstance(shape, coal.Cone):
        return np.vstack([_ring(shape.radius, -shape.halfLength), [[0.0, 0.0, shape.halfLength]]]), 0.0
    if isinstance(shape, coal.Ellipsoid):
        rings = [_ring(np.cos(a), np.sin(a)) for a in np.linspace(-0.5 * np.pi, 0.5 * np.pi, ROUND)]
        return np.vstack(rings) * shape.radii / np.cos(0.5 * np.pi / (ROUND - 1)), 0.0
    if isinstance(shape, coal.ConvexBase):
        return np.array(shape.points()), 0.0
    if hasattr(shape, "vertices"):
        return np.array(shape.vertices()), 0.0
    raise ModelError(f"{where}: a shape of the kind {type(shape).__name__} cannot be approximated")


def _ring(radius: float, height: float) -> np.ndarray:
    """Corners of the regular polygon around a circle, shape (ROUND, 3)."""
    angles = 2.0 * np.pi * np.arange(ROUND) / ROUND
    wide = radius / np.cos(np.pi / ROUND)
    return np.column_stack([wide * np.cos(angles), wide * np.sin(angles), np.full(ROUND, height)])


def is_box(shape: Any) -> bool:
    """True for a box, whose eight corners are kept as they are."""
    return isinstance(shape, coal.Box)


class Solid:
    """A hull as coal sees it, with a ball around it for quick answers.

    Attributes:
        center: Middle of that ball in the hull's frame, m.
        reach: Its radius, m.
    """

    def __init__(self, hull: Hull) -> None:
        self.shape, self.placement = _solid(hull)
        corners = hull.points
        self.center = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
        self.reach = float(np.linalg.norm(corners - self.center, axis=1).max()) + hull.radius

    def transforms(self, rotations: np.ndarray, translations: np.ndarray) -> list[Any]:
        """Where coal has to put it, for each pose of the frame it is placed in; shapes (n, 3, 3), (n, 3)."""
        turned = rotations @ self.placement.rotation
        moved = rotations @ self.placement.translation + translations
        return [coal.Transform3s(R, p) for R, p in zip(turned, moved, strict=True)]


def _solid(hull: Hull) -> tuple[Any, SE3]:
    """coal's shape, and where it stands in the hull's frame. Its capsules lie along z, around the origin."""
    polytope = Polytope(hull.points)
    corners = polytope.corners
    if len(corners) == 1:
        return coal.Sphere(hull.radius), SE3(np.eye(3), corners[0])
    if len(corners) == 2:
        along = corners[1] - corners[0]
        length = float(np.linalg.norm(along))
        return coal.Capsule(hull.radius, length), SE3(_upright(along / length), corners.mean(axis=0))
    points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for corner in corners:
        points.append(corner)
    for i, j, k in polytope.surface.faces.tolist():
        triangles.append(coal.Triangle(i, j, k))
    shape = coal.Convex(points, triangles)
    shape.setSweptSphereRadius(hull.radius)
    return shape, SE3.Identity()


def _upright(axis: np.ndarray) -> np.ndarray:
    """A rotation whose third column is `axis`."""
    side = np.cross(axis, np.eye(3)[np.abs(axis).argmin()])
    side /= np.linalg.norm(side)
    return np.column_stack([side, np.cross(axis, side), axis])


class Gauge:
    """Distance between two solids."""

    def __init__(self, first: Solid, second: Solid) -> None:
        self._solids = first, second  # coal keeps no hold of them
        self._compute = coal.ComputeDistance(first.shape, second.shape)
        self._request, self._result = coal.DistanceRequest(), coal.DistanceResult()

    def __call__(self, first: Any, second: Any) -> float:
        """Distance at two transforms, m; negative where they overlap: how far apart they had to be moved."""
        self._result.clear()
        return self._compute(first, second, self._request, self._result)


class Meshes:
    """Two lists of a robot's own shapes, as they are: slow, but without any inflation.

    Each shape comes with the index of its joint and its placement in it.
    """

    def __init__(self, first: list[tuple[Any, int, SE3]], second: list[tuple[Any, int, SE3]]) -> None:
        self._pairs = list(product(first, second))

    def touch(self, poses: np.ndarray) -> bool:
        """True if any two touch, at joint poses of shape (njoints, 12): rotation by columns, translation."""
        request, result = coal.CollisionRequest(), coal.CollisionResult()
        return any(
            coal.collide(a[0], _placed(poses, a), b[0], _placed(poses, b), request, result) for a, b in self._pairs
        )

    def distance(self, poses: np.ndarray) -> float:
        """Smallest distance, m; not positive if any two touch."""
        request, result = coal.DistanceRequest(), coal.DistanceResult()
        found = []
        for a, b in self._pairs:
            result.clear()
            found.append(coal.distance(a[0], _placed(poses, a), b[0], _placed(poses, b), request, result))
        return min(found)


def _placed(poses: np.ndarray, source: tuple[Any, int, SE3]) -> Any:
    _, joint, placement = source
    rotation, translation = poses[joint, :9].reshape(3, 3).T, poses[joint, 9:]
    return coal.Transform3s(rotation @ placement.rotation, rotation @ placement.translation + translation)
