"""Capture point, the divergent component of motion."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sot.checks import positive
from sot.entry import Rows, Tick
from sot.feature import Value
from sot.gain import Gain, decay
from sot.model import Model
from sot.rate_task import RateTask
from sot.reference import Reference
from sot.sketch import CALM, WARNING, Colour, Drawing, Solid, Sphere
from sot.task import Mask
from sot.wanted import Numbers

GRAVITY = 9.81  # m/s²
LOWEST = 0.05  # m; a robot whose centre of mass is lower does not fall like a pendulum, and ω must stay finite


class CapturePoint(RateTask):
    """Brings the capture point, where the robot would have to step to come to rest, to a place on the ground.

        ξ = c + ċ/ω,   ω = √(g/z),   torque level:  ξ̇ = ċ + c̈/ω = ξ̇* − λ (ξ − ξ*)

    Two rows, x and y, on c̈. The centre of mass c follows by itself, as ċ = ω (ξ − c). On a flat ground the centre of
    pressure is at ξ − ξ̇/ω, so a gain λ takes it beyond ξ by λ/ω of the error; feet that are too small for that are a
    reason for a smaller λ. The robot goes on with each new velocity for a tick, c⁺ = c + dt ċ⁺; with
    c̈ = ω (ξ̇ − ċ)/(1 + ω dt) the decay is exact for every dt.

    At velocity level ξ is what the command makes it, so it is put to ξ* at once: ċ = ω (ξ* − c), by which the centre of
    mass comes to ξ* with the rate ω, as in a robot whose capture point is there.

    The height z is that at the start, or a given one, and stays: ω is a constant of the law.
    """

    kind = "capture_point"

    def __init__(
        self,
        height: float | None = None,
        *,
        reference: Reference | Value | None = None,
        name: str | None = None,
        gain: float | Sequence[float] | Gain = 3.0,
        weight: float = 1.0,
        mask: Mask | None = None,
    ) -> None:
        """
        Args:
            height: z, height of the centre of mass above what it stands on, m. By default that at the start: above the
                contacts' touching points, or above z = 0 where there are none.
            reference: ξ*, a point [x, y] in the world, m, or a reference. By default the place of the centre of mass at
                the start.
            name: Name in reports and look-ups; by default `capture_point`.
            gain: λ in 1/s at torque level: one number, one per row, an AdaptiveGain or a PD.
            weight: Importance against the other tasks of the same level.
            mask: Rows to keep, by label: x, y; or a boolean per row.
        """
        super().__init__(Numbers(["x", "y"]), reference=reference, name=name, gain=gain, weight=weight, mask=mask)
        self.height = None if height is None else positive(height, f"{self.name}: height")
        self.reset()

    def reset(self) -> None:
        super().reset()
        self.omega = 0.0 if self.height is None else math.sqrt(GRAVITY / self.height)  # ω in 1/s; 0 before the start

    def begin(self, model: Model, tick: Tick) -> None:
        if self.omega == 0.0:
            self.omega = math.sqrt(GRAVITY / self._height(model, tick))
        super().begin(model, tick)

    def _height(self, model: Model, tick: Tick) -> float:
        touching = [contact.touching_points(model) for contact in tick.contacts or ()]
        ground = float(np.vstack(touching)[:, 2].mean()) if touching else 0.0
        return max(float(model.com[2]) - ground, LOWEST)

    def start(self, model: Model) -> np.ndarray:
        return model.com[:2]

    def measure(self, model: Model) -> np.ndarray:
        """ξ, m."""
        return model.com[:2] + model.com_jacobian[:2] @ model.v / self.omega

    def rows(self, model: Model, tick: Tick) -> Rows:
        """ċ = ω (ξ* − c), as a decay over the tick."""
        behind = model.com[:2] - self.wanted.value
        return self.kept(model.com_jacobian[:2], -decay(self.omega, behind, tick.dt))

    def dynamic_rows(self, model: Model, tick: Tick) -> Rows:
        J = model.com_jacobian[:2]
        if self.omega == 0.0:  # (rows are counted before the start)
            return self.kept(J, np.zeros(2))
        acceleration = self.omega * (self.wanted_rate(model, tick) - J @ model.v) / (1.0 + self.omega * tick.dt)
        return self.kept(J, acceleration - model.com_drift[:2])

    def facts(self, model: Model, tick: Tick, v: np.ndarray) -> dict[str, float | str]:
        """Where the capture point is, and how far from where it should be, m."""
        if self.omega == 0.0:
            return {}
        point = model.com[:2] + model.com_jacobian[:2] @ v / self.omega
        return {"x": float(point[0]), "y": float(point[1]), "off": float(np.linalg.norm(point - self.wanted.value))}

    def sketch(self, model: Model) -> list[Drawing]:
        """The capture point and its target, under the centre of mass."""
        if self.omega == 0.0:
            return []
        ground = float(model.com[2]) - GRAVITY / self.omega**2
        places = (("capture point", self.measure(model), WARNING), ("target", self.wanted.value, CALM))
        return [_ball(name, place, ground, colour) for name, place, colour in places]


def _ball(name: str, place: np.ndarray, height: float, colour: Colour) -> Solid:
    pose = np.eye(4)
    pose[:3, 3] = *place, height
    return Solid(name, Sphere(0.015), pose, colour)
