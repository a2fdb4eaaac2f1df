"""A stylus leads an arm: what the arm does, and what the hand on the stylus feels."""

from __future__ import annotations

import runpy

import numpy as np
import pytest
from stack_files import EXAMPLES

import sot
from sot.errors import ConfigError, TaskError
from sot.haptic import Device, Hand, Teleoperation
from sot.model import Model
from sot.robots import Haptic, Kinematic, load
from sot.state import State
from sot.tasks import Impedance, Position, Posture

FRAME, DT = "panda_hand_tcp", 1e-3


@pytest.fixture(scope="module")
def panda():
    return load("panda")


def place(panda, q):
    model = Model(panda)
    model.update(q, np.zeros(model.nv))
    return np.array(model.placement(model.frame(FRAME)).translation)


def led(panda, path, duration, **options):
    """Hand positions of an arm that is led by a stylus on a path, and the teleoperation."""
    lead = Teleoperation(panda, FRAME, **options)
    hand = Position(FRAME, gain=50.0, reference=sot.follow(lead.hand))
    controller = sot.Controller(panda, sot.Stack([hand], [Posture()]), dt=DT)
    robot, found = Kinematic(panda, dt=DT), []
    for k in range(round(duration / DT)):
        t = k * DT
        x, v = np.array(path(t)), (np.array(path(t + 1e-6)) - np.array(path(t - 1e-6))) / 2e-6
        state = robot.read()
        lead.exchange([State(t, x, v), state])
        robot.write(controller.step(state))
        found.append(place(panda, state.q))
    return np.array(found), lead


def test_displacements_are_scaled_and_turned(panda):
    """hand − hand₀ = s R (x − x₀), within what the hand lags behind."""
    quarter = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    found, lead = led(panda, lambda t: [0.3 + 0.05 * t, 0.0, 0.01 * np.sin(3.0 * t)], 1.0, scale=2.0, axes=quarter)
    expected = 2.0 * np.array([0.0, 0.05 * 0.999, 0.01 * np.sin(3.0 * 0.999)])
    np.testing.assert_allclose(found[-1] - found[0], expected, atol=2e-4)
    np.testing.assert_allclose(lead.stylus(1.0)[:3], [0.3 + 0.05 * 0.999, 0.0, 0.01 * np.sin(2.997)], atol=2e-4)


def test_an_open_clutch_leaves_the_hand_where_it_is(panda):
    """The stylus goes back with an open clutch; the hand stays, then goes on from there without a jump."""

    def path(t):
        return [0.1 * (t if t < 0.4 else 0.8 - t if t < 0.8 else t - 0.8), 0.0, 0.0]

    found, _ = led(panda, path, 1.2, clutch=lambda t: not 0.4 <= t < 0.8)
    np.testing.assert_allclose(found[799] - found[450], 0.0, atol=1e-4)
    np.testing.assert_allclose(found[-1] - found[0], [0.08, 0.0, 0.0], atol=1e-3)
    assert np.linalg.norm(np.diff(found, axis=0), axis=1).max() < 1.2 * 0.1 * DT


@pytest.mark.parametrize("options", [{"mode": "rate"}, {"clutch": lambda t: False}, {}], ids=["rate", "open", "plain"])
def test_a_robot_that_is_not_at_home_stays_where_it_is(panda, options):
    """Whatever the mode, and before the clutch has ever been closed."""
    q = panda.home + np.array([0.2, -0.1, 0.1, 0.2, 0.0, 0.1, 0.0, 0.0, 0.0])
    lead = Teleoperation(panda, FRAME, **options)
    lead.exchange([State(0.0, np.zeros(3), np.zeros(3)), State(0.0, q, np.zeros(9))])
    target, velocity = lead.hand(0.0)
    np.testing.assert_allclose(target, place(panda, q), atol=1e-12)
    assert not velocity.any() and np.linalg.norm(target - place(panda, panda.home)) > 0.05


def test_an_open_clutch_is_not_felt(panda):
    lead = Teleoperation(panda, FRAME, clutch=lambda t: t < 0.5)
    blocked = State(0.0, panda.home, np.zeros(9))
    for t in (0.0, 0.1):
        lead.exchange([State(t, np.array([0.4 * t, 0.0, 0.0]), np.zeros(3)), blocked])
    assert lead.stylus(0.1)[0] < 0.01  # pulled back from 0.04
    lead.exchange([State(0.6, np.array([0.04, 0.0, 0.0]), np.zeros(3)), blocked])
    np.testing.assert_array_equal(lead.stylus(0.6)[:3], [0.04, 0.0, 0.0])


def test_rate_mode_turns_displacement_into_speed(panda):
    """v = r (d − dead zone), and none inside of it."""

    def path(t):
        return [0.0, 0.02 if t > 0.0 else 0.0, 0.0] if t < 0.5 else [0.0, 0.004, 0.0]

    found, lead = led(panda, path, 1.0, mode="rate", rate=4.0, dead_zone=0.005)
    np.testing.assert_allclose((found[450] - found[150])[1], 0.3 * 4.0 * 0.015, rtol=1e-3)
    np.testing.assert_allclose(found[-1] - found[700], 0.0, atol=1e-6)
    np.testing.assert_allclose(lead.stylus(1.0)[:3], 0.0, atol=1e-5)  # a spring to the middle


@pytest.mark.parametrize("mode", ["position", "rate"])
def test_a_blocked_hand_does_not_wind_up(panda, mode):
    """The target stays on its leash; the spring on the stylus pulls back by as much."""
    lead = Teleoperation(panda, FRAME, mode, scale=2.0, leash=0.03)
    for k in range(2000):
        x = np.array([0.0, 0.0, 0.1 if k else 0.0])
        lead.exchange([State(k * DT, x, np.zeros(3)), State(k * DT, panda.home, np.zeros(9))])
    np.testing.assert_allclose(lead.error, [0.0, 0.0, -0.03], atol=1e-12)
    rest = 0.1 if mode == "position" else 0.0
    np.testing.assert_allclose(lead.stylus(2.0)[:3], [0.0, 0.0, rest - 0.015], atol=1e-12)


def test_a_wall_in_front_of_the_arm_is_felt_and_named():
    """At rest the spring of the hand and the resistance balance: K_hand (x* − x) = g Kp error, at torque level."""
    done = runpy.run_path(str(EXAMPLES / "panda_teleoperation.py"))
    stylus, lead, felt, works = done["stylus"], done["lead"], done["felt"], done["record"].works
    x, force = stylus.truth().q[0], stylus.force[0]
    assert lead.error[0] < -1e-3
    assert force < -0.5
    np.testing.assert_allclose(force, 0.4 * ((1.0 - np.exp(-0.03)) / 1e-3) ** 2 * lead.error[0], rtol=0.02)
    np.testing.assert_allclose(200.0 * (0.08 - x), -force, rtol=0.02)
    assert felt.causes().keys() == {"collisions", "orientation_panda_hand_tcp"}
    assert "wall" in felt.why()
    assert (works["hand"] - works["kinetic"]).min() > -1e-9
    assert done["moved"].ok


@pytest.mark.parametrize("mode", ["position", "rate"])
def test_a_coupling_spring_is_balanced_by_the_hand(panda, mode):
    """The arm stays at its place: the spring of the hand balances K error/s, in rate mode with K (x − x₀)."""
    stylus = Haptic(Device(damping=3.0, quantum=0.0), hand=Hand([0.02, 0.0, 0.0], stiffness=200.0, damping=8.0), dt=DT)
    lead = Teleoperation(panda, FRAME, mode, scale=3.0, leash=0.03)
    coupling = {"stiffness": [500.0, 500.0, 500.0, 1.0, 1.0, 1.0], "damping": [1.0, 1.0, 1.0, 0.1, 0.1, 0.1]}
    feel = Impedance("stylus", mask=["x", "y", "z"], **coupling, reference=sot.follow(lead.stylus))
    touch = sot.Controller(stylus.robot, sot.Stack([feel]), output="torque", dt=DT)
    stays = sot.Controller(panda, sot.Stack([Posture()]), dt=DT)
    pairs = [(stylus, touch), (Kinematic(panda, dt=DT), stays)]
    sot.run_together(pairs, 1.0, exchange=lead.exchange)
    x, force = stylus.truth().q[0], stylus.force[0]
    away = 0.0 if mode == "position" else x  # in rate mode the spring leads to the middle
    assert force == pytest.approx(500.0 * (lead.error[0] / 3.0 - away), rel=0.01)
    assert -force == pytest.approx(200.0 * (0.02 - x), rel=0.01)
    assert force < -1.0


def test_mistakes_are_told(panda):
    with pytest.raises(ConfigError, match=r"unknown mode 'speed'\. Available: position, rate"):
        Teleoperation(panda, FRAME, "speed")
    with pytest.raises(ConfigError, match="expected a rotation"):
        Teleoperation(panda, FRAME, axes=np.ones((3, 3)).tolist())
    with pytest.raises(TaskError, match="scale"):
        Teleoperation(panda, FRAME, scale=np.nan)
    pairs = [
        (Kinematic(panda, dt=dt), sot.Controller(panda, sot.Stack([Posture()]), dt=dt)) for dt in (1e-3, 2e-3)
    ]
    with pytest.raises(ConfigError, match="one period for all"):
        sot.run_together(pairs, 1.0)
    with pytest.raises(ConfigError, match="at least one"):
        sot.run_together([], 1.0)
