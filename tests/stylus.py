"""A stylus at a wall without a controller, for the tests of the haptic device."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sot.robots import Haptic
from sot.state import Command

T = 5e-4
PLAIN = {"mass": 0.1, "damping": 1.0, "quantum": 0.0, "estimate": "difference", "bound": "off",
         "force_limit": 100.0, "speed_limit": 100.0}  # fmt: skip


def push(*force: float) -> Command:
    return Command(0.0, None, tau=np.array(force))  # type: ignore[arg-type]


def press(haptic: Haptic, K: float, B: float, seconds: float) -> np.ndarray:
    """True positions of a stylus at a wall that fills x < 0."""
    return touch(haptic, [K, 0.0, 0.0], B, seconds)[:, 0]


def touch(haptic: Haptic, K: Sequence[float], B: float, seconds: float) -> np.ndarray:
    """True positions at walls that fill x < 0, y < 0 and z < 0, m, shape (n, 3): three experiments in one."""
    places, K = [], np.array(K)
    for _ in range(round(seconds / haptic.dt)):
        state = haptic.read()
        force = np.where((state.q < 0.0) & (K > 0.0), np.maximum(-K * state.q - B * state.v, 0.0), 0.0)
        haptic.write(push(*force))
        places.append(haptic.plant.x.copy())
    return np.array(places)


def swing(places: np.ndarray) -> np.ndarray:
    """Half of the way between the outermost places of the last 0.5 s, m."""
    return np.ptp(places[-round(0.5 / T) :], axis=0) / 2.0
