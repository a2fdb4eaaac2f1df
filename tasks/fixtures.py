"""Virtual fixtures: a wall, a tube to stay in, a ball to stay out of. They push, and only where they must."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sot.attractor import HalfSpace, Outside, Parameters, Path, Region
from sot.attractor.fixture import Fixture
from sot.attractor.options import with_options_of
from sot.attractor.parameters import Matrix
from sot.entry import Constraint, Tick
from sot.model import Model


class _Barrier(Fixture, Constraint):
    """What the three have in common."""

    def __init__(
        self, frame: str, region: Region, parameters: Parameters, target_timeout: float | None, name: str | None,
        weight: float,
    ) -> None:  # fmt: skip
        self.frame = frame
        super().__init__(name=name, weight=weight)
        self._attach(frame, region, parameters, target_timeout)

    def default_name(self) -> str:
        return f"{self.kind}_{self.frame}"

    def violation(self, model: Model, tick: Tick, v: np.ndarray) -> float:
        """How deep the frame is where it should not be, m."""
        p = model.placement(self._frame).translation
        return float(np.linalg.norm(self.region.at(p).point - p))


class Wall(_Barrier):
    """A plane that a frame may touch and press, and is pushed out of: f = K d n − C ḋ n inside, nothing outside."""

    kind = "wall"

    @with_options_of(Parameters)
    def __init__(
        self,
        frame: str,
        point: Sequence[float] = (0.0, 0.0, 0.0),
        normal: Sequence[float] = (0.0, 0.0, 1.0),
        stiffness: Matrix = 1000.0,
        *,
        target_timeout: float | None = None,
        name: str | None = None,
        weight: float = 1.0,
        **options: Any,
    ) -> None:
        """
        Args:
            frame: Name of the frame.
            point: A point on the wall, m.
            normal: Leads out of the wall, to where the frame may be.
            stiffness: K, N/m.
            target_timeout: A region that is set while running must be set again within this time, s.
            name: Name in reports and look-ups; by default `wall_<frame>`.
            weight: Importance against the other tasks of the same level.
        """
        self.point, self.normal = point, normal
        super().__init__(
            frame, HalfSpace(point, normal), Parameters(stiffness, **options), target_timeout, name, weight
        )


class Tube(_Barrier):
    """A tube along a path: free inside its radius, pushed back to it outside."""

    kind = "tube"

    @with_options_of(Parameters)
    def __init__(
        self,
        frame: str,
        points: Sequence[Sequence[float]],
        radius: float = 0.02,
        stiffness: Matrix = 1000.0,
        *,
        target_timeout: float | None = None,
        name: str | None = None,
        weight: float = 1.0,
        **options: Any,
    ) -> None:
        """
        Args:
            frame: Name of the frame.
            points: Corners of the path, two or more, m.
            radius: m.
            stiffness: K, N/m.
            target_timeout: A region that is set while running must be set again within this time, s.
            name: Name in reports and look-ups; by default `tube_<frame>`.
            weight: Importance against the other tasks of the same level.
        """
        self.points, self.radius = points, radius
        super().__init__(frame, Path(points, radius), Parameters(stiffness, **options), target_timeout, name, weight)


class Repulsor(_Barrier):
    """A ball that pushes a frame out: f = K d n − C ḋ n inside, nothing outside."""

    kind = "repulsor"

    @with_options_of(Parameters)
    def __init__(
        self,
        frame: str,
        center: Sequence[float],
        radius: float = 0.1,
        stiffness: Matrix = 1000.0,
        *,
        target_timeout: float | None = None,
        name: str | None = None,
        weight: float = 1.0,
        **options: Any,
    ) -> None:
        """
        Args:
            frame: Name of the frame.
            center: m.
            radius: m.
            stiffness: K, N/m.
            target_timeout: A region that is set while running must be set again within this time, s.
            name: Name in reports and look-ups; by default `repulsor_<frame>`.
            weight: Importance against the other tasks of the same level.
        """
        self.center, self.radius = center, radius
        super().__init__(
            frame, Outside(center, radius), Parameters(stiffness, **options), target_timeout, name, weight
        )
