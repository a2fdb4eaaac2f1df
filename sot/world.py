"""Where the robot of a stack file is: it moves as told, is simulated, or is a device of its own.

A world is a key of stack files. Its options are the fields of a frozen dataclass, and it makes the robot that a run
reads and writes. A new one costs one file, `robots/KEY_world.py`:

    @dataclass(frozen=True)
    class HoverWorld(World):
        \"\"\"A robot that hovers.

        Attributes:
            height: Over the ground, m.
        \"\"\"

        kind = "hover"

        height: float = 0.5

        def make(self, robot, dt):
            return Hovering(robot, dt, self.height)

Then `hover: {height: 0.3}` is understood, checked, completed by editors and written. `sot.robots.worlds()` lists all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from sot.description import Description
from sot.errors import ConfigError
from sot.robot import Robot
from sot.state import Command, State

if TYPE_CHECKING:
    from sot.controller import Controller


class Recorder(Protocol):
    """An observer of `sot.run` that can draw what it saw."""

    def __call__(self, state: State, command: Command, controller: Controller) -> None:
        """Take note of a tick."""

    def plot(self, path: str | Path) -> Path:
        """Draw the run into a PNG file."""


class World(ABC):
    """Options of a robot to run on, as a frozen dataclass, and the robot they make.

    Attributes:
        kind: Its key in stack files, and the name of its file, `KIND_world.py`.
        brings_robot: True if it describes its robot itself, so that a file names none.
        outputs: What commands it takes.
    """

    kind: ClassVar[str]
    brings_robot: ClassVar[bool] = False
    outputs: ClassVar[tuple[str, ...]] = ("velocity", "torque")

    def description(self) -> Description:
        """The robot, of a world that brings it along."""
        raise ConfigError(f"{self.kind}: it brings no robot along")

    def check(self, robot: Description) -> None:
        """Refuse what does not fit a robot; here by making it once."""
        self.make(robot, 1e-3).close()

    def check_stack(self, make_controller: Callable[[], Controller]) -> None:  # noqa: B027 - most worlds take any stack
        """Refuse what the robot would refuse before the first tick."""

    @abstractmethod
    def make(self, robot: Description, dt: float) -> Robot:
        """What is read and commanded, with a period of dt seconds."""

    def recorder(self, robot: Any) -> Recorder:
        """What writes a run of a robot down, as an observer, and draws it.

        Raises:
            ConfigError: Runs in this world have no plot.
        """
        raise ConfigError(f"runs in the world '{self.kind}' have no plot")

    def plain(self) -> dict[str, Any]:
        """Options that differ from their defaults, as plain values for a file."""
        return _changed(self)

    def set_options(self) -> dict[str, Any]:
        """Options that differ from their defaults, as they are."""
        return {name: getattr(self, name) for name in _changed(self, functions=True)}


def _plain(value: Any, functions: bool = False) -> Any:
    """A value as a file can hold it; of objects only what differs from their defaults."""
    if hasattr(type(value), "variants"):  # one of several words, such as a push
        return {value.kind: _changed(value, functions)}
    if is_dataclass(value) and not isinstance(value, type):
        return _changed(value, functions)
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(item, functions) for item in value]
    if callable(value) and not functions:
        raise ConfigError(f"{getattr(value, '__qualname__', value)}: a function cannot be written to a file")
    return dict(value) if isinstance(value, Mapping) else value


def _changed(value: Any, functions: bool = False) -> dict[str, Any]:
    """Fields that differ from their defaults."""
    pairs = [(field, _plain(getattr(value, field.name), functions)) for field in fields(value) if field.init]
    return {field.name: plain for field, plain in pairs if not _is_default(field, plain)}


def _is_default(field: Field[Any], plain: Any) -> bool:
    if field.default_factory is not MISSING:
        return bool(plain == _plain(field.default_factory()))
    return field.default is not MISSING and plain == _plain(field.default)
