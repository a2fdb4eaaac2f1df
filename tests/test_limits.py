"""Joint limits in closed loop: never exceeded, and no chatter where they act."""

from __future__ import annotations

import numpy as np
import pytest

from sot import Controller, Stack, State, hold
from sot.robots import Kinematic, load
from sot.tasks import JointLimits, Pose, Position, Posture

ROBOTS = ["panda", "ur5", "tiago", "solo12", "talos", "g1"]
TICKS = 17_000  # for each robot, 1e5 in all
DT = 2e-3


def scalar_joints(model):
    """Place in q and in v of all joints with one coordinate."""
    joints = [joint for joint in model.joints.values() if joint.is_scalar]
    return np.array([j.q.start for j in joints]), np.array([j.v.start for j in joints])


@pytest.mark.parametrize("name", ROBOTS)
def test_limits_hold_whatever_is_asked(name):
    """Targets jump to random places, most of them out of reach, while hands, feet and posture pull at the joints."""
    robot, rng = load(name), np.random.default_rng(5)
    frames = [*robot.hands, *(foot.frame for foot in robot.feet)][:3]
    tasks = [Position(frame, gain=30.0) for frame in frames]
    acceleration = 60.0
    stack = Stack([JointLimits(acceleration=acceleration)], tasks, [Posture(gain=10.0)])
    controller = Controller(robot, stack, dt=DT)
    model, pin = controller.model, robot.pin_model
    iq, iv = scalar_joints(model)
    low, high, fast = pin.lowerPositionLimit[iq], pin.upperPositionLimit[iq], pin.upperVelocityLimit
    q, v = robot.home, np.zeros(model.nv)
    at_limit = 0
    for k in range(TICKS):
        if k % 100 == 0:
            for task in tasks:
                task.reference = hold(rng.normal(size=3) * 1.5)
        command = controller.step(State(k * DT, q, v))
        assert np.all(np.abs(command.v) <= fast + 1e-9)
        assert np.all(np.abs(command.v - v)[iv] <= acceleration * DT + 1e-9)
        q, v = model.integrate(q, command.v * DT), command.v
        assert np.all(q[iq] >= low - 1e-9)
        assert np.all(q[iq] <= high + 1e-9)
        at_limit += np.count_nonzero((q[iq] - low < 1e-3) | (high - q[iq] < 1e-3))
    assert controller.counters.infeasible == 0
    assert controller.counters.capped == 0
    assert at_limit > 1000 or name == "ur5"  # the limits were really met; UR5's are two turns away


def chatter(damper: float) -> float:
    """Jitter of the commands while a joint is pressed against its limit and the encoders are noisy.

    The metric is the root mean square of the second difference of the commanded velocity, in rad/s: zero for a
    steady command, large for one that hops.
    """
    robot = load("panda")
    limited = robot.pin_model.upperPositionLimit[3]  # the elbow's upper limit, nearly stretched
    stack = Stack([JointLimits(damper=damper)], [Posture(reference={"panda_joint4": limited + 0.5}, gain=20.0)])
    controller = Controller(robot, stack, dt=1e-3)
    arm = Kinematic(robot, dt=1e-3, noise=1e-4, seed=2)
    commands = []
    for _ in range(4000):
        command = controller.step(arm.read())
        commands.append(command.v[3])
        arm.write(command)
    settled = np.array(commands[2000:])
    assert abs(settled.mean()) < 1e-2  # it rests at the limit
    return float(np.sqrt(np.mean(np.diff(settled, 2) ** 2)))


def test_no_chatter_at_a_limit_with_noisy_encoders():
    """The damper turns a noise of 0.1 mrad into λ · 0.1 mrad of speed; without it, into 0.1 mrad per tick."""
    assert chatter(damper=25.0) < 0.01


def test_without_the_damper_the_same_limit_chatters():
    assert chatter(damper=np.inf) > 0.1


def test_a_robot_that_starts_outside_its_limits_comes_back():
    """Bounded speed on the way back, never further out, and the report says so while it lasts."""
    robot = load("panda")
    q = robot.home.copy()
    q[3] = robot.pin_model.upperPositionLimit[3] + 0.2
    controller = Controller(robot, Stack([JointLimits()], [Pose("panda_hand")], [Posture()]), dt=DT)
    v, outside = np.zeros(controller.model.nv), [0.2]
    for k in range(1500):
        command = controller.step(State(k * DT, q, v))
        assert np.all(np.abs(command.v) <= robot.pin_model.upperVelocityLimit + 1e-9)
        q, v = controller.model.integrate(q, command.v * DT), command.v
        outside.append(q[3] - robot.pin_model.upperPositionLimit[3])
    assert np.all(np.diff(outside) <= 1e-12)
    assert outside[-1] < 1e-6
