"""The image of a point in a camera."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sot.errors import TaskError
from sot.feature import Feature
from sot.features.motion import SeenPoint
from sot.model import Model

NEAREST = 1e-6  # m: a point closer to the image plane has no image


class ImagePoint(Feature):
    """Image (u, v) = (X/Z, Y/Z) of a point, and its depth Z (m) if asked for.

    The camera looks along its z axis; x is to the right and y down. u and v are in units of the focal length:
    from pixels, u = (column − c_x) / f_x and v = (row − c_y) / f_y. For a point at rest and the camera's twist
    (V, ω) in its own axes the rows are

        u:  −1/Z   0   u/Z   u v   −(1 + u²)   v
        v:   0   −1/Z  v/Z   1 + v²   −u v   −u
        Z:   0     0   −1   −v Z   u Z   0
    """

    def __init__(
        self, frame: str, point: Sequence[float], attached_to: str | None = None, depth: bool = False
    ) -> None:
        """
        Args:
            frame: Name of the camera's frame: z forward, x right, y down.
            point: Coordinates of the observed point, m.
            attached_to: Frame that carries the point, in whose axes the coordinates are; the world by default.
            depth: Regulate the depth too.
        """
        self.frame = frame
        self.depth = bool(depth)
        self.dim = 3 if depth else 2
        self.seen = SeenPoint(frame, point, attached_to, f"image in '{frame}'")

    def setup(self, model: Model) -> None:
        self.seen.setup(model)

    def value(self, model: Model) -> np.ndarray:
        return self._image(self.seen.at(model).p)[: self.dim]

    def jacobian(self, model: Model) -> np.ndarray:
        seen = self.seen.at(model)
        return (projection(self._image(seen.p)) @ seen.J)[: self.dim]

    def drift(self, model: Model) -> np.ndarray:
        """ü = (Ẍ − u Z̈ − 2 u̇ Ż) / Z, likewise v, and Z̈."""
        seen = self.seen.at(model)
        image = self._image(seen.p)
        P = projection(image)
        rate, a = P @ (seen.J @ model.v), P @ self.seen.acceleration(model)
        a[:2] -= 2.0 * rate[:2] * rate[2] / image[2]
        return a[: self.dim]

    def _image(self, r: np.ndarray) -> np.ndarray:
        """(u, v, Z) of a point in the camera's axes."""
        if not (r[2] > NEAREST):
            where = f"image in '{self.frame}': the point is at depth {r[2]:.3g} m"
            raise TaskError(f"{where}, but must be in front of the camera, beyond {NEAREST:g} m")
        return np.array([r[0] / r[2], r[1] / r[2], r[2]])

    def labels(self) -> list[str]:
        return ["u", "v", "depth"][: self.dim]


def projection(image: np.ndarray) -> np.ndarray:
    """∂(u, v, Z)/∂r, shape (3, 3)."""
    u, v, Z = image
    return np.array([[1.0 / Z, 0.0, -u / Z], [0.0, 1.0 / Z, -v / Z], [0.0, 0.0, 1.0]])
