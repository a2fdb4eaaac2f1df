"""A tube along a path."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from sot.attractor.region import Hold, Region, faded
from sot.attractor.solids import sided
from sot.checks import vector
from sot.errors import TaskError
from sot.sketch import CALM, Drawing, Line


@dataclass(frozen=True)
class Path(Region):
    """All points within a radius of a polyline. Outside of it all is damped but what goes along the path.

    The nearest point jumps where two parts of the path are equally near, as at the inside of a bend; the force is
    continuous everywhere else, also around the outside of bends and around the ends.

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
        along = np.clip(((p - starts) * directions).sum(axis=1), 0.0, lengths)
        nearest = starts + along[:, None] * directions
        distances = np.linalg.norm(nearest - p, axis=1)
        k = int(np.argmin(distances))
        distance = float(distances[k])
        if not (distance > 1e-12):  # on the path itself: any direction across it
            across = np.cross(directions[k], np.eye(3)[int(np.argmin(np.abs(directions[k])))])
            return sided(p, across / np.linalg.norm(across), -self.radius, np.zeros(3))
        n, d = (nearest[k] - p) / distance, directions[k]
        hold = sided(p, n, distance - self.radius, np.zeros(3))
        # Free along the path, which is faded out towards ends and corners: there the direction of the path jumps.
        free = faded(float(min(along[k], lengths[k] - along[k])))
        held = faded(distance - self.radius) * (np.eye(3) - free * np.outer(d, d))
        return Hold(hold.point, held, hold.axes, hold.lower, hold.upper)

    def sketch(self) -> list[Drawing]:
        corners = np.array(self.points)
        return [Line(f"part {k}", a, b, CALM) for k, (a, b) in enumerate(itertools.pairwise(corners))]
