"""The key `mujoco` of stack files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

from sot.collision.obstacle import Obstacle
from sot.description import Description
from sot.mujoco_door.fitting import check_settings
from sot.robots.mujoco import Mujoco
from sot.simulation.actuators import Actuators
from sot.simulation.checked import number
from sot.simulation.disturbances import Disturbance
from sot.simulation.settings import Simulation
from sot.world import World


@dataclass(frozen=True)
class MujocoWorld(World):
    """A robot in MuJoCo. What is not here, such as sensors with noise, only the key `simulation` has.

    Attributes:
        ground: A floor through z = 0: true or false, or its angles about x and y, rad. By default there is one for
            robots with a free base.
        obstacles: Planes and boxes that stand around.
        friction: Friction coefficient of ground and obstacles.
        substeps: Steps of MuJoCo per command.
        bodies: Let collision bodies touch things, not only feet.
        actuators: What the motors are like.
        disturbances: Pushes and changes of friction.
        softness: Time constant with which contacts and joint limits close, in steps of MuJoCo.
    """

    kind = "mujoco"

    ground: bool | tuple[float, float] | None = None
    obstacles: Sequence[Obstacle] = ()
    friction: float = 0.7
    substeps: int = 1
    bodies: bool = True
    actuators: Actuators = field(default_factory=Actuators)
    disturbances: Sequence[Disturbance] = ()
    softness: float = 1.0

    def __post_init__(self) -> None:
        number(self.softness, "softness")
        check_settings(self._settings())

    def _settings(self) -> Simulation:
        """What both simulations understand."""
        shared = {item.name for item in fields(Simulation)} & {item.name for item in fields(self)}
        return Simulation(**{name: getattr(self, name) for name in shared})

    def check(self, robot: Description) -> None:
        """Refuse what does not fit a robot. Files can be read without MuJoCo."""
        self._settings().check(robot)

    def make(self, robot: Description, dt: float) -> Mujoco:
        """A robot in MuJoCo."""
        return Mujoco(robot, dt, **{item.name: getattr(self, item.name) for item in fields(self)})
