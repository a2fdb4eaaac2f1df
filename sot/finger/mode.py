"""Who moves together, who is held by friction, who leaves whom: decided at the start of every epoch.

Bodies that touch and have the same velocity are a chain. Its accelerations follow from two conditions: the order
a_i ≤ a_{i+1} is kept, and a contact force N_i ≥ 0 acts only where the two are equal. They are those of

    min  Σ ½ m_i a_i² − f_i a_i + h_i |a_i|    subject to  a_i ≤ a_{i+1}

with f the forces on each body and h what static friction can hold (0 for a body that slides, infinite for a wall). It
is enough to go from left to right and to join neighbours whose order is wrong (pool adjacent violators).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sot.finger.bodies import Line

SLACK = 1e-12  # part of the forces below which a contact force is none: rounding


@dataclass(frozen=True)
class Group:
    """Neighbours that touch and move as one.

    Attributes:
        first: Index of the leftmost body.
        last: Index of the rightmost one.
        stuck: True if friction or a wall holds it at rest.
        direction: Of the sliding, +1 or −1, against which friction acts; 0 where it is stuck or has none.
    """

    first: int
    last: int
    stuck: bool
    direction: int

    @property
    def bodies(self) -> slice:
        """Its place in arrays."""
        return slice(self.first, self.last + 1)

    def __contains__(self, body: int) -> bool:
        return self.first <= body <= self.last


@dataclass(frozen=True)
class Mode:
    """A way of moving together, in which the equations of motion are smooth.

    Attributes:
        groups: From left to right.
        finger: The finger's group.
        slack: What contact forces may be below 0 by rounding, N.
    """

    groups: tuple[Group, ...]
    finger: Group
    slack: float

    @property
    def moving(self) -> list[Group]:
        """The groups that are not stuck."""
        return [group for group in self.groups if not group.stuck]

    def same(self, other: Mode | None) -> bool:
        """True if nobody moves differently."""
        return other is not None and self.groups == other.groups


def decide(line: Line, v: np.ndarray, gap: np.ndarray, force: float, parted: int | None = None) -> Mode:
    """The mode at a state and under an applied force.

    Args:
        line: All bodies.
        v: Velocities, m/s, equal to the bit where bodies move together.
        gap: Free space, m, exactly 0 where bodies touch.
        force: Applied force, N.
        parted: A pair that has just lost its contact.
    """
    touching = (gap == 0.0) & (v[:-1] == v[1:])
    if parted is not None:
        touching[parted] = False
    finite = line.hold[np.isfinite(line.hold)]
    slack = SLACK * (1.0 + abs(force) + float(finite.max(initial=0.0)))
    groups: list[Group] = []
    start = 0
    for end in range(1, v.size + 1):
        if end == v.size or not touching[end - 1]:
            groups += _chain(line, start, end, float(v[start]), force, slack)
            start = end
    finger = next(group for group in groups if line.finger in group)
    return Mode(tuple(groups), finger, slack)


def _chain(line: Line, start: int, end: int, v: float, force: float, slack: float) -> list[Group]:
    """Groups of a chain, bodies start to end − 1."""
    push = np.zeros(end - start)
    if start <= line.finger < end:
        push[line.finger - start] = force
    if v != 0.0:
        push -= line.drag[start:end] * v + np.sign(v) * line.slide[start:end]
        blocks, _ = pool(push, line.mass[start:end], np.zeros(end - start), slack=slack)
        return [_group(line, start + a, start + b, v) for a, b in blocks]
    blocks, rates = _break_away(line, start, end, push, slack)
    return [_group(line, start + a, start + b, rate) for (a, b), rate in zip(blocks, rates, strict=True)]


def _group(line: Line, first: int, last: int, going: float) -> Group:
    """Bodies first … last, that go to the right (> 0), to the left (< 0) or nowhere."""
    rubs = bool(line.hold[first : last + 1].sum() > 0.0)
    return Group(first, last, rubs and going == 0.0, int(np.sign(going)) if rubs else 0)


def _break_away(
    line: Line, start: int, end: int, push: np.ndarray, slack: float
) -> tuple[list[tuple[int, int]], list[float]]:
    """Of a chain at rest. Those that friction cannot hold slide, with less friction, and may take others along."""
    hold, slides = line.hold[start:end].copy(), np.zeros(end - start, dtype=bool)
    while True:
        blocks, rates = pool(push, line.mass[start:end], hold, slack=slack)
        rate = np.repeat(rates, [b - a + 1 for a, b in blocks])
        fresh = (rate != 0.0) & ~slides
        if not fresh.any():
            return blocks, rates
        slides |= fresh
        hold[fresh] = 0.0
        push = push - np.where(fresh, np.sign(rate) * line.slide[start:end], 0.0)


def pool(
    push: np.ndarray, mass: np.ndarray, hold: np.ndarray, *, tolerance: float = 0.0, slack: float = 0.0
) -> tuple[list[tuple[int, int]], list[float]]:
    """Join neighbours until rates grow from left to right.

    Args:
        push: f, N.
        mass: m, kg, infinite for walls.
        hold: h, N.
        tolerance: Rates that grow by no more than this are equal.
        slack: The same as a force on the heavier of two blocks, N. (A wall does not count.)

    Returns:
        First and last body of each block, and its rate (push, less what is held, over mass).
    """
    blocks: list[tuple[int, int]] = []
    sums: list[tuple[float, float, float]] = []
    rates: list[float] = []
    for i in range(push.size):
        first, total = i, (float(push[i]), float(mass[i]), float(hold[i]))
        rate = _rate(*total)
        while rates and rates[-1] >= rate - tolerance - slack / _heavier(sums[-1][1], total[1]):
            first, before = blocks.pop()[0], sums.pop()
            rates.pop()
            total = (before[0] + total[0], before[1] + total[1], before[2] + total[2])
            rate = _rate(*total)
        blocks.append((first, i))
        sums.append(total)
        rates.append(rate)
    return blocks, rates


def _heavier(first: float, second: float) -> float:
    """The larger of two masses, but not that of a wall unless both are."""
    low, high = sorted((first, second))
    return high if math.isfinite(high) else low


def _rate(push: float, mass: float, hold: float) -> float:
    """argmin ½ m a² − f a + h |a|: nothing as long as |f| ≤ h."""
    left = abs(push) - hold
    return math.copysign(left / mass, push) if left > 0.0 and math.isfinite(mass) else 0.0
