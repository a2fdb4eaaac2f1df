"""A version of the stack that takes part in the command."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sot.entry import Tick
from sot.plan import Plan
from sot.shaping import Shaping
from sot.solvers.choice import Solver
from sot.solvers.status import CAPPED, NOT_FINITE

INFEASIBLE = 1e-6  # norm of the hard rows' violation from which a tick counts as infeasible
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
        make_relief: Makes the same where motors come before joint limits, for ticks in which they cannot keep them; at
            torque level.
        relieved: The last tick was such a tick.
    """

    plan: Plan
    solver: Solver
    shaping: Shaping | None
    start: float
    ramp: float
    make_relief: Callable[[], Phase] | None = None
    relieved: bool = False
    _relief: Phase | None = None
    _fresh: bool = True

    @property
    def used(self) -> Phase:
        """Whose answer the last tick has: its own or that of its relief."""
        return self._relief if self.relieved and self._relief is not None else self

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
        """Solve it; returns the outcome. The first solve, from nothing, has all the time it needs."""
        budget = None if self._fresh else budget
        self._fresh = False
        outcome = self._solve(cap, budget)
        if self.shaping is not None and outcome != NOT_FINITE and self.shaping.hold_at_limits(self.solver.status):
            outcome = self._solve(cap, budget)
        return outcome

    def _solve(self, cap: int, budget: float | None) -> int:
        outcome = self.solver.solve(cap, budget)
        if budget is None and self._led_astray(outcome):  # once more from nothing, then from standstill
            self.begin_anew()
            outcome = self.solver.solve(cap)
            if self._led_astray(outcome):
                self.solver.forget()
                outcome = self.solver.solve(cap)
        return outcome

    def _led_astray(self, outcome: int) -> bool:
        """True if where it began may be why a solve failed: it was capped, or it held constraints that went in circles,
        and hard rows are broken.
        """
        locked = getattr(self.solver, "locked", 0)
        return outcome == CAPPED or (locked > 0 and self.solver.hard_residual() > INFEASIBLE)

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

    def relieve(self, tick: Tick, cap: int, budget: float | None, *, warm: bool) -> None:
        """Solve once more with motors before joint limits, if that is what a tick has failed at.

        Args:
            tick: The tick.
            cap: Largest number of iterations.
            budget: Largest time, s.
            warm: The last tick was solved so, too.
        """
        if self.make_relief is None or not self._overloads_motors():
            return
        relief = self._relief = self._relief or self.make_relief()
        if not warm:
            relief.begin_anew()
            relief.solver.x[:] = self.solver.x
        relief.write(tick)
        self.relieved = relief.solve(cap, budget) != NOT_FINITE

    def forget_gains(self) -> None:
        """Some task has a new gain."""
        self.plan.forget_gains()
        if self._relief is not None:
            self._relief.plan.forget_gains()

    def _overloads_motors(self) -> bool:
        plan = self.plan
        broken = plan.problem.violation(self.solver.x)
        return any(np.abs(broken[b.rows]).max(initial=0.0) > OVERLOAD for b in plan.blocks if b.entry.limits_motors)
