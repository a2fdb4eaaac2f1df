"""How stiff a wall may be on a sampled device.

A wall F = −(K x + B ẋ), sampled with period T and late by td, on a device with damping b:

    passive:  b ≥ K τ + |B|                whatever touches the stylus, no energy comes out (Colgate and Schenkel)
    stable:   K < (b + B) / (T/2 + td)     the stylus alone does not swing by itself

τ = T/2 + td for a delay of whole periods. In between, with f the part of a period left over and S = ½ + td/T, it is
τ = T/2 (S + √(S² + f (1 − f))), up to 6 % more: the largest eigenvalue of the work that the held spring gives out over
∫ v² dt, which is that of a steady motion since all its terms are positive. A mean velocity over any window has a gain
of at most one, so that |B| covers it.

The second one leaves out that a velocity may be old. `edge` is without such simplification: on |z| = 1 the sampled
loop 1 + K X(z) + B V(z) = 0 of the exactly discretised device has a real K where the loop stands on the edge.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.linalg import expm
from scipy.optimize import brentq

from sot.errors import ConfigError
from sot.haptic.settings import Device

Gains = np.ndarray | None

ANGLES = np.geomspace(1e-5, np.pi, 4000)  # rad per period


def hold_time(period: float, delay: float = 0.0) -> float:
    """τ of the passive bound, s."""
    S = 0.5 + delay / period
    f = (delay / period) % 1.0
    return 0.5 * period * (S + math.sqrt(S * S + f * (1.0 - f)))


def passive_damping(K: float, B: float, period: float, delay: float = 0.0) -> float:
    """Least b of a passive wall, N·s/m."""
    return K * hold_time(period, delay) + abs(B)


def passive_stiffness(b: float, B: float, period: float, delay: float = 0.0) -> float:
    """Largest K of a passive wall, N/m."""
    return max(b - abs(B), 0.0) / hold_time(period, delay)


def stable_stiffness(b: float, B: float, period: float, delay: float = 0.0) -> float:
    """(b + B) / (T/2 + td), N/m.

    Good to 2 % while (b + B) (T/2 + td) is below 0.05 m for springs; with a damper whose velocity is a difference over
    one period, below 0.01 m. At 0.05 m it then allows up to 9 % too much.
    """
    return max(b + B, 0.0) / (0.5 * period + delay)


@lru_cache(maxsize=64)  # commands with kd ask for it in every period
def edge(device: Device, B: float, period: float) -> float:
    """Largest K of a stable wall, from the sampled loop itself, N/m. Worked out once for each B of a device."""
    X, V = _responses(device, period)
    if B != 0.0 and not (_smallest(lambda a: V(a) * np.sign(B)) > abs(B)):
        return 0.0  # the damper alone swings
    return _smallest(lambda a: X(a) / (1.0 + B * V(a)))


def controlled(device: Device, period: float) -> float:
    """Damping that the device has with its passivity controller, b + m / 4(T + td), N·s/m.

    The controller's damper is up to three times as strong: what is left keeps the swing within 0.05 mm.
    """
    return device.damping + 0.25 * device.mass / (period + device.delay)


def allowed(device: Device, B: float, period: float) -> float:
    """Largest K that the device takes with a damping B, N/m."""
    if device.bound == "off":
        return np.inf
    if device.passivity:
        return passive_stiffness(controlled(device, period), B, period, device.delay)
    if device.bound == "passive":
        return passive_stiffness(device.damping, B, period, device.delay)
    return min(stable_stiffness(device.damping, B, period, device.delay), edge(device, B, period))


def check(device: Device, K: float, B: float, period: float, what: str) -> None:
    """Refuse a wall that is past the bound of its device.

    Raises:
        ConfigError: With the bound, by how much it is passed, and what would be allowed.
    """
    if device.bound == "off":
        return
    most = allowed(device, B, period)
    if device.passivity:
        _check_age(device, B, period, what)
    b, T, late = controlled(device, period) if device.passivity else device.damping, period, device.delay
    passive = device.passivity or device.bound == "passive"
    if (K <= most and abs(B) <= b) if passive else (K < most or K == B == 0.0):
        return
    if passive:
        needed = passive_damping(K, B, T, late)
        rule = f"b ≥ K (T/2 + td) + |B| asks for b = {needed:.3g} N·s/m, but the device has {b:.3g}"
        rule += " with its passivity controller, b + m/4(T + td)" if device.passivity else ""
    else:
        rule = f"K < (b + B)/(T/2 + td), less where the velocity is old, allows {most:.4g} N/m"
    cure = f"With this B, K may be up to {most:.4g} N/m"
    if most == 0.0:
        cure = f"B has to be below {b:.3g} N·s/m" if passive else "With this B the stylus swings whatever K is"
    hint = "" if device.passivity else "; passivity=True switches a passivity controller on instead"
    raise ConfigError(
        f"{what}: K = {K:.4g} N/m with B = {B:.3g} N·s/m is past the {'passive' if passive else 'stable'} bound of the "
        f"device: {rule} (T = {1e3 * T:.3g} ms, td = {1e3 * late:.3g} ms). {cure}{hint}"
    )


def check_gains(device: Device, kp: Gains, kd: Gains, period: float, what: str) -> None:
    """The same for a stiffness and a damping of each axis, as commands have them."""
    K, B = (np.zeros(1) if gains is None else np.asarray(gains) for gains in (kp, kd))
    if not (K.min() >= 0.0):
        raise ConfigError(f"{what}: kp pushes away from its target: expected numbers >= 0, got {K.tolist()}")
    check(device, float(K.max()), float(B[np.argmax(np.abs(B))]), period, what)


def _check_age(device: Device, B: float, period: float, what: str) -> None:
    """|B| (T/2 + td + age of the velocity) ≤ m/2: what an old velocity makes the passivity observer cannot see."""
    age = 0.5 * period + device.delay + 0.5 * device.samples(period) * period
    if abs(B) * age <= 0.5 * device.mass:
        return
    raise ConfigError(
        f"{what}: B = {B:.3g} N·s/m on a velocity that is {1e3 * age:.3g} ms old in all is past the bound of the "
        f"passivity controller: |B| may be up to m/2 over that time, {0.5 * device.mass / age:.3g} N·s/m"
    )


Angles = float | np.ndarray
Response = Callable[[Angles], Any]


def _responses(device: Device, period: float) -> tuple[Response, Response]:
    """Position X and told velocity V for a force of one, as functions of the angle of z."""
    whole = int(device.delay / period + 1e-9)
    part = max(device.delay - whole * period, 0.0)
    A = np.array([[0.0, 1.0, 0.0], [0.0, -device.damping / device.mass, 1.0 / device.mass], [0.0, 0.0, 0.0]])
    all_, late = expm(A * period), expm(A * (period - part))
    F, new = all_[:2, :2], late[:2, 2]  # the newer force acts in the last part of a period
    old = all_[:2, 2] - new
    samples = device.samples(period)

    def state(angle: Angles) -> tuple[Any, Any]:
        """(z − F)⁻¹ r, with F of a body without a spring: its place does not act on its speed."""
        z = np.exp(1j * angle)
        r = [(new[i] + old[i] / z) * z**-whole for i in range(2)]
        v = r[1] / (z - F[1, 1])
        return (r[0] + F[0, 1] * v) / (z - F[0, 0]), v

    def velocity(angle: Angles) -> Any:
        x, v = state(angle)
        return v if samples == 0 else x * (1.0 - np.exp(-1j * samples * angle)) / (samples * period)

    return lambda angle: state(angle)[0], velocity


def _smallest(P: Response) -> float:
    """Smallest g > 0 for which 1 + g P(z) has a zero on the unit circle."""

    def inverse(angle: Angles) -> Any:
        return -1.0 / P(angle)

    values = inverse(ANGLES)
    found = [values[-1].real]  # z = −1 is always real
    for i in np.flatnonzero(values.imag[:-1] * values.imag[1:] < 0.0):
        found.append(inverse(brentq(lambda a: inverse(a).imag, ANGLES[i], ANGLES[i + 1], xtol=1e-14)).real)
    above = [gain for gain in found if gain > 0.0]
    return min(above, default=np.inf)
