"""Every tick can be explained: `controller.explain()`.

Per level its rank, residual and smallest singular value; per entry what it misses and what blocks it; and the
limits that are active, with their multipliers. `save_tick` and `load_tick` put a tick into a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sot.diagnosis.pressure import Blocker, Pressures
from sot.diagnosis.saved_tick import Part, SavedTick, capture
from sot.solvers import definition
from sot.solvers.definition import RANK_TOLERANCE
from sot.solvers.status import FREE, LOWER, OUTCOMES, UPPER

if TYPE_CHECKING:
    from sot.controller import Controller
    from sot.diagnosis.tick_file import load_tick as load_tick
    from sot.diagnosis.tick_file import save_tick as save_tick

TOLERANCE = 1e-6  # residual above which an entry counts as missing its goal, in the unit of its rows


@dataclass(frozen=True)
class EntryLine:
    """One task or constraint.

    Attributes:
        name: Its name.
        rows: Number of its rows; 0 for bounds on x, and for what only changes what others ask for.
        residual: Norm of what it misses, not scaled by the weight, in the unit of its rows.
        misses: Label, signed amount and unit of each row that misses, largest first.
        active: Number of its inequalities that are active.
        blockers: What keeps it from its goal, hardest first.
        facts: What the entry says of itself, by name.
    """

    name: str
    rows: int
    residual: float
    misses: tuple[tuple[str, float, str], ...]
    active: int
    blockers: tuple[Blocker, ...]
    facts: dict[str, float | str]


@dataclass(frozen=True)
class LevelLine:
    """One level.

    Attributes:
        level: Its number; 0 is hard, and so are the laws of physics before it, which have negative numbers.
        entries: Its tasks and constraints.
        rows: Number of its rows.
        rank: Rank of its active rows in the null space of the levels above (`weighted`: of the hard level).
        residual: Norm of what its rows miss, not scaled by weights.
        sigma_min: Smallest singular value of the same rows in the same space, not scaled by weights; 0 where
            the rank is not full, NaN without rows.
        sigma_nonzero: Smallest singular value that counts for the rank; NaN at rank 0.
        damping: Damping λ that was used, the largest of the level; residuals then count from the damped targets.
    """

    level: int
    entries: tuple[EntryLine, ...]
    rows: int
    rank: int
    residual: float
    sigma_min: float
    sigma_nonzero: float
    damping: float = 0.0


@dataclass(frozen=True)
class ActiveLimit:
    """An inequality or bound that the solution touches.

    Attributes:
        name: In words.
        value: Where it stands, in the unit of the row or joint.
        unit: Such as "rad/s"; empty if not known.
        multiplier: What one `unit` more would be worth to the first level that presses against it; 0 if none does.
        level: That level, as in `LevelLine`; None if none presses; `Explanation.strict` for the last cost.
    """

    name: str
    value: float
    unit: str
    multiplier: float
    level: int | None


@dataclass(frozen=True)
class Explanation:
    """One tick in words and numbers; `str()` makes a table of it.

    Attributes:
        time: Time of the state, s.
        dt: How long the command acts, s.
        meaning: `nullspace`, `hierarchical` or `weighted`.
        outcome: How the solve ended, in words.
        iterations: How many it took.
        scaling: By how much `nullspace` scaled the command down.
        strict: How many levels are strictly ordered; the rest is one last cost.
        levels: One line per level.
        active: Limits that the command touches.
        nonfinite: Entries that gave NaN or infinities and were left out.
        share: Part of the command that this is: below 1 while a change of the stack is blended in.
        warnings: What is worth a warning about the stack, in words.
    """

    time: float
    dt: float
    meaning: str
    outcome: str
    iterations: int
    scaling: float
    strict: int
    levels: tuple[LevelLine, ...]
    active: tuple[ActiveLimit, ...]
    nonfinite: tuple[str, ...]
    share: float = 1.0
    warnings: tuple[str, ...] = ()

    def entry(self, name: str) -> EntryLine:
        """The line of one entry."""
        from sot.errors import TaskError, unknown

        lines = {entry.name: entry for level in self.levels for entry in level.entries}
        if name not in lines:
            raise TaskError(unknown("entry", name, lines))
        return lines[name]

    def __str__(self) -> str:
        from sot.diagnosis.explanation_table import table

        return table(self)


def explain(controller: Controller) -> Explanation:
    """Explain the last tick of a controller; while a change of the stack is blended in, that of its newest version."""
    return explain_tick(capture(controller))


def explain_tick(tick: SavedTick) -> Explanation:
    """Explain a tick."""
    pressures = Pressures(tick)
    return Explanation(
        tick.time, tick.dt, tick.meaning, OUTCOMES[tick.outcome], tick.iterations, tick.scaling, tick.strict,
        tuple(_levels(tick, pressures)), tuple(_active(tick, pressures)), tick.nonfinite,
        tick.share, tick.warnings,
    )  # fmt: skip


def __getattr__(name: str) -> Any:
    """Files are needed by few: `load_tick` and `save_tick` are imported when they are first used."""
    if name not in ("load_tick", "save_tick"):
        raise AttributeError(f"module 'sot.diagnosis' has no attribute {name!r}")
    from sot.diagnosis import tick_file

    return getattr(tick_file, name)


# -- levels ------------------------------------------------------------------------------------------


def _levels(tick: SavedTick, pressures: Pressures) -> list[LevelLine]:
    """Rank and singular values of Aₖ Z, with Z the null space left by what comes before."""
    m = tick.problem.lower.size
    Z = np.eye(tick.problem.n)[:, pressures.status[m:] == FREE]
    lines = []
    for k in range(tick.problem.n_levels):
        parts = [part for part in tick.parts if part.level == k]
        entries = tuple(_entry(part, tick, pressures) for part in parts)
        tasks = [part for part in parts if not part.shaper]
        A = np.vstack([np.zeros((0, tick.problem.n)), *(_active_rows(part, tick, pressures.status) for part in tasks)])
        sigma, rank, rest = _spectrum(A, Z)
        residual = float(np.linalg.norm([entry.residual for entry in entries]))
        rows = sum(entry.rows for entry in entries)
        smallest = sigma[-1] if sigma.size else np.nan
        nonzero = sigma[rank - 1] if rank else np.nan
        damping = max((part.damping for part in parts), default=0.0)
        lines.append(LevelLine(k + 1 - tick.problem.hard, entries, rows, rank, residual, smallest, nonzero, damping))
        if k < tick.strict:
            Z = rest
    return lines


def _active_rows(part: Part, tick: SavedTick, status: np.ndarray) -> np.ndarray:
    """Active rows of an entry, without its weight, shape (k, n)."""
    if part.columns:
        return np.eye(tick.problem.n)[list(part.columns)]
    active = status[part.rows] != FREE
    return tick.problem.A[part.rows][active] / part.scale


def _spectrum(A: np.ndarray, Z: np.ndarray) -> tuple[np.ndarray, int, np.ndarray]:
    """One singular value of A Z per row of A, largest first; the rank; and Z times the null space."""
    if not A.size or not Z.size:
        return np.zeros(len(A)), 0, Z
    _, values, Vt = np.linalg.svd(A @ Z)
    sigma = np.zeros(len(A))
    sigma[: values.size] = values
    rank = int(np.count_nonzero(sigma > RANK_TOLERANCE * np.linalg.norm(A)))
    sigma[rank:] = 0.0
    return sigma, rank, Z @ Vt[rank:].T


def _entry(part: Part, tick: SavedTick, pressures: Pressures) -> EntryLine:
    violation = _misses(part, tick)
    order = np.argsort(-np.abs(violation), kind="stable")
    misses = tuple(
        (part.labels[i], part.factor * float(violation[i]), part.units[i])
        for i in order
        if abs(violation[i]) > TOLERANCE
    )
    active = np.abs(pressures.status[part.rows]) == 1
    count = int(np.count_nonzero(active)) if not part.bounds else _bounds_of(part, tick, pressures)
    blockers = pressures.blockers(part) if misses else []
    residual = part.factor * float(np.linalg.norm(violation))
    rows = 0 if part.shaper else part.size
    return EntryLine(part.name, rows, residual, misses, count, tuple(blockers), part.facts)


def _misses(part: Part, tick: SavedTick) -> np.ndarray:
    """How far each row is outside its bounds, without the weight, shape (rows,). Shapers have no goal to miss."""
    if part.shaper:
        return np.zeros(part.size)
    if part.columns:
        return (tick.x - tick.problem.target)[list(part.columns)]
    return tick.problem.violation(tick.x)[part.rows] / part.scale


# -- limits ------------------------------------------------------------------------------------------


def _bounds_of(part: Part, tick: SavedTick, pressures: Pressures) -> int:
    """Number of active bounds on x that a box has set."""
    held = np.flatnonzero(pressures.status[tick.problem.lower.size :] != FREE)
    return sum(pressures.bound_name(int(c)).startswith(f"{part.name}: ") for c in held)


def _active(tick: SavedTick, pressures: Pressures) -> list[ActiveLimit]:
    m, status = tick.problem.lower.size, pressures.status
    costs = range(tick.strict + 1)
    multipliers = [definition.multipliers(tick.problem, tick.strict, k, tick.x, status) for k in costs]
    numbers = [*(k + 1 - tick.problem.hard for k in range(tick.strict)), tick.strict]
    found = [
        _limit(f"{part.name}: {_side(status[r])} of row {part.labels[r - part.start]}", r, multipliers, numbers,
               part.value(r, float(tick.problem.A[r] @ tick.x)), part.units[r - part.start], pressures.cost_of(part),
               part.factor)
        for part in tick.parts
        for r in range(part.start, part.stop)
        if status[r] in (LOWER, UPPER)
    ]  # fmt: skip
    found += [
        _limit(pressures.bound_name(int(c)), int(m + c), multipliers, numbers, float(tick.x[c]), tick.joint_units[c], 0)
        for c in np.flatnonzero(status[m:] != FREE)
    ]
    return sorted(found, key=lambda limit: (limit.level is None, limit.level or 0, -abs(limit.multiplier)))


def _side(status: int) -> str:
    return "upper bound" if status == UPPER else "lower bound"


def _limit(
    name: str, index: int, multipliers: list[np.ndarray], numbers: list[int], value: float, unit: str, first: int,
    factor: float = 1.0,
) -> ActiveLimit:  # fmt: skip
    """The first level from its own on that presses against it, and how hard."""
    for k in range(first, len(multipliers)):
        if abs(multipliers[k][index]) > definition.TOLERANCE:
            return ActiveLimit(name, value, unit, float(multipliers[k][index]) / factor, numbers[k])
    return ActiveLimit(name, value, unit, 0.0, None)
