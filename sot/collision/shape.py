"""What can collide: convex bodies, each the hull of a few points with a ball swept over it.

One form for all: a ball is one point, a capsule two, a box eight, a convex mesh its corners. With the support of
the points, max n·p, a distance needs no case distinction (see `sot.kernels.distance`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from sot.checks import positive, vector
from sot.errors import ConfigError
from sot.lie import SE3


@dataclass(frozen=True, eq=False)
class Hull:
    """Convex hull of points, swept by a ball.

    Attributes:
        points: Shape (k, 3), m.
        radius: Of the ball, m.
    """

    points: np.ndarray
    radius: float = 0.0

    def moved(self, placement: SE3) -> Hull:
        """The same hull, its points seen from the frame in which it is placed."""
        return Hull(self.points @ placement.rotation.T + placement.translation, self.radius)


@dataclass(frozen=True, eq=False)
class Body:
    """A hull that moves with a joint.

    Attributes:
        name: Its name, one of a kind; that of the link it stands for, where it has one.
        joint: Index of the joint that carries it; 0 is the world.
        hull: Its form, in the joint's frame.
    """

    name: str
    joint: int
    hull: Hull


@dataclass(frozen=True, eq=False)
class CollisionModel:
    """All bodies of a robot, and which pairs of them must not touch.

    Attributes:
        bodies: The bodies.
        pairs: Pairs of indices into `bodies`, the smaller first.
    """

    bodies: tuple[Body, ...]
    pairs: tuple[tuple[int, int], ...]


def ball(radius: float, center: Sequence[float] = (0.0, 0.0, 0.0)) -> Hull:
    """A ball."""
    return Hull(vector(center, 3, "center", repeat=False)[None], positive(radius, "radius"))


def capsule(start: Sequence[float], end: Sequence[float], radius: float) -> Hull:
    """All points within `radius` of the line from `start` to `end`."""
    ends = [vector(start, 3, "start", repeat=False), vector(end, 3, "end", repeat=False)]
    return Hull(np.array(ends), positive(radius, "radius"))


def box(lengths: Sequence[float]) -> Hull:
    """A box about the origin, its edges along the axes."""
    sides = vector(lengths, 3, "lengths", repeat=False)
    if not (sides > 0.0).all():
        raise ConfigError(f"lengths: expected three positive numbers, got {sides.tolist()}")
    return Hull(0.5 * sides * np.array(list(product((-1.0, 1.0), repeat=3))))


def convex(points: Sequence[Sequence[float]], radius: float = 0.0) -> Hull:
    """The convex hull of points; points inside it may be among them."""
    corners = np.asarray(points, dtype=float)
    if corners.ndim != 2 or corners.shape[1] != 3 or not len(corners) or not np.isfinite(corners).all():
        raise ConfigError(f"points: expected a list of points [x, y, z], got {points!r}")
    return Hull(corners, positive(radius, "radius", zero=True))
