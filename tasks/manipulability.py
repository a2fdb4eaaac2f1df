"""Raise the manipulability of a frame."""

from __future__ import annotations

import math

import numpy as np

from sot.checks import positive
from sot.entry import Entry, Rows, Tick
from sot.features.selection import Joints
from sot.model import Model
from sot.singularity import Chain
from sot.task import Mask

FLOOR = 0.01  # singular values below this count as no better than it: keeps the logarithm smooth at zero
STEEP = 0.5  # slope of log w, per rad, from which on the way up is taken at the full rate


class Manipulability(Entry):
    """Leads joints uphill in the manipulability w of a frame, towards a goal or as far as it goes.

    For the joints that carry the frame it asks v = r g / (‖g‖² + μ²), with g = ∇ log w, so that w grows at the
    relative rate r = λ min(log(w*/w), 1): at most λ per second however far the goal is, and not at all above it.
    μ² = (s² − ‖g‖²)²/s² below the slope s = 0.5/rad, else 0: towards the top the motion fades out.

    Put it on a low level, where what higher levels leave free is led uphill. It asks its joints for a velocity each, as
    a posture does, and not for a rate of w in one row: that row would have to be met at any joint speed just where
    higher levels leave no way up.
    """

    kind = "manipulability"

    def __init__(
        self,
        frame: str,
        goal: float | None = None,
        mask: Mask | None = None,
        length: float | None = None,
        joints: Joints | None = None,
        *,
        name: str | None = None,
        gain: float = 1.0,
        weight: float = 1.0,
    ) -> None:
        """
        Args:
            frame: Name of the frame.
            goal: Manipulability w* up to which it is raised; by default as far as possible.
            mask: Rows of its Jacobian, by label: x, y, z, rx, ry, rz; or a boolean per row.
            length: Metres that count as much as a radian; by default from the robot, see `sot.singularity.Chain`.
            joints: Names or patterns among the joints that carry the frame; by default all but the base.
            name: Name in reports and look-ups; by default `manipulability_<frame>`.
            gain: λ in 1/s, the largest relative rate at which w is raised.
            weight: Importance against the other entries of the same level.
        """
        self.frame = frame
        super().__init__(name=name, weight=weight)
        self.mask, self.length, self.joints = mask, length, joints
        self.goal = None if goal is None else positive(goal, f"{self.name}: goal")
        self.gain = positive(gain, f"{self.name}: gain")

    def default_name(self) -> str:
        return f"manipulability_{self.frame}"

    def setup(self, model: Model) -> None:
        self._chain = Chain(model, self.frame, self.mask, self.length, self.joints, self.name)
        columns = self._chain.columns[self._chain.chosen]
        self._rows = np.eye(model.nv)[columns]
        self._names = [model.velocity_names()[i] for i in columns]

    def rows(self, model: Model, tick: Tick) -> Rows:
        height, g = self._slope(model)
        missing = np.inf if self.goal is None else max(float(np.log(self.goal)) - height, 0.0)
        rate = min(missing * -math.expm1(-self.gain * tick.dt) / tick.dt, self.gain)
        square = float(g @ g)
        damping = max(STEEP**2 - square, 0.0) ** 2 / STEEP**2
        v = (rate / (square + damping)) * g
        return Rows(self._rows, v, v)

    def _slope(self, model: Model) -> tuple[float, np.ndarray]:
        """log w = Σ ½ log(σ² + ε²), and its slope along each chosen joint, Σ σ/(σ² + ε²) ∇σ."""
        chain, twists = self._chain, self._chain.twists(model)
        spectrum = chain.spectrum(twists)
        squares = spectrum.sigma**2 + FLOOR**2
        g = (spectrum.sigma / squares) @ chain.gradients(twists, spectrum)
        return 0.5 * float(np.log(squares).sum()), g[chain.chosen]

    def labels(self, count: int) -> list[str]:
        return self._names

    def facts(self, model: Model, tick: Tick, v: np.ndarray) -> dict[str, float | str]:
        sigma = self._chain.spectrum(self._chain.twists(model)).sigma
        return {"manipulability": float(np.prod(sigma)), "sigma_min": float(sigma[0])}
