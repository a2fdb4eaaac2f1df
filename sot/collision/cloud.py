"""Points and balls to be covered, and how much larger than their hull a body around them is."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sot.collision.polytope import Polytope
from sot.collision.shape import Hull

THINNED = 200  # points that stand for all where only a good guess is needed


@dataclass(frozen=True, eq=False)
class Cloud:
    """Balls whose hull is to be covered; points are balls of no size.

    Attributes:
        points: Shape (n, 3), m.
        radii: Shape (n,), m.
    """

    points: np.ndarray
    radii: np.ndarray = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        if len(self.radii) != len(self.points):
            object.__setattr__(self, "radii", np.zeros(len(self.points)))

    @cached_property
    def solid(self) -> tuple[Polytope, float]:
        """The hull as a polytope with one ball swept over it.

        Balls of different sizes become points on their surfaces: a little smaller than they are.
        """
        if np.ptp(self.radii) <= 1e-9:
            return Polytope(self.points), float(self.radii[0])
        around = self.points[:, None] + self.radii[:, None, None] * _directions(100)
        return Polytope(around.reshape(-1, 3)), 0.0

    @cached_property
    def outer(self) -> Cloud:
        """Only what matters for containment: the corners of the hull, where all balls are alike."""
        if np.ptp(self.radii) > 1e-9 or len(self.points) < 5:
            return self
        corners = self.solid[0].corners
        return Cloud(corners, np.full(len(corners), self.radii[0]))

    def reach(self, hull: Hull) -> float:
        """How far the points stick out of a hull, m; negative if all are inside."""
        return float((Polytope(hull.points).signed_distance(self.points) + self.radii).max() - hull.radius)

    def thinned(self, most: int = THINNED) -> Cloud:
        """Some of the points, spread out: each next one is farthest from those before it."""
        points = self.points
        if len(points) <= most:
            return self
        taken = [int(np.linalg.norm(points - points.mean(axis=0), axis=1).argmax())]
        nearest = np.linalg.norm(points - points[taken[0]], axis=1)
        while len(taken) < most:
            taken.append(int(nearest.argmax()))
            nearest = np.minimum(nearest, np.linalg.norm(points - points[taken[-1]], axis=1))
        return Cloud(points[taken], self.radii[taken])


@dataclass(frozen=True)
class Inflation:
    """What an approximation adds to the hull of what it stands for.

    Attributes:
        distance: Largest distance of a point of its surface from that hull, m.
        volume: Its volume, in volumes of that hull.
    """

    distance: float
    volume: float


def inflation(hull: Hull, cloud: Cloud) -> Inflation:
    """How much larger `hull` is than the hull H of `cloud`.

    The distance from H is convex, so it is largest above a corner c: radius + signed distance of c from H.
    """
    inner, radius = cloud.solid
    distance = inner.signed_distance(hull.points).max() + hull.radius - radius
    size = inner.volume(radius)
    return Inflation(float(distance), Polytope(hull.points).volume(hull.radius) / size if size > 0.0 else np.inf)


def _directions(count: int) -> np.ndarray:
    """Unit vectors spread over the sphere (a golden spiral), shape (count, 3)."""
    z = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    turn = np.pi * (1.0 + np.sqrt(5.0)) * np.arange(count)
    flat = np.sqrt(1.0 - z**2)
    return np.column_stack([flat * np.cos(turn), flat * np.sin(turn), z])
