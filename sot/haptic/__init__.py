"""A simulated haptic device: its body, the hand that holds it, how stiff its walls may be, and passivity control.

`sot.robots.Haptic` is the same as a robot on which stacks of tasks run.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sot.haptic.hand import Hand
from sot.haptic.passivity import Energy
from sot.haptic.record import Record
from sot.haptic.settings import Device

if TYPE_CHECKING:
    from sot.haptic.resistance import Resistance as Resistance
    from sot.haptic.teleoperation import Teleoperation as Teleoperation

__all__ = ["Device", "Energy", "Hand", "Record", "Resistance", "Teleoperation"]


def __getattr__(name: str) -> Any:
    """What concerns an arm as well is imported when it is first used."""
    if name not in ("Resistance", "Teleoperation"):
        raise AttributeError(f"module 'sot.haptic' has no attribute {name!r}")
    return getattr(import_module(f"sot.haptic.{name.lower()}"), name)
