"""From a state to a command: `Controller.step`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn
from warnings import warn

import numpy as np

from sot.checks import positive
from sot.description import Description
from sot.dynamics import Dynamics
from sot.entry import Entry, Tick
from sot.errors import ConfigError, RobotError, SotError, SotWarning, TaskError, unknown
from sot.formulation import Formulation, Velocity
from sot.gears import Following, Gears
from sot.joint_impedance import JointImpedance, checked_impedance
from sot.model import Model
from sot.notices import notices_of
from sot.phase import INFEASIBLE, Phase
from sot.plan import Levels, Plan
from sot.shaping import shaping_of
from sot.solvers.choice import MEANINGS, Solver, make_solver
from sot.solvers.lexicographic import Lexicographic
from sot.solvers.status import CAPPED, NOT_FINITE
from sot.stack import Stack
from sot.state import Command, State

if TYPE_CHECKING:
    from sot.closed_form.notice import Notice
    from sot.diagnosis import Explanation
    from sot.diagnosis.infeasibility import Report

OUTPUTS: dict[str, type[Any]] = {"velocity": Velocity, "torque": Dynamics}  # what a command is → what the unknown is
ABSURD = 1e12  # sum of the squares of positions and velocities from which on they mean nothing; NaN is beyond, too


@dataclass
class Counters:
    """What happened since the start."""

    ticks: int = 0
    infeasible: int = 0
    capped: int = 0
    nonfinite: int = 0
    iterations: int = 0


class Controller:
    """Turns states into commands, tick by tick.

        controller = sot.Controller(robot, stack, solver="hierarchical", dt=1e-3)
        command = controller.step(state)

    `step` has no clock and no input or output but its arguments: the same states give the same commands. An
    infeasible tick is no exception: the command violates as little as possible, in the order of the stack, and
    `controller.report()` names the causes.

    Attributes:
        guard: Asked with the controller whenever its stack or an entry's stiffness changes; raises an error to refuse.
            A run sets it to the robot's `check`.
    """

    def __init__(
        self,
        robot: Description,
        stack: Stack,
        *,
        solver: Literal["nullspace", "hierarchical", "weighted"] = "hierarchical",
        dt: float = 1e-3,
        output: Literal["velocity", "torque"] = "velocity",
        backend: str = "sot",
        compiled: bool = True,
        max_iterations: int = 500,
        budget: float | None = None,
        impedance: JointImpedance | None = None,
    ) -> None:
        """
        Args:
            robot: What `sot.robots.load` gives.
            stack: Tasks and constraints in order.
            solver: Meaning of the order: `nullspace`, `hierarchical` or `weighted`.
            dt: Nominal period, s.
            output: What the commands are: `velocity`, or `torque` with accelerations and contact forces as unknowns.
            backend: Quadratic program behind `weighted`: `sot` (built in), `daqp` or `quadprog`.
            compiled: Use the compiled kernels; False takes the plain numpy definitions.
            max_iterations: Cap of the active-set loop. Where it is reached from the last tick's working set, a second
                solve begins from nothing, unless there is a budget.
            budget: Largest time of one solve, s; looked at every eight iterations. The first solve of a stack, which
                begins from nothing, is not bound by it.
            impedance: Joint stiffness and damping that are sent along with torques, for robots that want them.
        """
        if solver not in MEANINGS:
            raise ConfigError(unknown("solver", solver, MEANINGS))
        if output not in OUTPUTS:
            raise ConfigError(unknown("output", output, OUTPUTS))
        if not isinstance(robot, Description):
            raise ConfigError(f"a controller needs a robot's description, as `sot.robots.load` gives it; got {robot!r}")
        if not isinstance(stack, Stack):
            raise ConfigError(f"a controller needs a sot.Stack; got {stack!r}")
        self.robot, self.stack = robot, stack
        self.meaning, self.backend, self.compiled = solver, backend, compiled
        self.dt = positive(dt, "dt")
        self.max_iterations = int(positive(max_iterations, "max_iterations"))
        self.budget = None if budget is None else positive(budget, "budget")
        self.model = Model(robot)
        self.output = output
        self.impedance = checked_impedance(impedance, output)
        self._gains = None if self.impedance is None else self.impedance.gains(self.model)
        self.counters = Counters()
        self._tick = Tick(0.0, self.dt, np.zeros(self.model.nv))
        self._started = self._infeasible = False
        self._lost: Entry | None = None
        self.guard: Callable[[Controller], object] | None = None
        self.phases: list[Phase] = []
        for entry in stack:
            entry.work_for(self)
            entry.reset()
        stack.changes.clear()
        self._levels = stack.levels
        self._gears = Gears() if robot.mimics else None
        self.phases = [self._phase(stack.levels, 0.0, 0.0)]
        for notice in self.warnings:
            warn(notice.text, SotWarning, stacklevel=2)

    @property
    def plan(self) -> Plan:
        """Plan of the newest version of the stack."""
        return self.phases[-1].used.plan

    @property
    def solver(self) -> Solver:
        """Solver of the newest version of the stack."""
        return self.phases[-1].used.solver

    def step(self, state: State, dt: float | None = None) -> Command:
        """Command for a state.

        Args:
            state: What the robot told.
            dt: How long the command will act, s; the nominal period by default.
        """
        tick = self.begin_tick(state, dt)
        self.model.update(state.q, state.v)
        if self.stack.changes:
            self._take_changes(state.time)
        if len(self.phases) > 1:
            self._retire(state.time)
        outcome = self._solve(self.phases[0], tick).copy()
        for phase in self.phases[1:]:
            outcome += phase.share(state.time) * (self._solve(phase, tick) - outcome)
        return self.finish_tick(outcome)

    def begin_tick(self, state: State, dt: float | None = None) -> Tick:
        """First part of a step: when it is."""
        tick = self._tick
        tick.time, tick.dt = state.time, self.dt if dt is None else positive(dt, "dt")
        if not self._started:
            self._begin(state)
        if self.output == "torque":
            tick.previous = state.v
        q, v = state.q, state.v
        fits = q.size == self.model.nq and v.size == self.model.nv
        if not (fits and q.dot(q) + v.dot(v) < ABSURD and tick.time > -np.inf):
            self._refuse(state)
        if self._lost is not None:
            raise TaskError(
                f"'{self._lost.name}' was given to another controller; a task serves one controller, make one for each"
            )
        return tick

    def finish_tick(self, outcome: np.ndarray) -> Command:
        """Last part of a step: the command, remembered for the next tick's limits."""
        tick = self._tick
        self.counters.ticks += 1
        if self._infeasible:
            self.counters.infeasible += 1
            self._infeasible = False
        command = self.phases[-1].plan.formulation.command(outcome, tick)
        if self._gains is not None:
            command = Command(command.time, command.v, command.q, command.tau, *self._gains)
        tick.previous, tick.previous_torque = command.v, command.tau
        return command

    @property
    def formulation(self) -> Formulation:
        """What the unknown of the newest version of the stack is."""
        return self.plan.formulation

    @property
    def warnings(self) -> tuple[Notice, ...]:
        """What is worth a warning about the newest version of the stack; see `sot.notices`."""
        return notices_of(self.formulation, self.meaning)

    def explain(self) -> Explanation:
        """The last tick, level by level: rank, residual, active limits, and who blocks whom."""
        from sot.diagnosis import explain

        return explain(self)

    def report(self) -> Report:
        """What the last tick could not do: which tasks and limits clash, and by how much."""
        from sot.diagnosis.infeasibility import report

        return report(self)

    def contact_forces(self) -> dict[str, np.ndarray]:
        """What each contact does to the robot in the last command, by its name, at torque level.

        Each is a wrench of shape (6,): force (N), then torque about the origin of the contact's frame (N·m), both in
        the axes of the world. While a change of the stack is blended in, so are the forces, with 0 for a contact that a
        version of the stack does not have: M v̇ + h = Sᵀτ + Σ Jᵀ w holds for the command as it is sent.
        """
        from sot.contact_forces import contact_forces

        return contact_forces(self)

    def _solve(self, phase: Phase, tick: Tick) -> np.ndarray:
        phase.write(tick)
        if phase.plan.nonfinite:  # a load gave no numbers
            self.counters.nonfinite += 1
        solver = phase.solver
        outcome = phase.solve(self.max_iterations, self.budget)
        if outcome == NOT_FINITE:
            outcome = self._without_nonfinite(phase)
        self.counters.iterations += solver.iterations
        if outcome == CAPPED:
            self.counters.capped += 1
        residual, warm = solver.hard_residual(), phase.relieved
        phase.relieved = False
        if residual > INFEASIBLE:
            phase.relieve(tick, self.max_iterations, self.budget, warm=warm)
        used = phase.used
        if phase.relieved:
            residual = used.solver.hard_residual()
        self._infeasible |= bool(phase.plan.crossed or residual > INFEASIBLE)
        return used.plan.formulation.outcome(used.solver.x)

    def _without_nonfinite(self, phase: Phase) -> int:
        """A row with NaN or infinity asks for nothing this tick; if the state itself is not finite, say so."""
        if not (np.isfinite(self.model.q).all() and np.isfinite(self.model.v).all()):
            self._refuse(State(self._tick.time, self.model.q, self.model.v))
        self.counters.nonfinite += 1
        phase.drop_nonfinite()
        hard = {block.entry.name for block in phase.plan.blocks if block.level < phase.plan.hard}
        self._infeasible |= not hard.isdisjoint(phase.plan.nonfinite)
        outcome = phase.solve(self.max_iterations, self.budget)
        if outcome == NOT_FINITE:  # nothing to be made of these numbers: stand still, as far as the bounds allow
            phase.solver.forget()
            np.clip(0.0, phase.plan.problem.x_lower, phase.plan.problem.x_upper, out=phase.solver.x)
        return outcome

    def _begin(self, state: State) -> None:
        q, v = np.asarray(state.q), np.asarray(state.v)
        if q.shape != (self.model.nq,) or v.shape != (self.model.nv,) or not np.isfinite([*q, *v]).all():
            self._refuse(state)
        self._tick.previous = v.copy()
        self._started = True

    def _refuse(self, state: State) -> NoReturn:
        raise RobotError(
            f"the state at t = {state.time:.6g} s does not fit robot '{self.robot.name}' or is not finite: expected "
            f"q of shape ({self.model.nq},) and v of shape ({self.model.nv},); got q = {state.q}, v = {state.v}"
        )

    def lose(self, entry: Entry) -> None:
        """Another controller has taken an entry of this one over."""
        self._lost = entry

    def gains_changed(self) -> None:
        """An entry has a new gain."""
        for phase in self.phases:
            phase.forget_gains()

    def force_changed(self) -> None:
        """The stack renders another stiffness or damping: the robot may refuse that, by raising an error."""
        if self.guard is not None:
            self.guard(self)

    # -- run-time changes of the stack ---------------------------------------------------------------

    def _phase(self, levels: Levels, start: float, ramp: float) -> Phase:
        levels = self._with_gears(levels)
        phase = self._version(OUTPUTS[self.output](self.model, levels), levels, start, ramp)
        if self.output == "torque" and phase.plan.boxes and isinstance(phase.solver, Lexicographic):
            phase.make_relief = lambda: self._version(
                Dynamics(self.model, levels, motors_first=True), levels, start, ramp
            )
        return phase

    def _version(self, formulation: Formulation, levels: Levels, start: float, ramp: float) -> Phase:
        levels, hard = formulation.arrange(levels)
        plan = Plan(levels, formulation, weighted=self.meaning == "weighted", compiled=self.compiled, hard=hard)
        solver = make_solver(
            self.meaning, plan.problem, plan.strict, self.backend, self.compiled, scaling=self.output == "velocity"
        )
        phase = Phase(plan, solver, shaping_of(plan, self.meaning), start, ramp)
        phase.begin_anew()
        return phase

    def _with_gears(self, levels: Levels) -> Levels:
        """Joints that follow others do so on level 0, unless the stack says how by itself."""
        if self._gears is None or any(isinstance(entry, Following) for level in levels for entry in level):
            return levels
        return ((*levels[0], self._gears), *levels[1:])

    def _take_changes(self, time: float) -> None:
        """All changes since the last tick become one new phase, blended in over the longest of their ramps."""
        ramp = max(change.ramp for change in self.stack.changes)
        levels = self.stack.changes[-1].levels
        self.stack.changes.clear()
        known = {entry for level in self._levels for entry in level}  # one that is on its way out begins anew
        for level in levels:
            for entry in level:
                entry.work_for(self)
                if entry not in known:
                    entry.reset()
        try:
            phase = self._phase(levels, time, ramp)
            self.force_changed()
        except SotError:
            self.stack.restore(self._levels)
            raise
        self._levels = levels
        if self._started and ramp > 0.0:
            self.phases.append(phase)
        else:
            self.phases = [phase]

    def _retire(self, time: float) -> None:
        """A phase that has taken over completely ends the older ones."""
        for i in range(len(self.phases) - 1, 0, -1):
            if self.phases[i].share(time) >= 1.0:
                del self.phases[:i]
                return
