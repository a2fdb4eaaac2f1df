"""A guard: comparisons with NaN are all false, so a solver would take a broken problem for a solved one."""

from __future__ import annotations

import math

from sot.kernels.compiler import entry_kernel


@entry_kernel
def is_finite(AT, lower, upper, x_lower, x_upper, metric, target, total):
    """True if a problem has no NaN, and infinities only where they mean "no bound". `total` has room for m.

    One sum of |A| per row finds NaN and infinities alike; so does one comparison per bound.
    """
    n, m = AT.shape
    for r in range(m):
        total[r] = 0.0
    ok = True
    for c in range(n):
        column = AT[c]
        for r in range(m):
            total[r] += abs(column[r])
        ok &= x_lower[c] < math.inf
        ok &= x_upper[c] > -math.inf
        ok &= abs(target[c]) < math.inf
        ok &= metric[c] < math.inf
    for r in range(m):
        ok &= total[r] < math.inf
        ok &= lower[r] < math.inf
        ok &= upper[r] > -math.inf
    return ok
