"""The weighted meaning as one quadratic program, for a library to solve.

    min ½ ‖B x − b‖² + ½ ‖s‖² + ½ ‖metric (x − target)‖²
    subject to   hard rows, bounds on x, and   lower ≤ C x + s ≤ upper

B are the equalities of the soft levels, C their inequalities, s how much those are violated. Where a hard row
cannot be kept, its bounds are first moved by the least violation there is.
"""

from __future__ import annotations

import numpy as np

from sot.errors import ConfigError, unknown
from sot.problem import Problem
from sot.solvers import definition
from sot.solvers.backends import BACKENDS, Answer, Program
from sot.solvers.lexicographic import Lexicographic
from sot.solvers.status import CAPPED, EQUAL, FREE, LOWER, NOT_FINITE, OPTIMAL, UPPER

# Libraries want a positive definite H. Where it is not, this part of its trace is added for the unknowns that the
# metric leaves out.
CURVATURE = 1e-12
FEASIBLE = 1e-7  # violation of hard rows and bounds above which a library's answer is not taken
ACTIVE = 1e-7  # distance from a bound below which a row counts as active


class Quadratic:
    """Solves the weighted meaning of a problem by another library.

    Attributes:
        x: The result, shape (n,).
        status: Working set, found from x: m rows, then n columns.
        iterations: Iterations of the last solve.
        outcome: How the last solve ended.
        fallbacks: How often the library gave no usable answer, and the built-in solver stood in.
    """

    def __init__(self, problem: Problem, backend: str) -> None:
        """
        Args:
            problem: The problem; level 0 is hard, all later levels are one cost.
            backend: Name of the library: `daqp` or `quadprog`.
        """
        if backend not in BACKENDS:
            raise ConfigError(unknown("back end", backend, BACKENDS))
        self.problem, self._minimise = problem, BACKENDS[backend]
        self._built_in = Lexicographic(problem, problem.hard)
        self.x, self.status = np.zeros(problem.n), np.zeros(problem.lower.size + problem.n, dtype=np.int8)
        self.iterations, self.outcome, self.fallbacks = 0, CAPPED, 0
        self._minimise(_trivial(), 10)  # a missing library is found here, not in the first tick

    def solve(self, cap: int, budget: float | None = None) -> int:
        """Solve the problem as it is now.

        Args:
            cap: Largest number of iterations, for libraries that take one.
            budget: Largest time, s; only the built-in solver keeps to it.
        """
        if not definition.is_finite(self.problem):
            self.outcome, self.iterations = NOT_FINITE, 0
            return self.outcome
        shift = np.zeros(self.problem.hard_rows.stop)
        answer = self._attempt(shift, cap)
        if answer is None:
            shift = self._least_violation(cap)
            answer = self._attempt(shift, cap) if shift.any() else None
        if answer is None:
            return self._fall_back(cap, budget)
        self.x[:], self.iterations = answer
        np.clip(self.x, self.problem.x_lower, self.problem.x_upper, out=self.x)
        self.outcome = OPTIMAL
        self._find_status(shift)
        return self.outcome

    def _attempt(self, shift: np.ndarray, cap: int) -> Answer | None:
        """The library's answer if it is finite and keeps what is hard."""
        program = _program(self.problem, shift)
        answer = self._minimise(program, cap)
        if answer is None or not np.isfinite(answer[0]).all():
            return None
        x = answer[0][: self.problem.n]
        y = program.A[: shift.size, : x.size] @ x
        off = np.concatenate([
            program.lower[: shift.size] - y, y - program.upper[: shift.size],
            self.problem.x_lower - x, x - self.problem.x_upper,
        ])  # fmt: skip
        return (x, answer[1]) if off.max(initial=0.0) <= FEASIBLE else None

    def _least_violation(self, cap: int) -> np.ndarray:
        """How far each hard row must be outside its bounds, signed."""
        problem, hard = self.problem, self.problem.hard_rows
        alone = Problem(
            problem.A[hard], problem.lower[hard], problem.upper[hard], problem.offsets[: problem.hard + 1],
            problem.x_lower, problem.x_upper, np.ones(problem.n), np.zeros(problem.n),
        )  # fmt: skip
        x, status = np.zeros(problem.n), np.zeros(hard.stop + problem.n, dtype=np.int8)
        definition.solve(alone, problem.hard, x, status, cap)
        violation = alone.violation(x)
        return np.where(np.abs(violation) > definition.TOLERANCE, violation, 0.0)

    def _fall_back(self, cap: int, budget: float | None) -> int:
        self.fallbacks += 1
        self.outcome = self._built_in.solve(cap, budget)
        self.iterations = self._built_in.iterations
        self.x[:], self.status[:] = self._built_in.x, self._built_in.status
        return self.outcome

    def _find_status(self, shift: np.ndarray) -> None:
        problem = self.problem
        lower, upper = problem.lower.copy(), problem.upper.copy()
        lower[: shift.size] += np.minimum(shift, 0.0)
        upper[: shift.size] += np.maximum(shift, 0.0)
        y = np.concatenate([problem.A @ self.x, self.x])
        low, high = np.concatenate([lower, problem.x_lower]), np.concatenate([upper, problem.x_upper])
        self.status[:] = np.where(y >= high - ACTIVE, UPPER, np.where(y <= low + ACTIVE, LOWER, FREE))
        m = problem.lower.size
        self.status[:m][problem.lower == problem.upper] = EQUAL
        self.status[m:][problem.x_lower == problem.x_upper] = EQUAL

    def hard_residual(self) -> float:
        """Norm of the violation of level 0."""
        return float(np.linalg.norm(self.problem.violation(self.x)[self.problem.hard_rows]))

    def forget(self) -> None:
        """Drop the warm start."""
        self.x[:] = 0.0
        self.status[:] = FREE
        self._built_in.forget()


def _program(problem: Problem, shift: np.ndarray) -> Program:
    """The quadratic program over (x, s), with the hard rows moved by `shift`."""
    n, h = problem.n, shift.size
    equal = problem.lower[h:] == problem.upper[h:]
    B, b = problem.A[h:][equal], problem.lower[h:][equal]
    C, count = problem.A[h:][~equal], int(np.count_nonzero(~equal))
    H = np.eye(n + count)
    H[:n, :n] = B.T @ B + np.diag(problem.metric**2)
    _make_definite(H[:n, :n], problem.metric)
    g = np.concatenate([-B.T @ b - problem.metric**2 * problem.target, np.zeros(count)])
    A = np.block([[problem.A[:h], np.zeros((h, count))], [C, np.eye(count)]])
    lower = np.concatenate([problem.lower[:h] + np.minimum(shift, 0.0), problem.lower[h:][~equal]])
    upper = np.concatenate([problem.upper[:h] + np.maximum(shift, 0.0), problem.upper[h:][~equal]])
    # An equality moves as a whole.
    hard = problem.lower[:h] == problem.upper[:h]
    lower[:h][hard] = upper[:h][hard] = (problem.lower[:h] + shift)[hard]
    open_ended = np.full(count, np.inf)
    return Program(
        H, g, A, lower, upper, np.append(problem.x_lower, -open_ended), np.append(problem.x_upper, open_ended)
    )


def _make_definite(H: np.ndarray, metric: np.ndarray) -> None:
    """Give curvature to the unknowns without metric, in place, where no task gives them any."""
    size = CURVATURE * max(float(np.trace(H)), 1.0)
    if metric.all():
        return
    try:
        if np.linalg.cholesky(H).diagonal().min() ** 2 > size:
            return
    except np.linalg.LinAlgError:
        pass
    H[np.diag_indices_from(H)] += np.where(metric > 0.0, 0.0, size)


def _trivial() -> Program:
    one = np.ones(1)
    return Program(np.eye(1), one, np.eye(1), -one, one, -one, one)
