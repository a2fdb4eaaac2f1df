"""The 1-D finger against closed forms: drag, friction, pushes, loss of contact."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from sot.finger import Body, Profile, Record, Simulation, constant, function, line, pulse, ramps, steps

EXACT = 1e-9  # closed forms are met to this; the promise is 1e-6


def run(force: object, duration: float, finger: Body, *objects: Body, walls=(), restitution=0.0) -> Record:
    return Simulation(line(finger, objects, walls, restitution)).run(force, duration)


def kinds(record: Record) -> list[str]:
    return [event.kind for event in record.events]


# -- the five facts ----------------------------------------------------------------------------------


def test_a_late_pulse_moves_the_finger():
    """m v̇ = F − c v from rest: v = F/c (1 − e^(−c t/m)) after t = 0.5 s; breakpoints are never stepped over."""
    m, c, F = 0.3, 0.8, 5.0
    record = run(pulse(F, 5.0, 5.5), 10.0, Body("finger", m, drag=c))
    v = F / c * (1.0 - math.exp(-c * 0.5 / m))
    x = F / c * 0.5 - m / c * v
    at = record.at([4.999, 5.0, 5.5, 10.0])
    np.testing.assert_array_equal(at.x[:2, 0], 0.0)
    assert at.v[2, 0] == pytest.approx(v, abs=EXACT) and at.x[2, 0] == pytest.approx(x, abs=EXACT)
    assert at.x[3, 0] == pytest.approx(x + m / c * v * (1.0 - math.exp(-c * 4.5 / m)), abs=EXACT)
    assert record.force.max() == F and x > 0.5


@pytest.mark.parametrize("width", [1e-1, 1e-3, 1e-6, 1e-9])
def test_the_shortest_pulse_has_its_impulse(width: float):
    record = run(pulse(0.2 / width, 5.0, 5.0 + width), 6.0, Body("finger", 0.1))
    span = (5.0 + width) - 5.0  # as the two times are rounded
    assert record.v[-1, 0] == pytest.approx(0.2 / width * span / 0.1, rel=1e-9)
    assert record.balance.momentum.applied == pytest.approx(0.2, rel=1e-6)


@pytest.mark.parametrize("v0", [-2.0, 2.0])
def test_motion_decays_in_both_directions(v0: float):
    """v = v0 e^(−c t/m), x = v0 m/c (1 − e^(−c t/m)), also between the rows of the record."""
    m, c, t = 0.25, 0.7, np.linspace(0.0, 3.0, 501)
    at = run(0.0, 3.0, Body("finger", m, velocity=v0, drag=c)).at(t)
    np.testing.assert_allclose(at.v[:, 0], v0 * np.exp(-c * t / m), rtol=0.0, atol=EXACT)
    np.testing.assert_allclose(at.x[:, 0], v0 * m / c * (1.0 - np.exp(-c * t / m)), rtol=0.0, atol=EXACT)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_the_sensor_reads_what_the_object_needs(side: float):
    """While pushing with F: a = (F − F_f − (c + c_o) v)/(m + m_o), and the sensor reads m_o a + F_f + c_o v."""
    m, mo, c, co, Ff, F = 0.1, 0.4, 0.3, 0.5, 1.2, 3.0
    cup = Body("cup", mo, position=side * 0.1, width=0.2, drag=co, static_friction=1.5, kinetic_friction=Ff)
    record = run(side * F, 2.0, Body("finger", m, drag=c), cup)
    t, rate = np.linspace(0.0, 2.0, 201), (c + co) / (m + mo)
    v = (F - Ff) / (c + co) * (1.0 - np.exp(-rate * t))
    a = (F - Ff) / (m + mo) * np.exp(-rate * t)
    at = record.at(t)
    for body in ("finger", "cup"):
        np.testing.assert_allclose(at.v[:, record.index(body)], side * v, rtol=0.0, atol=EXACT)
    np.testing.assert_allclose(record.at(record.time).contact[:, 0], record.contact[:, 0], atol=1e-12)
    np.testing.assert_allclose(side * np.interp(t, record.time, record.sensor), mo * a + Ff + co * v, atol=1e-4)
    rows = (F - Ff) / (m + mo) * np.exp(-rate * record.time), (F - Ff) / (c + co) * (1.0 - np.exp(-rate * record.time))
    np.testing.assert_allclose(side * record.sensor, mo * rows[0] + Ff + co * rows[1], rtol=0.0, atol=EXACT)


def test_elastic_bounces_happen_under_a_push_too():
    """Pushed against a wall with e = 1 the finger comes back again and again: every flight takes 2 u m/F."""
    m, F, gap = 0.2, 1.5, 0.05
    record = run(F, 4.0, Body("finger", m), walls=[gap], restitution=1.0)
    u = math.sqrt(2.0 * F * gap / m)
    bounces = [event for event in record.events if event.kind == "bounce"]
    assert len(bounces) == len(record.events) >= 10
    times = u * m / F * (1.0 + 2.0 * np.arange(len(bounces)))
    np.testing.assert_allclose([b.time for b in bounces], times, rtol=0.0, atol=EXACT)
    np.testing.assert_allclose([b.after[0] for b in bounces], -u, rtol=0.0, atol=EXACT)
    np.testing.assert_allclose([b.impulse for b in bounces], 2.0 * m * u, rtol=0.0, atol=EXACT)


def test_elastic_bounces_on_an_object_that_is_pushed_away():
    """The relative motion is that against a wall: closing speed u each time, 2 u m/F apart; momentum grows by F t."""
    m, mo, F, gap = 0.2, 0.7, 1.5, 0.05
    record = run(F, 3.0, Body("finger", m), Body("cup", mo, position=gap), restitution=1.0)
    u = math.sqrt(2.0 * F * gap / m)
    times = u * m / F * (1.0 + 2.0 * np.arange(len(record.events)))
    assert set(kinds(record)) == {"bounce"} and len(times) >= 8
    np.testing.assert_allclose([event.time for event in record.events], times, rtol=0.0, atol=EXACT)
    assert record.balance.momentum.end == pytest.approx(3.0 * F, abs=EXACT)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_static_friction_never_moves_an_object(sign: float):
    """Up to F_s nothing moves, to the bit: not the pushed object, not one that stands alone."""
    cup, other = (Body(name, 0.3, position=x, mu_static=0.5) for name, x in (("cup", 0.0), ("other", 0.2)))
    hold = 0.5 * 0.3 * 9.81
    wave = function(lambda t: sign * hold * math.sin(3.0 * t))
    record = run(wave, 3.0, Body("finger", 0.1, static_friction=0.0), cup, other)
    np.testing.assert_array_equal(record.x[:, 1:], np.tile([0.0, 0.2], (len(record.x), 1)))
    np.testing.assert_array_equal(record.v[:, 1:], 0.0)
    assert record.balance.energy.friction == 0.0


# -- stick and slip ----------------------------------------------------------------------------------


def test_the_threshold_of_slipping():
    """Exactly F_s is held; a little more slides, and then with F_k."""
    box = Body("finger", 0.5, static_friction=2.0, kinetic_friction=1.2)
    np.testing.assert_array_equal(run(2.0, 2.0, box).x, 0.0)
    np.testing.assert_array_equal(run(-2.0, 2.0, box).x, 0.0)
    for sign in (1.0, -1.0):
        record = run(sign * 2.0 * (1.0 + 1e-9), 2.0, box)
        assert sign * record.x[-1, 0] == pytest.approx(0.5 * 0.8 / 0.5 * 4.0, abs=1e-6)


def test_a_rising_force_breaks_away_at_its_time():
    """F = k t leaves F_s at t = F_s/k; from then on m v̇ = k t − F_k, with v = ∫ of it and x = ∫∫ of it."""
    m, Fs, Fk, k = 0.5, 2.0, 1.2, 0.8
    record = run(ramps([(0.0, 0.0), (10.0, 8.0)]), 4.0, Body("finger", m, static_friction=Fs, kinetic_friction=Fk))
    (slip,) = record.events
    t0, dt = Fs / k, 4.0 - Fs / k
    assert slip.kind == "slip" and slip.time == pytest.approx(t0, abs=EXACT)
    assert record.v[-1, 0] == pytest.approx(((Fs - Fk) * dt + 0.5 * k * dt**2) / m, abs=EXACT)
    assert record.x[-1, 0] == pytest.approx((0.5 * (Fs - Fk) * dt**2 + k * dt**3 / 6.0) / m, abs=EXACT)


@pytest.mark.parametrize("v0", [1.7, -0.6])
def test_sliding_to_a_stop(v0: float):
    """Distance v²/(2 μ g), time v/(μ g); after that the velocity is zero, to the bit."""
    mu, g = 0.35, 9.81
    record = run(0.0, 2.0, Body("finger", 0.2, velocity=v0, mu_static=0.6, mu_kinetic=mu))
    (stick,) = record.events
    assert stick.kind == "stick" and stick.time == pytest.approx(abs(v0) / (mu * g), abs=EXACT)
    assert record.x[-1, 0] == pytest.approx(v0 * abs(v0) / (2.0 * mu * g), abs=EXACT)
    assert (record.v[record.time > stick.time] == 0.0).all()


def test_sliding_turns_round_where_the_force_beats_static_friction():
    """v0 > 0 against F < −F_s: stops after m v0/(F_k − F), then slides back with (F + F_k)/m."""
    m, v0, Fs, Fk, F = 0.4, 1.0, 1.5, 1.0, -3.0
    record = run(F, 1.0, Body("finger", m, velocity=v0, static_friction=Fs, kinetic_friction=Fk))
    t0 = m * v0 / (Fk - F)
    assert kinds(record) == ["turn"] and record.events[0].time == pytest.approx(t0, abs=EXACT)
    assert record.v[-1, 0] == pytest.approx((F + Fk) / m * (1.0 - t0), abs=EXACT)


def test_a_force_between_kinetic_and_static_friction():
    """It moves what slides already, and not what is at rest."""
    assert run(1.3, 1.0, Body("finger", 0.4, static_friction=1.5, kinetic_friction=1.0)).x[-1, 0] == 0.0
    sliding = run(1.3, 1.0, Body("finger", 0.4, velocity=0.1, static_friction=1.5, kinetic_friction=1.0))
    assert sliding.v[-1, 0] == pytest.approx(0.1 + 0.3 / 0.4, abs=EXACT)


def test_stick_and_slip_alternate_under_a_wave():
    """As often as a brute-force integration of the same friction says, at the same times."""
    m, Fs, Fk = 0.5, 2.0, 1.5
    wave = function(lambda t: 2.5 * math.sin(4.0 * t))
    record = run(wave, 6.0, Body("finger", m, static_friction=Fs, kinetic_friction=Fk))
    x, v, h, found = 0.0, 0.0, 2e-5, []
    for k in range(round(6.0 / h)):
        F = 2.5 * math.sin(4.0 * (k + 0.5) * h)
        if v == 0.0:
            if abs(F) > Fs:
                v = h * (F - math.copysign(Fk, F)) / m
                found.append(("slip", k * h))
            continue
        new = v + h * (F - math.copysign(Fk, v)) / m
        if new * v <= 0.0:
            new = 0.0
            found.append(("stick", k * h))
        x, v = x + 0.5 * h * (v + new), new
    assert kinds(record) == [kind for kind, _ in found] and len(found) >= 10
    np.testing.assert_allclose([event.time for event in record.events], [time for _, time in found], atol=2e-3)
    assert record.x[-1, 0] == pytest.approx(x, abs=1e-3)


# -- pushing and letting go --------------------------------------------------------------------------


def test_contact_ends_where_its_force_would_become_negative():
    """F falls through −F_f m/m_o, where the object's friction brakes it just as F brakes the finger."""
    m, mo, Ff, k = 0.2, 0.5, 0.4, 2.0
    cup = Body("cup", mo, position=0.0, kinetic_friction=Ff)
    record = run(ramps([(0.0, 3.0), (10.0, 3.0 - 10.0 * k)]), 2.0, Body("finger", m), cup)
    release = record.events[0]
    assert release.kind == "release" and release.who == ("finger", "cup")
    assert release.time == pytest.approx((3.0 + Ff * m / mo) / k, abs=EXACT)
    inside = record.time < release.time - 1e-9
    assert (record.contact[inside, 0] > 0.0).all() and (record.contact[record.time > release.time, 0] == 0.0).all()
    assert (np.diff(record.x, axis=1) >= 0.0).all()


def test_a_finger_cannot_pull():
    record = run(-1.0, 1.0, Body("finger", 0.2), Body("cup", 0.5, position=0.0))
    np.testing.assert_array_equal(record.x[:, 1], 0.0)
    assert record.x[-1, 0] == pytest.approx(-0.5 / 0.2, abs=EXACT) and record.sensor.max() == 0.0
    assert [epoch.kind for epoch in record.epochs] == ["separate"]


def test_push_and_release():
    """Approach, impact, push, release, both slide to a stop by themselves; epochs tell it in this order."""
    cup = Body("cup", 0.3, position=0.1, width=0.05, mu_static=0.4, mu_kinetic=0.3)
    record = run(pulse(4.0, 0.5, 1.0), 6.0, Body("finger", 0.2, drag=0.4, kinetic_friction=0.1), cup)
    assert kinds(record)[:4] == ["slip", "contact", "release", "stick"]
    assert [epoch.kind for epoch in record.epochs][:4] == ["separate", "separate", "touching", "separate"]
    assert record.epochs[0].stuck == ("finger", "cup") and record.epochs[2].contacts == (("finger", "cup"),)
    for before, after in itertools.pairwise(record.epochs):
        assert before.end == after.start
    v = record.events[2].after[1]
    stop = next(event for event in record.events if event.kind == "stick" and event.who == ("cup",))
    assert stop.time - 1.0 == pytest.approx(v / (0.3 * 9.81), abs=EXACT)


def test_at_rest_the_friction_next_to_the_finger_bears_first():
    """F = 1.7 N on a finger held with 0.5 N: 1.2 N reach the first box, 0.2 N the second, nothing the third."""
    boxes = [Body(name, 1.0, position=0.0, static_friction=1.0) for name in ("a", "b", "c")]
    record = run(1.7, 1.0, Body("finger", 0.1, static_friction=0.5), *boxes)
    np.testing.assert_allclose(record.contact, np.tile([1.2, 0.2, 0.0], (len(record.time), 1)), atol=1e-12)
    np.testing.assert_array_equal(record.x, 0.0)


def test_a_chain_breaks_away_together_and_shares_the_force():
    """Σ F_s is the threshold of the chain; then each contact bears m a + F_k of everything behind it."""
    masses, hold, slide = [0.3, 0.2, 0.5], [0.4, 0.6, 0.5], [0.3, 0.6, 0.2]
    boxes = [
        Body(f"b{i}", m, position=0.0, static_friction=s, kinetic_friction=k)
        for i, (m, s, k) in enumerate(zip(masses, hold, slide, strict=True))
    ]
    finger = Body("finger", 0.1)
    np.testing.assert_array_equal(run(1.5, 1.0, finger, *boxes).x, 0.0)
    record = run(1.6, 1.0, finger, *boxes)
    a = (1.6 - sum(slide)) / (0.1 + sum(masses))
    np.testing.assert_allclose(record.x[-1], 0.5 * a, rtol=0.0, atol=EXACT)
    shares = [sum(masses[i:]) * a + sum(slide[i:]) for i in range(3)]
    np.testing.assert_allclose(record.contact[-1], shares, rtol=0.0, atol=EXACT)


def test_a_wall_holds_whatever_comes():
    record = run(ramps([(0.0, 0.0), (1.0, 50.0), (2.0, 0.0)]), 2.0, Body("finger", 0.1), walls=[0.0])
    np.testing.assert_array_equal(record.x, 0.0)
    assert record.sensor.max() == 50.0 and record.at(0.5).contact[0, 0] == pytest.approx(25.0, abs=EXACT)


def test_a_finger_between_two_walls():
    record = run(steps([(0.0, 1.0), (2.0, -1.0)]), 6.0, Body("finger", 0.2), walls=[-0.3, 0.5])
    assert kinds(record) == ["contact", "release", "contact"]
    assert record.events[0].time == pytest.approx(math.sqrt(2.0 * 0.5 * 0.2), abs=EXACT)
    assert record.events[2].time == pytest.approx(2.0 + math.sqrt(2.0 * 0.8 * 0.2), abs=EXACT)
    assert record.sensor[-1] == -1.0  # it pushes to the left


# -- profiles ----------------------------------------------------------------------------------------


def test_profiles_are_what_they_say():
    stairs, lines = steps([(1.0, 2.0), (3.0, -1.0)]), ramps([(1.0, 2.0), (3.0, -1.0), (3.0, 5.0), (4.0, 6.0)])
    assert [stairs(t) for t in (0.0, 0.999, 1.0, 2.9, 3.0, 9.0)] == [0.0, 0.0, 2.0, 2.0, -1.0, -1.0]
    assert [lines(t) for t in (0.0, 1.0, 2.0, 3.0, 3.5, 4.0, 9.0)] == [2.0, 2.0, 0.5, 5.0, 5.5, 6.0, 6.0]
    assert constant(3.0)(7.0) == 3.0


def test_a_function_with_a_jump_is_the_same_as_its_steps():
    """Its value at the breakpoint belongs to what comes after, whatever the integration asks for."""
    jump = function(lambda t: 2.0 if t < 0.7 else -1.5, breakpoints=[0.7])
    one, two = (run(force, 2.0, Body("finger", 0.3, drag=0.2)) for force in (jump, steps([(0.0, 2.0), (0.7, -1.5)])))
    np.testing.assert_allclose(one.x[-1], two.x[-1], rtol=0.0, atol=EXACT)


def test_a_smooth_force_is_integrated():
    """m v̇ = A cos ωt: x = A/(m ω²) (1 − cos ωt)."""
    A, w, m = 2.0, 7.0, 0.3
    record = run(lambda t: A * math.cos(w * t), 5.0, Body("finger", m))
    t = np.linspace(0.0, 5.0, 333)
    np.testing.assert_allclose(record.at(t).x[:, 0], A / (m * w * w) * (1.0 - np.cos(w * t)), rtol=0.0, atol=1e-8)
    assert isinstance(function(math.cos), Profile)
