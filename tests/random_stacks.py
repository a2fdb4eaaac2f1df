"""Random stacks and random states at torque level."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from torque_oracle import near_home, still

import sot
from sot import PD, SE3, AdaptiveGain, State
from sot.lie import exp3
from sot.tasks import (
    BaseOrientation,
    CenterOfMass,
    CentroidalMomentum,
    Contact,
    JointLimits,
    Orientation,
    Pose,
    Position,
    Posture,
    TorqueLimits,
)

XYZ, TWIST = ["x", "y", "z"], ["x", "y", "z", "rx", "ry", "rz"]


# -- random stacks ---------------------------------------------------------------------------------------------


def law(rng):
    """A gain of any kind, and a weight."""
    gains = [
        rng.uniform(1.0, 20.0),
        PD(rng.uniform(5.0, 200.0), rng.uniform(2.0, 20.0)),
        AdaptiveGain(near=rng.uniform(5.0, 20.0), far=rng.uniform(0.5, 5.0), slope=rng.uniform(1.0, 20.0)),
    ]
    return {"gain": gains[rng.integers(3)], "weight": 10.0 ** rng.uniform(-2.0, 1.0)}


def mask(rng, labels):
    return None if rng.random() < 0.5 else list(rng.choice(labels, rng.integers(1, len(labels) + 1), replace=False))


def task_of_frame(rng, frame):
    kind = rng.integers(3)
    if kind == 0:
        axes = str(rng.choice(["local", "world", "aligned"]))
        return Pose(frame, mask=mask(rng, TWIST), expressed=axes, **law(rng))
    return Position(frame, mask=mask(rng, XYZ), **law(rng)) if kind == 1 else Orientation(frame, **law(rng))


def tasks_for(robot, rng, touching):
    """Any of centre of mass, poses of hands and of feet in the air, base, momentum; in any order."""
    frames = [*robot.hands, *(foot.frame for foot in robot.feet if foot.frame not in touching)]
    frames = frames or [robot.pin_model.frames[-1].name]
    tasks = [task_of_frame(rng, frame) for frame in frames if rng.random() < 0.8]
    if robot.root != "fixed":
        tasks += [CenterOfMass(mask=mask(rng, XYZ), **law(rng))] * (rng.random() < 0.8)
        tasks += [BaseOrientation(**law(rng))] * (rng.random() < 0.4)
    momentum = [None, "linear", "angular"][rng.integers(3)]
    tasks += [CentroidalMomentum(mask=momentum, **law(rng))] * (rng.random() < 0.4)
    return [tasks[i] for i in rng.permutation(len(tasks))]


def contacts_for(robot, rng, facets):
    """All feet, or some of them but at least one."""
    feet = rng.permutation([foot.frame for foot in robot.feet])
    count = len(feet) if rng.random() < 0.6 else rng.integers(1, len(feet) + 1) if len(feet) else 0
    feet = [str(foot) for foot in feet[:count]]
    return [Contact(foot, friction=rng.uniform(0.2, 1.0), facets=int(rng.choice(facets))) for foot in feet]


def random_stack(robot, rng, solver, facets=(4, 5, 6, 7, 8)):
    """Limits, contacts, then tasks on one to three levels; most often a posture at the end."""
    contacts = contacts_for(robot, rng, facets)
    hard = []
    if solver != "nullspace":  # that has no inequalities
        hard += [TorqueLimits(scale=rng.uniform(0.3, 1.0))] * (rng.random() < 0.7)
        hard += [JointLimits()] * (rng.random() < 0.5)
    levels = [[] for _ in range(rng.integers(1, 4))]
    for task in tasks_for(robot, rng, [contact.frame for contact in contacts]):
        levels[rng.integers(len(levels))].append(task)
    levels = [level for level in levels if level]
    if rng.random() < 0.9 or not levels:
        levels.append([Posture(gain=rng.uniform(1.0, 10.0), weight=10.0 ** rng.uniform(-2.0, 1.0))])
    return sot.Stack([*hard, *contacts], *levels), contacts


# -- random states ---------------------------------------------------------------------------------------------


def random_state(robot, rng, contacts):
    """Near home, with feet that stand still; up to 1 rad/s, and half of what the joint can do."""
    model = robot.pin_model
    q = near_home(robot, rng, 0.3 * rng.random())
    limit = np.where(model.velocityLimit > 0.0, model.velocityLimit, np.inf)
    v = np.minimum(1.0, 0.5 * limit) * rng.uniform(-1.0, 1.0, model.nv)
    for mimic in robot.mimics:
        follower, leader = (model.joints[model.getJointId(name)] for name in (mimic.joint, mimic.of))
        q[follower.idx_q] = mimic.ratio * q[leader.idx_q] + mimic.offset
        v[follower.idx_v] = mimic.ratio * v[leader.idx_v]
    return State(0.0, q, still(robot, q, v, contacts))


def aim(stack, robot, state, rng):
    """Tasks begin anew where they are, or up to 10 cm and 0.2 rad away."""
    data = robot.pin_model.createData()
    pin.framesForwardKinematics(robot.pin_model, data, state.q)
    for entry in stack:
        entry.reset()
        by, turn = rng.normal(size=3), rng.uniform(-0.1, 0.1, 3)
        by *= 0.1 * rng.random() / np.linalg.norm(by)
        if isinstance(entry, CenterOfMass):
            entry.reference = pin.centerOfMass(robot.pin_model, data, state.q) + by
        elif isinstance(entry, Pose | Position | Orientation):
            T = data.oMf[robot.pin_model.getFrameId(entry.frame)]
            goals = {Pose: SE3(T.rotation @ exp3(turn), T.translation + by), Position: T.translation + by}
            entry.reference = goals.get(type(entry), T.rotation @ exp3(turn))
