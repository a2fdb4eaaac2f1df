"""How fast an error decays."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sot.checks import positive
from sot.errors import TaskError


@dataclass(frozen=True)
class AdaptiveGain:
    """λ(‖e‖) = (λ0 − λ∞) exp(−b ‖e‖) + λ∞: fast near the goal, gentle far from it (or the reverse).

    Attributes:
        near: λ0, the gain at zero error, 1/s.
        far: λ∞, the gain far away, 1/s.
        slope: b, how quickly one turns into the other, 1/unit of the error.
    """

    near: float
    far: float
    slope: float

    def __post_init__(self) -> None:
        for field in ("near", "far", "slope"):
            object.__setattr__(self, field, positive(getattr(self, field), f"adaptive gain: {field}", zero=True))

    def at(self, error: np.ndarray) -> float:
        """Gain for this error, 1/s."""
        return (self.near - self.far) * float(np.exp(-self.slope * np.linalg.norm(error))) + self.far


@dataclass(frozen=True)
class PD:
    """Stiffness and damping of an error, given one by one: ë = −kp e − kd ė. At velocity level λ = kp / kd.

    A plain gain λ means kp = λ² and kd = 2λ, critically damped, and exact in discrete time; these two are taken as
    they are.

    Attributes:
        kp: 1/s².
        kd: 1/s.
    """

    kp: float
    kd: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "kp", positive(self.kp, "gain: kp", zero=True))
        object.__setattr__(self, "kd", positive(self.kd, "gain: kd"))

    @property
    def rate(self) -> float:
        """The λ that it means at velocity level, 1/s."""
        return self.kp / self.kd


Gain = float | np.ndarray | AdaptiveGain | PD


def as_gain(gain: object, where: str) -> Gain:
    """A user's gain: one number, one per row, an AdaptiveGain or a PD. Infinity: the whole error in one tick."""
    if isinstance(gain, AdaptiveGain | PD):
        return gain
    if isinstance(gain, dict):
        try:
            return PD(**gain) if "kp" in gain or "kd" in gain else AdaptiveGain(**gain)
        except TypeError:
            raise TaskError(
                f"{where}: an adaptive gain has the keys near, far, slope, another one kp, kd; got {sorted(gain)}"
            ) from None
    if np.ndim(gain) == 0:  # type: ignore[arg-type]  # ndim takes anything
        return positive(gain, where, zero=True, infinite=True)
    try:
        array = np.array(gain, dtype=float)
    except (TypeError, ValueError):
        raise TaskError(f"{where}: expected a number or a list of numbers, got {gain!r}") from None
    if array.ndim != 1 or not (array >= 0.0).all():
        raise TaskError(f"{where}: expected numbers ≥ 0, got {array.tolist()}")
    return array


def decay(gain: Gain, error: np.ndarray, dt: float) -> np.ndarray:
    """Velocity that makes e decay as exp(−λ t): (1 − exp(−λ dt)) e / dt.

    A command is held for a whole period, so the textbook −λ e would decay at −ln(1 − λ dt)/dt, 2.6 % too fast
    for λ = 10/s at 200 Hz, and oscillate beyond λ dt = 2. This form is exact for every λ and every dt.
    """
    if isinstance(gain, np.ndarray):
        return np.expm1(-gain * dt) * (error / -dt)
    return error * (math.expm1(-_rate(gain, error) * dt) / -dt)


def decay_twice(gain: Gain, error: np.ndarray, rate: np.ndarray, dt: float) -> np.ndarray:
    """Acceleration that makes e and its rate decay: Kp e + Kd ė."""
    kp, kd = stiffness_and_damping(gain, error, dt)
    return kp * error + kd * rate


def stiffness_and_damping(
    gain: Gain, error: np.ndarray, dt: float
) -> tuple[np.ndarray | float, np.ndarray | float]:
    """Kp and Kd with which an error decays with the double pole exp(−λ t), critically damped.

    Robots go on with the new velocity for a whole period, e⁺ = e + dt ė⁺ and ė⁺ = ė − dt a. Both poles of that are at
    p = exp(−λ dt) for Kp = ((1 − p)/dt)² and Kd = (1 − p²)/dt, which tend to λ² and 2λ; an infinite λ takes two ticks.
    """
    if isinstance(gain, PD):
        return gain.kp, gain.kd
    p = np.exp(-np.asarray(gain if isinstance(gain, np.ndarray) else _rate(gain, error)) * dt)
    return ((1.0 - p) / dt) ** 2, (1.0 - p * p) / dt


def _rate(gain: float | AdaptiveGain | PD, error: np.ndarray) -> float:
    """λ for this error, 1/s."""
    if isinstance(gain, AdaptiveGain):
        return gain.at(error)
    return gain.rate if isinstance(gain, PD) else gain
