"""What users pass to references: checked by the name of the argument, and copied so that it stays as it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from sot import checks
from sot.checks import vector
from sot.errors import TaskError
from sot.feature import Feature, Value
from sot.lie import SE3
from sot.reference.trajectory import Guarded, is_finite, is_flat

LARGEST = 1e9  # no length, angle, time or rate of a robot is beyond this, and their products stay finite
SMALLEST = 1e-9
SHORTEST = 1e-6  # s

# -- when a reference is made: the feature is not known yet ------------------------------------------------


def number(value: Any, where: str, low: float = -LARGEST, high: float = LARGEST) -> float:
    """A number between two bounds."""
    try:
        result = float(value)
    except (TypeError, ValueError):
        raise TaskError(f"{where}: expected a number, got {value!r}") from None
    if not (low <= result <= high):
        raise TaskError(f"{where}: expected a number from {low:g} to {high:g}, got {result:g}")
    return result


def positive(value: object, where: str) -> float:
    """A number above zero."""
    return number(value, where, SMALLEST)


def from_zero(value: object, where: str) -> float:
    """A number that is not negative."""
    return number(value, where, 0.0)


def duration(value: object, where: str) -> float:
    """A time that something can take, s."""
    return number(value, where, SHORTEST)


def numbers(value: object, where: str) -> np.ndarray:
    """Finite numbers in any shape."""
    try:
        array = checks.numbers(value)
    except (TypeError, ValueError):
        raise TaskError(f"{where}: expected numbers, got {value!r}") from None
    if array.size == 0:
        raise TaskError(f"{where}: is empty")
    if not (np.abs(array).max() <= LARGEST):
        raise TaskError(f"{where}: has a value that is not finite or beyond {LARGEST:g}: {array.tolist()}")
    return array


def bounds(value: object, where: str) -> float | np.ndarray:
    """One number above zero, or one per row."""
    array = numbers(value, where)
    if not (array.min() >= SMALLEST):
        raise TaskError(f"{where}: expected numbers > 0, got {array.tolist()}")
    return float(array) if array.ndim == 0 else array


def place(value: object, where: str) -> Value | None:
    """A value of a feature that is not known yet. What is not numbers (None, a name, a table) is left to it."""
    if isinstance(value, SE3):
        return copied(value, where)
    return numbers(value, where) if isinstance(value, (int, float, list, tuple, np.ndarray)) else value


def places(value: Any, where: str) -> list[Value]:
    """A list of values."""
    if not isinstance(value, (list, tuple, np.ndarray)) or len(value) == 0:
        raise TaskError(f"{where}: expected a list of points, got {value!r}")
    return [place(point, f"{where}[{i}]") for i, point in enumerate(value)]


def each(value: Any, count: int, where: str, check: Callable[[object, str], float]) -> tuple[float, ...]:
    """One checked number for each of `count` things; a single number is repeated."""
    items = [value] * count if np.ndim(value) == 0 else list(value)
    if len(items) != count:
        raise TaskError(f"{where}: expected {count} numbers, one per point, got {len(items)}")
    return tuple(check(item, f"{where}[{i}]") for i, item in enumerate(items))


def times(value: Any, count: int, where: str) -> tuple[float, ...]:
    """Increasing times, one per point, s."""
    if not isinstance(value, (list, tuple, np.ndarray)):
        raise TaskError(f"{where}: expected a list of {count} times, got {value!r}")
    result = each(value, count, where, from_zero)
    for i, (earlier, later) in enumerate(pairwise(result)):
        if not (later - earlier >= SHORTEST):
            raise TaskError(f"{where}: must increase, but [{i}] is {earlier:g} and [{i + 1}] is {later:g}")
    if not (result[-1] >= SHORTEST):
        raise TaskError(f"{where}: the last must be after 0")
    return result


def function(value: object, where: str) -> Callable[..., Any]:
    """Something that can be called."""
    if not callable(value):
        raise TaskError(f"{where}: expected a function of time, got {value!r}")
    return value


def plane(normal: object, axes: object) -> np.ndarray:
    """Two orthonormal directions that span a circle's plane, shape (2, 3), from its normal or from two axes."""
    if axes is None:
        n = vector((0.0, 0.0, 1.0) if normal is None else normal, 3, "circle: normal")
        first = np.eye(3)[0] if np.abs(n[0]) <= 0.9 * np.linalg.norm(n) else np.eye(3)[1]
        pair, where = np.array([first - (first @ n) / max(n @ n, 1e-300) * n, np.cross(n, first)]), "normal"
    else:
        pair, where = numbers(axes, "circle: axes"), "axes"
        if pair.shape != (2, 3):
            raise TaskError(f"circle: axes: expected two directions of 3 numbers, got shape {pair.shape}")
        u = pair[0] / max(float(np.linalg.norm(pair[0])), 1e-300)
        pair[1] -= (u @ pair[1]) * u
    lengths = np.linalg.norm(pair, axis=1, keepdims=True)
    if not (lengths.min() >= SMALLEST):
        raise TaskError(f"circle: {where}: spans no plane")
    return pair / lengths


# -- when a reference starts: the feature is known ---------------------------------------------------------


def copied(value: Value, where: str) -> Value:
    """A finite value that no one else holds."""
    own = value.copy() if isinstance(value, SE3) else np.array(value, dtype=float)
    if not is_finite(own):
        raise TaskError(f"{where}: has a value that is not finite")
    return own


def value_of(feature: Feature, target: object, where: str) -> Value:
    """A user's target as a value of the feature."""
    return copied(feature.as_value(target, where), where)


def point_of(feature: Feature, target: object, where: str) -> Value:
    """A value of the feature out of a list, where a lone number is more likely a forgotten bracket."""
    if isinstance(target, np.ndarray) and target.ndim == 0 and feature.dim > 1:
        raise TaskError(f"{where}: expected {feature.dim} numbers, got {float(target):g}; each point is a list")
    return value_of(feature, target, where)


def step_of(feature: Feature, origin: Value, step: object, where: str) -> np.ndarray:
    """A user's step in the tangent space, shape (dim,). For a pose three numbers are a translation."""
    if not isinstance(origin, SE3):
        return vector(step, feature.dim, where)
    size = np.size(step)  # type: ignore[arg-type]  # size takes anything
    if size not in (3, 6):
        raise TaskError(f"{where}: expected 6 numbers (linear, angular) or 3 (linear), got {size}")
    return np.concatenate([vector(step, size, where), np.zeros(6 - size)])


def sample_of(feature: Feature, sample: Any, where: str) -> tuple[Value, np.ndarray | None]:
    """What a source gave, a value or a pair (value, velocity), as a pair."""
    pair = isinstance(sample, tuple) and len(sample) == 2
    if pair and feature.dim == 2 and np.ndim(sample[1]) == 0:
        pair = False  # two plain numbers are a value of two rows
    if not pair:
        return value_of(feature, sample, where), None
    return value_of(feature, sample[0], where), vector(sample[1], feature.dim, f"{where}: velocity")


def rate_along(bound: float | np.ndarray, step: np.ndarray, where: str) -> float:
    """The rate ċ at which a motion c · step keeps a bound on its length, or one on each row."""
    if isinstance(bound, float):
        return bound / float(np.linalg.norm(step))
    limits, rows = vector(bound, step.size, where), step != 0.0
    return float((limits[rows] / np.abs(step[rows])).min())


def check_short_way(feature: Feature, points: Sequence[Value], steps: np.ndarray) -> None:
    """Refuse a spline that would turn the long way round: half-way it is on the wrong side of its two points."""
    if is_flat(feature):
        return
    for i, (here, there) in enumerate(pairwise(points)):
        way = feature.difference(there, here)
        middle = feature.integrate(points[0], 0.5 * (steps[i] + steps[i + 1]))
        miss = feature.difference(middle, feature.integrate(here, 0.5 * way))
        if not (np.linalg.norm(miss) <= 0.9 * np.linalg.norm(way) + 1e-9):
            raise TaskError(
                f"spline: points: between its points {i} and {i + 1} (0 is the start) it would turn the long way "
                "round, because they are on either side of half a turn from the start; use waypoints"
            )


def tried(trajectory: Guarded, time: float, where: str) -> Guarded:
    """A trajectory that has given one good target: what fails from the beginning is the user's to know."""
    trajectory.at(time)
    if trajectory.rejected:
        raise TaskError(f"{where}: fails at the start: {trajectory.reason}")
    return trajectory
