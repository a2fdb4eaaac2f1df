"""A tube along a path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from sot.attractor.region import GLASS, Hold, Region, around, faded, posed
from sot.attractor.solids import sided
from sot.checks import vector
from sot.errors import TaskError
from sot.sketch import CALM, Cylinder, Drawing, Line, Solid

BLEND = 0.1  # parts of the path count as long as they are at most this much farther away than the nearest


@dataclass(frozen=True)
class Path(Region):
    """All points within a radius of a polyline. Outside of it all is damped but what goes along the path.

    The nearest point jumps where two parts of the path are equally near, as at the inside of a bend. So p_a − p is a
    mean of the ways wᵢ to all parts, each a capsule, dᵢ away, that are at most 10 % farther than the nearest one, at d:

        p_a − p = Σ gᵢ wᵢ / Σ gᵢ,   gᵢ = max(0, 1 − (dᵢ − d)/(0.1 d))²

    It is continuous everywhere, since all wᵢ and dᵢ are, and the band vanishes at the surface. Where one part alone is
    near, almost everywhere, it is the way to the nearest point.

    Attributes:
        points: Corners of the path, two or more, m.
        radius: m.
    """

    kind: ClassVar[str] = "path"
    one_sided: ClassVar[bool] = True

    points: Sequence[Sequence[float]]
    radius: float
    _parts: tuple[np.ndarray, np.ndarray, np.ndarray] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        corners = np.array([vector(p, 3, f"{self.kind}: points", repeat=False) for p in self.points]).reshape(-1, 3)
        ways = np.diff(corners, axis=0)
        lengths = np.linalg.norm(ways, axis=1)
        if not (len(corners) > 1 and (lengths > 1e-9).all()):
            raise TaskError(f"{self.kind}: points: expected two or more points, none of them twice in a row")
        self._positive("radius")
        object.__setattr__(self, "points", tuple(tuple(p) for p in corners.tolist()))
        object.__setattr__(self, "_parts", (corners[:-1], ways / lengths[:, None], lengths))

    def at(self, p: np.ndarray) -> Hold:
        starts, directions, lengths = self._parts
        along = np.minimum(np.maximum(((p - starts) * directions).sum(axis=1), 0.0), lengths)
        towards = starts + along[:, None] * directions - p
        distances = np.sqrt((towards * towards).sum(axis=1))
        k = int(distances.argmin())
        depth = float(distances[k]) - self.radius
        if depth <= 0.0:
            return sided(p, _unit(towards[k], directions[k]), depth, np.zeros(3))
        share = np.maximum(1.0 - (distances - distances[k]) / (BLEND * depth), 0.0) ** 2
        share /= share.sum()
        way = (share * (1.0 - self.radius / distances)) @ towards
        hold = sided(p, _unit(way, directions[k]), float(np.sqrt(way @ way)), np.zeros(3))
        held = np.eye(3)
        for i in share.nonzero()[0]:
            # Free along the path, which is faded out towards ends and corners: there its direction jumps.
            free = faded(float(min(along[i], lengths[i] - along[i])))
            held -= share[i] * free * np.outer(directions[i], directions[i])
        return Hold(hold.point, faded(depth) * held, hold.axes, hold.lower, hold.upper)

    def sketch(self) -> list[Drawing]:
        drawn: list[Drawing] = []
        for k, (start, direction, length) in enumerate(zip(*self._parts, strict=True)):
            end, turned = start + length * direction, np.roll(around(direction), -1, axis=0)  # its z along the path
            drawn.append(Line(f"part {k}", start, end, CALM))
            drawn.append(Solid(f"tube {k}", Cylinder(self.radius, length), posed(turned, 0.5 * (start + end)), GLASS))
        return drawn


def _unit(way: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Direction of a way; for one without length any direction across the path."""
    length = float(np.sqrt(way @ way))
    if length > 1e-12:
        return way / length
    across = np.cross(direction, np.eye(3)[int(np.argmin(np.abs(direction)))])
    return across / np.linalg.norm(across)
