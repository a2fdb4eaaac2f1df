"""Centroidal momentum."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sot.entry import Rows, Tick
from sot.errors import ModelError
from sot.feature import Value
from sot.gain import Gain
from sot.model import Model
from sot.rate_task import RateTask
from sot.reference import Reference
from sot.sketch import CALM, Drawing, Line
from sot.task import Mask
from sot.wanted import Numbers

LABELS = ["x", "y", "z", "rx", "ry", "rz"]
GROUPS = {"linear": LABELS[:3], "angular": LABELS[3:]}
ARROW = 0.1  # m per m/s or rad/s


class CentroidalMomentum(RateTask):
    """Drives the robot's momentum to h*, by default to zero: with h = A v, linear and about the centre of mass,

        velocity level   A v = h*
        torque level     A v̇ + Ȧ v = ḣ* − λ (h − h*)

    Six rows. They are divided by the mass and by the mean inertia about the centre of mass at home, so that they are
    speeds, of the centre of mass (m/s) and of the robot as a whole (rad/s): linear and angular rows, and those of
    other tasks, are then of one size. Both divisors are constant, so the law stays exact.

        calm = CentroidalMomentum(mask="angular", gain=5.0)  # damps what arms and legs swing
    """

    kind = "momentum"

    def __init__(
        self,
        *,
        reference: Reference | Value | None = None,
        name: str | None = None,
        gain: float | Sequence[float] | Gain = 5.0,
        weight: float = 1.0,
        mask: Mask | None = None,
    ) -> None:
        """
        Args:
            reference: h*: three numbers in kg·m/s, then three in kg·m²/s, in the axes of the world; or a reference,
                which starts from the momentum that the robot then has. By default zero.
            name: Name in reports and look-ups; by default `momentum`.
            gain: λ in 1/s at torque level: one number, one per row, an AdaptiveGain or a PD.
            weight: Importance against the other tasks of the same level.
            mask: Rows to keep: `linear`, `angular`, or by label: x, y, z, rx, ry, rz; or a boolean per row.
        """
        zero = [0.0] * 6 if reference is None else reference
        super().__init__(Numbers(LABELS), reference=zero, name=name, gain=gain, weight=weight, mask=mask)

    def named_rows(self, mask: Mask | None) -> Mask | None:
        return GROUPS.get(mask, mask) if isinstance(mask, str) else mask

    def setup(self, model: Model) -> None:
        mass = model.mass
        if not (mass > 0.0):
            raise ModelError(f"robot '{model.robot.name}' has no mass, so it has no momentum")
        q, v = model.q, model.v
        model.update(model.robot.home, np.zeros(model.nv))
        inertia = float(np.trace(model.centroidal_inertia)) / 3.0
        model.update(q, v)
        # A robot of points that all lie in one has no inertia to divide by.
        self._scale = 1.0 / np.repeat([mass, max(inertia, 1e-6 * mass)], 3)

    def measure(self, model: Model) -> np.ndarray:
        return model.momentum

    def rows(self, model: Model, tick: Tick) -> Rows:
        wanted = self.wanted.value + 0.5 * tick.dt * self.wanted.speed(0.0)  # in the middle of the tick
        return self.kept(self._scale[:, None] * model.momentum_jacobian, self._scale * wanted)

    def dynamic_rows(self, model: Model, tick: Tick) -> Rows:
        wanted = self.wanted_rate(model, tick) - model.momentum_drift
        return self.kept(self._scale[:, None] * model.momentum_jacobian, self._scale * wanted)

    def facts(self, model: Model, tick: Tick, v: np.ndarray) -> dict[str, float | str]:
        """Momentum at the commanded velocity, kg·m/s and kg·m²/s."""
        momentum = model.momentum_jacobian @ v
        linear, angular = (float(np.linalg.norm(part)) for part in (momentum[:3], momentum[3:]))
        return {"linear momentum": linear, "angular momentum": angular}

    def sketch(self, model: Model) -> list[Drawing]:
        """From the centre of mass: its velocity, and the axis about which the robot turns."""
        speeds, start = self._scale * model.momentum, model.com
        parts = (("linear", speeds[:3]), ("angular", speeds[3:]))
        return [Line(name, start, start + ARROW * part, CALM, arrow=True) for name, part in parts]
