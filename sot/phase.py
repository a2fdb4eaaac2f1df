"""A version of the stack that takes part in the command."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sot.entry import Tick
from sot.plan import Plan
from sot.shaping import Shaping
from sot.solvers.choice import Solver
from sot.solvers.status import CAPPED, NOT_FINITE

OVERLOAD = 1e-9  # by which a torque may be beyond its limit, in weights of the robot


@dataclass
class Phase:
    """A version of the stack that takes part in the command.

    Attributes:
        plan: Its rows.
        solver: Its solver.
        shaping: What its shapers do between rows and solve, if it has any.
        start: When it began to take over, s.
        ramp: Seconds in which it takes over.
        relief: The same where motors come before joint limits, for ticks in which they cannot keep them; at torque
            level.
        relieved: The last tick was such a tick.
    """

    plan: Plan
    solver: Solver
    shaping: Shaping | None
    start: float
    ramp: float
    relief: Phase | None = None
    relieved: bool = False

    @property
    def used(self) -> Phase:
        """Whose answer the last tick has: its own or that of its relief."""
        return self.relief if self.relieved and self.relief is not None else self

    def write(self, tick: Tick) -> None:
        """The problem of a tick."""
        self.plan.write(tick)
        if self.shaping is not None:
            self.shaping.apply()

    def begin_anew(self) -> None:
        """Drop the warm start."""
        self.solver.forget()
        self.plan.formulation.start(self.solver.x)

    def solve(self, cap: int, budget: float | None) -> int:
        """Solve it; returns the outcome."""
        outcome = self._solve(cap, budget)
        if self.shaping is not None and outcome != NOT_FINITE and self.shaping.hold_at_limits(self.solver.status):
            outcome = self._solve(cap, budget)
        return outcome

    def _solve(self, cap: int, budget: float | None) -> int:
        outcome = self.solver.solve(cap, budget)
        if outcome == CAPPED and budget is None:  # the last tick's working set led astray: once more from nothing
            self.begin_anew()
            outcome = self.solver.solve(cap)
        return outcome

    def drop_nonfinite(self) -> None:
        """Take NaN and infinities out of the problem. Shapers, who may have spread them, begin anew."""
        if self.shaping is not None:
            self.shaping.undo()
        self.plan.drop_nonfinite()
        if self.shaping is not None:
            self.shaping.apply()
        self.begin_anew()

    def share(self, time: float) -> float:
        """Part of the command that is its own: 3s² − 2s³ over the ramp."""
        if self.ramp <= 0.0:
            return 1.0
        s = min(max((time - self.start) / self.ramp, 0.0), 1.0)
        return s * s * (3.0 - 2.0 * s)

    def relieve(self, tick: Tick, cap: int, budget: float | None) -> None:
        """Solve once more with motors before joint limits, if that is what a tick has failed at."""
        before, self.relieved = self.relieved, False
        if self.relief is None or not self._overloads_motors():
            return
        if not before:
            self.relief.begin_anew()
            self.relief.solver.x[:] = self.solver.x
        self.relief.write(tick)
        self.relieved = self.relief.solve(cap, budget) != NOT_FINITE

    def _overloads_motors(self) -> bool:
        plan = self.plan
        broken = plan.problem.violation(self.solver.x)
        return any(np.abs(broken[b.rows]).max(initial=0.0) > OVERLOAD for b in plan.blocks if b.entry.limits_motors)
