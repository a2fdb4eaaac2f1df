"""Joint limits: what can still be braked is allowed, nothing else, at every tick."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from plugins import ROBOTS, model_of

from sot.entry import Tick
from sot.tasks import JointAccelerationLimits, JointLimits, JointPositionLimits, JointVelocityLimits
from sot.viability import ACCELERATION, NONE, POSITION, VELOCITY, JointBox, approach, bounds, explain_bounds

DT = 5e-3


def random_box(rng: np.random.Generator, n: int) -> JointBox:
    """Joints of all sorts: short and long ranges, slow and fast, soft and hard brakes."""
    rate = 10.0 ** rng.uniform(0.0, 3.0, n)
    rate[: n // 10] = np.inf
    return JointBox(
        q_index=np.arange(n),
        q_lower=-rng.uniform(0.01, 3.0, n),
        q_upper=rng.uniform(0.01, 3.0, n),
        v_max=rng.choice([0.3, 3.0, 30.0, np.inf], n),
        a_max=10.0 ** rng.uniform(-1.0, 3.0, n),
        rate=rate,
    )


def one(q_upper=1.0, v_max=np.inf, a_max=np.inf, rate=25.0, q_lower=-1.0) -> JointBox:
    """A single joint."""
    values = (q_lower, q_upper, v_max, a_max, rate)
    return JointBox(np.array([0]), *(np.array([value]) for value in values))


def worst_violations(box: JointBox, ticks: int, dt: float, rng, law=explain_bounds) -> dict[str, float]:
    """Push to either bound, or anywhere between, for a random time each; the largest excess of each kind."""
    q, v = np.zeros(box.size), np.zeros(box.size)
    worst = {"position": -np.inf, "velocity": -np.inf, "acceleration": -np.inf, "repaired": 0.0}
    mode = rng.integers(0, 3, box.size)
    for _ in range(ticks):
        mode = np.where(rng.uniform(size=box.size) < 0.005, rng.integers(0, 3, box.size), mode)
        range_ = law(box, q, v, dt)
        between = range_.lower + rng.uniform(size=box.size) * (range_.upper - range_.lower)
        asked = np.choose(mode, [range_.upper, range_.lower, between])
        worst["velocity"] = max(worst["velocity"], float((np.abs(asked) - box.v_max).max()))
        worst["acceleration"] = max(worst["acceleration"], float((np.abs(asked - v) - box.a_max * dt).max()))
        worst["repaired"] += float(range_.repaired.sum())
        q, v = q + dt * asked, asked
        worst["position"] = max(worst["position"], float(np.maximum(q - box.q_upper, box.q_lower - q).max()))
    return worst


@pytest.mark.parametrize("dt", [1e-3, 5e-3, 0.02])
def test_limits_are_never_exceeded(dt) -> None:
    """600 000 ticks of joints that push against their bounds: nothing is broken, nothing had to be repaired."""
    rng = np.random.default_rng(0)
    worst = worst_violations(random_box(rng, 200), 3000, dt, rng)
    assert worst["position"] <= 1e-12 and worst["velocity"] <= 1e-12 and worst["acceleration"] <= 1e-12
    assert worst["repaired"] == 0.0
    assert worst["position"] >= -1e-3  # joints did get to their limits: the bounds are not just timid


def naive(box: JointBox, q: np.ndarray, previous: np.ndarray, dt: float):
    """The textbook's v ≤ √(2 a d), cut by what can be reached in a tick."""
    up = np.minimum(box.v_max, np.sqrt(2.0 * box.a_max * np.maximum(box.q_upper - q, 0.0)))
    down = np.minimum(box.v_max, np.sqrt(2.0 * box.a_max * np.maximum(q - box.q_lower, 0.0)))
    free = explain_bounds(replace(box, q_index=np.full(box.size, -1)), q, previous, dt)
    upper = np.maximum(np.minimum(free.upper, up), free.lower)
    return replace(free, lower=np.minimum(np.maximum(free.lower, -down), upper), upper=upper)


def test_the_textbook_law_overshoots() -> None:
    """The same test sees the law that is right only for dt → 0 fail."""
    rng = np.random.default_rng(0)
    assert worst_violations(random_box(rng, 200), 1000, DT, rng, naive)["position"] > 1e-4


def can_be_braked(d: np.ndarray, a: np.ndarray, k: np.ndarray, v: np.ndarray, dt: float) -> np.ndarray:
    """True where braking at full strength from now on keeps v ≤ k d at every tick, simulated tick by tick."""
    good, v = np.ones(d.size, dtype=bool), v.copy()
    for _ in range(int(np.ceil((v / (a * dt)).max())) + 1):
        good &= v <= k * d
        d, v = d - dt * v, np.maximum(v - a * dt, 0.0)
    return good


@pytest.mark.parametrize("rate", [1.0, 25.0, 150.0, np.inf])
def test_the_bound_is_as_large_as_it_can_be(rate) -> None:
    """The closed form equals the largest velocity that a simulated brake can cope with, found by bisection."""
    rng = np.random.default_rng(1)
    d, a = rng.uniform(1e-4, 1.0, 100), 10.0 ** rng.uniform(0.0, 2.0, 100)
    k = np.full(100, -np.expm1(-rate * DT) / DT)
    low, high = np.zeros(100), k * d
    for _ in range(45):
        middle = 0.5 * (low + high)
        good = can_be_braked(d, a, k, middle, DT)
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    assert np.abs(approach(d, a, np.full(100, rate), DT) - low).max() <= 1e-9 * k.max()


def test_without_a_brake_limit_the_distance_decays_at_the_damper_rate() -> None:
    box, q, v = one(rate=25.0), np.array([0.2]), np.zeros(1)
    for _ in range(20):
        v = bounds(box, q, v, DT)[1]
        q = q + DT * v
    assert abs((1.0 - q[0]) - 0.8 * np.exp(-25.0 * 20 * DT)) <= 1e-12


def test_an_infinite_damper_uses_the_whole_distance_in_one_tick() -> None:
    upper = bounds(one(rate=np.inf), np.array([0.99]), np.zeros(1), DT)[1]
    assert abs(0.99 + DT * upper[0] - 1.0) <= 1e-15


def test_the_same_approach_at_every_rate_of_control() -> None:
    """200 Hz, 1 kHz and 4 kHz brake alike."""
    positions = []
    for dt in (5e-3, 1e-3, 2.5e-4):
        box, q, v = one(v_max=2.0, a_max=10.0), np.array([0.0]), np.zeros(1)
        for _ in range(round(0.6 / dt)):
            v = bounds(box, q, v, dt)[1]
            q = q + dt * v
        positions.append(q[0])
    assert np.ptp(positions) <= 0.01


# -- which limit, and what happens where they contradict each other ----------------------------------------


@pytest.mark.parametrize(
    ("box", "q", "previous", "upper", "kind"),
    [
        (one(q_upper=np.inf, q_lower=-np.inf), 0.0, 0.0, np.inf, NONE),
        (one(v_max=2.0), 0.0, 0.0, 2.0, VELOCITY),
        (one(v_max=2.0, rate=np.inf), 0.995, 0.0, 1.0, POSITION),
        (one(v_max=2.0, a_max=10.0), 0.0, 1.0, 1.05, ACCELERATION),
        (one(v_max=2.0, rate=np.inf), 1.005, 0.0, -1.0, POSITION),
        (one(v_max=0.5, rate=np.inf), 1.005, 0.0, -0.5, POSITION),
    ],
)
def test_the_tightest_limit_is_named(box, q, previous, upper, kind) -> None:
    result = explain_bounds(box, np.array([q]), np.array([previous]), DT)
    assert result.upper[0] == pytest.approx(upper, abs=1e-12) and result.upper_kind[0] == kind
    assert not result.repaired[0]
    mirrored = replace(box, q_lower=-box.q_upper, q_upper=-box.q_lower)
    other = explain_bounds(mirrored, np.array([-q]), np.array([-previous]), DT)
    assert other.lower[0] == pytest.approx(-upper, abs=1e-12) and other.lower_kind[0] == kind


def test_acceleration_wins_over_position() -> None:
    """Too fast to stop: brake as hard as possible, and say so."""
    result = explain_bounds(one(a_max=10.0), np.array([0.999]), np.array([3.0]), DT)
    assert result.lower[0] == result.upper[0] == pytest.approx(3.0 - 10.0 * DT)
    assert result.repaired[0] and result.lower_kind[0] == ACCELERATION and result.upper_kind[0] == POSITION


def test_limits_without_room_between_them_meet_in_the_middle() -> None:
    result = explain_bounds(one(q_lower=0.2, q_upper=0.0), np.array([0.1]), np.zeros(1), DT)
    assert result.lower[0] == result.upper[0] == pytest.approx(0.0, abs=1e-12) and result.repaired[0]


@pytest.mark.parametrize("a_max", [np.inf, 20.0])
def test_a_joint_outside_its_limits_comes_back(a_max) -> None:
    """At a bounded speed, and without passing the limit a second time."""
    box, q, v, fastest = one(v_max=0.5, a_max=a_max), np.array([1.3]), np.zeros(1), 0.0
    for _ in range(1000):
        lower, upper = bounds(box, q, v, DT)
        assert lower <= upper
        v, last = upper, v
        assert a_max == np.inf or abs(v - last) <= a_max * DT + 1e-12
        q, fastest = q + DT * v, max(fastest, abs(float(v[0])))
    assert q[0] <= 1.0 + 1e-6 and fastest <= 0.5 + 1e-12


# -- the constraints ---------------------------------------------------------------------------------------


def tick(model, previous=None, dt: float = DT) -> Tick:
    return Tick(0.0, dt, np.zeros(model.nv) if previous is None else previous)


@pytest.mark.parametrize("robot", ROBOTS)
def test_a_robot_keeps_all_its_limits(robot) -> None:
    """A robot that is pushed about at random, and integrated on its manifold."""
    model, rng = model_of(robot), np.random.default_rng(2)
    constraint = JointLimits(acceleration=20.0)
    constraint.setup(model)
    q, v = model.robot.home, np.zeros(model.nv)
    low, high = model.pin.lowerPositionLimit, model.pin.upperPositionLimit
    push = np.sign(rng.normal(size=model.nv))
    for i in range(400):
        if i % 100 == 99:
            push = np.sign(rng.normal(size=model.nv))
        model.update(q, v)
        lower, upper = constraint.box(model, tick(model, v))
        v = np.where(push > 0.0, np.minimum(upper, 5.0), np.maximum(lower, -5.0))
        q = model.integrate(q, DT * v)
        scalar = [j.q.start for j in model.joints.values() if j.is_scalar]
        assert (q[scalar] <= high[scalar] + 1e-12).all() and (q[scalar] >= low[scalar] - 1e-12).all()
        assert (np.abs(v) <= model.pin.velocityLimit + 1e-12).all()


def test_joint_limits_intersect_the_single_ones() -> None:
    model = model_of("talos")
    rng = np.random.default_rng(3)
    model.update(model.random_configuration(rng, 2.0), np.zeros(model.nv))
    single = [JointPositionLimits(margin=0.01), JointVelocityLimits(scale=0.5)]
    whole = JointLimits(margin=0.01, scale=0.5)
    for constraint in (*single, whole):
        constraint.setup(model)
    boxes = [constraint.box(model, tick(model)) for constraint in single]
    lower, upper = whole.box(model, tick(model))
    assert np.allclose(lower, np.maximum(boxes[0][0], boxes[1][0]), atol=1e-12)
    assert np.allclose(upper, np.minimum(boxes[0][1], boxes[1][1]), atol=1e-12)
    assert np.isinf(lower[:6]).all() and np.isfinite(upper[6:]).all()


def test_explanations_name_the_joint_and_the_limit() -> None:
    model = model_of("panda")
    constraint = JointLimits()
    constraint.setup(model)
    q = model.robot.home.copy()
    q[3] = model.pin.upperPositionLimit[3] - 1e-3
    model.update(q, np.zeros(model.nv))
    result = constraint.explain(model, tick(model))
    assert constraint.labels(model.nv)[3] == "panda_joint4" and result.upper_kind[3] == POSITION
    assert result.lower_kind[3] == VELOCITY


def test_named_joints_and_lists_of_limits() -> None:
    model = model_of("tiago")
    base = next(iter(model.joints))
    slow = JointVelocityLimits(limit=[0.5, 0.1, 0.8], joints=base)
    slow.setup(model)
    lower, upper = slow.box(model, tick(model))
    assert upper[:3].tolist() == [0.5, 0.1, 0.8] and np.isinf(upper[3:]).all() and (lower == -upper).all()
    soft = JointAccelerationLimits(limit=2.0)
    soft.setup(model)
    before = np.linspace(-1.0, 1.0, model.nv)
    lower, upper = soft.box(model, tick(model, before))
    assert np.isinf(upper[:3]).all() and np.allclose(upper[3:] - before[3:], 2.0 * DT, atol=1e-15)


@pytest.mark.parametrize(
    ("given", "limit"), [(0.0, 0.0), (1.5, 1.5), (np.nan, np.inf), (np.inf, np.inf), (1.79e308, np.inf)]
)
def test_a_velocity_limit_that_was_not_given_is_none(given, limit) -> None:
    """A zero is kept: where a file means "not given" by it, loading has made it infinite."""
    model = model_of("ur5")
    saved = model.pin.velocityLimit.copy()
    changed = saved.copy()
    changed[2] = given
    model.pin.upperVelocityLimit = changed
    try:
        box = JointVelocityLimits().joint_box(model)
    finally:
        model.pin.upperVelocityLimit = saved
    assert box.v_max[2] == limit and np.array_equal(box.v_max[:2], saved[:2])


def test_a_differential_drive_does_not_slide_sideways() -> None:
    model = model_of("tiago")
    limits = JointLimits()
    limits.setup(model)
    lower, upper = limits.box(model, tick(model))
    assert lower[1] == upper[1] == 0.0 and upper[0] > 0.0 and upper[2] > 0.0
