"""The key `finger` of stack files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sot.controller import Controller
from sot.description import Description
from sot.finger.bodies import Body, Restitution, Wall
from sot.robots.finger import Finger
from sot.state import Command, State
from sot.world import World


@dataclass(frozen=True)
class Pair:
    """Restitution of two neighbours.

    Attributes:
        between: Names of the two.
        e: From 0 to 1.
    """

    between: tuple[str, str]
    e: float


@dataclass(frozen=True)
class FingerRecorder:
    """Draws what a finger has written down.

    Attributes:
        finger: The finger.
    """

    finger: Finger

    def __call__(self, state: State, command: Command, controller: Controller) -> None:
        """A tick; nothing is to be done."""

    def plot(self, path: str | Path) -> Path:
        """Draw positions, velocities and forces over time into a PNG file."""
        return self.finger.record().plot(path)


@dataclass(frozen=True)
class FingerWorld(World):
    """A finger that pushes objects along a line, exact from event to event. It is the robot of the file.

    Attributes:
        body: The finger itself; by default 0.1 kg at 0, without drag and friction.
        objects: What it may push.
        walls: Walls, or their positions, m.
        restitution: From 0 to 1 for all pairs; or a list of pairs, and 0 for the others.
        servo: Gain of the servo that follows a velocity, N·s/m; by default mass / (5 dt).
        rest_speed: Two that would part with less than this after a collision stay together, m/s.
        max_events: Most events in a second; more are an error.
    """

    kind = "finger"
    brings_robot = True

    body: Body = field(default_factory=lambda: Body("finger", mass=0.1))
    objects: Sequence[Body] = ()
    walls: Sequence[float | Wall] = ()
    restitution: float | Sequence[Pair] = 0.0
    servo: float | None = None
    rest_speed: float = 1e-7
    max_events: int = 5000

    def description(self) -> Description:
        """The finger; objects and walls are not in it."""
        return self._finger(1e-3).robot

    def make(self, robot: Description, dt: float) -> Finger:
        """The finger on its line."""
        return self._finger(dt)

    def recorder(self, robot: Any) -> FingerRecorder:
        """The finger writes its motion down by itself."""
        return FingerRecorder(robot)

    def _finger(self, dt: float) -> Finger:
        return Finger(
            self.body, self.objects, self.walls, self._restitution(),
            dt=dt, servo=self.servo, rest_speed=self.rest_speed, max_events=self.max_events,
        )  # fmt: skip

    def _restitution(self) -> Restitution:
        if isinstance(self.restitution, (int, float)):
            return self.restitution
        return {pair.between: pair.e for pair in self.restitution}
