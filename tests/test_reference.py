"""References: their derivatives against an independent oracle on every space, their ends, and what they refuse."""

from __future__ import annotations

import dataclasses
import math
import typing

import numpy as np
import pytest

import sot.reference as ref
from sot.errors import TaskError
from sot.feature import Feature
from sot.lie import SE3, as_pose, as_rotation, exp3, exp6_vector, log3, log6_vector

START = 3.0  # s: nothing may depend on the clock being zero


class Flat(Feature):
    """A point in R³."""

    dim = 3
    value = jacobian = None  # no robot here

    def twist(self, before, here, after):
        """Velocity per unit of time from values one unit before and after, without logarithms: an oracle."""
        return 0.5 * (after - before)


class Rotation(Flat):
    """SO(3), angular velocity in the turned frame: Rᵀ Ṙ."""

    def difference(self, value, reference):
        return log3(reference.T @ value)

    def integrate(self, value, step):
        return value @ exp3(step)

    def as_value(self, target, where):
        return as_rotation(target, where)

    def twist(self, before, here, after):
        return vee(here.T @ (after - before) / 2)


class WorldRotation(Rotation):
    """SO(3), angular velocity in the fixed frame: Ṙ Rᵀ."""

    def difference(self, value, reference):
        return log3(value @ reference.T)

    def integrate(self, value, step):
        return exp3(step) @ value

    def twist(self, before, here, after):
        return vee((after - before) @ here.T / 2)


class Pose(Flat):
    """SE(3), twist in the moving frame."""

    dim = 6

    def difference(self, value, reference):
        return log6_vector(reference.actInv(value))

    def integrate(self, value, step):
        return value * exp6_vector(step)

    def as_value(self, target, where):
        return as_pose(target, where)

    def twist(self, before, here, after):
        R = here.rotation
        linear = R.T @ (after.translation - before.translation) / 2
        return np.r_[linear, vee(R.T @ (after.rotation - before.rotation) / 2)]


class AlignedPose(Pose):
    """Position and orientation side by side, both in the axes of the world."""

    def difference(self, value, reference):
        turn = log3(value.rotation @ reference.rotation.T)
        return np.r_[value.translation - reference.translation, turn]

    def integrate(self, value, step):
        return SE3(exp3(step[3:]) @ value.rotation, value.translation + step[:3])

    def twist(self, before, here, after):
        linear = (after.translation - before.translation) / 2
        return np.r_[linear, vee((after.rotation - before.rotation) @ here.rotation.T / 2)]


RNG = np.random.default_rng()


@pytest.fixture(autouse=True)
def seed():
    """The same values in every test, whatever ran before."""
    global RNG
    RNG = np.random.default_rng(7)


def vee(M):
    return np.array([M[2, 1] - M[1, 2], M[0, 2] - M[2, 0], M[1, 0] - M[0, 1]]) / 2


SPACES = [Flat(), Rotation(), WorldRotation(), Pose(), AlignedPose()]
POSES = [Pose(), AlignedPose()]
by_space = pytest.mark.parametrize("space", SPACES, ids=lambda s: type(s).__name__)
by_rotation = pytest.mark.parametrize("space", SPACES[1:], ids=lambda s: type(s).__name__)
by_pose = pytest.mark.parametrize("space", POSES, ids=lambda s: type(s).__name__)


def some(space, scale=0.8):
    """A random value; rotations by less than a turn's third from the identity."""
    step = RNG.uniform(-scale, scale, space.dim)
    origin = {3: np.zeros(3) if type(space) is Flat else np.eye(3), 6: SE3.Identity()}[space.dim]
    return space.integrate(origin, step)


def same(a, b, tolerance=1e-9):
    a, b = (getattr(x, "homogeneous", x) for x in (a, b))
    return np.abs(np.asarray(a) - np.asarray(b)).max() <= tolerance


def step(space):
    return np.linspace(0.3, -0.5, space.dim)


def smooth(space):
    """A curve through no geodesic: s0 ⊕ a sin t ⊕ b t²/9."""
    origin, a, b = some(space), step(space), np.linspace(-0.2, 0.4, space.dim)
    return lambda t: space.integrate(space.integrate(origin, math.sin(t) * a), t * t / 9 * b)


def leader(space):
    """A source that gives its exact velocity: it turns steadily about one axis."""
    origin, speed = some(space), 0.5 * step(space)
    return lambda time: (space.integrate(origin, time * speed), speed)


MAKERS = {
    "move to": lambda s: ref.move(to=some(s), duration=2.0, delay=0.3),
    "move by": lambda s: ref.move(by=step(s), duration=1.5),
    "trapezoid": lambda s: ref.trapezoid(to=some(s), velocity=0.7, acceleration=1.5),
    "triangle": lambda s: ref.trapezoid(by=step(s), velocity=9.0, acceleration=1.0, delay=0.2),
    "waypoints": lambda s: ref.waypoints([some(s), some(s), some(s)], [0.5, 1.0, 0.7]),
    "sine": lambda s: ref.sine(step(s), 0.4, phase=0.3),
    "sine fading in": lambda s: ref.sine(step(s), 0.8, fade=1.1, around=some(s)),
    "spline": lambda s: ref.spline([some(s), some(s), some(s)], [0.6, 1.3, 2.1]),
    "function": lambda s: ref.function(smooth(s)),
    "follow": lambda s: ref.follow(leader(s)),
    "follow at an offset": lambda s: ref.follow(leader(s), keep_offset=True),
}


def check_derivatives(space, trajectory, times, tolerance):
    """Velocity against matrices, acceleration against the velocity; both by differences of fourth order."""
    h = 2e-4

    def around(time, d):
        before, here, after = (trajectory.at(x) for x in (time - d, time, time + d))
        return space.twist(before.value, here.value, after.value), (after.velocity - before.velocity) / 2

    for time in times:
        target = trajectory.at(time)
        near, far = around(time, h), around(time, 2 * h)
        velocity, acceleration = ((8 * a - b) / (6 * h) for a, b in zip(near, far, strict=True))
        np.testing.assert_allclose(target.velocity, velocity, atol=tolerance, rtol=tolerance)
        np.testing.assert_allclose(target.acceleration, acceleration, atol=tolerance, rtol=tolerance)
        assert np.abs(target.velocity).max() > 1e-4  # a target at rest would prove nothing


@by_space
@pytest.mark.parametrize("kind", MAKERS)
def test_derivatives(space, kind):
    trajectory = MAKERS[kind](space).start(space, some(space), START)
    end = min(trajectory.end, START + 2.0)
    times = np.linspace(START, end, 9)[1:-1] + 0.003  # off the knots, where the acceleration jumps
    check_derivatives(space, trajectory, times[times > START + 0.35], 5e-6)


@pytest.mark.parametrize("space", [Flat(), *POSES], ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("fade", [0.0, 1.0])
def test_circle(space, fade):
    origin = some(space)
    normal = np.array([1.0, 2.0, -0.5])
    trajectory = ref.circle(0.1, -2.0, normal=normal, fade=fade).start(space, origin, START)
    check_derivatives(space, trajectory, START + np.linspace(0.05, 3.0, 9), 5e-6)

    assert same(trajectory.at(START).value, origin)
    one_turn = math.pi  # s at 2 rad/s
    points = [trajectory.at(START + 1 + x * one_turn).value for x in np.linspace(0, 1, 9)]
    steps = np.array([space.difference(point, origin)[:3] for point in points])
    centre = steps[:-1].mean(axis=0)
    np.testing.assert_allclose(np.linalg.norm(steps - centre, axis=1), 0.1, rtol=1e-9)
    np.testing.assert_allclose((steps - centre) @ normal, 0.0, atol=1e-12)
    np.testing.assert_allclose(steps[0], steps[-1], atol=1e-12)
    assert np.cross(steps[0] - centre, steps[1] - centre) @ normal < 0  # negative speed turns backwards
    assert all(np.abs(space.difference(point, origin)[3:]).max(initial=0.0) < 1e-9 for point in points)


def test_circle_axes():
    axes = [[0.0, 2.0, 0.0], [0.0, 1.0, 3.0]]
    trajectory = ref.circle(0.5, 1.0, axes=axes).start(Flat(), np.zeros(3), 0.0)
    np.testing.assert_allclose(trajectory.at(math.pi / 2).value, [0.0, -0.5, 0.5], atol=1e-12)
    np.testing.assert_allclose(trajectory.at(0.0).velocity, [0.0, 0.0, 0.5], atol=1e-12)


def test_hold():
    origin = some(Pose())
    here = ref.hold().start(Pose(), origin, START)
    before = origin.homogeneous.copy()
    origin.translation = np.full(3, 9.0)  # a feature may hand out live memory of the model
    assert same(here.at(START + 5).value, before, 0.0) and not here.moving
    there = ref.hold([1.0, 2.0, 3.0]).start(Flat(), np.zeros(3), START)
    assert same(there.at(START).value, [1, 2, 3], 0.0)
    assert not there.at(START).velocity.any() and not there.at(START).acceleration.any()


def test_arguments_are_copied():
    point = np.zeros(3)
    references = [ref.move(to=point, duration=1.0), ref.waypoints([point], 1.0)]
    point[:] = 5.0
    for reference in references:
        assert same(reference.start(Flat(), np.ones(3), 0.0).at(2.0).value, np.zeros(3), 0.0)


@by_space
@pytest.mark.parametrize("kind", ["move to", "trapezoid", "triangle", "waypoints", "spline"])
def test_starts_here_and_ends_at_rest(space, kind):
    origin = some(space)
    reference = MAKERS[kind](space)
    trajectory = reference.start(space, origin, START)
    first, last = trajectory.at(START), trajectory.at(trajectory.end)
    goal = space.integrate(origin, step(space)) if kind == "triangle" else getattr(reference, "to", None)
    goal = reference.points[-1] if goal is None else goal

    assert same(first.value, origin) and np.abs(first.velocity).max() < 1e-9
    assert trajectory.at(math.nan).value is not None and np.isfinite(trajectory.at(math.nan).velocity).all()
    assert same(last.value, goal) and not last.velocity.any() and not last.acceleration.any()
    assert same(trajectory.at(trajectory.end + 100).value, goal)
    # The moving part leads right up to the resting part.
    almost = trajectory.at(trajectory.end - 1e-6)
    assert same(almost.value, goal, 1e-9) and np.abs(almost.velocity).max() < 1e-4


@by_space
def test_move_is_minimum_jerk(space):
    """Half the way at half the time, with the known peak speed 15/8 · length / duration there."""
    origin, goal = some(space), some(space)
    trajectory = ref.move(to=goal, duration=2.0, delay=0.5).start(space, origin, START)
    way = space.difference(goal, origin)
    middle = trajectory.at(START + 1.5)
    assert same(middle.value, space.integrate(origin, way / 2))
    np.testing.assert_allclose(middle.velocity, 15 / 8 * way / 2.0, atol=1e-12)
    np.testing.assert_allclose(middle.acceleration, 0.0, atol=1e-12)
    assert same(trajectory.at(START + 0.499).value, origin, 0.0)
    # Six conditions fix the quintic: no acceleration at the ends either.
    for time in (START + 0.5 + 1e-7, START + 2.5 - 1e-7):
        assert np.abs(trajectory.at(time).acceleration).max() < 1e-4


@by_space
def test_trapezoid_keeps_its_bounds(space):
    origin, goal = some(space), some(space)
    length = np.linalg.norm(space.difference(goal, origin))
    long = ref.trapezoid(to=goal, velocity=0.2, acceleration=0.5).start(space, origin, START)
    speeds = np.array([np.linalg.norm(long.at(t).velocity) for t in np.linspace(START, long.end, 400)])
    assert speeds.max() == pytest.approx(0.2, rel=1e-12) and np.mean(speeds > 0.1999) > 0.3
    assert long.end - START == pytest.approx(length / 0.2 + 0.2 / 0.5)

    short = ref.trapezoid(to=goal, velocity=50.0, acceleration=0.5).start(space, origin, START)
    assert short.end - START == pytest.approx(2 * math.sqrt(length / 0.5))
    top = np.linalg.norm(short.at((START + short.end) / 2).velocity)
    assert top == pytest.approx(math.sqrt(length * 0.5), rel=1e-9)
    for trajectory in (long, short):
        pulls = [np.linalg.norm(trajectory.at(t).acceleration) for t in np.linspace(START, trajectory.end, 50)]
        assert max(pulls) == pytest.approx(0.5)


def test_trapezoid_with_a_bound_per_row():
    """The tightest row decides; the others keep in step."""
    by, velocity = np.array([1.0, -0.5, 0.0]), np.array([0.4, 0.1, 0.01])
    trajectory = ref.trapezoid(by=by, velocity=velocity, acceleration=[1, 1, 1]).start(Flat(), np.zeros(3), 0.0)
    speeds = np.array([trajectory.at(t).velocity for t in np.linspace(0, trajectory.end, 300)])
    np.testing.assert_allclose(np.abs(speeds).max(axis=0), [0.2, 0.1, 0.0], atol=1e-12)
    nowhere = ref.trapezoid(to=np.zeros(3), velocity=1.0, acceleration=1.0).start(Flat(), np.zeros(3), 0.0)
    assert not nowhere.moving


@by_space
def test_waypoints_rest_at_each_point(space):
    points = [some(space) for _ in range(3)]
    trajectory = ref.waypoints(points, 0.8).start(space, some(space), START)
    for i, point in enumerate(points):
        time = START + 0.8 * (i + 1)
        for near in (time - 1e-7, time, time + 1e-7):
            target = trajectory.at(near)
            assert same(target.value, point, 1e-9)
            assert np.abs(target.velocity).max() < 1e-9 and np.abs(target.acceleration).max() < 1e-3
    assert trajectory.end == pytest.approx(START + 2.4)


@by_space
def test_spline_passes_its_points_smoothly(space):
    points, times = [some(space) for _ in range(4)], [0.5, 0.9, 2.0, 2.2]
    trajectory = ref.spline(points, times).start(space, some(space), START)
    for point, time in zip(points[:-1], times, strict=False):
        left, right = trajectory.at(START + time - 1e-9), trajectory.at(START + time + 1e-9)
        assert same(left.value, point, 1e-7) and same(right.value, point, 1e-7)
        np.testing.assert_allclose(left.velocity, right.velocity, atol=1e-5)
        np.testing.assert_allclose(left.acceleration, right.acceleration, atol=1e-4)
    given_start = ref.spline(points, [0.0, 1.0, 2.0, 3.0]).start(space, some(space), START)
    assert same(given_start.at(START).value, points[0])


@by_rotation
def test_spline_refuses_the_long_way_round(space):
    """Steps of 150° about one axis: the third point is 300° = −60° from the start."""
    origin, axis = some(space), np.zeros(space.dim)
    axis[-1] = math.radians(150)
    points = [space.integrate(origin, axis), space.integrate(origin, 2 * axis)]
    with pytest.raises(TaskError, match="long way"):
        ref.spline(points, [1.0, 2.0]).start(space, origin, 0.0)
    small = [space.integrate(origin, x * axis) for x in (0.4, 0.8, 1.1)]
    ref.spline(small, [1.0, 2.0, 3.0]).start(space, origin, 0.0)


def test_sine_fades_in_and_keeps_its_frequency():
    trajectory = ref.sine([0.2, 0, 0], 2.0, phase=0.7, fade=1.0).start(Flat(), np.ones(3), START)
    first = trajectory.at(START)
    assert same(first.value, np.ones(3)) and not first.velocity.any() and not first.acceleration.any()
    later = np.array([trajectory.at(START + 3.0 + i / 64).value[0] - 1.0 for i in range(64)])
    spectrum = np.abs(np.fft.rfft(later)) / 32
    assert spectrum.argmax() == 2 and spectrum[2] == pytest.approx(0.2, rel=1e-9)


@by_pose
def test_three_numbers_move_a_pose_without_turning_it(space):
    origin = some(space)
    goal = ref.move(by=[0.1, 0.2, 0.3], duration=1.0).start(space, origin, 0.0).at(1.0).value
    np.testing.assert_allclose(space.difference(goal, origin), [0.1, 0.2, 0.3, 0, 0, 0], atol=1e-12)
    with pytest.raises(TaskError, match="move: by: expected 6 numbers"):
        ref.move(by=0.1, duration=1.0).start(space, origin, 0.0)


@by_rotation
def test_half_a_turn(space):
    """Rotations by almost π still go straight to their goal."""
    far = np.zeros(space.dim)
    far[-2:] = (math.pi - 1e-6) * np.array([0.6, 0.8])
    origin = some(space)
    goal = space.integrate(origin, far)
    middle = ref.move(to=goal, duration=1.0).start(space, origin, 0.0).at(0.5).value
    assert same(middle, space.integrate(origin, far / 2), 1e-6)


@by_space
def test_follow_offset(space):
    source, origin = leader(space), some(space)
    kept = ref.follow(source, keep_offset=True).start(space, origin, START)
    closed = ref.follow(source).start(space, origin, START)
    assert same(kept.at(START).value, origin)
    assert same(closed.at(START).value, source(START)[0])
    lagging = ref.follow(lambda time: source(time)[0]).start(space, origin, START)
    assert same(lagging.at(START + 1).value, source(START + 1)[0]) and not lagging.at(START + 1).velocity.any()


def test_follow_takes_two_plain_numbers_as_a_value():
    class Pixel(Flat):
        dim = 2

    trajectory = ref.follow(lambda time: (0.3, 0.4)).start(Pixel(), np.zeros(2), 0.0)
    assert same(trajectory.at(1.0).value, [0.3, 0.4], 0.0)
    moving = ref.follow(lambda time: ([0.3, 0.4], [1.0, 2.0])).start(Pixel(), np.zeros(2), 0.0)
    assert same(moving.at(1.0).velocity, [1.0, 2.0], 0.0)


def spoiled(good, spoil):
    """A source that is good before 1 s and from 2 s on, and spoiled in between."""
    return lambda time: spoil(good) if 1.0 <= time < 2.0 else good


def raising(value):
    raise ValueError("lost")


def with_nan(value):
    if isinstance(value, SE3):
        return SE3(value.rotation, np.array([0.0, math.nan, 0.0]))
    bad = value.copy()
    bad.flat[1] = math.nan
    return bad


BAD = {
    "NaN": with_nan,
    "infinite": lambda value: np.full(np.shape(getattr(value, "homogeneous", value)), math.inf),
    "wrong shape": lambda value: np.zeros(5),
    "None": lambda value: None,
    "raises": raising,
}


@by_space
@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("kind", [ref.function, ref.follow])
def test_bad_samples_are_rejected_and_counted(space, bad, kind):
    good = some(space)
    trajectory = kind(spoiled(good, BAD[bad])).start(space, some(space), 0.0)
    for time in np.arange(0.0, 3.0, 0.25):
        target = trajectory.at(time)
        assert same(target.value, good)
        assert np.isfinite(target.velocity).all() and np.isfinite(target.acceleration).all()
    assert 4 <= trajectory.rejected <= 5  # the differences of a function may look across an edge
    assert trajectory.reason


def test_bad_velocity_is_rejected():
    speeds = iter([[0, 0, 1.0], [0, 0, 1.0], [0, math.nan, 0], [0, 0, 2.0]])
    trajectory = ref.follow(lambda time: (np.zeros(3), next(speeds))).start(Flat(), np.zeros(3), 0.0)
    assert trajectory.at(0.1).velocity[2] == 1.0
    assert not trajectory.at(0.2).velocity.any() and trajectory.rejected == 1
    assert trajectory.at(0.3).velocity[2] == 2.0


def test_derivatives_that_are_not_finite_are_rejected():
    class Holed(Flat):
        def difference(self, value, reference):
            return np.full(3, math.nan) if value[0] > 1.0 else value - reference

    trajectory = ref.function(lambda t: [t, 0.0, 0.0]).start(Holed(), np.zeros(3), 0.0)
    assert trajectory.at(0.5).velocity[0] == pytest.approx(1.0)
    target = trajectory.at(1.5)
    assert target.value[0] == 0.5 and not target.velocity.any() and trajectory.rejected == 1


def test_function_is_not_asked_before_its_start():
    trajectory = ref.function(lambda t: [math.sqrt(t) ** 3, t, 50 * t * t]).start(Flat(), np.zeros(3), START)
    target = trajectory.at(START)
    np.testing.assert_allclose(target.velocity[1:], [1.0, 0.0], atol=1e-9)
    assert target.acceleration[2] == pytest.approx(100.0) and trajectory.rejected == 0


def test_function_that_jumps_gives_no_burst():
    trajectory = ref.function(lambda t: np.full(3, 0.3 * t if t < 1.0 else 5.0)).start(Flat(), np.zeros(3), 0.0)
    for time in np.linspace(1.0 - 2e-4, 1.0 + 2e-4, 41):
        assert np.abs(trajectory.at(time).velocity).max() <= 0.3 + 1e-9
        assert np.abs(trajectory.at(time).acceleration).max() <= 1e-3


def test_as_reference():
    assert isinstance(ref.as_reference(None), ref.Hold)
    assert isinstance(ref.as_reference(SE3.Identity()), ref.Hold)
    assert isinstance(ref.as_reference(lambda t: np.zeros(3)), ref.Function)
    move = ref.move(by=[1, 0, 0], duration=1.0)
    assert ref.as_reference(move) is move
    with pytest.raises(TaskError, match="hand: hold: value"):
        ref.as_reference([1.0, math.nan], Flat(), "hand")


def test_kinds_cover_every_reference():
    ours = {kind for kind in ref.Reference.__subclasses__() if kind.__module__ == ref.__name__}
    assert set(ref.KINDS.values()) == ours
    for name, kind in ref.KINDS.items():
        assert kind.kind == name and getattr(ref, name) is kind
        assert dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen
        # A loader reads the arguments and their types off the class.
        assert {field.name for field in dataclasses.fields(kind)} <= set(typing.get_type_hints(kind))


def test_descriptions_can_be_rebuilt_from_their_fields():
    """What a file loader or `dataclasses.replace` does: the checked arguments are valid arguments."""
    for maker in MAKERS.values():
        reference = maker(Flat())
        again = dataclasses.replace(reference)
        values = [r.start(Flat(), np.zeros(3), 0.0).at(0.4).value for r in (reference, again)]
        assert same(*values, 0.0)
    assert dataclasses.replace(ref.circle(0.1, 1.0, normal=[1, 0, 0])).normal == [1, 0, 0]


NAN, INF = math.nan, math.inf
REFUSED_AT_ONCE = [
    (lambda: ref.hold([0, NAN, 0]), "hold: value"),
    (lambda: ref.hold(SE3(np.eye(3), np.array([0, INF, 0]))), "hold: value"),
    (lambda: ref.hold([]), "hold: value"),
    (lambda: ref.hold([[1, 2], [3]]), "hold: value"),
    (lambda: ref.move(duration=1.0), "move: give either to or by"),
    (lambda: ref.move(to=[0, 0, 0], by=[1, 0, 0], duration=1.0), "move: give either to or by"),
    (lambda: ref.move(by=[1, 0, INF], duration=1.0), "move: by"),
    (lambda: ref.move(by="up", duration=1.0), "move: by"),
    (lambda: ref.move(by=[1e300, 0, 0], duration=1.0), "move: by"),
    (lambda: ref.move(by=[1, 0, 0], duration=0.0), "move: duration"),
    (lambda: ref.move(by=[1, 0, 0], duration=1e-300), "move: duration"),
    (lambda: ref.move(by=[1, 0, 0], duration=NAN), "move: duration"),
    (lambda: ref.move(by=[1, 0, 0], duration=[1, 2]), "move: duration"),
    (lambda: ref.move(by=[1, 0, 0], duration=1.0, delay=-1.0), "move: delay"),
    (lambda: ref.trapezoid(by=[1, 0, 0], velocity=0.0, acceleration=1.0), "trapezoid: velocity"),
    (lambda: ref.trapezoid(by=[1, 0, 0], velocity=1.0, acceleration=[1, NAN, 1]), "trapezoid: acceleration"),
    (lambda: ref.trapezoid(velocity=1.0, acceleration=1.0), "trapezoid: give either to or by"),
    (lambda: ref.waypoints([], 1.0), "waypoints: points"),
    (lambda: ref.waypoints(SE3.Identity(), 1.0), "waypoints: points"),
    (lambda: ref.waypoints([[0, 0, 0], [0, NAN, 0]], 1.0), r"waypoints: points\[1\]"),
    (lambda: ref.waypoints([[0, 0, 0], [1, 0, 0]], [1.0]), "waypoints: durations"),
    (lambda: ref.waypoints([[0, 0, 0], [1, 0, 0]], [1.0, -1.0]), r"waypoints: durations\[1\]"),
    (lambda: ref.sine([0.1, NAN, 0], 1.0), "sine: amplitude"),
    (lambda: ref.sine(0.1, 0.0), "sine: frequency"),
    (lambda: ref.sine(0.1, 1e200), "sine: frequency"),
    (lambda: ref.sine(0.1, 1.0, phase=NAN), "sine: phase"),
    (lambda: ref.sine(0.1, 1.0, fade=-1.0), "sine: fade"),
    (lambda: ref.circle(-0.1, 1.0), "circle: radius"),
    (lambda: ref.circle(0.1, INF), "circle: speed"),
    (lambda: ref.circle(0.1, 1.0, normal=[0, 0, 0]), "circle: normal"),
    (lambda: ref.circle(0.1, 1.0, normal=[0, 1]), "circle: normal"),
    (lambda: ref.circle(0.1, 1.0, axes=[[1, 0, 0], [2, 0, 0]]), "circle: axes"),
    (lambda: ref.circle(0.1, 1.0, axes=[1, 0, 0]), "circle: axes"),
    (lambda: ref.circle(0.1, 1.0, axes=np.eye(3)[:2], normal=[0, 0, 1]), "circle: give normal or axes"),
    (lambda: ref.spline([[0, 0, 0], [1, 0, 0]], [1.0, 1.0]), "spline: times: must increase"),
    (lambda: ref.spline([[0, 0, 0], [1, 0, 0]], [-1.0, 1.0]), r"spline: times\[0\]"),
    (lambda: ref.spline([[0, 0, 0], [1, 0, 0]], [1.0, NAN]), r"spline: times\[1\]"),
    (lambda: ref.spline([[0, 0, 0], [1, 0, 0]], 1.0), "spline: times"),
    (lambda: ref.spline([[0, 0, 0]], [0.0]), "spline: times"),
    (lambda: ref.function(3.0), "function: f"),
    (lambda: ref.function(lambda t: t, step=0.0), "function: step"),
    (lambda: ref.follow("hand"), "follow: source"),
]


@pytest.mark.parametrize("make, message", REFUSED_AT_ONCE)
def test_wrong_arguments(make, message):
    with pytest.raises(TaskError, match=message):
        make()


REFUSED_BY_THE_FEATURE = [
    (Flat(), ref.hold([1, 2]), "hold: value"),
    (Flat(), ref.hold("half_sitting"), "hold: value"),
    (Pose(), ref.hold([1, 2, 3]), "hold: value"),
    (Flat(), ref.move(to=[1, 2], duration=1.0), "move: to"),
    (Flat(), ref.move(by=[1, 2, 3, 4, 5, 6], duration=1.0), "move: by"),
    (Pose(), ref.move(by=[1, 2, 3, 4], duration=1.0), "move: by"),
    (Rotation(), ref.move(to=np.diag([1.0, 2.0, 1.0]), duration=1.0), "move: to"),
    (Flat(), ref.trapezoid(by=[1, 0, 0], velocity=[1, 1], acceleration=1.0), "trapezoid: velocity"),
    (Flat(), ref.waypoints([0.0, 0.0, 1.0], 1.0), r"waypoints: points\[0\]"),
    (Flat(), ref.spline([[0, 0, 0], [1, 0]], [1.0, 2.0]), r"spline: points\[1\]"),
    (Flat(), ref.sine([1, 2], 1.0), "sine: amplitude"),
    (Flat(), ref.sine(1.0, 1.0, around=[1, 2]), "sine: around"),
    (Rotation(), ref.circle(0.1, 1.0), "circle: needs a position or a pose"),
    (Flat(), ref.function(lambda t: [1.0]), "function: f: fails at the start"),
    (Flat(), ref.function(lambda t: [NAN, 0, 0]), "function: f: fails at the start"),
    (Flat(), ref.follow(lambda: [1, 2, 3]), "follow: source: fails at the start"),
    (Flat(), ref.follow(lambda time: None, keep_offset=True), "follow: source: fails at the start"),
    (Flat(), ref.follow(lambda time: ([0, 0, 0], [1, 2])), "follow: source: velocity"),
]


@pytest.mark.parametrize("space, reference, message", REFUSED_BY_THE_FEATURE)
def test_references_that_do_not_fit_the_feature(space, reference, message):
    with pytest.raises(TaskError, match=message):
        reference.start(space, some(space), 0.0)
