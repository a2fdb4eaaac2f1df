"""Flat regions: all of space, a plane, a line, a point; and a Gaussian, whose spread says how stiff it is.

    p_a = P (p − μ) + μ,    P = B pinv(√W B) √W

B is an orthonormal basis of what the given vectors span: its rank is revealed by their singular values, so they may be
any number of vectors, dependent or none. P is the nearest point in the norm Σ wᵢ xᵢ²: with a large weight on an axis
p_a differs little from p along that axis. With equal weights it is the nearest point as usual.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sot.attractor.region import GLASS, PATCH, Hold, NearRank, Region, alike, around, posed
from sot.checks import numbers, positive, vector
from sot.errors import TaskError
from sot.sketch import CALM, Box, Drawing, Solid, Sphere
from sot.sketch import Line as Stroke

RANK = 1e-6  # singular values below this part of the largest count as zero
NEAR = 100.0  # a factor around that within which a warning is given
Vectors = Sequence[Sequence[float]]


class Flat(Region):
    """What flat regions have in common; they set `_span` once.

    Attributes:
        rank: 3 free, 2 plane, 1 line, 0 point.
        near_rank: Singular values close to where the rank changes, as parts of the largest; empty if all is well.
    """

    rank: int
    near_rank: tuple[float, ...]
    _offset: np.ndarray
    _held: np.ndarray

    def _span(self, vectors: np.ndarray, offset: np.ndarray, weights: np.ndarray) -> None:
        """Keep what `at` needs."""
        U, s, _ = np.linalg.svd(vectors.T.reshape(3, -1), full_matrices=True)
        share = s / s[0] if s.size and s[0] > 0.0 else np.zeros(0)
        near = tuple(float(x) for x in share if RANK / NEAR < x < RANK * NEAR)
        r = int((share > RANK).sum())
        root = np.sqrt(weights)
        B = U[:, :r]
        P = B @ np.linalg.pinv(root[:, None] * B) * root if r else np.zeros((3, 3))
        across = U[:, r:].T
        for name, value in {"rank": r, "near_rank": near, "_offset": offset, "_held": np.eye(3) - P}.items():
            object.__setattr__(self, name, value)
        if r == 3:  # exactly, so that nothing is pulled by rounding
            object.__setattr__(self, "_held", np.zeros((3, 3)))
        object.__setattr__(self, "_axes", np.ascontiguousarray(np.vstack([across, B.T])))
        if near:
            shown = ", ".join(f"{x:.1e}" for x in near)
            text = f"{self.kind}: basis: singular values {shown} of the largest are close to {RANK:g}"
            warnings.warn(f"{text}, where the rank changes; it is taken to be {r}", NearRank, stacklevel=4)

    def at(self, p: np.ndarray) -> Hold:
        way = -self._held @ (p - self._offset)
        upper = self._axes @ way
        lower = upper.copy()
        lower[3 - self.rank :], upper[3 - self.rank :] = -np.inf, np.inf
        return Hold(p + way, self._held, self._axes, lower, upper)

    def nearest(self, points: np.ndarray) -> np.ndarray:
        return points - (points - self._offset) @ self._held.T

    def held(self, points: np.ndarray) -> np.ndarray:
        return self._held[None]

    def spans(self) -> np.ndarray:
        return self._axes[: 3 - self.rank]

    def keeps(self, A: np.ndarray) -> bool:
        """The force A (I − P) (μ − p) has a potential if its matrix is symmetric."""
        return alike(A @ self._held, self._held.T @ A)

    def sketch(self) -> list[Drawing]:
        axes = self._axes
        if self.rank == 0:
            return [Solid("point", Sphere(0.006), posed(np.eye(3), self._offset), GLASS)]
        if self.rank == 1:
            return [Stroke("line", self._offset - PATCH * axes[2], self._offset + PATCH * axes[2], CALM)]
        if self.rank == 2:
            turned = around(axes[0])
            return [Solid("plane", Box((1e-3, 2 * PATCH, 2 * PATCH)), posed(turned, self._offset), GLASS)]
        return []


@dataclass(frozen=True)
class Affine(Flat):
    """All points μ + span(basis).

    Attributes:
        basis: Vectors that span the region, any number of them, also dependent ones.
        offset: μ, a point of the region, m.
        weights: How much a metre counts along x, y and z when the nearest point is looked for.
    """

    kind: ClassVar[str] = "affine"

    basis: Vectors = ()
    offset: Sequence[float] = (0.0, 0.0, 0.0)
    weights: Sequence[float] = (1.0, 1.0, 1.0)

    def __post_init__(self) -> None:
        basis = _vectors(self.basis, f"{self.kind}: basis")
        object.__setattr__(self, "basis", tuple(tuple(row) for row in basis.tolist()))
        weights = self._vector("weights")
        if not (weights > 0.0).all():
            raise TaskError(f"{self.kind}: weights: expected numbers > 0, got {weights.tolist()}")
        self._span(basis, self._vector("offset"), weights)


@dataclass(frozen=True)
class Plane(Flat):
    """A plane.

    Attributes:
        point: A point on it, m.
        normal: Its normal, of any length.
    """

    kind: ClassVar[str] = "plane"

    point: Sequence[float] = (0.0, 0.0, 0.0)
    normal: Sequence[float] = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        self._span(around(self._direction("normal"))[1:], self._vector("point"), np.ones(3))


@dataclass(frozen=True)
class Line(Flat):
    """A straight line without ends.

    Attributes:
        point: A point on it, m.
        direction: Where it leads, of any length.
    """

    kind: ClassVar[str] = "line"

    point: Sequence[float] = (0.0, 0.0, 0.0)
    direction: Sequence[float] = (1.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        self._span(self._direction("direction")[None], self._vector("point"), np.ones(3))


@dataclass(frozen=True)
class Point(Flat):
    """One point.

    Attributes:
        at_point: Where it is, m.
    """

    kind: ClassVar[str] = "point"

    at_point: Sequence[float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        self._span(np.zeros((0, 3)), self._vector("at_point"), np.ones(3))


@dataclass(frozen=True)
class Gaussian(Flat):
    """A mean that attracts the more, the surer it is: K = scale · Σ⁻¹ = Σᵢ (scale/σᵢ²) uᵢ uᵢᵀ.

    Directions without variance have the greatest stiffness, those with an infinite one (numpy.inf on the diagonal, or
    a stiffness below a millionth of the greatest) are free.

    Attributes:
        mean: m.
        covariance: Σ, three variances or a symmetric matrix, m².
        scale: J; at one standard deviation the spring has stored half of it.
        stiffest: Greatest stiffness, N/m.
    """

    kind: ClassVar[str] = "gaussian"

    mean: Sequence[float]
    covariance: Sequence[float] | Vectors
    scale: float = 1.0
    stiffest: float = 3000.0

    def __post_init__(self) -> None:
        where = f"{self.kind}: covariance"
        scale, stiffest = self._positive("scale"), positive(self.stiffest, f"{self.kind}: stiffest")
        variances, U = _principal(self.covariance, where)
        object.__setattr__(self, "covariance", np.asarray(self.covariance).tolist())
        with np.errstate(divide="ignore"):
            k = np.minimum(scale / variances, stiffest)
        k[k < RANK * k.max(initial=0.0)] = 0.0
        stiffness = (U * k) @ U.T
        stiffness.setflags(write=False)
        object.__setattr__(self, "stiffness", stiffness)
        self._span(U[:, k == 0.0].T, self._vector("mean"), np.ones(3))


def _principal(covariance: object, where: str) -> tuple[np.ndarray, np.ndarray]:
    """Variances and principal axes, columns."""
    try:
        S = numbers(covariance)
    except (TypeError, ValueError):
        S = np.zeros(0)
    if S.shape == (3,):
        values, U = S, np.eye(3)
    elif S.shape == (3, 3) and np.isfinite(S).all() and np.abs(S - S.T).max() <= 1e-9 * np.abs(S).max():
        values, U = np.linalg.eigh(0.5 * (S + S.T))
        values = np.where(np.abs(values) <= 1e-12 * values[-1], 0.0, values)
    elif S.shape == (3, 3) and np.array_equal(S, np.diag(np.diag(S))):  # with infinite variances
        values, U = np.diag(S).copy(), np.eye(3)
    else:
        raise TaskError(f"{where}: expected 3 variances or a symmetric 3×3 matrix, got {covariance!r}")
    if not (values >= 0.0).all():
        raise TaskError(f"{where}: has a negative variance, or one that is no number: {values.tolist()}")
    return values, U


def _vectors(basis: Any, where: str) -> np.ndarray:
    """Vectors, shape (k, 3)."""
    if len(np.shape(basis)) == 1 and np.size(basis):
        basis = [basis]
    rows = [vector(row, 3, where, repeat=False) for row in basis]
    return np.array(rows).reshape(-1, 3)
