"""Random problems that are hard on purpose, with data so well scaled that every rank decision is clear.

Fresh rows of a level have singular values in [0.5, 2]; dependent rows are exact copies or combinations, so what
remains of them is rounding (below 1e-13). Degenerate rows are small integers, so that a vertex is met exactly.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sot.problem import Problem

Rng = np.random.Generator
Block = tuple[np.ndarray, np.ndarray, np.ndarray]  # A (m, n), lower (m,), upper (m,)
# A level from the rows above it, shape (·, n), and a point where degenerate rows meet, shape (n,).
Level = Callable[[Rng, np.ndarray, np.ndarray], Block]


def random_problem(rng: Rng, kind: str, n: int | None = None) -> Problem:
    """Draw one problem with 3 to 6 levels.

    Args:
        rng: Source of randomness; equal states give equal problems.
        kind: One of `KINDS`.
        n: Number of unknowns; drawn from 4 to 20 if not given.
    """
    n = int(rng.integers(4, 21)) if n is None else n
    vertex = rng.integers(-1, 2, size=n) * float(rng.random() < 0.5)  # the origin half the time
    A, lower, upper = np.zeros((0, n)), np.zeros(0), np.zeros(0)
    offsets = [0]
    for k in range(int(rng.integers(3, 7))):
        if k > 0 or rng.random() < 0.8:  # level 0 may be empty
            more = _LEVELS[kind](rng, A, vertex)
            A, lower, upper = np.vstack([A, more[0]]), np.append(lower, more[1]), np.append(upper, more[2])
        offsets.append(lower.size)
    x_lower, x_upper = _bounds(rng, kind, vertex)
    target = np.where(rng.random(n) < 0.3, vertex, rng.normal(size=n))
    return Problem(A, lower, upper, np.array(offsets, np.int64), x_lower, x_upper, _metric(rng, n), target)


# --- the last line and the bounds on x ------------------------------------------------------------------------


def _metric(rng: Rng, n: int) -> np.ndarray:
    """All ones, random positive, or random positive with some zeros, one third each."""
    metric = rng.uniform(0.3, 3.0, n)
    return (np.ones(n), metric, metric * (rng.random(n) < 0.7))[rng.integers(3)]


def _bounds(rng: Rng, kind: str, vertex: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds on x: wide and often open, narrow and closed, or touching the vertex and partly fixed."""
    if kind == "degenerate":
        return _touching(rng, vertex)
    half = 0.2 if kind == "bounds" or (kind == "mixed" and rng.random() < 0.3) else 1.5
    lower, upper = (half * rng.uniform(0.3, 1.3, vertex.size) for _ in range(2))
    centre = half * rng.uniform(-0.6, 0.6, vertex.size)
    if half > 1.0:
        lower[rng.random(vertex.size) < 0.33] = np.inf
        upper[rng.random(vertex.size) < 0.33] = np.inf
    return centre - lower, centre + upper


# --- two-sided bounds -----------------------------------------------------------------------------------------


def _sides(rng: Rng, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds around `value`: half equalities, a quarter two-sided, an eighth each open below or above."""
    form = rng.integers(8, size=value.size)
    below, above = ((form >= 4) * rng.uniform(0.1, 1.0, value.size) for _ in range(2))
    below[form == 6], above[form == 7] = np.inf, np.inf
    return value - below, value + above


def _touching(rng: Rng, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of which most have `value` exactly on one side or both; some leave it inside."""
    form = rng.choice(6, size=value.size, p=[0.15, 0.25, 0.25, 0.1, 0.1, 0.15])
    width = rng.integers(1, 4, size=value.size) * 0.5
    lower = np.select([form == 2, form == 3, form == 5], [value - width, -np.inf, value - width], value)
    upper = np.select([form == 1, form == 4, form == 5], [value + width, np.inf, value + width], value)
    return lower, upper


# --- levels ---------------------------------------------------------------------------------------------------


def _count(rng: Rng, most: int) -> int:
    return int(rng.integers(1, max(most, 1) + 1))


def _rows(rng: Rng, m: int, n: int) -> np.ndarray:
    """Fresh rows with singular values in [0.5, 2] and rank min(m, n)."""
    k = min(m, n)
    left, right = (np.linalg.qr(rng.normal(size=(size, k)))[0] for size in (m, n))
    return (left * rng.uniform(0.5, 2.0, k)) @ right.T


def _dependent(rng: Rng, m: int, seen: np.ndarray) -> np.ndarray:
    """Signed copies of rows and sums of two of them (now and then exactly a zero row)."""
    pairs = seen[rng.integers(len(seen), size=(m, 2))]  # (m, 2, n)
    signs = rng.choice([-1.0, 1.0], size=(m, 2, 1))
    signs[rng.random(m) < 0.5, 1] = 0.0
    A = (pairs * signs).sum(axis=1)
    A[np.linalg.norm(A, axis=1) < 1e-12] = 0.0  # a row of rounding errors has no rank to decide on
    return A


def _full(rng: Rng, above: np.ndarray, vertex: np.ndarray) -> Block:
    """Rows in general position."""
    m, n = _count(rng, vertex.size // 2), vertex.size
    return (_rows(rng, m, n), *_sides(rng, rng.normal(size=m)))


def _reachable(rng: Rng, above: np.ndarray, vertex: np.ndarray) -> Block:
    """Few rows with small bounds: narrow bounds on x stop some of them, not all at once."""
    m, n = _count(rng, vertex.size // 3), vertex.size
    return (_rows(rng, m, n), *_sides(rng, 0.3 * rng.normal(size=m)))


def _rank_deficient(rng: Rng, above: np.ndarray, vertex: np.ndarray) -> Block:
    """Fresh rows and rows that depend on them and on those above, in random order."""
    fresh = _rows(rng, _count(rng, vertex.size // 3), vertex.size)
    again = _dependent(rng, _count(rng, 4), np.vstack([above, fresh]))
    A = rng.permutation(np.vstack([fresh, again]))
    return (A, *_sides(rng, rng.normal(size=len(A))))


def _degenerate(rng: Rng, above: np.ndarray, vertex: np.ndarray) -> Block:
    """Small integers and zero rows; most bounds meet at the vertex, the others lie half-integers away."""
    m, n = _count(rng, vertex.size // 2 + 1), vertex.size
    A = rng.integers(-1, 2, size=(m, n)) * (rng.random((m, n)) < 0.6) * (rng.random((m, 1)) < 0.9)
    away = rng.integers(-2, 3, size=m) * 0.5 * (rng.random(m) < 0.2)
    return (A, *_touching(rng, A @ vertex + away))


def _conflicting(rng: Rng, above: np.ndarray, vertex: np.ndarray) -> Block:
    """Every fresh row twice with bounds far apart, and rows from above with other bounds."""
    fresh = _rows(rng, _count(rng, vertex.size // 4 + 1), vertex.size)
    again = _dependent(rng, _count(rng, 3), np.vstack([above, fresh]))
    A = np.vstack([fresh, fresh, again])
    far = np.repeat([1.5, -1.5, 0.0], [len(fresh), len(fresh), len(again)])
    return (A, *_sides(rng, far + rng.normal(size=len(A))))


def _mixed(rng: Rng, above: np.ndarray, vertex: np.ndarray) -> Block:
    """A level of any of the other sorts."""
    return (_full, _rank_deficient, _degenerate, _conflicting)[rng.integers(4)](rng, above, vertex)


_LEVELS: dict[str, Level] = {
    "full": _full,
    "rank_deficient": _rank_deficient,
    "degenerate": _degenerate,
    "conflicting": _conflicting,
    "bounds": _reachable,
    "mixed": _mixed,
}
KINDS = tuple(_LEVELS)
