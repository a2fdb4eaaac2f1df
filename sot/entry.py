"""What a stack is made of: `Entry`, and the rows that every entry becomes."""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

import numpy as np

from sot.checks import positive
from sot.errors import SotError, TaskError
from sot.model import Model
from sot.sketch import Drawing
from sot.state import Command
from sot.units import unit

if TYPE_CHECKING:
    from sot.contacts import Contacts


@dataclass(slots=True)
class Tick:
    """The instant for which rows are made.

    Attributes:
        time: Time of the state, s.
        dt: How long the command will act, s.
        previous: Velocity commanded one tick ago, shape (nv,).
        contacts: The contacts whose forces are unknowns of this tick; None at velocity level.
        forces: y, the forces that were found, N and N·m; None before the solve, when rows are made.
        previous_torque: τ commanded one tick ago, N·m or N, shape (nv,); None at velocity level and in the first tick.
    """

    time: float
    dt: float
    previous: np.ndarray
    contacts: Contacts | None = None
    forces: np.ndarray | None = None
    previous_torque: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class Rows:
    """lower ≤ A u ≤ upper; an equality where the two bounds meet.

    Attributes:
        A: Shape (k, nv); for forces (k, size of `tick.contacts`).
        lower: Shape (k,).
        upper: Shape (k,).
        on: What u is: "motion" is v at velocity level and v̇ at torque level; "torque" is τ of all joints, N·m; "force"
            is y, the forces of all contacts one after the other, N and N·m.
    """

    A: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    on: Literal["motion", "torque", "force"] = "motion"


@dataclass(frozen=True, slots=True)
class Shares:
    """To whom singular directions belong; see `Shaper`.

    Attributes:
        kept: f, the part that the tasks keep, one number per singular value.
        given: h, the part that is left to the rest of the stack.
        strength: How strong the intervention is: μ of `Shaper`.
    """

    kept: np.ndarray
    given: np.ndarray
    strength: float


class Owner(Protocol):
    """What an entry knows of the controller that uses it."""

    def lose(self, entry: Entry) -> None:
        """Another controller has taken the entry over."""

    def gains_changed(self) -> None:
        """An entry has a new gain."""

    def force_changed(self) -> None:
        """An entry has another stiffness or damping; raises an error if the robot refuses it."""


def _nobody() -> None:
    return None


class Entry(ABC):
    """A task or a constraint: anything that asks something of the motion.

    On level 0 of a stack an entry is hard; on any later level its violation is minimised.
    """

    kind: ClassVar[str] = "entry"
    limits_motors: ClassVar[bool] = False  # what a motor cannot do is given up last, after physics itself

    def __init__(self, *, name: str | None = None, weight: float = 1.0) -> None:
        self._owner: Callable[[], Owner | None] = _nobody
        self._last: Callable[[], Owner | None] = _nobody  # who may still be blending it out
        self.name = name or self.default_name()
        self.weight = weight

    @property
    def owner(self) -> Owner | None:
        """The controller that the entry works for, if any. A newer controller takes it over from an older one."""
        return self._owner()

    def work_for(self, owner: Owner) -> None:
        """Change the owner; the old one is told."""
        if self.owner is not None and self.owner is not owner:
            self.owner.lose(self)
        self._owner = self._last = weakref.ref(owner)

    def leave(self) -> None:
        """Work for nobody: weight and mask may change before the entry joins a stack again."""
        self._owner = _nobody

    @property
    def weight(self) -> float:
        """Importance against the other entries of the same level."""
        return self._weight

    @weight.setter
    def weight(self, weight: float) -> None:
        self._refuse_while_running("weight")
        self._weight = positive(weight, f"{self.name}: weight")

    def _refuse_while_running(self, what: str) -> None:
        if self.owner is not None:
            raise TaskError(
                f"{self.name}: {what} cannot change while a controller uses it: the command would jump. "
                "Remove the entry from the stack and push one with the new value; the change is blended"
            )

    def force_changed(self, undo: Callable[[], object]) -> None:
        """Call after a change of what `rendered` gives. If the robot refuses it the change is undone.

        Args:
            undo: Brings back what was.
        """
        owner = self._last()
        try:
            if owner is not None:
                owner.force_changed()
        except SotError:
            undo()
            raise

    def default_name(self) -> str:
        """Name used when the user gives none."""
        return self.kind

    def setup(self, model: Model) -> None:  # noqa: B027 - optional hook, nothing to do by default
        """Look up names and sizes once, when the entry joins a stack that is run."""

    def reset(self) -> None:  # noqa: B027 - optional hook
        """Forget everything from an earlier run. Called when the entry joins a controller."""

    def begin(self, model: Model, tick: Tick) -> None:  # noqa: B027 - optional hook
        """Called before every tick's rows: take over new targets, move references on."""

    @abstractmethod
    def rows(self, model: Model, tick: Tick) -> Rows:
        """The rows at this tick, not yet scaled by the weight."""

    def dynamic_rows(self, model: Model, tick: Tick) -> Rows:
        """The rows at torque level, on v̇ or τ. By default those on v⁺ = v + dt v̇, the velocity after the tick."""
        rows = self.rows(model, tick)
        now = rows.A @ model.v
        return Rows(rows.A, (rows.lower - now) / tick.dt, (rows.upper - now) / tick.dt)

    def labels(self, count: int) -> list[str]:
        """A short name for each row, used in reports."""
        return [str(i) for i in range(count)]

    def units(self, count: int) -> list[str]:
        """Unit of what each row is the speed of: "m", "rad" or nothing. By default what the label says."""
        return [unit(label) for label in self.labels(count)]

    def facts(self, model: Model, tick: Tick, v: np.ndarray) -> dict[str, float | str]:
        """What is worth knowing of the entry at this tick, by name; `explain()` shows it.

        Args:
            model: The robot at the tick's state.
            tick: The tick.
            v: The velocity that was commanded.
        """
        return {}

    def sketch(self, model: Model) -> list[Drawing]:
        """What a viewer draws for the entry, at the model's state."""
        return []

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self.name}'>"


class Constraint(Entry):
    """An entry that bounds the motion: `rows` gives two-sided bounds."""

    kind = "constraint"

    def violation(self, model: Model, tick: Tick, v: np.ndarray) -> float:
        """By how much a commanded velocity breaks the worst row at this state, 0 if it breaks none.

        Loops ask this after the fact, so it looks at the robot and the command and not at what a solver says.
        """
        rows = self.rows(model, tick)
        y = rows.A @ v
        return float(np.max([y - rows.upper, rows.lower - y], initial=0.0))

    def broken_by(self, model: Model, tick: Tick, command: Command) -> float:
        """The same for a whole command."""
        return self.violation(model, tick, command.v)


class Box(Constraint):
    """A constraint that bounds each velocity by itself: lower ≤ v ≤ upper.

    Solvers treat hard boxes as simple bounds, which costs next to nothing.
    """

    kind = "box"

    @abstractmethod
    def box(self, model: Model, tick: Tick) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bound of v, each of shape (nv,); ±inf where there is none."""

    def rows(self, model: Model, tick: Tick) -> Rows:
        lower, upper = self.box(model, tick)
        return Rows(np.eye(model.nv), lower, upper)


class Load(Entry):
    """A force that is known to act on the robot, beside motors and contacts. It has no rows: torques allow for it."""

    kind = "load"

    @abstractmethod
    def torques(self, model: Model, tick: Tick) -> np.ndarray:
        """What it does to the joints and the base, Jᵀ w, shape (nv,)."""

    def rows(self, model: Model, tick: Tick) -> Rows:
        return Rows(np.zeros((0, model.nv)), np.zeros(0), np.zeros(0))


class Shaper(Entry):
    """An entry without rows: before the solve it takes back what tasks of its level ask for where they are weak.

    For the rows of a group of tasks, with Jacobian J = U Σ Vᵀ in the space that higher levels leave, what is asked
    for becomes

        b' = U ( f Uᵀ b + (1 − f − h) Uᵀ J x_above + h Uᵀ J x_rest )

    with x_above the command of the higher levels alone and x_rest that of the stack without these tasks. So each
    singular direction belongs to the tasks with the part f(σ), rests with 1 − f − h, and is left to the rest of the
    stack with h(σ). Where σ = 0 the solver would leave it to the rest at once: h = 1 there makes that smooth.

    Its own rows ask for nothing, or where it intervenes for μ x = μ x̂, with x̂ the command under limits that are
    widened until its level, and those before it, keep clear of them alone. While no limit is in the way this changes
    nothing; at a limit it keeps x near x̂, where the tasks alone would make joints run to gain next to nothing along a
    weak direction. What lower levels want is in x̂ only as far as limits allow it, so they take nothing from the tasks.

    Attributes:
        acts_below: Singular value from which on f is 1.
        length: Metres that count as much as a radian.
        strength: μ, how strong the intervention was in the last tick; 0 if there was none.
    """

    acts_below: float
    length: float
    strength: float = 0.0

    @abstractmethod
    def groups(self, level: Sequence[Entry]) -> list[list[Entry]]:
        """The tasks of its level that are looked at together."""

    @abstractmethod
    def shares(self, sigma: np.ndarray) -> Shares:
        """What becomes of each singular direction."""

    def at_limits(self, nearness: float) -> float:
        """μ where a limit acts.

        Args:
            nearness: How near a limit the tasks alone would come: 0 if clear of all, 1 if one is reached.
        """
        return 0.0

    def rows(self, model: Model, tick: Tick) -> Rows:
        nothing = np.full(model.nv, np.inf)
        return Rows(np.zeros((model.nv, model.nv)), -nothing, nothing)

    def labels(self, count: int) -> list[str]:
        return [f"x{i}" for i in range(count)]
