"""Bounds on joint velocities from which position, velocity and acceleration limits can always be kept.

A command is held for a whole tick, so "can still be braked" is a statement in discrete time. Write the upper side,
with d = q_max − q the distance left and v the velocity towards the limit; the lower side is its mirror image.

    damper        v ≤ k d,  k = (1 − exp(−λ dt)) / dt          so that d shrinks by exp(−λ dt) per tick at most
    brake         from v, lose δ = a dt each tick until the damper asks for less than that

On the damper's curve the velocity falls by k d · k dt per tick, which is at most δ as long as v ≤ v_s = a / k, or
d ≤ d_s = a / k². From further away N ticks of braking come first. After them v_N = v − N δ must be on the
damper's curve, v_N = k d_N with d_N = d − dt (N v − δ N (N − 1) / 2), which gives

    v = (d + dt δ N (N − 1) / 2 + N δ / k) / (N dt + 1 / k),
    N = the smallest integer ≥ 0 with d ≤ d_s + dt (N v_s + δ N (N + 1) / 2).

A velocity on this curve has its successor v − δ on the curve of the next tick: the joint never has to break one
limit for another. The textbook v ≤ √(2 a d) is the curve for dt → 0, and overshoots at every other dt.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

NONE, POSITION, VELOCITY, ACCELERATION = 0, 1, 2, 3
KINDS = ("no limit", "position limit", "velocity limit", "acceleration limit")
OUTSIDE = 1e-6  # rad or m by which a joint may be beyond a position limit before a tick counts as infeasible
ROUNDING = 1e-9  # bounds that should meet, as they do while a joint brakes, may cross by this much unreported


@dataclass(frozen=True)
class JointBox:
    """Limits of every joint velocity; all arrays have shape (nv,).

    Attributes:
        q_index: Where the joint stands in q; −1 where there is no position limit.
        q_lower: Lowest position allowed, margin included, rad or m.
        q_upper: Highest position allowed.
        v_max: Largest speed, rad/s or m/s; inf where there is none.
        a_max: Largest acceleration and deceleration, rad/s² or m/s²; inf where there is none.
        rate: λ of the damper, 1/s; inf may use up the whole distance in one tick.
        braking: Deceleration that is counted on in front of position limits, where it is not `a_max`; None: it is.
        hardest: Deceleration that is asked for of a joint that is too fast all the same; None: whatever it takes.
    """

    q_index: np.ndarray
    q_lower: np.ndarray
    q_upper: np.ndarray
    v_max: np.ndarray
    a_max: np.ndarray
    rate: np.ndarray
    braking: np.ndarray | None = None
    hardest: np.ndarray | None = None

    @property
    def size(self) -> int:
        """Number of joint velocities."""
        return self.q_index.size

    def violation(self, q: np.ndarray, v: np.ndarray, previous: np.ndarray, dt: float) -> float:
        """How far the worst of position (now and after dt), speed and acceleration is beyond its limit, or 0."""
        position = np.where(self.q_index >= 0, q[self.q_index], 0.0)
        beyond = [np.abs(v) - self.v_max, np.abs(v - previous) / dt - self.a_max]
        for p in (position, position + v * dt):
            beyond.append(np.where(self.q_index >= 0, np.maximum(p - self.q_upper, self.q_lower - p), 0.0))
        return float(np.max(beyond, initial=0.0))


@dataclass(frozen=True)
class Explanation:
    """What set each bound; all arrays have shape (nv,).

    Attributes:
        lower: Lower bound of v.
        upper: Upper bound of v.
        lower_kind: Which limit set the lower bound: an index into `KINDS`.
        upper_kind: Which limit set the upper bound.
        repaired: True where limits contradict each other, and bounds were moved.
    """

    lower: np.ndarray
    upper: np.ndarray
    lower_kind: np.ndarray
    upper_kind: np.ndarray
    repaired: np.ndarray


HARDEST = 2.0  # times what is counted on


def braked(box: JointBox, braking: np.ndarray | None) -> JointBox:
    """The same where joints without an acceleration limit brake with so much, if that is known."""
    if braking is None:
        return box
    by_motor = np.isinf(box.a_max) & (box.q_index >= 0)
    hardest = np.where(by_motor, HARDEST * braking, np.inf)
    return replace(box, braking=np.where(by_motor, braking, box.a_max), hardest=hardest)


def bounds(box: JointBox, q: np.ndarray, previous: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bound of v.

    Args:
        box: The limits.
        q: Configuration, shape (nq,).
        previous: Velocity of the tick before, shape (nv,).
        dt: How long the velocity will act, s.
    """
    explanation = explain_bounds(box, q, previous, dt)
    return explanation.lower, explanation.upper


def explain_bounds(box: JointBox, q: np.ndarray, previous: np.ndarray, dt: float) -> Explanation:
    """The bounds of `bounds`, with the limit that set each of them."""
    position = np.where(box.q_index >= 0, q[box.q_index], 0.0)
    down, lower_kind = _side(box, position - box.q_lower, dt)
    upper, upper_kind = _side(box, box.q_upper - position, dt)
    lower, too_fast = -down, np.zeros(box.size, dtype=bool)
    if box.hardest is not None:  # a joint that is too fast brakes with all it has
        low, high = previous + box.hardest * dt, previous - box.hardest * dt
        rounding = ROUNDING * (1.0 + np.abs(previous))
        too_fast = (lower - low > rounding) | (high - upper > rounding)
        lower, upper = np.minimum(lower, low), np.maximum(upper, high)
    slowest, fastest = previous - box.a_max * dt, previous + box.a_max * dt
    lower, lower_kind = _tighter(lower, lower_kind, slowest, slowest > lower)
    upper, upper_kind = _tighter(upper, upper_kind, fastest, fastest < upper)
    crossed = lower > upper
    repaired = lower - upper > ROUNDING * (1.0 + np.abs(previous))
    # What a motor cannot do comes before what it should not do; without such a limit nobody is right.
    meeting = np.clip(0.5 * (lower[crossed] + upper[crossed]), slowest[crossed], fastest[crossed])
    lower[crossed] = upper[crossed] = meeting
    return Explanation(lower, upper, lower_kind, upper_kind, repaired | too_fast)


def _tighter(
    bound: np.ndarray, kind: np.ndarray, other: np.ndarray, tighter: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A bound, replaced by that of the acceleration where it is tighter."""
    return np.where(tighter, other, bound), np.where(tighter, ACCELERATION, kind)


def _side(box: JointBox, distance: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """Largest velocity towards a limit that is `distance` away, and which limit sets it. Negative outside."""
    d = np.where(box.q_index >= 0, distance, np.inf)
    # From outside a joint comes back at the damper's rate, but not faster than its speed limit.
    deceleration = box.a_max if box.braking is None else box.braking
    v = np.maximum(approach(d, deceleration, box.rate, dt), -box.v_max)
    kind = np.where(v <= box.v_max, POSITION, VELOCITY)
    v = np.minimum(v, box.v_max)
    return v, np.where(v < np.inf, kind, NONE)


def count_outside(box: JointBox, q: np.ndarray) -> int:
    """How many joints are beyond their position limits."""
    limited = box.q_index >= 0
    position = q[box.q_index[limited]]
    beyond = (position > box.q_upper[limited] + OUTSIDE) | (position < box.q_lower[limited] - OUTSIDE)
    return int(np.count_nonzero(beyond))


def approach(distance: np.ndarray, deceleration: np.ndarray, rate: np.ndarray, dt: float) -> np.ndarray:
    """Largest velocity towards a limit from which it can still be kept; the curve at the top of this file.

    Args:
        distance: d, rad or m; inf where there is no limit.
        deceleration: a, rad/s² or m/s²; inf if the joint can stop at once.
        rate: λ, 1/s; inf allowed.
        dt: Length of a tick, s.
    """
    d = np.where(np.isfinite(distance), distance, 0.0)
    a = np.where(np.isfinite(deceleration), deceleration, 1.0)
    k = -np.expm1(-rate * dt) / dt
    n = np.where(np.isfinite(deceleration), _braking_ticks(d, a, k, dt), 0.0)
    step = a * dt
    v = (d + dt * step * n * (n - 1.0) / 2.0 + n * step / k) / (n * dt + 1.0 / k)
    return np.where(np.isfinite(distance), v, np.inf)


def _braking_ticks(d: np.ndarray, a: np.ndarray, k: np.ndarray, dt: float) -> np.ndarray:
    """N: how many ticks of braking come before the damper."""

    def reach(n: np.ndarray) -> np.ndarray:
        return a / k**2 + dt * (n * a / k + a * dt * n * (n + 1.0) / 2.0)

    # The positive root of reach(n) = d, without cancellation; one step either way repairs its rounding.
    half = 1.0 / (k * dt) + 0.5
    excess = 2.0 * np.maximum(d - a / k**2, 0.0) / (a * dt**2)
    n = np.ceil(excess / (np.sqrt(half**2 + excess) + half))
    n = np.where(d > reach(n), n + 1.0, n)
    return np.where((n > 0.0) & (d <= reach(n - 1.0)), n - 1.0, n)
