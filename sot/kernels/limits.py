"""Compiled twin of `sot.viability`: bounds on joint velocities, and the rows that only pick joints."""

from __future__ import annotations

import math

from sot.kernels.compiler import kernel
from sot.viability import OUTSIDE, ROUNDING

Q_LOWER, Q_UPPER, V_MAX, A_MAX, BRAKING, HARDEST, RATE = range(7)  # rows of a limit table, see `JointBox`
ROWS = 7


@kernel
def brake(d, rate, a, dt):
    """Largest speed towards a limit at distance d that can still be braked (see `sot.viability`)."""
    if d <= 0.0 or a == math.inf:
        return rate * d
    v_s, step = a / rate, a * dt
    d_s = v_s / rate
    if d <= d_s:
        return rate * d
    if d == math.inf:
        return math.inf
    # Smallest N with d ≤ d_s + dt (N v_s + step N (N + 1) / 2).
    half = v_s / step + 0.5
    excess = 2.0 * (d - d_s) / (step * dt)
    n = math.ceil(excess / (math.sqrt(half * half + excess) + half))
    if d > d_s + dt * (n * v_s + step * n * (n + 1) / 2.0):
        n += 1
    elif n > 0 and d <= d_s + dt * ((n - 1) * v_s + step * (n - 1) * n / 2.0):
        n -= 1
    return (d + dt * step * n * (n - 1) / 2.0 + n * step / rate) / (n * dt + 1.0 / rate)


@kernel
def joint_bounds(q_index, limits, q, previous, dt, x_lower, x_upper):
    """Intersect x_lower, x_upper with the box of each limit table; returns the number of crossed bounds.

    q_index has shape (boxes, nv), limits (boxes, 7, nv). Its last row holds the damper's rate in discrete time,
    k = (1 − exp(−λ dt)) / dt.
    """
    nv = x_lower.size
    for c in range(nv):
        x_lower[c] = -math.inf
        x_upper[c] = math.inf
    crossed = 0
    for k in range(q_index.shape[0]):
        for c in range(nv):
            v_max, a = limits[k, V_MAX, c], limits[k, A_MAX, c]
            low, high = -v_max, v_max
            if q_index[k, c] >= 0:
                rate = limits[k, RATE, c]
                position = q[q_index[k, c]]
                crossed += position > limits[k, Q_UPPER, c] + OUTSIDE or position < limits[k, Q_LOWER, c] - OUTSIDE
                braking = limits[k, BRAKING, c]
                high = min(high, max(brake(limits[k, Q_UPPER, c] - position, rate, braking, dt), -v_max))
                low = max(low, min(-brake(position - limits[k, Q_LOWER, c], rate, braking, dt), v_max))
            rounding = ROUNDING * (1.0 + abs(previous[c]))
            hardest = limits[k, HARDEST, c] * dt
            crossed += low - previous[c] - hardest > rounding or previous[c] - hardest - high > rounding
            low, high = min(low, previous[c] + hardest), max(high, previous[c] - hardest)
            slow, fast = previous[c] - a * dt, previous[c] + a * dt
            low, high = max(low, slow), min(high, fast)
            if low > high:
                crossed += low - high > rounding
                low = high = min(max(0.5 * (low + high), slow), fast)
            if low > x_upper[c] or high < x_lower[c]:
                crossed += low - x_upper[c] > rounding or x_lower[c] - high > rounding
                low = high = x_upper[c] if low > x_upper[c] else x_lower[c]
            x_lower[c] = max(x_lower[c], low)
            x_upper[c] = min(x_upper[c], high)
    return crossed


@kernel
def joint_targets(picks, goals, q, target):
    """target = ṡ* − decay (q − q*) on the columns that postures pick.

    A line of picks is (column, place in q); a line of goals is (q*, decay, ṡ*).
    """
    for i in range(picks.shape[0]):
        target[picks[i, 0]] = goals[i, 2] - goals[i, 1] * (q[picks[i, 1]] - goals[i, 0])


@kernel
def joint_accelerations(picks, goals, q, v, dt, target):
    """target = s̈* − Kp (q − q*) − Kd (v − ṡ*) on the columns that postures pick.

    A line of picks is (column, place in q); a line of goals is (q*, Kp, ṡ*, Kd, s̈*).
    """
    for i in range(picks.shape[0]):
        c, acceleration = picks[i, 0], goals[i, 4]
        rate = v[c] - (goals[i, 2] - 0.5 * dt * acceleration)
        target[c] = acceleration - goals[i, 1] * (q[picks[i, 1]] - goals[i, 0]) - goals[i, 3] * rate
