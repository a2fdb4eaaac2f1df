"""What a simulation gives back: motion, epochs, events, balances."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from sot.errors import RobotError, unknown
from sot.finger.balance import Balance
from sot.finger.bodies import Line

Kind = Literal["bounce", "contact", "jolt", "release", "stick", "slip", "turn"]


@dataclass(frozen=True)
class Event:
    """Something that happened at one instant.

    Attributes:
        time: s.
        kind: `bounce` (they hit and part), `contact` (they hit and stay together), `jolt` (a blow goes through two that
            touch), `release` (they part without a blow), `stick` (friction holds what slid), `slip` (what was held
            slides), `turn` (the direction of sliding changes).
        who: Names, from left to right.
        before: Their velocities before, m/s.
        after: Their velocities after, m/s.
        impulse: With which the two pushed themselves apart, N·s; 0 where there was no blow.
    """

    time: float
    kind: Kind
    who: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    impulse: float = 0.0


@dataclass(frozen=True)
class Epoch:
    """A time in which the same bodies touch, the same are held, and friction acts in the same direction.

    Bounces are events and end no epoch.

    Attributes:
        start: s.
        end: s.
        kind: `touching` if the finger touches something, else `separate`.
        contacts: Groups of two or more that touch, by name.
        stuck: Who is held at rest by friction or a wall; walls themselves are left out.
        sliding: Who slides in a group with dry friction, and in which direction, +1 or −1.
    """

    start: float
    end: float
    kind: Literal["separate", "touching"]
    contacts: tuple[tuple[str, ...], ...]
    stuck: tuple[str, ...]
    sliding: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Reading:
    """What the force sensor in the finger says after a sample.

    Attributes:
        time: s.
        push: Contact force at this instant, N: positive where the finger pushes to the right.
        impulse: Sum of the blows during the sample, N·s.
        dt: Length of the sample, s.
    """

    time: float
    push: float
    impulse: float
    dt: float

    @property
    def force(self) -> float:
        """Both parts as one force: push + impulse / dt, N."""
        return self.push + (self.impulse / self.dt if self.dt > 0.0 else 0.0)


@dataclass(frozen=True, eq=False)
class Samples:
    """The motion at times of one's own; arrays are those of `Record`."""

    time: np.ndarray
    x: np.ndarray
    v: np.ndarray
    force: np.ndarray
    contact: np.ndarray


@dataclass(frozen=True, eq=False)
class Record:
    """A simulation from its start until now.

    Arrays have a row per instant, two where something jumps, and a column per body or wall, from left to right.

    Attributes:
        line: Who is on the line.
        time: s, shape (k,).
        x: Positions of the middles, m, shape (k, n).
        v: Velocities, m/s, shape (k, n).
        a: Accelerations, m/s², shape (k, n).
        force: Applied force, N, shape (k,).
        contact: Contact force between neighbours, N, shape (k, n − 1), blows left out.
        epochs: In order.
        events: In order.
        balance: Momentum and energy.
    """

    line: Line = field(repr=False)
    time: np.ndarray = field(repr=False)
    x: np.ndarray = field(repr=False)
    v: np.ndarray = field(repr=False)
    a: np.ndarray = field(repr=False)
    force: np.ndarray = field(repr=False)
    contact: np.ndarray = field(repr=False)
    epochs: tuple[Epoch, ...]
    events: tuple[Event, ...]
    balance: Balance

    def index(self, name: str) -> int:
        """Column of a body or wall."""
        if name not in self.line.names:
            raise RobotError(unknown("body", name, self.line.names))
        return self.line.names.index(name)

    @property
    def sensor(self) -> np.ndarray:
        """What the finger pushes to the right with, N, shape (k,), blows left out."""
        return finger_force(self.line, self.contact)

    @property
    def blows(self) -> list[tuple[float, float]]:
        """Impulse part of the sensor: times, s, and impulses of the finger to the right, N·s."""
        finger = self.line.names[self.line.finger]
        signed = [(e.time, e.impulse if e.who[0] == finger else -e.impulse) for e in self.events if finger in e.who]
        return [(time, impulse) for time, impulse in signed if impulse != 0.0]

    def at(self, times: np.ndarray | float) -> Samples:
        """The motion at any times, s: between rows by the polynomial with their x, v and a."""
        t = np.atleast_1d(np.asarray(times, dtype=float))
        if not ((t >= self.time[0]) & (t <= self.time[-1])).all():
            raise RobotError(f"record: times must be from {self.time[0]:g} to {self.time[-1]:g} s")
        i = np.clip(np.searchsorted(self.time, t, side="right") - 1, 0, max(self.time.size - 2, 0))
        j = np.minimum(i + 1, self.time.size - 1)
        h = (self.time[j] - self.time[i])[:, None]
        s = np.divide((t - self.time[i])[:, None], h, out=np.ones_like(h), where=h > 0.0)
        x, v = _hermite(s, h, (self.x[i], self.v[i], self.a[i]), (self.x[j], self.v[j], self.a[j]))
        mix = s[:, 0]
        force = (1.0 - mix) * self.force[i] + mix * self.force[j]
        return Samples(t, x, v, force, (1.0 - s) * self.contact[i] + s * self.contact[j])

    def summary(self) -> str:
        """A text for people."""
        from sot.finger.report import summary

        return summary(self)

    def table(self) -> str:
        """All events, a line each."""
        from sot.finger.report import table

        return table(self)

    def plot(self, path: str | Path) -> Path:
        """Draw positions, velocities and forces over time into a file that ends with .png. Needs matplotlib."""
        from sot.finger.plot import plot

        return plot(self, path)

    def animate(self, path: str | Path, *, speed: float = 1.0, rate: float = 25.0) -> Path:
        """Write an animation.

        Args:
            path: A file that ends with .gif (needs Pillow), or .html, a page that needs nothing else.
            speed: 1 is as fast as it was, 0.1 ten times slower.
            rate: Pictures per second.
        """
        from sot.finger.animation import animate

        return animate(self, path, speed, rate)


def finger_force(line: Line, contact: np.ndarray) -> np.ndarray:
    """Force of the finger on its right neighbour less that on its left one, from contact forces, shape (…, n − 1)."""
    total = np.zeros(contact.shape[:-1])
    if line.finger < contact.shape[-1]:
        total = total + contact[..., line.finger]
    return total - contact[..., line.finger - 1] if line.finger > 0 else total


def _hermite(
    s: np.ndarray, h: np.ndarray, start: tuple[np.ndarray, ...], end: tuple[np.ndarray, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """x0 + h v0 s + ½ h² a0 s² + s³ (c3 + c4 s + c5 s²), which ends with x1, v1 and a1, and its rate."""
    (x0, v0, a0), (x1, v1, a1) = start, end
    p = x1 - x0 - h * v0 - 0.5 * h * h * a0
    q = h * (v1 - v0 - h * a0)
    r = h * h * (a1 - a0)
    c3, c4, c5 = 10.0 * p - 4.0 * q + 0.5 * r, -15.0 * p + 7.0 * q - r, 6.0 * p - 3.0 * q + 0.5 * r
    x = x0 + h * v0 * s + 0.5 * h * h * a0 * s * s + s**3 * (c3 + s * (c4 + s * c5))
    rate = s * s * (3.0 * c3 + s * (4.0 * c4 + s * 5.0 * c5))
    return x, v0 + h * a0 * s + np.divide(rate, h, out=np.zeros_like(rate), where=h > 0.0)
