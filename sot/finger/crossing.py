"""A second look at signals: the first fall through zero, also between the steps of an integration.

An integrator compares signs at the ends of its steps, which may be long where the motion is smooth. A finger that just
taps an object and draws back within one step would be missed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar

PARTS = 8  # looks per step
PRECISION = 4.0 * float(np.finfo(float).eps)

Signal = Callable[[Any, np.ndarray], Any]
Solution = Callable[[Any], np.ndarray]


def first_crossing(signals: Sequence[Signal], solution: Solution, steps: np.ndarray) -> tuple[float, int] | None:
    """Time and index of the first signal that falls below zero before the last step ends.

    Args:
        signals: Functions of (τ, y).
        solution: y at one time or at several.
        steps: Ends of the steps, from 0 on.
    """
    if not signals:
        return None
    times = divided(steps, PARTS)
    y = solution(times)
    found = None
    for index, signal in enumerate(signals):
        time = _first(signal, solution, times, np.asarray(signal(times, y), dtype=float))
        if time is not None and time < steps[-1] and (found is None or time < found[0]):
            found = time, index
    return found


def _first(signal: Signal, solution: Solution, times: np.ndarray, values: np.ndarray) -> float | None:
    """Where one signal falls below zero for the first time."""

    def at(time: float) -> float:
        return float(signal(time, solution(time)))

    for j in range(1, times.size):
        low = _dip(at, times, values, j)
        if low is not None and values[j - 1] > 0.0:
            return float(brentq(at, times[j - 1], low, xtol=PRECISION, rtol=PRECISION))
    return None


def _dip(at: Callable[[float], float], times: np.ndarray, values: np.ndarray, j: int) -> float | None:
    """A time between looks j − 1 and j + 1 at which the signal is negative, if there is one."""
    if values[j] < 0.0:
        return float(times[j])
    if j + 1 >= times.size or not (values[j] < values[j - 1] and values[j] <= values[j + 1]):
        return None
    # A parabola through three points: can its lowest point be near zero?
    left, right = values[j - 1] - values[j], values[j + 1] - values[j]
    if values[j] > max(left, right):
        return None
    lowest = minimize_scalar(at, bounds=(times[j - 1], times[j + 1]), method="bounded", options={"xatol": 1e-12})
    return float(lowest.x) if lowest.fun < 0.0 else None


def divided(steps: np.ndarray, parts: int) -> np.ndarray:
    """Times with `parts` equal parts between each two of them."""
    if parts <= 1 or steps.size < 2:
        return steps
    inner = steps[:-1, None] + np.diff(steps)[:, None] * (np.arange(parts) / parts)
    return np.append(inner.ravel(), steps[-1])
