"""What a contact can push: the cone of all wrenches of a set of points with friction.

Each point pushes with a force inside its friction pyramid, whose edges lie on the circular cone. Their wrenches are the
generators of the cone. Where it touches only a line or a point some torques are impossible, so wrenches are written as
w = B y with fewer numbers y; with the normal force at 1 the cone is a polytope, and its facets are the rows C y ≤ 0.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from scipy.spatial import ConvexHull

from sot.errors import TaskError
from sot.lie import skew

FLAT = 1e-6  # m; points closer than this to a line, or to each other, are on it


@dataclass(frozen=True, eq=False)
class WrenchCone:
    """Wrenches that a contact can exert on the robot, in the frame of the contact.

    Attributes:
        basis: B, from y to force (N) and torque about the frame's origin (N·m), shape (6, r).
        facets: C, with C y ≤ 0 inside, shape (k, r).
        normal: Coefficients of the normal force, shape (r,).
        inner: A wrench inside the cone, with normal force 1, shape (r,).
        labels: A name for each entry of y.
    """

    basis: np.ndarray
    facets: np.ndarray
    normal: np.ndarray
    inner: np.ndarray
    labels: tuple[str, ...]

    @property
    def size(self) -> int:
        """Number of unknowns, r."""
        return self.basis.shape[1]

    @property
    def facet_labels(self) -> list[str]:
        """What is about to happen at each facet: "sliding", "tipping", or "turning" on the spot."""
        turns = ~self.basis[:3].any(axis=0)  # unknowns that are torques
        torques = self.facets[:, turns] @ self.basis[3:, turns].T
        about_normal = np.abs(torques @ self.basis[:3] @ self.normal) > 1e-6
        tips = np.linalg.norm(torques, axis=1) > 1e-6
        return [
            "turning" if turns else "tipping" if tip else "sliding"
            for turns, tip in zip(about_normal, tips, strict=True)
        ]


def wrench_cone(points: np.ndarray, normal: np.ndarray, friction: float, facets: int) -> WrenchCone:
    """The cone of a set of points, made once: see `_wrench_cone`."""
    return _wrench_cone(points.tobytes(), normal.tobytes(), friction, facets)


@functools.lru_cache(maxsize=256)
def _wrench_cone(given: bytes, direction: bytes, friction: float, facets: int) -> WrenchCone:
    """The cone of a set of points.

    Args:
        given: Points in the frame of the contact, m, shape (k, 3), as bytes: what is remembered needs a hash.
        direction: Unit normal of the surface, towards the robot, as bytes.
        friction: Friction coefficient.
        facets: Edges of the pyramid in each point's friction cone.
    """
    points, normal = np.frombuffer(given).reshape(-1, 3), np.frombuffer(direction)
    R = _axes(normal)
    centre = points.mean(axis=0)
    turns = _torque_axes(points - centre, R)
    B = np.zeros((6, 3 + turns.shape[1]))
    B[:3, :3], B[3:, :3], B[3:, 3:] = R, skew(centre) @ R, turns
    y = np.linalg.lstsq(B, _generators(points, R, friction, facets).T, rcond=None)[0].T  # (generators, r), y₂ = 1
    names = ("fx", "fy", "fz", *(f"t{i}" for i in range(turns.shape[1])))
    if turns.shape[1] == 3:
        names = ("fx", "fy", "fz", "tx", "ty", "tz")
    return WrenchCone(B, _facets(y), np.eye(B.shape[1])[2], y.mean(axis=0), names)


def pressure_cone(points: np.ndarray, normal: np.ndarray) -> WrenchCone:
    """The cone of a set of points without friction: normal forces alone, one, two or three unknowns.

    Args:
        points: In the frame of the contact, m, shape (k, 3).
        normal: Unit normal of the surface, towards the robot.
    """
    centre = points.mean(axis=0)
    torques = np.cross(points - centre, normal)
    _, sizes, Vt = np.linalg.svd(torques)
    turns = Vt[: int(np.count_nonzero(sizes > FLAT))].T  # (3, 0, 1 or 2)
    B = np.zeros((6, 1 + turns.shape[1]))
    B[:3, 0], B[3:, 0], B[3:, 1:] = normal, np.cross(centre, normal), turns
    inside = torques @ turns  # torques of the points, each with normal force 1
    labels = ("fz", *(f"t{i}" for i in range(turns.shape[1])))
    facets = np.insert(_section_facets(inside)[:, :-1], 0, _section_facets(inside)[:, -1], axis=1)
    return WrenchCone(B, facets, np.eye(B.shape[1])[0], np.append(1.0, inside.mean(axis=0)), labels)


def _axes(normal: np.ndarray) -> np.ndarray:
    """A rotation whose z axis is the normal; the identity if the normal is z."""
    x = np.array([1.0, 0.0, 0.0]) if abs(normal[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    x = x - (x @ normal) * normal
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(normal, x), normal])


def _torque_axes(arms: np.ndarray, R: np.ndarray) -> np.ndarray:
    """Directions of the torques that forces at these arms can make, shape (3, 0, 2 or 3)."""
    _, sizes, Vt = np.linalg.svd(arms)
    spread = int(np.count_nonzero(sizes > FLAT))
    if spread == 0:
        return np.zeros((3, 0))
    return R if spread > 1 else np.ascontiguousarray(Vt[1:].T)


def _generators(points: np.ndarray, R: np.ndarray, friction: float, facets: int) -> np.ndarray:
    """Wrenches of the edges of every point's pyramid, with normal force 1, shape (points · facets, 6)."""
    angles = 2.0 * np.pi * (np.arange(facets) + 0.5) / facets
    edges = np.column_stack([friction * np.cos(angles), friction * np.sin(angles), np.ones(facets)]) @ R.T
    return np.array([[*force, *np.cross(point, force)] for point in points for force in edges])


def _facets(y: np.ndarray) -> np.ndarray:
    """Rows C with C y ≤ 0 for all generators; those of the cross-section at y₂ = 1."""
    equations = _section_facets(np.delete(y, 2, axis=1))
    return np.insert(equations[:, :-1], 2, equations[:, -1], axis=1)


def _section_facets(section: np.ndarray) -> np.ndarray:
    """Rows (a, b) with a · s + b ≤ 0 for all points s, shape (k, dimensions + 1)."""
    if section.shape[1] == 0:
        return np.zeros((0, 1))
    if section.shape[1] == 1:
        return np.array([[1.0, -section.max()], [-1.0, section.min()]])
    equations = ConvexHull(section).equations
    _, first = np.unique(np.round(equations, 9), axis=0, return_index=True)  # told apart by rounding, kept unrounded
    return equations[first]


def checked_points(points: object, where: str) -> np.ndarray:
    """Contact points of a user, shape (k, 3)."""
    array = np.atleast_2d(np.asarray(points, dtype=float))
    if array.ndim != 2 or array.shape[1] != 3 or not np.isfinite(array).all():
        raise TaskError(f"{where}: expected points [x, y, z] in m, got {points!r}")
    return array
