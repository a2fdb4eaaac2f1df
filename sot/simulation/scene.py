"""What stands around a simulated robot: ground, boxes, slopes, steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sot.checks import positive
from sot.collision.obstacle import Obstacle
from sot.errors import ConfigError, unknown
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
    """Half-spaces and boxes that a robot can touch, with friction. They stand, or move as their obstacles say.

    Attributes:
        obstacles: The things.
        shapes: What the kernel knows of them, one line each; see `sot.kernels.touch`.
    """

    def __init__(self, obstacles: Sequence[Obstacle], friction: float | Mapping[str, float] = 0.7) -> None:
        """
        Args:
            obstacles: Planes and boxes.
            friction: Coefficient of all of them, or of each by its name (0.7 where there is none); `set_friction`
                changes it.
        """
        self.obstacles = tuple(obstacles)
        self.shapes = np.zeros((len(self.obstacles), op.SHAPE))
        self._versions = [-1] * len(self.obstacles)
        names = [thing.name for thing in self.obstacles]
        if len(set(names)) < len(names):
            raise ConfigError(f"obstacles need names of their own; got {', '.join(names)}")
        for line, thing in zip(self.shapes, self.obstacles, strict=True):
            if thing.plane is None and thing.box is None:
                raise ConfigError(f"obstacle '{thing.name}': a simulated robot can touch planes and boxes only")
            line[op.KIND] = op.PLANE if thing.plane is not None else op.BOX
            if thing.box is not None:
                line[op.HALF : op.TWIST] = 0.5 * np.asarray(thing.box, dtype=float)
        self.place(0.0, 1e-3)
        by_name = friction if isinstance(friction, Mapping) else {}
        self.set_friction(0.7 if isinstance(friction, Mapping) else friction)
        for name, value in by_name.items():
            self.set_friction(value, name)

    def place(self, time: float, dt: float) -> None:
        """Put everything where it is at a time, with its mean velocity until `dt` later. What stands is left alone."""
        for i, thing in enumerate(self.obstacles):
            if thing.moving or self._versions[i] != thing.version or self.shapes[i, op.TWIST :].any():
                self._versions[i] = thing.version
                pose, speed = thing.placed(time, dt)
                line = self.shapes[i]
                line[op.ROTATION : op.POSITION] = pose.rotation.ravel(order="F")
                line[op.POSITION : op.HALF] = pose.translation
                line[op.TWIST :] = speed

    def set_friction(self, friction: float, name: str | None = None) -> None:
        """Friction coefficient from now on, of everything or of one obstacle."""
        value = positive(friction, "friction", zero=True)
        names = [thing.name for thing in self.obstacles]
        if name is not None and name not in names:
            raise ConfigError(f"friction: {unknown('obstacle', name, names)}")
        self.shapes[slice(None) if name is None else names.index(name), op.FRICTION] = value
