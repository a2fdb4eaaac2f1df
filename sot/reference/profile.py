"""Scalar laws of time: how far along its path a target is.

A profile fills the weights c, ċ, c̈ (one row each, one column per direction of the path) for a time since the
start. Plain floats, because a call costs less than one operation on an array.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

Profile = Callable[[float, np.ndarray], None]


def blend(x: float) -> tuple[float, float, float]:
    """Minimum-jerk step b = 10x³ − 15x⁴ + 6x⁵ from 0 to 1, with db/dx and d²b/dx²."""
    y = 1.0 - x
    return x * x * x * (10.0 + x * (6.0 * x - 15.0)), 30.0 * x * x * y * y, 60.0 * x * y * (y - x)


def minimum_jerk(duration: float) -> Profile:
    """c from 0 to 1 in `duration` seconds, at rest with no acceleration at both ends."""
    rate = 1.0 / duration

    def profile(t: float, out: np.ndarray) -> None:
        b, db, ddb = blend(t * rate)
        out[0, 0], out[1, 0], out[2, 0] = b, db * rate, ddb * rate * rate

    return profile


def trapezoid(speed: float, acceleration: float) -> tuple[Profile, float]:
    """c from 0 to 1 under bounds on ċ and c̈, in the shortest time; also that time in seconds.

    The speed rises, stays and falls; if the way is too short for full speed (speed² > acceleration) it only
    rises and falls.
    """
    top = min(speed, math.sqrt(acceleration))
    rise = top / acceleration
    total = 1.0 / top + rise

    def profile(t: float, out: np.ndarray) -> None:
        left = total - t
        if t < rise:
            c, dc, ddc = 0.5 * acceleration * t * t, acceleration * t, acceleration
        elif left > rise:
            c, dc, ddc = top * (t - 0.5 * rise), top, 0.0
        else:
            c, dc, ddc = 1.0 - 0.5 * acceleration * left * left, acceleration * left, -acceleration
        out[0, 0], out[1, 0], out[2, 0] = c, dc, ddc

    return profile, total


def sine(frequency: float, phase: float, fade: float) -> Profile:
    """c = b(t/fade) sin(2πft + φ): a sine that grows from nothing in `fade` seconds."""
    omega = 2.0 * math.pi * frequency

    def profile(t: float, out: np.ndarray) -> None:
        angle = omega * t + phase
        s, ds = math.sin(angle), omega * math.cos(angle)
        dds = -omega * omega * s
        if t < fade:
            b, db, ddb = blend(t / fade)
            db, ddb = db / fade, ddb / (fade * fade)
            s, ds, dds = b * s, db * s + b * ds, ddb * s + 2.0 * db * ds + b * dds
        out[0, 0], out[1, 0], out[2, 0] = s, ds, dds

    return profile


def circle(speed: float, fade: float) -> Profile:
    """c = (cos θ − 1, sin θ): a turn that starts at zero, with θ̇ = speed · b(t/fade)."""

    def profile(t: float, out: np.ndarray) -> None:
        if t < fade:
            x = t / fade
            b, db, _ = blend(x)
            # θ = speed · ∫b, and ∫b dx = 5x⁴/2 − 3x⁵ + x⁶.
            theta = speed * fade * x * x * x * x * (2.5 + x * (x - 3.0))
            rate, growth = speed * b, speed * db / fade
        else:
            theta, rate, growth = speed * (t - 0.5 * fade), speed, 0.0
        c, s = math.cos(theta), math.sin(theta)
        out[0, 0], out[0, 1] = c - 1.0, s
        out[1, 0], out[1, 1] = -rate * s, rate * c
        out[2, 0], out[2, 1] = -rate * rate * c - growth * s, -rate * rate * s + growth * c

    return profile
