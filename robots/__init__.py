"""Robots: descriptions by name (`load`, `names`) and everything that can be read and written.

For example `robot = Kinematic(load("talos"))`.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sot.robots.finger import Finger
    from sot.robots.force_dimension import ForceDimension
    from sot.robots.haptic import Haptic
    from sot.robots.kinematic import Kinematic
    from sot.robots.loader import load, names
    from sot.robots.mujoco import Mujoco
    from sot.robots.simulated import Simulated
    from sot.world import World

__all__ = [
    "Finger", "ForceDimension", "Haptic", "Kinematic", "Mujoco", "Simulated", "load", "names", "world", "worlds",
]  # fmt: skip

# Where each name lives. Modules are imported when a name is first used: a simulator does not load a device.
_HOMES = {
    "Finger": "finger",
    "ForceDimension": "force_dimension",
    "Haptic": "haptic",
    "Kinematic": "kinematic",
    "Mujoco": "mujoco",
    "Simulated": "simulated",
    "load": "loader",
    "names": "loader",
}

_WORLD = "_world"  # how the names of files with keys for stack files end


def worlds() -> list[str]:
    """What a stack file can be run on: its key for each, which is the name of a file here."""
    found = [info.name for info in pkgutil.iter_modules(__path__) if info.name.endswith(_WORLD)]
    return sorted(name.removesuffix(_WORLD) for name in found)


def world(name: str) -> type[World]:
    """The options of a world."""
    from sot.world import World

    module = importlib.import_module(f"{__name__}.{name}{_WORLD}")
    own = [kind for kind in vars(module).values() if isinstance(kind, type) and kind.__module__ == module.__name__]
    (found,) = (kind for kind in own if issubclass(kind, World))
    return found


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
