"""Independent oracles for the solvers: slow, general, and honest about what they do not know.

Each level is one tight QP (ProxQP) over what the levels above left free. Its answer is only a guess of the
active set: the violated and the strictly active rows are then frozen as equalities and solved for exactly, and the
KKT conditions are checked by non-negative least squares. A result is `valid` when every level passed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import daqp
import numpy as np
from proxsuite import proxqp
from scipy.optimize import nnls

from sot.problem import Problem

KKT_TOLERANCE = 1e-9  # stationarity and feasibility of an accepted level
ZERO, NONZERO = 1e-10, 1e-7  # a violation or multiplier between the two is undecided
RANK_TOLERANCE = 1e-9  # relative singular value below which a direction counts as absent


@dataclass(frozen=True)
class CascadeResult:
    """What an oracle found.

    Attributes:
        x: The solution, shape (n,).
        residuals: Norm of the violation per level of the problem at `x`, shape (levels,).
        valid: Whether every level is proven optimal; count only valid samples.
        kkt: Worst KKT residual over all levels.
        reason: Why the result is not valid, empty if it is.
    """

    x: np.ndarray
    residuals: np.ndarray
    valid: bool
    kkt: float
    reason: str = ""


@dataclass
class _Rows:
    """Rows  lower ≤ A x ≤ upper."""

    A: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def __getitem__(self, pick: np.ndarray) -> _Rows:
        return _Rows(self.A[pick], self.lower[pick], self.upper[pick])

    def at(self, x: np.ndarray, Z: np.ndarray) -> _Rows:
        """The same rows as a function of z, where the unknown is x + Z z."""
        y = self.A @ x
        return _Rows(self.A @ Z, self.lower - y, self.upper - y)

    def outside(self, x: np.ndarray) -> np.ndarray:
        """Signed way from A x to the nearest point inside the bounds: positive below `lower`."""
        y = self.A @ x
        return np.maximum(self.lower - y, 0.0) - np.maximum(y - self.upper, 0.0)


@dataclass
class _Freedom:
    """What is still free: x + Z z, subject to the rows of `hard`."""

    x: np.ndarray
    Z: np.ndarray
    hard: _Rows
    kkt: float = 0.0
    reasons: list[str] = field(default_factory=list)


# --- public ---------------------------------------------------------------------------------------------------


def level_violations(problem: Problem, x: np.ndarray) -> np.ndarray:
    """Norm of the violation of each level at x, shape (levels,)."""
    outside = _Rows(problem.A, problem.lower, problem.upper).outside(x)
    return np.array([np.linalg.norm(part) for part in np.split(outside, problem.offsets[1:-1])])


def solve_cascade(problem: Problem) -> CascadeResult:
    """The hierarchical meaning: every level in turn, then the metric, then minimum norm."""
    return _solve(problem, [*_levels(problem), _metric_rows(problem), _leftover_rows(problem)])


def solve_weighted(problem: Problem) -> CascadeResult:
    """The weighted meaning: level 0 first, then all other levels and the metric in one cost, then minimum norm."""
    hard, *soft = _levels(problem)
    return _solve(problem, [hard, _stack([*soft, _metric_rows(problem)]), _leftover_rows(problem)])


def solve_daqp_hierarchical(problem: Problem) -> np.ndarray | None:
    """Best x of DAQP's hierarchical mode over several softness settings, None where it fails with all of them.

    DAQP often stops early on dependent rows and may leave the bounds a little: x is clipped to them, so it is a
    fair candidate that the true optimum must not lose to (see `beaten_at`), not an optimum to be equal to.
    """
    best: np.ndarray | None = None
    for softness in (1e-10, 1e-8, 1e-6):
        x = _daqp(problem, softness)
        if x is not None and (best is None or beaten_at(problem, best, x) is not None):
            best = x
    return best


def beaten_at(problem: Problem, x: np.ndarray, other: np.ndarray) -> int | None:
    """The level at which `other` is lexicographically better than x by more than 1e-6, None if at none.

    The first level whose violations differ by more than 1e-9 decides. Vectors are compared, not norms: where an
    optimum leaves a residual the norm hides a step of 1e-5, enough to buy a visible gain at a lower level.
    """
    for k, rows in enumerate(_levels(problem)):
        mine, theirs = rows.outside(x), rows.outside(other)
        if not np.linalg.norm(mine - theirs) <= 1e-9:
            return k if np.linalg.norm(theirs) < np.linalg.norm(mine) - 1e-6 else None
    return None


# --- levels ---------------------------------------------------------------------------------------------------


def _levels(problem: Problem) -> list[_Rows]:
    rows = _Rows(problem.A, problem.lower, problem.upper)
    return [rows[np.arange(a, b)] for a, b in zip(problem.offsets[:-1], problem.offsets[1:], strict=True)]


def _metric_rows(problem: Problem) -> _Rows:
    value = problem.metric * problem.target
    return _Rows(np.diag(problem.metric), value, value)[problem.metric > 0.0]


def _leftover_rows(problem: Problem) -> _Rows:
    zero = np.zeros(problem.metric.size)
    return _Rows(np.eye(zero.size), zero, zero)[problem.metric == 0.0]


def _stack(blocks: Sequence[_Rows]) -> _Rows:
    columns = (np.concatenate([getattr(b, name) for b in blocks]) for name in ("A", "lower", "upper"))
    return _Rows(*columns)


def _solve(problem: Problem, levels: Sequence[_Rows]) -> CascadeResult:
    free = _start(problem)
    attained = []
    for k, rows in enumerate(levels):
        _descend(free, rows, f"level {k}")
        attained.append(rows.outside(free.x))
    drift = max(abs(rows.outside(free.x) - v).max(initial=0.0) for rows, v in zip(levels, attained, strict=True))
    if not drift <= KKT_TOLERANCE:
        free.reasons.append(f"lower levels moved higher ones by {drift:.1e}")
    residuals = level_violations(problem, free.x)
    return CascadeResult(free.x, residuals, not free.reasons, free.kkt, "; ".join(free.reasons))


def _start(problem: Problem) -> _Freedom:
    """A point inside the bounds; fixed unknowns are not free, the others are hard rows."""
    n = problem.x_lower.size
    x = np.clip(np.zeros(n), problem.x_lower, problem.x_upper)
    moving = problem.x_lower < problem.x_upper
    bounds = _Rows(np.eye(n), problem.x_lower, problem.x_upper)[moving]
    return _Freedom(x, np.eye(n)[:, moving], bounds)


# --- one level ------------------------------------------------------------------------------------------------


def _descend(free: _Freedom, rows: _Rows, name: str) -> None:
    """Minimise the violation of `rows` over what is free, then freeze what attains it."""
    rows, free.hard = (part[_seen(part.A, free.Z)] for part in (rows, free.hard))
    if rows.lower.size == 0:
        return
    local, hard = rows.at(free.x, free.Z), free.hard.at(free.x, free.Z)
    best = _Optimum(local, hard, _guess(local, hard))
    free.kkt = max(free.kkt, best.kkt)
    free.reasons += [f"{name}: {doubt}" for doubt in best.doubts()]
    free.x = free.x + free.Z @ best.z
    free.Z = free.Z @ _null_space(best.frozen())
    free.hard = _stack([free.hard[~best.strict], rows[~best.violated]])


def _seen(A: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Which rows of A still change along the free directions Z."""
    return np.linalg.norm(A @ Z, axis=1) > RANK_TOLERANCE * np.linalg.norm(A, axis=1)


def _null_space(A: np.ndarray) -> np.ndarray:
    _, sigma, Vt = np.linalg.svd(A)
    return Vt[np.count_nonzero(sigma > RANK_TOLERANCE * sigma.max(initial=0.0)) :].T


def _pinv(A: np.ndarray, full: np.ndarray | None = None) -> np.ndarray:
    """Pseudo-inverse; `full` sets the scale below which A is rounding (A may be a projection of it to nothing)."""
    scale = np.linalg.norm(A if full is None else full)
    U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
    keep = sigma > RANK_TOLERANCE * scale
    return (Vt[keep].T / sigma[keep]) @ U[:, keep].T


def _guess(rows: _Rows, hard: _Rows) -> np.ndarray:
    """ProxQP's answer to  min ½‖B z − b‖² + ½‖w‖²  s.t.  lower ≤ C z + w ≤ upper  and the hard rows.

    B are the equalities among `rows`, C the others.
    """
    equal = rows.lower == rows.upper
    B, C = rows[equal], rows[~equal]
    f, s, h = B.A.shape[1], C.lower.size, hard.lower.size
    H = np.eye(f + s)
    H[:f, :f] = B.A.T @ B.A
    g = np.concatenate([-B.A.T @ B.lower, np.zeros(s)])
    G = np.block([[C.A, np.eye(s)], [hard.A, np.zeros((h, s))]])
    both = _stack([C, hard])
    qp = proxqp.dense.QP(f + s, 0, s + h)
    _tighten(qp.settings)
    qp.init(H, g, None, None, G, np.maximum(both.lower, -1e20), np.minimum(both.upper, 1e20))
    qp.solve()
    return np.nan_to_num(qp.results.x[:f])  # a failed guess is harmless: it will not be proven


def _tighten(settings: proxqp.Settings) -> None:
    settings.eps_abs, settings.eps_rel, settings.max_iter = 1e-12, 0.0, 1000
    # Without these it calls feasible sets without interior infeasible, and points with open slack optimal.
    settings.eps_primal_inf = settings.eps_dual_inf = 1e-30
    settings.check_duality_gap, settings.eps_duality_gap_abs, settings.eps_duality_gap_rel = True, 1e-10, 0.0


class _Optimum:
    """The exact optimum of one level in z, found from a guess, with its proof.

    With v the way from B z into the bounds and N the normals, pointing inside, of the active hard rows:
        −Bᵀ v = N λ,  λ ≥ 0.
    On the whole optimal set the violated rows (v ≠ 0) and the strictly active ones (λ > 0) keep their values.
    """

    def __init__(self, rows: _Rows, hard: _Rows, z: np.ndarray) -> None:
        self.rows, self.hard, self.z = rows, hard, z
        for near in (1e-6, 1e-8, 1e-9):
            self._classify(near)
            self._polish()
        self._classify(1e-9)

    def _classify(self, near: float) -> None:
        """Find v, λ and with them which rows are violated, touched and strictly active."""
        self.v = self.rows.outside(self.z)
        self.violated = (self.rows.lower == self.rows.upper) | (abs(self.v) > NONZERO)
        self.touched = _side(self.rows, self.z, near) * ~self.violated
        self.side = _side(self.hard, self.z, near)
        active = self.side != 0.0
        self.multiplier = np.zeros(active.size)
        normals = (self.side[active, None] * self.hard.A[active]).T  # (f, active)
        self.multiplier[active], stationarity = _nnls(normals, -self.rows.A.T @ self.v)
        self.strict = self.multiplier > NONZERO
        self.kkt = max(stationarity, abs(self.hard.outside(self.z)).max(initial=0.0))

    def _polish(self) -> None:
        """Nearest z that solves  min ‖B z − b‖ over violated rows  subject to  C z = c  on touched rows.

        Touched but not strictly active rows do not change the optimum; they keep z on the right side of them.
        """
        B, b = self.rows.A[self.violated], (self.rows.A @ self.z + self.v)[self.violated]
        both, side = _stack([self.hard, self.rows]), np.concatenate([self.side, self.touched])
        C, c = both.A[side != 0.0], np.where(side > 0.0, both.lower, both.upper)[side != 0.0]
        self.z = self.z + _pinv(C) @ (c - C @ self.z)
        Z = _null_space(C)
        self.z = self.z + Z @ (_pinv(B @ Z, B) @ (b - B @ self.z))

    def frozen(self) -> np.ndarray:
        """Rows whose value is the same for every optimal z."""
        return np.vstack([self.hard.A[self.strict], self.rows.A[self.violated]])

    def doubts(self) -> list[str]:
        """What keeps this optimum from being proven."""
        doubts = [] if self.kkt <= KKT_TOLERANCE else [f"KKT residual {self.kkt:.1e}"]
        size = np.concatenate([self.multiplier, abs(self.v[self.rows.lower < self.rows.upper])])
        doubts += ["active or not"] * bool(np.any((size > ZERO) & (size < NONZERO)))
        sigma = np.linalg.svd(self.frozen(), compute_uv=False)
        relative = sigma / max(sigma.max(initial=0.0), 1e-300)
        return doubts + ["rank"] * bool(np.any((relative > 1e-12) & (relative < 1e-7)))


def _side(rows: _Rows, z: np.ndarray, near: float) -> np.ndarray:
    """+1 for rows at or below their lower bound, −1 for rows at or above their upper bound, else 0."""
    y = rows.A @ z
    return np.where(y - rows.lower <= near, 1.0, np.where(rows.upper - y <= near, -1.0, 0.0))


def _nnls(A: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, float]:
    """Non-negative least squares; the residual is infinite where it did not converge."""
    if A.shape[1] == 0:
        return np.zeros(0), float(np.linalg.norm(b))
    try:
        return nnls(A, b)
    except RuntimeError:
        return np.zeros(A.shape[1]), np.inf


# --- DAQP -----------------------------------------------------------------------------------------------------


def _daqp(problem: Problem, softness: float) -> np.ndarray | None:
    """DAQP's hierarchical mode over (x, s) with the hard rows  lower ≤ A x + s ≤ upper  and the levels  s = 0.

    The detour by s is needed because DAQP normalises rows, which would change their weights inside a level. Its
    first break point ends the hard part; the cost ½‖(x, s)‖² stands behind all levels.
    """
    m, n = problem.A.shape
    A = np.block([[problem.A, np.eye(m)], [np.zeros((m, n)), np.eye(m)]])
    lower = np.concatenate([problem.x_lower, problem.lower, np.zeros(m)])
    upper = np.concatenate([problem.x_upper, problem.upper, np.zeros(m)])
    ends = np.unique(n + m + problem.offsets).astype(np.intc)  # an empty level would be a repeated break point
    x, _, flag, _ = daqp.solve(
        np.eye(n + m), np.zeros(n + m), A, np.minimum(upper, 1e30), np.maximum(lower, -1e30),
        np.zeros(lower.size, np.intc), ends, rho_soft=softness, primal_tol=1e-9,
    )  # fmt: skip
    usable = flag > 0 and bool(np.isfinite(x).all())
    return np.clip(x[:n], problem.x_lower, problem.x_upper) if usable else None
