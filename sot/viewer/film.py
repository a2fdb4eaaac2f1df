"""Pictures in a row, as the keyframes that a browser plays."""

from __future__ import annotations

from typing import Any

import numpy as np

from sot.viewer import scene

OPTIONS = {"play": True, "repetitions": 1000}


class Film:
    """Records where everything was, picture by picture. What a picture does not have is not to be seen in it."""

    def __init__(self, rate: float) -> None:
        """
        Args:
            rate: Pictures per second.
        """
        self.rate = rate
        self.frames: list[dict[str, np.ndarray]] = []  # path → pose times scale, shape (4, 4)

    def add(self, picture: dict[str, np.ndarray]) -> None:
        """Append a picture."""
        self.frames.append({path: pose.copy() for path, pose in picture.items()})

    def tracks(self) -> list[dict[str, Any]]:
        """One animation per path."""
        paths = dict.fromkeys(path for frame in self.frames for path in frame)
        return [self._track(path) for path in paths]

    def _track(self, path: str) -> dict[str, Any]:
        keys = {k: pose for k in range(len(self.frames)) if (pose := self._key(path, k)) is not None}
        times, poses = list(keys), np.array(list(keys.values()))
        scale = np.linalg.norm(poses[:, :3, :3], axis=1)  # (k, 3), lengths of the columns
        tracks = [
            _keys("position", "vector3", times, poses[:, :3, 3]),
            _keys("quaternion", "quaternion", times, _quaternions(poses[:, :3, :3] / scale[:, None, :])),
            _keys("scale", "vector3", times, scale),
        ]
        return {"path": path, "clip": {"fps": self.rate, "name": "default", "tracks": tracks}}

    def _key(self, path: str, k: int) -> np.ndarray | None:
        """Pose at a picture. In one without it, next to one with it, it is hidden where it is about to be or was.

        Browsers take the values between two keys from both. All tracks end at the last picture, as each one that
        is shorter would begin again by itself.
        """
        if path in self.frames[k]:
            return self.frames[k][path]
        last = len(self.frames) - 1
        near = [self.frames[i] for i in (k + 1, k - 1) if 0 <= i <= last and path in self.frames[i]]
        if not near and k == last:
            near = [frame for frame in reversed(self.frames) if path in frame]
        return scene.hidden(near[0][path]) if near else None


def _keys(name: str, kind: str, times: list[int], values: np.ndarray) -> dict[str, Any]:
    keys = [{"time": time, "value": value} for time, value in zip(times, values.tolist(), strict=True)]
    return {"name": f".{name}", "type": kind, "keys": keys}


def _quaternions(rotations: np.ndarray) -> np.ndarray:
    """Quaternions (x, y, z, w) of rotation matrices, shape (k, 4), each on the side of the one before."""
    from scipy.spatial.transform import Rotation

    q = Rotation.from_matrix(rotations).as_quat()
    flips = np.sign(np.sum(q[1:] * q[:-1], axis=1))
    q[1:] *= np.cumprod(np.where(flips == 0.0, 1.0, flips))[:, None]
    return q
