"""What shapers do to a tick: see `sot.entry.Shaper` for the formula.

Done once per tick, between the rows and the solve, so that the solver's active-set loop sees one fixed problem.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from sot.entry import Entry, Shaper, Tick
from sot.errors import TaskError
from sot.kernels.spectrum import project
from sot.plan import Block, Plan
from sot.solvers.choice import make_solver
from sot.task import Task

SAMPLES = 4  # configurations at which the rank that a group has in general is looked for
RANK_TOLERANCE = 1e-6  # relative: what is smaller there is taken for zero everywhere


@dataclass(frozen=True, eq=False)
class Group:
    """Tasks whose singular values are looked at together.

    Attributes:
        shaper: Who looks.
        blocks: The tasks.
        level: Level on which they stand.
        rows: Their rows in the problem.
        scale: Factor of each row before singular values are taken.
        rank: Rank that they have in general. Directions beyond it can never be met and are left alone.
    """

    shaper: Shaper
    blocks: tuple[Block, ...]
    level: int
    rows: np.ndarray
    scale: np.ndarray
    rank: int


class Shaping:
    """All shapers of a plan at work."""

    def __init__(self, plan: Plan, meaning: str) -> None:
        self.plan, self.groups = plan, list(_groups(plan))
        self.shapers = list(dict.fromkeys(group.shaper for group in self.groups))
        rows = np.concatenate([group.rows for group in self.groups])
        self._rest = Variant(plan, meaning, rows)
        self._above = {group.level: _above(plan, meaning, group.level) for group in self.groups}
        sizes, n, problem = [group.rows.size for group in self.groups], plan.problem.n, plan.problem
        self._starts = np.cumsum([0, *sizes])
        self._projected = np.zeros((self._starts[-1], n))
        self._weak = np.zeros(len(self.groups), dtype=np.int64)
        self._arguments = (
            plan.AT, problem.lower, problem.upper, problem.offsets, plan.strict, rows,
            np.concatenate([group.scale for group in self.groups]), self._starts,
            np.array([group.level for group in self.groups]),
            np.array([group.shaper.threshold for group in self.groups]),
            np.zeros((n + 1, n)), self._projected, np.zeros((max(sizes), max(sizes))), self._weak,
        )  # fmt: skip

    def apply(self) -> None:
        """Change the targets of this tick where a group is weak."""
        for shaper in self.shapers:
            shaper.strength = 0.0
        if self._look():
            for variant in (self._rest, *self._above.values()):
                variant.stale = True
            for i in np.flatnonzero(self._weak):
                self._shape(self.groups[i], self._projected[self._starts[i] : self._starts[i + 1]])

    def _look(self) -> int:
        """Project the rows of all groups; returns how many may have a weak direction."""
        if self.plan.compiled:
            return project(*self._arguments)
        for i, group in enumerate(self.groups):
            rows = group.scale[:, None] * self.plan.problem.A[group.rows]
            self._projected[self._starts[i] : self._starts[i + 1]] = _projected(rows, self._rows_above(group.level))
        self._weak[:] = 1
        return len(self.groups)

    def _rows_above(self, level: int) -> list[np.ndarray]:
        """Equalities of the strict levels before, one array per level."""
        problem = self.plan.problem
        levels = [problem.rows(k) for k in range(min(level, self.plan.strict))]
        return [problem.A[rows][problem.lower[rows] == problem.upper[rows]] for rows in levels]

    def _shape(self, group: Group, J: np.ndarray) -> None:
        """Replace what a group asks for."""
        if not np.isfinite(J).all():  # the solver will find out who it was
            return
        U, sigma, _ = np.linalg.svd(J, full_matrices=False)
        U, shares = U[:, : group.rank], group.shaper.shares(sigma[: group.rank])
        if (shares.kept == 1.0).all():
            return
        group.shaper.strength = max(group.shaper.strength, shares.strength)
        above = self._reached(group, self._above[group.level].solved())
        asked = group.scale * self.plan.problem.lower[group.rows] - above
        along = U.T @ asked
        change = U @ ((shares.kept - 1.0) * along)
        if shares.given.any():
            change += U @ (shares.given * (U.T @ (self._reached(group, self._rest.solved()) - above)))
            # What can never be met must not leak into a lost direction, which rounding cannot tell from it.
            change -= shares.given.max() * (asked - U @ along)
        self._ask(group, change)

    def _ask(self, group: Group, change: np.ndarray) -> None:
        problem, rows = self.plan.problem, group.rows
        problem.lower[rows] += change / group.scale
        problem.upper[rows] = problem.lower[rows]

    def _reached(self, group: Group, x: np.ndarray) -> np.ndarray:
        return group.scale * (self.plan.problem.A[group.rows] @ x)


class Variant:
    """A plan's problem with some rows left out, solved beside it.

    Attributes:
        stale: The answer belongs to an earlier tick.
    """

    def __init__(self, plan: Plan, meaning: str, left_out: np.ndarray, *, at_rest: bool = False) -> None:
        """
        Args:
            plan: The plan.
            meaning: Meaning of its order.
            left_out: Rows that ask for nothing.
            at_rest: Freedom that is left takes minimum norm and follows no posture.
        """
        self._full, self._left_out, self.stale = plan.problem, left_out, True
        self._problem = replace(plan.problem, lower=plan.problem.lower.copy(), upper=plan.problem.upper.copy())
        if at_rest:
            self._problem.metric, self._problem.target = np.ones(plan.problem.n), np.zeros(plan.problem.n)
        self._solver = make_solver(meaning, self._problem, plan.strict, "sot", plan.compiled)

    def solved(self) -> np.ndarray:
        """Its command at this tick."""
        problem = self._problem
        if self.stale:
            problem.lower[:], problem.upper[:] = self._full.lower, self._full.upper
            problem.lower[self._left_out], problem.upper[self._left_out] = -np.inf, np.inf
            self._solver.solve(cap=100)
            if not np.isfinite(self._solver.x).all():
                self._solver.forget()
            self.stale = False
        return self._solver.x


def _above(plan: Plan, meaning: str, level: int) -> Variant:
    """The levels before one, alone."""
    first = plan.problem.offsets[min(level, plan.strict)]
    return Variant(plan, meaning, np.arange(first, plan.problem.lower.size), at_rest=True)


def shaping_of(plan: Plan, meaning: str) -> Shaping | None:
    """The shapers of a plan; None if it has none."""
    return Shaping(plan, meaning) if any(isinstance(block.entry, Shaper) for block in plan.blocks) else None


# -- groups ------------------------------------------------------------------------------------------


def _groups(plan: Plan) -> Iterator[Group]:
    """Groups of all shapers, from the first level on. No row may belong to two of them."""
    taken: dict[Entry, Shaper] = {}
    for k, level in enumerate(plan.levels):
        for shaper in (entry for entry in level if isinstance(entry, Shaper)):
            for entries in shaper.groups([entry for entry in level if not isinstance(entry, Shaper)]):
                for entry in entries:
                    if taken.setdefault(entry, shaper) is not shaper:
                        raise TaskError(f"{shaper.name}: '{entry.name}' is shaped by '{taken[entry].name}' already")
                yield _group(plan, shaper, entries, k)


def _group(plan: Plan, shaper: Shaper, entries: list[Entry], level: int) -> Group:
    blocks = tuple(block for block in plan.blocks if block.entry in entries and _has_plain_rows(block.entry))
    blocks = tuple(block for block in blocks if block.rows.stop > block.rows.start)
    if not blocks:
        raise TaskError(f"{shaper.name}: level {level} has no task whose directions could be weak")
    rows = np.concatenate([np.arange(block.rows.start, block.rows.stop) for block in blocks])
    scale = np.concatenate([_row_scale(block, shaper.length) for block in blocks])
    scale /= max(block.scale for block in blocks)  # weights count against each other, not by themselves
    return Group(shaper, blocks, level, rows, scale, _general_rank(plan, blocks, scale, level))


def _row_scale(block: Block, length: float) -> np.ndarray:
    """1 / length for rows in metres, 1 for all others; the rows of the problem have the weight in them already."""
    units = block.entry.units(block.rows.stop - block.rows.start)
    return np.array([1.0 / length if unit == "m" else 1.0 for unit in units])


def _general_rank(plan: Plan, blocks: tuple[Block, ...], scale: np.ndarray, level: int) -> int:
    """Rank of the group's rows in the space that higher levels leave, away from singular configurations."""
    model, rng = plan.model, np.random.default_rng(0)
    q, v = model.q, model.v
    ranks = []
    try:
        for k in range(SAMPLES):
            model.update(model.random_configuration(rng) if k else model.robot.home, v)
            rows = np.vstack([block.scale * _jacobian(plan, block.entry) for block in blocks])
            above = [_jacobian(plan, entry) for higher in plan.levels[: min(level, plan.strict)] for entry in higher]
            if all(np.isfinite(part).all() for part in [rows, *above]):  # else the first tick will say whose it is
                ranks.append(np.linalg.matrix_rank(_projected(scale[:, None] * rows, above), tol=RANK_TOLERANCE))
    finally:
        model.update(q, v)
    return int(max(ranks, default=scale.size))


def _jacobian(plan: Plan, entry: Entry) -> np.ndarray:
    """Coefficients of an entry's equalities, shape (k, n)."""
    if isinstance(entry, Task) and _has_plain_rows(entry):
        return np.atleast_2d(entry.jacobian(plan.model))[entry.kept]
    rows = plan.formulation.rows(entry, Tick(0.0, 1e-3, np.zeros(plan.model.nv)))
    return rows.A[rows.lower == rows.upper]


def _has_plain_rows(entry: Entry) -> bool:
    """True for a task whose rows are those of its Jacobian; one with a law of its own may have others."""
    return isinstance(entry, Task) and type(entry).rows is Task.rows


def _projected(rows: np.ndarray, above: list[np.ndarray]) -> np.ndarray:
    """Rows in the null space of what is above, level by level."""
    Z = np.eye(rows.shape[1])
    for A in above:
        if len(A):
            _, sigma, Vt = np.linalg.svd(A @ Z)
            size = float(np.linalg.norm(A, axis=1).max())
            Z = Z @ Vt[np.count_nonzero(sigma > 1e-9 * size) :].T
    return rows @ Z @ Z.T
