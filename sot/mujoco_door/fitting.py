"""What a robot in MuJoCo cannot be told. It can be known without MuJoCo."""

from __future__ import annotations

from sot.errors import ConfigError
from sot.simulation.disturbances import FrictionChange, Push
from sot.simulation.settings import Simulation


def check_settings(settings: Simulation) -> None:
    """Refuse what only the robot of `sot.simulation` can do."""
    for thing in settings.obstacles:
        if thing.moving:
            raise ConfigError(f"obstacles: '{thing.name}' moves; around a robot in MuJoCo everything stands still")
    for disturbance in settings.disturbances:
        if not isinstance(disturbance, (Push, FrictionChange)):
            raise ConfigError(
                f"disturbances: {disturbance.kind}: a robot in MuJoCo takes {Push.kind} and {FrictionChange.kind} only"
            )
