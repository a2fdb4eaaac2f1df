"""Rows of some tasks in the space that higher levels leave, and whether any direction of them is weak.

A projected row is m = a − Q Qᵀ a, with Q an orthonormal basis of all equalities above and of the entries of x that
cannot move. Weak directions are rare, so
the question is answered by a bound: for G = M Mᵀ the smallest singular value of M is at least 1 / √trace(G⁻¹).
"""

from __future__ import annotations

import math

from sot.kernels.compiler import entry_kernel, kernel
from sot.kernels.elimination import RANK_TOLERANCE
from sot.kernels.linear import dot


@entry_kernel
def project(
    AT, lower, upper, offsets, strict, x_lower, x_upper, rows, scales, starts, levels, thresholds, Q, M, gram, weak
):
    """Write the projected rows of every group into M and a flag per group into `weak`. Returns how many are weak.

    Group g holds the rows `rows[starts[g]:starts[g + 1]]`, each times its scale, and stands on level `levels[g]`;
    groups are sorted by level. Q and `gram` are scratch, (n + 1, n) and as large as the largest group squared.
    """
    n = AT.shape[0]
    count, done, found = _hold(x_lower, x_upper, Q), 0, 0
    for g in range(levels.size):
        while done < min(levels[g], strict):
            count = _span(AT, lower, upper, offsets[done], offsets[done + 1], Q, count)
            done += 1
        for i in range(starts[g], starts[g + 1]):
            row = M[i]
            for c in range(n):
                row[c] = scales[i] * AT[c, rows[i]]
            _take_out(row, Q, count)
        weak[g] = _has_weak(M, starts[g], starts[g + 1], thresholds[g], gram)
        found += weak[g]
    return found


@kernel
def _hold(x_lower, x_upper, Q):
    """Begin the basis Q with the entries of x that cannot move. Returns its size."""
    count = 0
    for c in range(x_lower.size):
        if x_lower[c] == x_upper[c]:
            Q[count, :] = 0.0
            Q[count, c] = 1.0
            count += 1
    return count


@kernel
def _span(AT, lower, upper, start, stop, Q, count):
    """Add the equalities of a level to the basis Q. Returns its new size."""
    n = AT.shape[0]
    largest = 0.0
    for r in range(start, stop):
        if lower[r] == upper[r]:
            square = 0.0
            for c in range(n):
                square += AT[c, r] * AT[c, r]
            largest = max(largest, square)
    smallest = RANK_TOLERANCE * math.sqrt(largest)
    for r in range(start, stop):
        if lower[r] != upper[r] or count == n:
            continue
        row = Q[count]
        for c in range(n):
            row[c] = AT[c, r]
        _take_out(row, Q, count)
        norm = math.sqrt(dot(row, row, n))
        if norm > smallest:
            for c in range(n):
                row[c] /= norm
            count += 1
    return count


@kernel
def _take_out(row, Q, count):
    """row ← row − Q Qᵀ row, twice: once leaves rounding of the size of what was taken out."""
    n = row.size
    for _ in range(2):
        for k in range(count):
            q = Q[k]
            along = dot(row, q, n)
            for c in range(n):
                row[c] -= along * q[c]


@kernel
def _has_weak(M, start, stop, threshold, gram):
    """1 unless all singular values of M[start:stop] are proved to be at least the threshold."""
    n, size = M.shape[1], stop - start
    for i in range(size):  # Cholesky factor L of G, row by row
        for j in range(i + 1):
            value = dot(M[start + i], M[start + j], n)
            for k in range(j):
                value -= gram[i, k] * gram[j, k]
            if i == j:
                if not value > 0.0:
                    return 1
                gram[i, i] = math.sqrt(value)
            else:
                gram[i, j] = value / gram[j, j]
    trace = 0.0
    for j in range(size):  # columns of L⁻¹ by forward substitution, kept above the diagonal
        inverse = 1.0 / gram[j, j]
        trace += inverse * inverse
        for i in range(j + 1, size):
            value = -gram[i, j] * inverse
            for k in range(j + 1, i):
                value -= gram[i, k] * gram[j, k]
            value /= gram[i, i]
            gram[j, i] = value
            trace += value * value
    return 0 if trace * threshold * threshold <= 1.0 else 1
