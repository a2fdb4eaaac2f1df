"""Joints that follow others, as gears make them: a stiff spring and damper between each pair."""

from __future__ import annotations

import numpy as np

from sot.errors import ConfigError
from sot.model import Model

STIFF, DAMPED = 0.1, 0.5  # times the inertia over the step squared, and over the step: fast, and stable by far


class Followers:
    """e = q_joint − ratio q_of − offset goes to zero by λ = −k e − d ė: λ on one joint, −ratio λ on the other."""

    def __init__(self, model: Model, h: float) -> None:
        """
        Args:
            model: The robot.
            h: Length of a step, s.
        """
        mimics = model.robot.mimics
        self._rows = np.zeros((len(mimics), model.nv))
        self._places, self._offsets = [], np.array([mimic.offset for mimic in mimics])
        for row, mimic in zip(self._rows, mimics, strict=True):
            joints = [model.joint(mimic.joint), model.joint(mimic.of)]
            if not all(joint.is_scalar for joint in joints):
                raise ConfigError(f"robot '{model.robot.name}': '{mimic.joint}' or its leader has several coordinates")
            row[joints[0].v], row[joints[1].v] = 1.0, -mimic.ratio
            self._places.append([joint.q.start for joint in joints])
        self._ratios = np.array([mimic.ratio for mimic in mimics])
        if mimics:
            model.update(model.robot.home, np.zeros(model.nv))
            inertia = 1.0 / np.einsum("ij,ij->i", self._rows @ np.linalg.inv(model.mass_matrix), self._rows)
            self._k, self._d = STIFF * inertia / h**2, DAMPED * inertia / h

    def torques(self, q: np.ndarray, v: np.ndarray) -> np.ndarray | float:
        """What the gears do to the joints, shape (nv,)."""
        if not self._places:
            return 0.0
        pairs = q[np.array(self._places)]
        error = pairs[:, 0] - self._ratios * pairs[:, 1] - self._offsets
        return -self._rows.T @ (self._k * error + self._d * (self._rows @ v))
