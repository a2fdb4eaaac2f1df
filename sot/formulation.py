"""What the unknown of a tick is. `Velocity`: x = v, the velocity of base and joints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

import numpy as np

from sot.contacts import Contacts
from sot.entry import Box, Entry, Rows, Tick
from sot.errors import SotError, TaskError
from sot.kernels.assembly import fill
from sot.model import Model
from sot.problem import Problem
from sot.state import Command
from sot.tables import Boxes, Lines, Postures
from sot.task import Task

if TYPE_CHECKING:
    from sot.plan import Block

Stacked = tuple[tuple[Entry, ...], ...]


@dataclass(frozen=True)
class Measure:
    """How values of an entry's rows on x are read.

    Attributes:
        on: What the rows are on: "motion", "torque" or "force".
        factor: N or N·m per unit of a row on torques or forces; else 1.
        shift: What each row counts at 0, N or N·m, shape (k,); None for 0.
    """

    on: str = "motion"
    factor: float = 1.0
    shift: np.ndarray | None = None


class Formulation(Protocol):
    """What plans and controllers ask of a formulation; solvers and tasks know none of it.

    Attributes:
        size: Number of unknowns.
        rate: What the unit of a row has beside that of the task's error: "/s".
        braking: With which joints brake that have no acceleration limit, shape (nv,); None: they stop at once.
        boxes_are_rows: Hard boxes have rows of their own, in place of bounds on x.
    """

    model: Model
    size: int
    rate: str
    braking: np.ndarray | None
    boxes_are_rows: bool

    @property
    def contacts(self) -> Contacts | None:
        """Contacts whose forces are unknowns; None at velocity level."""

    def arrange(self, levels: Stacked) -> tuple[Stacked, int]:
        """The levels that are solved, and how many of them are hard."""

    def names(self) -> list[str]:
        """A name for each entry of x."""

    def start(self, x: np.ndarray) -> None:
        """Where the first solve begins; in place."""

    def regularise(self, metric: np.ndarray) -> None:
        """Weights in the last cost of unknowns that no posture speaks of; in place."""

    def count(self, entry: Entry) -> int:
        """Number of rows of an entry that has been set up."""

    def compile(self, blocks: list[Block], problem: Problem, lines: Lines) -> list[Block]:
        """Take over the rows of all entries that `fill` can write by itself; returns the others.

        Args:
            blocks: Entries that no table takes.
            problem: Where rows are; those that never change are written now.
            lines: The tasks that are compiled already.
        """

    def begin(self, tick: Tick) -> list[str]:
        """What all rows of a tick need. Returns the names of loads that gave nothing usable, and act as before."""

    def rows(self, entry: Entry, tick: Tick) -> Rows:
        """Rows of an entry on x."""

    def box(self, entry: Box, tick: Tick) -> tuple[np.ndarray, np.ndarray]:
        """Bounds on x of a box."""

    def fill(self, problem: Problem, AT: np.ndarray, lines: Lines, postures: Postures, boxes: Boxes, tick: Tick) -> int:
        """Everything that is compiled, in one call. Returns the number of crossed bounds."""

    def velocity(self, x: np.ndarray, tick: Tick) -> np.ndarray:
        """The velocity after the tick, shape (nv,)."""

    def measure(self, entry: Entry, tick: Tick) -> Measure:
        """How the values of an entry's rows are read, at the model's state; for reports."""

    def outcome(self, x: np.ndarray) -> np.ndarray:
        """What two versions of a stack are blended in; of the same size for every stack."""

    def command(self, outcome: np.ndarray, tick: Tick) -> Command:
        """The command that an outcome means."""


class Velocity:
    """x = v. Rows on the motion are rows on x as they are, and x is the command."""

    rate = "/s"
    braking: np.ndarray | None = None
    contacts: Contacts | None = None
    boxes_are_rows = False

    def __init__(self, model: Model, levels: Stacked = ()) -> None:
        self.model = model
        self.size = model.nv

    def arrange(self, levels: Stacked) -> tuple[Stacked, int]:
        return levels, 1

    def names(self) -> list[str]:
        return self.model.velocity_names()

    def start(self, x: np.ndarray) -> None:
        x[:] = 0.0

    def regularise(self, metric: np.ndarray) -> None:
        """All unknowns are joints: nothing to add."""

    def count(self, entry: Entry) -> int:
        if isinstance(entry, Task) and entry.picked is not None:
            return entry.picked.size
        return self.rows(entry, Tick(0.0, 1e-3, np.zeros(self.model.nv))).lower.size

    def compile(self, blocks: list[Block], problem: Problem, lines: Lines) -> list[Block]:
        return blocks

    def begin(self, tick: Tick) -> list[str]:
        return []

    def rows(self, entry: Entry, tick: Tick) -> Rows:
        return asked(entry, lambda: entry.rows(self.model, tick), self.size)

    def box(self, entry: Box, tick: Tick) -> tuple[np.ndarray, np.ndarray]:
        return boxed(entry, lambda: entry.box(self.model, tick), self.size)

    def fill(self, problem: Problem, AT: np.ndarray, lines: Lines, postures: Postures, boxes: Boxes, tick: Tick) -> int:
        model = self.model
        if lines.needs_com:
            model.update_com()
        return fill(
            lines.table, lines.parameters, lines.targets, lines.support, tick.dt, model.world_jacobian,
            model.joint_placements, model.com_view, model.com_jacobian_view, AT, problem.lower, problem.upper,
            postures.picks, postures.goals, boxes.index, boxes.limits, model.q, tick.previous, problem.target,
            problem.x_lower, problem.x_upper,
        )  # fmt: skip

    def velocity(self, x: np.ndarray, tick: Tick) -> np.ndarray:
        return x

    def measure(self, entry: Entry, tick: Tick) -> Measure:
        return Measure()

    def outcome(self, x: np.ndarray) -> np.ndarray:
        return x

    def command(self, outcome: np.ndarray, tick: Tick) -> Command:
        return Command(tick.time, outcome)


def asked(entry: Entry, give: Callable[[], Rows], size: int, sizes: Mapping[str, int] = MappingProxyType({})) -> Rows:
    """Rows that an entry gives, checked: a user's code may do anything.

    Args:
        entry: Whose they are.
        give: Makes them.
        size: Number of columns.
        sizes: The same for rows on something with another size.
    """
    try:
        rows = give()
        A, lower, upper, size = rows.A, rows.lower, rows.upper, sizes.get(rows.on, size)
    except SotError:
        raise
    except Exception as error:  # say whose it was
        raise TaskError(f"{entry.name}: raised {type(error).__name__}: {error}") from error
    fits = A.ndim == 2 and A.shape[1] == size and lower.shape == upper.shape == A.shape[:1]
    if not fits or A.dtype.kind not in "fiu":
        raise TaskError(
            f"{entry.name}: rows must be real numbers, A of shape (k, {size}) and bounds of shape (k,); "
            f"got A {A.shape} of {A.dtype}, lower {lower.shape}, upper {upper.shape}"
        )
    return rows


def boxed(
    entry: Box, give: Callable[[], tuple[np.ndarray, np.ndarray]], size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Bounds that a box gives, checked."""
    try:
        lower, upper = give()
    except SotError:
        raise
    except Exception as error:  # say whose it was
        raise TaskError(f"{entry.name}: raised {type(error).__name__}: {error}") from error
    if np.shape(lower) != (size,) or np.shape(upper) != (size,):
        raise TaskError(
            f"{entry.name}: a box must have two bounds of shape ({size},); got {np.shape(lower)} and {np.shape(upper)}"
        )
    return lower, upper
