"""Robots that cannot be simulated: those with parts that have no mass."""

from __future__ import annotations

import numpy as np

from sot.errors import ConfigError
from sot.model import Model

LIGHT = 1e-12  # smallest eigenvalue of the mass matrix, scaled to a diagonal of 1


def check_masses(model: Model) -> None:
    """Refuse robots with parts that have no mass: any force would throw them to infinity."""
    model.update(model.robot.home, np.zeros(model.nv))
    M = model.mass_matrix
    size = np.sqrt(np.diag(M))
    none = ~(size > 0.0)
    scaled = M / np.outer(size, size) if not none.any() else np.zeros_like(M)
    if not (np.linalg.eigvalsh(scaled)[0] > LIGHT):
        names = [name for name, zero in zip(model.velocity_names(), none, strict=True) if zero]
        what = f"joints without inertia: {', '.join(names)}" if names else "parts without mass"
        raise ConfigError(
            f"robot '{model.robot.name}' cannot be simulated: it has {what}; lock them, or give them a rotor_inertia"
        )
