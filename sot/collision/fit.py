"""Simple convex bodies around points: the smallest capsule, or a few corners with a ball swept over them.

Everything is rounded before the last radius is taken, and the radius up, so that what is written to a file still holds
every point.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.optimize import minimize

from sot.collision.cloud import Cloud, inflation
from sot.collision.form import Form
from sot.collision.polytope import Polytope
from sot.collision.shape import Hull

Shapes = Literal["capsule", "convex", "auto"]

DIGITS = 4  # of coordinates in m: 0.1 mm
CORNERS = 16  # of a convex body
DEPTHS = (0.0, 0.25, 0.5, 0.75, 0.95)  # layers to take off before corners are chosen, in radii of a ball inside
ENOUGH = 2e-4  # m; corners that add less than this are left out
SMALLEST = 1e-4  # m; radius of a ball or a capsule
# A capsule is simpler and rounder than a convex body: it may inflate more, by this many m, or anyhow by this volume.
MORE, MORE_VOLUME = 0.01, 1.2


def fit(cloud: Cloud, shapes: Shapes = "auto", corners: int = CORNERS) -> Form:
    """A simple body that holds the cloud."""
    if len(cloud.solid[0].corners) <= 2 and np.ptp(cloud.radii) <= 1e-9:
        return _exact(cloud)
    if shapes != "auto":
        return capsule_around(cloud) if shapes == "capsule" else convex_around(cloud, corners)
    simple, close = capsule_around(cloud), convex_around(cloud, corners)
    one, other = inflation(simple.hull, cloud), inflation(close.hull, cloud)
    return simple if one.distance <= other.distance + MORE or one.volume <= MORE_VOLUME else close


def _exact(cloud: Cloud) -> Form:
    """Balls and capsules are what they are."""
    ends = cloud.solid[0].corners.round(DIGITS)
    return _rounded("capsule" if len(ends) == 2 else "ball", ends, cloud)


# -- capsules ----------------------------------------------------------------------------------------


def capsule_around(cloud: Cloud) -> Form:
    """The smallest capsule that holds the cloud, as found from each of its principal axes."""
    thin = cloud.outer.thinned()
    center = thin.points.mean(axis=0)
    axes = np.linalg.svd(thin.points - center, full_matrices=False)[2]
    smallest = min((_Capsule(thin).shrunk(center, axis) for axis in axes), key=lambda found: found[1])
    ends = smallest[0].round(DIGITS)
    alone = np.linalg.norm(ends[1] - ends[0]) < 1e-3
    return _rounded("ball", ends.mean(axis=0, keepdims=True), cloud) if alone else _rounded("capsule", ends, cloud)


class _Capsule:
    """min π r² (l + 4/3 r) over ends a, b and radius r of a capsule, so that |p − nearest(a, b)| + rₚ ≤ r for all p.

    Lengths are in units of the cloud's size, so that one tolerance fits all.
    """

    def __init__(self, cloud: Cloud) -> None:
        self.size = float(np.ptp(cloud.points, axis=0).max() + cloud.radii.max())
        self.points, self.radii = cloud.points / self.size, cloud.radii / self.size

    def shrunk(self, center: np.ndarray, axis: np.ndarray) -> tuple[np.ndarray, float]:
        """Ends (m) and volume of the capsule that a start along an axis leads to."""
        ends = self._start(center / self.size, axis)
        start = np.append(ends, (self._gaps(ends)[2] + self.radii).max())
        room = {"type": "ineq", "fun": self._room, "jac": self._room_slope}
        found = minimize(self._volume, start, jac=self._volume_slope, constraints=room, method="SLSQP", tol=1e-9)
        ends = found.x[:6]
        radius = (self._gaps(ends)[2] + self.radii).max()  # holds everything, however the search ended
        return self.size * ends.reshape(2, 3), self._volume(np.append(ends, radius))

    def _start(self, center: np.ndarray, axis: np.ndarray) -> np.ndarray:
        """Ends on an axis through the centre, the caps inside the cloud's length where there is room."""
        away = self.points - center
        along = away @ axis
        radius = np.linalg.norm(away - np.outer(along, axis), axis=1).max()
        low, high = along.min() + radius, along.max() - radius
        if low > high:
            low = high = 0.5 * (low + high)
        spread = 0.05 * np.ptp(along)  # so that the axis is known also for a ball
        return (center + np.outer([low - spread, high + spread], axis)).ravel()

    def _gaps(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where on the line from end to end (0 to 1) each point is nearest, and vector and distance to it."""
        along = x[3:6] - x[:3]
        away = self.points - x[:3]
        part = np.clip(away @ along / max(float(along @ along), 1e-12), 0.0, 1.0)
        gap = away - part[:, None] * along
        return part, gap, np.linalg.norm(gap, axis=1)

    def _room(self, x: np.ndarray) -> np.ndarray:
        return x[6] - self.radii - self._gaps(x)[2]

    def _room_slope(self, x: np.ndarray) -> np.ndarray:
        part, gap, distance = self._gaps(x)
        n = gap / np.maximum(distance, 1e-12)[:, None]
        return np.hstack([(1.0 - part)[:, None] * n, part[:, None] * n, np.ones((len(n), 1))])

    def _volume(self, x: np.ndarray) -> float:
        return float(np.pi * x[6] ** 2 * (np.linalg.norm(x[3:6] - x[:3]) + 4.0 / 3.0 * x[6]))

    def _volume_slope(self, x: np.ndarray) -> np.ndarray:
        along, r = x[3:6] - x[:3], x[6]
        length = np.linalg.norm(along)
        pull = np.pi * r**2 * along / max(length, 1e-12)
        return np.concatenate([-pull, pull, [2.0 * np.pi * r * length + 4.0 * np.pi * r**2]])


# -- convex bodies -----------------------------------------------------------------------------------


def convex_around(cloud: Cloud, corners: int = CORNERS) -> Form:
    """At most `corners` corners with a ball swept over them that hold the cloud.

    A layer is taken off the hull and a ball of that size swept over what is left: this gives rounded edges back, and
    leaves fewer corners to choose. Several layers are tried; the one that inflates least is taken.
    """
    inner, _ = cloud.solid
    found = []
    for depth in DEPTHS:
        left = Cloud(inner.eroded(depth * inner.core[1])).thinned().points
        found.append(_rounded("convex", _chosen(left, corners).round(DIGITS), cloud))
    return min(found, key=lambda form: inflation(form.hull, cloud).distance)


def _chosen(points: np.ndarray, corners: int) -> np.ndarray:
    """A few of the points whose hull misses little of the hull of all: always the one farthest off is added."""
    first = points[np.linalg.norm(points - points.mean(axis=0), axis=1).argmax()]
    chosen = [first]
    while len(chosen) < min(corners, len(points)):
        off = Polytope(np.array(chosen)).signed_distance(points)
        if off.max() < ENOUGH:
            break
        chosen.append(points[off.argmax()])
    return Polytope(np.array(chosen)).corners


# -- common ------------------------------------------------------------------------------------------


def _rounded(kind: str, points: np.ndarray, cloud: Cloud) -> Form:
    """A body with rounded corners, and its radius rounded up so that it holds the cloud."""
    points = points + 0.0  # no −0.0
    radius = round_up(cloud.outer.reach(Hull(points)))
    radius = radius if kind == "convex" else max(radius, SMALLEST)
    if kind == "ball":
        return Form("ball", {"center": points[0].tolist(), "radius": radius})
    if kind == "capsule":
        return Form("capsule", {"start": points[0].tolist(), "end": points[-1].tolist(), "radius": radius})
    return Form("convex", {"points": points.tolist(), "radius": radius})


def round_up(value: float) -> float:
    """A length, not negative, rounded up to the digits of a file, m."""
    unit = 10.0**-DIGITS
    return max(0.0, round(float(np.ceil(value / unit - 1e-3)) * unit, DIGITS))  # 1e-7 m is no length
