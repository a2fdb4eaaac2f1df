"""Obstacles and near pairs as drawings."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations

import numpy as np

from sot.collision.distances import PairDistance
from sot.collision.obstacle import Obstacle
from sot.collision.shape import Hull
from sot.lie import SE3
from sot.sketch import ALARM, CALM, WARNING, Body, Box, Colour, Line, Solid, Sphere, Triangles

GLASS: Colour = (0.35, 0.45, 0.60, 0.45)
AT_MARGIN = 1e-3  # m above the margin up to which a pair counts as being there
WALL = 2.0, 0.004  # m; width and thickness of the piece of a plane that is drawn


def line(pair: PairDistance, margin: float, influence: float) -> Line:
    """A line between the nearest points of two bodies."""
    colour = CALM if pair.distance > 0.5 * influence else WARNING
    if pair.distance <= margin + AT_MARGIN:
        colour = ALARM
    return Line(" – ".join(pair.names), pair.points[0], pair.points[1], colour)


def solid(obstacle: Obstacle, pose: SE3) -> Solid:
    """An obstacle; what is drawn of a half-space is a piece of its surface."""
    homogeneous = pose.homogeneous
    if obstacle.plane is not None:
        homogeneous[:3, 3] -= 0.5 * WALL[1] * homogeneous[:3, 2]
    return Solid(obstacle.name, _body(obstacle), homogeneous, GLASS)


def _body(obstacle: Obstacle) -> Body:
    if obstacle.plane is not None:
        return Box((WALL[0], WALL[0], WALL[1]))
    if obstacle.box is not None:
        return Box(tuple(float(length) for length in obstacle.box))  # type: ignore[arg-type]  # it has three
    return Sphere(obstacle.hull.radius) if obstacle.ball is not None else surface(obstacle.hull)


@lru_cache(maxsize=256)
def surface(hull: Hull) -> Triangles:
    """Surface of a swept hull: the point that lies farthest in each of many directions, argmax n·x + r n."""
    directions, faces = _directions()
    corners = hull.points[np.argmax(directions @ hull.points.T, axis=1)]
    return Triangles(corners + hull.radius * directions, faces)


@lru_cache(maxsize=1)
def _directions(rounds: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Corners and triangles of an octahedron whose faces were divided into four, again and again, on the sphere."""
    points = [np.array(p) for axis in np.eye(3) for p in (axis, -axis)]
    faces = [(a, b, c) for a in (0, 1) for b in (2, 3) for c in (4, 5)]
    for _ in range(rounds):
        middles: dict[tuple[int, int], int] = {}
        for face in faces:
            for edge in combinations(sorted(face), 2):
                if edge not in middles:
                    middle = points[edge[0]] + points[edge[1]]
                    middles[edge] = len(points)
                    points.append(middle / np.linalg.norm(middle))
        faces = [part for face in faces for part in _divided(face, middles)]
    directions = np.array(points)
    return directions, np.array([_outwards(face, directions) for face in faces])


def _divided(face: tuple[int, int, int], middles: dict[tuple[int, int], int]) -> list[tuple[int, int, int]]:
    a, b, c = sorted(face)
    ab, bc, ac = middles[a, b], middles[b, c], middles[a, c]
    return [(a, ab, ac), (b, ab, bc), (c, ac, bc), (ab, bc, ac)]


def _outwards(face: tuple[int, int, int], points: np.ndarray) -> tuple[int, int, int]:
    a, b, c = face
    return face if np.linalg.det(points[[a, b, c]]) > 0.0 else (a, c, b)
