"""A passivity observer and controller in the time domain.

A controller computes forces at instants, F_k, as if they followed the stylus. Held and late ones do another work over a
period than those would: the difference is energy that nobody put in,

    made = F_acted · Δx − ½ (F_(k−1) + F_k) · Δx          (½ K Δx² for a spring without delay)

The observer adds it up, less what half of the device's own damping takes, and the controller takes the rest out by a
damper α = debt / (T |v|²), no stronger than a sampled damper may be: α (T + td) ≤ 0.8 m. What is below zero is
forgotten: a wall that was pressed for long has no savings to buzz with.

Encoders round by up to half a quantum q: the force answers a place that is off by so much, and its work is counted on a
way that is. Of a spring each of the two hides up to q/2 |K Δx| = q/2 |F_k − F_(k−1)|. Both count as made.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sot.haptic.settings import Device

SHARE = 0.5  # part of the device's damping that may be spent on made energy; the rest damps
STRONGEST = 0.8  # α (T + td) / m of the controller's damper


@dataclass(frozen=True)
class Energy:
    """What the observer has seen, J.

    Attributes:
        wall: Energy that went into what is rendered; below zero if more came out.
        made: Energy that holding, delay and rounding have made.
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
        """
        Args:
            settings: What the device is like.
            size: Number of axes.
            period: The longest one, s.
        """
        self._settings, self._period = settings, period
        self._most = STRONGEST * settings.mass / (period + settings.delay)  # N·s/m
        self._last = np.zeros(size)
        self._acted = np.zeros(size)
        self._damper = np.zeros(size)
        self.energy = Energy()

    def force(self, wanted: np.ndarray, step: np.ndarray, pace: np.ndarray) -> np.ndarray:
        """The force to send, N.

        Args:
            wanted: What the controller asks for, no more than the device can give, N.
            step: How far the stylus went in the last period, m.
            pace: How fast it is, m/s.
        """
        e, device = self.energy, self._settings
        square = float(pace @ pace)
        taken = -float(self._damper @ step)
        made = float((self._acted - self._damper - 0.5 * (self._last + wanted)) @ step)
        if device.quantum > 0.0 and step.any():
            change = wanted - self._last
            made += device.quantum * math.sqrt(change @ change)
        own = SHARE * device.damping * max(float(pace @ step), 0.0)
        debt = max(e.debt + made - own - taken, 0.0)
        self.energy = Energy(e.wall - float(self._acted @ step), e.made + made, debt, e.taken + taken)
        self._last = wanted.copy()
        self._damper = np.zeros_like(wanted)
        if device.passivity and square > 0.0:
            self._damper = -min(debt / (self._period * square), self._most) * pace
        return wanted + self._damper

    def acted(self, force: np.ndarray) -> None:
        """Tell what acted in the period that has passed, N: after limits and delay."""
        self._acted = force.copy()
