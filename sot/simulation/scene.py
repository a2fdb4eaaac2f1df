"""What stands around a simulated robot: ground, boxes, slopes, steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sot.checks import positive
from sot.collision.obstacle import Obstacle
from sot.errors import ConfigError
from sot.kernels import touch as op


def ground(tilt: Sequence[float] = (0.0, 0.0), height: float = 0.0) -> Obstacle:
    """A floor.

    Args:
        tilt: Angles about x and y by which it is turned, rad.
        height: Where it passes the z axis, m.
    """
    about_x, about_y = np.asarray(tilt, dtype=float)
    normal = [np.sin(about_y) * np.cos(about_x), -np.sin(about_x), np.cos(about_y) * np.cos(about_x)]
    return Obstacle("ground", plane=normal, at=[0.0, 0.0, height])


class Scene:
    """Half-spaces and boxes that a robot can touch, with friction.

    Attributes:
        obstacles: The things.
        shapes: What the kernel knows of them, one line each; see `sot.kernels.touch`.
    """

    def __init__(self, obstacles: Sequence[Obstacle], friction: float = 0.7) -> None:
        """
        Args:
            obstacles: Planes and boxes that stand still.
            friction: Coefficient of all of them; `set_friction` changes it.
        """
        self.obstacles = tuple(obstacles)
        self.shapes = np.zeros((len(self.obstacles), op.SHAPE))
        for line, thing in zip(self.shapes, self.obstacles, strict=True):
            if thing.plane is None and thing.box is None:
                raise ConfigError(f"obstacle '{thing.name}': a simulated robot can touch planes and boxes only")
            line[op.KIND] = op.PLANE if thing.plane is not None else op.BOX
            if thing.box is not None:
                line[op.HALF :] = 0.5 * np.asarray(thing.box, dtype=float)
        self.place(0.0, 1e-3)
        self.set_friction(friction)

    def place(self, time: float, dt: float) -> None:
        """Put everything where it is at a time."""
        for line, thing in zip(self.shapes, self.obstacles, strict=True):
            pose, _ = thing.placed(time, dt)
            line[op.ROTATION : op.POSITION] = pose.rotation.ravel(order="F")
            line[op.POSITION : op.HALF] = pose.translation

    def set_friction(self, friction: float) -> None:
        """Friction coefficient of everything from now on."""
        self.shapes[:, op.FRICTION] = positive(friction, "friction", zero=True)
