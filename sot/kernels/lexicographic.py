"""Active-set solver for lexicographic least squares with bounds: one kernel behind all solvers.

The problem (see `sot.problem.Problem`), for the rows of the first `strict` levels in strict order and all
later rows together with the metric in one last cost. The method:

1. Metric. Columns are scaled, x = x₀ + S δ, so that the last cost contains ½‖δ‖²; x₀ is its target.
2. Equality solve for a working set. Rows of the set are equalities, columns at a bound leave the problem. Level
   by level Householder reflectors from the right, with the row of largest remaining norm first:
   A_k S Q = [L_k<, L_k, 0]. Full rank: forward substitution, else least squares in L_k. What is left of
   y = Qᵀδ minimises the last cost. No null-space basis is formed.
3. Multipliers by substitution, level by level. A constraint is judged at the first level that presses on it:
   right sign keeps it, wrong sign makes it a candidate to leave.
4. Primal steps from the last tick's x: go towards the equality solution until something blocks, add it, repeat;
   after a full step drop the worst candidate or stop. x respects all bounds at every moment.

Columns without metric ride along as "passenger" rows of the identity, because ‖δ‖² over the others is
‖δ‖² − ‖δ_passengers‖².
"""

from __future__ import annotations

import math

import numpy as np

from sot.kernels.compiler import entry_kernel, kernel
from sot.kernels.finite import is_finite
from sot.kernels.linear import combine, dot, gram, ldl, ldl_solve, least_squares, reflect_columns, reflector
from sot.solvers.status import CAPPED, EQUAL, FREE, LOWER, NOT_FINITE, OPTIMAL, UPPER

RANK_TOLERANCE = 1e-9  # a row is dependent when less than this part of its level's largest row is left
TOLERANCE = 1e-9  # on violations and multipliers
ROUNDING = 1e-12  # by which x may pass a bound before it counts as blocked; it is then put back

REFINE_FROM = 1e7  # ratio of pivots from which the last cost's solution is refined once

# Cycling guard: a constraint that left this often and comes back without a step stays until x has moved. So
# does one that comes back at once: some level presses on it by less than the tolerance.
PATIENCE, LOCKED = 4, 1_000_000


@entry_kernel
def solve(AT, lower, upper, offsets, strict, x_lower, x_upper, metric, target, x, status, work, iwork, info, cap):
    """Solve, from the warm start in x and status. Returns OPTIMAL, CAPPED or NOT_FINITE.

    AT is Aᵀ, shape (n, m), C order. `status` holds m rows, then n columns. `info` gets the number of iterations,
    the number of locked constraints, then rank and residual of each strict level.
    """
    n, m = AT.shape
    levels = offsets.size - 1
    width = m + n
    # -- carve the workspace
    W = work[: n * width].reshape(n, width)
    a = n * width
    V = work[a : a + n * n].reshape(n, n)
    a += n * n
    K = work[a : a + width * width].reshape(width, width)
    a += width * width
    G = work[a : a + n * m].reshape(n, m)
    a += n * m
    beta = work[a : a + n]
    scale = work[a + n : a + 2 * n]
    origin = work[a + 2 * n : a + 3 * n]
    y = work[a + 3 * n : a + 4 * n]
    xs = work[a + 4 * n : a + 5 * n]
    g = work[a + 5 * n : a + 6 * n]
    a += 6 * n
    b = work[a : a + width]
    rho = work[a + width : a + 2 * width]
    multiplier = work[a + 2 * width : a + 3 * width]
    norms = work[a + 3 * width : a + 4 * width]
    t = work[a + 4 * width : a + 5 * width]
    t2 = work[a + 5 * width : a + 6 * width]
    ax = work[a + 6 * width : a + 7 * width]
    free = iwork[:n]
    active = iwork[n : n + width]
    mark = iwork[n + width : n + 2 * width]  # how often a constraint left the working set in this solve
    kept = iwork[n + 2 * width : n + 3 * width]
    first_row = iwork[n + 3 * width : n + 3 * width + levels + 2]
    first_pos = iwork[n + 3 * width + levels + 2 : n + 3 * width + 2 * levels + 4]

    info[0] = 0
    if not is_finite(AT, lower, upper, x_lower, x_upper, metric, target, ax):
        return NOT_FINITE
    looser = _start(AT, lower, upper, x_lower, x_upper, x, status, ax)
    for i in range(n):
        scale[i] = 1.0 / metric[i] if metric[i] > 0.0 else 1.0
        origin[i] = target[i] if metric[i] > 0.0 else 0.0
    for i in range(width):
        mark[i] = 0
    locked, dropped, dropped_side = 0, -1, FREE
    outcome = CAPPED
    iteration = 0
    while iteration < cap:
        iteration += 1
        nf, ma = _working_set(status, offsets, levels, strict, n, m, free, active, first_row)
        total = _gather(
            AT, lower, upper, status, metric, scale, origin, x, free, nf, active, first_row[strict], ma, W, b, norms, t
        )
        pos = _eliminate(W, V, beta, b, norms, G, y, rho, active, first_row, first_pos, strict, nf, total, t, t2, kept)
        _last_cost(W, K, b, y, rho, g, first_row[strict], ma, total, pos, nf, t, t2, kept)
        for j in range(nf):
            g[j] = y[j]
        for p in range(pos - 1, -1, -1):
            s = beta[p] * dot(V[p], g[p:], nf - p)
            for j in range(nf - p):
                g[p + j] -= s * V[p, j]
        for c in range(n):
            xs[c] = x[c]
        finite = True
        for j in range(nf):
            c = free[j]
            xs[c] = origin[c] + scale[c] * g[j]
            finite &= math.isfinite(xs[c])
        if not finite:
            outcome = NOT_FINITE
            break
        alpha, blocking, side = _step_length(AT, lower, upper, x_lower, x_upper, x, xs, status, looser, ax, t)
        moved = 0.0
        for c in range(n):
            moved = max(moved, alpha * abs(xs[c] - x[c]))
        if moved > TOLERANCE and iteration > 1:  # whoever makes way does not go in circles
            for i in range(width):
                mark[i] = 0
        if blocking >= 0:
            for c in range(n):
                x[c] = min(max(x[c] + alpha * (xs[c] - x[c]), x_lower[c]), x_upper[c])
            for r in range(m):
                ax[r] += alpha * (t[r] - ax[r])
            status[blocking] = side
            if blocking >= m:
                x[blocking - m] = x_lower[blocking - m] if side == LOWER else x_upper[blocking - m]
            back = blocking == dropped and side == dropped_side
            if alpha <= 1e-13 and (back or mark[blocking] >= PATIENCE):
                mark[blocking] = LOCKED
                locked += 1
            dropped = -1
            continue
        for c in range(n):
            x[c] = min(max(xs[c], x_lower[c]), x_upper[c])
        for r in range(m):
            ax[r] = t[r]
        worst = _judge(
            AT, W, y, rho, metric, scale, origin, x, status, active, free, first_row, first_pos, strict, levels,
            nf, ma, total, pos, multiplier, g, kept, mark, info,
        )  # fmt: skip
        if worst < 0:
            outcome = OPTIMAL
            break
        dropped, dropped_side = worst, status[worst]
        status[worst] = FREE
        if worst < m:  # a wide step may have carried an active row past its other bound
            status[worst] = _side(ax[worst], lower[worst], upper[worst])
        mark[worst] += 1
    info[0] = iteration
    info[1] = locked
    for k in range(strict):
        info[2 + k] = first_pos[k + 1] - first_pos[k]
    return outcome


@kernel
def _start(AT, lower, upper, x_lower, x_upper, x, status, ax):
    """Make x respect the bounds and the working set fit the problem. True if some row is an inequality."""
    n, m = AT.shape
    for c in range(n):
        s = status[m + c]
        if x_lower[c] == x_upper[c]:
            s = EQUAL
        elif s == EQUAL or (s == LOWER and not math.isfinite(x_lower[c])) or (s == UPPER and not math.isfinite(x_upper[c])):
            s = FREE
        status[m + c] = s
        if s == FREE:
            x[c] = min(max(x[c], x_lower[c]), x_upper[c])
        else:
            x[c] = x_upper[c] if s == UPPER else x_lower[c]
    looser = False
    for r in range(m):
        if lower[r] != upper[r]:
            looser = True
    if looser:
        _times(AT, x, ax)
    for r in range(m):
        s = status[r]
        if lower[r] == upper[r]:
            s = EQUAL
        else:
            if s == EQUAL or (s == LOWER and lower[r] == -np.inf) or (s == UPPER and upper[r] == np.inf):
                s = FREE
            if s == FREE:
                s = _side(ax[r], lower[r], upper[r])
        status[r] = s
    return looser


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
def _working_set(status, offsets, levels, strict, n, m, free, active, first_row):
    """List free columns and active rows; first_row[k] is where level k begins in the list."""
    nf = 0
    for c in range(n):
        if status[m + c] == FREE:
            free[nf] = c
            nf += 1
    ma = 0
    for k in range(levels):
        if k <= strict:
            first_row[k] = ma
        for r in range(offsets[k], offsets[k + 1]):
            if status[r] != FREE:
                active[ma] = r
                ma += 1
    if strict >= levels:
        first_row[strict] = ma
    first_row[strict + 1] = ma
    return nf, ma


@kernel
def _gather(AT, lower, upper, status, metric, scale, origin, x, free, nf, active, ordered, ma, W, b, norms, t):
    """Copy the working set into W (scaled, contiguous over rows) and b = bound − A x₀; add passenger rows."""
    n, m = AT.shape
    for r in range(m):
        t[r] = 0.0
    for c in range(n):  # A x₀, with fixed columns at their bound
        value = origin[c] if status[m + c] == FREE else x[c]
        if value != 0.0:
            column = AT[c]
            for r in range(m):
                t[r] += value * column[r]
    for i in range(ma):
        r = active[i]
        b[i] = (upper[r] if status[r] == UPPER else lower[r]) - t[r]
        norms[i] = 0.0
    for j in range(nf):
        c = free[j]
        s = scale[c]
        column = AT[c]
        row = W[j]
        if ma == m:
            for i in range(ma):
                row[i] = s * column[i]
        else:
            for i in range(ma):
                row[i] = s * column[active[i]]
        for i in range(ordered):
            norms[i] += row[i] * row[i]
    for c in range(n):  # a level is as large as all of its columns, also where only small ones are free
        if status[m + c] != FREE:
            for i in range(ordered):
                norms[i] += (scale[c] * AT[c, active[i]]) ** 2
    total = ma
    for j in range(nf):
        if metric[free[j]] <= 0.0:
            for k in range(nf):
                W[k, total] = 0.0
            W[j, total] = 1.0
            total += 1
    return total


@kernel
def _eliminate(W, V, beta, b, norms, G, y, rho, active, first_row, first_pos, strict, nf, total, t, left, used):
    """Strict levels: A_k S Q = [L_k<, L_k, 0], y and the residuals ρ_k. Returns the rank of all of them."""
    pos = 0
    for k in range(strict):
        start, stop = first_row[k], first_row[k + 1]
        first_pos[k] = pos
        p0 = pos
        row = start
        smallest = 0.0
        for i in range(start, stop):
            smallest = max(smallest, RANK_TOLERANCE * RANK_TOLERANCE * norms[i])
        while row < stop and pos < nf:
            _remaining_norms(W, pos, nf, row, stop, left)
            best, most = -1, smallest
            for i in range(row, stop):
                if left[i] > most:
                    best, most = i, left[i]
            if best < 0:
                break
            if best != row:
                _swap_rows(W, b, norms, active, best, row, nf)
            v = V[pos]
            for j in range(nf - pos):
                v[j] = W[pos + j, row]
            beta[pos], W[pos, row] = reflector(v, nf - pos)
            reflect_columns(W, v, beta[pos], pos, nf - pos, row + 1, total, t, used)
            pos += 1
            row += 1
        _solve_level(W, b, G, y, rho, start, stop, p0, pos, t, used)
    first_pos[strict] = pos
    return pos


@kernel
def _remaining_norms(W, pos, nf, start, stop, left):
    count = stop - start
    out = left[start:stop]
    for i in range(count):
        out[i] = 0.0
    for j in range(pos, nf):
        row = W[j, start:stop]
        for i in range(count):
            out[i] += row[i] * row[i]


@kernel
def _swap_rows(W, b, norms, active, i, j, nf):
    for k in range(nf):
        W[k, i], W[k, j] = W[k, j], W[k, i]
    b[i], b[j] = b[j], b[i]
    norms[i], norms[j] = norms[j], norms[i]
    active[i], active[j] = active[j], active[i]


@kernel
def _solve_level(W, b, G, y, rho, start, stop, p0, p1, t, used):
    """L_k y_k = b_k − L_k< y_<, exactly or in least squares; ρ_k = A_k x − b_k."""
    rank, count = p1 - p0, stop - start
    for i in range(start, stop):
        t[i] = -b[i]
    combine(W, y, 0, p0, start, count, t[start:stop], used)
    for i in range(start, stop):
        t[i] = -t[i]
    if rank == count:
        for j in range(rank):
            yj = t[start + j] / W[p0 + j, start + j]
            y[p0 + j] = yj
            row = W[p0 + j]
            for i in range(start + j + 1, stop):
                t[i] -= row[i] * yj
        for i in range(start, stop):
            rho[i] = 0.0
        return
    for j in range(rank):
        for i in range(count):
            G[j, i] = W[p0 + j, start + i] if i >= j else 0.0
    for i in range(count):
        rho[start + i] = t[start + i]
    least_squares(G, count, rank, rho[start:], y[p0:])
    for i in range(start, stop):
        rho[i] = -t[i]
    for j in range(rank):
        yj = y[p0 + j]
        for i in range(start + j, stop):
            rho[i] += W[p0 + j, i] * yj


@kernel
def _last_cost(W, K, b, y, rho, g, start, ma, total, pos, nf, r, s, used):
    """The rest of y: min ½‖B δ − b‖² + ½‖δ‖² − ½‖δ_passengers‖².

    With E = [B; passengers], Σ = diag(1…, −1…) and what y already gives: z = Eᵀ (Σ + E Eᵀ)⁻¹ r, a quasi-definite
    system as large as the rows; with widely spread weights one step of refinement follows.
    """
    size = total - start
    for j in range(pos, nf):
        y[j] = 0.0
    if pos < nf and size > 0:
        gram(W, pos, nf, start, size, K, s, used)
        for i in range(size):
            K[i, i] += 1.0 if start + i < ma else -1.0
        spread = ldl(K, size, 1e-10, s, used)
        _residual(W, b, y, start, ma, total, nf, r, used)
        for i in range(size):
            s[i] = r[i]
        ldl_solve(K, size, s)
        for j in range(pos, nf):
            y[j] = dot(W[j, start:total], s, size)
        if spread > REFINE_FROM:
            _refine(W, K, b, y, g, start, ma, total, pos, nf, r, s, used)
        _minimum_norm(W, K, b, y, start, ma, total, pos, nf, r, s, used)
    _residual(W, b, y, start, ma, total, nf, r, used)
    for i in range(size):
        rho[start + i] = -r[i]


@kernel
def _residual(W, b, y, start, ma, total, nf, r, used):
    """r = b − B δ for rows, −δ for passengers (δ in the coordinates y)."""
    size = total - start
    for i in range(size):
        r[i] = -b[start + i] if start + i < ma else 0.0
    combine(W, y, 0, nf, start, size, r, used)
    for i in range(size):
        r[i] = -r[i]


@kernel
def _refine(W, K, b, y, g, start, ma, total, pos, nf, r, s, used):
    """One Newton step on the last cost: z −= H⁻¹ g with H = I + Eᵀ Σ E."""
    size = total - start
    _residual(W, b, y, start, ma, total, nf, r, used)
    for i in range(ma - start, size):
        r[i] = -r[i]  # Σ r
    for i in range(size):
        s[i] = 0.0
    for j in range(pos, nf):
        source = W[j, start:total]
        g[j] = y[j] - dot(source, r, size)
        for i in range(size):
            s[i] += g[j] * source[i]
    ldl_solve(K, size, s)
    for j in range(pos, nf):  # H⁻¹ g = g − Eᵀ (Σ + E Eᵀ)⁻¹ E g
        y[j] -= g[j] - dot(W[j, start:total], s, size)


@kernel
def _minimum_norm(W, K, b, y, start, ma, total, pos, nf, r, n, used):
    """Where Σ + E Eᵀ is singular, passengers move freely along its null vectors: take that part out of them.

    The null vectors, made orthogonal to each other, are kept in the unused lower triangle of K.
    """
    size, first = total - start, ma - start
    for p in range(first, size):
        if K[p, p] != 0.0:
            continue
        n[p] = 1.0
        for i in range(p - 1, -1, -1):  # Lᵀ n = e_p
            n[i] = -dot(K[i, i + 1 : p + 1], n[i + 1 : p + 1], p - i) if K[i, i] != 0.0 else 0.0
        for q in range(first, p):
            if K[q, q] == 0.0:
                share = (n[q] + dot(K[q], n, q)) / (1.0 + dot(K[q], K[q], q))
                n[q] -= share
                for i in range(q):
                    n[i] -= share * K[q, i]
        for i in range(p):
            K[p, i] = n[i]
        _residual(W, b, y, start, ma, total, nf, r, used)
        share = dot(n[first:], r[first:], p + 1 - first) / dot(n, n, p + 1)
        for j in range(pos, nf):
            y[j] += share * dot(W[j, start:total], n, p + 1)


@kernel
def _step_length(AT, lower, upper, x_lower, x_upper, x, xs, status, looser, ax, axs):
    """How far towards xs nothing is crossed. Returns (α, what blocks or −1, on which side); axs = A xs."""
    n, m = AT.shape
    alpha, blocking, side = 1.0, -1, FREE
    for c in range(n):
        if status[m + c] != FREE:
            continue
        if xs[c] > x_upper[c] + ROUNDING * (1.0 + abs(x_upper[c])):
            a = max(x_upper[c] - x[c], 0.0) / (xs[c] - x[c])
            if a < alpha:
                alpha, blocking, side = a, m + c, UPPER
        elif xs[c] < x_lower[c] - ROUNDING * (1.0 + abs(x_lower[c])):
            a = max(x[c] - x_lower[c], 0.0) / (x[c] - xs[c])
            if a < alpha:
                alpha, blocking, side = a, m + c, LOWER
    if not looser:
        return alpha, blocking, side
    _times(AT, xs, axs)
    for r in range(m):
        if status[r] != FREE:
            continue
        if axs[r] > upper[r] + TOLERANCE * (1.0 + abs(upper[r])) and axs[r] > ax[r]:
            a = max(upper[r] - ax[r], 0.0) / (axs[r] - ax[r])
            if a < alpha:
                alpha, blocking, side = a, r, UPPER
        elif axs[r] < lower[r] - TOLERANCE * (1.0 + abs(lower[r])) and axs[r] < ax[r]:
            a = max(ax[r] - lower[r], 0.0) / (ax[r] - axs[r])
            if a < alpha:
                alpha, blocking, side = a, r, LOWER
    return alpha, blocking, side


@kernel
def _judge(AT, W, y, rho, metric, scale, origin, x, status, active, free, first_row, first_pos, strict, levels,
           nf, ma, total, pos, multiplier, g, kept, mark, info):  # fmt: skip
    """The constraint that should leave the working set, or −1. Also writes the level residuals to info."""
    n, m = AT.shape
    candidates = 0
    for i in range(m + n):
        kept[i] = 1
    for i in range(ma):
        if status[active[i]] != EQUAL and mark[active[i]] < LOCKED:
            kept[active[i]] = 0
            candidates += 1
    for c in range(n):
        s = status[m + c]
        if (s == LOWER or s == UPPER) and mark[m + c] < LOCKED:
            kept[m + c] = 0
            candidates += 1
    for k in range(strict + 1):
        size = 0.0
        if k < strict:
            for i in range(first_row[k], first_row[k + 1]):
                size += rho[i] * rho[i]
            size = math.sqrt(size)
            info[2 + strict + k] = size
            if size <= TOLERANCE:
                continue
        if candidates == 0:
            continue
        _multipliers(W, y, rho, first_row, first_pos, strict, k, ma, total, pos, multiplier, g)
        worst, value = -1, TOLERANCE
        for i in range(ma):
            r = active[i]
            if kept[r] == 0:
                sign = 1.0 if status[r] == UPPER else -1.0
                pressure = sign * multiplier[i]
                if pressure > TOLERANCE:
                    kept[r] = 1
                    candidates -= 1
                elif -pressure > value:
                    worst, value = r, -pressure
        for c in range(n):
            if kept[m + c] == 0:
                sign = 1.0 if status[m + c] == UPPER else -1.0
                pressure = -sign * _column_gradient(AT, metric, origin, x, active, ma, multiplier, c, k == strict)
                if pressure > TOLERANCE:
                    kept[m + c] = 1
                    candidates -= 1
                elif -pressure > value:
                    worst, value = m + c, -pressure
        if worst >= 0:
            return worst
    return _idle(status, metric, x, kept, mark, m) if candidates > 0 else -1


@kernel
def _idle(status, metric, x, kept, mark, m):
    """A column that no level presses against its bound should rather be at rest: the farthest from zero, or −1.

    Each gets one chance: at rest is not always possible.
    """
    worst, value = -1, TOLERANCE
    for c in range(x.size):
        if kept[m + c] == 0 and mark[m + c] == 0 and metric[c] <= 0.0 and status[m + c] * x[c] > value:
            worst, value = m + c, abs(x[c])
    return worst


@kernel
def _multipliers(W, y, rho, first_row, first_pos, strict, k, ma, total, pos, multiplier, g):
    """Multipliers of all active rows for the optimum of level k (k = strict: the last cost).

    A_kᵀ ρ_k + Σ_{q<k} A_qᵀ λ_q = 0 in the coordinates y, from the level above k up to level 0.
    """
    for i in range(ma):
        multiplier[i] = 0.0
    start, stop = first_row[k], first_row[k + 1]
    top = pos if k == strict else first_pos[k]
    if k == strict:
        for j in range(top):
            g[j] = y[j]
        for j in range(top):  # passengers enter with the opposite sign; ρ holds δ for them
            row = W[j]
            for i in range(ma, total):
                g[j] -= row[i] * rho[i]
    else:
        for j in range(top):
            g[j] = 0.0
    for i in range(start, stop):
        multiplier[i] = rho[i]
    for j in range(top):
        row = W[j]
        s = 0.0
        for i in range(start, stop):
            s += row[i] * rho[i]
        g[j] += s
    for q in range(min(k, strict) - 1, -1, -1):
        p0, p1, r0 = first_pos[q], first_pos[q + 1], first_row[q]
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


@kernel
def _column_gradient(AT, metric, origin, x, active, ma, multiplier, c, last):
    """Gradient of the Lagrangian along a fixed column."""
    s = metric[c] * metric[c] * (x[c] - origin[c]) if last else 0.0
    column = AT[c]
    for i in range(ma):
        s += column[active[i]] * multiplier[i]
    return s


def workspace_sizes(n: int, m: int, levels: int) -> tuple[int, int, int]:
    """Lengths of work, iwork and info for a problem of this size."""
    width = m + n
    work = n * width + n * n + width * width + n * m + 6 * n + 7 * width
    iwork = n + 3 * width + 2 * levels + 8
    return work, iwork, 2 + 2 * (levels + 1)
