"""The one interface of simulated robots, haptic devices and hardware."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from sot.state import Command, State


@runtime_checkable
class Robot(Protocol):
    """Anything that can be read, commanded and closed.

    A robot advances by itself (hardware, a real-time simulator) or when it is written to (a stepped
    simulator). Both look the same from a control loop: read, compute, write.
    """

    def read(self) -> State:
        """Latest state."""

    def write(self, command: Command) -> None:
        """Take a command; a stepped simulator advances by one period."""

    def close(self) -> None:
        """Leave the robot in a safe condition and give its resources back. May be called twice."""
