"""What shapers do to a tick: see `sot.entry.Shaper` for the formula.

Done once per tick, between the rows and the solve, so that the solver's active-set loop sees one fixed problem.
"""

from __future__ import annotations

import numpy as np

from sot.entry import Shaper
from sot.kernels.spectrum import project
from sot.plan import Plan
from sot.shaping_groups import Group, groups_of, indices, projected
from sot.solvers.status import LOWER, UPPER
from sot.variant import Alone, Variant, Widened


class Shaping:
    """All shapers of a plan at work.

    Attributes:
        groups: What they look at.
        strength: μ of each shaper in this tick.
    """

    def __init__(self, plan: Plan, meaning: str) -> None:
        self.plan, self.groups = plan, groups_of(plan)
        self._blocks = {block.entry: block for block in plan.blocks if isinstance(block.entry, Shaper)}
        self.strength = dict.fromkeys(self._blocks, 0.0)
        self._asked: list[tuple[np.ndarray, np.ndarray]] = []  # rows that were changed, and what they asked for
        self._idle = False  # True while nothing has been changed
        self._make_variants(meaning)
        self._make_arguments()
        self._let_go()

    def _make_variants(self, meaning: str) -> None:
        """x_rest, and for each level with a shaper x_above, the tasks alone, and x̂."""
        plan, levels = self.plan, {group.level for group in self.groups}
        anchors = np.concatenate([indices(block) for block in self._blocks.values()])
        shaped = np.concatenate([group.rows for group in self.groups])
        self._rest = Variant(plan, meaning, np.union1d(shaped, anchors))
        self._above = {level: _above(plan, meaning, level) for level in levels}
        self._alone = {level: Alone(plan, meaning, level, anchors) for level in levels}
        self._widened = {level: Widened(plan, meaning, self._alone[level], anchors) for level in levels}
        by_level = (self._above, self._alone, self._widened)
        self._variants = [self._rest, *(variant for table in by_level for variant in table.values())]

    def _make_arguments(self) -> None:
        """What the kernel needs."""
        plan, problem, groups, n = self.plan, self.plan.problem, self.groups, self.plan.problem.n
        sizes = [group.rows.size for group in groups]
        self._starts = np.cumsum([0, *sizes])
        self._projected = np.zeros((self._starts[-1], n))
        self._weak = np.zeros(len(groups), dtype=np.int64)
        self._arguments = (
            plan.AT, problem.lower, problem.upper, problem.offsets, plan.strict, problem.x_lower, problem.x_upper,
            np.concatenate([group.rows for group in groups]), np.concatenate([group.scale for group in groups]),
            self._starts, np.array([group.level for group in groups]),
            np.array([group.shaper.acts_below for group in groups]),
            np.zeros((n + 1, n)), self._projected, np.zeros((max(sizes), max(sizes))), self._weak,
        )  # fmt: skip

    # -- at every tick -------------------------------------------------------------------------------

    def apply(self) -> None:
        """Change the targets of this tick where a group is weak."""
        self._let_go()
        if self._look():
            for i in np.flatnonzero(self._weak):
                self._shape(self.groups[i], self._projected[self._starts[i] : self._starts[i + 1]])

    def undo(self) -> None:
        """Let the tasks ask for what they asked for before `apply`, in the same tick."""
        for rows, asked in self._asked:
            self.plan.problem.lower[rows] = self.plan.problem.upper[rows] = asked
        self._let_go()

    def hold_at_limits(self, status: np.ndarray) -> bool:
        """Once it is known which limits act: joints that are held leave the others a problem that may be weak.

        As long as no limit acts x = x̂, and there is nothing to do.

        Args:
            status: Working set of the solution: rows, then columns.

        Returns:
            True if something changed, so that the tick has to be solved again.
        """
        if not ((status == LOWER) | (status == UPPER)).any():
            return False
        changed = False
        for shaper, block in self._blocks.items():
            strength = max(self.strength[shaper], shaper.at_limits(self._alone[block.level].nearness()))
            if strength > 0.0:
                self._anchor(shaper, strength)
                changed = True
        return changed

    def _let_go(self) -> None:
        """Begin anew: the rows of all shapers ask for nothing."""
        for variant in self._variants:
            variant.next_tick()
        for shaper in self._blocks:
            shaper.strength = 0.0  # an older version of the stack may have set it
        if self._idle:
            return
        self._idle = True
        self._asked.clear()
        for shaper, block in self._blocks.items():
            self.strength[shaper] = 0.0
            self.plan.problem.lower[block.rows], self.plan.problem.upper[block.rows] = -np.inf, np.inf

    def _anchor(self, shaper: Shaper, strength: float) -> None:
        """μ x = μ x̂, with the largest weight of the level."""
        block, problem = self._blocks[shaper], self.plan.problem
        self._note(shaper, strength)
        size = strength * max(other.scale for other in self.plan.blocks if other.level == block.level)
        self.plan.AT[np.arange(problem.n), indices(block)] = size
        problem.lower[block.rows] = problem.upper[block.rows] = size * self._widened[block.level].solved()

    def _note(self, shaper: Shaper, strength: float) -> None:
        self._idle = False
        self.strength[shaper] = shaper.strength = strength

    def _look(self) -> int:
        """Project the rows of all groups; returns how many may have a weak direction."""
        if self.plan.compiled:
            return project(*self._arguments)
        for i, group in enumerate(self.groups):
            rows = group.scale[:, None] * self.plan.problem.A[group.rows]
            above = self._rows_above(group.level)
            usable = all(np.isfinite(part).all() for part in above)  # else the solver will find out who it was
            self._projected[self._starts[i] : self._starts[i + 1]] = projected(rows, above) if usable else np.nan
        self._weak[:] = 1
        return len(self.groups)

    def _rows_above(self, level: int) -> list[np.ndarray]:
        """Entries of x that cannot move, then the equalities of the strict levels before, one array per level."""
        problem = self.plan.problem
        held = np.eye(problem.n)[problem.x_lower == problem.x_upper]
        levels = [problem.rows(k) for k in range(min(level, self.plan.strict))]
        return [held, *(problem.A[rows][problem.lower[rows] == problem.upper[rows]] for rows in levels)]

    def _shape(self, group: Group, J: np.ndarray) -> None:
        """Replace what a group asks for."""
        if not np.isfinite(J).all():  # the solver will find out who it was
            return
        U, sigma, _ = np.linalg.svd(J, full_matrices=False)
        U, shares = U[:, : group.rank], group.shaper.shares(sigma[: group.rank])
        if (shares.kept == 1.0).all():
            return
        self._note(group.shaper, max(self.strength[group.shaper], shares.strength))
        above = self._reached(group, self._above[group.level].solved())
        asked = group.scale * self.plan.problem.lower[group.rows] - above
        along = U.T @ asked
        change = U @ ((shares.kept - 1.0) * along)
        if shares.given.any():
            change += U @ (shares.given * (U.T @ (self._reached(group, self._rest.solved()) - above)))
            # What can never be met must not leak into a lost direction, which rounding cannot tell from it.
            change -= shares.given.max() * (asked - U @ along)
        self._ask(group.rows, change / group.scale)

    def _ask(self, rows: np.ndarray, change: np.ndarray) -> None:
        problem = self.plan.problem
        self._asked.append((rows, problem.lower[rows]))  # picked one by one, so this is a copy
        problem.lower[rows] += change
        problem.upper[rows] = problem.lower[rows]

    def _reached(self, group: Group, x: np.ndarray) -> np.ndarray:
        return group.scale * (self.plan.problem.A[group.rows] @ x)


def _above(plan: Plan, meaning: str, level: int) -> Variant:
    """The levels before one, alone."""
    first = plan.problem.offsets[min(level, plan.strict)]
    return Variant(plan, meaning, np.arange(first, plan.problem.lower.size), at_rest=True)


def shaping_of(plan: Plan, meaning: str) -> Shaping | None:
    """The shapers of a plan; None if it has none."""
    return Shaping(plan, meaning) if any(isinstance(block.entry, Shaper) for block in plan.blocks) else None
