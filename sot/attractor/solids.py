"""Regions with an inside, or with ends: segment, ball, box, half-space, and all that is outside of a ball.

Inside there is no force. Outside damping fades in over a millimetre, so that the force is continuous at the surface.
Around a ball all velocities are damped, not only those along p_a − p: a sampled spring that leads a mass around a curve
pushes it a little forward, and without damping the orbit would grow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from sot.attractor.region import GLASS, PATCH, Hold, Region, alike, around, faded, posed
from sot.checks import vector
from sot.errors import TaskError
from sot.lie import as_rotation
from sot.sketch import CALM, Drawing, Line, Solid, Sphere
from sot.sketch import Box as Cuboid

FREE = np.full(3, np.inf)


def sided(p: np.ndarray, n: np.ndarray, depth: float, damped: np.ndarray) -> Hold:
    """One side along n: p is `depth` outside (or −depth inside), and n leads back in."""
    axes = around(n)
    lower = -FREE
    lower[0] = depth
    return Hold(p + max(depth, 0.0) * n, (axes.T * damped) @ axes, axes, lower, FREE)


@dataclass(frozen=True)
class Segment(Region):
    """The straight way between two points. Free along it, held at its ends.

    Attributes:
        start: m.
        end: m.
    """

    kind: ClassVar[str] = "segment"

    start: Sequence[float]
    end: Sequence[float]
    _start: np.ndarray = field(init=False, repr=False, compare=False)
    _length: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        start, end = self._vector("start"), self._vector("end")
        length = float(np.linalg.norm(end - start))
        if not (length > 1e-9):
            raise TaskError(f"{self.kind}: end: is where the segment starts; take a point in place of it")
        object.__setattr__(self, "_start", start)
        object.__setattr__(self, "_length", length)
        object.__setattr__(self, "_axes", around((end - start) / length))

    def at(self, p: np.ndarray) -> Hold:
        axes = self._axes
        x, y, z = axes @ (p - self._start)
        rest = self._length - x
        beyond = max(-x, -rest, 0.0)
        held = (axes.T * [faded(beyond), 1.0, 1.0]) @ axes
        point = self._start + (x + max(-x, 0.0) + min(rest, 0.0)) * axes[0]
        return Hold(point, held, axes, np.array([-x, -y, -z]), np.array([rest, -y, -z]))

    def sketch(self) -> list[Drawing]:
        return [Line("segment", np.array(self.start), np.array(self.end), CALM)]


@dataclass(frozen=True)
class Ball(Region):
    """A ball that holds what is in it.

    Attributes:
        center: m.
        radius: m.
    """

    kind: ClassVar[str] = "ball"
    one_sided: ClassVar[bool] = True

    center: Sequence[float]
    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "_center", self._vector("center"))
        self._positive("radius")

    def at(self, p: np.ndarray) -> Hold:
        n, distance = _towards(self._center - p)
        depth = distance - self.radius
        return sided(p, n, depth, np.full(3, faded(depth)))

    def sketch(self) -> list[Drawing]:
        return [Solid("ball", Sphere(self.radius), posed(np.eye(3), np.array(self.center)), GLASS)]


@dataclass(frozen=True)
class Outside(Ball):
    """Everything outside of a ball: it pushes out. At the very centre, along x.

    Attributes:
        center: m.
        radius: m.
    """

    kind: ClassVar[str] = "outside"

    def at(self, p: np.ndarray) -> Hold:
        n, distance = _towards(p - self._center)
        depth = self.radius - distance
        return sided(p, n, depth, np.array([faded(depth), 0.0, 0.0]))


@dataclass(frozen=True)
class HalfSpace(Region):
    """All on one side of a plane.

    Attributes:
        point: A point on the plane, m.
        normal: Leads into the region, out of the wall; of any length.
    """

    kind: ClassVar[str] = "half_space"
    one_sided: ClassVar[bool] = True

    point: Sequence[float] = (0.0, 0.0, 0.0)
    normal: Sequence[float] = (0.0, 0.0, 1.0)
    _across: np.ndarray = field(init=False, repr=False, compare=False)
    _height: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        n = self._direction("normal")
        object.__setattr__(self, "_normal", n)
        object.__setattr__(self, "_point", self._vector("point"))
        object.__setattr__(self, "_axes", around(n))
        object.__setattr__(self, "_across", n[:, None] * n)
        object.__setattr__(self, "_height", float(n.dot(self._point)))

    def at(self, p: np.ndarray) -> Hold:
        n = self._normal
        depth = self._height - float(n.dot(p))
        held = faded(depth) * self._across
        return Hold(p + max(depth, 0.0) * n, held, self._axes, np.array([depth, -np.inf, -np.inf]), FREE)

    def spans(self) -> np.ndarray:
        return self._normal[None]

    def sketch(self) -> list[Drawing]:
        pose = posed(self._axes, self._point)
        return [Solid("wall", Cuboid((1e-3, 2 * PATCH, 2 * PATCH)), pose, GLASS)]


@dataclass(frozen=True)
class Box(Region):
    """A box that holds what is in it; each of its three axes by itself.

    Attributes:
        center: m.
        lengths: Along its x, y and z, m.
        rpy: How it is turned: roll, pitch and yaw, rad.
    """

    kind: ClassVar[str] = "box"
    one_sided: ClassVar[bool] = True

    center: Sequence[float]
    lengths: Sequence[float]
    rpy: Sequence[float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_center", self._vector("center"))
        half = 0.5 * self._vector("lengths")
        if not (half > 0.0).all():
            raise TaskError(f"{self.kind}: lengths: expected numbers > 0, got {list(self.lengths)}")
        object.__setattr__(self, "_half", half)
        turned = vector(self._vector("rpy"), 3, f"{self.kind}: rpy")
        object.__setattr__(self, "_axes", as_rotation(turned, f"{self.kind}: rpy").T.copy())

    def at(self, p: np.ndarray) -> Hold:
        axes, half = self._axes, self._half
        x = axes @ (p - self._center)
        way = np.minimum(np.maximum(x, -half), half) - x
        damped = [faded(abs(part)) for part in way.tolist()]
        return Hold(p + axes.T @ way, (axes.T * damped) @ axes, axes, -half - x, half - x)

    def keeps(self, A: np.ndarray) -> bool:
        """Each axis by itself: it may have a stiffness of its own."""
        own = self._axes @ A @ self._axes.T
        return alike(own, np.diag(np.diag(own)))

    def sketch(self) -> list[Drawing]:
        lengths = (float(self.lengths[0]), float(self.lengths[1]), float(self.lengths[2]))
        return [Solid("box", Cuboid(lengths), posed(self._axes, self._center), GLASS)]


def _towards(way: np.ndarray) -> tuple[np.ndarray, float]:
    """Direction and length of a vector; x for one without length."""
    length = float(np.linalg.norm(way))
    return (way / length if length > 1e-12 else np.array([1.0, 0.0, 0.0])), length
