"""Where a robot can touch the world: corners of its soles, ball feet, and the corners of its collision bodies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sot.collision.distances import bounding_sphere
from sot.collision.robot import collision_model
from sot.description import Foot
from sot.kernels import touch as op
from sot.model import Model


@dataclass(frozen=True)
class Candidates:
    """Balls on a robot, of radius 0 for corners of soles; see `sot.kernels.touch`.

    Attributes:
        names: Of each group: the frame of the foot, or the body.
        balls: Position in the joint, radius, friction; shape (k, 5).
        groups: Balls that belong together, shape (groups, op.GROUP).
    """

    names: tuple[str, ...]
    balls: np.ndarray
    groups: np.ndarray


def candidates(model: Model, *, bodies: bool = True) -> Candidates:
    """Feet of a robot, and with `bodies` everything else that has a collision body.

    Bodies on the joint of a foot are left out: the description of the foot says better where it touches.
    """
    parts = [(*_foot(model, foot), True) for foot in model.robot.feet]
    feet = {joint for _, joint, *_ in parts}
    if bodies:
        found = [body for body in collision_model(model.robot).bodies if body.joint > 0 and body.joint not in feet]
        parts += [(body.name, body.joint, body.hull.points, body.hull.radius, False) for body in found]
    balls: list[list[float]] = []
    groups = np.zeros((len(parts), op.GROUP))
    for label, (group, (_, joint, points, radius, is_foot)) in enumerate(zip(groups, parts, strict=True)):
        center, size = bounding_sphere(points)
        group[op.FIRST], group[op.LAST] = len(balls), len(balls) + len(points)
        group[op.CENTER : op.RADIUS], group[op.RADIUS] = center, size + radius
        group[op.CARRIER], group[op.LABEL], group[op.SOLE] = joint, label, is_foot
        balls += [[*point, radius, 1.0] for point in points]
    return Candidates(tuple(part[0] for part in parts), np.array(balls, dtype=float).reshape(-1, 5), groups)


def _foot(model: Model, foot: Foot) -> tuple[str, int, np.ndarray, float]:
    """Name, joint, points in the joint and radius of a foot. Of a ball foot the point is its centre."""
    joint, T_joint_foot, _ = model.attachment(model.frame(foot.frame))
    points = np.asarray(foot.points, dtype=float)
    if foot.radius > 0.0:
        model.update(model.robot.home, np.zeros(model.nv))
        points = points + foot.radius * model.placement(model.frame(foot.frame)).rotation[2]
    else:
        points = _around(points)
    return foot.frame, joint, points @ T_joint_foot.rotation.T + T_joint_foot.translation, foot.radius


def _around(points: np.ndarray) -> np.ndarray:
    """Corners of a flat sole, one after the other around it."""
    if len(points) < 4:
        return points
    from_middle = points - points.mean(axis=0)
    first, second, _ = np.linalg.svd(from_middle)[2]
    return points[np.argsort(np.arctan2(from_middle @ second, from_middle @ first), kind="stable")]
