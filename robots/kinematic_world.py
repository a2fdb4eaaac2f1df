"""The key `kinematic` of stack files, and what a file without any such key means."""

from __future__ import annotations

from dataclasses import dataclass

from sot.description import Description
from sot.robots.kinematic import Kinematic
from sot.world import World


@dataclass(frozen=True)
class KinematicWorld(World):
    """A robot that moves as told, without physics.

    Attributes:
        lag: Time constant with which the velocity follows the command, s; 0: at once.
        noise: Standard deviation of the measured configuration, rad and m.
        seed: Seed of the noise: equal seeds give equal runs.
    """

    kind = "kinematic"

    lag: float = 0.0
    noise: float = 0.0
    seed: int = 0

    def make(self, robot: Description, dt: float) -> Kinematic:
        """A robot that integrates what it is told."""
        return Kinematic(robot, dt, lag=self.lag, noise=self.noise, seed=self.seed)
