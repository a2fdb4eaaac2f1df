"""Small dense linear algebra on preallocated memory, for use inside other kernels.

Matrices are stored so that the innermost loop runs over contiguous memory without a running sum: that is what
lets the compiler use vector instructions without reordering floating point operations.
"""

from __future__ import annotations

import math

from sot.kernels.compiler import kernel, sum_kernel


@sum_kernel
def dot(a, b, size):
    """aᵀb."""
    total = 0.0
    for k in range(size):
        total += a[k] * b[k]
    return total


@kernel
def reflector(v, size):
    """Turn v[:size] into a Householder vector in place; returns (β, α) with (I − β v vᵀ) v_old = α e₀."""
    norm2 = 0.0
    for j in range(size):
        norm2 += v[j] * v[j]
    norm = math.sqrt(norm2)
    alpha = -norm if v[0] > 0.0 else norm
    v[0] -= alpha
    return 1.0 / (-alpha * v[0]), alpha  # β = 2 / vᵀv, and vᵀv = −2 α v₀


@kernel
def combine(W, v, first, size, start, count, out, used):
    """out[:count] += Σ_j v[j] W[first + j, start:start + count], four rows at a time.

    A limb's Jacobian is zero for the other limbs, and so is much of v: only what is not zero is touched. The places
    of that are left in `used`; returns how many.
    """
    total = 0
    for j in range(size):
        if v[j] != 0.0:
            used[total] = j
            total += 1
    stop = start + count
    k = 0
    while k + 4 <= total:
        j0, j1, j2, j3 = used[k], used[k + 1], used[k + 2], used[k + 3]
        v0, v1, v2, v3 = v[j0], v[j1], v[j2], v[j3]
        r0, r1 = W[first + j0, start:stop], W[first + j1, start:stop]
        r2, r3 = W[first + j2, start:stop], W[first + j3, start:stop]
        for i in range(count):
            out[i] += (v0 * r0[i] + v1 * r1[i]) + (v2 * r2[i] + v3 * r3[i])
        k += 4
    while k < total:
        v0 = v[used[k]]
        r0 = W[first + used[k], start:stop]
        for i in range(count):
            out[i] += v0 * r0[i]
        k += 1
    return total


@kernel
def reflect_columns(W, v, beta, first, size, start, stop, t, used):
    """Apply I − β v vᵀ to rows first:first+size of W, columns start:stop. W[j, i] is contiguous in i."""
    count = stop - start
    for i in range(count):
        t[i] = 0.0
    total = combine(W, v, first, size, start, count, t, used)
    for k in range(total):
        scale = beta * v[used[k]]
        row = W[first + used[k], start:stop]
        for i in range(count):
            row[i] -= scale * t[i]


@kernel
def gram(W, first, stop, start, size, K, column, used):
    """Upper triangle of K = Σ_j w_j w_jᵀ over the rows w_j = W[j, start:start + size], first ≤ j < stop."""
    for i in range(size):
        row = K[i, i:size]
        for k in range(size - i):
            row[k] = 0.0
        for j in range(stop - first):
            column[j] = W[first + j, start + i]
        combine(W, column, first, stop - first, start + i, size - i, row, used)


@kernel
def ldl(K, size, smallest, column, used):
    """K = L D Lᵀ for quasi-definite K, in its upper triangle: K[j, j] = D, K[j, i] = L[i, j].

    Row by row; pivots not larger than `smallest` are left out. Returns the ratio of the largest pivot to the
    smallest, which tells how many digits are lost.
    """
    high, low = 0.0, math.inf
    for i in range(size):
        for j in range(i):
            column[j] = -K[j, i] * K[j, j]
        row = K[i, i:size]
        combine(K, column, 0, i, i, size - i, row, used)
        d = row[0]
        inverse = 1.0 / d
        if abs(d) <= smallest:
            row[0] = 0.0
            inverse = 0.0
        else:
            high, low = max(high, abs(d)), min(low, abs(d))
        for k in range(1, size - i):
            row[k] *= inverse
    return high / low


@kernel
def ldl_solve(K, size, b):
    """Solve K x = b in place with the factors of `ldl`."""
    for j in range(size):
        bj = b[j]
        row = K[j, j + 1 : size]
        rest = b[j + 1 : size]
        for i in range(size - j - 1):
            rest[i] -= row[i] * bj
    for j in range(size):
        d = K[j, j]
        b[j] = b[j] / d if d != 0.0 else 0.0
    for j in range(size - 1, -1, -1):
        b[j] -= dot(K[j, j + 1 : size], b[j + 1 : size], size - j - 1)


@kernel
def least_squares(G, rows, cols, b, x):
    """min ‖Gᵀ x − b‖ for G of shape (cols, rows) with full rank, by Householder QR. Destroys G and b[:rows]."""
    for j in range(cols):
        norm2 = 0.0
        for i in range(j, rows):
            norm2 += G[j, i] * G[j, i]
        norm = math.sqrt(norm2)
        x[j] = 0.0
        if norm == 0.0:
            continue
        alpha = -norm if G[j, j] > 0.0 else norm
        G[j, j] -= alpha
        beta = 1.0 / (-alpha * G[j, j])
        for k in range(j + 1, cols):
            _reflect(G[j], G[k], j, rows, beta)
        _reflect(G[j], b, j, rows, beta)
        x[j] = alpha  # the diagonal of R, kept here until the substitution
    for j in range(cols - 1, -1, -1):
        total = b[j]
        for k in range(j + 1, cols):
            total -= G[k, j] * x[k]
        x[j] = total / x[j] if x[j] != 0.0 else 0.0


@kernel
def _reflect(v, y, start, stop, beta):
    total = 0.0
    for i in range(start, stop):
        total += v[i] * y[i]
    total *= beta
    for i in range(start, stop):
        y[i] -= total * v[i]
