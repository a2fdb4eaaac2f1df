"""A simulated haptic device: its body, the hand that holds it, how stiff its walls may be, and passivity control.

`sot.robots.Haptic` is the same as a robot on which stacks of tasks run.
"""

from __future__ import annotations

from sot.haptic.hand import Hand
from sot.haptic.passivity import Energy
from sot.haptic.record import Record
from sot.haptic.settings import Device

__all__ = ["Device", "Energy", "Hand", "Record"]
