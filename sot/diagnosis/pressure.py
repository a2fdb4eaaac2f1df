"""Who blocks whom, in numbers: the multipliers of one task or constraint alone.

At the optimum of a cost, with ρ the residual of the rows of each entry e and N the normals of what is held fast
(active rows of higher levels, entries of x at a bound),

    Σₑ Aₑᵀ ρₑ + Nᵀ λ = 0.

Taken for one entry alone, Aₑᵀ ρₑ + Nᵀ λₑ = rₑ with the λₑ that leaves least: λₑ is the part of the multipliers
that e is to blame for, and rₑ is what the other entries of the same cost hold against it, as Σₑ rₑ = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sot.diagnosis.saved_tick import Part, SavedTick
from sot.solvers.definition import RANK_TOLERANCE
from sot.solvers.status import EQUAL, FREE, LOWER, UPPER

SMALL = 1e-6  # part of an entry's gradient below which nothing is a blocker
AT_BOUND = 1e-9
NAMED = 8  # rows of one entry that are named


@dataclass(frozen=True)
class Blocker:
    """What stands in the way of an entry.

    Attributes:
        name: In words: rows of a task, or a limit of a joint.
        multiplier: How hard the entry presses against it.
        owner: Name of the task or constraint whose rows these are; empty for bounds.
    """

    name: str
    multiplier: float
    owner: str = ""

    def __str__(self) -> str:
        return self.name


class Pressures:
    """Gradients and normals at the solution of a tick."""

    def __init__(self, tick: SavedTick) -> None:
        self.tick = tick
        self.status = working_set(tick)
        problem, m = tick.problem, tick.problem.lower.size
        bound = np.where(self.status[:m] == UPPER, problem.upper, problem.lower)
        self.rho = np.zeros(m)  # residual of the active rows
        active = self.status[:m] != FREE
        self.rho[active] = problem.A[active] @ tick.x - bound[active]

    def blockers(self, part: Part) -> list[Blocker]:
        """What keeps an entry from its goal, hardest first."""
        gradient = self._gradient(part)
        size = float(np.linalg.norm(gradient))
        if not size > 0.0:
            return []
        rows, columns, normals = self._held(part)
        multipliers, remainder = _balance(normals, gradient)
        strength = np.abs(multipliers) * np.linalg.norm(normals, axis=1)
        sides = np.concatenate([self.status[rows], self.status[self.rho.size + columns]])
        # A limit blocks only what presses against it, not what would leave it.
        pressing = np.where(sides == UPPER, multipliers > 0.0, np.where(sides == LOWER, multipliers < 0.0, True))
        if self.tick.meaning == "nullspace":
            pressing[rows.size :] = True  # except here: a joint that is held at a bound is not let go again
        strength = np.where(pressing & (strength > SMALL * size), strength, 0.0)
        found = self._row_blockers(rows, strength[: rows.size])
        found += self._bound_blockers(columns, strength[rows.size :])
        if self.tick.scaling < 1.0:
            found = self._with_scaling(found, size)
        if not found and self.tick.meaning == "nullspace" and self._misses_inequality(part):
            found = [Blocker("the solver 'nullspace', which does not pursue inequalities", size)]
        if np.linalg.norm(remainder) > SMALL * size:
            found += self._peers(part, remainder)
        return sorted(found, key=lambda blocker: -blocker.multiplier)

    def _misses_inequality(self, part: Part) -> bool:
        """True if a row that is no equality is broken."""
        broken = np.abs(self.rho[part.rows]) > AT_BOUND
        return bool((broken & (self.status[part.rows] != EQUAL)).any())

    def _gradient(self, part: Part) -> np.ndarray:
        """Aₑᵀ ρₑ, or that of the metric."""
        problem, x = self.tick.problem, self.tick.x
        gradient = problem.A[part.rows].T @ self.rho[part.rows]
        columns = list(part.columns)
        gradient[columns] += problem.metric[columns] ** 2 * (x - problem.target)[columns]
        return gradient

    def _held(self, part: Part) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows and columns that come before an entry, and their normals, shape (rows + columns, n)."""
        problem, m = self.tick.problem, self.rho.size
        rows = np.flatnonzero(self.status[: problem.offsets[self.cost_of(part)]] != FREE)
        columns = np.flatnonzero(self.status[m:] != FREE)
        return rows, columns, np.vstack([problem.A[rows], np.eye(problem.n)[columns]])

    def cost_of(self, part: Part) -> int:
        """Number of the cost to which an entry belongs: its level, or the last cost."""
        return min(part.level, self.tick.strict)

    def _row_blockers(self, rows: np.ndarray, strength: np.ndarray) -> list[Blocker]:
        found = []
        for part in self.tick.parts:
            mine = (rows >= part.start) & (rows < part.stop) & (strength > 0.0)
            if mine.any():
                labels = [part.labels[r - part.start] for r in rows[mine]]
                found.append(Blocker(row_name(part, labels), float(strength[mine].max()), part.name))
        return found

    def _bound_blockers(self, columns: np.ndarray, strength: np.ndarray) -> list[Blocker]:
        picked = np.flatnonzero(strength > 0.0)
        return [Blocker(self.bound_name(int(columns[i])), float(strength[i])) for i in picked]

    def _with_scaling(self, found: list[Blocker], size: float) -> list[Blocker]:
        """`nullspace` slows everybody down for the sake of the inequalities that the command touches."""
        touched = np.flatnonzero(np.abs(self.status[: self.rho.size]) == 1)
        limits = self._row_blockers(touched, np.full(touched.size, (1.0 - self.tick.scaling) * size))
        names = {limit.name for limit in limits}
        return [blocker for blocker in found if blocker.name not in names] + limits

    def bound_name(self, column: int) -> str:
        """The bound at which an entry of x is, in words."""
        side, names = self.status[self.rho.size + column], self.tick.bound_names
        if side == EQUAL:
            return _both(names.lower[column], names.upper[column], f" of {self.tick.joints[column]}")
        return names.upper[column] if side == UPPER else names.lower[column]

    def _peers(self, part: Part, remainder: np.ndarray) -> list[Blocker]:
        """Entries of the same cost that pull the other way."""
        found = []
        for other in self.tick.parts:
            if other is part or other.bounds or self.cost_of(other) != self.cost_of(part):
                continue
            gradient = self._gradient(other)
            pull = -float(gradient @ remainder) / float(np.linalg.norm(remainder))
            if pull > SMALL * np.linalg.norm(remainder):
                labels = [label for label, rho in zip(other.labels, self._rho_of(other), strict=True) if rho]
                found.append(Blocker(row_name(other, labels), pull))
        return found

    def _rho_of(self, part: Part) -> np.ndarray:
        """Which rows of an entry miss."""
        if part.columns:
            return np.ones(part.size, dtype=bool)
        return np.abs(self.rho[part.rows]) > AT_BOUND


def working_set(tick: SavedTick) -> np.ndarray:
    """The solver's working set; `nullspace`, which holds and scales, gets the limits that its answer touches."""
    if tick.meaning != "nullspace":
        return tick.status
    problem = tick.problem
    y = np.concatenate([problem.A @ tick.x, tick.x])
    lower = np.concatenate([problem.lower, problem.x_lower])
    upper = np.concatenate([problem.upper, problem.x_upper])
    near = AT_BOUND * (1.0 + np.abs(y))
    status = np.where(y >= upper - near, UPPER, np.where(y <= lower + near, LOWER, FREE))
    return np.where(lower == upper, EQUAL, status)


def _both(low: str, high: str, joint: str) -> str:
    """Two bounds that meet, in words."""
    if low == high:
        return low
    owner, limit = high.split(": ", 1) if ": " in high else ("", high)
    return f"{low.removesuffix(joint)} / {limit if low.startswith(f'{owner}: ') else high}"


def row_name(part: Part, labels: list[str]) -> str:
    """Rows of an entry in words: all of them by its name alone."""
    if len(labels) == part.size or not labels or part.shaper:
        return part.name
    several = list(dict.fromkeys(labels))  # facets of a cone share their names
    word = "" if part.touch is not None else "row " if len(several) == 1 else "rows "
    more = f" and {len(several) - NAMED} more" if len(several) > NAMED else ""
    return f"{part.name}: {word}{', '.join(several[:NAMED])}{more}"


def _balance(normals: np.ndarray, gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """λ that makes gradient + Nᵀ λ smallest, and what is left."""
    if not len(normals):
        return np.zeros(0), gradient
    multipliers = np.linalg.lstsq(normals.T, -gradient, rcond=RANK_TOLERANCE)[0]
    return multipliers, gradient + normals.T @ multipliers
