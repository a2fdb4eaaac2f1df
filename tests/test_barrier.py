"""Collisions at torque level: pairs that brake in time with the motors there are, and what the barrier promises."""

from __future__ import annotations

import os

import numpy as np
import pytest
from plugins import model_of

import sot
from sot.collision import coal_door, definition
from sot.collision.robot import collision_model
from sot.collision.shape import Body, CollisionModel, ball, box
from sot.entry import Entry, Tick
from sot.errors import TaskError
from sot.kernels import distance as at
from sot.lie import SE3
from sot.robots import load
from sot.tasks import Collisions, JointLimits, Position, Posture, TorqueLimits

TICKS = int(os.environ.get("SOT_TICKS", "20000"))
MARGIN = 0.01
POST = [0.45, 0.25, 0.4]


class AsAtVelocityLevel(Collisions):
    """Rows on the velocity after the tick, which know nothing of braking."""

    def dynamic_rows(self, model, tick):
        return Entry.dynamic_rows(self, model, tick)


def step(controller, k, q, v, dt=1e-3):
    command = controller.step(sot.State(k * dt, q, v))
    return command.q, command.v, command.tau


def true_distance(model, pair, hulls):
    """coal's own, from the bodies and not from the smooth distance."""
    solids = [coal_door.Solid(hulls(name, model)) for name in pair.names]
    still = np.eye(3)[None], np.zeros((1, 3))
    return coal_door.Gauge(*solids)(*(solid.transforms(*still)[0] for solid in solids))


def test_random_targets_bring_nothing_too_close():
    """Panda, with three fifths of its torque, goes for targets in a post and in itself; coal looks at what is near."""
    robot = load("panda", lock=["panda_finger_joint*"])
    post = sot.Obstacle("post", box=[0.1, 0.1, 0.8], at=POST)
    collisions, hand = Collisions(margin=MARGIN, obstacles=[post]), Position(robot.hands[0], gain=12.0)
    hard = [JointLimits(), TorqueLimits(scale=0.6), collisions]
    stack = sot.Stack(hard, [hand, Posture(gain=1.0, weight=1e-2)])
    controller = sot.Controller(robot, stack, output="torque")
    model, rng = controller.model, np.random.default_rng(1)
    bodies = {body.name: body for body in collision_model(robot).bodies}
    solid = box([0.1, 0.1, 0.8]).moved(SE3(np.eye(3), np.array(POST)))
    home = model.placement(model.frame(robot.hands[0])).translation.copy()
    q, v = robot.home.copy(), np.zeros(model.nv)
    nearest, speeds, velocities, ratio = [], [], [], 0.0
    for k in range(TICKS):
        if k % 500 == 0:
            where, spread = ((home, 0.3), (POST, 0.05), ([0.0, 0.0, 0.35], 0.1))[rng.integers(3)]
            hand.reference = np.asarray(where) + spread * rng.normal(size=3)
        q, v, tau = step(controller, k, q, v)
        velocities.append(v)
        ratio = max(ratio, float((np.abs(tau) / robot.pin_model.effortLimit).max()))
        speeds.append(np.linalg.norm(model.velocity(model.frame(robot.hands[0]))[:3]))
        distance = float(collisions._survey.measure(model, 0.05).min(initial=0.05))
        if distance < MARGIN + 0.003 and k % 25 == 0:
            pair = collisions.nearest(model, 1)[0]
            true = true_distance(
                model, pair, lambda n, m: bodies[n].hull.moved(m.data.oMi[bodies[n].joint]) if n in bodies else solid
            )
            assert true >= MARGIN - 1e-3 and abs(true - pair.distance) < 1e-5
        nearest.append(distance)
    nearest = np.array(nearest)
    assert nearest.min() >= MARGIN - 1e-3  # measured: 11.3 mm
    assert (nearest < MARGIN + 0.005).mean() > 0.05 and max(speeds) > 1.0 and ratio > 0.59, "the test says nothing"
    steps = np.diff(velocities, axis=0)
    back = np.where(steps[1:] * steps[:-1] < 0.0, np.minimum(abs(steps[1:]), abs(steps[:-1])), 0.0).max(axis=1)
    assert np.quantile(back, 0.999) <= 0.02  # rad/s forth and back within two ticks; measured: 0.01
    assert controller.counters.infeasible <= TICKS // 1000 and controller.counters.capped <= TICKS // 1000


def thrown(kind, gap=0.5, speed=1.2, scale=0.12, dt=1e-3, seconds=1.0, **options):
    """Panda's tip comes towards a wall at a speed, with weak motors; the true distance and the demand of each tick."""
    robot = load("panda", lock=["panda_finger_joint*"])
    model = sot.Model(robot)
    tip = model.placement(model.frame("panda_hand_tcp")).translation.copy()
    tool = CollisionModel((Body("tip", model.joint("panda_joint7").index, ball(0.05, [0, 0, 0.2])),), ())
    J = model.jacobian(model.frame("panda_hand_tcp"), "aligned")[:3]
    v = np.linalg.pinv(J) @ [0.0, speed, 0.0]
    wall = sot.Obstacle("wall", plane=[0.0, -1.0, 0.0], at=tip + np.array([0.0, gap, 0.0]))
    collisions = kind(margin=MARGIN, obstacles=[wall], model=tool, **options)
    hand = Position("panda_hand_tcp", gain=3.0, reference=tip + np.array([0.0, gap + 0.3, 0.0]))
    hard = [JointLimits(), TorqueLimits(scale=scale), collisions]
    stack = sot.Stack(hard, [hand, Posture(gain=2.0, weight=1e-2)])
    controller = sot.Controller(robot, stack, output="torque", dt=dt)
    q, distances = robot.home.copy(), []
    for k in range(round(seconds / dt)):
        q, v, _ = step(controller, k, q, v, dt)
        distances.append(float(collisions._survey.measure(controller.model).min()))
    return np.array(distances), controller


def test_weak_motors_brake_in_time():
    """With motors that have just enough left for it, the barrier keeps the margin; rows on the velocity do not."""
    weak = {"scale": 0.25, "gap": 0.3, "speed": 1.4, "seconds": 0.6}
    distances, controller = thrown(Collisions, **weak)
    assert distances.min() >= MARGIN - 1e-3 and controller.counters.infeasible == 0
    distances, controller = thrown(AsAtVelocityLevel, influence=0.03, rate=100.0, **weak)
    assert distances.min() < MARGIN - 1e-3 and controller.counters.infeasible > 0


def test_two_rates_give_the_same_motion():
    slow, fast = (thrown(Collisions, dt=dt, scale=1.0, speed=0.5)[0][:: round(5e-3 / dt)] for dt in (5e-3, 1e-3))
    assert np.abs(slow - fast).max() <= 2e-3 and slow.min() >= MARGIN - 1e-3
    assert slow[-1] <= MARGIN + 5e-3  # it got there


# -- the law -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dt", [1e-3, 5e-3, 2e-2])
@pytest.mark.parametrize("rate", [5.0, 20.0, 200.0])
def test_the_margin_is_kept_with_no_more_than_the_deceleration(dt, rate):
    """In one dimension, δ⁺ = δ − dt u⁺, with any speed that is allowed: never below, never asked for more than a."""
    rng, a = np.random.default_rng(0), 5.0
    for _ in range(30):
        distance, speed = rng.uniform(0.0, 0.5), 0.0
        for _ in range(200):
            ahead = distance - dt * speed
            most = definition.most_change(ahead, speed, dt, a, rate, 0.1)
            assert most >= -a * (1.0 + 1e-9) - 1e-9
            wish = most if rng.random() < 0.8 else most - rng.exponential(3.0)
            speed += dt * wish
            distance -= dt * speed
            assert distance >= -1e-12


def test_who_was_pushed_brakes_with_little_more():
    """Beyond the curve: 2a and what it takes to stop in time; back from inside 2a, up to the recovery speed."""
    assert definition.most_change(0.05, 3.0, 1e-3, 5.0, 20.0, 0.1) == pytest.approx(-10.0 - 0.5 * 9.0 / 0.053)
    assert definition.most_change(-0.05, 0.2, 1e-3, 5.0, 20.0, 0.1) == pytest.approx(-210.0)
    assert definition.most_change(-0.05, 0.0, 1e-3, 5.0, 20.0, 0.1) == pytest.approx(-10.0)
    assert definition.most_change(-0.05, -0.1, 1e-3, 5.0, 20.0, 0.1) == pytest.approx(0.0, abs=1e-9)


def test_the_braking_way():
    """Against the law itself, at a tick so short that it does not matter."""
    dt, speed, distance = 1e-4, 1.5, definition.braking_way(1.5, 5.0, 20.0)
    for _ in range(20000):
        speed += dt * definition.most_change(distance - dt * speed, speed, dt, 5.0, 20.0, 0.1)
        distance -= dt * speed
    assert -1e-9 <= distance <= 1e-3
    assert definition.braking_way(1.5, 5.0, np.inf) == pytest.approx(1.5**2 / 10.0)


# -- rows --------------------------------------------------------------------------------------------------------


def at_random_states(collisions, name="panda", count=20, seed=0, speed=1.0):
    model, rng = model_of(name), np.random.default_rng(seed)
    collisions.setup(model)
    for _ in range(count):
        v = rng.normal(size=model.nv)
        model.update(model.random_configuration(rng, 0.6), speed * v / np.linalg.norm(v))
        tick = Tick(0.0, 1e-3, model.v)
        collisions.begin(model, tick)
        yield model, tick, collisions.dynamic_rows(model, tick), rng


def test_the_distance_after_the_tick_is_foreseen():
    """d(q ⊕ dt (v + dt v̇)) = δ + dt² A v̇ to 1e-8 m, which a gradient at the start of the tick misses by far."""
    tip, elbow = (model_of("panda").joint(f"panda_joint{i}").index for i in (7, 4))
    bodies = Body("tip", tip, ball(0.05, [0.0, 0.0, 0.2])), Body("elbow", elbow, ball(0.08))
    thing = sot.Obstacle("thing", ball=0.1, at=POST, velocity=[0.3, -0.2, 0.1])
    collisions = Collisions(obstacles=[thing], model=CollisionModel(bodies, ((0, 1),)), influence=3.0)
    dt, errors, plain = 1e-3, [], []
    for model, tick, rows, rng in at_random_states(collisions, count=30, speed=4.0):
        watch, (q, v) = collisions._barrier.watch, (model.q, model.v)
        ahead, A, slots = watch.distances.copy(), rows.A[:: at.CORNERS].copy(), watch.slots.copy()
        first = collisions.rows(model, tick)
        start, gradient = collisions._watch.distances.copy(), first.A[:: at.CORNERS].copy()
        assert np.array_equal(collisions._watch.slots, slots)
        change = 20.0 * rng.normal(size=model.nv)
        model.update(model.integrate(q, dt * (v + dt * change)), v)
        collisions._place(tick.time + dt, dt)
        collisions._watch.update(model, dt)
        for slot, pair in enumerate(slots):
            after = collisions._watch.distances[pair]
            errors.append(abs(after - (ahead[pair] + dt * dt * A[slot] @ change)))
            plain.append(abs(after - (start[pair] + dt * gradient[slot] @ (v + dt * change))))
        collisions.reset()
    assert len(errors) == 90 and np.max(errors) < 2e-8 < 1e-6 < np.median(plain)


def bounds_of(collisions):
    """Bounds by pair, for those apart from each other: what overlaps may be seen from two sides."""
    watch, lower = collisions._barrier.watch, collisions._barrier.lower.reshape(-1, at.CORNERS)
    return {int(p): np.sort(lower[s]) for s, p in enumerate(watch.slots) if p >= 0 and watch.distances[p] > 0.0}


def test_compiled_and_plain_agree():
    class Uncompiled:
        compiled = False

        def lose(self, entry):
            pass

    for pairs in (100, 6):  # with few, more pairs are near than can have rows: the end of the zone counts
        fast, slow, owner = Collisions(pairs=pairs), Collisions(pairs=pairs), Uncompiled()
        slow.work_for(owner)
        slow.setup(model_of("g1"))
        compared = 0
        for model, tick, _, _ in at_random_states(fast, "g1", count=3, speed=3.0):
            for collisions in (fast, slow):  # which corner is which depends on the ticks before
                collisions.reset()
                collisions.begin(model, tick)
                collisions.dynamic_rows(model, tick)
            assert type(slow._barrier.watch) is not type(fast._barrier.watch)
            ours, theirs = bounds_of(fast), bounds_of(slow)
            for pair in ours.keys() & theirs.keys():
                finite = np.isfinite(theirs[pair])
                np.testing.assert_array_equal(np.isfinite(ours[pair]), finite)
                np.testing.assert_allclose(ours[pair][finite], theirs[pair][finite], rtol=1e-6, atol=1e-4)
                compared += int(finite.sum())
        assert compared >= 6


def test_a_pair_that_comes_near_changes_nothing():
    """Just inside and just outside of the zone in which it has rows, which grows with speed: the same command."""
    robot = load("panda", lock=["panda_finger_joint*"])
    model = sot.Model(robot)
    tip = model.placement(model.frame("panda_hand_tcp")).translation.copy()
    J = model.jacobian(model.frame("panda_hand_tcp"), "aligned")[:3]
    tool = CollisionModel((Body("tip", model.joint("panda_joint7").index, ball(0.05, [0, 0, 0.2])),), ())

    def command(gap, speed=1.0):
        wall = sot.Obstacle("wall", plane=[0.0, -1.0, 0.0], at=tip + np.array([0.0, gap, 0.0]))
        hand = Position("panda_hand_tcp", gain=3.0, reference=tip + np.array([0.0, 0.5, 0.0]))
        collisions = Collisions(obstacles=[wall], model=tool)
        controller = sot.Controller(robot, sot.Stack([collisions], [hand], [Posture()]), output="torque")
        tau = controller.step(sot.State(0.0, robot.home, np.linalg.pinv(J) @ [0.0, speed, 0.0])).tau
        return tau, collisions._barrier

    _, barrier = command(0.1)
    edge = 0.1 + float(barrier.watch.reaches[0] - barrier.watch.distances[0])
    far, _ = command(2.0)
    for gap, near in ((edge - 1e-4, True), (edge + 1e-4, False)):
        tau, barrier = command(gap)
        assert np.isfinite(barrier.lower).any() == near
        np.testing.assert_allclose(tau, far, atol=1e-9)
    assert np.abs(command(0.5 * edge)[0] - far).max() > 1.0  # N·m: it does act further in
    reaches = [float(command(2.0, speed)[1].watch.reaches[0]) for speed in (0.0, 1.0, 2.0)]
    assert reaches[0] == 0.1 < reaches[1] < reaches[2] and reaches[2] >= 1.3 * definition.braking_way(2.0, 5.0, 20.0)


@pytest.mark.parametrize("velocity", [0.0, 0.3])
def test_it_makes_way_for_what_is_known_to_move(velocity):
    """A ball comes at the hand; with its velocity known the margin is kept."""
    robot = load("panda", lock=["panda_finger_joint*"])
    model = sot.Model(robot)
    tip = model.placement(model.frame("panda_hand_tcp")).translation.copy()
    ball_ = sot.Obstacle("ball", ball=0.05, at=tip + np.array([0.35, 0.0, 0.05]), velocity=[-velocity, 0.0, 0.0])
    collisions = Collisions(margin=MARGIN, obstacles=[ball_])
    stack = sot.Stack([JointLimits(), TorqueLimits(), collisions], [Position("panda_hand_tcp", gain=5.0)], [Posture()])
    controller = sot.Controller(robot, stack, output="torque")
    q, v, nearest = robot.home.copy(), np.zeros(7), np.inf
    for k in range(1500):
        q, v, _ = step(controller, k, q, v)
        nearest = min(nearest, float(collisions._survey.measure(controller.model).min()))
    assert nearest >= MARGIN - 1e-3 and controller.counters.infeasible == 0
    assert (nearest < 0.02) == (velocity > 0.0)


def test_bodies_that_overlap_come_apart_slowly():
    robot = load("panda", lock=["panda_finger_joint*"])
    model = sot.Model(robot)
    tip = model.placement(model.frame("panda_hand_tcp")).translation.copy()
    thing = sot.Obstacle("thing", ball=0.15, at=tip + np.array([0.03, 0.02, -0.05]))
    collisions = Collisions(margin=MARGIN, obstacles=[thing], self_collision=False, only=["panda_hand"], recovery=0.2)
    stack = sot.Stack([JointLimits(), TorqueLimits(), collisions], [Position("panda_hand_tcp")], [Posture()])
    controller = sot.Controller(robot, stack, output="torque")
    q, v, distances = robot.home.copy(), np.zeros(7), []
    for k in range(3000):
        q, v, _ = step(controller, k, q, v)
        distances.append(float(collisions._survey.measure(controller.model).min()))
    assert distances[0] < -0.05 and distances[-1] >= MARGIN - 1e-4
    assert np.diff(distances).max() <= 0.25e-3 and controller.counters.infeasible == 0


def test_what_it_tells_at_torque_level():
    """Rows are named after pairs, facts count the pairs at their bound, and a bad state is refused."""
    distances, controller = thrown(Collisions, scale=1.0, speed=0.5)
    text = str(controller.explain())
    assert "tip – wall" in text and "pairs at their bound" in text
    collisions = controller.stack["collisions"]
    facts = collisions.facts(controller.model, Tick(1.0, 1e-3, controller.model.v), controller.model.v)
    assert facts["distance in m"] == pytest.approx(distances[-1], abs=1e-4) and facts["pairs within influence"] == 1.0
    with pytest.raises(sot.errors.RobotError):
        controller.step(sot.State(2.0, np.full(7, np.nan), np.zeros(7)))


@pytest.mark.parametrize("wrong", [{"deceleration": 0.0}, {"deceleration": np.nan}, {"deceleration": "fast"}])
def test_what_is_wrong_is_said(wrong):
    with pytest.raises(TaskError, match=next(iter(wrong))):
        Collisions(**wrong)
