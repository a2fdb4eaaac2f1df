"""A plan's problem with something left out, solved beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sot.plan import REGULARISATION, Plan
from sot.problem import Problem
from sot.solvers.choice import make_solver
from sot.solvers.status import CAPPED

CAP = 100  # iterations
NEAR = 0.2  # rad/s of joints, and
NEAR_PART = 0.1  # the part of the way between two bounds: so close to a bound counts as near it


@dataclass(frozen=True)
class Limits:
    """Where y = A x of some inequalities, and x itself, stand at a given x.

    Attributes:
        rows: The inequalities, shape (k,).
        y: Rows, then x, shape (k + n,).
        lower: Lower bounds.
        upper: Upper bounds.
        near: How close to a bound counts as near it; 0 for what cannot move.
    """

    rows: np.ndarray
    y: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    near: np.ndarray


class Variant:
    """Leaves rows out of a problem. It is solved when somebody asks for its answer, at most once per tick."""

    def __init__(self, plan: Plan, meaning: str, left_out: np.ndarray, *, at_rest: bool = False) -> None:
        """
        Args:
            plan: The plan.
            meaning: Meaning of its order.
            left_out: Rows that ask for nothing.
            at_rest: Freedom that is left takes minimum norm and follows no posture.
        """
        self._full, self._left_out, self._fresh = plan.problem, left_out, False
        self.problem = _copy_of_bounds(plan.problem)
        if at_rest:
            n = plan.problem.n
            smallest = REGULARISATION if meaning == "weighted" else 1.0
            self.problem.metric, self.problem.target = np.full(n, smallest), np.zeros(n)
        self._solver = make_solver(meaning, self.problem, plan.strict, "sot", plan.compiled)

    def next_tick(self) -> None:
        """What was found belongs to an earlier tick."""
        self._fresh = False

    def solved(self) -> np.ndarray:
        """Its command at this tick."""
        if not self._fresh:
            self._refresh()
            self._solve()
            self._fresh = True
        return self._solver.x

    def _solve(self) -> None:
        """Leaves 0 if there is no answer: a bad one would lead the robot somewhere."""
        outcome = self._solver.solve(CAP)
        if outcome == CAPPED:  # the last tick's working set led astray: once more from nothing
            self._solver.forget()
            outcome = self._solver.solve(CAP)
        if outcome == CAPPED or not np.isfinite(self._solver.x).all():
            self._solver.forget()

    def _refresh(self) -> None:
        own, full = self.problem, self._full
        own.lower[:], own.upper[:] = full.lower, full.upper
        own.lower[self._left_out], own.upper[self._left_out] = -np.inf, np.inf
        own.x_lower[:], own.x_upper[:] = full.x_lower, full.x_upper


class Alone(Variant):
    """The levels up to one, alone and without limits. Joints that cannot move at all do not do so here either.

    Limits are the inequalities y = A x of these levels, and all bounds on x.
    """

    def __init__(self, plan: Plan, meaning: str, level: int, left_out: np.ndarray) -> None:
        self._end = int(plan.problem.offsets[level + 1])
        self._found: Limits | None = None
        below = np.arange(self._end, plan.problem.lower.size)
        super().__init__(plan, meaning, np.union1d(left_out, below), at_rest=True)

    def _refresh(self) -> None:
        super()._refresh()
        self._found = None
        own = self.problem
        lower, upper = own.lower[: self._end], own.upper[: self._end]  # views: this writes into the problem
        for low, high in ((lower, upper), (own.x_lower, own.x_upper)):
            unequal = low != high
            low[unequal], high[unequal] = -np.inf, np.inf

    def nearness(self) -> float:
        """How near their limits these levels would come: 0 if they keep clear of all, 1 if one is reached.

        What rests, or hardly moves towards a limit, does not come there.
        """
        limits = self._limits()
        limited = limits.near > 0.0
        y, near = limits.y[limited], limits.near[limited]
        distance = np.where(y > 0.0, limits.upper[limited] - y, y - limits.lower[limited])
        closeness = 1.0 - np.minimum(np.maximum(distance / near, 0.0), 1.0)
        return float(np.max(closeness * np.minimum(np.abs(y) / near, 1.0), initial=0.0))

    def widen(self, problem: Problem) -> None:
        """Move the limits in a problem so far away that these levels keep clear of them."""
        limits, n = self._limits(), problem.n
        y, near = limits.y, limits.near
        lower = np.minimum(limits.lower, y - np.minimum(near, np.maximum(-y, 0.0)))
        upper = np.maximum(limits.upper, y + np.minimum(near, np.maximum(y, 0.0)))
        problem.lower[limits.rows], problem.upper[limits.rows] = lower[:-n], upper[:-n]
        problem.x_lower[:], problem.x_upper[:] = lower[-n:], upper[-n:]

    def _limits(self) -> Limits:
        x = self.solved()
        if self._found is None:
            self._found = _limits_at(x, self._full, self._end)
        return self._found


class Widened(Variant):
    """Everything, with limits so wide that some levels alone keep clear of them."""

    def __init__(self, plan: Plan, meaning: str, alone: Alone, left_out: np.ndarray) -> None:
        super().__init__(plan, meaning, left_out)
        self._alone = alone

    def _refresh(self) -> None:
        super()._refresh()
        self._alone.widen(self.problem)

    def _solve(self) -> None:
        super()._solve()
        if self._solver.outcome == CAPPED:
            self._solver.x[:] = self._alone.solved()


def _limits_at(x: np.ndarray, problem: Problem, end: int) -> Limits:
    """Inequalities among the rows before `end`, and the bounds on x."""
    rows = np.flatnonzero(problem.lower[:end] != problem.upper[:end])
    A = problem.A[rows]
    lower = np.concatenate([problem.lower[rows], problem.x_lower])
    upper = np.concatenate([problem.upper[rows], problem.x_upper])
    size = np.concatenate([np.sqrt((A * A).sum(axis=1)), np.ones(problem.n)])
    near = np.minimum(NEAR * size, NEAR_PART * (upper - lower))
    return Limits(rows, np.concatenate([A @ x, x]), lower, upper, near)


def _copy_of_bounds(problem: Problem) -> Problem:
    bounds = {name: getattr(problem, name).copy() for name in ("lower", "upper", "x_lower", "x_upper")}
    return replace(problem, **bounds)
