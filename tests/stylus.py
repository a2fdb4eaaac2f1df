"""A stylus at a wall without a controller, for the tests of the haptic device."""

from __future__ import annotations

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
    places = []
    for _ in range(round(seconds / haptic.dt)):
        state = haptic.read()
        force = max(-K * state.q[0] - B * state.v[0], 0.0) if state.q[0] < 0.0 else 0.0
        haptic.write(push(force, 0.0, 0.0))
        places.append(haptic.plant.x[0])
    return np.array(places)
