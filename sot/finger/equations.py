"""Equations of motion in one mode, where they are smooth: m v̇ = F − c v − friction for each group that moves."""

from __future__ import annotations

from typing import Any

import numpy as np

from sot.finger.bodies import Line
from sot.finger.mode import Group, Mode
from sot.finger.profile import Piece


class Equations:
    """The unknowns are y = (displacements, velocities, work of F, drag losses, ∫F dt), over the time τ since the start.

    All functions take one time and y of shape (size,), or k times and y of shape (size, k).

    Attributes:
        line: All bodies.
        mode: How they move.
        groups: Those that move.
        place: Index of the group of each body that moves.
        y0: y at the start.
    """

    def __init__(self, line: Line, mode: Mode, v: np.ndarray, piece: Piece, start: float) -> None:
        """
        Args:
            line: All bodies.
            mode: How they move.
            v: Velocities at the start, m/s, shape (n,).
            piece: Applied force.
            start: Time, s.
        """
        self.line, self.mode, self.piece, self.start = line, mode, piece, start
        self.groups = mode.moving
        self.place = {body: i for i, g in enumerate(self.groups) for body in range(g.first, g.last + 1)}
        self._pushed = self.place.get(line.finger)
        self._mass = np.array([line.mass[g.bodies].sum() for g in self.groups])
        self._drag = np.array([line.drag[g.bodies].sum() for g in self.groups])
        self._friction = np.array([g.direction * line.slide[g.bodies].sum() for g in self.groups])
        self.count = len(self.groups)
        self.y0 = np.zeros(2 * self.count + 3)
        self.y0[self.count : 2 * self.count] = [v[g.first] for g in self.groups]

    @property
    def fastest(self) -> float:
        """Largest rate with which drag ends a motion, 1/s."""
        return float((self._drag / self._mass).max(initial=0.0))

    def force(self, tau: Any) -> Any:
        """Applied force, N."""
        if isinstance(tau, np.ndarray):
            return np.array([self.piece(self.start + t) for t in tau])
        return self.piece(self.start + tau)

    def acceleration(self, tau: Any, y: np.ndarray) -> np.ndarray:
        """Of each group, m/s²."""
        v = y[self.count : 2 * self.count]
        push = (-self._drag * v.T - self._friction).T  # (groups,) or (groups, k)
        if self._pushed is not None:
            push[self._pushed] += self.force(tau)
        return (push.T / self._mass).T

    def rate(self, tau: float, y: np.ndarray) -> np.ndarray:
        """ẏ at one time."""
        n = self.count
        v, F = y[n : 2 * n], self.force(tau)
        ydot = np.empty_like(y)
        ydot[:n] = v
        ydot[n : 2 * n] = self.acceleration(tau, y)
        ydot[2 * n] = 0.0 if self._pushed is None else F * v[self._pushed]
        ydot[2 * n + 1] = self._drag @ (v * v)
        ydot[2 * n + 2] = F
        return ydot

    # -- contact forces ------------------------------------------------------------------------------

    def contact_force(self, pair: int, group: Group, tau: Any, y: np.ndarray) -> Any:
        """With which a pair in a moving group pushes: N = Σ m a + c v + friction − F of the bodies on its right."""
        i, right, line = self.place[pair], slice(pair + 1, group.last + 1), self.line
        N = line.mass[right].sum() * self.acceleration(tau, y)[i] + line.drag[right].sum() * y[self.count + i]
        N = N + group.direction * line.slide[right].sum()
        return N - self.force(tau) if pair < line.finger <= group.last else N

    def contact_forces(self, times: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Of all pairs, N, shape (k, n − 1)."""
        N = np.zeros((times.size, len(self.line.names) - 1))
        for group in self.groups:
            for pair in range(group.first, group.last):
                N[:, pair] = np.maximum(self.contact_force(pair, group, times, y), 0.0)
        if self.mode.finger.stuck and self.mode.finger.first < self.mode.finger.last:
            self._at_rest(self.mode.finger, self.force(times), N)
        return N

    def _at_rest(self, group: Group, force: np.ndarray, N: np.ndarray) -> None:
        """The friction nearest to the finger bears what it can, and the rest goes on to the next body."""
        hold, finger = self.line.hold, self.line.finger
        for pair in range(finger, group.last):
            N[:, pair] = np.maximum(force - hold[finger : pair + 1].sum(), 0.0)
        for pair in range(group.first, finger):
            N[:, pair] = np.maximum(-force - hold[pair + 1 : finger + 1].sum(), 0.0)
