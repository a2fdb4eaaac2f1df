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
        self._anchors = {block.entry: block for block in plan.blocks if isinstance(block.entry, Shaper)}
        anchors = np.concatenate([_indices(block) for block in self._anchors.values()])
        rows = np.concatenate([group.rows for group in self.groups])
        self._rest = Variant(plan, meaning, np.union1d(rows, anchors))
        self._above = {group.level: _above(plan, meaning, group.level) for group in self.groups}
        last = plan.problem.offsets[max(group.level for group in self.groups) + 1]
        self._unlimited = Variant(plan, meaning, anchors, bounded=False, equal_until=int(last))
        self._variants = [self._rest, self._unlimited, *self._above.values()]
        self._let_go()
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
        if self._anchored:
            self._let_go()
        for variant in self._variants:
            variant.stale = True
        if not self._look():
            return
        for i in np.flatnonzero(self._weak):
            self._shape(self.groups[i], self._projected[self._starts[i] : self._starts[i + 1]])
        for shaper, block in self._anchors.items():
            if shaper.strength > 0.0:
                self._anchor(block, shaper.strength)

    def hold_at_limits(self, status: np.ndarray) -> bool:
        """Once it is known which limits act: joints that are held leave the others a problem that may be weak.

        Args:
            status: Working set of the solution: rows, then columns.

        Returns:
            True if something changed, so that the tick has to be solved again.
        """
        problem = self.plan.problem
        if not (np.abs(status[problem.lower.size :]) == 1).any():
            return False
        x = self._unlimited.solved()
        excess = float(np.max(np.maximum(x - problem.x_upper, problem.x_lower - x)))
        changed = False
        for shaper, block in self._anchors.items():
            strength = shaper.at_limits(excess)
            if strength > shaper.strength:
                shaper.strength = strength
                self._anchor(block, strength)
                changed = True
        return changed

    def _let_go(self) -> None:
        """The rows of all shapers ask for nothing."""
        for shaper, block in self._anchors.items():
            shaper.strength = 0.0
            self.plan.problem.lower[block.rows], self.plan.problem.upper[block.rows] = -np.inf, np.inf
        self._anchored = False

    def _anchor(self, block: Block, strength: float) -> None:
        """μ x = μ x̂, with the largest weight of the level."""
        problem, columns = self.plan.problem, np.arange(self.plan.problem.n)
        size = strength * max(other.scale for other in self.plan.blocks if other.level == block.level)
        x = self._unlimited.solved()
        self.plan.AT[columns, _indices(block)] = size
        problem.lower[block.rows] = problem.upper[block.rows] = size * x
        self._anchored = True

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
    """A plan's problem with something left out, solved beside it.

    Attributes:
        stale: The answer belongs to an earlier tick.
    """

    def __init__(
        self,
        plan: Plan,
        meaning: str,
        left_out: np.ndarray,
        *,
        at_rest: bool = False,
        bounded: bool = True,
        equal_until: int = 0,
    ) -> None:
        """
        Args:
            plan: The plan.
            meaning: Meaning of its order.
            left_out: Rows that ask for nothing.
            at_rest: Freedom that is left takes minimum norm and follows no posture.
            bounded: Keep the bounds on x.
            equal_until: Leave out the inequalities before this row.
        """
        self._full, self._left_out, self._equal, self.stale = plan.problem, left_out, slice(0, equal_until), True
        n = plan.problem.n
        self._problem = replace(plan.problem, lower=plan.problem.lower.copy(), upper=plan.problem.upper.copy())
        if at_rest:
            self._problem.metric, self._problem.target = np.ones(n), np.zeros(n)
        if not bounded:
            self._problem.x_lower, self._problem.x_upper = np.full(n, -np.inf), np.full(n, np.inf)
        self._solver = make_solver(meaning, self._problem, plan.strict, "sot", plan.compiled)

    def solved(self) -> np.ndarray:
        """Its command at this tick."""
        if self.stale:
            self._refresh()
            self._solver.solve(cap=100)
            if not np.isfinite(self._solver.x).all():
                self._solver.forget()
            self.stale = False
        return self._solver.x

    def _refresh(self) -> None:
        lower, upper = self._problem.lower, self._problem.upper
        lower[:], upper[:] = self._full.lower, self._full.upper
        lower[self._left_out], upper[self._left_out] = -np.inf, np.inf
        unequal = lower[self._equal] != upper[self._equal]
        lower[self._equal][unequal], upper[self._equal][unequal] = -np.inf, np.inf


def _above(plan: Plan, meaning: str, level: int) -> Variant:
    """The levels before one, alone."""
    first = plan.problem.offsets[min(level, plan.strict)]
    return Variant(plan, meaning, np.arange(first, plan.problem.lower.size), at_rest=True)


def shaping_of(plan: Plan, meaning: str) -> Shaping | None:
    """The shapers of a plan; None if it has none."""
    return Shaping(plan, meaning) if any(isinstance(block.entry, Shaper) for block in plan.blocks) else None


def _indices(block: Block) -> np.ndarray:
    return np.arange(block.rows.start, block.rows.stop)


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
    rows = np.concatenate([_indices(block) for block in blocks])
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
