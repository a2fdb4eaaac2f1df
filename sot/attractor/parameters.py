"""Everything about the force of an attractor but its region: one frozen object, changed as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sot.checks import numbers, positive, vector
from sot.errors import TaskError
from sot.impedance import LEVER

Matrix = float | Sequence[float] | Sequence[Sequence[float]]
ROOT = np.sqrt(np.repeat([1.0, LEVER], 3))
SIZE = np.outer(ROOT, ROOT)  # in these units metres and radians of a robot count about the same
LIGHTEST = 1e-4  # an inverse inertia below this part of the largest counts as that: damping by ratio stays bounded


@dataclass(frozen=True)
class Parameters:
    """Stiffness, damping and bounds. Checked when made: one that is wrong never replaces one that is right.

    Attributes:
        stiffness: K: one number, three, or a symmetric matrix, N/m.
        damping: C, written like the stiffness, N·s/m; None where it follows from the ratio.
        damping_ratio: ζ, in C = 2ζ √(K Λ) with Λ the effective mass.
        cap: Greatest force, N; it keeps its direction.
        rate: Greatest change of the force, N/s.
        push: f*, a force that is added, N.
        timeout: How long the last good force is held without fresh input, s.
        fade: How long it then takes to become zero, s.
        legacy: Damp only along p_a − p, as older devices do; see docs/attractor.md for what orbits make of that.
    """

    stiffness: Matrix = 500.0
    damping: Matrix | None = None
    damping_ratio: float = 1.0
    cap: float | None = None
    rate: float | None = None
    push: Sequence[float] = (0.0, 0.0, 0.0)
    timeout: float = 0.05
    fade: float = 0.05
    legacy: bool = False
    K: np.ndarray = field(init=False, repr=False, compare=False)  # the stiffness as a matrix
    C: np.ndarray | None = field(init=False, repr=False, compare=False)
    f: np.ndarray = field(init=False, repr=False, compare=False)
    bounds: np.ndarray = field(init=False, repr=False, compare=False)  # as the kernel wants them

    def __post_init__(self) -> None:
        self._keep("K", as_matrix(self.stiffness, "stiffness"))
        self._keep("C", None if self.damping is None else as_matrix(self.damping, "damping"))
        positive(self.damping_ratio, "damping_ratio", zero=True)
        cap = np.inf if self.cap is None else positive(self.cap, "cap", zero=True, infinite=True)
        rate = np.inf if self.rate is None else positive(self.rate, "rate", infinite=True)
        timeout, fade = positive(self.timeout, "timeout", zero=True), positive(self.fade, "fade")
        self._keep("bounds", np.array([cap, rate, timeout, fade]))
        self._keep("f", vector(self.push, 3, "push", repeat=False))
        if not isinstance(self.legacy, bool):
            raise TaskError(f"legacy: expected true or false, got {self.legacy!r}")

    def _keep(self, name: str, value: Any) -> None:
        if value is not None:
            value.setflags(write=False)
        object.__setattr__(self, name, value)

    def damper(self, K: np.ndarray, B: np.ndarray | None) -> np.ndarray:
        """C, N·s/m, shape (3, 3): as given, or 2ζ √(K Λ).

        Args:
            K: Stiffness, shape (3, 3).
            B: Λ⁻¹, 1/kg, shape (3, 3); None if the mass is not known.
        """
        if self.C is not None:
            return self.C
        if B is None and self.damping_ratio > 0.0:
            raise TaskError("damping: a ratio needs the effective mass; give damping in N·s/m, or a mass")
        C = np.zeros((3, 3)) if B is None else self.damping_ratio * critical(K, B)
        C.setflags(write=False)
        return C


def pose_damper(K: np.ndarray, B: np.ndarray, move: Parameters, turn: Parameters) -> np.ndarray:
    """C of a force and a moment, N·s/m and N·m·s/rad, shape (6, 6): as given, or 2ζ √(K Λ) of both together.

    Args:
        K: Stiffness, shape (6, 6).
        B: Λ⁻¹, shape (6, 6).
        move: Of the force.
        turn: Of the moment.
    """
    if move.C is None and turn.C is None:
        share = ROOT * np.sqrt(np.repeat([move.damping_ratio, turn.damping_ratio], 3))
        C = critical(K / SIZE, B * SIZE) * (share[:, None] * share)
    else:
        C = np.zeros((6, 6))
        C[:3, :3], C[3:, 3:] = move.damper(K[:3, :3], B[:3, :3]), turn.damper(K[3:, 3:], B[3:, 3:])
    C.setflags(write=False)
    return C


def critical(K: np.ndarray, B: np.ndarray) -> np.ndarray:
    """2 √(K Λ): the damping with ratio 1 for every principal axis of mass and stiffness.

    With B = L Lᵀ it is 2 L⁻ᵀ (Lᵀ K L)^½ L⁻¹.
    """
    b, U = np.linalg.eigh(B)
    root = np.sqrt(np.maximum(b, LIGHTEST * b[-1]))
    k, V = np.linalg.eigh((U * root).T @ K @ (U * root))
    T = (U / root) @ V
    return (T * (2.0 * np.sqrt(np.maximum(k, 0.0)))) @ T.T


def check_sampling(
    K: np.ndarray, C: np.ndarray, B: np.ndarray, axes: np.ndarray, dt: float, where: str, unit: str = "N·s/m"
) -> None:
    """Refuse what a force that is held for dt makes unstable.

    A mass under a held force −K x − C v goes on as z² − (2 − c − k/2) z + (1 − c + k/2), k = K dt²/m, c = C dt/m. Its
    roots are inside the unit circle if and only if K dt/2 < C and C dt < 2 m, for K > 0.

    Args:
        K: N/m, shape (n, n).
        C: N·s/m, shape (n, n).
        B: Λ⁻¹, 1/kg, shape (n, n).
        axes: Directions that are held, shape (k, n).
        dt: s.
        where: Who asks.
        unit: Of the damping.

    Raises:
        TaskError: With the limit that is passed.
    """
    if not len(axes):
        return
    k, c, b = (axes @ A @ axes.T for A in (K, C, B))
    worst = float(np.linalg.eigvalsh(c - 0.5 * dt * k)[0])
    if not (worst >= -1e-9 * np.abs(k).max(initial=1.0) * dt) or (worst <= 0.0 and not c.any() and k.any()):
        need = 0.5 * dt * float(np.linalg.eigvalsh(k)[-1])
        raise TaskError(
            f"{where}: sampled at {dt:g} s the spring is unstable: the limit is K dt/2 < C, here {need:.4g} {unit}; "
            "give more damping, less stiffness or a shorter period"
        )
    fastest = dt * float(np.linalg.eigvals(b @ c).real.max())
    if not (fastest < 2.0):
        raise TaskError(
            f"{where}: sampled at {dt:g} s the damper is unstable: the limit is C dt < 2 m, here C dt/m = "
            f"{fastest:.4g}; give less damping or a shorter period"
        )


def as_matrix(value: object, where: str) -> np.ndarray:
    """A symmetric matrix without negative eigenvalues, from a number, three or nine; shape (3, 3)."""
    try:
        A = numbers(value)
    except (TypeError, ValueError):
        raise TaskError(f"{where}: expected a number, 3 numbers or 3×3 numbers, got {value!r}") from None
    A = np.diag(np.full(3, float(A))) if A.ndim == 0 else np.diag(A) if A.shape == (3,) else A
    if A.shape != (3, 3) or not np.isfinite(A).all():
        raise TaskError(f"{where}: expected a finite number, 3 numbers or 3×3 numbers, got {value!r}")
    if not (np.abs(A - A.T).max() <= 1e-9 * np.abs(A).max()):
        raise TaskError(f"{where}: the matrix must be symmetric")
    if not (np.linalg.eigvalsh(A)[0] >= -1e-9 * np.abs(A).max()):
        raise TaskError(f"{where}: must not be negative in any direction")
    return 0.5 * (A + A.T)
