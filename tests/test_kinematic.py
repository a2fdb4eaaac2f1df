"""The kinematic robot moves exactly as told: against closed forms of constant velocities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

from sot.errors import RobotError
from sot.model import Model
from sot.robot import Robot
from sot.robots import Kinematic, load, names
from sot.state import Command


def drive(robot: Kinematic, v: np.ndarray, steps: int) -> np.ndarray:
    for _ in range(steps):
        robot.write(Command(robot.read().time, np.array(v, dtype=float)))
    return robot.read().q


@pytest.fixture(scope="module")
def solo():
    return load("solo12")


@pytest.mark.parametrize("name", names())
def test_every_robot_can_be_driven(name: str):
    description = load(name)
    robot = Kinematic(description, dt=0.01)
    assert isinstance(robot, Robot)
    before, v = robot.read(), np.random.default_rng(0).uniform(-1.0, 1.0, description.pin_model.nv)
    np.testing.assert_array_equal(before.q, description.home)
    drive(robot, v, 1)
    after = robot.read()
    np.testing.assert_allclose(Model(description).difference(after.q, before.q), 0.01 * v, atol=1e-12)
    np.testing.assert_array_equal(after.v, v)


def test_a_free_base_follows_a_screw(solo):
    """A constant twist (linear, angular in the base) for t seconds is T0 · exp(t [ω]× ν; 0 0) of 4×4 matrices."""
    linear, angular, dt, steps = np.array([0.3, -0.2, 0.5]), np.array([0.7, 1.1, -0.4]), 1e-3, 2000
    wx, wy, wz = angular
    twist = np.zeros((4, 4))
    twist[:3, :3] = [[0, -wz, wy], [wz, 0, -wx], [-wy, wx, 0]]
    twist[:3, 3] = linear
    robot = Kinematic(solo, dt=dt)
    model = Model(solo)
    base = model.frame("base_link")
    start = model.placement(base).homogeneous
    q = drive(robot, np.concatenate([linear, angular, np.zeros(12)]), steps)
    model.update(q, np.zeros(model.nv))
    np.testing.assert_allclose(
        model.placement(base).homogeneous, start @ expm(steps * dt * twist), atol=1e-11
    )


def test_a_planar_base_drives_an_arc():
    """Speed u and turn rate w: x = u/w sin wt, y = u/w (1 − cos wt), heading wt."""
    tiago = load("tiago")
    u, w, t = 0.8, 0.5, 3.0
    v = np.zeros(tiago.pin_model.nv)
    v[0], v[2] = u, w
    q = drive(Kinematic(tiago, dt=5e-3), v, 600)
    expected = [u / w * np.sin(w * t), u / w * (1.0 - np.cos(w * t)), np.cos(w * t), np.sin(w * t)]
    np.testing.assert_allclose(q[:4], expected, atol=1e-12)
    np.testing.assert_array_equal(q[4:], tiago.home[4:])


def test_a_joint_that_turns_without_end_keeps_turning():
    kinova = load("kinova")
    v = np.array([3.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    q = drive(Kinematic(kinova, dt=1e-2), v, 5000)  # 150 rad, 24 turns
    start = np.arctan2(kinova.home[1], kinova.home[0])
    np.testing.assert_allclose(q[:2], [np.cos(start + 150.0), np.sin(start + 150.0)], atol=1e-10)


def test_the_same_motion_at_200_hz_and_1_khz(solo):
    v = np.random.default_rng(1).uniform(-1.0, 1.0, solo.pin_model.nv)
    slow, fast = drive(Kinematic(solo, dt=5e-3), v, 200), drive(Kinematic(solo, dt=1e-3), v, 1000)
    np.testing.assert_allclose(slow, fast, atol=1e-12)


def test_time_does_not_drift(solo):
    robot = Kinematic(solo, dt=1e-3)
    drive(robot, np.zeros(solo.pin_model.nv), 10_000)
    assert robot.read().time == 10.0


def test_quaternions_stay_of_norm_one(solo):
    robot, rng = Kinematic(solo, dt=1e-2), np.random.default_rng(2)
    for _ in range(5000):
        robot.write(Command(0.0, rng.standard_normal(solo.pin_model.nv)))
    assert abs(np.linalg.norm(robot.read().q[3:7]) - 1.0) <= 1e-12


def test_lag_is_a_first_order_response():
    """v(t) = v* (1 − e^(−t/lag)), at any rate."""
    panda = load("panda")
    for dt in (1e-3, 5e-3):
        robot = Kinematic(panda, dt=dt, lag=0.05)
        drive(robot, np.ones(9), round(0.1 / dt))
        np.testing.assert_allclose(robot.read().v, 1.0 - np.exp(-2.0), atol=1e-12)


def test_noise_is_seeded_and_of_the_size_asked_for(solo):
    model, nv = Model(solo), solo.pin_model.nv
    runs = []
    for seed in (7, 7, 8):
        robot = Kinematic(solo, noise=1e-3, seed=seed)
        assert (robot.read().q == robot.read().q).all()  # one measurement per step
        samples = []
        for _ in range(1000):
            robot.write(Command(0.0, np.zeros(nv)))
            samples.append(model.difference(robot.read().q, solo.home))
        runs.append(np.array(samples))
    np.testing.assert_array_equal(runs[0], runs[1])
    assert np.abs(runs[0] - runs[2]).max() > 1e-4
    assert runs[0].std() == pytest.approx(1e-3, rel=0.03)  # noise does not add up: it is not in the state


def test_what_is_read_belongs_to_the_reader(solo):
    robot = Kinematic(solo)
    robot.read().q[:] = np.nan
    robot.read().v[:] = np.nan
    v = np.zeros(solo.pin_model.nv)
    robot.write(Command(0.0, v))
    v[:] = np.nan
    assert np.isfinite(robot.read().q).all() and np.isfinite(robot.read().v).all()


BAD = [np.full(18, np.nan), np.full(18, np.inf), np.zeros(17), np.zeros((18, 1)), np.zeros(0), None, "fast"]
BAD += [1.0, {}, np.full(18, 1e308), [np.zeros(3)] * 18, np.full(18, 1j)]


@pytest.mark.parametrize("v", BAD, ids=range(len(BAD)))
def test_a_bad_command_is_refused_and_changes_nothing(solo, v: object):
    robot = Kinematic(solo, dt=10.0)
    drive(robot, np.full(18, 0.01), 3)
    before = robot.read()
    with pytest.raises(RobotError, match="solo12"):
        robot.write(Command(0.0, v))  # type: ignore[arg-type]
    after = robot.read()
    assert after.time == before.time
    np.testing.assert_array_equal(after.q, before.q)
    np.testing.assert_array_equal(after.v, before.v)


def test_a_closed_robot_takes_no_commands(solo):
    robot = Kinematic(solo)
    robot.close()
    robot.close()
    robot.read()
    with pytest.raises(RobotError, match="closed"):
        robot.write(Command(0.0, np.zeros(18)))


def test_the_start_can_be_chosen(solo):
    q = solo.home.copy()
    q[:3] = [1.0, 2.0, 3.0]
    q[3:7] *= 1.0 + 1e-5  # rounding of a file is put right
    np.testing.assert_allclose(Kinematic(solo, q=q).read().q[:7], [1, 2, 3, 0, 0, 0, 1], atol=1e-12)


@pytest.mark.parametrize(
    ("name", "value"),
    [("dt", value) for value in (0.0, -1.0, np.nan, np.inf, "1 ms", None)]
    + [("noise", -1.0), ("lag", np.nan)]
    + [("q", value) for value in (np.zeros(3), np.full(19, np.nan), np.zeros(19), "home")],
)
def test_bad_options_are_refused(solo, name: str, value: object):
    with pytest.raises(RobotError, match=name):
        Kinematic(solo, **{name: value})
