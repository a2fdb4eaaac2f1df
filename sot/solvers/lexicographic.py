"""Strict order and one last cost, with bounds: the solver behind `hierarchical` and `weighted`."""

from __future__ import annotations

import math
from time import perf_counter

import numpy as np

from sot.kernels.lexicographic import solve as compiled_solve
from sot.kernels.workspace import workspace_sizes
from sot.problem import Problem
from sot.solvers import definition
from sot.solvers.status import CAPPED, FREE, OPTIMAL

SLICE = 8  # iterations between two looks at the clock


class Lexicographic:
    """Solves one problem over and over, each time from where the last solve ended.

    Attributes:
        x: The result, shape (n,).
        status: Working set: m rows, then n columns.
        iterations: Iterations of the last solve.
        outcome: How the last solve ended.
    """

    def __init__(self, problem: Problem, strict: int, *, compiled: bool = True) -> None:
        self.problem, self.strict, self.compiled, self._hard = problem, strict, compiled, problem.hard
        m, n = problem.A.shape
        self.x = np.zeros(n)
        self.status = np.zeros(m + n, dtype=np.int8)
        work, iwork, info = workspace_sizes(n, m, problem.n_levels)
        self._info = np.zeros(info)
        self._arguments = (
            problem.A.T, problem.lower, problem.upper, problem.offsets, strict, problem.x_lower, problem.x_upper,
            problem.metric, problem.target, self.x, self.status, np.zeros(work), np.zeros(iwork, dtype=np.int64),
            self._info,
        )  # fmt: skip
        self.iterations = 0
        self.outcome = CAPPED

    def solve(self, cap: int, budget: float | None = None) -> int:
        """Solve the problem as it is now.

        Args:
            cap: Largest number of iterations.
            budget: Largest time, s. At the cap or the budget x is the best point so far, inside all bounds.
        """
        if budget is None:
            self._run(cap)
            return self.outcome
        end, used = perf_counter() + budget, 0
        while True:
            self._run(min(SLICE, cap - used))
            used += self.iterations
            if self.outcome != CAPPED or used >= cap or perf_counter() >= end:
                self.iterations = used
                return self.outcome

    def _run(self, cap: int) -> None:
        if self.compiled:
            self.outcome = compiled_solve(*self._arguments, cap)
            self.iterations = int(self._info[0])
        else:
            self.outcome, self.iterations = definition.solve(self.problem, self.strict, self.x, self.status, cap)

    @property
    def locked(self) -> int:
        """How many constraints the cycling guard held in the last solve."""
        return int(self._info[1]) if self.compiled else 0

    def hard_residual(self) -> float:
        """Norm of the violation of the hard levels."""
        if self.compiled and self.outcome == OPTIMAL and self.strict > 0:
            first = 2 + self.strict
            return float(self._info[first]) if self._hard == 1 else math.hypot(*self._info[first : first + self._hard])
        hard = self.problem.hard_rows
        return float(np.linalg.norm(self.problem.violation(self.x)[hard]))

    def forget(self) -> None:
        """Drop the warm start."""
        self.x[:] = 0.0
        self.status[:] = FREE
