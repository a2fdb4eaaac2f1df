"""The strict levels of a working set, solved as equalities: A_k S Q = [L_k<, L_k, 0]."""

from __future__ import annotations

from sot.kernels.compiler import kernel
from sot.kernels.linear import combine, dot, least_squares, reflect_columns, reflector
from sot.solvers.status import FREE, UPPER

# A row is dependent when less than this part of it is left. Rows may miss their bounds by 1e-9
# (TOLERANCE): with a smaller part than this, putting that right would move x for nothing.
RANK_TOLERANCE = 1e-7


@kernel
def gather(d, w, nf, ma):
    """Copy the working set into W (scaled, contiguous over rows) and b = bound − A x₀; add passenger rows.

    Returns the number of rows and passengers.
    """
    _right_hand_sides(d, w, ma)
    m = d.lower.size
    for j in range(nf):
        c = w.free[j]
        s, column, row = w.scale[c], d.AT[c], w.W[j]
        if ma == m:
            for i in range(ma):
                row[i] = s * column[i]
        else:
            for i in range(ma):
                row[i] = s * column[w.active[i]]
    _row_norms(d, w, nf)
    total = ma
    for j in range(nf):
        if d.metric[w.free[j]] <= 0.0:
            for k in range(nf):
                w.W[k, total] = 0.0
            w.W[j, total] = 1.0
            total += 1
    return total


@kernel
def _right_hand_sides(d, w, ma):
    n, m = d.AT.shape
    t = w.t
    for r in range(m):
        t[r] = 0.0
    for c in range(n):  # A x₀, with fixed columns at their bound
        value = w.origin[c] if d.status[m + c] == FREE else d.x[c]
        if value != 0.0:
            column = d.AT[c]
            for r in range(m):
                t[r] += value * column[r]
    for i in range(ma):
        r = w.active[i]
        w.b[i] = (d.upper[r] if d.status[r] == UPPER else d.lower[r]) - t[r]


@kernel
def _row_norms(d, w, nf):
    """Squared norms of the strict rows over all columns: a level is no smaller if large ones are at bounds."""
    n, m = d.AT.shape
    ordered = w.first_row[d.strict]
    norms = w.norms
    for i in range(ordered):
        norms[i] = 0.0
    for j in range(nf):
        row = w.W[j]
        for i in range(ordered):
            norms[i] += row[i] * row[i]
    for c in range(n):
        if d.status[m + c] != FREE:
            for i in range(ordered):
                norms[i] += (w.scale[c] * d.AT[c, w.active[i]]) ** 2


@kernel
def eliminate(w, strict, nf, total):
    """Reflectors, y and residuals ρ_k of the strict levels. Returns the rank of all of them."""
    W = w.W  # innermost calls get single arrays: handing on the whole workspace costs as much as their work
    pos = 0
    for k in range(strict):
        start, stop = w.first_row[k], w.first_row[k + 1]
        w.first_pos[k] = pos
        p0 = pos
        row = start
        while row < stop and pos < nf:
            best = _largest_row(W, w.t2, w.norms, pos, nf, row, stop)
            if best < 0:
                break
            if best != row:
                _swap_rows(W, w.b, w.norms, w.active, best, row, nf)
            v = w.V[pos]
            for j in range(nf - pos):
                v[j] = W[pos + j, row]
            w.beta[pos], W[pos, row] = reflector(v, nf - pos)
            reflect_columns(W, v, w.beta[pos], pos, nf - pos, row + 1, total, w.t, w.kept)
            pos += 1
            row += 1
        _solve_level(w, start, stop, p0, pos)
    w.first_pos[strict] = pos
    return pos


@kernel
def _largest_row(W, scratch, norms, pos, nf, start, stop):
    """The row of a level with the largest remaining norm, or −1 if all that is left is rounding.

    Each row is measured by itself: one of a light joint is not dependent because another one is heavy.
    """
    count = stop - start
    left = scratch[start:stop]
    for i in range(count):
        left[i] = 0.0
    for j in range(pos, nf):
        row = W[j, start:stop]
        for i in range(count):
            left[i] += row[i] * row[i]
    best, most = -1, 0.0
    for i in range(count):
        if left[i] > most and left[i] > RANK_TOLERANCE * RANK_TOLERANCE * norms[start + i]:
            best, most = start + i, left[i]
    return best


@kernel
def _swap_rows(W, b, norms, active, i, j, nf):
    for k in range(nf):
        W[k, i], W[k, j] = W[k, j], W[k, i]
    b[i], b[j] = b[j], b[i]
    norms[i], norms[j] = norms[j], norms[i]
    active[i], active[j] = active[j], active[i]


@kernel
def _solve_level(w, start, stop, p0, p1):
    """L_k y_k = b_k − L_k< y_<, exactly or in least squares; ρ_k = A_k x − b_k."""
    rank, count = p1 - p0, stop - start
    t = w.t
    for i in range(start, stop):
        t[i] = -w.b[i]
    combine(w.W, w.y, 0, p0, start, count, t[start:stop], w.kept)
    for i in range(start, stop):
        t[i] = -t[i]
    if rank == count:
        _forward(w, start, stop, p0)
    else:
        _fit_level(w, start, stop, p0, rank)


@kernel
def _forward(w, start, stop, p0):
    """Full rank: forward substitution, no residual."""
    W, t = w.W, w.t
    for j in range(stop - start):
        yj = t[start + j] / W[p0 + j, start + j]
        w.y[p0 + j] = yj
        row = W[p0 + j]
        for i in range(start + j + 1, stop):
            t[i] -= row[i] * yj
    for i in range(start, stop):
        w.rho[i] = 0.0


@kernel
def _fit_level(w, start, stop, p0, rank):
    """Dependent rows: least squares in L_k."""
    W, y, rho, t = w.W, w.y, w.rho, w.t
    for j in range(rank):
        for i in range(stop - start):
            w.G[j, i] = W[p0 + j, start + i] if i >= j else 0.0
    for i in range(start, stop):
        rho[i] = t[i]
    least_squares(w.G, stop - start, rank, rho[start:], y[p0:])
    for i in range(start, stop):
        rho[i] = -t[i]
    for j in range(rank):
        yj = y[p0 + j]
        for i in range(start + j, stop):
            rho[i] += W[p0 + j, i] * yj


@kernel
def expand(d, w, nf, pos):
    """xs = x₀ + S Q y. Returns True if it is finite."""
    g = w.g
    for j in range(nf):
        g[j] = w.y[j]
    for p in range(pos - 1, -1, -1):
        s = w.beta[p] * dot(w.V[p], g[p:], nf - p)
        for j in range(nf - p):
            g[p + j] -= s * w.V[p, j]
    for c in range(d.x.size):
        w.xs[c] = d.x[c]
    size = 0.0
    for j in range(nf):
        c = w.free[j]
        w.xs[c] = w.origin[c] + w.scale[c] * g[j]
        size += abs(w.xs[c])
    return size < 1e300
