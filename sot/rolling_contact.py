"""Contacts that roll."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sot.checks import positive, vector
from sot.contact import Contact
from sot.errors import TaskError
from sot.feature import Value
from sot.gain import Gain
from sot.lie import skew
from sot.model import ALIGNED, Model
from sot.reference import Reference


class RollingContact(Contact):
    """A ball that rolls on a plane without slipping: a ball foot, or a wheel that may tip over.

    The point of the ball that touches has no velocity, v + ω × (−r n) = 0, whichever point that is. So the centre may
    go anywhere along the plane; its height is held.

    Attributes:
        to_ground: From the centre to the point that touches, in the axes of the world, m; known after `setup`.
    """

    kind = "rolling_contact"

    def __init__(
        self,
        frame: str,
        radius: float | None = None,
        center: Sequence[float] | None = None,
        friction: float = 0.7,
        normal: Sequence[float] = (0.0, 0.0, 1.0),
        min_force: float = 0.0,
        max_force: float = 1e5,
        facets: int = 4,
        max_drift: float = 0.02,
        *,
        reference: Reference | Value | None = None,
        name: str | None = None,
        gain: float | Sequence[float] | Gain = 20.0,
        weight: float = 1.0,
    ) -> None:
        """
        Args:
            frame: Frame that carries the ball.
            radius: r, m; by default that of the robot's foot.
            center: Centre of the ball in the frame, m; by default that of the robot's foot, else the frame's origin.
            friction: Friction coefficient μ.
            normal: Normal of the plane towards the robot, in the axes of the world.
            min_force: Smallest normal force, N.
            max_force: Largest normal force, N.
            facets: Edges of the pyramid inside the friction cone.
            max_drift: Drift, m, up to which the correction grows.
            reference: Where the frame is, if not where it is when the contact begins; only its height over the plane
                and its speed are looked at.
            name: Name in reports and look-ups; by default `contact_<frame>`.
            gain: λ in 1/s, at which slip and a drift from the plane are corrected.
            weight: Importance against the other entries of the same level.
        """
        super().__init__(
            frame, [[0.0, 0.0, 0.0]], friction, normal, min_force, max_force, facets, max_drift, reference=reference,
            name=name, gain=gain, weight=weight,
        )  # fmt: skip
        self.radius = None if radius is None else positive(radius, f"{self.name}: radius")
        self.center = None if center is None else vector(center, 3, f"{self.name}: center", repeat=False)

    def setup(self, model: Model) -> None:
        foot = {foot.frame: foot for foot in model.robot.feet if foot.radius > 0.0}.get(self.frame)
        radius = self.radius if self.radius is not None or foot is None else foot.radius
        if radius is None:
            raise TaskError(f"{self.name}: radius: give one; '{self.frame}' of '{model.robot.name}' is no ball foot")
        self.to_ground = -radius * self.normal
        center = foot.center if self.center is None and foot is not None else self.center
        self.points = (np.zeros(3) if center is None else center)[None]
        super().setup(model)

    def _velocities(self, model: Model) -> np.ndarray:
        J = model.jacobian(self._frame_id, ALIGNED)
        return J[:3] - skew(self._arm(model) + self.to_ground) @ J[3:]

    def error(self, model: Model) -> np.ndarray:
        return super().error(model) * self.cone.normal  # the height alone

    def _point_drift(self, model: Model) -> np.ndarray:
        turning = model.drift(self._frame_id, ALIGNED)[3:]
        return super()._point_drift(model) + np.cross(turning, self.to_ground)

    def touching_points(self, model: Model) -> np.ndarray:
        return super().touching_points(model) + self.to_ground

    def wrenches_in_world(self, model: Model, about: np.ndarray) -> np.ndarray:
        force, arm = self.push[:3], self.touching_points(model)[0] - about
        return np.vstack([force, skew(arm) @ force])
