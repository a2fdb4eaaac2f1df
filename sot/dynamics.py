"""Torque level: the unknown is x = (v̇, y), accelerations and contact forces; torques follow from it.

    M v̇ + h = Sᵀτ + Σ Jcᵀ y        so        τ = [M, −Jcᵀ] x + h

Torques are eliminated: a bound on them is a row on x, and joints without a motor are rows τ = 0. Forces and torques are
counted in weights of the robot (m g, and that at one metre), so that all numbers of a tick are of a size. Forces that
neither physics nor a task decides, two feet that push against each other, are kept small by a little weight in the last
cost: without it they would jump when a facet of a cone becomes active.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from sot.closed_loop import ClosedLoop
from sot.compiled_dynamics import CompiledDynamics
from sot.contact import Contact
from sot.contacts import Contacts
from sot.entry import Box, Entry, Load, Rows, Shaper, Tick
from sot.errors import TaskError
from sot.formulation import Measure, asked, boxed
from sot.kernels.torques import accelerations_and_torques
from sot.laws import Friction, Unactuated
from sot.model import Model
from sot.motors import LimitsMotors
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


class Dynamics:
    """x = (v̇, y).

    Attributes:
        size: Number of unknowns.
        contacts: Contacts of the stack; their forces follow the accelerations in x.
        loops: Closed loops, and where their forces stand in x, after those of the contacts.
        loads: Known forces.
        unit: N per unit of force in x, and N·m per unit of torque.
        torques: [M, −Jcᵀ]ᵀ, so that τ = x · torques + bias, shape (size, nv).
        bias: h less known loads, N·m, shape (nv,).
        load: Sum of the known loads.
        geared: Some joints follow others.
    """

    rate = "/s²"

    def __init__(self, model: Model, levels: Levels, *, motors_first: bool = False) -> None:
        """
        Args:
            model: The robot.
            levels: The stack.
            motors_first: Joint limits are rows after those of the motors, in place of bounds on x, which come first.
        """
        self.model, self.boxes_are_rows = model, motors_first
        self.unit = max(model.mass * GRAVITY, 1.0)
        self.contacts = Contacts()
        self.loads = [entry for level in levels for entry in level if isinstance(entry, Load)]
        for k, level in enumerate(levels):
            for entry in level:
                if isinstance(entry, Contact | ClosedLoop):
                    self._add(entry, k)
        self.loops, self.size = _places(levels[0], model.nv + self.contacts.size)
        self.torques = np.zeros((self.size, model.nv))  # transposed: τ = x · this + h
        self.bias = np.zeros(model.nv)  # h, less known loads
        self.load = np.zeros(model.nv)
        self._loads = {load: np.zeros(model.nv) for load in self.loads}
        self._compiled: CompiledDynamics | None = None
        self._motors, self.geared = _motors(model), bool(model.robot.mimics)
        self._free = np.flatnonzero(~model.robot.actuated & ~self._follows())  # no motor, and no gear to one
        alone = (self._motors[self._free] != 0.0).sum(axis=1) == 1
        self._yielding = self._free[alone]  # those that nothing follows: what `outcome` may move by itself
        self._cholesky = np.zeros((self._yielding.size + 1, max(self._yielding.size, 1)))  # room for that
        self._actuated = model.robot.actuated
        self.braking: np.ndarray | None = _braking(model, levels[0])
        model.dynamic = True

    def _add(self, entry: Contact | ClosedLoop, level: int) -> None:
        if level > 0:
            what = "contact" if isinstance(entry, Contact) else "closed loop"
            raise TaskError(f"{entry.name}: a {what} stands on level 0 at torque level; got level {level}")
        entry.setup(self.model)
        if isinstance(entry, Contact):
            self.contacts.add(entry)

    def _place(self, contact: Contact | ClosedLoop) -> slice:
        """Where the forces of a contact or loop stand in x."""
        if isinstance(contact, ClosedLoop):
            return self.loops[contact]
        place, nv = self.contacts.place(contact), self.model.nv
        return slice(nv + place.start, nv + place.stop)

    def arrange(self, levels: Levels) -> tuple[Levels, int]:
        """What is hard, in the order in which it would be given up, last first.

        The laws of physics can always be kept: what has no motor has no torque, and contacts push inside their cones.
        Then comes what motors can do, then the rest of level 0. Joint limits are bounds on x and come before all of
        it, unless the motors cannot keep them.
        """
        physics = tuple(self._physics())
        motors = tuple(entry for entry in levels[0] if entry.limits_motors)
        boxes = tuple(entry for entry in levels[0] if isinstance(entry, Box) and self.boxes_are_rows)
        rest = tuple(entry for entry in levels[0] if not entry.limits_motors and entry not in boxes)
        hard = [level for level in (physics, motors, boxes) if level]
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
        loops = [f"{loop.name} {label}" for loop in self.loops for label in loop.force_labels]
        return [*self.model.velocity_names(), *forces, *loops]

    def regularise(self, metric: np.ndarray) -> None:
        """Forces that nothing decides are small; the normal force, which has to carry the robot, counts least."""
        for contact in self.contacts:
            metric[self._place(contact)] = [NORMAL if label == "fz" else TANGENTIAL for label in contact.cone.labels]
        for place in self.loops.values():
            metric[place] = TANGENTIAL

    def count(self, entry: Entry) -> int:
        """Number of rows of an entry that has been set up."""
        if isinstance(entry, Friction):
            return entry.contact.force_rows().lower.size
        if isinstance(entry, Task) and entry.picked is not None:
            return entry.picked.size
        tick = Tick(0.0, 1e-3, np.zeros(self.model.nv), self.contacts)
        if isinstance(entry, Shaper) or (isinstance(entry, Box) and self.boxes_are_rows):
            return self.size
        return entry.dynamic_rows(self.model, tick).lower.size

    # -- every tick ------------------------------------------------------------------------------------

    def compile(self, blocks: list[Block], problem: Problem, lines: Lines) -> list[Block]:
        self._compiled = CompiledDynamics(self, lines, problem)
        return [block for block in blocks if not self._compiled.takes(block)]

    def begin(self, tick: Tick) -> list[str]:
        """Known loads; and where nothing is compiled, the equation of motion."""
        tick.contacts = self.contacts
        broken = [load.name for load in self.loads if not self._take(load, tick)]
        if self.loads:
            self.load[:] = sum(self._loads.values())
        if self._compiled is None:
            self.torques[: self.model.nv] = self.model.mass_matrix
            self.bias[:] = self.model.bias - self.load
            for entry in (*self.contacts, *self.loops):
                self.put_forces(entry, tick)
        return broken

    def _take(self, load: Load, tick: Tick) -> bool:
        """Ask a load for its torques; one that gives no numbers, as a user's may, acts as it did before."""
        load.begin(self.model, tick)
        torques = np.asarray(load.torques(self.model, tick))
        usable = torques.shape == (self.model.nv,) and bool(np.isfinite(torques).all())
        if usable:
            self._loads[load] = torques
        return usable

    def put_forces(self, entry: Contact | ClosedLoop, tick: Tick) -> None:
        """What the forces of a contact or loop do to the joints: −Jᵀ."""
        entry.begin(self.model, tick)
        self.torques[self._place(entry)] = -self.unit * entry.force_jacobian(self.model)

    def rows(self, entry: Entry, tick: Tick) -> Rows:
        """Rows of an entry on x."""
        if isinstance(entry, Shaper):
            nothing = np.full(self.size, np.inf)
            return Rows(np.zeros((self.size, self.size)), -nothing, nothing)
        if isinstance(entry, Friction):
            return self.cone(entry.contact)
        if isinstance(entry, Box) and self.boxes_are_rows:
            return Rows(np.eye(self.size), *self.box(entry, tick))
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
            A[:, nv : nv + self.contacts.size] = rows.A
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
        return bounds(braked(box, self.braking), self.model.q, self.model.v, tick.dt)

    def fill(self, problem: Problem, AT: np.ndarray, lines: Lines, postures: Postures, boxes: Boxes, tick: Tick) -> int:
        if self._compiled is not None:
            return self._compiled.fill(problem, AT, lines, postures, boxes, tick)
        problem.x_lower[:], problem.x_upper[:] = -np.inf, np.inf
        return 0

    def velocity(self, x: np.ndarray, tick: Tick) -> np.ndarray:
        """The velocity after the tick, shape (nv,)."""
        return self.model.v + tick.dt * x[: self.model.nv]

    # -- results ---------------------------------------------------------------------------------------

    def measure(self, entry: Entry, tick: Tick) -> Measure:
        """Rows on torques and forces are counted in weights of the robot, torques from what no motion needs."""
        if isinstance(entry, Friction):
            return Measure("force", self.unit)
        if isinstance(entry, Shaper):
            return Measure()
        rows = entry.dynamic_rows(self.model, tick)
        if rows.on == "torque":
            return Measure("torque", self.unit, rows.A @ self._motors @ self.bias)
        return Measure(rows.on, self.unit if rows.on == "force" else 1.0)

    def outcome(self, x: np.ndarray) -> np.ndarray:
        """(v̇, τ): what commands of two versions of a stack are blended from.

        A solve that ends at its cap may leave a torque on the base. No motor can give it, so the base will accelerate
        instead: M_bb Δv̇_b = −τ_b.
        """
        outcome, nv = np.empty(2 * self.model.nv), self.model.nv
        accelerations_and_torques(self.torques, self.bias, x, self._yielding, self._cholesky, outcome)
        x[self._yielding] = outcome[self._yielding]
        if self.geared:
            outcome[nv:] = np.where(self._actuated, self._motors @ outcome[nv:], 0.0)
        return outcome

    def command(self, outcome: np.ndarray, tick: Tick) -> Command:
        """The command: torques, and the state after the tick."""
        model, nv = self.model, self.model.nv
        v = model.v + tick.dt * outcome[:nv]
        return Command(tick.time, v, model.integrate(model.q, tick.dt * v), outcome[nv:])

    def forces_of(self, x: np.ndarray) -> dict[Contact, np.ndarray]:
        """y of each contact, N and N·m."""
        return {contact: self.unit * x[self._place(contact)] for contact in self.contacts}

    def y(self, x: np.ndarray) -> np.ndarray:
        """Forces of all contacts one after the other, N and N·m; see `Contacts`."""
        nv = self.model.nv
        return self.unit * x[nv : nv + self.contacts.size]

    def forces(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Wrench of each contact on the robot, shape (6,), N and N·m; see `Contact.wrench`."""
        return {contact.name: contact.wrench(y) for contact, y in self.forces_of(x).items()}

    def loop_forces(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """What each closed loop does to its frame, shape (6,), N and N·m; see `ClosedLoop`."""
        return {loop.name: loop.wrench(self.unit * x[place]) for loop, place in self.loops.items()}

    def start(self, x: np.ndarray) -> None:
        """Where the first solve begins: at rest, the weight shared by the contacts; in place."""
        x[:] = 0.0
        for contact in self.contacts:
            share = np.clip(self.unit / len(self.contacts), contact.min_force, contact.max_force)
            x[self._place(contact)] = share / self.unit * contact.cone.inner


def _places(level: tuple[Entry, ...], start: int) -> tuple[dict[ClosedLoop, slice], int]:
    """Where the forces of closed loops stand in x, from `start` on, and where they end."""
    places: dict[ClosedLoop, slice] = {}
    for entry in level:
        if isinstance(entry, ClosedLoop):
            places[entry] = slice(start, start + entry.size)
            start += entry.size
    return places, start


def _motors(model: Model) -> np.ndarray:
    """τ of motors from generalised torques: the torque of a joint that follows is felt by the one it follows."""
    motors = np.eye(model.nv)
    leads = {mimic.joint: mimic for mimic in model.robot.mimics}
    for name in leads:
        ratio, of = 1.0, name
        while of in leads:  # one that follows may be followed itself
            ratio, of = ratio * leads[of].ratio, leads[of].of
        motors[model.joint(of).v, model.joint(name).v] = ratio
    return motors


def _braking(model: Model, hard: tuple[Entry, ...]) -> np.ndarray:
    """Deceleration that every joint is taken to be capable of, at home, rad/s² or m/s², shape (nv,)."""
    effort = np.array(model.pin.effortLimit)
    effort[~(effort > 0.0)] = np.inf
    for entry in hard:
        if entry.limits_motors:
            entry.setup(model)
        if isinstance(entry, LimitsMotors):
            columns = entry.motors.columns
            effort[columns] = np.minimum(effort[columns], entry.motors.limit)
    q, v = model.q, model.v
    model.update(model.robot.home, np.zeros(model.nv))
    braking = BRAKING * effort / np.diag(model.mass_matrix)
    model.update(q, v)
    return braking
