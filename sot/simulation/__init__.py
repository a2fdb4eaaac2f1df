"""A physics engine for floating-base robots on pinocchio's constraint solvers; `sot.robots.Simulated` is its robot.

    from sot.simulation import Actuators, Push, Sensors

Modules are imported when a name is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sot.simulation.actuators import Actuators as Actuators
    from sot.simulation.disturbances import ExtraMass as ExtraMass
    from sot.simulation.disturbances import FrictionChange as FrictionChange
    from sot.simulation.disturbances import GroundTilt as GroundTilt
    from sot.simulation.disturbances import Hold as Hold
    from sot.simulation.disturbances import Push as Push
    from sot.simulation.sensors import Sensors as Sensors
    from sot.simulation.settings import Simulation as Simulation

_HOMES = {
    "Actuators": "actuators",
    "ExtraMass": "disturbances",
    "FrictionChange": "disturbances",
    "GroundTilt": "disturbances",
    "Hold": "disturbances",
    "Push": "disturbances",
    "Sensors": "sensors",
    "Simulation": "settings",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
