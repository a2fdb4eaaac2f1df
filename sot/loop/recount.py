"""What came out of a run, measured on the robot and not taken from a solver's word."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sot.controller import Controller
from sot.dynamics import Dynamics
from sot.entry import Constraint, Tick
from sot.loop.physics import Physics, Watch
from sot.state import Command, State
from sot.task import Task

KEPT = 1e-6  # a violation up to this counts as kept: integration and rounding
MEMORY = 1_000_000  # ticks whose times are remembered for the percentiles, the newest ones


@dataclass(frozen=True)
class Percentiles:
    """Times of one tick in µs: median, 99th percentile, longest."""

    p50: float
    p99: float
    max: float


@dataclass(frozen=True)
class Run:
    """Outcome of a run.

    Attributes:
        robot: Name of the robot.
        solver: Meaning of the stack's order.
        dt: Period, s.
        ticks: Commands that were sent.
        tick_us: Time of `controller.step`, µs.
        final_error: Norm of each task's error at the end, rows that a mask drops left out; m, rad or mixed.
        max_violation: By how much each constraint was broken at worst, 0 if never.
        level: Level of the stack on which each of them stands; 0 is hard.
        infeasible_ticks: Ticks whose hard rows contradicted each other.
        capped_ticks: Ticks in which the solver ran out of iterations or time.
        nonfinite_ticks: Ticks in which a task or constraint gave NaN or infinity and was left out.
        late_ticks: Ticks that were missed in real time and skipped.
        state: Last state of the robot.
        physics: Slip, forces, torques and falls; None at velocity level on a robot that cannot fall.
    """

    robot: str
    solver: str
    dt: float
    ticks: int
    tick_us: Percentiles
    final_error: dict[str, float]
    max_violation: dict[str, float]
    level: dict[str, int]
    infeasible_ticks: int
    capped_ticks: int
    nonfinite_ticks: int
    late_ticks: int
    state: State = field(repr=False)
    physics: Physics | None = None

    @property
    def hard(self) -> tuple[str, ...]:
        """Names of the constraints on level 0."""
        return tuple(name for name in self.max_violation if self.level[name] == 0)

    @property
    def fell(self) -> bool:
        """True if the robot fell; see `Physics`. At velocity level only a simulated robot can."""
        return self.physics is not None and bool(self.physics.fell)

    @property
    def slid(self) -> tuple[str, ...]:
        """Names of the contacts that slid; see `Physics`."""
        return () if self.physics is None else self.physics.slid

    @property
    def ok(self) -> bool:
        """True if all ticks were feasible and finite, hard constraints kept, errors finite, and nobody fell or slid."""
        kept = all(self.max_violation[name] <= KEPT for name in self.hard)
        good = self.infeasible_ticks == 0 and self.nonfinite_ticks == 0 and not (self.fell or self.slid)
        return kept and good and bool(np.isfinite(list(self.final_error.values())).all())

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and names; those of `Physics` at torque level only."""
        return {
            "robot": self.robot,
            "solver": self.solver,
            "dt": self.dt,
            "ticks": self.ticks,
            "tick_us": {"p50": self.tick_us.p50, "p99": self.tick_us.p99, "max": self.tick_us.max},
            "final_error": dict(self.final_error),
            "max_violation": dict(self.max_violation),
            "infeasible_ticks": self.infeasible_ticks,
            "capped_ticks": self.capped_ticks,
            "nonfinite_ticks": self.nonfinite_ticks,
            "late_ticks": self.late_ticks,
            **({} if self.physics is None else self.physics.to_json()),
        }

    def summary(self) -> str:
        """A table for people."""
        width = max(map(len, [*self.level, "constraint"])) + 2
        lines = [f"{self.robot}, {self.solver}: {self.ticks} ticks of {1e3 * self.dt:g} ms", ""]
        if self.final_error:
            lines += [f"level  {'task':<{width}}final error"]
            for name, error in self.final_error.items():
                lines += [f"{self.level[name]:<7}{name:<{width}}{error:.1e}"]
            lines += [""]
        if self.max_violation:
            lines += [f"level  {'constraint':<{width}}worst violation"]
            for name in self.max_violation:
                lines += [f"{self.level[name]:<7}{name:<{width}}{self._verdict(name)}"]
            lines += [""]
        tick = self.tick_us
        lines += [f"tick   p50 {tick.p50:.0f} µs, p99 {tick.p99:.0f} µs, max {tick.max:.0f} µs"]
        infeasible, capped, late = self.infeasible_ticks, self.capped_ticks, self.late_ticks
        broken = f", {self.nonfinite_ticks} with NaN or infinity" if self.nonfinite_ticks else ""
        lines += [f"ticks  {infeasible} infeasible, {capped} capped, {late} missed{broken}"]
        if self.physics is not None and self.physics.summary():
            lines += [f"robot  {self.physics.summary()}"]
        return "\n".join(lines)

    def _verdict(self, name: str) -> str:
        worst = self.max_violation[name]
        if worst <= KEPT:
            return f"{worst:.1e}  kept"
        return f"{worst:.1e}  {'BROKEN' if self.level[name] == 0 else 'broken (soft)'}"


class Recount:
    """Counts and measures tick by tick; `result` adds it up."""

    def __init__(self, controller: Controller, state: State, ticks: int, *, physical: bool = False) -> None:
        """
        Args:
            controller: Whose commands are counted.
            state: State before the first tick.
            ticks: Largest number of ticks.
            physical: Whether the robot can fall also at velocity level.
        """
        self.controller = controller
        self._times = np.zeros(min(ticks, MEMORY), dtype=np.int64)  # ns
        self._longest = 0  # ns
        self._count = 0
        self._seen = self._counters()
        self._ticks = np.zeros(3, dtype=int)  # in which each of these counters rose
        self._previous = state.v.copy()
        self._torque: np.ndarray | None = None  # that was commanded one tick ago
        self._worst: dict[str, float] = {}
        self._watch = Watch(controller, state) if physical or controller.output == "torque" else None

    def add(self, state: State, command: Command, elapsed: int) -> None:
        """Take note of a tick, with the controller's model still at its state.

        Args:
            state: What the robot told.
            command: What it was told.
            elapsed: Time of the controller, ns.
        """
        self._times[self._count % self._times.size] = elapsed
        self._longest = max(self._longest, elapsed)
        self._count += 1
        # While the stack is blended one tick solves several problems, so the counters may rise by more than one.
        counters = self._counters()
        self._ticks += counters > self._seen
        self._seen = counters
        formulation = self.controller.formulation
        tick = Tick(state.time, self.controller.dt, self._previous, previous_torque=self._torque)
        if isinstance(formulation, Dynamics):
            tick.contacts, tick.forces = formulation.contacts, formulation.y(self.controller.solver.x)
        self._measure(tick, command)
        if self._watch is not None:
            self._watch.add(command)
        self._previous, self._torque = command.v, command.tau

    def _counters(self) -> np.ndarray:
        counters = self.controller.counters
        return np.array([counters.infeasible, counters.capped, counters.nonfinite])

    def _measure(self, tick: Tick, command: Command) -> None:
        for block in self.controller.plan.blocks:
            entry = block.entry
            if isinstance(entry, Constraint):
                violation = entry.broken_by(self.controller.model, tick, command)
                if not (violation <= self._worst.get(entry.name, -1.0)):  # NaN is the worst of all
                    self._worst[entry.name] = violation

    def result(self, state: State, late: int) -> Run:
        """The outcome, with the robot in its last state and `late` ticks missed."""
        controller = self.controller
        infeasible, capped, nonfinite = self._ticks.tolist()
        return Run(
            robot=controller.robot.name,
            solver=controller.meaning,
            dt=controller.dt,
            ticks=self._count,
            tick_us=self._percentiles(),
            final_error=self._errors(state),
            max_violation=self._worst,
            level={block.entry.name: controller.plan.stack_level(block) for block in controller.plan.blocks},
            infeasible_ticks=infeasible,
            capped_ticks=capped,
            nonfinite_ticks=nonfinite,
            late_ticks=late,
            state=state,
            physics=None if self._watch is None else self._watch.result(state),
        )

    def _percentiles(self) -> Percentiles:
        times = self._times[: self._count] / 1e3
        p50, p99 = np.percentile(times, [50, 99]) if times.size else (0.0, 0.0)
        return Percentiles(float(p50), float(p99), self._longest / 1e3)

    def _errors(self, state: State) -> dict[str, float]:
        """Norm of each task's error at the last state, against its target at that time."""
        model, formulation = self.controller.model, self.controller.formulation
        tick = Tick(state.time, self.controller.dt, self._previous, formulation.contacts)
        model.update(state.q, state.v)
        errors = {}
        for block in self.controller.plan.blocks:
            task = block.entry
            if isinstance(task, Task):
                task.begin(model, tick)
                error = np.atleast_1d(task.error(model))
                errors[task.name] = float(np.linalg.norm(error if task.picked is None else error[task.picked]))
        return errors
