"""Cholesky factors of a mass matrix, and what contacts see of it; inside other kernels."""

from __future__ import annotations

import math

from sot.kernels.compiler import kernel
from sot.kernels.linear import dot


@kernel
def delassus(L, JT, Y, size, G):
    """Y = L⁻¹ Jᵀ, row by row, and G = Y Yᵀ."""
    n = L.shape[0]
    for i in range(size):
        source, row = JT[i], Y[i]
        for c in range(n):
            row[c] = source[c]
        forward(L, row, n)
    for i in range(size):
        for j in range(i + 1):
            total = dot(Y[i], Y[j], n)
            G[i, j] = total
            G[j, i] = total


@kernel
def factor(M, damping, dt, L):
    """Cholesky of M + dt D; M has its upper half only."""
    for i in range(L.shape[0]):
        for j in range(i + 1):
            value = M[j, i]
            if i == j:
                value += dt * damping[i]
            value -= dot(L[i], L[j], j)
            L[i, j] = math.sqrt(value) if i == j else value / L[j, j]


@kernel
def forward(L, b, n):
    """L x = b, in place."""
    for i in range(n):
        b[i] = (b[i] - dot(L[i], b, i)) / L[i, i]


@kernel
def backward(L, b, n):
    """Lᵀ x = b, in place."""
    for i in range(n - 1, -1, -1):
        b[i] /= L[i, i]
        row = L[i]
        for c in range(i):
            b[c] -= row[c] * b[i]


@kernel
def spread(size, Y, L, impulses, v):
    """v = M⁻¹ Jᵀ λ."""
    for c in range(v.size):
        v[c] = 0.0
    for i in range(size):
        if impulses[i] != 0.0:
            row = Y[i]
            for c in range(v.size):
                v[c] += row[c] * impulses[i]
    backward(L, v, v.size)
