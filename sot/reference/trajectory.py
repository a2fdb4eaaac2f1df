"""Targets as functions of time, on any space: what a reference becomes once it has started."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sot.feature import Feature, Value
from sot.lie import SE3
from sot.reference.profile import Profile

JUMP = 1e3  # units/s²: a function that bends faster than this over one step is taken to jump or to have a kink


@dataclass(frozen=True, slots=True)
class Target:
    """Where a feature should be at one instant, and how it should move.

    Attributes:
        value: s*, in the feature's space.
        velocity: ṡ* in the feature's tangent space, shape (dim,), units of the feature per second.
        acceleration: s̈* in the same space, shape (dim,).
    """

    value: Value
    velocity: np.ndarray
    acceleration: np.ndarray


class Trajectory(ABC):
    """s*(t) from the moment a reference became active.

    Attributes:
        moving: False if the target never changes.
        end: Time after which the target rests, s; infinite if it never does.
        rejected: How often a user's function or a followed source gave something unusable.
        reason: What was wrong the last time.
    """

    moving: bool = True
    end: float = math.inf
    rejected: int = 0
    reason: str = ""

    @abstractmethod
    def at(self, time: float) -> Target:
        """The target at a time in seconds. Always finite."""


class Rest(Trajectory):
    """One value for ever."""

    moving = False

    def __init__(self, feature: Feature, value: Value, time: float) -> None:
        self.end = time
        self._target = resting(feature, value)

    def at(self, time: float) -> Target:
        return self._target


class Path(Trajectory):
    """s*(t) = s0 ⊕ Σ cᵢ(t) bᵢ along directions bᵢ that commute: one geodesic, or a plane of translations.

    Then the velocity is Σ ċᵢ bᵢ and the acceleration Σ c̈ᵢ bᵢ, on flat spaces, rotations and poses alike.
    """

    def __init__(
        self,
        feature: Feature,
        origin: Value,
        basis: np.ndarray,  # (k, dim), the directions bᵢ
        profile: Profile,
        begin: float,
        end: float = math.inf,
        last: Value | None = None,
    ) -> None:
        self.moving = bool(basis.any())
        self.begin, self.end = begin, end
        self._first = resting(feature, origin)
        self._last = self._first if last is None else resting(feature, last)
        self._place = feature.along(origin, basis)
        self._basis, self._profile = basis, profile
        self._weights = np.zeros((3, basis.shape[0]))  # c, ċ and c̈, refilled at every call

    def at(self, time: float) -> Target:
        if not (time >= self.begin):
            return self._first
        if time >= self.end:
            return self._last
        self._profile(time - self.begin, self._weights)
        step, velocity, acceleration = self._weights.dot(self._basis)  # (3, dim), a new array
        return Target(self._place(step), velocity, acceleration)


class Chain(Trajectory):
    """Trajectories one after the other."""

    def __init__(self, legs: Sequence[Trajectory]) -> None:
        self._legs = legs
        self._switches = [leg.end for leg in legs[:-1]]
        self.end = legs[-1].end

    def at(self, time: float) -> Target:
        return self._legs[bisect_right(self._switches, time)].at(time)


class Cubic(Trajectory):
    """s*(t) = s0 ⊕ x(t) with a piecewise cubic x in the tangent space at s0."""

    def __init__(
        self,
        feature: Feature,
        origin: Value,
        last: Value,
        knots: Sequence[float],
        coefficients: np.ndarray,  # (segments, 4, dim), highest power first
        begin: float,
    ) -> None:
        self.begin, self.end = begin, begin + knots[-1]
        self._first, self._last = resting(feature, origin), resting(feature, last)
        self._feature, self._origin = feature, origin
        self._starts, self._coefficients = list(knots[:-1]), coefficients

    def at(self, time: float) -> Target:
        if not (time >= self.begin):
            return self._first
        if time >= self.end:
            return self._last
        t = time - self.begin
        segment = bisect_right(self._starts, t) - 1
        u = t - self._starts[segment]
        powers = np.array([[u * u * u, u * u, u, 1.0], [3.0 * u * u, 2.0 * u, 1.0, 0.0], [6.0 * u, 2.0, 0.0, 0.0]])
        return carry(self._feature, self._origin, *powers.dot(self._coefficients[segment]))


class Guarded(Trajectory):
    """Fed by foreign code. What is unusable is counted, and the target rests at the last good value."""

    def __init__(self, feature: Feature, value: Value) -> None:
        self._feature = feature
        self._last = resting(feature, value)

    @abstractmethod
    def sample(self, time: float) -> Target:
        """The target at a time. Raises if the value is unusable; the derivatives may be non-finite."""

    def at(self, time: float) -> Target:
        try:
            target = self.sample(time)
        except Exception as error:  # whatever foreign code raises, the robot must still get a target
            return self._reject(f"{type(error).__name__}: {error}")
        if not (is_finite(target.velocity) and is_finite(target.acceleration)):
            return self._reject("its derivatives are not finite")
        self._last = target
        return target

    def _reject(self, reason: str) -> Target:
        self.rejected += 1
        self.reason = reason
        # A velocity that the value no longer follows would push the robot past the target.
        self._last = resting(self._feature, self._last.value)
        return self._last


class Sampled(Guarded):
    """s*(t) from a function of the time since the start, differentiated on the manifold."""

    def __init__(
        self, feature: Feature, value: Value, function: Callable[[float], Value], begin: float, step: float
    ) -> None:
        super().__init__(feature, value)
        self._function, self._begin, self._step = function, begin, step

    def sample(self, time: float) -> Target:
        h = self._step
        t = max(time - self._begin, 0.0)
        centre = max(t, h)  # never asks for a time before the start
        before, here, after = (self._function(x) for x in (centre - h, centre, centre + h))
        velocity, acceleration = central(self._feature, before, here, after, h)
        if float(np.abs(acceleration).max()) > JUMP:
            velocity, acceleration = self._at_jump(before, here, after), np.zeros(self._feature.dim)
        value = here if t == centre else self._function(t)
        return Target(value, velocity + (t - centre) * acceleration, acceleration)

    def _at_jump(self, before: Value, here: Value, after: Value) -> np.ndarray:
        """Velocity on the calmer side: a difference across the jump would be thousands of units per second."""
        ahead = self._feature.difference(after, here) / self._step
        behind = -self._feature.difference(before, here) / self._step
        return ahead if float(ahead.dot(ahead)) <= float(behind.dot(behind)) else behind


class Followed(Guarded):
    """s*(t) = source(t) ⊕ offset, with the source's velocity if it gives one."""

    def __init__(
        self,
        feature: Feature,
        value: Value,
        source: Callable[[float], tuple[Value, np.ndarray | None]],
        keep_offset: bool,
        time: float,
    ) -> None:
        super().__init__(feature, value)
        self._source = source
        self._offset = feature.difference(value, source(time)[0]) if keep_offset else None
        self._zero = np.zeros(feature.dim)

    def sample(self, time: float) -> Target:
        value, velocity = self._source(time)
        if velocity is None:
            return Target(self._shift(value), self._zero, self._zero)
        if self._offset is None or is_flat(self._feature):
            return Target(self._shift(value), velocity, self._zero)
        h = _small_step(velocity, self._zero)
        before, after = (self._shift(self._feature.integrate(value, x * velocity)) for x in (-h, h))
        here = self._shift(value)
        return Target(here, central(self._feature, before, here, after, h)[0], self._zero)

    def _shift(self, value: Value) -> Value:
        return value if self._offset is None else self._feature.integrate(value, self._offset)


def resting(feature: Feature, value: Value) -> Target:
    """A target that does not move."""
    return Target(value, np.zeros(feature.dim), np.zeros(feature.dim))


def is_flat(feature: Feature) -> bool:
    """True if the feature adds and subtracts plainly, so that derivatives need no correction."""
    kind = type(feature)
    return kind.integrate is Feature.integrate and kind.difference is Feature.difference


def is_finite(value: Value) -> bool:
    """True if no number in a value is NaN or infinite."""
    # A sum of squares is not finite if a term is not, and costs a quarter of looking at each.
    numbers: np.ndarray = value.homogeneous if isinstance(value, SE3) else value
    return math.isfinite(np.vdot(numbers, numbers))


def central(feature: Feature, before: Value, here: Value, after: Value, h: float) -> tuple[np.ndarray, np.ndarray]:
    """ṡ and s̈ from three values h apart, seen from the one in the middle:

        ṡ ≈ (d₊ − d₋) / 2h,  s̈ ≈ (d₊ + d₋) / h²,  with d± = s(t ± h) ⊖ s(t).
    """
    ahead, behind = feature.difference(after, here), feature.difference(before, here)
    return (ahead - behind) / (2.0 * h), (ahead + behind) / (h * h)


def carry(feature: Feature, origin: Value, x: np.ndarray, dx: np.ndarray, ddx: np.ndarray) -> Target:
    """The target s0 ⊕ x(t), with its derivatives in the tangent space at s0 ⊕ x (not at s0)."""
    value = feature.integrate(origin, x)
    if is_flat(feature):
        return Target(value, dx, ddx)
    h = _small_step(dx, ddx)
    before = feature.integrate(origin, x - h * dx + 0.5 * h * h * ddx)
    after = feature.integrate(origin, x + h * dx + 0.5 * h * h * ddx)
    return Target(value, *central(feature, before, value, after, h))


def _small_step(dx: np.ndarray, ddx: np.ndarray) -> float:
    """A time in which x moves about 3e-4: there truncation and rounding of a second difference are both ~1e-8."""
    return 3e-4 / max(float(np.abs(dx).max()), math.sqrt(float(np.abs(ddx).max())), 1e-6)
