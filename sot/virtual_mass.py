"""A virtual mass at the tool, pulled by a force and by springs: from forces to joint velocities.

With J the Jacobian of the tool for the n joints that carry it, V = J v, a force f and a stiffness K,

    H v̇ = Jᵀ (f − M D V) − m₀ d₀ v,   H = Jᵀ M J + m₀ I,   M = diag(m, m, m, I, I, I)

D is a damping in 1/s along the principal axes of M⁻¹K, d₀ the largest of its rates. With one rate d in all directions
this is v̇ = H⁻¹Jᵀf − d v. The joint inertia m₀ makes H well conditioned everywhere: along a direction with singular
value σ the joints gain σ f / (m σ² + m₀), which is bounded, and goes to zero with σ.

Time is exact. Along a principal axis, with ω² of M⁻¹K and the deviation u from where the spring would hold,
ü + d u̇ + ω² u = 0 has solutions exp(λ₁ t) and exp(λ₂ t). A command is held for a whole tick, so what is known of the
past is v = (u_k − u_k₋₁) / dt, and r = exp(λ dt) give the next one without an error, whatever dt is:

    v⁺ = ρ v + φ f/m,   ρ = r₁ r₂ = exp(−d dt),   φ = (1 − r₁) (1 − r₂) / (ω² dt),   f the force at the tick's start

As φ tends to dt for short ticks, m̃ = m dt/φ is the mass that a tick feels: m̃ v⁺ = m̃ ρ v + dt f. The joints of a robot
mix the axes, and so does the sum of these equations over all axes and joints:

    A v⁺ = Jᵀ (M̃ρ (V − V*⁻) + M̃ V*⁺ + dt f) + m̃₀ ρ₀ (v − v*⁻) + m̃₀ v*⁺,   A = Jᵀ M̃ J + m̃₀ I

V*⁻ and V*⁺ are the speeds of the target over the last and the coming tick, v* = A⁻¹JᵀM̃ V* those of the joints that go
with them: it is deviations from a moving target that obey the law. For every J this is stable at every dt: ρ < 1 and
φ ω² dt = (1 − r₁)(1 − r₂) < 2 (1 + ρ) on each axis, and a pencil z² A − z (A + B − C) + B of symmetric matrices is
stable if B < A and C < 2 (A + B), which add up.
At rest Jᵀf = 0 is left, whatever dt, the masses and the damping are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sot.checks import positive
from sot.errors import TaskError

Stiffness = float | Sequence[float] | Sequence[Sequence[float]]
FREE = 1e-9  # a principal stiffness below this part of the largest counts as none


@dataclass(frozen=True)
class Period:
    """The virtual mass over a tick of a given length, all per kg of the tool.

    Attributes:
        mass: M̃, shape (6, 6).
        kept: M̃ρ, shape (6, 6).
        joint_mass: m̃₀.
        joint_kept: m̃₀ρ₀.
    """

    mass: np.ndarray
    kept: np.ndarray
    joint_mass: float
    joint_kept: float


class VirtualMass:
    """Mass, damping and stiffness of a tool. All matrices are in the axes of the stiffness.

    Attributes:
        mass: m, kg.
        inertia: I, kg m².
        joint_inertia: m₀, kg m² (kg for a sliding joint).
        damping: d in 1/s; None: each principal axis of the stiffness is damped critically.
        stiffness: K, shape (6, 6), N/m and N·m/rad.
        rates: d of each principal axis, 1/s, shape (6,).
    """

    def __init__(
        self, mass: float, inertia: float, joint_inertia: float, damping: float | None, stiffness: Stiffness, where: str
    ) -> None:
        self.mass = positive(mass, f"{where}: mass")
        self.inertia = positive(inertia, f"{where}: inertia")
        self.joint_inertia = positive(joint_inertia, f"{where}: joint_inertia")
        self.damping = None if damping is None else positive(damping, f"{where}: damping")
        self.stiffen(stiffness, where)

    def stiffen(self, stiffness: Stiffness, where: str) -> None:
        """Take another stiffness."""
        K = as_stiffness(stiffness, self.inertia / self.mass, f"{where}: stiffness")
        root = np.sqrt(np.repeat([1.0, self.inertia / self.mass], 3))
        squares, Q = np.linalg.eigh(K / self.mass / np.outer(root, root))
        if not (squares[0] >= -FREE * squares[-1]):
            raise TaskError(f"{where}: stiffness: must not push away from the target, but has a negative eigenvalue")
        squares[squares <= FREE * squares[-1]] = 0.0
        self.rates = self._rates(np.sqrt(squares), where)
        self._squares, self._axes = squares, root[:, None] * Q
        self.stiffness = K
        self._dt = math.nan

    def _rates(self, omega: np.ndarray, where: str) -> np.ndarray:
        """Damping of each axis; an axis without a spring takes that of the stiffest."""
        if self.damping is not None:
            return np.full(6, self.damping)
        if not omega.any():
            raise TaskError(f"{where}: damping: without a stiffness there is no default; give a rate in 1/s")
        return np.where(omega > 0.0, 2.0 * omega, 2.0 * omega[-1])

    def over(self, dt: float) -> Period:
        """The mass over a tick of dt seconds."""
        if dt != self._dt:
            self._dt, self._period = dt, self._make(dt)
        return self._period

    def _make(self, dt: float) -> Period:
        kept = np.exp(-self.rates * dt)
        mass = np.array([dt / response(x, d, dt) for x, d in zip(self._squares, self.rates, strict=True)])
        d0 = float(self.rates.max())
        joint_mass = self.joint_inertia / self.mass * dt / response(0.0, d0, dt)
        T = self._axes
        return Period((T * mass) @ T.T, (T * (mass * kept)) @ T.T, joint_mass, joint_mass * math.exp(-d0 * dt))

    def energy(self, V: np.ndarray, v: np.ndarray) -> float:
        """Kinetic energy ½ vᵀHv at tool velocity V = J v, J."""
        linear, angular = float(V[:3] @ V[:3]), float(V[3:] @ V[3:])
        return 0.5 * (self.mass * linear + self.inertia * angular + self.joint_inertia * float(v @ v))


def rows(
    J: np.ndarray, v: np.ndarray, push: np.ndarray, period: Period, moving: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """R and b with R v⁺ = b, shapes (n, n) and (n,). Least squares on them is Gauss' principle of least constraint.

    The equation of motion is A v⁺ = c. With A = L Lᵀ it becomes Lᵀ v⁺ = L⁻¹ c, whose sum of squares is the distance to
    v⁺ in the metric of the virtual masses. So if limits stop some joints, the others move as the joints of a
    mechanism would of which some are stopped.

    Args:
        J: Jacobian, shape (6, n).
        v: Velocity over the last tick, shape (n,).
        push: dt f/m, shape (6,).
        period: The mass.
        moving: V*⁻ and V*⁺ of a moving target, shape (6, 2).
    """
    A = J.T.dot(period.mass.dot(J))
    A.flat[:: len(v) + 1] += period.joint_mass
    try:
        if moving is not None:
            # What the joints do for the target: v* = A⁻¹JᵀM̃ V*. The rest of the law is about deviations from it.
            before, after = np.linalg.solve(A, J.T.dot(period.mass.dot(moving))).T
            push = push + period.mass.dot(moving[:, 1]) - period.kept.dot(moving[:, 0])
        c = J.T.dot(period.kept.dot(J.dot(v)) + push) + period.joint_kept * v
        if moving is not None:
            c += period.joint_mass * after - period.joint_kept * before
        L = np.linalg.cholesky(A)
    except np.linalg.LinAlgError:  # only if J is not finite: the controller will ask whose fault it was
        return np.full_like(A, np.nan), np.full(len(v), np.nan)
    return L.T, np.linalg.solve(L, c)


def response(square: float, rate: float, dt: float) -> float:
    """φ = (1 − r₁)(1 − r₂) / (ω² dt), s, for ω² = square in 1/s² and the damping rate in 1/s.

    Without a stiffness it is (1 − exp(−d dt)) / d. Written without differences of numbers that are nearly equal.
    """
    half = 0.5 * rate
    swing = square - half * half
    if swing <= 0.0:  # two decays, λ₁ = −ω²/fast and λ₂ = −fast
        fast = half + math.sqrt(-swing)
        slow = square / fast
        part = -math.expm1(-slow * dt) / (slow * dt) if slow * dt > 0.0 else 1.0
        return part * -math.expm1(-fast * dt) / fast
    # A decaying swing: |1 − exp((−d/2 + i ω_d) dt)|². Ticks longer than half a swing see it at its far end.
    angle = min(math.sqrt(swing) * dt, math.pi)
    value = math.expm1(-half * dt) ** 2 + 4.0 * math.exp(-half * dt) * math.sin(0.5 * angle) ** 2
    return value / (square * dt)


def as_stiffness(stiffness: object, ratio: float, where: str) -> np.ndarray:
    """A user's stiffness as a matrix, shape (6, 6).

    Args:
        stiffness: One number, six numbers or a symmetric matrix.
        ratio: inertia/mass, m². One number is k N/m for translations, and k · ratio N·m/rad for rotations: they are
            then equally fast.
        where: Who asks.
    """
    try:
        K = np.array(stiffness, dtype=float)
    except (TypeError, ValueError):
        raise TaskError(f"{where}: expected a number, 6 numbers or 6×6 numbers, got {stiffness!r}") from None
    if K.ndim == 0:
        K = positive(stiffness, where, zero=True) * np.repeat([1.0, ratio], 3)
    if K.shape not in ((6,), (6, 6)):
        raise TaskError(f"{where}: expected a number, 6 numbers or 6×6 numbers, got shape {K.shape}")
    if not np.isfinite(K).all():
        raise TaskError(f"{where}: has a value that is not finite: {K.tolist()}")
    if K.ndim == 1:
        K = np.diag(K)
    if not (np.abs(K - K.T).max() <= 1e-9 * np.abs(K).max()):
        raise TaskError(f"{where}: the matrix must be symmetric")
    return 0.5 * (K + K.T)
