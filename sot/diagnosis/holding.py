"""What holds a task up, in the unit of its own rows, and which entry answers for which part of it.

A task is left with ρ = J x − b because of what comes before it, with N the normals of all that is held fast (active
rows of higher levels, entries of x at a bound), and because of the others of its own level, p:

    Jᵀρ + Nᵀλ = r,     Jₚᵀρₚ + Nᵀλₚ = rₚ,     r + Σ rₚ = 0

With (J⁺)ᵀ Jᵀ = I the parts −(J⁺)ᵀ Nᵢᵀλᵢ and −(J⁺)ᵀ rₚ add up to ρ. Where J has lost rank a part of ρ is left that no
joint could do anything about: it belongs to the reach of the robot.
"""

from __future__ import annotations

import numpy as np

from sot.controller import Controller
from sot.diagnosis.clash import Limits
from sot.entry import Tick
from sot.errors import ConfigError, TaskError, unknown
from sot.plan import Block, Plan
from sot.solvers.choice import Solver
from sot.solvers.definition import RANK_TOLERANCE, TOLERANCE
from sot.solvers.status import FREE, UPPER
from sot.task import Task

REACH, METRIC = "reach", "regularisation"
LOST = 1e-6  # of the largest singular value, below which a direction of the task is out of reach


class Holding:
    """A task of a controller, looked at after each tick.

    `residual` takes a few µs, `parts` some 100: ask for those where something is held up.
    """

    def __init__(self, controller: Controller, task: str) -> None:
        """
        Args:
            controller: Whose task it is.
            task: Its name. Its rows are equalities, as those of a pose or position are.
        """
        if controller.meaning == "nullspace":
            raise ConfigError("the solver 'nullspace' has no multipliers; take hierarchical or weighted")
        names = [entry.name for entry in controller.stack]
        if task not in names:
            raise TaskError(unknown("task", task, names))
        if not isinstance(controller.stack[task], Task):
            raise TaskError(f"'{task}' is no task: it has no goal to miss")
        self.controller, self.task = controller, task
        self._plan: Plan | None = None
        self._block: Block | None = None

    def residual(self) -> np.ndarray:
        """ρ of the last tick, without weights, shape (rows,); empty if the task is not in the stack now."""
        block = self._found()
        if block is None:
            return np.zeros(0)
        problem = self._used.problem
        return (problem.A[block.rows] @ self._solver.x - problem.lower[block.rows]) / block.scale

    def parts(self) -> dict[str, np.ndarray]:
        """ρ split by the entries that answer for it, each of shape (rows,); none where ρ is rounding."""
        block, residual = self._found(), self.residual()
        if block is None or not (np.linalg.norm(residual) > TOLERANCE):
            return {}
        J = self._used.problem.A[block.rows]
        back = np.linalg.pinv(J, rcond=LOST).T / block.scale
        parts = {name: -back @ pull for name, pull in self._pulls(block).items()}
        rest = residual - sum(parts.values(), np.zeros(residual.size))
        return {**parts, REACH: rest} if np.linalg.norm(rest) > LOST * np.linalg.norm(residual) else parts

    # -- the tick ---------------------------------------------------------------------------------------

    @property
    def _used(self) -> Plan:
        return self.controller.plan

    @property
    def _solver(self) -> Solver:
        return self.controller.solver

    def _found(self) -> Block | None:
        """The task's rows, looked up once for each version of the stack."""
        if self._plan is not self._used:
            self._plan = self._used
            blocks = {block.entry.name: block for block in self._plan.blocks}
            self._block = blocks.get(self.task)
            if self._block is not None and self._block.columns is not None:
                raise TaskError(f"'{self.task}' is part of the metric and is never held up; put it on an earlier level")
        return self._block

    def _pulls(self, block: Block) -> dict[str, np.ndarray]:
        """Nᵢᵀλᵢ and rₚ by name, each of shape (n,)."""
        plan, status = self._used, self._solver.status
        problem, m = plan.problem, plan.problem.lower.size
        cost = min(block.level, plan.strict)
        rows = np.flatnonzero(status[: problem.offsets[cost]] != FREE)
        columns = np.flatnonzero(status[m:] != FREE)
        N = np.vstack([problem.A[rows], np.eye(problem.n)[columns]])
        pulls: dict[str, np.ndarray] = {}

        def add(name: str, pull: np.ndarray) -> None:
            pulls[name] = pulls.get(name, np.zeros(problem.n)) + pull

        multipliers = _balance(N, self._gradient(block))
        for row, multiplier in zip(rows, multipliers, strict=False):
            add(self._owner(int(row)), multiplier * problem.A[row])
        names = self._bound_owners(columns, status[m:][columns])
        for column, multiplier, name in zip(columns, multipliers[rows.size :], names, strict=True):
            add(name, multiplier * np.eye(problem.n)[column])
        for name, gradient in self._peers(block, cost).items():
            add(name, gradient + N.T @ _balance(N, gradient))
        return {name: pull for name, pull in pulls.items() if pull.any()}

    def _gradient(self, block: Block) -> np.ndarray:
        """Aᵀρ of the active rows of an entry."""
        problem, status, x = self._used.problem, self._solver.status, self._solver.x
        side = status[block.rows]
        bound = np.where(side == UPPER, problem.upper[block.rows], problem.lower[block.rows])
        with np.errstate(invalid="ignore"):
            rho = np.where(side != FREE, problem.A[block.rows] @ x - bound, 0.0)
        return problem.A[block.rows].T @ rho

    def _peers(self, block: Block, cost: int) -> dict[str, np.ndarray]:
        """Gradients of the others in the same cost; of the metric if it is in there."""
        plan, problem, x = self._used, self._used.problem, self._solver.x
        others = [b for b in plan.blocks if b is not block and min(b.level, plan.strict) == cost]
        found = {b.entry.name: self._gradient(b) for b in others if b.rows.stop > b.rows.start}
        if cost < plan.strict:
            return found
        metric = problem.metric**2 * (x - problem.target)
        for b in others:
            if b.columns is not None:
                found[b.entry.name] = np.zeros(problem.n)
                found[b.entry.name][b.columns] = metric[b.columns]
                metric[b.columns] = 0.0
        return {**found, METRIC: metric}

    def _owner(self, row: int) -> str:
        return next(b.entry.name for b in self._used.blocks if b.rows.start <= row < b.rows.stop)

    def _bound_owners(self, columns: np.ndarray, sides: np.ndarray) -> list[str]:
        """Which box set the bound at which an entry of x is."""
        boxes = self._used.boxes
        if not columns.size or len(boxes) == 1:
            return [box.name for box in boxes] * columns.size
        plan = self._used
        limits = Limits(boxes, plan.model, Tick(*plan.written), plan.formulation.braking)
        low, high = np.argmax(limits.lower, axis=0), np.argmin(limits.upper, axis=0)
        return [boxes[high[c] if side == UPPER else low[c]].name for c, side in zip(columns, sides, strict=True)]


def _balance(normals: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """λ that makes gradient + Nᵀ λ smallest."""
    if not len(normals):
        return np.zeros(0)
    return np.linalg.lstsq(normals.T, -gradient, rcond=RANK_TOLERANCE)[0]
