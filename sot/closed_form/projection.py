"""Accelerations that the contacts allow, as near as can be to a given one."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from sot.closed_form.touching import Touching
from sot.errors import ConfigError, ModelError, unknown

PROJECTIONS = ("mass", "plain")


def project(touching: Touching, a: np.ndarray, how: str | None, tolerance: float) -> np.ndarray:
    """min ‖v̇ − a‖_W  subject to  J v̇ + J̇v = 0, with W = M ("mass") or I ("plain"); a itself for None.

    With W = L Lᵀ it is v̇ = a + L⁻ᵀ (J L⁻ᵀ)⁺ (−J̇v − J a). Contacts that say the same twice, or that nothing can meet,
    are met in the least-squares sense.
    """
    if how is None:
        return a
    if how not in PROJECTIONS:
        raise ConfigError(f"projection: {unknown('metric', how, [*PROJECTIONS, 'None'])}")
    gap = -touching.drift - touching.J @ a
    if how == "plain":
        return a + least_squares(touching.J, gap, tolerance)[0]
    L = _root(touching)
    reduced = scipy.linalg.solve_triangular(L, touching.J.T, lower=True).T
    return a + scipy.linalg.solve_triangular(L, least_squares(reduced, gap, tolerance)[0], lower=True, trans="T")


def least_squares(A: np.ndarray, b: np.ndarray, tolerance: float) -> tuple[np.ndarray, int]:
    """The shortest x of all with the smallest ‖A x − b‖, and the rank of A.

    Singular values up to `tolerance` times the largest one count as zero.
    """
    if 0 in A.shape:
        return np.zeros(A.shape[1]), 0
    U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
    rank = int(np.count_nonzero(sigma > tolerance * sigma[0]))
    return Vt[:rank].T @ ((U[:, :rank].T @ b) / sigma[:rank]), rank


def _root(touching: Touching) -> np.ndarray:
    """L with M = L Lᵀ."""
    model = touching.model
    try:
        return np.linalg.cholesky(model.mass_matrix)
    except np.linalg.LinAlgError:
        light = int(np.argmin(np.diag(model.mass_matrix)))
        name = model.velocity_names()[light]
        raise ModelError(
            f"robot '{model.robot.name}': the mass matrix is not positive definite; is there any mass behind '{name}'? "
            "projection='plain' does without it"
        ) from None
