"""Rotations and rigid motions. Names cancel: `T_world_tool = T_world_hand * T_hand_tool`."""

from __future__ import annotations

import numpy as np
from pinocchio import SE3, Motion, exp3, exp6, log6, skew

from sot.checks import numbers
from sot.errors import TaskError

__all__ = ["SE3", "as_pose", "as_rotation", "exp3", "exp6_vector", "log3", "log6_vector", "skew"]


def log3(R: np.ndarray) -> np.ndarray:
    """Rotation vector of R, exact for every angle in [0, π].

    Through the quaternion (w, n): angle = 2 atan2(‖n‖, w), which loses no digits near 0 or near π.
    """
    w, n = _quaternion(R)
    norm = float(np.sqrt(n @ n))
    if w < 0.0:
        w, n = -w, -n
    # 2 atan2(‖n‖, w)/‖n‖ tends to 2/w for small angles.
    factor = 2.0 * np.arctan2(norm, w) / norm if norm > 1e-10 else 2.0 / w
    return factor * n


def _quaternion(R: np.ndarray) -> tuple[float, np.ndarray]:
    """Unit quaternion (w, vector part) from the largest of its four entries, so nothing cancels."""
    trace = R[0, 0] + R[1, 1] + R[2, 2]
    axial = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    i = int(np.argmax([R[0, 0], R[1, 1], R[2, 2]]))
    if trace >= R[i, i]:
        s = 2.0 * np.sqrt(1.0 + trace)
        return 0.25 * s, axial / s
    j, k = (i + 1) % 3, (i + 2) % 3
    s = 2.0 * np.sqrt(1.0 + R[i, i] - R[j, j] - R[k, k])
    n = np.empty(3)
    n[i], n[j], n[k] = 0.25 * s, (R[j, i] + R[i, j]) / s, (R[k, i] + R[i, k]) / s
    return axial[i] / s, n


def log6_vector(T: SE3) -> np.ndarray:
    """Twist (linear, angular) whose exponential is T."""
    return log6(T).vector


def exp6_vector(twist: np.ndarray) -> SE3:
    """Rigid motion after following a constant twist (linear, angular) for one unit of time."""
    return exp6(Motion(np.asarray(twist, dtype=float)))


def as_pose(value: object, where: str = "pose") -> SE3:
    """A pose from an SE3, a homogeneous 4×4 matrix, or 7 numbers (x, y, z, qx, qy, qz, qw)."""
    if isinstance(value, SE3):
        return value
    array = _finite(value, where)
    if array.shape == (4, 4):
        return SE3(as_rotation(array[:3, :3], where), array[:3, 3])
    if array.shape == (7,):
        return SE3(as_rotation(array[3:], where), array[:3])
    raise TaskError(f"{where}: expected an SE3, a 4×4 matrix or 7 numbers (x y z qx qy qz qw), got shape {array.shape}")


def as_rotation(value: object, where: str = "orientation") -> np.ndarray:
    """A rotation matrix from a 3×3 matrix, a quaternion (x, y, z, w) or roll-pitch-yaw angles in radians."""
    array = _finite(value, where)
    if array.shape == (3, 3):
        if not (np.abs(array @ array.T - np.eye(3)).max() <= 1e-6 and np.linalg.det(array) > 0):
            raise TaskError(f"{where}: the 3×3 matrix is not a rotation (R Rᵀ must be I and det R = 1)")
        return array
    if array.shape == (4,):
        return _from_quaternion(array, where)
    if array.shape == (3,):
        roll, pitch, yaw = array
        return exp3(np.array([0, 0, yaw])) @ exp3(np.array([0, pitch, 0])) @ exp3(np.array([roll, 0, 0]))
    raise TaskError(f"{where}: expected a 3×3 matrix, quaternion (x y z w) or roll-pitch-yaw, got shape {array.shape}")


def _from_quaternion(q: np.ndarray, where: str) -> np.ndarray:
    norm = float(np.linalg.norm(q))
    if not (abs(norm - 1.0) <= 1e-3):
        raise TaskError(f"{where}: the quaternion (x y z w) has norm {norm:.4g}, expected 1")
    n, w = q[:3] / norm, q[3] / norm
    return np.eye(3) + 2.0 * w * skew(n) + 2.0 * skew(n) @ skew(n)


def _finite(value: object, where: str) -> np.ndarray:
    try:
        array = numbers(value)
    except (TypeError, ValueError) as error:
        raise TaskError(f"{where}: {value!r} is not a list of numbers") from error
    if not np.isfinite(array).all():
        raise TaskError(f"{where}: has a value that is not finite: {array.tolist()}")
    return array
