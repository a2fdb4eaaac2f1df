"""Real stacks on the haptic device: what is refused before the first tick, and where a hand rests in a wall."""

from __future__ import annotations

import re

import numpy as np
import pytest
from stylus import T

import sot
from sot.errors import ConfigError, RobotError
from sot.haptic import Device, Hand, bounds
from sot.robots import Haptic
from sot.state import Command
from sot.tasks import Impedance, Wall

b, D, C = 2.0, 0.5, 1.2  # N·s/m: damping of the device, of springs, and of walls, which ask for C > K T/2 themselves


def spring(K: float) -> Impedance:
    return Impedance("stylus", [100.0, K, 10.0, 0, 0, 0], damping=[D, 0.1, 0.1, 1, 1, 1], mask=["x", "y", "z"])


def wall(K: float) -> Wall:
    return Wall("stylus", normal=[0.0, 0.6, 0.8], stiffness=K, damping=C)


def run(entry, seconds: float = 0.01, hand: Hand | None = None, **options) -> Haptic:
    haptic = Haptic(Device(damping=b, **options), hand=hand)
    sot.run(haptic, sot.Controller(haptic.robot, sot.Stack([entry]), output="torque", dt=T), duration=seconds)
    return haptic


@pytest.mark.parametrize(("entry", "damping"), [(spring, D), (wall, C)])
def test_a_stack_past_the_passive_bound_is_refused(entry, damping):
    most = (b - damping) / (T / 2)
    with pytest.raises(ConfigError, match=rf"'{entry(1.0).name}': K = {1.01 * most:.4g} .* up to {most:.4g} N/m"):
        run(entry(1.01 * most))
    assert run(entry(0.99 * most)).read().time == pytest.approx(0.01)
    assert run(entry(1.01 * most), passivity=True).read().time == pytest.approx(0.01)


def test_springs_and_walls_add_up():
    haptic = Haptic(Device(damping=b))
    stack = sot.Stack([wall(1500.0)], [spring(2500.0)])
    with pytest.raises(ConfigError, match=re.escape("'wall_stylus', 'impedance_stylus' together: K = 4000 N/m")):
        sot.run(haptic, sot.Controller(haptic.robot, stack, output="torque", dt=T), duration=0.01)


def test_what_an_impedance_renders_is_what_its_torques_do():
    """Against differences of the torques of a controller; with the stylus' mass, half of it, and ratios."""
    A = np.array([[300.0, 80.0, 0.0], [80.0, 500.0, 40.0], [0.0, 40.0, 200.0]])
    stiffness = np.block([[A, np.zeros((3, 3))], [np.zeros((3, 3)), np.eye(3)]]).tolist()
    heavy = [0.1, 0.1, 0.1, 1.0, 1.0, 1.0]
    for options in ({}, {"damping": [1, 2, 3, 1, 1, 1]}, {"mass": heavy}, {"damping_ratio": 0.3, "mass": heavy}):
        haptic = Haptic(Device(mass=0.2))
        task = Impedance("stylus", stiffness, mask=["x", "y", "z"], reference=np.eye(4), **options)
        controller = sot.Controller(haptic.robot, sot.Stack([task]), output="torque", dt=T)

        def torque(q, v, controller=controller):
            return controller.step(sot.State(0.0, q, v)).tau

        at_rest, h = torque(np.zeros(3), np.zeros(3)), 1e-4
        K = [(torque(h * axis, np.zeros(3)) - at_rest) / h for axis in np.eye(3)]
        B = [(torque(np.zeros(3), h * axis) - at_rest) / h for axis in np.eye(3)]
        np.testing.assert_allclose(task.rendered(), [np.linalg.norm(K, 2), np.linalg.norm(B, 2)], rtol=1e-5)
    turning = Impedance("stylus", 900.0, mask=["rx"])
    sot.Controller(haptic.robot, sot.Stack([turning]), output="torque", dt=T)
    assert turning.rendered() == (0.0, 0.0)


@pytest.mark.parametrize("held", [100.0, 900.0])
def test_a_hand_rests_where_its_force_is_that_of_the_wall(held):
    """d = L K_hand / (K_hand + K_wall) along the normal, for a hand whose target is L behind the surface."""
    K, L, n = 3000.0, 0.01, np.array([0.0, 0.6, 0.8])
    haptic = run(wall(K), 2.0, Hand([0.003, *(-L * n[1:])], stiffness=held, damping=5.0), quantum=0.0)
    depth = L * held / (held + K)
    np.testing.assert_allclose(haptic.truth().q, [0.003, *(-depth * n[1:])], atol=1e-9)
    np.testing.assert_allclose(haptic.force, K * depth * n, atol=1e-5)


@pytest.mark.parametrize("on", [True, False])
def test_passivity_control_calms_a_wall_of_a_stack(on):
    """H4: the wall's damper has a velocity that is 10 ms old, with which it may have 5470 N/m; it has 20 kN/m."""
    steep, n, places = Wall("stylus", normal=[0.0, 0.6, 0.8], stiffness=20_000.0, damping=5.5), [0.0, 0.6, 0.8], []
    options = {"passivity": True} if on else {"bound": "off"}
    haptic = Haptic(Device(damping=b, **options), hand=Hand([0.0, -0.006, -0.008], stiffness=300.0, damping=1.0))
    controller = sot.Controller(haptic.robot, sot.Stack([steep]), output="torque", dt=T)
    sot.run(haptic, controller, 0.8, observers=[lambda *_: places.append(haptic.truth().q @ n)])
    swing = np.ptp(places[-600:]) / 2.0
    assert swing < 5e-5 if on else swing > 5e-4, swing


@pytest.mark.parametrize("limit", [0.2, 100.0])
def test_a_hand_lets_go_of_a_wall_of_a_stack(limit):
    """H10, row 44."""
    haptic = Haptic(
        Device(damping=b, speed_limit=limit, force_limit=100.0),
        hand=Hand([0.0, -0.024, -0.032], stiffness=800.0, release=0.25),
    )
    controller, places = sot.Controller(haptic.robot, sot.Stack([wall(3000.0)]), output="torque", dt=T), []
    sot.run(haptic, controller, 0.35, observers=[lambda *_: places.append(haptic.truth().q)])
    fastest = np.linalg.norm(np.diff(places[round(0.25 / T) :], axis=0), axis=1).max() / T
    assert fastest <= 0.2 if limit == 0.2 else fastest > 0.5, fastest


def test_the_edge_of_commands_is_worked_out_once(monkeypatch):
    asked = []
    smallest = bounds._smallest
    monkeypatch.setattr(bounds, "_smallest", lambda P: asked.append(1) or smallest(P))
    haptic = Haptic(Device(damping=1.2345, bound="stable"))
    for K in (10.0, 20.0, 20.0, 1e7):
        command = Command(0.0, np.zeros(3), q=np.zeros(3), kp=np.full(3, K))
        if K < 1e6:
            haptic.write(command)
        else:
            with pytest.raises(RobotError, match="stable bound"):
                haptic.write(command)
    assert len(asked) == 1
