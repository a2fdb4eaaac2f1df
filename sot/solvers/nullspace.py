"""Strict order of equalities: every level acts in the null space of the ones before.

Inequalities are no part of this classic form. So that a stack with limits runs all the same, a joint that would pass
a bound is held at it and the rest is solved again, one joint after the other; the command stays continuous, but may
be further from the optimum than that of `hierarchical`. For inequality rows the whole command is scaled down.
"""

from __future__ import annotations

import numpy as np

from sot.kernels.finite import is_finite
from sot.problem import Problem
from sot.solvers import definition
from sot.solvers.lexicographic import Lexicographic
from sot.solvers.status import EQUAL, FREE, LOWER, NOT_FINITE, UPPER

TIE = 1e-9  # part of the way to x within which bounds are reached together


class NullSpace(Lexicographic):
    """The equalities of a problem in strict order, joints held at their bounds, then inequality rows by scaling.

    Attributes:
        scaling: Factor by which the last command was scaled down; 1 if no row was in the way.
    """

    def __init__(self, problem: Problem, strict: int, *, compiled: bool = True, may_scale: bool = True) -> None:
        self.full, self._may_scale = problem, may_scale
        n, m = problem.n, problem.lower.size
        unbounded = Problem(
            problem.A, np.zeros(m), np.zeros(m), problem.offsets, np.full(n, -np.inf), np.full(n, np.inf),
            problem.metric, problem.target, problem.hard,
        )  # fmt: skip
        super().__init__(unbounded, strict, compiled=compiled)
        self._room = np.zeros(m)
        self.scaling = 1.0

    def solve(self, cap: int, budget: float | None = None) -> int:
        """Solve the equalities, hold joints at their bounds, then scale."""
        if not self._is_finite():
            self.outcome, self.iterations = NOT_FINITE, 0
            return self.outcome
        equal = self.full.lower == self.full.upper
        self.problem.lower[:] = np.where(equal, self.full.lower, -np.inf)
        self.problem.upper[:] = np.where(equal, self.full.upper, np.inf)
        self._solve_and_hold(cap, budget)
        if self._may_scale:
            self._scale(~equal)
        self.status[equal.size :] = _sides(self.x, self.full.x_lower, self.full.x_upper)
        return self.outcome

    def _solve_and_hold(self, cap: int, budget: float | None) -> None:
        """Solve; while a joint passes a bound, hold the one that would meet it first and solve again."""
        low, high = self.full.x_lower, self.full.x_upper
        held = low == high
        iterations = 0
        for _ in range(low.size + 1):
            self.problem.x_lower[:] = np.where(held, np.clip(self.x, low, high), -np.inf)
            self.problem.x_upper[:] = np.where(held, self.problem.x_lower, np.inf)
            super().solve(cap, budget)
            iterations += self.iterations
            beyond = ~held & ((self.x > high) | (self.x < low))
            if self.outcome == NOT_FINITE or not beyond.any():
                break
            with np.errstate(divide="ignore", invalid="ignore"):
                reached = np.where(beyond, np.clip(self.x, low, high) / self.x, np.inf)
            # Of those that are reached together the first: a choice by rounding would differ from run to run.
            held[np.flatnonzero(reached <= reached.min() + TIE)[0]] = True
        self.iterations = iterations

    def _is_finite(self) -> bool:
        full = self.full
        if not self.compiled:
            return definition.is_finite(full)
        return is_finite(
            full.A.T, full.lower, full.upper, full.x_lower, full.x_upper, full.metric, full.target, self._room
        )

    def _scale(self, bounded: np.ndarray) -> None:
        """Largest s in [0, 1] with all inequality rows kept by s x; a row that even x = 0 breaks gets no worse."""
        full, y = self.full, self.full.A @ self.x
        limit = np.clip(y, np.minimum(full.lower, 0.0), np.maximum(full.upper, 0.0))
        blocked = bounded & (limit != y)
        self.scaling = float(np.min(limit[blocked] / y[blocked])) if blocked.any() else 1.0
        if self.scaling < 1.0:
            self.x[:] = np.clip(self.scaling * self.x, full.x_lower, full.x_upper)

    def hard_residual(self) -> float:
        """Norm of the violation of level 0, inequalities included."""
        return float(np.linalg.norm(self.full.violation(self.x)[self.full.hard_rows]))


def _sides(x: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Status of columns: at which bound they are."""
    at = np.where(x >= upper, UPPER, np.where(x <= lower, LOWER, FREE))
    return np.where(lower == upper, EQUAL, at)
