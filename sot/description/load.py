"""Loads on a model."""

from __future__ import annotations

import dataclasses

import numpy as np
import pinocchio as pin

from sot.description import Description


def with_own_model(robot: Description) -> Description:
    """The same robot with a copy of its model, which may be changed without changing the original."""
    return dataclasses.replace(robot, pin_model=robot.pin_model.copy())


def add_mass(model: pin.Model, joint: int, point: np.ndarray, mass: float) -> None:
    """Put a point mass onto a joint's body, in place; a negative one takes it off again.

    Args:
        model: The model that is changed.
        joint: Index of the joint.
        point: Where, in the joint's axes, m.
        mass: kg.
    """
    body = model.inertias[joint]
    total = body.mass + mass
    if not (total > 0.0):
        model.inertias[joint] = pin.Inertia.Zero()
        return
    # Moments about the joint's origin add up; the inertia about the new centre follows by Steiner's theorem.
    lever = (body.mass * body.lever + mass * point) / total
    about_origin = body.inertia + _steiner(body.mass, body.lever) + _steiner(mass, point)
    model.inertias[joint] = pin.Inertia(total, lever, about_origin - _steiner(total, lever))


def _steiner(mass: float, lever: np.ndarray) -> np.ndarray:
    """Moments of a point mass about the origin, kg·m²."""
    return mass * (lever @ lever * np.eye(3) - np.outer(lever, lever))
