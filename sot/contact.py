"""A frame that touches something: it does not move against it, and may push, not pull."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sot.checks import positive, vector
from sot.entry import Rows, Tick
from sot.errors import TaskError
from sot.feature import Value
from sot.features.frame import FramePose
from sot.gain import Gain
from sot.lie import skew
from sot.model import ALIGNED, Model
from sot.reference import Reference
from sot.sketch import Drawing
from sot.task import FeatureTask
from sot.wrench_cone import WrenchCone, checked_points, wrench_cone


class Contact(FeatureTask):
    """Holds the points of a frame where they touch.

    The frame's wrench is w = B y (see `sot.wrench_cone`), with as many unknowns y as the contact has: three for a
    point, five for a line, six for a surface. What it holds still is dual to that: Bᵀ J v = 0. At velocity level that
    is all; at torque level y is found too, inside the friction cone.

    Attributes:
        cone: What it can push, known after `setup`.
        point: The point in the frame, m, if it touches at just one.
        push: From y to the wrench on the robot, shape (6, r); what is held still is its dual.
    """

    kind = "contact"

    def __init__(
        self,
        frame: str,
        points: Sequence[Sequence[float]] | None = None,
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
            frame: Frame of the foot or hand.
            points: Where it touches, in the frame, m; by default those of the robot's description, else its origin.
            friction: Friction coefficient μ.
            normal: Normal of the surface towards the robot: in the axes of the frame, which lies on the surface; for a
                single point in those of the world.
            min_force: Smallest normal force, N.
            max_force: Largest normal force, N.
            facets: Edges of the pyramid inside each point's friction cone.
            max_drift: Drift, m and rad, up to which the correction grows; a contact that slipped further is corrected
                no faster.
            reference: Where the frame is held, if not where it is when the contact begins; may move.
            name: Name in reports and look-ups; by default `contact_<frame>`.
            gain: λ in 1/s, at which a drift of the contact is corrected.
            weight: Importance against the other entries of the same level.
        """
        self.frame = frame
        super().__init__(FramePose(frame, expressed="local"), reference=reference, name=name, gain=gain, weight=weight)
        self.points = None if points is None else checked_points(points, f"{self.name}: points")
        self.friction = positive(friction, f"{self.name}: friction")
        self.min_force = positive(min_force, f"{self.name}: min_force", zero=True)
        self.max_force = positive(max_force, f"{self.name}: max_force")
        if not (self.min_force < self.max_force):
            raise TaskError(f"{self.name}: min_force: {min_force:g} N is not below max_force, {max_force:g} N")
        if not (isinstance(facets, int) and facets >= 3):
            raise TaskError(f"{self.name}: facets: expected an integer from 3 on, got {facets!r}")
        self.facets = facets
        self.max_drift = positive(max_drift, f"{self.name}: max_drift")
        direction = vector(normal, 3, f"{self.name}: normal", repeat=False)
        size = float(np.linalg.norm(direction))
        if not (size > 1e-9):
            raise TaskError(f"{self.name}: normal: is zero")
        self.normal = direction / size

    def default_name(self) -> str:
        return f"contact_{self.frame}"

    def setup(self, model: Model) -> None:
        self.feature.setup(model)
        self._frame_id = model.frame(self.frame)
        points = self._touching = self._points_of(model)
        self.point = points[0] if len(points) == 1 else None
        # A single point has no orientation of its own: its forces are written in the axes of the world.
        self.cone = self._cone(points if self.point is None else np.zeros((1, 3)))
        self.push = self.cone.basis
        self._fit(self.cone.size)

    def _cone(self, points: np.ndarray) -> WrenchCone:
        """What these points can push."""
        return wrench_cone(points, self.normal, self.friction, self.facets)

    def _points_of(self, model: Model) -> np.ndarray:
        """Those given, those of the robot's foot, or the frame's origin."""
        if self.points is not None:
            return self.points
        feet = {foot.frame: foot.points for foot in model.robot.feet}
        return np.asarray(feet.get(self.frame, np.zeros((1, 3))), dtype=float)

    # -- motion: what is dual to the forces y -----------------------------------------------------------

    def error(self, model: Model) -> np.ndarray:
        if self.point is None:
            return self.cone.basis.T @ super().error(model)
        actual, target = self.feature.value(model), self.current().value
        return self.cone.basis[:3].T @ (actual.act(self.point) - target.act(self.point))

    def bounded(self, error: np.ndarray) -> np.ndarray:
        norm = float(np.linalg.norm(error))
        return error if norm <= self.max_drift else error * (self.max_drift / norm)

    def jacobian(self, model: Model) -> np.ndarray:
        """Bᵀ J, shape (r, nv)."""
        J = self._velocities(model)
        return self.cone.basis[: len(J)].T @ J

    def force_jacobian(self, model: Model) -> np.ndarray:
        """The generalised force of y is its transpose times y, shape (r, nv)."""
        J = self._velocities(model)
        return self.push[: len(J)].T @ J

    def _velocities(self, model: Model) -> np.ndarray:
        """Jacobian of the frame in its own axes, shape (6, nv); of a single point in those of the world, (3, nv)."""
        if self.point is None:
            return super().jacobian(model)
        J = model.jacobian(self._frame_id, ALIGNED)
        return J[:3] - skew(self._arm(model)) @ J[3:]

    def drift(self, model: Model) -> np.ndarray:
        if self.point is None:
            return self.cone.basis.T @ super().drift(model)
        return self.cone.basis[:3].T @ self._point_drift(model)

    def _point_drift(self, model: Model) -> np.ndarray:
        """Acceleration of the point when v̇ = 0, in the axes of the world."""
        drift, arm = model.drift(self._frame_id, ALIGNED), self._arm(model)
        turning = model.velocity(self._frame_id, ALIGNED)[3:]
        return drift[:3] + np.cross(drift[3:], arm) + np.cross(turning, np.cross(turning, arm))

    def _arm(self, model: Model) -> np.ndarray:
        """From the frame's origin to the point, in the axes of the world."""
        return model.placement(self._frame_id).rotation @ self.point

    def feedforward(self, tick: Tick) -> np.ndarray:
        return self._of_target(super().feedforward(tick))

    def target_motion(self, tick: Tick) -> tuple[np.ndarray, np.ndarray]:
        velocity, acceleration = super().target_motion(tick)
        if self.point is not None:
            turn = np.cross(velocity[3:], velocity[:3] + np.cross(velocity[3:], self.point))
            acceleration = np.concatenate([acceleration[:3] + turn, acceleration[3:]])
        return self._of_target(velocity), self._of_target(acceleration)

    def _of_target(self, twist: np.ndarray) -> np.ndarray:
        """Speed of what is touched, from its twist in its own axes."""
        if self.point is None:
            return self.cone.basis.T @ twist
        R = self.current().value.rotation
        return self.cone.basis[:3].T @ R @ (twist[:3] + np.cross(twist[3:], self.point))

    # -- forces ---------------------------------------------------------------------------------------

    def wrench(self, y: np.ndarray) -> np.ndarray:
        """Force and torque on the robot: in the frame's axes about its origin; of a point in the world's, about it."""
        return self.push @ y

    def wrenches_in_world(self, model: Model, about: np.ndarray) -> np.ndarray:
        """G: G y is its force and torque on the robot in the axes of the world, torque about a point, shape (6, r)."""
        T = model.placement(self._frame_id)
        if self.point is not None:
            force, arm = self.push[:3], T.act(self.point) - about
            return np.vstack([force, skew(arm) @ force])
        force = T.rotation @ self.push[:3]
        return np.vstack([force, T.rotation @ self.push[3:] + skew(T.translation - about) @ force])

    def touching_points(self, model: Model) -> np.ndarray:
        """Where it touches now, in the world, m, shape (k, 3)."""
        T = model.placement(self._frame_id)
        return self._touching @ T.rotation.T + T.translation

    def normal_in_world(self, model: Model) -> np.ndarray:
        """Normal of the surface now, shape (3,)."""
        return self.normal if self.point is not None else model.placement(self._frame_id).rotation @ self.normal

    def force_rows(self) -> Rows:
        """Friction cone and normal force, on y."""
        cone = self.cone
        A = np.vstack([cone.facets, cone.normal])
        lower = np.append(np.full(len(cone.facets), -np.inf), self.min_force)
        return Rows(A, lower, np.append(np.zeros(len(cone.facets)), self.max_force))

    def sketch(self, model: Model) -> list[Drawing]:
        from sot.contact_sketch import sketch

        return sketch(self, model)

    def row_labels(self, dim: int) -> list[str]:
        """Directions in which it is held: those of its forces."""
        return [f"hold {label}" for label in self.cone.labels]

    def units(self, count: int) -> list[str]:
        return ["m" if label.startswith("hold f") else "rad" for label in self.labels(count)]
