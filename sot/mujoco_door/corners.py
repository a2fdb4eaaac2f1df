"""Where a robot in MuJoCo touches the world: ball feet, corners of its soles and of its collision bodies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sot.collision.robot import collision_model
from sot.description import Foot
from sot.model import Model


@dataclass(frozen=True, eq=False)
class Corner:
    """A ball on a robot, of radius 0 for a corner.

    Attributes:
        name: Frame of the foot, or the body.
        joint: Index of the joint that carries it.
        center: In the joint, m, shape (3,).
        radius: m.
    """

    name: str
    joint: int
    center: np.ndarray
    radius: float


def corners(model: Model, *, bodies: bool) -> list[Corner]:
    """Those of the feet, and with `bodies` of everything else that has a collision body.

    Bodies on the joint of a foot are left out: the description of the foot says better where it touches.
    """
    model.update(model.robot.home, np.zeros(model.nv))
    found = [corner for foot in model.robot.feet for corner in _of_foot(model, foot)]
    feet = {corner.joint for corner in found}
    if bodies:
        for body in collision_model(model.robot).bodies:
            if body.joint > 0 and body.joint not in feet:
                found += [Corner(body.name, body.joint, point, body.hull.radius) for point in body.hull.points]
    return found


def _of_foot(model: Model, foot: Foot) -> list[Corner]:
    """Points of a sole; of a ball foot, whose point is the lowest one at home, the centre."""
    frame = model.frame(foot.frame)
    joint, T_joint_foot, _ = model.attachment(frame)
    up = foot.radius * model.placement(frame).rotation[2]
    return [Corner(foot.frame, joint, T_joint_foot.act(point + up), foot.radius) for point in np.asarray(foot.points)]
