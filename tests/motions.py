"""States, motions and oracles that tests of the closed-form dynamics share."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

import sot
from sot.tasks import Contact

LEGGED = ("solo12", "go2", "anymal", "bolt", "talos", "g1")
STANDING = tuple(name for name in LEGGED if name != "bolt")  # two points: it falls over
G = 9.81


def weight(robot):
    return robot.mass * G


def moving(robot, rng, *, spread=0.1, speed=0.5, push=3.0, feet=None):
    """A state in which the feet stand still, and any acceleration."""
    model = sot.Model(robot)
    q = model.integrate(robot.home, spread * rng.uniform(-1.0, 1.0, model.nv))
    v = speed * rng.uniform(-1.0, 1.0, model.nv)
    model.update(q, v)
    J = np.vstack([np.zeros((0, model.nv)), *(set_up(model, frame).jacobian(model) for frame in _feet(robot, feet))])
    return q, v - np.linalg.pinv(J) @ (J @ v), push * rng.uniform(-1.0, 1.0, model.nv)


def _feet(robot, feet):
    return [foot.frame for foot in robot.feet] if feet is None else feet


def set_up(model, frame):
    contact = Contact(frame)
    contact.setup(model)
    return contact


def on_joints(robot, q, wrenches):
    """Σ Jᵀ w by pinocchio's own Jacobians."""
    model, data = robot.pin_model, robot.pin_model.createData()
    total = np.zeros(model.nv)
    for frame, wrench in wrenches.items():
        J = pin.computeFrameJacobian(model, data, q, model.getFrameId(frame), pin.LOCAL_WORLD_ALIGNED)
        total += J.T @ wrench
    return total


def residual(robot, q, v, result):
    """RNEA(q, v, v̇) − τ − Σ Jᵀ w, against the weight."""
    needed = pin.rnea(robot.pin_model, robot.pin_model.createData(), q, v, result.acceleration)
    return np.abs(needed - result.torques - on_joints(robot, q, result.wrenches)).max() / weight(robot)


def point_accelerations(robot, q, v, a):
    """Of all contact points, by pinocchio, shape (n, 3)."""
    model, data, found = robot.pin_model, robot.pin_model.createData(), []
    pin.forwardKinematics(model, data, q, v, a)
    for foot in robot.feet:
        frame = model.frames[model.getFrameId(foot.frame)]
        for point in foot.points:
            T = frame.placement * pin.SE3(np.eye(3), np.asarray(point))
            found.append(pin.getFrameClassicalAcceleration(model, data, frame.parentJoint, T, pin.LOCAL).linear)
    return np.array(found)


def warned(result, kind, limb=None):
    found = [w for w in result.warnings if w.kind == kind and w.limb == limb]
    assert len(found) == 1, [str(w) for w in result.warnings]
    return found[0]


def kinds(result):
    return {w.kind for w in result.warnings}
