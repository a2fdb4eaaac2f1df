"""Whole robots on the ground: forces at rest, penetration, many contacts."""

from __future__ import annotations

import numpy as np
import pytest
from engine_bodies import G, thrown

import sot
from sot.robots import load
from sot.simulation.engine import ROOM, Engine
from sot.simulation.scene import Scene, ground
from sot.tasks import BaseOrientation, CenterOfMass, Contact, JointLimits, Posture, TorqueLimits

DT = 1e-3


def held(robot, duration, **options):
    """A robot whose joints are held at home by springs and dampers, and the mean vertical force on it at the end, N."""
    nv = robot.pin_model.nv
    joints = np.arange(nv) >= 6
    stiffness = np.minimum(robot.pin_model.upperEffortLimit, 300.0) / 0.02 * joints  # full torque at 0.02 rad
    simulation = Engine(robot, Scene([ground()]), friction=np.zeros(nv), damping=0.05 * stiffness, **options)
    wanted = robot.home.copy()
    for _ in range(round(duration / DT)):
        behind = simulation.model.difference(wanted, simulation.q)
        simulation.step(stiffness * behind, DT)
    return simulation, sum(touch.force[2] for touch in simulation.touches(DT))


@pytest.mark.parametrize("name", ["solo12", "go2", "anymal", "talos", "g1"])
def test_at_rest_the_ground_carries_the_weight(name):
    robot = load(name)
    simulation, force = held(robot, 4.0)
    assert np.abs(simulation.v).max() < 1e-4
    assert force / (robot.mass * G) == pytest.approx(1.0, abs=1e-5)
    touches = simulation.touches(DT)
    assert {touch.name for touch in touches} == {foot.frame for foot in robot.feet}
    assert min(touch.gap for touch in touches) >= -1e-6  # 0.1 mm would be allowed
    assert max(touch.gap for touch in touches) <= 1e-6
    assert simulation.counters.unconverged <= 10


@pytest.mark.parametrize("name", ["talos", "solo12", "g1"])
def test_a_controller_holds_a_robot_up(name):
    """Under torque control by the hierarchical solver: the weight is carried, and feet stay where they are."""
    robot = load(name)
    nv = robot.pin_model.nv
    simulation = Engine(robot, Scene([ground()]), friction=np.zeros(nv), damping=np.zeros(nv))
    feet = [Contact(foot.frame, friction=0.5, min_force=1.0) for foot in robot.feet]
    stack = sot.Stack(
        [JointLimits(), TorqueLimits(), *feet], [CenterOfMass(gain=10.0)], [BaseOrientation(gain=10.0)],
        [Posture(gain=5.0)],
    )  # fmt: skip
    controller = sot.Controller(robot, stack, output="torque", dt=DT)
    for k in range(2500):
        simulation.step(controller.step(sot.State(k * DT, simulation.q, simulation.v)).tau, DT)
        if k == 500:  # soles that are not quite flat at home have settled
            start = places(simulation)
    force = sum(touch.force[2] for touch in simulation.touches(DT))
    assert force / (robot.mass * G) == pytest.approx(1.0, abs=1e-5)
    assert np.abs(places(simulation) - start).max() < 1e-5
    assert min(touch.gap for touch in simulation.touches(DT)) >= -1e-6
    assert simulation.counters.unconverged <= 10


def places(simulation):
    model = simulation.model
    model.update(simulation.q, simulation.v)
    return np.array([model.placement(model.frame(foot.frame)).translation.copy() for foot in simulation.robot.feet])


@pytest.mark.parametrize("name", ["talos", "g1", "go2"])
def test_a_robot_lies_on_the_ground(name):
    """Many contacts at once: it comes to rest, within the room there is, and nothing sinks in."""
    robot = load(name)
    simulation = thrown(robot, seed=3, damping=np.r_[np.zeros(6), np.full(robot.pin_model.nv - 6, 2.0)])
    most, worst = 0, 0.0
    for _ in range(3500):
        simulation.step(np.zeros(robot.pin_model.nv), DT)
        most, worst = max(most, simulation.count), max(worst, simulation.solver.residual)
    touches = simulation.touches(DT)
    on_ground = [touch for touch in touches if touch.thing == "ground"]
    assert len(on_ground) >= 3
    assert most <= ROOM // 2
    assert simulation.counters.crowded == 0
    assert simulation.counters.unconverged <= 0.06 * simulation.counters.steps
    assert worst < 1e-4
    assert min(touch.gap for touch in touches) > -1e-4
    assert np.abs(simulation.v[:6]).max() < 0.05
    assert sum(touch.force[2] for touch in on_ground) / (robot.mass * G) == pytest.approx(1.0, abs=0.02)
