"""A passivity observer and controller in the time domain.

A controller computes forces at instants, F_k, as if they followed the stylus. Held and late ones do another work over a
period than those would: the difference is energy that nobody put in,

    made = F_acted · Δx − ½ (F_(k−1) + F_k) · Δx          (½ K Δx² for a spring without delay)

The observer adds it up, less what half of the device's own damping takes, and the controller takes the rest out by a
damper α = debt / (T |v|²), no stronger than a sampled damper may be: α (T + td) ≤ m/2. What is below zero is forgotten:
a wall that was pressed for long has no savings to buzz with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sot.haptic.settings import Device

SHARE = 0.5  # part of the device's damping that may be spent on made energy; the rest damps


@dataclass(frozen=True)
class Energy:
    """What the observer has seen, J.

    Attributes:
        wall: Energy that went into what is rendered; below zero if more came out.
        made: Energy that holding and delay have made.
        debt: What of it is still to be taken out.
        taken: What the controller's damper took out.
    """

    wall: float = 0.0
    made: float = 0.0
    debt: float = 0.0
    taken: float = 0.0


class Passivity:
    """Watches a device, and damps it if it is told to."""

    def __init__(self, settings: Device, size: int, period: float) -> None:
        self._settings, self._period = settings, period
        self._most = 0.5 * settings.mass / (period + settings.delay)  # N·s/m
        self._last = np.zeros(size)
        self._acted = np.zeros(size)
        self._damper = np.zeros(size)
        self.energy = Energy()

    def force(self, wanted: np.ndarray, step: np.ndarray) -> np.ndarray:
        """The force to send, N.

        Args:
            wanted: What the controller asks for, N.
            step: How far the stylus went in the last period, m.
        """
        e, T = self.energy, self._period
        square = float(step @ step)
        taken = -float(self._damper @ step)
        made = float((self._acted - self._damper - 0.5 * (self._last + wanted)) @ step)
        own = SHARE * self._settings.damping * square / T
        debt = max(e.debt + made - own - taken, 0.0)
        self.energy = Energy(e.wall - float(self._acted @ step), e.made + made, debt, e.taken + taken)
        self._last = wanted.copy()
        self._damper = np.zeros_like(wanted)
        if self._settings.passivity and square > 0.0:
            self._damper = -min(debt * T / square, self._most) * step / T
        return wanted + self._damper

    def acted(self, force: np.ndarray) -> None:
        """Tell what acted in the period that has passed, N: after limits and delay."""
        self._acted = force.copy()
