"""One stack at both levels: where one is at rest so is the other; and gains by stiffness and damping."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import sot
from sot.robots import load
from sot.state import State
from sot.tasks import CenterOfMass, Contact, JointLimits, Pose, Posture, TorqueLimits

DT = 1e-3  # s


# -- rest at one level is rest at the other ----------------------------------------------------------------------


def goals(robot, rng):
    """Where tasks of a robot should end: a bit away from home."""
    data = robot.pin_model.createData()
    pin.framesForwardKinematics(robot.pin_model, data, robot.home)
    com = pin.centerOfMass(robot.pin_model, data, robot.home) + np.array([0.005, 0.01, -0.02])
    hands = {hand: data.oMf[robot.pin_model.getFrameId(hand)] for hand in robot.hands}
    return com, {hand: pin.SE3(T.rotation, T.translation + rng.uniform(-0.05, 0.05, 3)) for hand, T in hands.items()}


def stack_of(robot, solver):
    """Contacts, centre of mass, hands, posture; the same at both levels. Limits where the solver has any."""
    com, hands = goals(robot, np.random.default_rng(1))
    contacts = [Contact(foot.frame, friction=0.7) for foot in robot.feet]
    limits = [] if solver == "nullspace" else [JointLimits(), TorqueLimits()]
    first = [CenterOfMass(gain=20.0, reference=com)] if contacts else []
    second = [Pose(hand, gain=20.0, reference=goal) for hand, goal in hands.items()]
    levels = [level for level in (first, second) if level]
    return sot.Stack([*limits, *contacts], *levels, [Posture(gain=20.0)])


def ended(robot, solver, output, dt, count):
    """State at the end of a run from home."""
    controller = sot.Controller(robot, stack_of(robot, solver), solver=solver, output=output, dt=dt)
    q, v = robot.home.copy(), np.zeros(controller.model.nv)
    for k in range(count):
        v = controller.step(State(dt * k, q, v)).v
        q = controller.model.integrate(q, dt * v)
    assert np.abs(q - robot.home).max() > 0.01
    return q, v


def first_speed(robot, solver, output, q):
    """Largest velocity that is commanded from rest, rad/s or m/s."""
    controller = sot.Controller(robot, stack_of(robot, solver), solver=solver, output=output, dt=DT)
    return np.abs(controller.step(State(0.0, q, np.zeros(controller.model.nv))).v).max()


@pytest.mark.parametrize("solver", ["hierarchical", "nullspace"])
@pytest.mark.parametrize("name", ["solo12", "go2", "anymal", "talos", "g1", "panda", "xarm7"])
def test_where_one_level_rests_so_does_the_other(name, solver):
    """Accelerations at the end of a run of velocities; velocities at the end of a run of torques."""
    robot = load(name)
    q, v = ended(robot, solver, "velocity", 5e-3, 500)
    assert np.abs(v).max() <= 1e-9
    assert first_speed(robot, solver, "torque", q) / DT <= 1e-6
    q, v = ended(robot, solver, "torque", DT, 2000)
    assert np.abs(v).max() <= 1e-6
    assert first_speed(robot, solver, "velocity", q) <= 1e-6


# -- stiffness and damping -------------------------------------------------------------------------------------

KP, KD = 100.0, 4.0  # 1/s², 1/s: damping ratio 0.2


def oscillation(time):
    """e/e₀ of ë = −kp e − kd ė from rest."""
    slow, fast = 0.5 * KD, np.sqrt(KP - 0.25 * KD**2)
    return np.exp(-slow * time) * (np.cos(fast * time) + slow / fast * np.sin(fast * time))


def errors_of(robot, task, others, start, *, output, dt, duration, solver="hierarchical"):
    """‖e‖ along e₀ over time, against its first value; and what is across."""
    controller = sot.Controller(robot, sot.Stack([*start], [task], [*others]), output=output, dt=dt, solver=solver)
    q, v, errors = robot.home.copy(), np.zeros(controller.model.nv), []
    for k in range(round(duration / dt)):
        command = controller.step(State(dt * k, q, v))
        errors.append(task.error(controller.model))
        v = command.v
        q = controller.model.integrate(q, dt * v)
    first = errors[0] / np.linalg.norm(errors[0])
    along = np.array(errors) @ first
    return along / along[0], np.abs(np.array(errors) - np.outer(along, first)).max() / along[0]


def tasks_with(robot, gain):
    """Task, what is left to the posture, and contacts; its target is some centimetres away."""
    data = robot.pin_model.createData()
    pin.framesForwardKinematics(robot.pin_model, data, robot.home)
    contacts = [Contact(foot.frame, friction=0.9) for foot in robot.feet]
    if contacts:
        com = pin.centerOfMass(robot.pin_model, data, robot.home)
        return CenterOfMass(gain=gain, reference=com - np.array([0.0, 0.0, 0.01])), [Posture(weight=1e-6)], contacts
    T = data.oMf[robot.pin_model.getFrameId(robot.hands[0])]
    goal = pin.SE3(T.rotation @ pin.exp3(np.array([0.02, 0.05, -0.03])), T.translation + np.array([-0.02, 0.03, 0.02]))
    return Pose(robot.hands[0], gain=gain, reference=goal), [Posture(weight=1e-6)], contacts


@pytest.mark.parametrize("solver", ["hierarchical", "weighted", "nullspace"])
@pytest.mark.parametrize("name", ["panda", "xarm7", "talos", "solo12"])
def test_stiffness_and_damping_make_the_error_swing_as_they_say(name, solver):
    """Frequency √(kp − kd²/4), decay kd/2; a period of 0.5 ms shifts both by parts in a thousand."""
    robot, dt = load(name), 5e-4
    task, others, contacts = tasks_with(robot, sot.PD(KP, KD))
    along, across = errors_of(robot, task, others, contacts, output="torque", dt=dt, duration=1.5, solver=solver)
    time = dt * np.arange(along.size)
    expected = oscillation(time)
    assert np.abs(along - expected).max() <= 3e-3 and across <= 1e-4
    half_periods = [np.diff(time[:-1][np.diff(np.sign(x)) != 0.0]) for x in (along, expected)]
    np.testing.assert_allclose(half_periods[0], half_periods[1], rtol=2e-3)
    assert half_periods[0].size >= 3


@pytest.mark.parametrize("name", ["panda", "talos"])
def test_at_velocity_level_their_quotient_is_the_rate(name):
    robot = load(name)
    task, others, contacts = tasks_with(robot, sot.PD(KP, KD))
    along, _ = errors_of(robot, task, others, contacts, output="velocity", dt=DT, duration=0.3)
    np.testing.assert_allclose(along, np.exp(-KP / KD * DT * np.arange(along.size)), atol=1e-4)
