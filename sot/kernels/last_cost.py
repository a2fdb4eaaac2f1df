"""What is free after the strict levels: min ½‖B δ − b‖² + ½‖δ‖² − ½‖δ_passengers‖².

B are the rows that are not strictly ordered. Passengers are columns without metric: ‖δ‖² over the others is
‖δ‖² − ‖δ_passengers‖². With E = [B; passengers] and Σ = diag(1…, −1…) the Hessian is H = I + Eᵀ Σ E, and

    z = H⁻¹ Eᵀ Σ r = Eᵀ (Σ + E Eᵀ)⁻¹ r,

a quasi-definite system as large as the rows, not the columns.
"""

from __future__ import annotations

from sot.kernels.compiler import kernel
from sot.kernels.linear import combine, dot, gram, ldl, ldl_solve

REFINE_FROM = 1e7  # ratio of pivots from which the solution is refined once
SINGULAR = 1e-10  # pivots up to this are left out


@kernel
def last_cost(w, start, ma, total, pos, nf):
    """The rest of y, and ρ of the rows from `start` on (for passengers ρ holds δ)."""
    size = total - start
    y, r, s = w.y, w.t, w.t2
    for j in range(pos, nf):
        y[j] = 0.0
    if pos < nf and size > 0:
        gram(w.W, pos, nf, start, size, w.K, s, w.kept)
        for i in range(size):
            w.K[i, i] += 1.0 if start + i < ma else -1.0
        spread = ldl(w.K, size, SINGULAR, s, w.kept)
        _residual(w, start, ma, total, nf)
        for i in range(size):
            s[i] = r[i]
        ldl_solve(w.K, size, s)
        for j in range(pos, nf):
            y[j] = dot(w.W[j, start:total], s, size)
        if spread > REFINE_FROM:
            _refine(w, start, ma, total, pos, nf)
        _minimum_norm(w, start, ma, total, pos, nf)
    _residual(w, start, ma, total, nf)
    for i in range(size):
        w.rho[start + i] = -r[i]


@kernel
def _residual(w, start, ma, total, nf):
    """t = b − B δ for rows, −δ for passengers."""
    size, r = total - start, w.t
    for i in range(size):
        r[i] = -w.b[start + i] if start + i < ma else 0.0
    combine(w.W, w.y, 0, nf, start, size, r, w.kept)
    for i in range(size):
        r[i] = -r[i]


@kernel
def _refine(w, start, ma, total, pos, nf):
    """One Newton step: z −= H⁻¹ g, with H⁻¹ g = g − Eᵀ (Σ + E Eᵀ)⁻¹ E g."""
    size = total - start
    y, g, r, s = w.y, w.g, w.t, w.t2
    _residual(w, start, ma, total, nf)
    for i in range(ma - start, size):
        r[i] = -r[i]  # Σ r
    for i in range(size):
        s[i] = 0.0
    for j in range(pos, nf):
        source = w.W[j, start:total]
        g[j] = y[j] - dot(source, r, size)
        for i in range(size):
            s[i] += g[j] * source[i]
    ldl_solve(w.K, size, s)
    for j in range(pos, nf):
        y[j] -= g[j] - dot(w.W[j, start:total], s, size)


@kernel
def _minimum_norm(w, start, ma, total, pos, nf):
    """Where Σ + E Eᵀ is singular, passengers move freely along its null vectors: take that part out of them.

    The null vectors, made orthogonal to each other, are kept in the unused lower triangle of K.
    """
    size, first = total - start, ma - start
    K, r, n = w.K, w.t, w.t2
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
        _residual(w, start, ma, total, nf)
        share = dot(n[first:], r[first:], p + 1 - first) / dot(n, n, p + 1)
        for j in range(pos, nf):
            w.y[j] += share * dot(w.W[j, start:total], n, p + 1)
