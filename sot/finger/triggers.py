"""What ends a mode: signals that are positive and fall through zero."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sot.finger.bodies import Line
from sot.finger.equations import Equations
from sot.finger.mode import Group

CLEAR = 2.0  # a force that is this many times the slack below zero counts as negative for those who decide, too
TINY = 1e-300  # m/s²: two that have just parted do part, whatever rounding says

Signal = Callable[[Any, np.ndarray], Any]


@dataclass(frozen=True, slots=True)
class Trigger:
    """An event to wait for.

    Attributes:
        what: A gap closes, a sliding group stops, a contact force ends, or the applied force beats static friction.
        which: The pair (gap, release) or the group's first body (stop, slip).
        signal: Function of (τ, y), at one time or several, positive as long as it does not happen.
    """

    what: Literal["gap", "stop", "release", "slip"]
    which: int
    signal: Signal


def triggers(motion: Equations, v: np.ndarray, gap: np.ndarray) -> list[Trigger]:
    """All events to wait for.

    Args:
        motion: Equations of motion.
        v: Velocities at the start, m/s, shape (n,).
        gap: Free space at the start, m, shape (n − 1,).
    """
    speeds = np.diff(v)
    found = [
        Trigger("gap", k, _gap(motion, k, float(gap[k]), float(speeds[k])))
        for k in range(gap.size)
        if _may_close(motion, k)
    ]
    for i, group in enumerate(motion.groups):
        if group.direction:
            found.append(Trigger("stop", group.first, _speed(motion, i, group)))
        found += [Trigger("release", k, _pressing(motion, k, group)) for k in range(group.first, group.last)]
    if motion.mode.finger.stuck and not motion.piece.constant:
        found.append(Trigger("slip", motion.mode.finger.first, _held(motion)))
    return found


def _may_close(motion: Equations, pair: int) -> bool:
    together = any(group.first <= pair < group.last for group in motion.mode.groups)
    return not together and (pair in motion.place or pair + 1 in motion.place)


def _gap(motion: Equations, pair: int, start: float, speed: float) -> Signal:
    """Free space; over τ or τ²/2 if it starts with none, so that the start is not taken for the next collision."""
    left, right = motion.place.get(pair), motion.place.get(pair + 1)

    def between(values: np.ndarray) -> Any:
        return (0.0 if right is None else values[right]) - (0.0 if left is None else values[left])

    if start > 0.0:
        return lambda tau, y: start + between(y)
    if speed > 0.0:
        return _over(lambda tau, y: between(y), 1, speed)
    pull = float(between(motion.acceleration(0.0, motion.y0)))
    return _over(lambda tau, y: between(y), 2, max(pull, TINY))


def _speed(motion: Equations, i: int, group: Group) -> Signal:
    """Speed in the direction of sliding; over τ if the group has just broken away."""
    place, s = motion.count + i, group.direction
    if motion.y0[place] != 0.0:
        return lambda tau, y: s * y[place]
    return _over(lambda tau, y: s * y[place], 1, s * float(motion.acceleration(0.0, motion.y0)[i]))


def _pressing(motion: Equations, pair: int, group: Group) -> Signal:
    slack = CLEAR * motion.mode.slack
    return lambda tau, y: motion.contact_force(pair, group, tau, y) + slack


def _held(motion: Equations) -> Signal:
    """How far the applied force is from what can be held."""
    low, high = holding(motion.line, motion.mode.finger)
    slack = CLEAR * motion.mode.slack
    return lambda tau, y: np.minimum(motion.force(tau) - low, high - motion.force(tau)) + slack


def holding(line: Line, group: Group) -> tuple[float, float]:
    """Least and largest applied force, N, under which the finger's group, at rest, stays as it is."""
    finger = line.finger
    return -float(line.hold[group.first : finger + 1].sum()), float(line.hold[finger : group.last + 1].sum())


def _over(signal: Signal, power: int, start: float) -> Signal:
    """A signal that starts at zero, divided by τ (power 1) or τ²/2 (power 2), and its limit at τ = 0."""

    def deflated(tau: Any, y: np.ndarray) -> Any:
        value = signal(tau, y)
        if isinstance(tau, np.ndarray):
            return np.where(tau > 0.0, power * value / np.where(tau > 0.0, tau, 1.0) ** power, start)
        return power * value / tau**power if tau > 0.0 else start

    return deflated
