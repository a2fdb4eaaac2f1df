"""The key `simulation` of stack files."""

from __future__ import annotations

from sot.description import Description
from sot.robots.simulated import Simulated
from sot.simulation.settings import Simulation
from sot.world import World


class SimulationWorld(Simulation, World):
    __doc__ = Simulation.__doc__  # its sentences are those of the keys
    kind = "simulation"

    def make(self, robot: Description, dt: float) -> Simulated:
        """A robot in the physics engine of `sot.simulation`."""
        return Simulated(robot, dt, **self.options())
