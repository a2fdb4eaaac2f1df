"""A velocity from positions, with less delay than the vendor's."""

from __future__ import annotations

import math

import numpy as np


class Difference:
    """Differences of positions through a first-order filter:  v ← v + (1 − e^(−h/T)) ((p − p₋)/h − v).

    Its delay is T plus half a period. Samples without new time leave it as it is.
    """

    def __init__(self, time_constant: float) -> None:
        """
        Args:
            time_constant: T, s; 0: plain differences.
        """
        self._constant = time_constant
        self._time: float | None = None
        self._position, self._velocity = np.zeros(3), np.zeros(3)

    def update(self, time: float, position: np.ndarray) -> np.ndarray:
        """Velocity at a new position, m/s, shape (3,)."""
        if self._time is not None and time > self._time:
            h = time - self._time
            share = -math.expm1(-h / self._constant) if self._constant > 0.0 else 1.0
            self._velocity = self._velocity + share * ((position - self._position) / h - self._velocity)
        if self._time is None or time > self._time:
            self._time, self._position = time, position.copy()
        return self._velocity.copy()
