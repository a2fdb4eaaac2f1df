"""Active-set solver for lexicographic least squares with bounds: one kernel behind all solvers.

The problem (see `sot.problem.Problem`), for the rows of the first `strict` levels in strict order and all
later rows together with the metric in one last cost. The method:

1. Metric. Columns are scaled, x = x₀ + S δ, so that the last cost contains ½‖δ‖²; x₀ is its target.
2. Equality solve for a working set (`elimination`, `last_cost`). Rows of it are equalities, columns at a bound
   leave the problem. Level by level Householder reflectors from the right, with the row of largest remaining norm
   first: A_k S Q = [L_k<, L_k, 0]. Full rank: forward substitution, else least squares in L_k. What is left of
   y = Qᵀδ minimises the last cost. No null-space basis is formed.
3. Multipliers by substitution, level by level (`judgement`): who should leave the working set.
4. Primal steps from the last tick's x: go towards the equality solution until something blocks, add it, repeat;
   after a full step drop the worst candidate or stop. x respects all bounds at every moment.
"""

from __future__ import annotations

import numpy as np

from sot.kernels.compiler import entry_kernel, kernel
from sot.kernels.elimination import eliminate, expand, gather
from sot.kernels.finite import is_finite
from sot.kernels.judgement import LOCKED, TOLERANCE, judge
from sot.kernels.last_cost import last_cost
from sot.kernels.workspace import Data, carve
from sot.solvers.status import CAPPED, EQUAL, FREE, LOWER, NOT_FINITE, OPTIMAL, UPPER

ROUNDING = 1e-12  # by which x may pass a bound before it counts as blocked; it is then put back

# Cycling guard: a constraint that left this often and comes back without a step stays until x has moved. So
# does one that comes back at once: some level presses on it by less than the tolerance. Whoever left as often as
# MOST in one solve goes in circles with others, while x moves by rounding alone: it stays for good.
PATIENCE, MOST = 4, 10


@entry_kernel
def solve(AT, lower, upper, offsets, strict, x_lower, x_upper, metric, target, x, status, work, iwork, info, cap):
    """Solve, from the warm start in x and status. Returns OPTIMAL, CAPPED or NOT_FINITE.

    For the arguments see `sot.kernels.workspace.Data`. `info` gets the number of iterations, the number of locked
    constraints, then rank and residual of each strict level.
    """
    n, m = AT.shape
    d = Data(AT, lower, upper, offsets, strict, x_lower, x_upper, metric, target, x, status)
    w = carve(work, iwork, n, m, offsets.size - 1)
    info[0] = 0
    if not is_finite(AT, lower, upper, x_lower, x_upper, metric, target, w.ax):
        return NOT_FINITE
    looser = _start(d, w.ax)
    _set_metric(d, w)
    w.left[:] = 0
    w.mark[:] = 0
    locked, dropped, dropped_side = 0, -1, FREE
    outcome = CAPPED
    iteration = 0
    while iteration < cap:
        iteration += 1
        nf, ma = _working_set(d, w)
        total = gather(d, w, nf, ma)
        pos = eliminate(w, strict, nf, total)
        last_cost(w, w.first_row[strict], ma, total, pos, nf)
        if not expand(d, w, nf, pos):
            outcome = NOT_FINITE
            break
        alpha, blocking, side = _step_length(d, w, looser)
        moved = _move(d, w, alpha, looser)
        if moved > TOLERANCE and iteration > 1:  # whoever makes way does not go in circles
            _forget(w.mark, w.left)
        if blocking >= 0:
            _hold(d, blocking, side)
            back = blocking == dropped and side == dropped_side
            still = moved <= TOLERANCE and (back or w.mark[blocking] >= PATIENCE)
            if still or w.left[blocking] >= MOST:
                w.mark[blocking] = LOCKED
                locked += 1
            dropped = -1
            continue
        worst = judge(d, w, ma, total, pos, info)
        if worst < 0:
            outcome = OPTIMAL
            break
        dropped, dropped_side = worst, status[worst]
        status[worst] = FREE
        if worst < m:  # a wide step may have carried an active row past its other bound
            status[worst] = _side(w.ax[worst], lower[worst], upper[worst])
        w.mark[worst] += 1
        w.left[worst] += 1
    info[0] = iteration
    info[1] = locked
    for k in range(strict):
        info[2 + k] = w.first_pos[k + 1] - w.first_pos[k]
    return outcome


@kernel
def _start(d, ax):
    """Make x respect the bounds and the working set fit the problem. True if some row is an inequality."""
    n, m = d.AT.shape
    for c in range(n):
        low, high = d.x_lower[c], d.x_upper[c]
        s = _fitting(d.status[m + c], low, high)
        d.status[m + c] = s
        if s == FREE:
            d.x[c] = min(max(d.x[c], low), high)
        else:
            d.x[c] = high if s == UPPER else low
    looser = False
    for r in range(m):
        looser |= d.lower[r] != d.upper[r]
    if looser:
        _times(d.AT, d.x, ax)
    for r in range(m):
        s = _fitting(d.status[r], d.lower[r], d.upper[r])
        d.status[r] = _side(ax[r], d.lower[r], d.upper[r]) if s == FREE else s
    return looser


@kernel
def _fitting(status, low, high):
    """A status from the last tick, if the bounds still allow it."""
    if low == high:
        return EQUAL
    gone = (status == LOWER and low == -np.inf) or (status == UPPER and high == np.inf)
    return FREE if status == EQUAL or gone else status


@kernel
def _side(value, low, high):
    """Which bound a value is beyond, if any."""
    if value > high + TOLERANCE * (1.0 + abs(high)):
        return UPPER
    if value < low - TOLERANCE * (1.0 + abs(low)):
        return LOWER
    return FREE


@kernel
def _times(AT, x, out):
    """out[:m] = A x."""
    n, m = AT.shape
    for r in range(m):
        out[r] = 0.0
    for c in range(n):
        xc = x[c]
        if xc != 0.0:
            column = AT[c]
            for r in range(m):
                out[r] += xc * column[r]

@kernel
def _set_metric(d, w):
    """Scaling and origin that turn the metric into ½‖δ‖²."""
    for c in range(d.x.size):
        weighted = d.metric[c] > 0.0
        w.scale[c] = 1.0 / d.metric[c] if weighted else 1.0
        w.origin[c] = d.target[c] if weighted else 0.0


@kernel
def _forget(mark, left):
    """Let everybody leave again who has not left too often."""
    for i in range(mark.size):
        if left[i] < MOST:
            mark[i] = 0


@kernel
def _move(d, w, alpha, looser):
    """Step from x towards xs, inside the bounds. Returns the largest change, as a part of the largest |x| or of 1."""
    moved, size = 0.0, 1.0
    for c in range(d.x.size):
        step = alpha * (w.xs[c] - d.x[c])
        moved, size = max(moved, abs(step)), max(size, abs(d.x[c]))
        d.x[c] = min(max(d.x[c] + step if alpha < 1.0 else w.xs[c], d.x_lower[c]), d.x_upper[c])
    if looser:
        for r in range(d.lower.size):
            w.ax[r] += alpha * (w.t[r] - w.ax[r])
    return moved / size


@kernel
def _hold(d, blocking, side):
    """Put a constraint into the working set; a column goes exactly to its bound."""
    d.status[blocking] = side
    c = blocking - d.lower.size
    if c >= 0:
        d.x[c] = d.x_lower[c] if side == LOWER else d.x_upper[c]


@kernel
def _working_set(d, w):
    """List free columns and active rows; first_row[k] is where level k begins in the list."""
    n, m = d.AT.shape
    levels, strict, free, active, first_row = d.offsets.size - 1, d.strict, w.free, w.active, w.first_row
    nf = 0
    for c in range(n):
        if d.status[m + c] == FREE:
            free[nf] = c
            nf += 1
    ma = 0
    for k in range(levels):
        if k <= strict:
            first_row[k] = ma
        for r in range(d.offsets[k], d.offsets[k + 1]):
            if d.status[r] != FREE:
                active[ma] = r
                ma += 1
    if strict >= levels:
        first_row[strict] = ma
    first_row[strict + 1] = ma
    return nf, ma


@kernel
def _step_length(d, w, looser):
    """How far towards xs nothing is crossed. Returns (α, what blocks or −1, on which side); ends with t = A xs."""
    n, m = d.AT.shape
    alpha, blocking, side = 1.0, -1, FREE
    for c in range(n):
        if d.status[m + c] == FREE:
            a, s = _reach(d.x[c], w.xs[c], d.x_lower[c], d.x_upper[c], ROUNDING)
            if a < alpha:
                alpha, blocking, side = a, m + c, s
    if not looser:
        return alpha, blocking, side
    _times(d.AT, w.xs, w.t)
    for r in range(m):
        if d.status[r] == FREE:
            a, s = _reach(w.ax[r], w.t[r], d.lower[r], d.upper[r], TOLERANCE)
            if a < alpha:
                alpha, blocking, side = a, r, s
    return alpha, blocking, side


@kernel
def _reach(start, end, low, high, slack):
    """The part of the way from start to end that ends at a bound, and which bound; more than 1 if none is passed."""
    if end > high + slack * (1.0 + abs(high)) and end > start:
        return max(high - start, 0.0) / (end - start), UPPER
    if end < low - slack * (1.0 + abs(low)) and end < start:
        return max(start - low, 0.0) / (start - end), LOWER
    return 2.0, FREE
