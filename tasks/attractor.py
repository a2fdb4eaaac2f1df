"""A frame that a region attracts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sot.attractor import Parameters, Region
from sot.attractor.fixture import Fixture
from sot.attractor.parameters import Matrix
from sot.model import ALIGNED, Model
from sot.task import Task


class Attractor(Fixture, Task):
    """Pulls a frame to a region with a spring and a damper: f = K (p_a − p) − C (I − P) v + f*. Three rows, m.

        hand = Attractor("panda_hand_tcp", Plane(point=[0.4, 0.0, 0.5], normal=[0, 0, 1]), stiffness=800.0)

    At torque level the force enters as it would on the robot's own inertia: τ = Jᵀf + h along what is held. At velocity
    level the damper sets the pace, C ẋ = f. Along what is free, a plane for instance, lower levels move the frame.
    """

    kind = "attractor"

    def __init__(
        self,
        frame: str,
        region: Region,
        stiffness: Matrix = 500.0,
        *,
        damping: Matrix | None = None,
        damping_ratio: float = 1.0,
        cap: float | None = None,
        rate: float | None = None,
        push: Sequence[float] = (0.0, 0.0, 0.0),
        timeout: float = 0.05,
        target_timeout: float | None = None,
        legacy: bool = False,
        name: str | None = None,
        weight: float = 1.0,
    ) -> None:
        """
        Args:
            frame: Name of the frame whose origin is attracted.
            region: Where to: a region of `sot.attractor`.
            stiffness: K, one number, three, or a symmetric 3×3 matrix, N/m. A Gaussian says its own.
            damping: C, written like the stiffness, N·s/m; in place of the ratio.
            damping_ratio: ζ, in C = 2ζ √(K Λ) with Λ the effective mass of the robot at the frame.
            cap: Greatest force, N; it keeps its direction.
            rate: Greatest change of the force, N/s.
            push: f*, a force that is added, N.
            timeout: How long the last force is held while the state does not move on, s; then it fades to zero.
            target_timeout: A region that is set while running must be set again within this time, s.
            legacy: Damp only along p_a − p.
            name: Name in reports and look-ups; by default `attractor_<frame>`.
            weight: Importance against the other tasks of the same level.
        """
        self.frame = frame
        super().__init__(name=name, weight=weight)
        parameters = Parameters(stiffness, damping, damping_ratio, cap, rate, push, timeout, legacy=legacy)
        self._attach(frame, region, parameters, target_timeout)

    def default_name(self) -> str:
        return f"attractor_{self.frame}"

    def setup(self, model: Model) -> None:
        Fixture.setup(self, model)
        self._fit(3)

    def error(self, model: Model) -> np.ndarray:
        p = model.placement(self._frame).translation
        hold = self.region.at(p)
        return hold.axes @ (p - hold.point)

    def jacobian(self, model: Model) -> np.ndarray:
        hold = self.region.at(model.placement(self._frame).translation)
        return np.where(hold.left[:, None], hold.axes @ self._jacobian(model), 0.0)

    def drift(self, model: Model) -> np.ndarray:
        hold = self.region.at(model.placement(self._frame).translation)
        return np.where(hold.left, hold.axes @ model.drift(self._frame, ALIGNED)[:3], 0.0)

    def row_labels(self, dim: int) -> list[str]:
        return ["x", "y", "z"][:dim]


