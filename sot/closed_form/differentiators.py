"""Velocity and acceleration from poses alone, sample by sample, on the configuration manifold.

All of them work with the real times of the samples, know nothing of the future, and begin without a spike: at the first
sample a robot is at rest, and while there are few samples no noise is amplified more than later on.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Protocol

import numpy as np

from sot.checks import positive
from sot.closed_form.pose import Numbers, as_model, read_pose
from sot.description import Description
from sot.errors import TaskError
from sot.model import Model

Rates = tuple[np.ndarray, np.ndarray]


class Differentiator(Protocol):
    """What `inverse_dynamics_along` asks of an estimator."""

    def push(self, time: float, q: Numbers) -> Rates:
        """v and v̇ at the newest sample."""

    def reset(self) -> None:
        """Forget all samples."""


class SavitzkyGolay:
    """The polynomial that fits the last samples best, and its derivatives at the newest one.

    The samples are written as steps from the newest configuration, ξᵢ = qᵢ ⊖ q. There ξ = 0, so that the derivatives
    of ξ are v and v̇ themselves, for rotations too. Errors of v are of order dt^order, those of v̇ of dt^(order − 1).
    """

    def __init__(self, robot: Description | Model, window: int = 11, order: int = 2) -> None:
        """
        Args:
            robot: What `sot.robots.load` gives, or its `sot.Model`.
            window: Number of samples. More of them: less noise, more delay in what the polynomial cannot follow.
            order: Degree of the polynomial, at least 2.
        """
        name = type(self).__name__
        if not (isinstance(order, int) and order >= 2):
            raise TaskError(f"{name}: order: expected an integer from 2 on, got {order!r}")
        if not (isinstance(window, int) and window > order):
            raise TaskError(f"{name}: window: expected an integer above the order, {order}, got {window!r}")
        self.model, self.window, self.order = as_model(robot), window, order
        self._samples: deque[tuple[float, np.ndarray]] = deque(maxlen=window)

    def reset(self) -> None:
        """Forget all samples."""
        self._samples.clear()

    def push(self, time: float, q: Numbers) -> Rates:
        """v and v̇ at the newest sample, each of shape (nv,)."""
        q, last = read_pose(self.model, q), self._samples[-1][0] if self._samples else None
        self._samples.append((checked_time(time, last, type(self).__name__), q))
        rows = self._rows()
        steps = np.array([self.model.difference(sample, q) for _, sample in self._samples])  # (n, nv)
        return rows[0] @ steps, rows[1] @ steps

    def _rows(self) -> np.ndarray:
        """Weights of the samples in v and in v̇, shape (2, n)."""
        times = np.array([time for time, _ in self._samples])
        n, since = times.size, times - times[-1]
        if n == 1:
            return np.zeros((2, 1))
        rows = _fit(since, min(self.order, n - 1))
        if n == self.window:
            return rows
        # Few samples amplify noise: no more of it than a full window would let through at this rate.
        later = _fit(np.arange(1 - self.window, 1) * (-since[0] / (n - 1)), self.order)
        sizes = np.linalg.norm(rows, axis=1)
        return rows * np.minimum(1.0, np.linalg.norm(later, axis=1) / np.maximum(sizes, 1e-300))[:, None]


def _fit(since: np.ndarray, order: int) -> np.ndarray:
    """First and second derivative at 0 of the polynomial that fits samples at these times best, shape (2, n)."""
    span = -since[0]
    weights = np.linalg.pinv(np.vander(since / span, max(order, 2) + 1, increasing=True)[:, : order + 1])
    rows = np.zeros((2, since.size))
    rows[0] = weights[1] / span
    if order >= 2:
        rows[1] = 2.0 * weights[2] / span**2
    return rows


class Difference(SavitzkyGolay):
    """The parabola through the last three samples: no delay to speak of, and all the noise.

    At a constant period v = (3 q₀ − 4 q₋₁ + q₋₂)/(2 dt) and v̇ = (q₀ − 2 q₋₁ + q₋₂)/dt².
    """

    def __init__(self, robot: Description | Model) -> None:
        """
        Args:
            robot: What `sot.robots.load` gives, or its `sot.Model`.
        """
        super().__init__(robot, window=3, order=2)


class Lag:
    """Differences behind a first-order lag: T v̇_f + v_f = Δq/Δt, and once more for the acceleration.

    Between two samples the pose is taken to move evenly; for that motion the filter is exact at any period.
    """

    def __init__(self, robot: Description | Model, time_constant: float) -> None:
        """
        Args:
            robot: What `sot.robots.load` gives, or its `sot.Model`.
            time_constant: T, s.
        """
        self.model, self.time_constant = as_model(robot), positive(time_constant, "Lag: time_constant")
        self.reset()

    def reset(self) -> None:
        """Forget all samples."""
        self._last: tuple[float, np.ndarray] | None = None
        self._count, self._trust = 0, 0.0
        self._v, self._a = np.zeros(self.model.nv), np.zeros(self.model.nv)

    def push(self, time: float, q: Numbers) -> Rates:
        """v and v̇ at the newest sample, each of shape (nv,)."""
        q = read_pose(self.model, q)
        time = checked_time(time, self._last[0] if self._last else None, "Lag")
        if self._last is not None:
            self._advance(time - self._last[0], self.model.difference(q, self._last[1]))
        self._last = (time, q)
        return self._trust * self._v, self._a.copy()

    def _advance(self, dt: float, step: np.ndarray) -> None:
        self._count += 1
        part = -math.expm1(-dt / self.time_constant)
        before = self._v.copy()
        # At the start the mean of what there is: a robot that moves already does not seem to have been kicked.
        self._v += max(part, 1.0 / self._count) * (step / dt - self._v)
        # The mean of k differences has a noise of 1/k, so v comes in with k; its rate has more, and comes in with k³.
        self._trust = min(1.0, self._count * part)
        if self._count > 1:
            self._a += part * self._trust**3 * ((self._v - before) / dt - self._a)


def checked_time(time: float, last: float | None, where: str) -> float:
    """A time after the last one, s."""
    try:
        number = float(time)
    except (TypeError, ValueError):
        raise TaskError(f"{where}: time: expected a number of seconds, got {time!r}") from None
    if not math.isfinite(number):
        raise TaskError(f"{where}: time: is not finite: {number}")
    if last is not None and not (number > last):
        raise TaskError(f"{where}: time {number:g} s is not after that of the sample before, {last:g} s")
    return number
