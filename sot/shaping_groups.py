"""Which rows of a plan its shapers look at, and the rank that they have in general."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sot.entry import Entry, Shaper, Tick
from sot.errors import TaskError
from sot.plan import Block, Plan
from sot.solvers.definition import RANK_TOLERANCE
from sot.task import Task, is_plain

SAMPLES = 4  # configurations at which the rank that a group has in general is looked for
ZERO = 1e-6  # singular values that are smaller at all of them are zero everywhere


@dataclass(frozen=True, eq=False)
class Group:
    """Tasks whose singular values are looked at together.

    Attributes:
        shaper: Who looks.
        level: Level on which they stand.
        rows: Their rows in the problem.
        scale: Factor of each row before singular values are taken.
        rank: Rank that they have in general. Directions beyond it can never be met and are left alone.
    """

    shaper: Shaper
    level: int
    rows: np.ndarray
    scale: np.ndarray
    rank: int


def groups_of(plan: Plan) -> list[Group]:
    """Groups of all shapers, from the first level on. No row may belong to two of them."""
    taken: dict[Entry, Shaper] = {}
    found: list[Group] = []
    for k, level in enumerate(plan.levels):
        for shaper in (entry for entry in level if isinstance(entry, Shaper)):
            groups = list(_groups(plan, shaper, k, taken))
            if not groups:
                raise TaskError(f"{shaper.name}: level {k} has no task whose directions could be weak")
            found += groups
    return found


def _groups(plan: Plan, shaper: Shaper, level: int, taken: dict[Entry, Shaper]) -> Iterator[Group]:
    others = [entry for entry in plan.levels[level] if not isinstance(entry, Shaper)]
    for entries in shaper.groups(others):
        for entry in entries:
            if taken.setdefault(entry, shaper) is not shaper:
                raise TaskError(f"{shaper.name}: '{entry.name}' is shaped by '{taken[entry].name}' already")
        blocks = [block for block in plan.blocks if block.entry in entries and is_plain(block.entry)]
        blocks = [block for block in blocks if block.rows.stop > block.rows.start]  # a posture may have none
        if blocks:
            yield _group(plan, shaper, blocks, level)


def _group(plan: Plan, shaper: Shaper, blocks: list[Block], level: int) -> Group:
    rows = np.concatenate([indices(block) for block in blocks])
    scale = np.concatenate([_row_scale(block, shaper.length) for block in blocks])
    scale /= max(block.scale for block in blocks)  # weights count against each other, not by themselves
    return Group(shaper, level, rows, scale, _general_rank(plan, blocks, scale, level))


def _row_scale(block: Block, length: float) -> np.ndarray:
    """1 / length for rows in metres, 1 for all others; the rows of the problem have the weight in them already."""
    units = block.entry.units(block.rows.stop - block.rows.start)
    return np.array([1.0 / length if unit == "m" else 1.0 for unit in units])


def _general_rank(plan: Plan, blocks: list[Block], scale: np.ndarray, level: int) -> int:
    """Rank of the group's rows in the space that higher levels leave, away from singular configurations."""
    model, rng = plan.model, np.random.default_rng(0)
    q, v = model.q, model.v
    ranks = []
    try:
        for k in range(SAMPLES):
            model.update(model.random_configuration(rng) if k else model.robot.home, v)
            ranks.append(_rank(plan, blocks, scale, level))
    finally:
        model.update(q, v)
    return max((rank for rank in ranks if rank is not None), default=scale.size)


def _rank(plan: Plan, blocks: list[Block], scale: np.ndarray, level: int) -> int | None:
    """Rank at the model's configuration; None where an entry has no Jacobian."""
    try:
        rows = np.vstack([block.scale * _jacobian(plan, block.entry) for block in blocks])
        above = [_jacobian(plan, entry) for higher in plan.levels[: min(level, plan.strict)] for entry in higher]
    except Exception:  # foreign code, where it may not be at home: a camera that sees nothing, say
        return None
    if not all(np.isfinite(part).all() for part in [rows, *above]):  # the first tick will say whose it is
        return None
    return int(np.linalg.matrix_rank(projected(scale[:, None] * rows, above), tol=ZERO))


def _jacobian(plan: Plan, entry: Entry) -> np.ndarray:
    """Coefficients of an entry's equalities, shape (k, n)."""
    if isinstance(entry, Task) and is_plain(entry):
        J = np.atleast_2d(entry.jacobian(plan.model))[entry.kept]
        return np.hstack([J, np.zeros((len(J), plan.problem.n - J.shape[1]))])
    rows = plan.formulation.rows(entry, Tick(0.0, 1e-3, np.zeros(plan.model.nv)))
    return rows.A[rows.lower == rows.upper]


def projected(rows: np.ndarray, above: list[np.ndarray]) -> np.ndarray:
    """Rows in the null space of what is above, level by level."""
    Z = np.eye(rows.shape[1])
    for A in above:
        if len(A):
            _, sigma, Vt = np.linalg.svd(A @ Z)
            size = float(np.linalg.norm(A, axis=1).max())
            Z = Z @ Vt[np.count_nonzero(sigma > RANK_TOLERANCE * size) :].T
    return rows @ Z @ Z.T


def indices(block: Block) -> np.ndarray:
    """Rows of a block, one by one."""
    return np.arange(block.rows.start, block.rows.stop)
