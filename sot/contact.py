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
from sot.model import Model
from sot.reference import Reference
from sot.task import FeatureTask
from sot.wrench_cone import checked_points, wrench_cone


class Contact(FeatureTask):
    """Holds the points of a frame where they touch.

    The frame's wrench is w = B y (see `sot.wrench_cone`), with as many unknowns y as the contact has: three for a point,
    five for a line, six for a surface. What it holds still is dual to that: Bᵀ J v = 0. At velocity level that is all; at
    torque level y is found too, inside the friction cone.

    Attributes:
        cone: What it can push, known after `setup`.
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
            normal: Normal of the surface towards the robot, in the frame.
            min_force: Smallest normal force, N.
            max_force: Largest normal force, N.
            facets: Edges of the pyramid inside each point's friction cone.
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
        direction = vector(normal, 3, f"{self.name}: normal", repeat=False)
        size = float(np.linalg.norm(direction))
        if not (size > 1e-9):
            raise TaskError(f"{self.name}: normal: is zero")
        self.normal = direction / size

    def default_name(self) -> str:
        return f"contact_{self.frame}"

    def setup(self, model: Model) -> None:
        super().setup(model)
        self.cone = wrench_cone(self._points_of(model), self.normal, self.friction, self.facets)
        self._dim = 6
        self.picked = np.arange(self.cone.size)

    def _points_of(self, model: Model) -> np.ndarray:
        """Those given, those of the robot's foot, or the frame's origin."""
        if self.points is not None:
            return self.points
        feet = {foot.frame: foot.points for foot in model.robot.feet}
        return np.asarray(feet.get(self.frame, np.zeros((1, 3))), dtype=float)

    def force_jacobian(self, model: Model) -> np.ndarray:
        """Bᵀ J: the generalised force of y is its transpose times y, shape (r, nv)."""
        return self.cone.basis.T @ self.feature.jacobian(model)

    def rows(self, model: Model, tick: Tick) -> Rows:
        return self._dual(super().rows_of_all(model, tick))

    def acceleration(self, model: Model, tick: Tick) -> Rows:
        return self._dual(super().acceleration_of_all(model, tick))

    def _dual(self, rows: Rows) -> Rows:
        wanted = self.cone.basis.T @ rows.lower
        return Rows(self.cone.basis.T @ rows.A, wanted, wanted)

    def force_rows(self) -> Rows:
        """Friction cone and normal force, on y."""
        cone = self.cone
        A = np.vstack([cone.facets, cone.normal])
        lower = np.append(np.full(len(cone.facets), -np.inf), self.min_force)
        return Rows(A, lower, np.append(np.zeros(len(cone.facets)), self.max_force))

    def labels(self, count: int) -> list[str]:
        """Rows of the motion, then (at torque level) facets of the cone and the normal force."""
        motion = [f"hold {label}" for label in self.cone.labels]
        cone = [f"friction {i}" for i in range(count - len(motion) - 1)]
        return [*motion, *cone, "normal force"][:count]

    def units(self, count: int) -> list[str]:
        return [""] * count


