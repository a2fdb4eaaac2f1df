"""Quadratic programs by other libraries: one function each.

    min ½ xᵀ H x + gᵀ x   subject to   lower ≤ A x ≤ upper   and   x_lower ≤ x ≤ x_upper

Each takes a `Program` and returns the minimiser and the number of iterations, or None where there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sot.errors import SolveError, missing

Answer = tuple[np.ndarray, int]


@dataclass(frozen=True)
class Program:
    """A strictly convex quadratic program; −inf and inf where there is no bound."""

    H: np.ndarray  # (n, n)
    g: np.ndarray  # (n,)
    A: np.ndarray  # (m, n)
    lower: np.ndarray  # (m,)
    upper: np.ndarray  # (m,)
    x_lower: np.ndarray  # (n,)
    x_upper: np.ndarray  # (n,)


def solve_daqp(program: Program, cap: int) -> Answer | None:
    """DAQP, a dual active-set solver (MIT)."""
    try:
        import daqp
    except ImportError:
        raise SolveError(missing("daqp", "the back end 'daqp'", "daqp")) from None
    lower = np.maximum(np.concatenate([program.x_lower, program.lower]), -1e30)  # 1e30 means infinite to DAQP
    upper = np.minimum(np.concatenate([program.x_upper, program.upper]), 1e30)
    sense = np.where(lower == upper, 5, 0).astype(np.intc)  # 5: equality
    x, _, flag, info = daqp.solve(
        program.H, program.g, np.ascontiguousarray(program.A), upper, lower, sense,
        primal_tol=1e-10, dual_tol=1e-12, iter_limit=cap,
    )  # fmt: skip
    return (x, int(info["iterations"])) if flag == 1 else None


def solve_quadprog(program: Program, cap: int) -> Answer | None:
    """quadprog, the dual method of Goldfarb and Idnani (GPL, so an extra)."""
    try:
        import quadprog
    except ImportError:
        raise SolveError(missing("quadprog", "the back end 'quadprog'", "'sot[quadprog]'")) from None
    A = np.vstack([program.A, np.eye(program.g.size)])
    lower = np.concatenate([program.lower, program.x_lower])
    upper = np.concatenate([program.upper, program.x_upper])
    equal = lower == upper
    below, above = ~equal & (lower > -np.inf), ~equal & (upper < np.inf)
    C = np.vstack([A[equal], A[below], -A[above]])  # C x ≥ b, equalities first
    b = np.concatenate([lower[equal], lower[below], -upper[above]])
    constraints = (C.T, b, int(equal.sum())) if b.size else ()
    try:
        x, _, _, (iterations, _), *_ = quadprog.solve_qp(program.H, -program.g, *constraints)
    except ValueError:  # "constraints are inconsistent" or "matrix G is not positive definite"
        return None
    return x, int(iterations)


BACKENDS: dict[str, Callable[[Program, int], Answer | None]] = {"daqp": solve_daqp, "quadprog": solve_quadprog}
