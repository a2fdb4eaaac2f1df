"""Ten thousand random states with random stacks at torque level: physics, contacts and limits by pinocchio.

Every robot sees 25 random stacks, each with 50 states that have nothing to do with each other, half of them from the
working set of the last one, half from nothing.
"""

from __future__ import annotations

import warnings

import numpy as np
import pinocchio as pin
import pytest
from torque_oracle import Look, hard_gap, near_home, still

import sot
from sot import SE3, PD, AdaptiveGain, State
from sot.lie import exp3
from sot.robots import load
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

ROBOTS = ("solo12", "go2", "anymal", "bolt", "talos", "g1", "panda", "ur5")
SOLVERS = ("hierarchical", "weighted", "nullspace")
STACKS, STATES = 25, 50  # per robot: 8 · 25 · 50 = 10 000 states
FAR = 2000  # iterations: from one state to another that has nothing to do with it is a long way for a working set
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


def contacts_for(robot, rng):
    """All feet, or some of them but at least one."""
    feet = rng.permutation([foot.frame for foot in robot.feet])
    count = len(feet) if rng.random() < 0.6 else rng.integers(1, len(feet) + 1) if len(feet) else 0
    feet = [str(foot) for foot in feet[:count]]
    return [Contact(foot, friction=rng.uniform(0.2, 1.0), facets=int(rng.integers(4, 9))) for foot in feet]


def random_stack(robot, rng, solver):
    """Limits, contacts, then tasks on one to three levels; most often a posture at the end."""
    contacts = contacts_for(robot, rng)
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


def ticks(name):
    """Every state of a robot: controller, what pinocchio sees, contacts, torque limits, whether it was feasible."""
    robot, rng = load(name), np.random.default_rng(ROBOTS.index(name))
    for k in range(STACKS):
        solver = SOLVERS[k % 3]
        stack, contacts = random_stack(robot, rng, solver)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            controller = sot.Controller(robot, stack, solver=solver, output="torque", max_iterations=FAR)
        for i in range(STATES):
            state = random_state(robot, rng, contacts)
            aim(stack, robot, state, rng)
            if i % 2:
                controller.phases[-1].begin_anew()
            before = controller.counters.infeasible
            command = controller.step(state)
            yield controller, Look(controller, state, command), contacts, controller.counters.infeasible == before


@pytest.mark.parametrize("name", ROBOTS)
def test_random_states_with_random_stacks(name):
    """At least 95 of 100 ticks are feasible; a linear program or a joint beyond its limits says why the others are not."""
    worst = Worst()
    count = feasible = bounded = 0
    for controller, look, contacts, is_feasible in ticks(name):
        has_limits = controller.meaning != "nullspace"
        count += 1
        assert np.isfinite(look.command.tau).all() and np.isfinite(look.command.v).all()
        worst.see("equation of motion", look.residual())
        worst.see("floating base", np.abs(look.command.tau[~look.robot.actuated]).max(initial=0.0))
        if has_limits:
            bounded, feasible = bounded + 1, feasible + is_feasible
            worst.see("circular cones", *(look.outside(contact) for contact in contacts))
        if is_feasible or not has_limits:
            worst.see("contact acceleration", *(look.moving(contact) for contact in contacts))
            worst.see("torque limits", *(beyond(look, entry) for entry in controller.stack))
        else:
            explained(controller)
        assert controller.counters.capped == 0, f"state {count}: {controller.report()}"
    assert count == STACKS * STATES
    assert feasible >= 0.95 * bounded
    assert worst.all_below(1e-9), worst


class Worst(dict):
    """The largest of each kind of error."""

    def see(self, kind, *values):
        assert np.isfinite(values).all()
        self[kind] = max([self.get(kind, 0.0), *(float(value) for value in values)])

    def all_below(self, tolerance):
        return all(value <= tolerance for value in self.values())


def beyond(look, entry):
    """By which part of its limit the worst torque is beyond it."""
    return look.over_limits(entry.scale * look.robot.pin_model.effortLimit) if isinstance(entry, TorqueLimits) else 0.0


def explained(controller):
    """Somebody is named; and either a joint is too fast for its limit, or no linear program finds an answer."""
    report = controller.report()
    assert report.clashes
    if controller.plan.crossed:
        assert any(clash.entry == "joint_limits" for clash in report.clashes)
    else:
        assert hard_gap(controller.plan.problem) > 1e-7
