"""What a viewer shows of a simulation: what stands around, contact forces, pushes."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from sot.collision.obstacle import Obstacle
from sot.model import Model
from sot.simulation.disturbances import Push
from sot.simulation.scene import Scene
from sot.simulation.settings import Simulation
from sot.sketch import ALARM, WARNING, Box, Colour, Drawing, Line, Solid

WEIGHT = 0.5  # m, length of an arrow for a force as large as the robot's weight
SEEN = 0.4  # m, least length of the arrow of a push, which ends inside of a body
SLAB = 3.0  # m, what is shown of a tilted plane
STONE: Colour = (0.55, 0.58, 0.62, 0.8)


class Drawn(Protocol):
    """A robot in its world, as far as it is drawn."""

    dt: float
    settings: Simulation
    scene: Scene
    engine: Any

    def here(self) -> Model:
        """The robot at its state now."""


def sketch(plant: Drawn, time: float) -> list[Drawing]:
    """Obstacles and tilted grounds, an arrow for each contact that pushes, and one for each push that acts."""
    model, engine = plant.here(), plant.engine
    scale = WEIGHT / max(model.mass * 9.81, 1.0)
    things = [solid for thing in plant.scene.obstacles if (solid := _solid(thing, time, plant.dt)) is not None]
    h = plant.dt / plant.settings.substeps
    touches = [
        Line(f"touch {i}", touch.point, touch.point + scale * touch.force, WARNING, arrow=True)
        for i, touch in enumerate(engine.touches(h))
    ]
    pushes = []
    acting = [item for item in plant.settings.disturbances if isinstance(item, Push) and item.acts(time)]
    for i, push in enumerate(acting):
        at = model.placement(model.frame(push.frame)).act(np.array(push.point))
        size = float(np.linalg.norm(push.newtons))
        along = push.newtons / max(size, 1e-9)
        pushes.append(Line(f"push {i}", at - max(scale * size, SEEN) * along, at, ALARM, arrow=True))
    return [*things, *touches, *pushes]


def _solid(thing: Obstacle, time: float, dt: float) -> Solid | None:
    """A box, or a slab with the plane as its upper side. A level floor at height 0 is drawn anyway."""
    pose = thing.placed(time, dt)[0].homogeneous
    if thing.box is not None:
        length, width, height = thing.box
        return Solid(thing.name, Box((float(length), float(width), float(height))), pose, STONE)
    if np.allclose(pose[:3, 2], [0.0, 0.0, 1.0]) and abs(pose[2, 3]) < 1e-9 and not thing.moving:
        return None
    pose[:3, 3] -= 0.01 * pose[:3, 2]
    return Solid(thing.name, Box((SLAB, SLAB, 0.02)), pose, STONE)
