"""Regions of orientations: one of them, or all that differ from it by turning about free axes of the frame.

With the unit quaternion q = (w, n) of R*ᵀ R an orientation that is allowed has n = 0, or n along the free axes. The
nearest one is the projection on these, as for a flat region of space:

    p = (w, F n) / ‖(w, F n)‖,   R = R_p exp(ε),   exp(ε/2) = p̄ q

F keeps the free axes. ε is the shortest way from there, at most π long, and at half a turn any of the shortest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sot.attractor.region import Hold, around
from sot.errors import TaskError
from sot.lie import as_rotation, log3, skew

LETTERS = "xyz"
Rotation = Sequence[float] | Sequence[Sequence[float]]


@dataclass(frozen=True)
class Facing:
    """An orientation that attracts.

    Attributes:
        orientation: How the frame should be turned: roll, pitch and yaw (rad), a quaternion (x y z w), or 3×3.
        free: Axes of the frame about which it may turn as it likes: none, one or two of x, y and z.
    """

    orientation: Rotation
    free: str = ""
    _target: np.ndarray = field(init=False, repr=False, compare=False)
    _free: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        letters = self.free if isinstance(self.free, str) else "?"
        if not (set(letters) <= set(LETTERS) and len(set(letters)) == len(letters) <= 2):
            raise TaskError(f"free: expected none, one or two of x, y and z, got {self.free!r}")
        object.__setattr__(self, "_target", as_rotation(self.orientation, "orientation"))
        object.__setattr__(self, "orientation", np.asarray(self.orientation).tolist())
        object.__setattr__(self, "_free", np.array([letter in letters for letter in LETTERS]))

    def at(self, R: np.ndarray) -> Hold:
        """Seen from an orientation: `point` is the rotation vector to the nearest one, all in the axes of the world."""
        away, free = R @ self._away(R), self._free
        axes = R.T
        if free.sum() == 2:
            axes = np.roll(around(R @ self._only(R)), self._held, axis=0)
        upper = -axes @ away
        lower = upper.copy()
        lower[free], upper[free] = -np.inf, np.inf
        held = axes[~free].T @ axes[~free]
        return Hold(-away, held, axes, lower, upper)

    def error(self, R: np.ndarray) -> np.ndarray:
        """How far R is from the nearest orientation, rad, shape (3,): 0 for the free axes."""
        away, count = self._away(R), self._free.sum()
        if count == 0:
            return away
        if count == 1:  # in the axes of the target, where turning about the free axis changes nothing
            return self._target.T @ R @ away
        error = np.zeros(3)
        error[self._held] = self._only(R) @ away
        return error

    def slope(self, R: np.ndarray) -> np.ndarray:
        """Derivative of the error by the angular velocity in the axes of the world, shape (3, 3)."""
        count = self._free.sum()
        if count == 0:
            return _inverse_jacobian(self._away(R)) @ R.T
        if count == 1:
            return self._slope_of_direction(R)
        slope = np.zeros((3, 3))
        slope[self._held] = self._only(R) @ R.T
        return slope

    @property
    def _held(self) -> int:
        """Index of the first axis that is held."""
        return int(np.argmin(self._free))

    def _away(self, R: np.ndarray) -> np.ndarray:
        """ε, in the frame's own axes."""
        e = log3(self._target.T @ R)
        if not self._free.any():
            return e
        w, n = _half(e)
        kept = np.where(self._free, n, 0.0)
        length = float(np.sqrt(w * w + kept @ kept))
        w_p, n_p = (w / length, kept / length) if length > 1e-12 else (1.0, np.zeros(3))
        v = w_p * n - w * n_p - skew(n_p) @ n
        size = float(np.linalg.norm(v))
        return (2.0 * np.arctan2(size, length) / size if size > 1e-12 else 2.0) * v

    def _only(self, R: np.ndarray) -> np.ndarray:
        """The one axis that is held where two are free, in the frame's own axes: along it |ε| grows.

        Of sin(|ε|/2) = n·c the derivative by the angular velocity is (w c + c × n)/2.
        """
        w, n = _half(log3(self._target.T @ R))
        c = np.eye(3)[self._held]
        g = w * c + skew(c) @ n
        size = float(np.linalg.norm(g))
        return g / size if size > 1e-12 else c

    def _slope_of_direction(self, R: np.ndarray) -> np.ndarray:
        """Of the rotation vector θ u that turns the target's free axis a to the frame's, d: along u, and about a.

        d(θ u) = u uᵀ ω + θ/sin θ (a × u) (d × u)ᵀ ω
        """
        Q, a = self._target.T @ R, self._free.astype(float)
        e, d = Q @ self._away(R), Q @ a
        angle = float(np.linalg.norm(e))
        u = e / angle if angle > 1e-9 else around(a)[1]
        stretch = angle / max(np.sin(angle), 1e-9) if angle > 1e-9 else 1.0
        slope = np.outer(u, u) + stretch * np.outer(skew(a) @ u, skew(d) @ u)
        return slope @ self._target.T


def _half(e: np.ndarray) -> tuple[float, np.ndarray]:
    """The unit quaternion (w, n) of a rotation vector."""
    half = 0.5 * float(np.linalg.norm(e))
    return float(np.cos(half)), 0.5 * np.sinc(half / np.pi) * e


def _inverse_jacobian(e: np.ndarray) -> np.ndarray:
    """Derivative of log(exp(e) exp(δ)) by δ: I + [e]/2 + (1 − θ/2 cot θ/2)/θ² [e]²."""
    angle, E = float(np.linalg.norm(e)), skew(e)
    share = (1.0 - 0.5 * angle / np.tan(0.5 * angle)) / angle**2 if angle > 1e-4 else 1.0 / 12.0
    return np.eye(3) + 0.5 * E + share * E @ E
