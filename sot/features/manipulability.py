"""Manipulability of a frame."""

from __future__ import annotations

import numpy as np

from sot import singularity
from sot.feature import Feature
from sot.features.selection import Joints
from sot.model import Model
from sot.task import Mask


class Manipulability(Feature):
    """Product of the singular values of a frame's Jacobian, w = √det(J Jᵀ), or √det(Jᵀ J) with fewer joints than rows.

    ∇w = Σ_i (Π_{j≠i} σ_j) ∇σ_i, which needs no division and so exists at w = 0 too. There w has a kink, and the
    gradient is that of one of its two sides.
    """

    dim = 1

    def __init__(
        self,
        frame: str,
        mask: Mask | None = None,
        length: float | None = None,
        joints: Joints | None = None,
    ) -> None:
        """
        Args:
            frame: Name of the frame.
            mask: Rows of its Jacobian, by label: x, y, z, rx, ry, rz; or a boolean per row.
            length: Metres that count as much as a radian; by default from the robot, see `sot.singularity.Chain`.
            joints: Names or patterns among the joints that carry the frame; by default all but the base.
        """
        self.frame, self.mask, self.length, self.joints = frame, mask, length, joints

    def setup(self, model: Model) -> None:
        where = f"manipulability of '{self.frame}'"
        self.chain = singularity.Chain(model, self.frame, self.mask, self.length, self.joints, where)

    def value(self, model: Model) -> np.ndarray:
        return np.prod(self.chain.spectrum(self.chain.twists(model)).sigma, keepdims=True)

    def jacobian(self, model: Model) -> np.ndarray:
        twists = self.chain.twists(model)
        spectrum = self.chain.spectrum(twists)
        J = np.zeros((1, model.nv))
        J[0, self.chain.columns] = others(spectrum.sigma) @ self.chain.gradients(twists, spectrum)
        return J

    def labels(self) -> list[str]:
        return ["manipulability"]


def others(sigma: np.ndarray) -> np.ndarray:
    """For each value the product of all others."""
    table = np.tile(sigma, (sigma.size, 1))
    np.fill_diagonal(table, 1.0)
    return table.prod(axis=1)
