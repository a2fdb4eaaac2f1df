"""The inertia of a robot at a frame."""

from __future__ import annotations

from sot.kernels.cholesky import delassus, factor
from sot.kernels.compiler import entry_kernel
from sot.kernels.linear import dot


@entry_kernel
def seen_at(M, J, none, L, Y, B):  # type: ignore[no-untyped-def]
    """B = J M⁻¹ Jᵀ = Y Yᵀ, Y = J L⁻ᵀ, M = L Lᵀ.

    Args:
        M: Mass matrix, shape (nv, nv).
        J: Jacobian, shape (k, nv).
        none: Zeros, shape (nv,).
        L: Out, lower half, shape (nv, nv).
        Y: Out, shape (k, nv).
        B: Out, shape (k, k).
    """
    factor(M, none, 0.0, L)
    delassus(L, J, Y, J.shape[0], B)


@entry_kernel
def exceeds(B, root, least):  # type: ignore[no-untyped-def]
    """Whether all eigenvalues of diag(root) B diag(root) are above `least`: less that, it has a Cholesky factor.

    Args:
        B: Symmetric, up to 6×6; overwritten.
        root: Shape (k,).
        least: A number.
    """
    for i in range(root.size):
        for j in range(i + 1):
            value = root[i] * root[j] * B[i, j] - dot(B[i], B[j], j)
            if i == j:
                value -= least
                if not (value > 0.0):
                    return False
                B[i, i] = value**0.5
            else:
                B[i, j] = value / B[j, j]
    return True
