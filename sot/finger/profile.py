"""The applied force as a function of time, made of smooth pieces: simulations stop at every breakpoint."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sot.errors import RobotError
from sot.finger.bodies import number


class Piece(Protocol):
    """A force, N, that is smooth from one breakpoint to the next."""

    @property
    def constant(self) -> bool:
        """True if it does not change."""

    @property
    def linear(self) -> bool:
        """True if it is a straight line."""

    def __call__(self, t: float) -> float:
        """Force at a time, N."""


@dataclass(frozen=True, slots=True)
class Straight:
    """force + slope (t − start)."""

    start: float
    force: float
    slope: float = 0.0
    linear: bool = True

    @property
    def constant(self) -> bool:
        return self.slope == 0.0

    def __call__(self, t: float) -> float:
        return self.force + self.slope * (t - self.start)


@dataclass(frozen=True, slots=True)
class Smooth:
    """A user's function between two breakpoints. What it does at or beyond them belongs to its other pieces."""

    f: Callable[[float], float]
    start: float
    end: float
    constant: bool = False
    linear: bool = False

    def __call__(self, t: float) -> float:
        t = min(max(t, self.start), math.nextafter(self.end, -math.inf))
        return number(self.f(t), f"applied force at t = {t:g} s")


class Profile:
    """A force over time in pieces.

    Attributes:
        breakpoints: Where it jumps or bends, s, in order.
        pieces: One more than breakpoints.
        max_step: Longest step of the integration, s: below the shortest feature of a function.
    """

    def __init__(self, breakpoints: Sequence[float], pieces: Sequence[Piece], max_step: float = math.inf) -> None:
        self.breakpoints, self.pieces, self.max_step = tuple(breakpoints), tuple(pieces), max_step

    def at(self, t: float) -> tuple[Piece, float]:
        """The piece that begins at or goes on after a time, and when it ends."""
        k = bisect_right(self.breakpoints, t)
        return self.pieces[k], self.breakpoints[k] if k < len(self.breakpoints) else math.inf

    def __call__(self, t: float) -> float:
        """Force, N; at a breakpoint that after it."""
        return self.at(t)[0](t)


def constant(force: float) -> Profile:
    """The same force at all times, N."""
    return Profile((), [Straight(0.0, number(force, "applied force"))])


def pulse(force: float, start: float, end: float) -> Profile:
    """A force, N, from one time to another, s, and none before and after."""
    return steps([(start, force), (end, 0.0)])


def steps(points: Sequence[tuple[float, float]]) -> Profile:
    """Constant from each point (s, N) to the next; none before the first, and the last one goes on."""
    times, forces = _table(points, "steps", strict=True)
    return Profile(times, [Straight(0.0, 0.0), *(Straight(t, f) for t, f in zip(times, forces, strict=True))])


def ramps(points: Sequence[tuple[float, float]]) -> Profile:
    """Straight lines between points (s, N); constant before the first and after the last. Equal times are a jump."""
    times, forces = _table(points, "ramps", strict=False)
    slopes = [
        (f1 - f0) / (t1 - t0) if t1 > t0 else 0.0
        for t0, t1, f0, f1 in zip(times, times[1:], forces, forces[1:], strict=False)
    ]
    lines = [Straight(t, f, slope) for t, f, slope in zip(times, forces, [*slopes, 0.0], strict=True)]
    return Profile(times, [Straight(0.0, forces[0]), *lines])


def function(f: Callable[[float], float], breakpoints: Sequence[float] = (), max_step: float = 0.01) -> Profile:
    """Any function of time (s → N).

    Args:
        f: The function, smooth between breakpoints.
        breakpoints: Where it jumps or bends, s.
        max_step: Longest step of the integration, s: below its shortest feature.
    """
    if not callable(f):
        raise RobotError(f"applied force: expected a function of time, got {f!r}")
    times = sorted(number(t, f"breakpoints[{i}]") for i, t in enumerate(breakpoints))
    edges = [-math.inf, *times, math.inf]
    pieces = [Smooth(f, a, b) for a, b in itertools.pairwise(edges)]
    return Profile(times, pieces, number(max_step, "max_step", above=0.0))


def as_profile(force: object) -> Profile:
    """A profile from what a user gives: a profile, a number, or a function."""
    if isinstance(force, Profile):
        return force
    return function(force) if callable(force) else constant(force)  # type: ignore[arg-type]  # checked there


def _table(points: Sequence[tuple[float, float]], where: str, strict: bool) -> tuple[list[float], list[float]]:
    try:
        table = np.array(points, dtype=float)
    except (TypeError, ValueError):
        raise RobotError(f"{where}: expected a list of (time, force), got {points!r}") from None
    if table.ndim != 2 or table.shape[1] != 2 or not len(table):
        raise RobotError(f"{where}: expected a list of (time, force), got shape {table.shape}")
    if not np.isfinite(table).all():
        raise RobotError(f"{where}: has a number that is not finite: {table.tolist()}")
    order = np.diff(table[:, 0])
    if not (order > 0.0 if strict else order >= 0.0).all():
        raise RobotError(f"{where}: times must {'grow' if strict else 'not go back'}, got {table[:, 0].tolist()}")
    return table[:, 0].tolist(), table[:, 1].tolist()
