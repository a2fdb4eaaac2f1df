"""The centre of mass."""

from __future__ import annotations

import numpy as np

from sot.errors import ModelError
from sot.feature import Feature
from sot.model import Model


class CenterOfMass(Feature):
    """Centre of mass of the whole robot in the world, m. Three rows."""

    dim = 3

    def setup(self, model: Model) -> None:
        if not (model.mass > 0.0):
            raise ModelError(f"robot '{model.robot.name}' has no mass, so it has no centre of mass")

    def value(self, model: Model) -> np.ndarray:
        return model.com

    def jacobian(self, model: Model) -> np.ndarray:
        return model.com_jacobian

    def drift(self, model: Model) -> np.ndarray:
        return model.com_drift

    def labels(self) -> list[str]:
        return ["x", "y", "z"]
