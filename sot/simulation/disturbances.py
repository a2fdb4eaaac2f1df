"""What happens to a simulated robot: pushes, slippery ground, loads, ground that tilts.

    Push(at=2.0, duration=0.1, force=[300.0, 0.0, 0.0], frame="torso_2_link")
    FrictionChange(at=3.0, value=0.2)

Each knows its time, on the robot's clock. The controller is not told.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from sot.description import Description
from sot.description.load import add_mass
from sot.errors import ConfigError, SotError, unknown
from sot.lie import SE3, log3
from sot.model import ALIGNED, Model
from sot.simulation.checked import number, numbers
from sot.simulation.scene import Scene
from sot.typed_yaml import arguments
from sot.typed_yaml.node import Node

LEVER = 0.1  # m², from the stiffness of a hand to that of its grip against turning
EARLY = 1e-9  # s: a step that is this much early by rounding is on time


class World(Protocol):
    """What a disturbance acts on.

    Attributes:
        scene: What stands around the robot.
        physics: The model that is simulated, which is not the controller's.
        wrench: Generalised forces from outside in the coming step, shape (nv,).
    """

    scene: Scene
    physics: Model
    wrench: np.ndarray

    def here(self) -> Model:
        """The robot at its state now."""


@dataclass(frozen=True)
class Disturbance(ABC):
    """Something that happens at a time.

    Attributes:
        at: When, s on the robot's clock.
    """

    kind: ClassVar[str]
    changes_model: ClassVar[bool] = False  # whether the simulated robot becomes another one

    at: float

    def __post_init__(self) -> None:
        self._number("at", zero=True)

    @classmethod
    def from_node(cls, node: Node) -> Disturbance:
        """From `kind: {arguments}` in a file."""
        entries = node.mapping(f"a disturbance such as {{push: {{...}}}}: one of {', '.join(KINDS)}")
        if len(entries) != 1:
            got = ", ".join(entries) or "none"
            raise node.error(f"a disturbance has one key, one of {', '.join(KINDS)}; got {got}")
        ((word, body),) = entries.items()
        if word not in KINDS:
            raise body.error(unknown("disturbance", word, KINDS))
        given = arguments(body, KINDS[word])
        try:
            return KINDS[word](**given)
        except SotError as error:
            raise body.value.get(str(error).split(": ")[1], body).error(str(error)) from None

    @classmethod
    def variants(cls) -> dict[str, type[Disturbance]]:
        """Words of files and what they stand for."""
        return KINDS

    def check(self, robot: Model) -> None:
        """Refuse what does not fit a robot."""
        if hasattr(self, "frame"):
            joint, _, _ = robot.attachment(robot.frame(self.frame))
            if joint == 0:
                raise ConfigError(
                    f"{self.kind}: frame: {self.frame!r} of robot '{robot.robot.name}' is fixed to the world, where a "
                    f"{self.kind} does nothing"
                )

    @abstractmethod
    def act(self, world: World, time: float, h: float) -> None:
        """Do what happens between `time` and `time + h`, s."""

    def _number(self, name: str, *, zero: bool = False) -> None:
        object.__setattr__(self, name, number(getattr(self, name), f"{self.kind}: {name}", zero=zero))

    def _vector(self, name: str, size: int = 3) -> None:
        given = numbers(getattr(self, name), size, f"{self.kind}: {name}")
        object.__setattr__(self, name, tuple(given.tolist()))

    def _starts(self, when: float, time: float, h: float) -> bool:
        """Whether an instant is in a step."""
        return time - EARLY <= when < time + h - EARLY


@dataclass(frozen=True)
class Push(Disturbance):
    """A force on the robot for a while. Give a `force`, or an `impulse` that is spread over the duration.

    Attributes:
        at: When it begins, s on the robot's clock.
        frame: Frame that is pushed.
        force: In the axes of the world, N.
        impulse: In the axes of the world, N·s.
        duration: How long it acts, s.
        point: Where, in the frame, m.
    """

    kind = "push"

    frame: str
    force: Sequence[float] | None = None
    impulse: Sequence[float] | None = None
    duration: float = 0.1
    point: Sequence[float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.force is None) == (self.impulse is None):
            given = "both" if self.force is not None else "none"
            raise ConfigError(f"push: give a force (N) or an impulse (N·s); got {given}")
        self._number("duration")
        self._vector("force" if self.impulse is None else "impulse")
        self._vector("point")

    @property
    def newtons(self) -> np.ndarray:
        """The force, N, shape (3,)."""
        return np.array(self.force) if self.force is not None else np.array(self.impulse) / self.duration

    def act(self, world: World, time: float, h: float) -> None:
        share = self.share(time, h)
        if share > 0.0:
            model = world.here()
            frame = model.frame(self.frame)
            J = model.jacobian(frame, ALIGNED)
            arm, force = model.placement(frame).rotation @ np.array(self.point), share * self.newtons
            world.wrench += J[:3].T @ force + J[3:].T @ np.cross(arm, force)

    def acts(self, time: float) -> bool:
        """Whether it pushes at a time."""
        return self.at <= time < self.at + self.duration

    def share(self, time: float, h: float) -> float:
        """Part of a step in which it acts: so the impulse does not depend on the length of steps."""
        return max(min(self.at + self.duration, time + h) - max(self.at, time), 0.0) / h


@dataclass(frozen=True)
class Hold(Disturbance):
    """A hand holds the robot, as people do who help it up: a spring to where the frame is at home; then it lets go.

    Attributes:
        at: When it takes hold, s on the robot's clock.
        frame: Frame that is held, by its position and orientation.
        duration: How long, s.
        stiffness: Of the spring, N/m; N·m/rad is a tenth of it.
        damping: N·s/m; by default so that the robot's mass does not swing.
    """

    kind = "hold"

    frame: str
    duration: float
    stiffness: float = 1000.0
    damping: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._number("duration")
        self._number("stiffness")
        if self.damping is not None:
            self._number("damping", zero=True)

    def act(self, world: World, time: float, h: float) -> None:
        if not (self.at - EARLY <= time < self.at + self.duration - EARLY):
            return
        model = world.here()
        frame, home = model.frame(self.frame), _home(model.robot, self.frame)
        T = model.placement(frame)
        damping = 2.0 * np.sqrt(self.stiffness * model.mass) if self.damping is None else self.damping
        stretch = np.concatenate([T.translation - home.translation, log3(T.rotation @ home.rotation.T)])
        twist = model.velocity(frame, ALIGNED)
        pull = -(self.stiffness * stretch + damping * twist) * np.repeat([1.0, LEVER], 3)
        world.wrench += model.jacobian(frame, ALIGNED).T @ pull


@functools.lru_cache(maxsize=16)
def _home(robot: Description, frame: str) -> SE3:
    """Where a frame is at home."""
    model = Model(robot)
    model.update(robot.home, np.zeros(model.nv))
    return model.placement(model.frame(frame)).copy()


@dataclass(frozen=True)
class FrictionChange(Disturbance):
    """Everything around becomes more slippery, or less.

    Attributes:
        at: When, s on the robot's clock.
        value: The friction coefficient from then on.
    """

    kind = "friction_change"

    value: float

    def __post_init__(self) -> None:
        super().__post_init__()
        self._number("value", zero=True)

    def act(self, world: World, time: float, h: float) -> None:
        if self._starts(self.at, time, h):
            world.scene.set_friction(self.value)


@dataclass(frozen=True)
class ExtraMass(Disturbance):
    """The robot carries a load that its controller knows nothing of.

    Attributes:
        at: When it is put on, s on the robot's clock.
        frame: Frame that carries it.
        mass: kg.
        point: Where, in the frame, m.
        duration: After which it is taken off again, s; by default it stays.
    """

    kind = "extra_mass"
    changes_model = True

    frame: str
    mass: float
    point: Sequence[float] = (0.0, 0.0, 0.0)
    duration: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._number("mass")
        self._vector("point")
        if self.duration is not None:
            self._number("duration")

    def act(self, world: World, time: float, h: float) -> None:
        if self._starts(self.at, time, h):
            self._add(world.physics, self.mass)
        if self.duration is not None and self._starts(self.at + self.duration, time, h):
            self._add(world.physics, -self.mass)

    def _add(self, model: Model, mass: float) -> None:
        joint, T_joint_frame, _ = model.attachment(model.frame(self.frame))
        add_mass(model.pin, joint, T_joint_frame.act(np.array(self.point)), mass)


@dataclass(frozen=True)
class GroundTilt(Disturbance):
    """The ground turns about the origin of the world, smoothly.

    Attributes:
        at: When it begins, s on the robot's clock.
        tilt: Angles about x and y to which it goes, rad.
        duration: How long it takes, s.
    """

    kind = "ground_tilt"

    tilt: Sequence[float]
    duration: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._vector("tilt", 2)
        if not (max(map(abs, self.tilt)) <= 1.0):
            raise ConfigError(f"ground_tilt: tilt: expected angles up to 1 rad, got {list(self.tilt)}")
        self._number("duration")

    def share(self, time: float) -> float:
        """0 before, 1 after, with no speed and no acceleration at both ends."""
        x = min(max((time - self.at) / self.duration, 0.0), 1.0)
        return x**3 * (10.0 - 15.0 * x + 6.0 * x * x)

    def act(self, world: World, time: float, h: float) -> None:
        """The ground itself knows how it moves; see `sot.simulation.settings`."""


KINDS: dict[str, type[Disturbance]] = {kind.kind: kind for kind in (Push, Hold, FrictionChange, ExtraMass, GroundTilt)}


def checked(disturbances: object) -> tuple[Disturbance, ...]:
    """What a user gave as disturbances."""
    given = [disturbances] if isinstance(disturbances, Disturbance) else disturbances
    if not isinstance(given, (list, tuple)) or not all(isinstance(item, Disturbance) for item in given):
        names = ", ".join(kind.__name__ for kind in KINDS.values())
        raise ConfigError(f"disturbances: expected a list of {names}, got {disturbances!r}")
    return tuple(given)
