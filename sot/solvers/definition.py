"""The solver in plain numpy: the definition of what the compiled kernel computes, its fallback and its test reference.

Same working-set method as `sot.kernels.lexicographic`, written with explicit null-space bases.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from sot.problem import Problem
from sot.solvers.status import CAPPED, EQUAL, FREE, LOWER, NOT_FINITE, OPTIMAL, UPPER

TOLERANCE = 1e-9
RANK_TOLERANCE = 1e-7
ROUNDING = 1e-12  # by which x may pass a bound before it counts; it is then put back
PATIENCE, MOST, LOCKED = 4, 10, 1_000_000


def solve(problem: Problem, strict: int, x: np.ndarray, status: np.ndarray, cap: int) -> tuple[int, int]:
    """Solve from the warm start in x and status (m rows, then n columns), both changed in place.

    Args:
        problem: The problem.
        strict: Levels that are strictly ordered; the rest and the metric are one last cost.
        x: Start and result.
        status: Working set.
        cap: Largest number of iterations.

    Returns:
        How it ended, and the number of iterations.
    """
    if not is_finite(problem):
        return NOT_FINITE, 0
    _start(problem, x, status)
    drops, left, last = np.zeros(status.size, dtype=int), np.zeros(status.size, dtype=int), (-1, FREE)
    for iteration in range(1, cap + 1):
        solution = equality_solution(problem, strict, x, status)
        if not np.isfinite(solution).all():  # numbers so large that their products overflow
            return NOT_FINITE, iteration
        alpha, blocking, side = _step_length(problem, x, solution, status)
        moved = alpha * np.abs(solution - x).max(initial=0.0) / np.abs(x).max(initial=1.0)
        if moved > TOLERANCE:  # whoever makes way does not go in circles
            drops[left < MOST] = 0
        x[:] = np.clip(x + alpha * (solution - x), problem.x_lower, problem.x_upper)
        if blocking is not None:
            _block(problem, x, status, blocking, side)
            still = moved <= TOLERANCE and ((blocking, side) == last or drops[blocking] >= PATIENCE)
            if still or left[blocking] >= MOST:
                drops[blocking] = LOCKED
            last = (-1, FREE)
            continue
        worst = _to_drop(problem, strict, x, status, drops)
        if worst is None:
            return OPTIMAL, iteration
        last = (worst, int(status[worst]))
        status[worst] = _beyond(problem, x, worst)
        drops[worst] += 1
        left[worst] += 1
    return CAPPED, cap


def is_finite(problem: Problem) -> bool:
    """No NaN anywhere, and infinities only where they mean "no bound"."""
    numbers = (problem.A, problem.metric, problem.target)
    lower, upper = (problem.lower, problem.x_lower), (problem.upper, problem.x_upper)
    return (
        all(np.isfinite(part).all() for part in numbers)
        and all((part < np.inf).all() for part in lower)
        and all((part > -np.inf).all() for part in upper)
    )


def equality_solution(problem: Problem, strict: int, x: np.ndarray, status: np.ndarray) -> np.ndarray:
    """Lexicographic least squares with active rows as equalities and columns at a bound held there.

    Level by level: x ← x + Z (A Z)⁺ (b − A x), Z ← Z null(A Z).
    """
    m = problem.A.shape[0]
    free = status[m:] == FREE
    S = np.where(problem.metric > 0.0, 1.0 / np.where(problem.metric > 0.0, problem.metric, 1.0), 1.0)
    x = np.where(free, np.where(problem.metric > 0.0, problem.target, 0.0), x) / S
    Z = np.eye(problem.n)[:, free]
    for k in range(strict):
        A, b = _active_rows(problem, status, problem.rows(k))
        x, Z = _next_level(x, Z, A * S, b)
    B, b = _active_rows(problem, status, slice(problem.rows(strict - 1).stop if strict else 0, m))
    last = np.vstack([B * S, np.diag(problem.metric * S)])
    x, Z = _next_level(x, Z, last, np.concatenate([b, problem.metric * problem.target]))
    x = x * S
    Z = np.linalg.qr(Z * S[:, None])[0] if Z.shape[1] else Z
    return x - Z @ (Z.T @ x)  # what is still free takes minimum norm


def _next_level(x: np.ndarray, Z: np.ndarray, A: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if Z.shape[1] == 0 or A.shape[0] == 0:
        return x, Z
    reduced = A @ Z
    if not np.isfinite(reduced).all():
        return np.full_like(x, np.nan), Z
    U, sigma, Vt = np.linalg.svd(reduced)
    norms = np.maximum(np.linalg.norm(A, axis=1), 1e-300)
    rank = _rank(reduced / norms[:, None], RANK_TOLERANCE)
    z = Vt[:rank].T @ ((U[:, :rank].T @ (b - A @ x)) / sigma[:rank])
    return x + Z @ z, Z @ Vt[rank:].T


def _rank(rows: np.ndarray, smallest: float) -> int:
    """Rows of which more than `smallest` is left after the larger ones are taken out: a QR with pivoting.

    Singular values would do as well, but near the tolerance they decide differently from elimination.
    """
    diagonal = np.abs(np.diag(scipy.linalg.qr(rows.T, mode="r", pivoting=True)[0]))
    return int(np.sum(diagonal > smallest))


def _active_rows(problem: Problem, status: np.ndarray, rows: slice) -> tuple[np.ndarray, np.ndarray]:
    side = status[rows]
    b = np.where(side == UPPER, problem.upper[rows], problem.lower[rows])
    return problem.A[rows][side != FREE], b[side != FREE]


def _start(problem: Problem, x: np.ndarray, status: np.ndarray) -> None:
    """Make x respect the bounds and the working set fit the problem."""
    m = problem.A.shape[0]
    rows, columns = status[:m], status[m:]
    _fit(columns, problem.x_lower, problem.x_upper)
    x[:] = np.clip(x, problem.x_lower, problem.x_upper)
    x[columns == UPPER] = problem.x_upper[columns == UPPER]
    x[columns == LOWER] = problem.x_lower[columns == LOWER]
    _fit(rows, problem.lower, problem.upper)
    violation = _beyond_rows(problem, x)
    rows[rows == FREE] = violation[rows == FREE]


def _fit(status: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> None:
    status[status == EQUAL] = FREE
    status[(status == LOWER) & np.isinf(lower)] = FREE
    status[(status == UPPER) & np.isinf(upper)] = FREE
    status[lower == upper] = EQUAL


def _beyond_rows(problem: Problem, x: np.ndarray) -> np.ndarray:
    y = problem.A @ x
    above = y > problem.upper + TOLERANCE * (1.0 + np.abs(problem.upper))
    below = y < problem.lower - TOLERANCE * (1.0 + np.abs(problem.lower))
    return np.where(above, UPPER, np.where(below, LOWER, FREE))


def _beyond(problem: Problem, x: np.ndarray, index: int) -> int:
    """Status of a constraint that leaves the working set: free, or active at its other bound if it is beyond it."""
    m = problem.A.shape[0]
    return int(_beyond_rows(problem, x)[index]) if index < m else FREE


def _step_length(
    problem: Problem, x: np.ndarray, solution: np.ndarray, status: np.ndarray
) -> tuple[float, int | None, int]:
    """How far towards the solution nothing is crossed, what blocks, and on which side."""
    start = np.concatenate([problem.A @ x, x])
    end = np.concatenate([problem.A @ solution, solution])
    lower = np.concatenate([problem.lower, problem.x_lower])
    upper = np.concatenate([problem.upper, problem.x_upper])
    slack = np.full(start.size, TOLERANCE)
    slack[problem.A.shape[0] :] = ROUNDING
    best: tuple[float, int | None, int] = (1.0, None, FREE)
    for i in np.flatnonzero(status == FREE):
        if end[i] > upper[i] + slack[i] * (1.0 + abs(upper[i])) and end[i] > start[i]:
            alpha, side = max(upper[i] - start[i], 0.0) / (end[i] - start[i]), UPPER
        elif end[i] < lower[i] - slack[i] * (1.0 + abs(lower[i])) and end[i] < start[i]:
            alpha, side = max(start[i] - lower[i], 0.0) / (start[i] - end[i]), LOWER
        else:
            continue
        if alpha < best[0]:
            best = (alpha, int(i), side)
    return best


def _block(problem: Problem, x: np.ndarray, status: np.ndarray, index: int, side: int) -> None:
    status[index] = side
    column = index - problem.A.shape[0]
    if column >= 0:
        x[column] = problem.x_upper[column] if side == UPPER else problem.x_lower[column]


def _to_drop(
    problem: Problem, strict: int, x: np.ndarray, status: np.ndarray, drops: np.ndarray
) -> int | None:
    """The constraint with the worst multiplier at the first level that has a wrong one; None at the optimum."""
    undecided = (np.abs(status) == 1) & (drops < LOCKED)
    for k in range(strict + 1):
        if not undecided.any():
            return None
        pressure = np.where(status == UPPER, 1.0, -1.0) * multipliers(problem, strict, k, x, status)
        small = TOLERANCE * (max(1.0, np.abs(pressure[: problem.A.shape[0]]).max(initial=0.0)) if k < strict else 1.0)
        wrong = np.where(undecided, -pressure, 0.0)
        if wrong.max() > small:
            return int(np.argmax(wrong))
        undecided &= pressure <= small
    return _idle(problem, x, status, undecided & (drops == 0))


def _idle(problem: Problem, x: np.ndarray, status: np.ndarray, undecided: np.ndarray) -> int | None:
    """A column that no level presses against its bound should rather be at rest: the farthest from zero."""
    m = problem.A.shape[0]
    idle = undecided[m:] & (problem.metric == 0.0) & (status[m:] * x > TOLERANCE)
    return m + int(np.argmax(np.where(idle, np.abs(x), 0.0))) if idle.any() else None


def multipliers(problem: Problem, strict: int, k: int, x: np.ndarray, status: np.ndarray) -> np.ndarray:
    """Multipliers of rows and columns for the optimum of level k (k = strict: the last cost), shape (m + n,).

    Aₖᵀ ρₖ + Σ_{q<k} A_qᵀ λ_q + μ = 0, with ρₖ the residual of the level's active rows. Positive presses
    against an upper bound, negative against a lower one. Rows that depend on earlier ones press against nothing: a
    solution in which all of them share the load may have wrong signs where one without them has none.
    """
    m, n = problem.A.shape
    own = problem.rows(k) if k < strict else slice(problem.rows(strict - 1).stop if strict else 0, m)
    bound = np.where(status[:m] == UPPER, problem.upper, problem.lower)
    rho = np.zeros(m)
    active = np.flatnonzero(status[own] != FREE) + own.start
    rho[active] = problem.A[active] @ x - bound[active]
    gradient = problem.A.T @ rho
    if k == strict:
        gradient = gradient + problem.metric**2 * (x - problem.target)
    elif np.linalg.norm(rho) <= TOLERANCE:
        return np.zeros(m + n)
    held = status[m:] != FREE
    rows = _independent_rows(problem, min(k, strict), status, ~held)
    result = np.concatenate([rho, np.zeros(n)])
    if rows.size:
        result[rows] = np.linalg.lstsq(problem.A[rows][:, ~held].T, -gradient[~held], rcond=None)[0]
        gradient = gradient + problem.A[rows].T @ result[rows]
    result[m:][held] = -gradient[held]
    return result


def _independent_rows(problem: Problem, levels: int, status: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Active rows of the first levels that do not depend on others, in the free columns.

    Level by level, and in each the row of which the ones before leave the largest part.
    """
    chosen: list[int] = []
    left = problem.A[:, free].copy()
    norms = np.maximum(np.linalg.norm(left, axis=1), 1e-300)
    for k in range(levels):
        rows = np.arange(problem.rows(k).start, problem.rows(k).stop)
        rows = rows[status[rows] != FREE]
        while rows.size:
            parts = np.linalg.norm(left[rows], axis=1) / norms[rows]
            best = rows[np.argmax(parts)]
            if not parts.max() > RANK_TOLERANCE:
                break
            chosen.append(int(best))
            rows = rows[rows != best]
            direction = left[best] / np.linalg.norm(left[best])
            left -= np.outer(left @ direction, direction)
    return np.array(chosen, dtype=int)
