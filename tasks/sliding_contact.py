"""Contacts that slide."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sot.checks import positive
from sot.contact import Contact
from sot.entry import Tick
from sot.feature import Value
from sot.gain import Gain
from sot.model import ALIGNED, LOCAL, Model
from sot.reference import Reference
from sot.wrench_cone import WrenchCone, pressure_cone


class SlidingContact(Contact):
    """Stays on its surface and slides along it; kinetic friction slows it down.

    It holds still along the normal, and does not tilt. Its unknowns are the normal force and, for a line or a surface,
    where it acts. Friction is known from how it slides, at the centre of pressure:

        f_t = −μ f_n v_t / √(‖v_t‖² + v₀²)
    """

    kind = "sliding_contact"

    def __init__(
        self,
        frame: str,
        points: Sequence[Sequence[float]] | None = None,
        friction: float = 0.0,
        normal: Sequence[float] = (0.0, 0.0, 1.0),
        min_force: float = 0.0,
        max_force: float = 1e5,
        slow: float = 1e-3,
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
            friction: Coefficient of kinetic friction μ; 0: none.
            normal: Normal of the surface towards the robot: in the axes of the frame; for a single point in those of
                the world.
            min_force: Smallest normal force, N.
            max_force: Largest normal force, N.
            slow: v₀, speed below which friction fades out, m/s.
            max_drift: Drift, m and rad, up to which the correction grows.
            reference: Where the frame is on its surface, if not where it is when the contact begins; what it has along
                the surface is not looked at.
            name: Name in reports and look-ups; by default `contact_<frame>`.
            gain: λ in 1/s, at which a drift from the surface is corrected.
            weight: Importance against the other entries of the same level.
        """
        super().__init__(
            frame, points, 1.0, normal, min_force, max_force, max_drift=max_drift, reference=reference, name=name,
            gain=gain, weight=weight,
        )  # fmt: skip
        self.friction = positive(friction, f"{self.name}: friction", zero=True)
        self.slow = positive(slow, f"{self.name}: slow")

    def _cone(self, points: np.ndarray) -> WrenchCone:
        self._height = float(points.mean(axis=0) @ self.normal)
        return pressure_cone(points, self.normal)

    def begin(self, model: Model, tick: Tick) -> None:
        super().begin(model, tick)
        self.push = self.cone.basis + self._friction(self._direction(model))

    def _direction(self, model: Model) -> np.ndarray:
        """v_t / √(‖v_t‖² + v₀²), in the axes of the forces, shape (3,)."""
        point = self._touching.mean(axis=0)
        twist = model.velocity(self._frame_id, LOCAL if self.point is None else ALIGNED)
        arm = point if self.point is None else self._arm(model)
        v = twist[:3] + np.cross(twist[3:], arm)
        v = v - (v @ self.normal) * self.normal
        return v / np.sqrt(v @ v + self.slow**2)

    def _friction(self, direction: np.ndarray) -> np.ndarray:
        """Friction of each unknown: forces −μ fᵢ t at points pᵢ add up to −μ Σfᵢ t and a torque −μ (Σ fᵢ pᵢ) × t."""
        forces, torques = self.normal @ self.cone.basis[:3], self.cone.basis[3:]
        levers = np.cross(self.normal, torques.T).T + np.outer(self.normal, self._height * forces)  # Σ fᵢ pᵢ
        return -self.friction * np.vstack([np.outer(direction, forces), np.cross(levers.T, direction).T])
