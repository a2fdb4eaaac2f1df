"""Velocities and accelerations from poses: exact motions, orders of convergence, noise, and the first samples."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import sot
from sot.errors import TaskError
from sot.robots import load

EVERY = {
    "difference": lambda robot: sot.Difference(robot),
    "lag": lambda robot: sot.Lag(robot, 0.02),
    "savitzky_golay": lambda robot: sot.SavitzkyGolay(robot, window=9, order=3),
}


def tumbling(robot):
    """q(t) with the exact v and v̇: the base turns and flies, joints swing; body velocities by hand.

    R(t) = exp(ẑ α(t)) exp(x̂ β(t)), so ω in the body's axes is exp(−x̂ β) ẑ α̇ + x̂ β̇.
    """
    n = robot.pin_model.nv - 6
    phase = np.linspace(0.0, 3.0, n)

    def at(t):
        alpha, da, dda = 0.8 * np.sin(2 * t), 1.6 * np.cos(2 * t), -3.2 * np.sin(2 * t)
        beta, db, ddb = 0.5 * t**2, t, 1.0
        Rx = pin.exp3(np.array([beta, 0.0, 0.0]))
        R = pin.exp3(np.array([0.0, 0.0, alpha])) @ Rx
        x, z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
        omega = Rx.T @ z * da + x * db
        domega = Rx.T @ z * dda - np.cross(x * db, Rx.T @ z * da) + x * ddb
        p = np.array([np.sin(t), t**2, 0.3 * t])
        dp, ddp = np.array([np.cos(t), 2 * t, 0.3]), np.array([-np.sin(t), 2.0, 0.0])
        v = np.concatenate([R.T @ dp, omega, 0.4 * np.cos(t + phase)])
        a = np.concatenate([R.T @ ddp - np.cross(omega, R.T @ dp), domega, -0.4 * np.sin(t + phase)])
        return np.concatenate([pin.SE3ToXYZQUAT(pin.SE3(R, p)), 0.4 * np.sin(t + phase)]), v, a

    return at


def errors(estimator, motion, dt, end=0.6):
    """Largest errors of v and v̇ at the end of a motion."""
    for t in np.arange(0.0, end + 0.5 * dt, dt):
        q, v, a = motion(t)
        found = estimator.push(t, q)
    return np.abs(found[0] - v).max(), np.abs(found[1] - a).max()


def test_the_motion_of_these_tests_is_what_it_says():
    """v and v̇ by hand against central differences on the manifold."""
    robot = load("solo12")
    motion, model, h = tumbling(robot), sot.Model(robot), 1e-4
    (before, v0, _), (_, v, a), (after, v1, _) = motion(0.5 - h), motion(0.5), motion(0.5 + h)
    np.testing.assert_allclose(model.difference(after, before) / (2 * h), v, atol=1e-6)
    np.testing.assert_allclose((v1 - v0) / (2 * h), a, atol=1e-6)


@pytest.mark.parametrize(
    ("make", "orders"),
    [
        (lambda robot: sot.Difference(robot), (2, 1)),
        (lambda robot: sot.SavitzkyGolay(robot, window=5, order=2), (2, 1)),
        (lambda robot: sot.SavitzkyGolay(robot, window=7, order=3), (3, 2)),
        (lambda robot: sot.SavitzkyGolay(robot, window=7, order=4), (4, 3)),
    ],
    ids=["difference", "order 2", "order 3", "order 4"],
)
def test_orders_of_convergence(make, orders):
    """Errors shrink with dt^order, for a tumbling base too."""
    robot = load("solo12")
    motion = tumbling(robot)
    coarse, fine = errors(make(robot), motion, 1e-2), errors(make(robot), motion, 5e-3)
    for order, large, small in zip(orders, coarse, fine, strict=True):
        assert 0.75 * 2**order < large / small < 1.5 * 2**order


def test_a_polynomial_is_met_exactly():
    """Samples at any times: a cubic in the joints, fitted by a cubic."""
    robot, rng = load("ur5"), np.random.default_rng(0)
    c = rng.normal(size=(4, 6))
    times = np.sort(rng.uniform(0.0, 0.5, 30))
    estimator = sot.SavitzkyGolay(robot, window=9, order=3)
    for t in times:
        v, a = estimator.push(t, c[0] + c[1] * t + c[2] * t**2 + c[3] * t**3)
    np.testing.assert_allclose(v, c[1] + 2 * c[2] * t + 3 * c[3] * t**2, atol=1e-8)
    np.testing.assert_allclose(a, 2 * c[2] + 6 * c[3] * t, atol=1e-6)


def test_coefficients_are_those_of_scipy():
    from scipy.signal import savgol_coeffs

    robot, rng = load("ur5"), np.random.default_rng(1)
    samples = rng.uniform(-1.0, 1.0, (11, 6))
    estimator = sot.SavitzkyGolay(robot, window=11, order=3)
    for k, q in enumerate(samples):
        found = estimator.push(0.01 * k, q)
    for order, rate in enumerate(found, start=1):
        weights = savgol_coeffs(11, 3, deriv=order, delta=0.01, pos=10, use="dot")
        np.testing.assert_allclose(rate, weights @ samples, atol=1e-9 * np.abs(rate).max())


def test_the_difference_is_that_of_the_textbook():
    robot, rng, dt = load("ur5"), np.random.default_rng(2), 0.01
    q0, q1, q2 = rng.uniform(-1.0, 1.0, (3, 6))
    estimator = sot.Difference(robot)
    estimator.push(0.0, q0)
    np.testing.assert_allclose(estimator.push(dt, q1)[0], (q1 - q0) / dt)
    v, a = estimator.push(2 * dt, q2)
    np.testing.assert_allclose(v, (3 * q2 - 4 * q1 + q0) / (2 * dt))
    np.testing.assert_allclose(a, (q2 - 2 * q1 + q0) / dt**2)


@pytest.mark.parametrize("dt", [1e-3, 5e-3])
def test_the_lag_is_a_first_order_one(dt):
    """A sine in the long run: v is smaller by 1/√(1 + ω²T²) and late by atan(ωT), v̇ by both once more."""
    robot, T, w = load("ur5"), 0.05, 8.0
    estimator = sot.Lag(robot, T)
    found = []
    for t in np.arange(0.0, 3.0, dt):
        found.append((t, *(rate[0] for rate in estimator.push(t, np.full(6, np.sin(w * t))))))
    t, v, a = np.array([row for row in found if row[0] > 1.5]).T
    size, late = 1.0 / np.hypot(1.0, w * T), np.arctan(w * T)
    bow = (w * dt) ** 2 / 12  # a sine is not straight between two samples: its mean distance from the chord
    np.testing.assert_allclose(v, w * size * np.cos(w * t - late), atol=1.1 * bow / T)
    np.testing.assert_allclose(a, -(w**2) * size**2 * np.sin(w * t - 2 * late), atol=2.2 * bow / T**2)


def test_the_lag_does_not_depend_on_the_period():
    """Constant acceleration: v̇ → a, v → a (t − T), at 200 Hz and 1 kHz alike."""
    robot, T, found = load("ur5"), 0.03, []
    for dt in (5e-3, 1e-3):
        estimator = sot.Lag(robot, T)
        for t in np.arange(0.0, 1.0 + 0.5 * dt, dt):
            v, a = estimator.push(t, np.full(6, 0.5 * t**2))
        found.append((v[0], a[0]))
        # Exactly so for a motion that is straight between the samples, on average dt²/12 · q̈ away from this one.
        np.testing.assert_allclose(found[-1], [1.0 - T, 1.0], atol=dt**2 / T)
    np.testing.assert_allclose(found[0], found[1], atol=1e-3)


# -- the first samples -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", EVERY)
def test_a_robot_that_moves_already_is_not_kicked(kind):
    """At constant speed from the first sample on: no acceleration at all, ever."""
    robot = load("solo12")
    model, estimator = sot.Model(robot), EVERY[kind](robot)
    rate = np.random.default_rng(3).normal(size=model.nv)
    rate[:6] = [0.5, 0.0, 0.0, 0.0, 0.0, 2.0]
    for k in range(40):
        v, a = estimator.push(0.005 * k, model.integrate(robot.home, 0.005 * k * rate))
        assert np.abs(a).max() < 1e-6
        assert (np.abs(v) <= np.abs(rate) * (1.0 + 1e-9) + 1e-9).all()
        if k == 0:
            assert not v.any()
    np.testing.assert_allclose(v, rate, atol=1e-6)


@pytest.mark.parametrize("kind", EVERY)
def test_a_motion_from_rest_does_not_overshoot_at_the_start(kind):
    """Constant acceleration 1 from rest: what is estimated comes up to it, and never goes far above."""
    estimator = EVERY[kind](load("ur5"))
    a = [estimator.push(1e-3 * k, np.full(6, 0.5e-6 * k**2))[1][0] for k in range(200)]
    assert a[0] == 0.0 and max(a) < 1.05 and a[-1] == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("kind", EVERY)
def test_noise_is_not_larger_at_the_start(kind):
    """The root mean square over 300 runs, sample by sample, against that of the long run."""
    robot, rng = load("ur5"), np.random.default_rng(4)
    runs, ticks = [], 150 if kind == "lag" else 50
    for _ in range(50):  # six joints each
        estimator = EVERY[kind](robot)
        runs.append([np.concatenate(estimator.push(1e-3 * k, 1e-4 * rng.normal(size=6))) for k in range(ticks)])
    v, a = np.sqrt((np.array(runs).reshape(50, ticks, 2, 6) ** 2).mean(axis=(0, 3))).T
    assert a.max() < 1.4 * a[-20:].mean()
    assert v.max() < 1.6 * v[-20:].mean()


# -- how it is used ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", EVERY)
def test_times_must_go_forward(kind):
    robot = load("ur5")
    estimator = EVERY[kind](robot)
    estimator.push(0.1, robot.home)
    for time, words in ((0.1, "time 0.1 s is not after"), (0.05, "time 0.05 s is not after"), (np.nan, "not finite")):
        with pytest.raises(TaskError, match=words):
            estimator.push(time, robot.home)
    with pytest.raises(TaskError, match="expected a number of seconds, got 'now'"):
        estimator.push("now", robot.home)
    with pytest.raises(TaskError, match="'elbow_joint' has a value that is not finite"):
        estimator.push(0.2, np.array([0, 0, np.nan, 0, 0, 0]))
    v, _ = estimator.push(0.2, robot.home)  # what was refused has left no trace
    assert not v.any()
    estimator.reset()
    assert not estimator.push(0.0, robot.home + 1.0)[0].any()  # from the beginning again


def test_bad_settings_are_refused():
    robot = load("ur5")
    with pytest.raises(TaskError, match="order: expected an integer from 2 on, got 1"):
        sot.SavitzkyGolay(robot, order=1)
    with pytest.raises(TaskError, match="window: expected an integer above the order, 4, got 4"):
        sot.SavitzkyGolay(robot, window=4, order=4)
    with pytest.raises(TaskError, match="Lag: time_constant"):
        sot.Lag(robot, 0.0)


def test_torques_of_a_recorded_motion():
    """A UR5 that swings: torques from poses alone against those of the exact motion."""
    robot, times = load("ur5"), np.arange(0.0, 0.5, 1e-3)
    poses = [robot.home + 0.3 * np.sin(4.0 * t) for t in times]
    estimator = sot.SavitzkyGolay(robot, window=7, order=3)
    found = list(sot.inverse_dynamics_along(robot, times, poses, estimator=estimator))
    for k in (20, 250, 499):
        v, a = 1.2 * np.cos(4.0 * times[k]) * np.ones(6), -4.8 * np.sin(4.0 * times[k]) * np.ones(6)
        expected = pin.rnea(robot.pin_model, robot.pin_model.createData(), poses[k], v, a)
        np.testing.assert_allclose(found[k].torques, expected, atol=0.01)
    assert len(list(sot.inverse_dynamics_along(robot, times[:5], poses[:5]))) == 5


def test_contacts_may_change_along_a_motion():
    robot = load("talos")
    times, feet = [0.0, 0.01, 0.02], [foot.frame for foot in robot.feet]
    along = sot.inverse_dynamics_along(robot, times, [robot.home] * 3, lambda t: feet if t < 0.015 else feet[:1])
    assert [list(result.wrenches) for result in along] == [feet, feet, feet[:1]]
