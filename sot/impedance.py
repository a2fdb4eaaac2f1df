"""A spring, a damper and a mass at a frame: which acceleration, or which velocity, they ask for.

    M ë + D ė + K e = f,   e = x ⊖ x*

With B = M⁻¹ = L Lᵀ and z of e = L z this is z̈ + Lᵀ D L ż + Lᵀ K L z = Lᵀ f, whose matrices are symmetric whatever the
axes and units of x are. B may be singular, as that of a robot is at a singularity: nothing is divided by it but speeds,
which vanish with it. A damping ratio ζ means Lᵀ D L = 2ζ (Lᵀ K L)^½: every principal axis of M and K swings with it.

Sampled at dt the spring stays what it is, so that displacements at rest are K⁻¹ f. Only modes that are too fast for the
tick are softened (ω ≤ 0.5/dt, rates ≤ 1/dt): all stay stable.

What the robot's own inertia makes of a force can always be had, with joint accelerations M⁻¹Jᵀf. What else is asked for
at the frame, J̇v to make up for above all, cannot near a singularity; `within_reach` leaves that part out.
"""

from __future__ import annotations

import numpy as np

from sot.errors import TaskError
from sot.kernels.inertia import exceeds, seen_at
from sot.virtual_mass import FREE, Stiffness, as_stiffness

LEVER = 0.1  # m²: one number k means k N/m and k · this N·m/rad, as if all acted at 0.32 m
ROOT = np.sqrt(np.repeat([1.0, LEVER], 3))
FASTEST = 0.5  # ω dt up to which a spring is as stiff as it is said to be
HEAVY = 10.0  # masses of the robot: a frame that is as heavy as this in some direction can hardly be moved there
TINY = 1e-9  # part of the largest inverse inertia below which a direction is all but lost


class Spring:
    """K, D and M as users give them.

    Attributes:
        stiffness: K, shape (6, 6), N/m and N·m/rad.
        damping: D, shape (6, 6), N·s/m and N·m·s/rad; None where it follows from the ratio.
        ratio: ζ.
        mass: M, shape (6, 6), kg and kg·m²; None for that of the robot.
    """

    def __init__(
        self, stiffness: Stiffness, damping: Stiffness | None, ratio: float, mass: Stiffness | None, where: str
    ) -> None:
        self.damping = None if damping is None else _definite(damping, f"{where}: damping")
        self.mass = None if mass is None else _definite(mass, f"{where}: mass")
        self.ratio, self._where = ratio, where
        self.stiffen(stiffness)

    def stiffen(self, stiffness: Stiffness) -> None:
        """Take another stiffness."""
        where = f"{self._where}: stiffness"
        K = as_stiffness(stiffness, LEVER, where)
        # Axes without a spring are damped like the stiffest: K' of the damping has that stiffness there.
        root = np.sqrt(np.repeat([1.0, LEVER], 3))
        squares, Q = np.linalg.eigh(K / np.outer(root, root))
        if not (squares[0] >= -FREE * squares[-1]):
            raise TaskError(f"{where}: must not push away from the target, but has a negative eigenvalue")
        if not (squares[-1] > 0.0) and self.damping is None:
            raise TaskError(f"{where}: is zero, so there is no damping by ratio; give damping, in N·s/m")
        squares = np.where(squares > FREE * squares[-1], squares, squares[-1])
        self.stiffness, self._damped = K, (root[:, None] * Q * squares) @ (root[:, None] * Q).T

    def acceleration(
        self, B: np.ndarray, kept: np.ndarray, error: np.ndarray, rate: np.ndarray, push: np.ndarray, dt: float
    ) -> np.ndarray:
        """B (f − K e − D ė): ë over a tick.

        Args:
            B: Inverse inertia, shape (k, k).
            kept: The axes that are meant, k of six.
            error: e, shape (k,).
            rate: ė, shape (k,).
            push: f, shape (k,).
            dt: How long it acts, s.
        """
        K = self.stiffness[np.ix_(kept, kept)]
        L, inverse = _factor(B)
        squares, V = np.linalg.eigh(L.T @ K @ L)
        share = np.minimum(1.0, (FASTEST / dt) ** 2 / np.maximum(squares, 1e-12))
        pull = V @ (share * (V.T @ (L.T @ (K @ error))))
        rates, W = np.linalg.eigh(self._damping(L, kept))
        drag = W @ (np.clip(rates, 0.0, 1.0 / dt) * (W.T @ (inverse @ rate)))
        return L @ (L.T @ push - pull - drag)

    def _damping(self, L: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """Lᵀ D L, 1/s, shape (k, k)."""
        if self.damping is not None:
            return L.T @ self.damping[np.ix_(kept, kept)] @ L
        return 2.0 * self.ratio * _power(L.T @ self._damped[np.ix_(kept, kept)] @ L, 0.5)

    def rendered(self, own: np.ndarray, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Force per displacement and per speed that the robot's motors exert at the frame, shapes (k, k).

        With Λ = own⁻¹ they are Λ M⁻¹ K and Λ M⁻¹ D: K and D themselves where the mass is the robot's own, and more
        where the frame is to feel lighter than it is.

        Args:
            own: Inverse inertia of the robot at the frame, shape (k, k).
            kept: The axes that are meant, k of six.
        """
        among = np.ix_(kept, kept)
        B = own if self.mass is None else np.linalg.inv(self.mass[among])
        inverse = _factor(B)[1]
        D = inverse.T @ self._damping(_factor(B)[0], kept) @ inverse if self.damping is None else self.damping[among]
        if self.mass is None:
            return self.stiffness[among], D
        heavy = _factor(own)[1]
        share = heavy.T @ heavy @ B
        return share @ self.stiffness[among], share @ D

    def velocity(self, B: np.ndarray, kept: np.ndarray, error: np.ndarray, push: np.ndarray, dt: float) -> np.ndarray:
        """D⁻¹ (f − K e): ė where inertia does not count, averaged over a tick so that e decays as it should.

        With D⁻¹ = F Fᵀ, rates are the eigenvalues κ of Fᵀ K F, and (1 − exp(−κ dt))/(κ dt) is their mean.
        """
        K = self.stiffness[np.ix_(kept, kept)]
        if self.damping is not None:
            F = _power(self.damping[np.ix_(kept, kept)], -0.5)
        else:
            L = _factor(B)[0]
            F = L @ _power(L.T @ self._damped[np.ix_(kept, kept)] @ L, -0.25) / np.sqrt(2.0 * self.ratio)
        rates, V = np.linalg.eigh(F.T @ K @ F)
        steps = np.maximum(rates * dt, 1e-12)
        return F @ (V @ (-np.expm1(-steps) / steps * (V.T @ (F.T @ (push - K @ error)))))


def inverse_inertia(M: np.ndarray, J: np.ndarray, contacts: np.ndarray | None = None) -> np.ndarray:
    """J M⁻¹ Jᵀ: what a force at a frame does to the frame, of a robot whose contacts hold; shape (k, k).

    With M = R Rᵀ and Y = R⁻¹ Jᵀ it is Yᵀ Y, less what is along R⁻¹ Jcᵀ: contacts may be redundant.

    Args:
        M: Mass matrix, shape (nv, nv).
        J: Jacobian of the frame, shape (k, nv).
        contacts: Jacobian of all contacts, Jc, shape (r, nv).
    """
    if contacts is None or not len(contacts):
        (k, nv), J = J.shape, np.ascontiguousarray(J)
        B = np.empty((k, k))
        seen_at(M, J, np.zeros(nv), np.empty((nv, nv)), np.empty((k, nv)), B)
        return B
    R = np.linalg.cholesky(M)
    Y, held = np.linalg.solve(R, J.T), np.linalg.solve(R, contacts.T)
    Y = Y - held @ np.linalg.lstsq(held, Y, rcond=1e-9)[0]
    return Y.T @ Y


def within_reach(B: np.ndarray, kept: np.ndarray, mass: float, wanted: np.ndarray) -> np.ndarray:
    """The part of an acceleration that the joints can give without great accelerations of their own.

    Along the principal axes of B, a share that falls from 1 where the frame is lighter than 10 robots to 0 where no
    force moves it; smoothly, and exactly 1 elsewhere.

    Args:
        B: Inverse inertia of the robot at the frame, shape (k, k).
        kept: The axes that are meant, k of six.
        mass: That of the robot, kg.
        wanted: Acceleration, m/s² and rad/s², shape (k,).
    """
    root = ROOT[kept]
    if exceeds(B.copy(), root, 1.0 / (HEAVY * mass)):
        return wanted
    b, U = np.linalg.eigh(B * np.outer(root, root))
    x = np.clip(b * HEAVY * mass, 0.0, 1.0)
    return U @ (x * x * (3.0 - 2.0 * x) * (U.T @ (root * wanted))) / root


def _factor(B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """L with B = L Lᵀ, and its inverse, which is bounded where B is all but singular."""
    b, U = np.linalg.eigh(B)
    b = np.maximum(b, 0.0)
    root = np.sqrt(b)
    return U * root, (U * (root / (b + TINY * b[-1] + 1e-300))).T


def _power(A: np.ndarray, exponent: float) -> np.ndarray:
    """A to a power, for a symmetric matrix without negative eigenvalues."""
    a, U = np.linalg.eigh(A)
    a = np.maximum(a, TINY * max(a[-1], 1e-300))
    return (U * a**exponent) @ U.T


def _definite(matrix: Stiffness, where: str) -> np.ndarray:
    """A user's mass or damping, above zero in every direction."""
    A = as_stiffness(matrix, LEVER, where)
    if not (np.linalg.eigvalsh(A)[0] > 0.0):
        raise TaskError(f"{where}: must be above zero in every direction")
    return A
