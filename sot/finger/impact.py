"""Collisions: velocities change in no time, momentum is kept, and so is the part e of the closing speed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sot.finger.bodies import Line
from sot.finger.mode import pool

LONGEST = 10_000  # blows at one instant; what is left after that is taken as inelastic
SAME = 1e-3  # part of the rest speed below which two bodies have the same velocity


@dataclass(frozen=True)
class Blow:
    """What happened at one instant.

    Attributes:
        v: Velocities after it, m/s, shape (n,).
        impulse: With which each pair pushed itself apart, N·s, shape (n − 1,).
        loss: Energy that was lost, J.
    """

    v: np.ndarray
    impulse: np.ndarray
    loss: float


def collide(line: Line, v: np.ndarray, touching: np.ndarray, rest_speed: float) -> Blow:
    """Let bodies that touch collide until none of them is closing.

    Pairs collide one after the other, the fastest first, as if there were a hair's breadth between all of them: so a
    row of balls passes a blow on to the last one. A pair that would part with less than the rest speed stays together,
    which ends the endless row of ever smaller bounces.

    Args:
        line: All bodies.
        v: Velocities before, m/s.
        touching: True for pairs that touch, shape (n − 1,).
        rest_speed: m/s.
    """
    v, impulse, loss = v.copy(), np.zeros(touching.size), 0.0
    with np.errstate(divide="ignore"):  # two walls side by side
        reduced = 1.0 / (1.0 / line.mass[:-1] + 1.0 / line.mass[1:])
    for _ in range(LONGEST):
        closing = np.where(touching, v[:-1] - v[1:], 0.0)
        k = int(np.argmax(closing))
        if not (closing[k] > SAME * rest_speed):
            break
        e = float(line.restitution[k])
        e = e if e * closing[k] > rest_speed else 0.0
        J = (1.0 + e) * float(reduced[k] * closing[k])
        v[k] -= J / line.mass[k]
        v[k + 1] += J / line.mass[k + 1]
        impulse[k] += J
        loss += 0.5 * J * (1.0 - e) * float(closing[k])  # J times the mean of the closing speeds u and −e u
    together, rest = settle(line, v, touching, SAME * rest_speed)
    mean = 0.5 * (v[:-1] - v[1:] + together[:-1] - together[1:])
    return Blow(together, impulse + rest, loss + float(rest @ mean))


def settle(line: Line, v: np.ndarray, touching: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """Give bodies that touch and do not part the very same velocity; also the impulses that takes."""
    v, impulse, start = v.copy(), np.zeros(touching.size), 0
    for end in range(1, v.size + 1):
        if end < v.size and touching[end - 1]:
            continue
        chain = slice(start, end)
        weight = np.where(np.isinf(line.mass[chain]), 0.0, line.mass[chain])
        blocks, rates = pool(weight * v[chain], line.mass[chain], np.zeros(end - start), tolerance=tolerance)
        for (a, b), rate in zip(blocks, rates, strict=True):
            if a < b:  # (m v / m is not always v)
                impulse[start + a : start + b] = _impulses(line, v, rate, start + a, start + b)
                v[start + a : start + b + 1] = rate
        start = end
    return v, impulse


def _impulses(line: Line, v: np.ndarray, after: float, first: int, last: int) -> np.ndarray:
    """Between the bodies first … last: what one side loses goes through the pair, up to a wall, which takes it."""
    bodies = slice(first, last + 1)
    walls = np.isinf(line.mass[bodies])
    loses = np.where(walls, 0.0, np.where(walls, 0.0, line.mass[bodies]) * (v[bodies] - after))
    from_left, from_right = np.cumsum(loses)[:-1], -np.cumsum(loses[::-1])[::-1][1:]
    behind = np.cumsum(walls)[:-1] > 0  # pairs on the right of a wall
    return np.where(behind, from_right, from_left)
