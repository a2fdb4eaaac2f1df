"""How heavy a robot feels at a task: operational-space inertia that stays bounded at singularities."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from sot.checks import positive
from sot.errors import TaskError
from sot.model import Model

LARGEST = 1000.0  # kg, kg·m²


def operational_inertia(model: Model, J: np.ndarray, largest: float = LARGEST) -> np.ndarray:
    """Λ = (J M⁻¹ Jᵀ)⁻¹ at the model's state, shape (m, m), kg for rows in m and kg·m² for rows in rad.

    At a singularity a direction cannot be moved at all and the plain inverse is infinite. Here each eigenvalue λ of
    J M⁻¹ Jᵀ is inverted as 1/λ down to λ₀ = 3/largest, and below as the beginning of its series,

        (1 + x + x²)/λ₀,    x = 1 − λ/λ₀,

    which is smooth at λ₀ (value, slope and curvature are those of 1/λ) and 3/λ₀ = largest at λ = 0. So Λ is that of the
    textbook wherever no direction feels heavier than largest/3, and continuous and bounded everywhere.

    Args:
        model: The robot, moved to its state.
        J: Jacobian of the task, shape (m, nv).
        largest: Bound on all eigenvalues of Λ.
    """
    largest = positive(largest, "operational_inertia: largest")
    J = np.asarray(J, dtype=float)
    if J.ndim != 2 or J.shape[1] != model.nv or not np.isfinite(J).all():
        raise TaskError(f"operational_inertia: J: expected finite numbers, shape (m, {model.nv}), got {J.shape}")
    half = scipy.linalg.solve_triangular(np.linalg.cholesky(model.mass_matrix), J.T, lower=True)  # (nv, m)
    values, vectors = np.linalg.eigh(half.T @ half)
    return (vectors * _bounded_inverse(values, 3.0 / largest)) @ vectors.T


def _bounded_inverse(values: np.ndarray, smallest: float) -> np.ndarray:
    x = 1.0 - np.clip(values, 0.0, smallest) / smallest
    return np.where(values >= smallest, 1.0 / np.maximum(values, smallest), (1.0 + x + x * x) / smallest)
