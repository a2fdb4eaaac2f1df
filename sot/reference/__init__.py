"""Where a task should go, as a function of time: `hold`, `move`, `sine`, `spline`, `follow` and others.

    hand.reference = sot.move(by=[0.1, 0.0, 0.2], duration=2.0)

A reference is a plain description. It starts when its task meets it, from where the feature is at that moment, and
then becomes a `Trajectory`. Steps, amplitudes and axes are in the feature's tangent space: the axes in which its
Jacobian is expressed, at the starting point.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from sot.errors import SotError, TaskError, unknown
from sot.feature import Feature, Value
from sot.lie import SE3
from sot.reference import arguments, profile
from sot.reference.trajectory import Chain, Cubic, Followed, Path, Rest, Sampled, Target, Trajectory
from sot.typed_yaml import arguments as given_arguments
from sot.typed_yaml.node import Node

__all__ = [
    "KINDS", "Circle", "Follow", "Function", "Hold", "Move", "Reference", "Sine", "Spline", "Target", "Trajectory",
    "Trapezoid", "Waypoints", "as_reference", "circle", "follow", "function", "hold", "move", "sine", "spline",
    "trapezoid", "waypoints",
]  # fmt: skip

Numbers = float | Sequence[float]


class Reference(ABC):
    """A description of s*(t)."""

    kind: ClassVar[str]

    @abstractmethod
    def start(self, feature: Feature, value: Value, time: float) -> Trajectory:
        """Begin at a time, s, with the feature at `value`. Raises a TaskError if the two do not fit."""

    @classmethod
    def variants(cls) -> dict[str, type[Reference]]:
        """Words of files that need no functions, and what they stand for."""
        return {word: kind for word, kind in KINDS.items() if kind not in (Function, Follow)}

    @classmethod
    def from_node(cls, node: Node) -> Reference:
        """From `kind: {arguments}` outside of a stack, where functions have no names."""
        words = cls.variants()
        entries = node.mapping(f"numbers, or a reference such as {{sine: {{...}}}}: one of {', '.join(words)}")
        if len(entries) != 1:
            raise node.error(f"a reference has one key, one of {', '.join(words)}; got {', '.join(entries) or 'none'}")
        ((word, body),) = entries.items()
        if word not in words:
            raise body.error(unknown("reference", word, words))
        given = given_arguments(body, words[word])
        try:
            return words[word](**given)
        except SotError as error:
            raise body.error(str(error)) from None

    def _own(self, name: str, convert: Callable[[object, str], Any]) -> None:
        """Check an argument, and keep a copy that nobody else can change."""
        object.__setattr__(self, name, convert(getattr(self, name), f"{self.kind}: {name}"))


@dataclass(frozen=True, eq=False)
class Hold(Reference):
    """Stay.

    Attributes:
        value: Where to stay; by default where the feature is at the start.
    """

    kind = "hold"
    value: Value | None = None

    def __post_init__(self) -> None:
        self._own("value", arguments.place)

    def start(self, feature: Feature, value: Value, time: float) -> Trajectory:
        return Rest(feature, _or_here(feature, self.value, value, "hold: value"), time)


@dataclass(frozen=True, eq=False)
class Move(Reference):
    """Go to a value, or by a step, with minimum jerk along the geodesic s0 ⊕ h(t) (s1 ⊖ s0).

    Attributes:
        to: Where to go.
        by: How far to go from the start; for a pose 6 numbers, or 3 for the translation alone.
        duration: Time of the motion, s.
        delay: Time to wait before it, s.
    """

    kind = "move"
    to: Value | None = None
    by: Numbers | None = None
    duration: float = field(kw_only=True)
    delay: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        _own_goal(self)
        self._own("duration", arguments.duration)
        self._own("delay", arguments.from_zero)

    def start(self, feature: Feature, value: Value, time: float) -> Trajectory:
        origin, step, goal = _goal(self, feature, value)
        return _leg(feature, origin, step, goal, time + self.delay, self.duration)


@dataclass(frozen=True, eq=False)
class Trapezoid(Reference):
    """Go to a value, or by a step, in the shortest time under bounds on speed and acceleration.

    Attributes:
        to: Where to go.
        by: How far to go from the start; for a pose 6 numbers, or 3 for the translation alone.
        velocity: Top speed along the geodesic, units/s; or one bound per row.
        acceleration: Greatest acceleration along the geodesic, units/s²; or one bound per row.
        delay: Time to wait before the motion, s.
    """

    kind = "trapezoid"
    to: Value | None = None
    by: Numbers | None = None
    velocity: Numbers = field(kw_only=True)
    acceleration: Numbers = field(kw_only=True)
    delay: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        _own_goal(self)
        self._own("velocity", arguments.bounds)
        self._own("acceleration", arguments.bounds)
        self._own("delay", arguments.from_zero)

    def start(self, feature: Feature, value: Value, time: float) -> Trajectory:
        origin, step, goal = _goal(self, feature, value)
        if not (np.abs(step).max() > 1e-12):
            return Rest(feature, goal, time)
        speed = arguments.rate_along(self.velocity, step, "trapezoid: velocity")  # type: ignore[arg-type]
        acceleration = arguments.rate_along(self.acceleration, step, "trapezoid: acceleration")  # type: ignore[arg-type]
        law, duration = profile.trapezoid(speed, acceleration)
        begin = time + self.delay
        return Path(feature, origin, step[None], law, begin, begin + duration, goal)


@dataclass(frozen=True, eq=False)
class Waypoints(Reference):
    """Visit points one after the other, with minimum jerk and at rest at each.

    Attributes:
        points: Where to go.
        durations: Time of each leg, s; one number is the time of every leg.
    """

    kind = "waypoints"
    points: Sequence[Value]
    durations: Numbers

    def __post_init__(self) -> None:
        self._own("points", arguments.places)
        self._own("durations", lambda x, where: arguments.each(x, len(self.points), where, arguments.duration))

    def start(self, feature: Feature, value: Value, time: float) -> Trajectory:
        origin, legs = arguments.copied(value, "waypoints: start"), []
        for i, (point, duration) in enumerate(zip(self.points, self.durations, strict=True)):  # type: ignore[arg-type]
            goal = arguments.point_of(feature, point, f"waypoints: points[{i}]")
            legs.append(_leg(feature, origin, feature.difference(goal, origin), goal, time, duration))
            origin, time = goal, time + duration
        return Chain(legs)


@dataclass(frozen=True, eq=False)
class Sine(Reference):
    """Swing: s0 ⊕ a sin(2πft + φ).

    Attributes:
        amplitude: a; for a pose 6 numbers, or 3 for the translation alone.
        frequency: f, Hz.
        phase: φ, rad.
        around: s0, the centre; by default where the feature is at the start.
        fade: Time in which the swing grows from nothing, s. With 0 it starts at full speed.
    """

    kind = "sine"
    amplitude: Numbers
    frequency: float
    phase: float = 0.0
    around: Value | None = None
    fade: float = 0.0

    def __post_init__(self) -> None:
        self._own("amplitude", arguments.numbers)
        self._own("frequency", lambda x, where: arguments.number(x, where, arguments.SMALLEST, 1e6))
        self._own("phase", arguments.number)
        self._own("around", arguments.place)
        self._own("fade", arguments.from_zero)

    def start(self, feature: Feature, value: Value, time: float) -> Trajectory:
        centre = _or_here(feature, self.around, value, "sine: around")
        amplitude = arguments.step_of(feature, centre, self.amplitude, "sine: amplitude")
        return Path(feature, centre, amplitude[None], profile.sine(self.frequency, self.phase, self.fade), time)


@dataclass(frozen=True, eq=False)
class Circle(Reference):
    """Turn on a circle that starts at the current point; a pose keeps its orientation.

    Attributes:
        radius: Radius, m.
        speed: Angular speed about the normal, rad/s; negative turns the other way.
        normal: Axis of the circle.
        axes: Instead of the normal: two directions, from the centre to the start and of the first motion.
        fade: Time in which the turning gains its speed, s. With 0 it starts at full speed.
    """

    kind = "circle"
    radius: float
    speed: float
    normal: Sequence[float] | None = None
    axes: Sequence[Sequence[float]] | None = None
    fade: float = 0.0

    def __post_init__(self) -> None:
        if self.normal is not None and self.axes is not None:
            raise TaskError("circle: give normal or axes, not both")
        self._own("radius", arguments.positive)
        self._own("speed", lambda x, where: arguments.number(x, where, -1e6, 1e6))
        self._own("fade", arguments.from_zero)
        arguments.plane(self.normal, self.axes)

    def start(self, feature: Feature, value: Value, time: float) -> Trajectory:
        origin = arguments.copied(value, "circle: start")
        if not (isinstance(origin, SE3) or np.shape(origin) == (3,)):
            raise TaskError(f"circle: needs a position or a pose, not a {type(feature).__name__}")
        basis = np.zeros((2, feature.dim))
        basis[:, :3] = self.radius * arguments.plane(self.normal, self.axes)
        return Path(feature, origin, basis, profile.circle(self.speed, self.fade), time)


@dataclass(frozen=True, eq=False)
class Spline(Reference):
    """Pass through points at given times on a cubic spline, starting and ending at rest.

    It is a spline in the tangent space at the start, so points may be at most half a turn away from there.

    Attributes:
        points: Where to pass.
        times: When, s since the start, increasing. Unless the first is 0, the way starts where the feature is.
    """

    kind = "spline"
    points: Sequence[Value]
    times: Sequence[float]

    def __post_init__(self) -> None:
        self._own("points", arguments.places)
        self._own("times", lambda x, where: arguments.times(x, len(self.points), where))

    def start(self, feature: Feature, value: Value, time: float) -> Trajectory:
        from scipy.interpolate import CubicSpline

        places = [arguments.point_of(feature, p, f"spline: points[{i}]") for i, p in enumerate(self.points)]
        knots = list(self.times)
        if knots[0] > 0.0:
            places, knots = [arguments.copied(value, "spline: start"), *places], [0.0, *knots]
        steps = np.array([feature.difference(place, places[0]) for place in places])  # (n, dim)
        arguments.check_short_way(feature, places, steps)
        coefficients = CubicSpline(knots, steps, bc_type="clamped").c  # (4, n - 1, dim)
        pieces = np.ascontiguousarray(coefficients.transpose(1, 0, 2))
        return Cubic(feature, places[0], places[-1], knots, pieces, time)


@dataclass(frozen=True, eq=False)
class Function(Reference):
    """Any function of time. Velocity and acceleration are its central differences.

    What it raises or returns that is not a finite value is counted in `Trajectory.rejected`; the target then rests
    at the last good value. Where it jumps the velocity is that of the calmer side.

    Attributes:
        f: Seconds since the start → value of the feature.
        step: Time between the differences, s.
    """

    kind = "function"
    f: Callable[[float], Value]
    step: float = 1e-4

    def __post_init__(self) -> None:
        self._own("f", arguments.function)
        self._own("step", lambda x, where: arguments.number(x, where, arguments.SHORTEST, 1.0))

    def start(self, feature: Feature, value: Value, time: float) -> Trajectory:
        def f(t: float) -> Value:
            return arguments.value_of(feature, self.f(t), "function: f")

        trajectory = Sampled(feature, arguments.copied(value, "function: start"), f, time, self.step)
        return arguments.tried(trajectory, time, "function: f")


@dataclass(frozen=True, eq=False)
class Follow(Reference):
    """Follow something else, such as a frame of another robot.

    A sample that is not finite, or that fails, is counted in `Trajectory.rejected`; the target then rests at the
    last good value. Without a velocity the follower lags behind by (source's speed)/λ.

    Attributes:
        source: Time in seconds → value, or → (value, velocity in the feature's tangent space).
        keep_offset: Keep the offset that there is at the start instead of closing it.
    """

    kind = "follow"
    source: Callable[[float], Value | tuple[Value, Sequence[float]]]
    keep_offset: bool = False

    def __post_init__(self) -> None:
        self._own("source", arguments.function)

    def start(self, feature: Feature, value: Value, time: float) -> Trajectory:
        def source(t: float) -> tuple[Value, np.ndarray | None]:
            return arguments.sample_of(feature, self.source(t), "follow: source")

        origin = arguments.copied(value, "follow: start")
        try:
            trajectory = Followed(feature, origin, source, bool(self.keep_offset), time)
        except Exception as error:
            raise TaskError(f"follow: source: fails at the start: {type(error).__name__}: {error}") from error
        return arguments.tried(trajectory, time, "follow: source")


hold, move, trapezoid, waypoints = Hold, Move, Trapezoid, Waypoints
sine, circle, spline, function, follow = Sine, Circle, Spline, Function, Follow

KINDS: dict[str, type[Reference]] = {
    kind.kind: kind for kind in (Hold, Move, Trapezoid, Waypoints, Sine, Circle, Spline, Function, Follow)
}


def as_reference(reference: object, feature: Feature | None = None, where: str = "reference") -> Reference:
    """A reference from what users write: a reference, a function of time, or a value to hold (None: stay)."""
    if isinstance(reference, Reference):
        return reference
    try:
        return Function(reference) if callable(reference) else Hold(reference)
    except TaskError as error:
        raise TaskError(f"{where}: {error}") from None


def _own_goal(reference: Move | Trapezoid) -> None:
    """Check `to` and `by`, of which there must be one."""
    if (reference.to is None) == (reference.by is None):
        raise TaskError(f"{reference.kind}: give either to or by")
    reference._own("to", arguments.place)
    if reference.by is not None:
        reference._own("by", arguments.numbers)


def _goal(reference: Move | Trapezoid, feature: Feature, value: Value) -> tuple[Value, np.ndarray, Value]:
    """Start s0, step s1 ⊖ s0 and goal s1 of a motion."""
    origin = arguments.copied(value, f"{reference.kind}: start")
    if reference.by is None:
        goal = arguments.value_of(feature, reference.to, f"{reference.kind}: to")
        return origin, feature.difference(goal, origin), goal
    step = arguments.step_of(feature, origin, reference.by, f"{reference.kind}: by")
    return origin, step, feature.integrate(origin, step)


def _leg(feature: Feature, origin: Value, step: np.ndarray, goal: Value, begin: float, duration: float) -> Path:
    """A minimum-jerk motion by a step."""
    law = profile.minimum_jerk(duration)
    return Path(feature, origin, step[None], law, begin, begin + duration, goal)


def _or_here(feature: Feature, target: Value | None, here: Value, where: str) -> Value:
    """A user's target, or where the feature is if there is none."""
    return arguments.copied(here, where) if target is None else arguments.value_of(feature, target, where)
