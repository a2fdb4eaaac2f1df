"""Strict order of equalities: every level acts in the null space of the ones before.

Inequalities are no part of this classic form. So that a stack with limits runs all the same, the whole command is
scaled down until it respects them: direction and order are kept, speed is not.
"""

from __future__ import annotations

import numpy as np

from sot.kernels.finite import is_finite
from sot.problem import Problem
from sot.solvers import definition
from sot.solvers.lexicographic import Lexicographic
from sot.solvers.status import FREE, LOWER, NOT_FINITE, UPPER


class NullSpace(Lexicographic):
    """The equalities of a problem in strict order, then the limits by scaling.

    Attributes:
        scaling: Factor by which the last command was scaled down; 1 if no limit was in the way.
    """

    def __init__(self, problem: Problem, strict: int, *, compiled: bool = True) -> None:
        self.full = problem
        n, m = problem.n, problem.lower.size
        unbounded = Problem(
            problem.A, np.zeros(m), np.zeros(m), problem.offsets, np.full(n, -np.inf), np.full(n, np.inf),
            problem.metric, problem.target,
        )  # fmt: skip
        super().__init__(unbounded, strict, compiled=compiled)
        self._room = np.zeros(m)
        self.scaling = 1.0

    def solve(self, cap: int, budget: float | None = None) -> int:
        """Solve the equalities, then scale."""
        if not self._is_finite():
            self.outcome, self.iterations = NOT_FINITE, 0
            return self.outcome
        equal = self.full.lower == self.full.upper
        self.problem.lower[:] = np.where(equal, self.full.lower, -np.inf)
        self.problem.upper[:] = np.where(equal, self.full.upper, np.inf)
        self.status[self.problem.lower.size :] = FREE
        super().solve(cap, budget)
        self._scale()
        return self.outcome

    def _is_finite(self) -> bool:
        full = self.full
        if not self.compiled:
            return definition.is_finite(full)
        return is_finite(
            full.A.T, full.lower, full.upper, full.x_lower, full.x_upper, full.metric, full.target, self._room
        )

    def _scale(self) -> None:
        """Largest s in [0, 1] with all bounds kept by s x; then what is still outside a simple bound is clipped."""
        full, m = self.full, self.full.lower.size
        bounded = np.concatenate([full.lower != full.upper, np.ones(full.n, dtype=bool)])
        y = np.concatenate([full.A @ self.x, self.x])
        lower = np.concatenate([full.lower, full.x_lower])
        upper = np.concatenate([full.upper, full.x_upper])
        limit = np.where(y > upper, upper, np.where(y < lower, lower, y))
        # A bound that even x = 0 breaks cannot be met by scaling.
        blocked = bounded & (limit != y) & (lower <= 0.0) & (upper >= 0.0)
        self.scaling = float(np.min(limit[blocked] / y[blocked])) if blocked.any() else 1.0
        self.x *= self.scaling
        np.clip(self.x, full.x_lower, full.x_upper, out=self.x)
        side = np.where(y > upper, UPPER, np.where(y < lower, LOWER, FREE))
        self.status[m:] = side[m:]

    def hard_residual(self) -> float:
        """Norm of the violation of level 0, inequalities included."""
        return float(np.linalg.norm(self.full.violation(self.x)[self.full.rows(0)]))
