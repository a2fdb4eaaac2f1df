"""Collisions, endless bounces, balances, and independence of how time is cut: the 1-D finger from event to event."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from moreau import march

from sot.errors import RobotError
from sot.finger import Body, Line, Profile, Record, Simulation, line, pulse, ramps, steps
from sot.finger.mode import pool

EXACT = 1e-9


def run(force: object, duration: float, finger: Body, *objects: Body, walls=(), restitution=0.0, **options) -> Record:
    return Simulation(line(finger, objects, walls, restitution), **options).run(force, duration)


# -- collisions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("e", [0.0, 0.3, 0.8, 1.0])
@pytest.mark.parametrize("masses", [(1.0, 1.0), (0.1, 3.0), (3.0, 0.1)])
def test_two_bodies_collide(e: float, masses: tuple[float, float]):
    """Momentum is kept, the speeds part with e times what they met with, and ½ μ (1 − e²) u² is lost."""
    (m, mo), v, w = masses, 2.0, -0.5
    record = run(0.0, 1.0, Body("finger", m, velocity=v), Body("cup", mo, position=0.5, velocity=w), restitution=e)
    (hit,) = record.events
    reduced = m * mo / (m + mo)
    centre = (m * v + mo * w) / (m + mo)
    after = (centre - e * mo / (m + mo) * (v - w), centre + e * m / (m + mo) * (v - w))
    assert hit.kind == ("bounce" if e else "contact") and hit.time == pytest.approx(0.5 / (v - w), abs=EXACT)
    assert hit.after == pytest.approx(after, abs=EXACT)
    assert hit.impulse == pytest.approx((1.0 + e) * reduced * (v - w), abs=EXACT)
    assert record.balance.energy.impacts == pytest.approx(0.5 * reduced * (1.0 - e * e) * (v - w) ** 2, abs=EXACT)
    meet = v * hit.time
    assert record.x[-1] == pytest.approx([meet + speed * (1.0 - hit.time) for speed in after], abs=EXACT)


def test_a_row_of_balls_passes_the_blow_on():
    """Three that touch, equal and elastic: the last one flies off with all of it."""
    balls = [Body(name, 0.2, position=x, width=0.1) for name, x in (("a", 0.5), ("b", 0.6), ("c", 0.7))]
    record = run(0.0, 1.0, Body("finger", 0.2, velocity=1.5), *balls, restitution=1.0)
    np.testing.assert_allclose(record.v[-1], [0.0, 0.0, 0.0, 1.5], rtol=0.0, atol=1e-12)
    assert {event.time for event in record.events} == {record.events[0].time} and len(record.events) == 3
    assert record.balance.energy.impacts == pytest.approx(0.0, abs=1e-15)


def test_a_row_of_clay_moves_as_one():
    """Inelastic, they share the momentum at once, and the impulses go through all contacts."""
    masses = [0.2, 0.7, 0.4]
    boxes = [Body(f"b{i}", m, position=0.5 + 0.1 * i, width=0.1) for i, m in enumerate(masses)]
    record = run(0.0, 1.0, Body("finger", 0.3, velocity=1.5), *boxes)
    v = 0.3 * 1.5 / (0.3 + sum(masses))
    np.testing.assert_allclose(record.v[-1], v, rtol=0.0, atol=1e-12)
    assert len(set(record.v[-1].tolist())) == 1
    impulses = {event.who: event.impulse for event in record.events}
    assert impulses[("finger", "b0")] == pytest.approx(sum(masses) * v, abs=EXACT)
    assert impulses[("b1", "b2")] == pytest.approx(masses[2] * v, abs=EXACT)


def test_restitution_by_pair():
    balls = [Body("a", 0.2, position=0.5), Body("b", 0.2, position=0.6)]
    e = {("finger", "a"): 1.0, ("b", "a"): 0.0}
    record = run(0.0, 2.0, Body("finger", 0.2, velocity=1.0), *balls, restitution=e)
    assert [event.kind for event in record.events] == ["bounce", "contact"]
    np.testing.assert_allclose(record.v[-1], [0.0, 0.5, 0.5], rtol=0.0, atol=1e-12)


def test_a_blow_moves_what_static_friction_holds():
    """A blow is no force: friction has no time to act. Then it slides v²/(2 μ g)."""
    cup = Body("cup", 0.2, position=0.1, mu_static=5.0, mu_kinetic=0.5)
    record = run(0.0, 2.0, Body("finger", 0.2, velocity=1.0), cup, restitution=1.0)
    assert record.x[-1, 1] == pytest.approx(0.1 + 1.0 / (2.0 * 0.5 * 9.81), abs=EXACT)


def test_a_tap_within_one_step_is_seen():
    """Thrown at an object and drawn back: without drag the whole flight is one step of the integration.

    x = v t − ½ A t² + B t³/6 touches the object's place twice and is on this side of it at both ends.
    """
    v, A, B, m = 1.0, 10.0, 30.0, 0.1
    place = 0.0499
    roots = np.roots([B / 6.0, -0.5 * A, v, -place])
    first = min(root.real for root in roots if abs(root.imag) < 1e-12 and root.real > 0.0)
    force = ramps([(0.0, -A * m), (0.3, (B * 0.3 - A) * m)])
    record = run(force, 0.3, Body("finger", m, velocity=v), Body("cup", 10.0, position=place))
    assert v * 0.3 - 0.5 * A * 0.09 + B * 0.027 / 6.0 < place  # at the end it would be back
    assert record.events[0].time == pytest.approx(first, abs=EXACT)
    assert (record.x[:, 0] <= record.x[:, 1] + 1e-12).all()


def test_a_short_stop_within_one_step_is_seen():
    """The same for sliding, with v = v0 + ∫(k t − F ∓ f)/m: it dips below zero and is above it again at the end."""
    m, v0, f, F, k = 0.5, 0.9, 0.2, 3.0, 6.0
    record = run(ramps([(0.0, -F), (1.0, k - F)]), 1.0, Body("finger", m, velocity=v0, static_friction=f))
    first = ((F + f) - math.sqrt((F + f) ** 2 - 2.0 * k * m * v0)) / k
    assert [event.kind for event in record.events] == ["turn", "turn"]
    assert record.events[0].time == pytest.approx(first, abs=EXACT)
    assert record.events[1].time == pytest.approx(2.0 * (F - f) / k - first, abs=EXACT)


# -- bounces that never end --------------------------------------------------------------------------


@pytest.mark.parametrize("e", [0.3, 0.5, 0.8])
def test_bounces_end_at_the_limit_of_their_times(e: float):
    """Flight n takes 2 u eⁿ m/F. All of them are over after 2 u m/F · e/(1 − e)."""
    m, F, gap = 0.1, 1.0, 0.1
    record = run(F, 3.0, Body("finger", m), walls=[gap], restitution=e)
    u = math.sqrt(2.0 * F * gap / m)
    flights = 2.0 * u * m / F * e ** np.arange(1, len(record.events))
    times = u * m / F + np.concatenate([[0.0], np.cumsum(flights)])
    np.testing.assert_allclose([event.time for event in record.events], times, rtol=0.0, atol=EXACT)
    limit = u * m / F * (1.0 + 2.0 * e / (1.0 - e))
    assert record.events[-1].kind == "contact" and record.events[-1].time == pytest.approx(limit, abs=1e-6)
    assert record.epochs[-1].kind == "touching" and record.sensor[-1] == F
    assert record.balance.energy.impacts == pytest.approx(F * gap, abs=EXACT)


def test_bounces_on_an_object_that_static_friction_holds():
    """Each blow moves it a little; in the end both rest and the sensor reads the push."""
    cup = Body("cup", 0.4, position=0.05, static_friction=3.0)
    record = run(1.0, 5.0, Body("finger", 0.1), cup, restitution=0.6)
    assert record.epochs[-1].stuck == ("finger", "cup") and record.sensor[-1] == 1.0
    assert record.x[-1, 1] > 0.05 and (record.v[-1] == 0.0).all()
    assert len(record.events) > 20


def test_too_many_events_are_an_error_that_says_so():
    light = Body("finger", 1e-3)
    with pytest.raises(RobotError, match=r"more than 200 events within a second.*gap of finger, wall.*rest_speed"):
        run(5.0, 2.0, light, walls=[1e-4], restitution=1.0, max_events=200)


def test_the_rest_speed_ends_bounces_early():
    slow = run(1.0, 2.0, Body("finger", 0.1), walls=[0.1], restitution=0.5, rest_speed=0.3)
    assert [event.kind for event in slow.events] == ["bounce", "bounce", "contact"]


# -- accounts ----------------------------------------------------------------------------------------


def scene(seed: int, e: float | None = None, plain: bool = False) -> Line:
    """Up to three objects and two walls, all kinds of friction, some moving, some touching."""
    rng = np.random.default_rng(seed)

    def body(name: str, x: float) -> Body:
        slide = float(rng.choice([0.0, rng.uniform(0.1, 1.0)]))
        hold = slide if plain else slide * float(rng.choice([1.0, 1.5]))
        drag, v = float(rng.choice([0.0, rng.uniform(0.0, 3.0)])), float(rng.choice([0.0, rng.normal()]))
        return Body(name, rng.uniform(0.05, 0.5), x, v, 0.02, drag, static_friction=hold, kinetic_friction=slide)

    x, objects = 0.0, []
    finger = body("finger", 0.0)
    for i in range(rng.integers(1, 4)):
        x += 0.02 + float(rng.choice([0.0, rng.uniform(0.01, 0.2)]))
        objects.append(body(f"o{i}", x))
    walls = [wall for wall in (x + 0.2, -0.2) if rng.random() < 0.5]
    return line(finger, objects, walls, float(rng.choice([0.0, rng.uniform(0.2, 0.8), 0.9])) if e is None else e)


def forces(seed: int) -> Profile:
    rng = np.random.default_rng(1000 + seed)
    points = list(zip(np.sort(rng.uniform(0.0, 1.5, 5)), rng.normal(0.0, 2.0, 5), strict=True))
    return (steps, ramps)[seed % 2](points)


@functools.cache
def simulated(seed: int) -> Record:
    return Simulation(scene(seed)).run(forces(seed), 2.0)


@pytest.mark.parametrize("seed", range(24))
def test_momentum_energy_and_order_are_kept(seed: int):
    record = simulated(seed)
    p, e = record.balance.momentum, record.balance.energy
    scale = max(e.start, e.end, abs(e.work), e.drag, e.friction, e.impacts, 1e-3)
    assert abs(e.residual) <= 1e-9 * scale
    assert abs(p.residual) <= 1e-9 * max(abs(p.start), abs(p.end), abs(p.applied), abs(p.friction), abs(p.walls))
    assert min(e.drag, e.friction, e.impacts) >= -1e-15
    gaps = np.diff(record.x, axis=1) - 0.5 * (record.line.width[1:] + record.line.width[:-1])
    assert gaps.min() >= -1e-12 and record.contact.min() >= 0.0 and (np.diff(record.time) >= 0.0).all()
    np.testing.assert_array_equal(record.v[:, record.line.walls], 0.0)


@pytest.mark.parametrize("seed", range(24))
def test_newtons_law_holds_in_every_row(seed: int):
    """m a = F − c v + N_left − N_right + friction, which is F_k against the motion, or at most F_s at rest."""
    record = simulated(seed)
    n = len(record.line.names)
    N = np.concatenate([np.zeros((len(record.time), 1)), record.contact, np.zeros((len(record.time), 1))], axis=1)
    for i in np.flatnonzero(~record.line.walls):
        F = record.force if i == record.line.finger else 0.0
        v, a = record.v[:, i], record.a[:, i]
        friction = record.line.mass[i] * a - F + record.line.drag[i] * v - N[:, i] + N[:, i + 1]
        slides, rests = v != 0.0, (v == 0.0) & (a == 0.0)
        np.testing.assert_allclose(friction[slides], -np.sign(v[slides]) * record.line.slide[i], rtol=0.0, atol=1e-8)
        assert (np.abs(friction[rests]) <= record.line.hold[i] + 1e-9).all()
    assert n == record.contact.shape[1] + 1


def test_time_stepping_without_events_converges_to_it():
    """Moreau's scheme at two steps, of which one is a quarter of the other: so are its errors."""
    errors = []
    for seed in range(12):
        everything, force = scene(seed, e=0.0, plain=True), forces(2 * seed + 1)  # without jumps, which it does not hit
        exact = Simulation(everything).run(force, 1.2).x[-1]
        errors.append([np.abs(march(everything, force, 1.2, h)[0] - exact).max() for h in (8e-4, 2e-4)])
    coarse, fine = np.array(errors).T
    assert fine.max() <= 2e-3 and fine.sum() <= 0.35 * coarse.sum()


# -- cutting time ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_the_motion_does_not_depend_on_how_time_is_cut(seed: int):
    """A run over the profile, steps of 20 ms, of 2 ms, and of uneven lengths: the same, and the same events."""
    everything = scene(seed, e=0.4)
    values = np.random.default_rng(seed).normal(0.0, 2.0, 40)
    whole = Simulation(everything).run(steps([(0.02 * k, F) for k, F in enumerate(values)]), 0.8)
    for parts in ([1.0], [0.1] * 10, [0.37, 0.01, 0.5, 0.12]):
        simulation = Simulation(everything)
        for k, F in enumerate(values):
            for part in parts:
                simulation.step(F, 0.02 * part)
            assert simulation.time == pytest.approx(0.02 * (k + 1), abs=1e-12)
        np.testing.assert_allclose(simulation.x, whole.x[-1], rtol=0.0, atol=EXACT)
        np.testing.assert_allclose(simulation.v, whole.v[-1], rtol=0.0, atol=EXACT)
        record = simulation.record()
        assert [event.kind for event in record.events] == [event.kind for event in whole.events]
        np.testing.assert_allclose(
            [event.time for event in record.events], [event.time for event in whole.events], rtol=0.0, atol=1e-8
        )


def test_the_sensor_has_a_constant_and_an_impulse_part():
    cup = Body("cup", 0.3, position=0.1)
    simulation = Simulation(line(Body("finger", 0.2, velocity=1.0), [cup]))
    assert simulation.step(0.0, 0.09).force == 0.0
    hit = simulation.step(0.0, 0.02)
    assert hit.push == 0.0 and hit.impulse == pytest.approx(0.3 * 0.4, abs=EXACT)
    assert hit.force == pytest.approx(0.3 * 0.4 / 0.02, abs=1e-7)
    pushing = simulation.step(2.0, 0.01)
    assert pushing.push == pushing.force == pytest.approx(0.3 * 2.0 / 0.5, abs=EXACT)
    assert simulation.record().blows == [(pytest.approx(0.1), pytest.approx(0.12))]


def test_equal_runs_are_equal_to_the_bit():
    first, second = (Simulation(scene(3)).run(forces(3), 2.0) for _ in range(2))
    np.testing.assert_array_equal(first.x, second.x)
    assert first.events == second.events


def test_pooling_is_the_constrained_minimum():
    """Against projected gradient steps on min Σ ½ m a² − f a + h |a| with a in order."""
    rng = np.random.default_rng(5)
    for _ in range(50):
        m, f, h = rng.uniform(0.2, 2.0, 4), rng.normal(0.0, 2.0, 4), rng.choice([0.0, 0.5, 1.5], 4)
        blocks, rates = pool(f, m, h)
        a = np.repeat(rates, [last - first + 1 for first, last in blocks])

        def cost(x: np.ndarray, m=m, f=f, h=h) -> np.ndarray:
            return 0.5 * (m * x * x).sum(-1) - (f * x).sum(-1) + (h * np.abs(x)).sum(-1)

        others = np.sort(a + rng.normal(0.0, 1.0, (4000, 4)) * rng.choice([1e-3, 1e-1, 1.0], (4000, 1)), axis=1)
        assert (np.diff(a) >= 0.0).all() and cost(a) <= cost(others).min() + 1e-12


def test_a_pulse_needs_no_luck():
    """The same pulse at many places in time, in one long run each."""
    ends = [run(pulse(1.0, at, at + 1e-4), 100.0, Body("finger", 0.1)).v[-1, 0] for at in (0.1, 3.3333, 50.0, 99.0)]
    np.testing.assert_allclose(ends, 1e-3, rtol=1e-9)
