"""Torque level: the unknown is x = (v̇, y), accelerations and contact forces; torques follow from it.

    M v̇ + h = Sᵀτ + Σ Jcᵀ y        so        τ = [M, −Jcᵀ] x + h

Torques are eliminated: a bound on them is a row on x, and joints without a motor are rows τ = 0. Forces and torques are
counted in weights of the robot (m g, and that at one metre), so that all numbers of a tick are of a size. Forces that
neither physics nor a task decides, two feet that push against each other, are kept small by a little weight in the last
cost: without it they would jump when a facet of a cone becomes active.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sot.contact import Contact
from sot.contacts import Contacts
from sot.entry import Box, Entry, Load, Rows, Shaper, Tick
from sot.errors import TaskError
from sot.formulation import asked, boxed
from sot.kernels import torques as kernel
from sot.kernels.torques import accelerations_and_torques
from sot.model import Model
from sot.plan import Levels
from sot.problem import Problem
from sot.state import Command
from sot.tables import Boxes, LimitsJoints, Lines, Postures
from sot.task import Task
from sot.viability import bounds, braked

if TYPE_CHECKING:
    from sot.plan import Block

GRAVITY = 9.81  # m/s²
TANGENTIAL, NORMAL = 1e-2, 3e-3  # roots of the forces' weights in the last cost, against 1 for a posture
BRAKING = 0.5  # part of what the motors can do that is left for braking in front of joint limits


class Unactuated(Entry):
    """Joints without a motor have no torque: a floating base."""

    kind = "unactuated"
    limits_motors = True

    def __init__(self, columns: np.ndarray, names: list[str]) -> None:
        super().__init__(name="floating_base")
        self.columns, self._names = columns, names
        self._none = np.zeros(columns.size)

    def rows(self, model: Model, tick: Tick) -> Rows:
        raise TaskError(f"{self.name}: has rows at torque level only")

    def dynamic_rows(self, model: Model, tick: Tick) -> Rows:
        return Rows(np.eye(model.nv)[self.columns], self._none, self._none, on="torque")

    def labels(self, count: int) -> list[str]:
        return self._names


class Friction(Entry):
    """The cone of a contact's forces."""

    kind = "friction"

    def __init__(self, contact: Contact) -> None:
        super().__init__(name=f"forces of {contact.name}")
        self.contact = contact

    def rows(self, model: Model, tick: Tick) -> Rows:
        raise TaskError(f"{self.name}: has rows at torque level only")

    def labels(self, count: int) -> list[str]:
        return [*(f"friction {i}" for i in range(count - 1)), "normal force"]

    def units(self, count: int) -> list[str]:
        return [""] * count


class Dynamics:
    """x = (v̇, y).

    Attributes:
        size: Number of unknowns.
        contacts: Contacts of the stack; their forces follow the accelerations in x.
        loads: Known forces.
        unit: N per unit of force in x, and N·m per unit of torque.
        torques: [M, −Jcᵀ]ᵀ, so that τ = x · torques + bias, shape (size, nv).
        bias: h less known loads, N·m, shape (nv,).
        load: Sum of the known loads.
        geared: Some joints follow others.
    """

    rate = "/s²"

    def __init__(self, model: Model, levels: Levels) -> None:
        self.model = model
        self.unit = max(model.mass * GRAVITY, 1.0)
        self.contacts = Contacts()
        self.loads = [entry for level in levels for entry in level if isinstance(entry, Load)]
        for k, level in enumerate(levels):
            for entry in level:
                if isinstance(entry, Contact):
                    self._add(entry, k)
        self.size = model.nv + self.contacts.size
        self.torques = np.zeros((self.size, model.nv))  # transposed: τ = x · this + h
        self.bias = np.zeros(model.nv)  # h, less known loads
        self.load = np.zeros(model.nv)
        self._compiled: Compiled | None = None
        self._motors, self.geared = _motors(model), bool(model.robot.mimics)
        self._free = np.flatnonzero(~model.robot.actuated & ~self._follows())  # no motor, and no gear to one
        self._cholesky = np.zeros((self._free.size + 1, max(self._free.size, 1)))  # room for what `outcome` solves
        self._actuated = model.robot.actuated
        self.braking = _braking(model)
        model.dynamic = True

    def _add(self, contact: Contact, level: int) -> None:
        if level > 0:
            raise TaskError(f"{contact.name}: a contact stands on level 0 at torque level; got level {level}")
        contact.setup(self.model)
        self.contacts.add(contact)

    def _place(self, contact: Contact) -> slice:
        """Where a contact's forces stand in x."""
        place, nv = self.contacts.place(contact), self.model.nv
        return slice(nv + place.start, nv + place.stop)

    def arrange(self, levels: Levels) -> tuple[Levels, int]:
        """What is hard, in the order in which it would be given up, last first.

        The laws of physics can always be kept: what has no motor has no torque, and contacts push inside their cones.
        Then comes what motors can do, then the rest of level 0.
        """
        physics = tuple(self._physics())
        motors = tuple(entry for entry in levels[0] if entry.limits_motors)
        rest = tuple(entry for entry in levels[0] if not entry.limits_motors)
        hard = [level for level in (physics, motors) if level]
        return (*hard, rest, *levels[1:]), len(hard) + 1

    def _physics(self) -> Iterator[Entry]:
        names = self.model.velocity_names()
        if self._free.size:
            yield Unactuated(self._free, [names[c] for c in self._free])
        yield from (Friction(contact) for contact in self.contacts)

    def _follows(self) -> np.ndarray:
        """True for joints that follow others: their torque comes through the gear."""
        follows = np.zeros(self.model.nv, dtype=bool)
        for mimic in self.model.robot.mimics:
            follows[self.model.joint(mimic.joint).v] = True
        return follows

    def names(self) -> list[str]:
        """A name for each entry of x."""
        forces = [f"{contact.name} {label}" for contact in self.contacts for label in contact.cone.labels]
        return [*self.model.velocity_names(), *forces]

    def regularise(self, metric: np.ndarray) -> None:
        """Forces that nothing decides are small; the normal force, which has to carry the robot, counts least."""
        for contact in self.contacts:
            metric[self._place(contact)] = [NORMAL if label == "fz" else TANGENTIAL for label in contact.cone.labels]

    def count(self, entry: Entry) -> int:
        """Number of rows of an entry that has been set up."""
        if isinstance(entry, Friction):
            return entry.contact.force_rows().lower.size
        if isinstance(entry, Task) and entry.picked is not None:
            return entry.picked.size
        tick = Tick(0.0, 1e-3, np.zeros(self.model.nv), self.contacts)
        return self.size if isinstance(entry, Shaper) else entry.dynamic_rows(self.model, tick).lower.size

    # -- every tick ------------------------------------------------------------------------------------

    def compile(self, blocks: list[Block], problem: Problem, lines: Lines) -> list[Block]:
        self._compiled = Compiled(self, lines, problem)
        return [block for block in blocks if not self._compiled.takes(block)]

    def begin(self, tick: Tick) -> None:
        """Known loads; and where nothing is compiled, the equation of motion."""
        tick.contacts = self.contacts
        if self.loads:
            self.load[:] = 0.0
            for load in self.loads:
                load.begin(self.model, tick)
                self.load += load.torques(self.model, tick)
        if self._compiled is None:
            self.torques[: self.model.nv] = self.model.mass_matrix
            self.bias[:] = self.model.bias - self.load
            for contact in self.contacts:
                self.put_forces(contact, tick)

    def put_forces(self, contact: Contact, tick: Tick) -> None:
        """What a contact's forces do to the joints: −Jᵀ."""
        contact.begin(self.model, tick)
        self.torques[self._place(contact)] = -self.unit * contact.jacobian(self.model)

    def rows(self, entry: Entry, tick: Tick) -> Rows:
        """Rows of an entry on x."""
        if isinstance(entry, Shaper):
            nothing = np.full(self.size, np.inf)
            return Rows(np.zeros((self.size, self.size)), -nothing, nothing)
        if isinstance(entry, Friction):
            return self.cone(entry.contact)
        sizes = {"force": self.contacts.size}
        return self._on_x(asked(entry, lambda: entry.dynamic_rows(self.model, tick), self.model.nv, sizes))

    def _on_x(self, rows: Rows) -> Rows:
        nv = self.model.nv
        if rows.on == "torque":
            A = rows.A @ self._motors / self.unit
            shift = A @ self.bias
            return Rows(A @ self.torques.T, rows.lower / self.unit - shift, rows.upper / self.unit - shift)
        A = np.zeros((rows.lower.size, self.size))
        if rows.on == "force":
            A[:, nv:] = rows.A
            return Rows(A, rows.lower / self.unit, rows.upper / self.unit)
        A[:, :nv] = rows.A
        return Rows(A, rows.lower, rows.upper)

    def cone(self, contact: Contact) -> Rows:
        """Friction cone and normal force of a contact, on x."""
        cone = contact.force_rows()
        A = np.zeros((cone.lower.size, self.size))
        A[:, self._place(contact)] = cone.A
        return Rows(A, cone.lower / self.unit, cone.upper / self.unit)

    def box(self, entry: Box, tick: Tick) -> tuple[np.ndarray, np.ndarray]:
        """Bounds on x: v⁺ = v + dt v̇ inside the box. Joints brake with what their motors can do."""
        lower, upper = boxed(entry, lambda: self._velocity_box(entry, tick), self.model.nv)
        v, dt = self.model.v, tick.dt
        open_ended = np.full(self.size - self.model.nv, np.inf)
        return np.append((lower - v) / dt, -open_ended), np.append((upper - v) / dt, open_ended)

    def _velocity_box(self, entry: Box, tick: Tick) -> tuple[np.ndarray, np.ndarray]:
        if not isinstance(entry, LimitsJoints):
            return entry.box(self.model, tick)
        box = entry.joint_box(self.model)
        return bounds(replace(box, a_max=braked(box, self.braking)), self.model.q, self.model.v, tick.dt)

    def fill(self, problem: Problem, AT: np.ndarray, lines: Lines, postures: Postures, boxes: Boxes, tick: Tick) -> int:
        if self._compiled is not None:
            return self._compiled.fill(problem, AT, lines, postures, boxes, tick)
        problem.x_lower[:], problem.x_upper[:] = -np.inf, np.inf
        return 0

    def velocity(self, x: np.ndarray, tick: Tick) -> np.ndarray:
        """The velocity after the tick, shape (nv,)."""
        return self.model.v + tick.dt * x[: self.model.nv]

    # -- results ---------------------------------------------------------------------------------------

    def outcome(self, x: np.ndarray) -> np.ndarray:
        """(v̇, τ): what commands of two versions of a stack are blended from.

        A solve that ends at its cap may leave a torque on the base. No motor can give it, so the base will accelerate
        instead: M_bb Δv̇_b = −τ_b.
        """
        outcome, nv = np.empty(2 * self.model.nv), self.model.nv
        accelerations_and_torques(self.torques, self.bias, x, self._free, self._cholesky, outcome)
        x[self._free] = outcome[self._free]
        if self.geared:
            outcome[nv:] = self._motors @ outcome[nv:]
        return outcome

    def command(self, outcome: np.ndarray, tick: Tick) -> Command:
        """The command: torques, and the state after the tick."""
        model, nv = self.model, self.model.nv
        v = model.v + tick.dt * outcome[:nv]
        tau = np.where(self._actuated, outcome[nv:], 0.0)
        return Command(tick.time, v, model.integrate(model.q, tick.dt * v), tau)

    def forces_of(self, x: np.ndarray) -> dict[Contact, np.ndarray]:
        """y of each contact, N and N·m."""
        return {contact: self.unit * x[self._place(contact)] for contact in self.contacts}

    def y(self, x: np.ndarray) -> np.ndarray:
        """Forces of all contacts one after the other, N and N·m; see `Contacts`."""
        return self.unit * x[self.model.nv :]

    def forces(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Wrench of each contact on the robot, shape (6,), N and N·m; see `Contact.wrench`."""
        return {contact.name: contact.wrench(y) for contact, y in self.forces_of(x).items()}

    def start(self, x: np.ndarray) -> None:
        """Where the first solve begins: at rest, the weight shared by the contacts; in place."""
        x[:] = 0.0
        for contact in self.contacts:
            share = np.clip(self.unit / len(self.contacts), contact.min_force, contact.max_force)
            x[self._place(contact)] = share / self.unit * contact.cone.inner


class Compiled:
    """What one compiled call writes: the equation of motion, tables of tasks, bounds on torques, friction cones."""

    def __init__(self, dynamics: Dynamics, lines: Lines, problem: Problem) -> None:
        self.dynamics, self._problem = dynamics, problem
        model = dynamics.model
        self._views = model.views_of_dynamics()
        self._roots = model.root_joints()
        self._constants = np.zeros(kernel.CONSTANTS)
        self._constants[: kernel.COM_DRIFT] = model.mass, dynamics.unit, *model.gravity
        self._bounded: list[tuple[Entry, slice, Rows]] = []  # who bounds torques, its motors, what it said last
        self._motors, self._torques = np.zeros((0, 2), dtype=np.int64), np.zeros((0, 3))
        self._by_python = [contact for contact in dynamics.contacts if contact not in lines.tasks]

    def takes(self, block: Block) -> bool:
        """Rows that only pick torques of joints, and cones, which never change."""
        if isinstance(block.entry, Friction):
            cone = self.dynamics.cone(block.entry.contact)
            self._problem.A[block.rows] = block.scale * cone.A
            self._problem.lower[block.rows], self._problem.upper[block.rows] = cone.lower, cone.upper
            return True
        if not block.entry.limits_motors or self.dynamics.geared:
            return False
        self._add_motors(block)
        return True

    def _add_motors(self, block: Block) -> None:
        tick = Tick(0.0, 1e-3, np.zeros(self.dynamics.model.nv), self.dynamics.contacts)
        rows = block.entry.dynamic_rows(self.dynamics.model, tick)
        start, count = len(self._motors), rows.lower.size
        motors = np.column_stack([np.arange(block.rows.start, block.rows.stop), np.argmax(rows.A, axis=1)])
        torques = np.column_stack([rows.lower, rows.upper, np.full(count, block.scale)])
        self._motors, self._torques = np.vstack([self._motors, motors]), np.vstack([self._torques, torques])
        self._bounded.append((block.entry, slice(start, start + count), rows))

    def fill(self, problem: Problem, AT: np.ndarray, lines: Lines, postures: Postures, boxes: Boxes, tick: Tick) -> int:
        dynamics = self.dynamics
        model, (twists, falls, forces, Ag, M, nle) = dynamics.model, self._views
        for entry, place, before in self._bounded:
            rows = entry.dynamic_rows(model, tick)
            if rows.lower is not before.lower or rows.upper is not before.upper:
                self._torques[place, 0], self._torques[place, 1] = rows.lower, rows.upper
        crossed = kernel.fill_dynamics(
            lines.table, lines.parameters, lines.targets, lines.support, self._constants, self._roots, tick.dt,
            model.q, model.v, model.world_jacobian, model.joint_placements, twists, falls, forces, model.com_view,
            Ag, M, nle, dynamics.load, self._motors, self._torques, AT, problem.lower, problem.upper,
            dynamics.torques, dynamics.bias, postures.picks, postures.goals, boxes.index, boxes.limits,
            problem.target, problem.x_lower, problem.x_upper,
        )  # fmt: skip
        for contact in self._by_python:
            dynamics.put_forces(contact, tick)
        return crossed


def _motors(model: Model) -> np.ndarray:
    """τ of motors from generalised torques: the torque of a joint that follows is felt by the one it follows."""
    motors = np.eye(model.nv)
    for mimic in model.robot.mimics:
        motors[model.joint(mimic.of).v, model.joint(mimic.joint).v] = mimic.ratio
    return motors


def _braking(model: Model) -> np.ndarray:
    """Deceleration that every joint is taken to be capable of, at home, rad/s² or m/s², shape (nv,)."""
    effort = np.array(model.pin.effortLimit)
    effort[~(effort > 0.0)] = np.inf
    q, v = model.q, model.v
    model.update(model.robot.home, np.zeros(model.nv))
    braking = BRAKING * effort / np.diag(model.mass_matrix)
    model.update(q, v)
    return braking
