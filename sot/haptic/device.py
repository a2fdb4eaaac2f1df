"""The body of a haptic device: exact motion between changes of the held force, encoders, estimated velocity, works."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from sot.errors import RobotError
from sot.haptic.hand import Hand
from sot.haptic.settings import Device
from sot.kernels import haptic as op

SOON = 1e-12  # s: what is due so soon is due now


@dataclass(frozen=True)
class Works:
    """Where energy went since the start, J: motor + hand = kinetic + lost.

    Attributes:
        motor: Done by the device's force on the stylus.
        hand: Done by the hand on the stylus.
        lost: Taken by damping and friction of the device.
        kinetic: Of the stylus, now, less that at the start.
    """

    motor: float
    hand: float
    lost: float
    kinetic: float


class Plant:
    """A device in motion.

    Attributes:
        x, v: True positions and velocities, m and m/s, shape (n,).
        time: s.
        force: Acting now, N, shape (n,).
    """

    def __init__(self, settings: Device, start: np.ndarray, hand: Hand | None = None) -> None:
        self.settings, self.hand = settings, None if hand is None else hand.begun(start)
        self.x, self.v, self.time = start.astype(float), np.zeros(start.size), 0.0
        self.force = np.zeros(start.size)
        self._pending: deque[tuple[float, np.ndarray]] = deque()
        self._series, self._works = np.zeros(op.TERMS), np.zeros(op.WORKS)
        if self.hand is not None:
            self.hand.at(0.0, start.size)

    def advance(self, force: np.ndarray, end: float) -> np.ndarray:
        """Go on until a time with a new force, which acts after the delay. Returns the mean force that acted, N."""
        self._pending.append((self.time + self.settings.delay, force.copy()))
        begin, pushed = self.time, np.zeros(self.x.size)
        while self.time < end - SOON:
            while self._pending and self._pending[0][0] <= self.time + SOON:
                self.force = self._pending.popleft()[1]
            stop = min([end, *(time for time, _ in self._pending), *self._release()])
            self._move(stop)
            pushed += self.force * (stop - self.time)
            self.time = stop
        self.time = end
        return pushed / (end - begin)

    def pending(self) -> np.ndarray:
        """Sum of the forces that are still to come, N."""
        return sum((force for _, force in self._pending), np.zeros(self.x.size))

    def works(self) -> Works:
        """Where energy went."""
        motor, lost = (float(work) for work in self._works)
        kinetic = 0.5 * self.settings.mass * float(self.v @ self.v)
        return Works(motor, kinetic + lost - motor, lost, kinetic)

    def _release(self) -> list[float]:
        release = None if self.hand is None else self.hand.release
        return [] if release is None or release <= self.time + SOON else [release]

    def _move(self, stop: float) -> None:
        """The target of the hand moves along a line in between."""
        device, hand, size = self.settings, self.hand, self.x.size
        h = stop - self.time
        if hand is None or not hand.holds(self.time + SOON):
            p, target, rate = [device.mass, device.damping, device.friction, 0.0, 0.0], self.x.copy(), np.zeros(size)
        else:
            target = hand.at(self.time, size)
            rate = (hand.at(stop, size) - target) / h if callable(hand.target) else np.zeros(size)
            p = [device.mass + hand.mass, device.damping, device.friction, hand.stiffness, hand.damping]
        done = op.advance(self.x, self.v, self.force, np.array(p), target, rate, h, self._series, self._works)
        if not (done and np.isfinite(self.x).all() and np.isfinite(self.v).all()):
            raise RobotError(f"the device diverged at {self.time:g} s")


class Encoders:
    """What the device tells: rounded positions, and a velocity from them."""

    def __init__(self, settings: Device, start: np.ndarray, period: float) -> None:
        self._quantum, self._samples = settings.quantum, settings.samples(period)
        self.q = self._rounded(start)
        self.v = np.zeros(start.size)
        self.step = np.zeros(start.size)  # over the last period, m
        self.pace = np.zeros(start.size)  # a velocity without much delay, whatever `v` is, m/s
        self._since, self._mark = 0.9 * period, (0.0, self.q)  # of the pace: no difference over much less than a period
        self._past: deque[tuple[float, np.ndarray]] = deque([(0.0, self.q)], maxlen=max(self._samples, 1) + 1)

    def read(self, time: float, x: np.ndarray, v: np.ndarray) -> None:
        """Take a sample."""
        q = self._rounded(x)
        self.step = q - self.q
        self.q = q
        self._past.append((time, q))
        if time - self._mark[0] >= self._since:
            self.pace = (q - self._mark[1]) / (time - self._mark[0])
            self._mark = (time, q)
        begin, first = self._past[0]
        self.v = v.copy() if self._samples == 0 else (q - first) / (time - begin)

    def _rounded(self, x: np.ndarray) -> np.ndarray:
        return x.copy() if self._quantum == 0.0 else self._quantum * np.round(x / self._quantum)
