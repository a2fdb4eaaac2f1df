"""One tick with all its names: what reports are made from, and what can be solved again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sot.contact_forces import shares
from sot.diagnosis.clash import BoundNames, Clash, Limits
from sot.diagnosis.part import Part as Part
from sot.diagnosis.part import parts_of
from sot.dynamics import Dynamics
from sot.entry import Entry, Tick
from sot.errors import SolveError
from sot.notices import notices_of
from sot.problem import Problem
from sot.solvers.choice import make_solver
from sot.solvers.status import OUTCOMES

if TYPE_CHECKING:
    from sot.controller import Controller
    from sot.diagnosis import Explanation
    from sot.diagnosis.infeasibility import Report
    from sot.phase import Phase
    from sot.plan import Plan


@dataclass(frozen=True)
class SavedTick:
    """A problem, its solution, and the names of everything in it.

    Attributes:
        problem: The numbers.
        strict: How many levels are strictly ordered.
        meaning: `nullspace`, `hierarchical` or `weighted`.
        backend: Which solver stood behind it.
        parts: The entries of the stack, in its order.
        joints: Name of each entry of x.
        joint_units: Unit of each entry of x, rad/s or m/s.
        bound_names: What set each bound on x.
        limit_clashes: Limits that contradict each other or are broken already.
        nonfinite: Entries that gave NaN or infinities and were left out.
        x: The solution.
        status: Working set: rows, then entries of x.
        outcome: How the solve ended.
        iterations: How long it took.
        scaling: By how much `nullspace` scaled the command down.
        time: Time of the state, s.
        dt: How long the command acts, s.
        share: Part of the command that x is: below 1 while a change of the stack is blended in.
        warnings: What is worth a warning about the stack, in words.
    """

    problem: Problem
    strict: int
    meaning: str
    backend: str
    parts: tuple[Part, ...]
    joints: tuple[str, ...]
    joint_units: tuple[str, ...]
    bound_names: BoundNames
    limit_clashes: tuple[Clash, ...]
    nonfinite: tuple[str, ...]
    x: np.ndarray
    status: np.ndarray
    outcome: int
    iterations: int
    scaling: float
    time: float
    dt: float
    share: float = 1.0
    warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        problem = self.problem
        blend = f"; {100.0 * self.share:.0f} % of the command, a blend" if self.share < 1.0 else ""
        return (
            f"tick at t = {self.time:.6g} s, {self.meaning}: {problem.n_levels} levels, {problem.lower.size} rows, "
            f"{problem.n} unknowns, {OUTCOMES[self.outcome]}{blend}"
        )

    def solve(
        self, meaning: str | None = None, backend: str | None = None, *, compiled: bool = True, cap: int = 1000
    ) -> np.ndarray:
        """Solve again, from nothing, and return x.

        Args:
            meaning: Another meaning of the order than that of the tick.
            backend: Another solver: `sot`, `daqp` or `quadprog`.
            compiled: Use the compiled kernels.
            cap: Largest number of iterations.
        """
        return self.solved(meaning, backend, compiled=compiled, cap=cap).x

    def solved(
        self, meaning: str | None = None, backend: str | None = None, *, compiled: bool = True, cap: int = 1000
    ) -> SavedTick:
        """The same tick with the answer of a new solve; arguments as in `solve`."""
        meaning = self.meaning if meaning is None else meaning
        if backend is None:
            backend = self.backend if meaning == "weighted" else "sot"
        problem, strict = self._meant(meaning)
        solver = make_solver(meaning, problem, strict, backend, compiled)
        solver.solve(cap)
        return replace(
            self, problem=problem, strict=strict, meaning=meaning, backend=backend, x=solver.x,
            status=solver.status, outcome=solver.outcome, iterations=solver.iterations,
            scaling=float(getattr(solver, "scaling", 1.0)),
        )  # fmt: skip

    def _meant(self, meaning: str) -> tuple[Problem, int]:
        """The problem under a meaning: `weighted` has one strict level and each posture's weight in the metric."""
        weighted = "weighted"
        if (meaning == weighted) == (self.meaning == weighted):
            return self.problem, self.strict
        if meaning != weighted:
            return self.problem, self.problem.n_levels
        from sot.plan import REGULARISATION

        postures = [part for part in self.parts if part.columns]
        metric = np.zeros(self.problem.n) if postures else np.full(self.problem.n, REGULARISATION)
        for part in postures:
            metric[list(part.columns)] = part.scale
        return replace(self.problem, metric=metric), self.problem.hard

    def explain(self) -> Explanation:
        """Level by level, what was asked for and what came out."""
        from sot.diagnosis import explain_tick

        return explain_tick(self)

    def report(self) -> Report:
        """What could not be had, and why."""
        from sot.diagnosis.infeasibility import report_tick

        return report_tick(self)


def capture(controller: Controller) -> SavedTick:
    """The last tick of a controller. While a change of the stack is blended in, that of its newest version."""
    return capture_all(controller)[-1]


def capture_all(controller: Controller) -> list[SavedTick]:
    """The last tick of every version of the stack that took part in the command, oldest first."""
    if not controller.counters.ticks:
        raise SolveError("there is no tick yet: call controller.step(state) first")
    phases = controller.phases
    return [_capture(controller, phase.used, share) for phase, share in zip(phases, shares(phases), strict=True)]


def _capture(controller: Controller, phase: Phase, share: float) -> SavedTick:
    plan, solver = phase.plan, phase.solver
    tick = Tick(*plan.written, plan.formulation.contacts, _forces(plan, solver.x))
    limits = Limits(plan.boxes, plan.model, tick, plan.formulation.braking)
    return SavedTick(
        problem=_copy(plan.problem),
        strict=plan.strict,
        meaning=controller.meaning,
        backend=controller.backend,
        parts=parts_of(phase, tick),
        joints=tuple(plan.formulation.names()),
        joint_units=_column_units(plan, limits.units),
        bound_names=_padded(limits.names(), plan.problem.n),
        limit_clashes=(*limits.clashes(), *_crossed_rows(plan, tick)),
        nonfinite=tuple(plan.nonfinite),
        x=solver.x.copy(),
        status=solver.status.copy(),
        outcome=solver.outcome,
        iterations=solver.iterations,
        scaling=float(getattr(solver, "scaling", 1.0)),
        time=tick.time,
        dt=tick.dt,
        share=share,
        warnings=tuple(notice.text for notice in notices_of(plan.formulation, controller.meaning)),
    )


def _forces(plan: Plan, x: np.ndarray) -> np.ndarray | None:
    """y, which entries tell of in their facts; None at velocity level."""
    return plan.formulation.y(x) if isinstance(plan.formulation, Dynamics) else None


def _copy(problem: Problem) -> Problem:
    arrays = {name: value.copy() for name, value in vars(problem).items() if isinstance(value, np.ndarray)}
    return Problem(**{**arrays, "A": np.asfortranarray(problem.A.copy())}, hard=problem.hard)


def _column_units(plan: Plan, joints: list[str]) -> tuple[str, ...]:
    """Units of x: of joints, then (at torque level) forces in weights of the robot."""
    return (*(f"{unit}{plan.formulation.rate}" for unit in joints), *("m g",) * (plan.problem.n - len(joints)))


def _padded(names: BoundNames, size: int) -> BoundNames:
    """Forces have no bounds of their own."""
    nothing = ("no bound",) * (size - len(names.lower))
    return BoundNames((*names.lower, *nothing), (*names.upper, *nothing))


def _crossed_rows(plan: Plan, tick: Tick) -> list[Clash]:
    """Rows whose own bounds contradict each other; the plan made them meet, so their owners are asked again."""
    if not plan.crossed:
        return []
    owners = [block.entry for block in plan.blocks if block.rows.stop > block.rows.start]
    return [clash for entry in owners for clash in _crossed(entry, plan, tick)]


def _crossed(entry: Entry, plan: Plan, tick: Tick) -> list[Clash]:
    rows = plan.formulation.rows(entry, tick)
    gap = rows.lower - rows.upper
    labels = entry.labels(gap.size)
    return [
        Clash(
            entry.name, (labels[i],), float(gap[i]), "", (entry.name,),
            f"{entry.name}: the bounds of row {labels[i]} contradict each other by {gap[i]:.3g}",
        )
        for i in np.flatnonzero(gap > 0.0)
    ]  # fmt: skip
