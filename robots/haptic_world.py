"""The key `haptic` of stack files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sot.controller import Controller
from sot.description import Description
from sot.haptic import Device, Hand, Record
from sot.robots.haptic import Haptic
from sot.world import World


@dataclass(frozen=True)
class HapticWorld(World):
    """A haptic stylus that somebody holds. It is the robot of the file, and takes torques only.

    Attributes:
        device: What the stylus is like.
        hand: Who holds it; by default nobody. Its target is three numbers, m, or a reference that starts from where the
            stylus is.
        position: Where the stylus starts, m.
        name: Name of the robot and of its frame.
    """

    kind = "haptic"
    brings_robot = True
    outputs = ("torque",)

    device: Device = field(default_factory=Device)
    hand: Hand | None = None
    position: Sequence[float] = (0.0, 0.0, 0.0)
    name: str = "stylus"

    def description(self) -> Description:
        """The stylus; the hand is not in it."""
        return self._haptic(1e-3).robot

    def make(self, robot: Description, dt: float) -> Haptic:
        """The device in its hand."""
        return self._haptic(dt)

    def check_stack(self, make_controller: Callable[[], Controller]) -> None:
        """Refuse walls and springs past the bound of the device."""
        controller = make_controller()
        self._haptic(controller.dt).check(controller)

    def recorder(self, robot: Any) -> Record:
        """What writes a run down."""
        return Record(robot)

    def _haptic(self, dt: float) -> Haptic:
        return Haptic(self.device, hand=self.hand, dt=dt, position=self.position, name=self.name)
