"""Limits of a robot's joints, as vectors over v.

Where a URDF gives a velocity of 0 it means "not given"; the loader makes that infinite, like every limit that does
not exist. A 0 that is left is meant: a base that cannot drive sideways.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sot.checks import positive
from sot.errors import ModelError, TaskError
from sot.features.selection import UNLIMITED, Joints, all_joints, indices, is_base, select
from sot.model import Joint, Model
from sot.viability import JointBox

Limit = float | Sequence[float]


def none(model: Model) -> np.ndarray:
    """No limit at all, shape (nv,)."""
    return np.full(model.nv, np.inf)


def without_positions(model: Model, v_max: np.ndarray, a_max: np.ndarray) -> JointBox:
    """Limits of velocity and acceleration alone."""
    nowhere = np.full(model.nv, -1)
    return JointBox(nowhere, -none(model), none(model), v_max, a_max, none(model))


def positions(
    model: Model, joints: Joints | None, margin: float, where: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where limited joints stand in q, and their limits without the margin; each of shape (nv,)."""
    index, lower, upper = np.full(model.nv, -1), -none(model), none(model)
    limited = [joint for joint in all_joints(model) if _is_limited(model, joint)]
    if joints is not None or limited:
        limited = select(model, joints, limited, where)
    columns, places = indices(joint.v for joint in limited), indices(joint.q for joint in limited)
    index[columns] = places
    lower[columns] = model.pin.lowerPositionLimit[places] + margin
    upper[columns] = model.pin.upperPositionLimit[places] - margin
    return index, lower, upper


def _is_limited(model: Model, joint: Joint) -> bool:
    """True if a joint has a limit on one side at least."""
    if not joint.is_scalar:
        return False
    low, high = float(model.pin.lowerPositionLimit[joint.q][0]), float(model.pin.upperPositionLimit[joint.q][0])
    if not (low <= high):
        raise ModelError(f"robot '{model.robot.name}': joint '{joint.name}' has limits [{low:g}, {high:g}]")
    return low > -UNLIMITED or high < UNLIMITED


def velocities(model: Model, limit: Limit | None, joints: Joints | None, where: str) -> np.ndarray:
    """Speed limits, inf where there is none, shape (nv,)."""
    if limit is not None:
        return spread(model, limit, joints, where)
    own = model.pin.velocityLimit
    return _own(model, np.where((own >= 0.0) & (own < UNLIMITED), own, np.inf), joints, where)


def accelerations(model: Model, limit: Limit | None, joints: Joints | None, where: str) -> np.ndarray:
    """Acceleration limits, inf where there is none, shape (nv,)."""
    if limit is not None:
        return spread(model, limit, joints, where)
    own = _own(model, model.robot.acceleration_limit, joints, where)
    if not np.isfinite(own).any():
        raise TaskError(f"{where}: robot '{model.robot.name}' has no acceleration limits of its own; give numbers")
    return own


def efforts(model: Model, limit: Limit | None, joints: Joints | None, where: str) -> np.ndarray:
    """Torque limits, inf where there is none, shape (nv,)."""
    if limit is not None:
        return spread(model, limit, joints, where)
    own = np.array(model.pin.effortLimit)
    return _own(model, np.where((own > 0.0) & (own < UNLIMITED), own, np.inf), joints, where)


def _own(model: Model, own: np.ndarray, joints: Joints | None, where: str) -> np.ndarray:
    """The robot's own limits of the chosen joints."""
    if joints is None:
        return np.array(own, dtype=float)
    columns, result = indices(j.v for j in select(model, joints, all_joints(model), where)), none(model)
    result[columns] = own[columns]
    return result


def spread(
    model: Model, limit: Limit | None, joints: Joints | None, where: str, *, zero: bool = False
) -> np.ndarray:
    """A user's limit on the chosen joints, by default on all but the base, shape (nv,)."""
    result = none(model)
    if limit is None:
        return result
    among = [joint for joint in all_joints(model) if joints is not None or not is_base(model, joint)]
    columns = indices(joint.v for joint in select(model, joints, among, where))
    numbers = list(limit) if np.ndim(limit) else [limit] * columns.size  # type: ignore[arg-type]  # ndim tells
    if len(numbers) != columns.size:
        raise TaskError(f"{where}: expected 1 or {columns.size} numbers, got {len(numbers)}")
    names = model.velocity_names()
    for i, number in zip(columns, numbers, strict=True):
        result[i] = positive(number, f"{where} of {names[i]}", zero=zero, infinite=True)
    return result
