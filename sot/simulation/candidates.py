"""Where a robot can touch the world: corners of its soles, ball feet, and the corners of its collision bodies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sot.collision.distances import bounding_sphere
from sot.collision.robot import collision_model
from sot.description import Foot
from sot.model import Model


@dataclass(frozen=True)
class Candidates:
    """Balls on a robot, of radius 0 for corners of soles; see `sot.kernels.touch`.

    Attributes:
        names: Of each: the frame of the foot, or the body.
        joints: Which joint carries each, shape (k,).
        balls: Position in the joint, radius, friction; shape (k, 5).
        groups: Balls that belong together: first, last, centre in the joint (3), radius, joint; shape (groups, 7).
    """

    names: tuple[str, ...]
    joints: np.ndarray
    balls: np.ndarray
    groups: np.ndarray


def candidates(model: Model, *, bodies: bool = True) -> Candidates:
    """Feet of a robot, and with `bodies` everything else that has a collision body.

    Bodies on the joint of a foot are left out: the description of the foot says better where it touches.
    """
    parts = [_foot(model, foot) for foot in model.robot.feet]
    feet = {joint for _, joint, _, _ in parts}
    if bodies:
        found = collision_model(model.robot).bodies
        parts += [(b.name, b.joint, b.hull.points, b.hull.radius) for b in found if b.joint > 0 and b.joint not in feet]
    names: list[str] = []
    joints: list[int] = []
    balls: list[list[float]] = []
    groups: list[list[float]] = []
    for name, joint, points, radius in parts:
        center, size = bounding_sphere(points)
        groups.append([len(names), len(names) + len(points), *center, size + radius, joint])
        names += [name] * len(points)
        joints += [joint] * len(points)
        balls += [[*point, radius, 1.0] for point in points]
    return Candidates(
        tuple(names),
        np.array(joints, dtype=np.int64),
        np.array(balls, dtype=float).reshape(-1, 5),
        np.array(groups, dtype=float).reshape(-1, 7),
    )


def _foot(model: Model, foot: Foot) -> tuple[str, int, np.ndarray, float]:
    """Name, joint, points in the joint and radius of a foot. Of a ball foot the point is its centre."""
    joint, T_joint_foot, _ = model.attachment(model.frame(foot.frame))
    points = np.asarray(foot.points, dtype=float)
    if foot.radius > 0.0:
        model.update(model.robot.home, np.zeros(model.nv))
        points = points + foot.radius * model.placement(model.frame(foot.frame)).rotation[2]
    return foot.frame, joint, points @ T_joint_foot.rotation.T + T_joint_foot.translation, foot.radius
