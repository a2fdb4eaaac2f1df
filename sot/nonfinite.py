"""What a tick does with NaN and infinities: whoever gave them asks for nothing, and is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sot.entry import Tick

if TYPE_CHECKING:
    from sot.plan import Block, Plan

HUGE = 1e100  # squares of larger numbers, and sums of them, overflow


def drop_nonfinite(plan: Plan) -> list[str]:
    """Take everything that is not finite out of a plan's numbers.

    A row becomes 0 = 0. A joint whose bound is not a number stands still. A posture that is none wants no motion.

    Returns:
        Names of the entries that gave such numbers.
    """
    names = _broken_boxes(plan)
    _hold_broken_bounds(plan)
    for block in plan.blocks:
        broken = _drop_target(plan, block) if block.columns is not None else _drop_rows(plan, block)
        if broken:
            names.append(block.entry.name)
    return names


def _drop_rows(plan: Plan, block: Block) -> bool:
    problem = plan.problem
    A, lower, upper = problem.A[block.rows], problem.lower[block.rows], problem.upper[block.rows]
    usable = (np.abs(A) <= HUGE).all(axis=1) & (lower <= HUGE) & (upper >= -HUGE)
    usable &= ((np.abs(lower) <= HUGE) | np.isinf(lower)) & ((np.abs(upper) <= HUGE) | np.isinf(upper))
    A[~usable], lower[~usable], upper[~usable] = 0.0, 0.0, 0.0  # views: this writes into the problem
    return not usable.all()


def _drop_target(plan: Plan, block: Block) -> bool:
    target = plan.problem.target[block.columns]
    usable = np.abs(target) <= HUGE
    plan.problem.target[block.columns] = np.where(usable, target, 0.0)
    return not usable.all()


def _hold_broken_bounds(plan: Plan) -> None:
    lower, upper = plan.problem.x_lower, plan.problem.x_upper
    broken = _broken(lower, upper)
    lower[broken], upper[broken] = 0.0, 0.0


def _broken_boxes(plan: Plan) -> list[str]:
    problem = plan.problem
    if not _broken(problem.x_lower, problem.x_upper).any():
        return []
    tick = Tick(*plan.written)
    return [box.name for box in plan.boxes if _broken(*box.box(plan.model, tick)).any()]


def _broken(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    return ~((lower <= HUGE) & (upper >= -HUGE))
