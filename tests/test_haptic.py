"""The simulated haptic device: its motion, its bounds against eigenvalues, its limits, and what it refuses."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from stylus import PLAIN, T, press, push

import sot
from sot.errors import ConfigError, RobotError
from sot.haptic import Device, Hand, bounds
from sot.kernels import haptic as op
from sot.robots import Haptic
from sot.tasks import Posture


def limit_by_eigenvalues(m: float, b: float, B: float, period: float, late: int, samples: int) -> float:
    """Largest K for which all eigenvalues of the loop, written out in memory cells, are inside of the circle."""
    A = expm(np.array([[0, 1, 0], [0, -b / m, 1 / m], [0, 0, 0]]) * period)
    past = max(samples, 1)

    def radius(K: float) -> float:
        size = 2 + past + late  # x, v, past positions, forces under way
        loop = np.zeros((size, size))
        law = np.zeros(size)
        law[0] = -K - (B / (samples * period) if samples else 0.0)
        law[1] = 0.0 if samples else -B
        if samples:
            law[1 + samples] += B / (samples * period)
        now = np.eye(size)[2 + past] if late else law
        loop[:2, :2] = A[:2, :2]
        loop[:2] += np.outer(A[:2, 2], now)
        loop[2, 0] = 1.0
        loop[range(3, 2 + past), range(2, 1 + past)] = 1.0
        for i in range(late):
            loop[2 + past + i] = law if i == late - 1 else np.eye(size)[3 + past + i]
        return np.abs(np.linalg.eigvals(loop)).max()

    low, high = 1e-3, 1e7
    for _ in range(60):
        K = np.sqrt(low * high)
        low, high = (K, high) if radius(K) < 1.0 else (low, K)
    return low


def test_motion_is_exact_with_friction_and_a_moving_hand():
    hand = Hand(lambda t: [0.02 * np.sin(20.0 * t)] * 3, stiffness=500.0, damping=4.0, mass=0.05)
    haptic = Haptic(Device(mass=0.15, damping=3.0, friction=0.4, quantum=0.0, delay=0.7e-3), hand=hand)
    forces = np.random.default_rng(0).normal(0.0, 2.0, 40)
    for force in forces:
        haptic.write(push(force, 0.0, 0.0))
    # the same with friction as a very steep damper, and with the hand's target along lines, as the device takes it
    x, h = np.zeros(2), 1e-4
    for k in range(200):
        force = forces[(k - 7) // 5] if k >= 7 else 0.0
        first = k - k % 5 + (2 if k % 5 >= 2 else 0)  # a new force comes two fifths into each period
        start, end = h * first, h * (first + (3 if k % 5 >= 2 else 2))
        a, c = hand.at(start, 3)[0], hand.at(end, 3)[0]

        def rate(s, y, force=force, a=a, w=(c - a) / (end - start), start=start):
            pull = 500.0 * (a + w * (s - start) - y[0]) + 4.0 * (w - y[1])
            return [y[1], (force + pull - 3.0 * y[1] - 0.4 * np.tanh(y[1] / 1e-7)) / 0.2]

        x = solve_ivp(rate, [k * h, (k + 1) * h], x, method="Radau", rtol=1e-9, atol=1e-12).y[:, -1]
    assert haptic.plant.x[0] == pytest.approx(x[0], abs=1e-9)
    assert haptic.plant.v[0] == pytest.approx(x[1], abs=1e-7)


def test_static_friction_holds():
    haptic = Haptic(Device(friction=0.5, quantum=0.0))
    for _ in range(100):
        haptic.write(push(0.499, 0.0, -0.501))
    assert haptic.plant.x[0] == 0.0 and haptic.plant.x[2] < 0.0


@pytest.mark.parametrize(("dampings", "part"), [((0.0,), 0.05), ((0.5, 2.0), 0.01)])
def test_h1_the_formula_agrees_with_eigenvalues(dampings, part):
    """While (b + B)(T/2 + td) ≤ 0.05 m for springs, and ≤ 0.01 m with a damper whose velocity is half a period old."""
    worst = 0.0
    for b, B, period, late in itertools.product((0.2, 1.0, 2.0), dampings, (2.5e-4, 5e-4), (0, 1, 5)):
        m = (b + B) * (period / 2 + late * period) / part
        formula = bounds.stable_stiffness(b, B, period, late * period)
        worst = max(worst, abs(formula / limit_by_eigenvalues(m, b, B, period, late, 1) - 1.0))
    assert worst <= 0.02, worst


@pytest.mark.parametrize("B", [0.0, 2.0, 8.0])
@pytest.mark.parametrize("late", [0, 2])
@pytest.mark.parametrize("estimate", ["window", "difference", "exact"])
def test_the_edge_knows_that_the_velocity_is_old(B, late, estimate):
    """Row 43. A bound that takes a velocity over 20 ms for a fresh one is more than twice too high where B counts."""
    device = Device(mass=0.2, damping=2.0, delay=late * T, estimate=estimate)
    exact = limit_by_eigenvalues(0.2, 2.0, B, T, late, device.samples(T))
    assert bounds.edge(device, B, T) == pytest.approx(exact, rel=1e-3)
    assert bounds.allowed(replace(device, bound="stable"), B, T) <= 1.001 * exact
    if estimate == "window" and B == 8.0:
        assert bounds.stable_stiffness(2.0, B, T, late * T) > 2.0 * exact


def test_h2_below_the_limit_it_settles_and_above_it_buzzes():
    limit = bounds.edge(Device(**PLAIN), 0.0, T)
    swing = []
    for share in (0.9, 1.1):
        haptic = Haptic(Device(**PLAIN), hand=Hand([-0.02, 0.0, 0.0], stiffness=100.0, damping=0.0))
        swing.append(np.ptp(press(haptic, share * limit, 0.0, 10.0)[-1000:]) / 2.0)
    assert swing[0] < 5e-5 and swing[1] > 5e-4, swing


def test_h8_limits_hold_for_a_million_samples():
    random = np.random.default_rng(1)
    samples = random.normal(size=(1_000_000, 3)) * 10.0 ** random.uniform(-3, 300, (1_000_000, 1))
    samples[random.integers(0, 1_000_000, 30_000), random.integers(0, 3, 30_000)] = np.nan
    samples[random.integers(0, 1_000_000, 30_000), random.integers(0, 3, 30_000)] = np.inf
    sent, last = np.empty_like(samples), np.zeros(3)
    for wanted, force in zip(samples, sent, strict=True):
        force[:] = wanted
        op.limit(force, last, 12.0, 0.7)
        last = force
    assert np.linalg.norm(sent, axis=1).max() <= 12.0
    assert np.linalg.norm(np.diff(sent, axis=0), axis=1).max() <= 0.7 + 1e-12


def test_h10_a_hand_that_lets_go_inside_a_wall():
    for limit in (0.2, 50.0):
        device = Device(mass=0.1, damping=1.0, bound="off", estimate="difference", quantum=1e-6, speed_limit=limit)
        haptic = Haptic(device, hand=Hand([-0.05, 0.0, 0.0], stiffness=200.0, release=0.5))
        speeds = []
        for _ in range(1600):
            state = haptic.read()
            haptic.write(push(max(-2000.0 * state.q[0], 0.0), 0.0, 0.0))
            speeds.append(haptic.plant.v[0])
        assert (max(speeds[1000:]) <= limit) and (limit < 1.0 or max(speeds[1000:]) > 0.3)


class Wall(Posture):
    """Stands for anything that renders a wall."""

    kind = "test_wall"

    def rendered(self) -> tuple[float, float]:
        return 5000.0, 1.0


def test_a_stack_past_the_bound_is_refused_by_a_run():
    def run(**options):
        haptic = Haptic(Device(damping=2.0, **options))
        controller = sot.Controller(haptic.robot, sot.Stack([], [Wall()]), output="torque", dt=T)
        return sot.run(haptic, controller, duration=0.01)

    with pytest.raises(ConfigError, match=r"passive bound.*asks for b = 2.25 .*up to 4000 N/m; passivity=True"):
        run()
    assert run(passivity=True).ticks == run(bound="stable").ticks == 20


def test_wrong_commands_and_a_pulled_cable():
    haptic = Haptic(Device(force_limit=5.0))
    for wrong in (push(np.nan, 0.0, 0.0), push(0.0, np.inf, 0.0), push(1.0)):
        with pytest.raises(RobotError):
            haptic.write(wrong)
    assert haptic.counters.refused == 3 and haptic.read().time == 0.0
    haptic.write(push(30.0, 0.0, 40.0))
    np.testing.assert_allclose(haptic.force, [3.0, 0.0, 4.0])
    assert haptic.counters.clamped == 1
    haptic.unplug()
    for use in (haptic.read, lambda: haptic.write(push(0.0, 0.0, 0.0))):
        with pytest.raises(RobotError, match="unplugged"):
            use()
    haptic.close()
