"""Which constraint should leave the working set: multipliers, judged level by level.

A constraint is judged at the first level that presses on it by more than the tolerance. Pressure of the right sign
keeps it, whatever later levels say; of the wrong sign makes it a candidate. The worst candidate of the first level
that has one leaves.
"""

from __future__ import annotations

import math

from sot.kernels.compiler import kernel
from sot.solvers.status import EQUAL, FREE, UPPER

TOLERANCE = 1e-9  # on violations and multipliers
LOCKED = 1_000_000  # mark of a constraint that stays in the working set


@kernel
def judge(d, w, ma, total, pos, info):
    """The constraint that should leave, or −1. Also writes the level residuals to info."""
    undecided = _undecided(d, w, ma)
    for k in range(d.strict + 1):
        if k < d.strict:
            size = _residual_norm(w, k)
            info[2 + d.strict + k] = size
            if size <= TOLERANCE:
                continue
        if undecided == 0:
            continue
        _multipliers(d.strict, w, k, ma, total, pos)
        worst, decided = _weigh(d, w, ma, k == d.strict)
        undecided -= decided
        if worst >= 0:
            return worst
    return _idle(d, w) if undecided > 0 else -1


@kernel
def _undecided(d, w, ma):
    """Mark what may leave: inequalities of the working set that are not locked. Returns how many they are."""
    n, m = d.AT.shape
    count = 0
    for i in range(m + n):
        w.kept[i] = 1
    for i in range(ma):
        r = w.active[i]
        if d.status[r] != EQUAL and w.mark[r] < LOCKED:
            w.kept[r] = 0
            count += 1
    for i in range(m, m + n):
        if d.status[i] != FREE and d.status[i] != EQUAL and w.mark[i] < LOCKED:
            w.kept[i] = 0
            count += 1
    return count


@kernel
def _residual_norm(w, k):
    total = 0.0
    for i in range(w.first_row[k], w.first_row[k + 1]):
        total += w.rho[i] * w.rho[i]
    return math.sqrt(total)


@kernel
def _weigh(d, w, ma, last):
    """Worst candidate at this level or −1, and the number of constraints that it decides to keep."""
    n, m = d.AT.shape
    small = TOLERANCE if last else TOLERANCE * _largest(w.multiplier, ma)  # the last cost weighs forces by little
    worst, value, decided = -1, small, 0
    for i in range(ma):
        r = w.active[i]
        if w.kept[r] == 0:
            pressure = w.multiplier[i] if d.status[r] == UPPER else -w.multiplier[i]
            if pressure > small:
                w.kept[r] = 1
                decided += 1
            elif -pressure > value:
                worst, value = r, -pressure
    for c in range(n):
        if w.kept[m + c] == 0:
            gradient = _column_gradient(d, w, ma, c, last)
            pressure = -gradient if d.status[m + c] == UPPER else gradient
            if pressure > small:
                w.kept[m + c] = 1
                decided += 1
            elif -pressure > value:
                worst, value = m + c, -pressure
    return worst, decided


@kernel
def _largest(multiplier, count):
    """The largest multiplier, at least 1."""
    size = 1.0
    for i in range(count):
        size = max(size, abs(multiplier[i]))
    return size


@kernel
def _column_gradient(d, w, ma, c, last):
    """Gradient of the Lagrangian along a column at its bound."""
    s = d.metric[c] * d.metric[c] * (d.x[c] - w.origin[c]) if last else 0.0
    column = d.AT[c]
    for i in range(ma):
        s += column[w.active[i]] * w.multiplier[i]
    return s


@kernel
def _idle(d, w):
    """A column that no level presses against its bound should rather be at rest: the farthest from zero, or −1.

    Each gets one chance: at rest is not always possible.
    """
    m = d.lower.size
    worst, value = -1, TOLERANCE
    for c in range(d.x.size):
        i = m + c
        if w.kept[i] == 0 and w.mark[i] == 0 and d.metric[c] <= 0.0 and d.status[i] * d.x[c] > value:
            worst, value = i, abs(d.x[c])
    return worst


@kernel
def _multipliers(strict, w, k, ma, total, pos):
    """Multipliers of all active rows for the optimum of level k (k = strict: the last cost).

    A_kᵀ ρ_k + Σ_{q<k} A_qᵀ λ_q = 0 in the coordinates y, from the level above k up to level 0.
    """
    W, rho, multiplier, g = w.W, w.rho, w.multiplier, w.g
    start, stop = w.first_row[k], w.first_row[k + 1]
    top = pos if k == strict else w.first_pos[k]
    for i in range(ma):
        multiplier[i] = rho[i] if start <= i < stop else 0.0
    for j in range(top):
        row = W[j]
        s = 0.0
        for i in range(start, stop):
            s += row[i] * rho[i]
        if k == strict:
            s += w.y[j]
            for i in range(ma, total):  # passengers enter with the opposite sign; ρ holds δ for them
                s -= row[i] * rho[i]
        g[j] = s
    for q in range(min(k, strict) - 1, -1, -1):
        _substitute(w, q)


@kernel
def _substitute(w, q):
    """L_qᵀ λ_q = −g, then what λ_q adds to the gradient of the levels above."""
    W, multiplier, g = w.W, w.multiplier, w.g
    p0, p1, r0 = w.first_pos[q], w.first_pos[q + 1], w.first_row[q]
    for j in range(p1 - p0 - 1, -1, -1):
        s = g[p0 + j]
        row = W[p0 + j]
        for i in range(j + 1, p1 - p0):
            s += row[r0 + i] * multiplier[r0 + i]
        multiplier[r0 + j] = -s / row[r0 + j]
    for j in range(p0):
        row = W[j]
        s = 0.0
        for i in range(r0, r0 + p1 - p0):
            s += row[i] * multiplier[i]
        g[j] += s
