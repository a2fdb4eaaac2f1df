"""What an engine knows of a robot before the first step."""

from __future__ import annotations

import numpy as np

from sot.checks import vector
from sot.errors import ConfigError
from sot.kernels import stepping
from sot.model import Model


def limits(model: Model) -> np.ndarray:
    """Joints with limits: place in q, place in v, lower limit, upper limit."""
    joints = [joint for joint in model.joints.values() if joint.is_scalar]
    lower, upper = model.pin.lowerPositionLimit, model.pin.upperPositionLimit
    found = [[j.q.start, j.v.start, lower[j.q.start], upper[j.q.start]] for j in joints]
    return np.array(found, dtype=float).reshape(-1, stepping.LIMIT)


def supports(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Columns that move each joint, one after the other, and where those of a joint begin."""
    columns: list[int] = []
    starts = [0, 0]
    for joint in range(1, model.pin.njoints):
        for index in model.pin.supports[joint]:
            if index > 0:
                moved = model.pin.joints[index]
                columns += range(moved.idx_v, moved.idx_v + moved.nv)
        starts.append(len(columns))
    return np.array(columns, dtype=np.int64), np.array(starts, dtype=np.int64)


def not_negative(value: np.ndarray, size: int, where: str) -> np.ndarray:
    numbers = vector(value, size, where)
    if not (numbers >= 0.0).all():
        raise ConfigError(f"{where}: expected numbers ≥ 0, got {numbers.tolist()}")
    return numbers
