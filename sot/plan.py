"""From a stack to numbers: the memory of one tick, laid out once, filled at every tick.

Building a plan looks up every name, gives each entry its rows and decides how the rows are filled: everyday tasks
by the compiled assembly, a user's Python task by its own `rows`. Two kinds of entries cost no rows at all: hard
boxes become simple bounds on x, and postures at the end of the order become the metric.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sot.entry import Box, Entry, Rows, Tick
from sot.errors import TaskError
from sot.features.com import CenterOfMass
from sot.features.frame import FrameOrientation, FramePose, FramePosition
from sot.features.joints import JointPosture
from sot.gain import AdaptiveGain, decay
from sot.kernels import assembly as op
from sot.model import Model
from sot.nonfinite import drop_nonfinite
from sot.problem import Problem
from sot.task import FeatureTask, Task

Levels = tuple[tuple[Entry, ...], ...]

SHAPES = {FramePose: op.POSE, FramePosition: op.POSITION, FrameOrientation: op.ORIENTATION}
AXES = {"local": op.LOCAL, "world": op.WORLD, "aligned": op.ALIGNED}

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
        crossed: Number of bounds that contradicted each other in the last tick and were repaired.
        nonfinite: Names of entries that gave NaN or infinities in the last tick, and were left out of it.
        written: Time, dt and previous velocity of the tick for which the numbers were made.
    """

    def __init__(self, levels: Levels, model: Model, *, weighted: bool, compiled: bool = True) -> None:
        self.levels, self.model, self.compiled = levels, model, compiled
        self.blocks: list[Block] = []
        self.boxes: list[Box] = []
        self.crossed = 0
        self.nonfinite: list[str] = []
        self.written: tuple[float, float, np.ndarray] = (np.nan, np.nan, np.zeros(model.nv))
        self._lines: list[tuple[Block, FeatureTask]] = []  # filled by the compiled assembly
        self._python: list[Block] = []
        self._metric: list[Block] = []
        self._fold_from = 1 if weighted else max(len(levels) - 1, 1)
        self._dt = np.nan
        self._fresh = True  # no target is in the table yet
        self._lay_out(weighted)
        self._compile_lines()
        self._compile_boxes()
        self._compile_postures()

    # -- layout, once --------------------------------------------------------------------------------

    def _lay_out(self, weighted: bool) -> None:
        offsets, row = [0], 0
        taken = np.zeros(self.model.nv, dtype=bool)
        tick = Tick(0.0, 1e-3, np.zeros(self.model.nv))
        for k, level in enumerate(self.levels):
            for entry in level:
                entry.setup(self.model)
                row = self._place(entry, k, row, taken, tick)
            offsets.append(row)
        self.strict = 1 if weighted else len(self.levels) - (1 if self._metric else 0)
        self.problem = self._problem(offsets, taken, weighted)

    def _place(self, entry: Entry, level: int, row: int, taken: np.ndarray, tick: Tick) -> int:
        scale = float(np.sqrt(entry.weight))
        if isinstance(entry, Box) and level == 0:
            self.boxes.append(entry)
            self.blocks.append(Block(entry, level, slice(row, row), 1.0))
            return row
        columns = _picked_columns(entry)
        if columns is not None and level >= self._fold_from and not taken[columns].any():
            taken[columns] = True
            block = Block(entry, level, slice(row, row), scale, columns)
            self._metric.append(block)
            self.blocks.append(block)
            return row
        block = Block(entry, level, slice(row, row + self._count(entry, tick)), scale)
        self.blocks.append(block)
        if self.compiled and _is_compiled(entry):
            self._lines.append((block, entry))  # type: ignore[arg-type]  # _is_compiled says FeatureTask
        else:
            self._python.append(block)
        return block.rows.stop

    def _count(self, entry: Entry, tick: Tick) -> int:
        if isinstance(entry, Task) and entry.picked is not None:
            return entry.picked.size
        return _checked(entry.rows(self.model, tick), entry, self.model.nv).lower.size

    def _problem(self, offsets: list[int], taken: np.ndarray, weighted: bool) -> Problem:
        n, m = self.model.nv, offsets[-1]
        self.AT = np.zeros((n, m))
        metric = np.zeros(n)
        for block in self._metric:
            metric[block.columns] = block.scale
        if not taken.any():
            metric[:] = REGULARISATION if weighted else 1.0
        elif not weighted and np.ptp(metric[taken]) == 0.0 and offsets[self.strict] == m:
            metric[taken] = 1.0  # alone on the last level: a common factor changes nothing
        return Problem(
            A=self.AT.T,
            lower=np.zeros(m),
            upper=np.zeros(m),
            offsets=np.array(offsets, dtype=np.int64),
            x_lower=np.full(n, -np.inf),
            x_upper=np.full(n, np.inf),
            metric=metric,
            target=np.zeros(n),
        )

    def _compile_lines(self) -> None:
        count = len(self._lines)
        self.table = np.zeros((count, op.LINE), dtype=np.int64)
        self.parameters = np.zeros(count * op.PARAMETERS + 18)
        self.targets = np.zeros(count * op.TARGETS)
        support: list[int] = []
        for k, (block, task) in enumerate(self._lines):
            line, at = self.table[k], k * op.PARAMETERS
            line[op.PARAMETER], line[op.TARGET] = at, k * op.TARGETS
            line[op.ROW :] = -1
            line[op.ROW + task.picked] = np.arange(block.rows.start, block.rows.stop)
            self.parameters[at + op.SCALE] = block.scale
            _set_gain(task, self.parameters[at : at + op.PARAMETERS])
            if isinstance(task.feature, CenterOfMass):
                line[op.OP] = op.COM
                continue
            self._compile_frame(task.feature, line, self.parameters[at : at + 12], support)
        self.support = np.array(support or [0], dtype=np.int64)
        self._needs_com = any(line[op.OP] == op.COM for line in self.table)

    def _compile_frame(
        self, feature: FramePose, line: np.ndarray, placement: np.ndarray, support: list[int]
    ) -> None:
        joint, T_joint_frame, columns = self.model.attachment(feature.frame_id)
        line[op.OP], line[op.SHAPE], line[op.AXES] = op.FRAME, SHAPES[type(feature)], AXES[feature.expressed]
        line[op.JOINT] = joint
        line[op.SUPPORT], line[op.SUPPORT_END] = len(support), len(support) + len(columns)
        support.extend(columns)
        placement[:9], placement[9:] = T_joint_frame.rotation.ravel(order="F"), T_joint_frame.translation

    def _compile_boxes(self) -> None:
        """Tables for joint limits; any other hard box keeps its Python `box`."""
        joint_boxes = [box for box in self.boxes if self.compiled and hasattr(box, "joint_box")]
        self._python_boxes = [box for box in self.boxes if box not in joint_boxes]
        tables = [box.joint_box(self.model) for box in joint_boxes]
        n = self.model.nv
        self.box_index = np.array([t.q_index for t in tables], dtype=np.int64).reshape(-1, n)
        self.box_limits = np.array(
            [[t.q_lower, t.q_upper, t.v_max, t.a_max, t.rate] for t in tables], dtype=float
        ).reshape(-1, 5, n)
        self._rates = self.box_limits[:, -1].copy()

    def _compile_postures(self) -> None:
        """Tables for postures of plain joints; any other keeps its Python `rows`."""
        plain = [block for block in self._metric if self.compiled and _is_plain_posture(block.entry)]
        self._postures: list[tuple[FeatureTask, slice]] = []
        picks: list[np.ndarray] = []
        row = 0
        for block in plain:
            task, size = block.entry, block.columns.size
            self._postures.append((task, slice(row, row + size)))
            picks.append(np.column_stack([block.columns, task.feature.q_index[task.picked]]))
            row += size
        self._python_metric = [block for block in self._metric if block not in plain]
        self.picks = np.concatenate(picks) if picks else np.zeros((0, 2), dtype=np.int64)
        self.goals = np.zeros((row, 3))

    # -- filling, at every tick ----------------------------------------------------------------------

    def write(self, tick: Tick) -> None:
        """Rows, bounds and metric at the model's state."""
        self.written = (tick.time, tick.dt, tick.previous)
        if self.nonfinite:
            self.nonfinite = []
        if tick.dt != self._dt:
            self._set_dt(tick.dt)
        self._write_targets(tick)
        if self._needs_com:
            self.model.update_com()
        if self.compiled:
            self._fill(tick)
        else:
            self._reset_bounds()
        for block in self._python_metric:
            block.entry.begin(self.model, tick)
            self.problem.target[block.columns] = block.entry.rows(self.model, tick).lower
        for block in self._python:
            block.entry.begin(self.model, tick)
            self._write_rows(block, _checked(block.entry.rows(self.model, tick), block.entry, self.model.nv))
        for box in self._python_boxes:
            box.begin(self.model, tick)
            self.crossed += _intersect(self.problem, *box.box(self.model, tick))

    def drop_nonfinite(self) -> None:
        """Take NaN and infinities out of this tick's numbers and remember who gave them."""
        self.nonfinite = drop_nonfinite(self)

    def _write_targets(self, tick: Tick) -> None:
        """Targets that moved since the last tick."""
        at = 0
        for _, task in self._lines:
            if task.moving or self._fresh:
                task.begin(self.model, tick)
                _put_target(task, self.targets[at : at + op.TARGETS])
            at += op.TARGETS
        for task, rows in self._postures:
            if task.moving or self._fresh:
                task.begin(self.model, tick)
                self.goals[rows, 0] = task.target.value[task.picked]
                self.goals[rows, 2] = task.feedforward(tick)[task.picked]
        self._fresh = False

    def _fill(self, tick: Tick) -> None:
        model, problem = self.model, self.problem
        self.crossed = op.fill(
            self.table, self.parameters, self.targets, self.support, tick.dt, model.world_jacobian,
            model.joint_placements, model.com_view, model.com_jacobian_view, self.AT, problem.lower, problem.upper,
            self.picks, self.goals, self.box_index, self.box_limits, model.q, tick.previous, problem.target,
            problem.x_lower, problem.x_upper,
        )  # fmt: skip

    def _reset_bounds(self) -> None:
        self.crossed = 0
        self.problem.x_lower[:] = -np.inf
        self.problem.x_upper[:] = np.inf

    def _write_rows(self, block: Block, rows: Rows) -> None:
        if rows.lower.size != block.rows.stop - block.rows.start:
            raise TaskError(
                f"{block.entry.name}: gave {rows.lower.size} rows, but {block.rows.stop - block.rows.start} when it "
                "joined the stack; the number of rows may not change from tick to tick"
            )
        lower, upper = self.problem.lower[block.rows], self.problem.upper[block.rows]
        self.AT[:, block.rows] = block.scale * rows.A.T
        np.multiply(rows.lower, block.scale, out=lower)
        np.multiply(rows.upper, block.scale, out=upper)
        if rows.lower is not rows.upper:
            self.crossed += _meet(lower, upper)

    def _set_dt(self, dt: float) -> None:
        """Constant gains become decay factors, which depend on dt alone."""
        self._dt = dt
        self.box_limits[:, -1] = -np.expm1(-self._rates * dt) / dt
        for k, (_, task) in enumerate(self._lines):
            if not isinstance(task.gain, AdaptiveGain):
                at = k * op.PARAMETERS + op.DECAY
                self.parameters[at : at + task.feature.dim] = decay(task.gain, np.ones(task.feature.dim), dt)
        for task, rows in self._postures:
            self.goals[rows, 1] = decay(task.gain, np.ones(task.feature.dim), dt)[task.picked]


def _picked_columns(entry: Entry) -> np.ndarray | None:
    """Columns of a task whose Jacobian only picks joints."""
    if isinstance(entry, FeatureTask) and isinstance(entry.feature, JointPosture):
        return entry.feature.columns[entry.picked]
    return None


def _is_compiled(entry: Entry) -> bool:
    """True if the compiled assembly knows the task: an absolute frame or the centre of mass, rows not overridden."""
    if not isinstance(entry, FeatureTask) or _overridden(type(entry)):
        return False
    feature = entry.feature
    return type(feature) is CenterOfMass or (type(feature) in SHAPES and feature.reference_id < 0)


def _is_plain_posture(entry: Entry) -> bool:
    """True for a posture of joints with one coordinate each, a constant gain and no law of its own."""
    if not isinstance(entry, FeatureTask) or _overridden(type(entry)) or isinstance(entry.gain, AdaptiveGain):
        return False
    return entry.feature.q_index.size == entry.feature.columns.size


def _overridden(kind: type[FeatureTask]) -> bool:
    """A subclass with a law of its own must be asked, not compiled."""
    return any(getattr(kind, name) is not getattr(FeatureTask, name) for name in ("rows", "error", "jacobian", "feedforward"))


def _set_gain(task: FeatureTask, parameters: np.ndarray) -> None:
    slope = op.ADAPTIVE + 2
    parameters[slope] = -1.0
    if isinstance(task.gain, AdaptiveGain):
        parameters[op.ADAPTIVE : slope + 1] = task.gain.near, task.gain.far, task.gain.slope


def _put_target(task: FeatureTask, target: np.ndarray) -> None:
    """Copy a task's target into its line of the table."""
    goal, feature = task.target, task.feature
    if type(feature) is FramePose:
        target[:9], target[9:12] = goal.value.rotation.ravel(order="F"), goal.value.translation
    elif type(feature) is FrameOrientation:
        target[:9] = goal.value.ravel(order="F")
    else:
        target[9:12] = goal.value
    target[op.VELOCITY : op.VELOCITY + feature.dim] = goal.velocity
    target[op.ACCELERATION : op.ACCELERATION + feature.dim] = goal.acceleration


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


def _checked(rows: Rows, entry: Entry, nv: int) -> Rows:
    """Rows of the right shape, or an error that names the entry."""
    A, lower, upper = np.asarray(rows.A), np.asarray(rows.lower), np.asarray(rows.upper)
    if A.ndim != 2 or A.shape[1] != nv or lower.shape != (A.shape[0],) or upper.shape != lower.shape:
        raise TaskError(
            f"{entry.name}: rows must have A of shape (k, {nv}) and bounds of shape (k,); "
            f"got A {A.shape}, lower {lower.shape}, upper {upper.shape}"
        )
    return rows
