"""A frame that a region attracts, and an orientation too if one is given."""

from __future__ import annotations

from typing import Any

import numpy as np

from sot.attractor import Parameters, Region
from sot.attractor.facing import Facing, Rotation
from sot.attractor.fixture import LABELS, Fixture
from sot.attractor.options import with_options_of
from sot.attractor.parameters import Matrix
from sot.errors import TaskError
from sot.model import ALIGNED, Model
from sot.task import Task


class Attractor(Fixture, Task):
    """Pulls a frame to a region with a spring and a damper: f = K (p_a − p) − C (I − P) v + f*. Three rows, m.

        hand = Attractor("panda_hand_tcp", Plane(point=[0.4, 0.0, 0.5], normal=[0, 0, 1]), stiffness=800.0)

    With an `orientation` it is turned as well, by the same law for rotation vectors, and there are six rows, m and rad.
    With `free="z"` it may spin about its own z axis.

    At torque level the force enters as it would on the robot's own inertia: τ = Jᵀf + h along what is held. At velocity
    level the damper sets the pace, C ẋ = f. Along what is free, a plane for instance, lower levels move the frame.
    """

    kind = "attractor"

    @with_options_of(Parameters)
    def __init__(
        self,
        frame: str,
        region: Region,
        stiffness: Matrix = 500.0,
        *,
        orientation: Rotation | None = None,
        free: str = "",
        rotational_stiffness: Matrix = 20.0,
        rotational_damping: Matrix | None = None,
        torque_cap: float | None = None,
        target_timeout: float | None = None,
        name: str | None = None,
        weight: float = 1.0,
        **options: Any,
    ) -> None:
        """
        Args:
            frame: Name of the frame whose origin is attracted.
            region: Where to: a region of `sot.attractor`.
            stiffness: K, one number, three, or a symmetric 3×3 matrix, N/m. A Gaussian says its own.
            orientation: Which orientation attracts: roll, pitch and yaw (rad), a quaternion (x y z w) or a 3×3 matrix.
            free: Axes of the frame about which it may turn as it likes: one or two of x, y and z.
            rotational_stiffness: As the stiffness, about the axes of the world, N·m/rad.
            rotational_damping: As the damping, N·m·s/rad.
            torque_cap: Greatest moment, N·m; it keeps its axis.
            target_timeout: A region or orientation set while running must be set again within this time, s.
            name: Name in reports and look-ups; by default `attractor_<frame>`.
            weight: Importance against the other tasks of the same level.
        """
        self.frame, self.free = frame, free
        super().__init__(name=name, weight=weight)
        parameters = Parameters(stiffness, **options)
        rotational = Parameters(
            rotational_stiffness, rotational_damping, parameters.damping_ratio, torque_cap,
            timeout=parameters.timeout, fade=parameters.fade,
        )  # fmt: skip
        if orientation is None and free:
            raise TaskError(f"{self.name}: free: says about which axes of an orientation; give one")
        facing = None if orientation is None else Facing(orientation, free)
        self._attach(frame, region, parameters, target_timeout, facing, rotational)

    @property
    def orientation(self) -> Rotation | None:
        """Which orientation attracts. May be set at any time if there was one; it takes effect at the next tick."""
        return None if self._facing is None else self._facing.orientation

    @orientation.setter
    def orientation(self, orientation: Rotation) -> None:
        if self._facing is None:
            raise TaskError(f"{self.name}: orientation: it has three rows; make it with an orientation")
        if orientation is None:
            raise TaskError(f"{self.name}: orientation: expected one, got None; make it without to let go of it")
        self._facing = Facing(orientation, self.free)
        self._fed()

    @property
    def rotational_stiffness(self) -> Matrix:
        """As it is now, N·m/rad."""
        return self.rotational.stiffness

    @property
    def rotational_damping(self) -> Matrix | None:
        """As it is now, N·m·s/rad."""
        return self.rotational.damping

    @property
    def torque_cap(self) -> float | None:
        """As it is now, N·m."""
        return self.rotational.cap

    def default_name(self) -> str:
        return f"attractor_{self.frame}"

    def setup(self, model: Model) -> None:
        Fixture.setup(self, model)
        if self._facing is not None and not self._B[3:, 3:].any():
            raise TaskError(f"{self.name}: orientation: no joint turns frame '{self.frame}'; leave it out")
        self._fit(self.size)

    def error(self, model: Model) -> np.ndarray:
        place = model.placement(self._frame)
        hold = self.region.at(place.translation)
        error = hold.axes @ (place.translation - hold.point)
        return error if self._facing is None else np.concatenate([error, self._facing.error(place.rotation)])

    def jacobian(self, model: Model) -> np.ndarray:
        place, J = model.placement(self._frame), self._jacobian(model)
        hold = self.region.at(place.translation)
        rows = np.where(hold.left[:, None], hold.axes @ J[:3], 0.0)
        return rows if self._facing is None else np.vstack([rows, self._facing.slope(place.rotation) @ J[3:]])

    def drift(self, model: Model) -> np.ndarray:
        if self._facing is not None:
            return Task.drift(self, model)
        hold = self.region.at(model.placement(self._frame).translation)
        return np.where(hold.left, hold.axes @ model.drift(self._frame, ALIGNED)[:3], 0.0)

    def row_labels(self, dim: int) -> list[str]:
        return LABELS[:dim]
