"""From a stack to numbers: the memory of one tick, laid out once, filled at every tick.

Building a plan looks up every name, gives each entry its rows and decides how the rows are filled: everyday tasks
by the compiled assembly, a user's Python task by its own `rows`. Two kinds of entries cost no rows at all: hard
boxes become simple bounds on x, and postures at the end of the order become the metric.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sot.entry import Box, Entry, Rows, Shaper, Tick
from sot.errors import SotError, TaskError
from sot.features.joints import JointPosture
from sot.formulation import Formulation
from sot.model import Model
from sot.nonfinite import drop_nonfinite
from sot.problem import Problem
from sot.tables import Boxes, LimitsJoints, Lines, Postures
from sot.task import FeatureTask
from sot.viability import count_outside

Levels = tuple[tuple[Entry, ...], ...]

# Where no posture gives the last cost a unique minimum, this much of ‖x‖² does (weighted meaning only).
REGULARISATION = 1e-4


@dataclass(frozen=True)
class Block:
    """The rows of one entry.

    Attributes:
        entry: The task or constraint.
        level: Level of the stack it stands on.
        rows: Its rows in the problem; empty for bounds and metric.
        scale: Root of the weight, by which rows are multiplied.
        columns: Columns that it fills, for an entry that became part of the metric.
    """

    entry: Entry
    level: int
    rows: slice
    scale: float
    columns: np.ndarray | None = None


class Plan:
    """Rows, bounds and metric of a stack, written in place.

    Attributes:
        problem: The numbers of the current tick.
        strict: How many levels are strictly ordered; the rest is one last cost.
        blocks: Who owns which rows, in the order of the stack.
        boxes: Hard boxes, which became simple bounds.
        crossed: Number of bounds that contradicted each other in the last tick and were repaired.
        nonfinite: Names of entries that gave NaN or infinities in the last tick, and were left out of it.
        written: Time, dt and previous velocity of the tick for which the numbers were made.
    """

    def __init__(
        self, levels: Levels, formulation: Formulation, *, weighted: bool, compiled: bool = True, hard: int = 1
    ) -> None:
        self.levels, self.formulation, self.compiled, self.hard = levels, formulation, compiled, hard
        self.model = formulation.model
        self.blocks: list[Block] = []
        self.boxes: list[Box] = []
        self.crossed = 0
        self.nonfinite: list[str] = []
        self.written: tuple[float, float, np.ndarray] = (np.nan, np.nan, np.zeros(self.model.nv))
        self._dt = np.nan
        self._lay_out(weighted)
        self._share_out()

    # -- layout, once --------------------------------------------------------------------------------

    def _lay_out(self, weighted: bool) -> None:
        """Rows for every entry, and what needs none."""
        folded_from = self.hard if weighted else max(len(self.levels) - 1, self.hard)
        offsets, row = [0], 0
        metric = np.zeros(self.formulation.size)
        for k, level in enumerate(self.levels):
            for entry in level:
                self._set_up(entry)
                block = self._block(entry, k, row, metric if k >= folded_from else None)
                self.blocks.append(block)
                row = block.rows.stop
            offsets.append(row)
        folded = metric.any()
        self.strict = self.hard if weighted else len(self.levels) - int(folded)
        if not folded:
            metric[: self.model.nv] = REGULARISATION if weighted else 1.0
        elif not weighted and np.ptp(metric[metric > 0.0]) == 0.0 and offsets[self.strict] == row:
            metric[metric > 0.0] = 1.0  # alone on the last level: a common factor changes nothing
        self.formulation.regularise(metric)
        self.problem = self._problem(offsets, metric)

    def _set_up(self, entry: Entry) -> None:
        try:
            entry.setup(self.model)
        except SotError as error:
            named = str(error) if entry.name in str(error) else f"{entry.name}: {error}"
            raise type(error)(named) from None

    def _block(self, entry: Entry, level: int, row: int, metric: np.ndarray | None) -> Block:
        """Where an entry goes; a posture that may be folded adds its weight to the metric."""
        scale = float(np.sqrt(entry.weight))
        if isinstance(entry, Box) and level < self.hard and not self.formulation.boxes_are_rows:
            self.boxes.append(entry)
            return Block(entry, level, slice(row, row), 1.0)
        columns = _picked_columns(entry)
        if columns is not None and metric is not None and not metric[columns].any():
            metric[columns] = scale
            return Block(entry, level, slice(row, row), scale, columns)
        return Block(entry, level, slice(row, row + self._count(entry)), scale)

    def _count(self, entry: Entry) -> int:
        return self.formulation.count(entry)

    def _problem(self, offsets: list[int], metric: np.ndarray) -> Problem:
        n, m = self.formulation.size, offsets[-1]
        self.AT = np.zeros((n, m))
        return Problem(
            A=self.AT.T,
            lower=np.zeros(m),
            upper=np.zeros(m),
            offsets=np.array(offsets, dtype=np.int64),
            x_lower=np.full(n, -np.inf),
            x_upper=np.full(n, np.inf),
            metric=metric,
            target=np.zeros(n),
            hard=self.hard,
        )

    def _share_out(self) -> None:
        """Who is filled by the compiled assembly, and who by Python."""
        contacts = self.formulation.contacts
        self.lines = Lines(self.model, contacts)
        self.postures = Postures(self.model, accelerations=contacts is not None)
        self.joint_boxes = Boxes(self.model, self.formulation.braking)
        self._python: list[Block] = []
        self._python_boxes = []
        # Where hard boxes leave nothing between them the earlier wins: first what a motor cannot do.
        for box in sorted(self.boxes, key=lambda box: not _bounds_acceleration(box, self.model)):
            if self.compiled and isinstance(box, LimitsJoints):
                self.joint_boxes.add(box)
            else:
                self._python_boxes.append(box)
        for block in self.blocks:
            if block.entry in self.boxes or isinstance(block.entry, Shaper):
                continue
            if self.compiled and block.columns is not None and self.postures.takes(block.entry):
                self.postures.add(block.entry, block.columns)
            elif self.compiled and block.columns is None and self.lines.takes(block.entry):
                self.lines.add(block.entry, block.rows, block.scale, self.AT)
            else:
                self._python.append(block)
        if self.compiled:
            self._python = self.formulation.compile(self._python, self.problem, self.lines)
        for table in (self.lines, self.postures, self.joint_boxes):
            table.finish()

    def stack_level(self, block: Block) -> int:
        """Level of the user's stack on which an entry stands; what comes before level 0 counts as it."""
        return max(block.level + 1 - self.hard, 0)

    # -- filling, at every tick ----------------------------------------------------------------------

    def write(self, tick: Tick) -> None:
        """Rows, bounds and metric at the model's state."""
        self.written = (tick.time, tick.dt, tick.previous)
        if tick.dt != self._dt:
            self._set_dt(tick.dt)
        self.nonfinite = self.formulation.begin(tick)
        self.lines.refresh(tick)
        self.postures.refresh(tick)
        self.crossed = self.formulation.fill(
            self.problem, self.AT, self.lines, self.postures, self.joint_boxes, tick
        )
        for block in self._python:
            block.entry.begin(self.model, tick)
            self._write(block, self.formulation.rows(block.entry, tick))
        for box in self._python_boxes:
            box.begin(self.model, tick)
            if isinstance(box, LimitsJoints):
                self.crossed += count_outside(box.joint_box(self.model), self.model.q)
            self.crossed += _intersect(self.problem, *self.formulation.box(box, tick))

    def _write(self, block: Block, rows: Rows) -> None:
        """Rows that Python made."""
        if block.columns is not None:
            self.problem.target[block.columns] = rows.lower
            return
        if rows.lower.size != block.rows.stop - block.rows.start:
            raise TaskError(
                f"{block.entry.name}: gave {rows.lower.size} rows, but {block.rows.stop - block.rows.start} when it "
                "joined the stack; the number of rows may not change from tick to tick"
            )
        np.multiply(rows.A, block.scale, out=self.problem.A[block.rows])
        lower, upper = self.problem.lower[block.rows], self.problem.upper[block.rows]
        np.multiply(rows.lower, block.scale, out=lower)
        if rows.lower is rows.upper:
            upper[:] = lower
        else:
            np.multiply(rows.upper, block.scale, out=upper)
            self.crossed += _meet(lower, upper)

    def _set_dt(self, dt: float) -> None:
        self._dt = dt
        for table in (self.lines, self.postures, self.joint_boxes):
            table.set_dt(dt)

    def forget_gains(self) -> None:
        """Some task has a new gain: make the tables anew."""
        self._share_out()
        self._dt = np.nan

    def drop_nonfinite(self) -> None:
        """Take NaN and infinities out of this tick's numbers and remember who gave them."""
        self.nonfinite = drop_nonfinite(self)


def _bounds_acceleration(box: Box, model: Model) -> bool:
    return isinstance(box, LimitsJoints) and bool(np.isfinite(box.joint_box(model).a_max).any())


def _picked_columns(entry: Entry) -> np.ndarray | None:
    """Columns of a task whose Jacobian only picks joints."""
    if isinstance(entry, FeatureTask) and isinstance(entry.feature, JointPosture):
        return entry.feature.columns[entry.kept]
    return None


def _intersect(problem: Problem, lower: np.ndarray, upper: np.ndarray) -> int:
    """Narrow the bounds in place; where nothing is left the bound that was there first wins. Returns how often."""
    low, high = problem.x_lower, problem.x_upper
    crossed = (lower > high) | (upper < low) | (lower > upper)
    np.maximum(low, np.minimum(lower, high), out=low)
    np.minimum(high, np.maximum(upper, low), out=high)
    return int(np.count_nonzero(crossed))


def _meet(lower: np.ndarray, upper: np.ndarray) -> int:
    """Rows whose bounds contradict each other aim for the middle, in place. Returns how many there are."""
    crossed = lower > upper
    if not crossed.any():
        return 0
    lower[crossed] = upper[crossed] = 0.5 * (lower[crossed] + upper[crossed])
    return int(np.count_nonzero(crossed))
