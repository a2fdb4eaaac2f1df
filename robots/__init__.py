"""Robots: descriptions by name (`load`, `names`) and everything that can be read and written.

For example `robot = Kinematic(load("talos"))`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sot.robots.finger import Finger
    from sot.robots.force_dimension import ForceDimension
    from sot.robots.haptic import Haptic
    from sot.robots.kinematic import Kinematic
    from sot.robots.loader import load, names
    from sot.robots.mujoco import Mujoco
    from sot.robots.simulated import Simulated

__all__ = ["Finger", "ForceDimension", "Haptic", "Kinematic", "Mujoco", "Simulated", "load", "names"]

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


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
