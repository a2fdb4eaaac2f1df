"""Everything that a simulated robot can be told, as one object: the key `simulation` of a stack file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from sot.collision.obstacle import Obstacle
from sot.description import Description
from sot.errors import ConfigError, SotError
from sot.lie import SE3, exp3, log6_vector
from sot.model import Model
from sot.simulation.actuators import Actuators, Drive
from sot.simulation.checked import count, number, numbers, yes_or_no
from sot.simulation.disturbances import Disturbance, GroundTilt, checked
from sot.simulation.scene import Scene
from sot.simulation.sensors import Sensors

STEEPEST = 1.0  # rad


@dataclass(frozen=True)
class Simulation:
    """How a robot is simulated.

    Attributes:
        ground: A floor through z = 0: true or false, or its angles about x and y, rad. By default there is one for
            robots with a free base.
        obstacles: Planes and boxes that stand or move around.
        friction: Friction coefficient of ground and obstacles.
        substeps: Steps of the simulation per command.
        restitution: Part of the speed with which contacts part again, 0 to 1.
        bodies: Let collision bodies touch things, not only feet.
        itself: Let collision bodies of the robot touch each other.
        actuators: What the motors are like.
        delay: Time from a command to its effect, s; counted in steps of the simulation, rounded up.
        sensors: What the robot tells of itself.
        disturbances: What happens to it.
        seed: Seed of all noise: equal seeds give equal runs.
    """

    ground: bool | tuple[float, float] | None = None  # (of Python also an array or a list)
    obstacles: Sequence[Obstacle] = ()
    friction: float = 0.7
    substeps: int = 1
    restitution: float = 0.0
    bodies: bool = True
    itself: bool = True
    actuators: Actuators = field(default_factory=Actuators)
    delay: float = 0.0
    sensors: Sensors = field(default_factory=Sensors)
    disturbances: Sequence[Disturbance] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "ground", _floor(self.ground))
        put(self, "obstacles", _obstacles(self.obstacles))
        put(self, "friction", number(self.friction, "friction", zero=True))
        put(self, "substeps", count(self.substeps, "substeps"))
        put(self, "restitution", number(self.restitution, "restitution", zero=True))
        if not (self.restitution <= 1.0):
            raise ConfigError(f"restitution: expected a number from 0 to 1, got {self.restitution:g}")
        yes_or_no(self.bodies, "bodies")
        yes_or_no(self.itself, "itself")
        put(self, "delay", number(self.delay, "delay", zero=True))
        for name, kind in (("actuators", Actuators), ("sensors", Sensors)):
            if not isinstance(getattr(self, name), kind):
                raise ConfigError(f"{name}: expected a sot.simulation.{kind.__name__}, got {getattr(self, name)!r}")
        put(self, "disturbances", checked(self.disturbances))
        put(self, "seed", count(self.seed, "seed", 0))

    def options(self) -> dict[str, Any]:
        """The arguments of `sot.robots.Simulated`."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def check(self, robot: Description) -> None:
        """Refuse what does not fit a robot."""
        model = Model(robot)
        for i, disturbance in enumerate(self.disturbances):
            try:
                disturbance.check(model)
            except SotError as error:
                raise ConfigError(f"disturbances[{i}]: {error}") from None
        self.sensors.check(model)
        Drive(model, self.actuators)
        self.scene(robot)

    @property
    def tilt(self) -> np.ndarray:
        """Angles of the ground about x and y at the start, rad."""
        return np.zeros(2) if self.ground is None or isinstance(self.ground, bool) else np.array(self.ground)

    def scene(self, robot: Description) -> Scene:
        """Ground and obstacles."""
        things, tilts = list(self.obstacles), [item for item in self.disturbances if isinstance(item, GroundTilt)]
        if robot.root == "free_flyer" if self.ground is None else self.ground is not False:
            things.insert(0, _ground(self.tilt, tilts))
        elif tilts:
            raise ConfigError(f"disturbances: ground_tilt: robot '{robot.name}' has no ground that could tilt")
        return Scene(things, self.friction)

    def start(self, robot: Description) -> np.ndarray:
        """Where a robot begins: at home, turned with the ground that it stands on."""
        if robot.root != "free_flyer" or not self.tilt.any():
            return robot.home.copy()
        model = Model(robot)
        model.update(robot.home, np.zeros(model.nv))
        R, base = _turned(self.tilt), model.joint_placements[1]
        T = SE3(base[:9].reshape(3, 3).T, base[9:])
        step = log6_vector(T.actInv(SE3(R, np.zeros(3)) * T))
        return model.integrate(robot.home, np.concatenate([step, np.zeros(model.nv - 6)]))


def _floor(given: object) -> bool | tuple[float, float] | None:
    """What was said of a ground: whether there is one, or its angles."""
    if given is None or isinstance(given, bool):
        return given
    if not isinstance(given, (Sequence, np.ndarray)) or isinstance(given, str):
        raise ConfigError(f"ground: expected True, False or its angles about x and y, rad; got {given!r}")
    x, y = numbers(given, 2, "ground").tolist()
    if not (max(abs(x), abs(y)) <= STEEPEST):
        raise ConfigError(f"ground: expected angles up to {STEEPEST:g} rad, got {[x, y]}")
    return x, y


def _ground(tilt: np.ndarray, changes: Sequence[GroundTilt]) -> Obstacle:
    if not changes:
        return Obstacle("ground", plane=_turned(tilt)[:, 2].tolist())
    return Obstacle("ground", plane=[0.0, 0.0, 1.0], motion=_motion(tilt, changes))


def _motion(tilt: np.ndarray, changes: Sequence[GroundTilt]) -> Callable[[float], SE3]:
    """Pose of a ground that goes from one tilt to the next."""
    order = sorted(changes, key=lambda change: change.at)

    def pose(time: float) -> SE3:
        now = tilt
        for change in order:
            now = now + change.share(time) * (np.array(change.tilt) - now)
        return SE3(_turned(now), np.zeros(3))

    return pose


def _turned(tilt: np.ndarray) -> np.ndarray:
    """Rotation about x, then about y."""
    return exp3(np.array([0.0, tilt[1], 0.0])) @ exp3(np.array([tilt[0], 0.0, 0.0]))


def _obstacles(given: object) -> tuple[Obstacle, ...]:
    things = [given] if isinstance(given, Obstacle) else given
    if not isinstance(things, (list, tuple)) or not all(isinstance(thing, Obstacle) for thing in things):
        raise ConfigError(f"obstacles: expected a list of sot.Obstacle, got {given!r}")
    names = [thing.name for thing in things]
    for name in names:
        if names.count(name) > 1 or name == "ground":
            raise ConfigError(f"obstacles: the name {name!r} is taken; give every obstacle a name of its own")
    return tuple(things)
