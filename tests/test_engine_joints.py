"""Limits and friction of joints in the physics engine."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from engine_bodies import arm, energy, engine
from scipy.integrate import solve_ivp

from sot.robots import load
from sot.simulation.scene import Scene

DT = 1e-3


def test_an_arm_falls_onto_its_limit(tmp_path):
    """The shoulder stops at 0.3 rad and stays there; energy only goes down."""
    simulation = engine(arm(tmp_path, low=0.3, high=2.0), Scene([]))
    simulation.reset(np.array([1.5, 0.2]))
    before, deepest, stopped, growth = energy(simulation), 0.0, 0, 0.0
    low = before
    for _ in range(4000):
        simulation.step(np.zeros(2), DT)
        deepest = max(deepest, 0.3 - simulation.q[0])
        now = energy(simulation)
        low, growth = min(low, now), max(growth, now - min(low, now))
        stopped += simulation.impulses.size > 0 and simulation.impulses[0] > 0.0
    assert deepest <= 1e-6
    assert stopped > 1000
    assert growth <= 0.02 * (before - low)


def test_every_joint_of_a_robot_keeps_its_limits():
    """Panda, driven by torques it cannot bear: no joint goes beyond a limit."""
    robot = load("panda")
    simulation = engine(robot, Scene([]))
    model, rng = robot.pin_model, np.random.default_rng(0)
    worst = 0.0
    for k in range(3000):
        if k % 300 == 0:
            tau = 0.5 * rng.uniform(-1.0, 1.0, model.nv) * np.minimum(model.upperEffortLimit, 50.0)
        simulation.step(tau, DT)
        worst = max(
            worst,
            (simulation.q - model.upperPositionLimit).max(),
            (model.lowerPositionLimit - simulation.q).max(),
        )
    assert worst <= 1e-6


def holding(robot, q):
    """Torques that hold a robot against gravity."""
    return pin.rnea(robot.pin_model, robot.pin_model.createData(), q, np.zeros(2), np.zeros(2))


@pytest.mark.parametrize("part", [0.0, 0.5, 0.999])
def test_joint_friction_holds_below_its_threshold(tmp_path, part):
    robot, q = arm(tmp_path), np.array([0.8, 0.4])
    needed = np.abs(holding(robot, q))
    simulation = engine(robot, Scene([]), friction=needed / max(part, 0.1))
    simulation.reset(q)
    for _ in range(2000):
        simulation.step((1.0 - part / max(part, 0.1)) * holding(robot, q), DT)
    np.testing.assert_allclose(simulation.q, q, atol=1e-9)
    np.testing.assert_allclose(simulation.v, 0.0, atol=1e-9)


def test_joint_friction_slides_above_it(tmp_path):
    """As long as joints keep turning the same way, friction is a constant torque against the motion."""
    robot, q = arm(tmp_path), np.array([1.2, 0.0])
    friction = np.array([0.5, 0.05])
    model, data = robot.pin_model, robot.pin_model.createData()

    def rate(_, x):
        return np.concatenate([x[2:], pin.aba(model, data, x[:2], x[2:], -friction * np.sign(x[2:]))])

    start, duration = np.array([-1.0, 0.5]), 0.15
    exact = solve_ivp(rate, (0.0, duration), np.concatenate([q, start]), rtol=1e-10, atol=1e-12)
    assert (np.sign(exact.y[2:]) == np.sign(start)[:, None]).all()
    a = pin.aba(model, data, q, start, -friction * np.sign(start)).copy()
    simulation = engine(robot, Scene([]), friction=friction)
    simulation.reset(q, start - 0.5 * DT * a)
    for _ in range(round(duration / DT)):
        simulation.step(np.zeros(2), DT)
    np.testing.assert_allclose(simulation.q, exact.y[:2, -1], atol=1e-5)


def test_damping_is_stable_however_large(tmp_path):
    robot = arm(tmp_path)
    simulation = engine(robot, Scene([]), damping=np.full(2, 1e6))
    simulation.reset(np.array([1.0, 0.5]), np.array([5.0, -5.0]))
    for _ in range(100):
        simulation.step(np.zeros(2), 1e-2)
    assert np.abs(simulation.v).max() < 1e-4
    assert np.abs(simulation.q - [1.0, 0.5]).max() < 1e-2
