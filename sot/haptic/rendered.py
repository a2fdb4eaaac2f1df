"""What a stack renders on a haptic device: walls and springs against the bound of the device."""

from __future__ import annotations

from collections.abc import Iterable
from warnings import warn

from sot.controller import Controller
from sot.entry import Constraint, Entry, Load
from sot.errors import ConfigError, Uncounted
from sot.haptic import bounds
from sot.haptic.settings import Device
from sot.task import Task


def check_stack(device: Device, controller: Controller, period: float) -> None:
    """Refuse a stack whose walls and springs, each alone and all together, are past the bound.

    Versions of the stack that are being blended out count, each by itself: a mixture of two is between them.

    Args:
        device: What the device is like.
        controller: Whose stack; with a joint impedance of its own, that counts as well.
        period: The longest one, s.

    Raises:
        ConfigError: With the bound, and who is past it.
    """
    own = [entry for entry in controller.stack if entry.owner is controller]  # pushed ones are not set up before a tick
    blended = [[entry for level in phase.plan.levels for entry in level] for phase in controller.phases]
    if device.bound != "off":
        _tell_uncounted(own)
    versions = dict.fromkeys(tuple(e for e in entries if hasattr(e, "rendered")) for entries in (own, *blended))
    for entries in versions:
        found = {entry.name: entry.rendered() for entry in entries}
        if controller.impedance is not None:
            kp, kd = controller.impedance.gains(controller.model)
            found["joint impedance"] = float(kp.max()), float(kd.max())
        for name, (K, B) in found.items():
            bounds.check(device, K, B, period, f"'{name}'")
        if device.bound != "off":
            _refuse_askew(entries)
        if len(found) > 1:
            K, B = (float(sum(values)) for values in zip(*found.values(), strict=True))
            bounds.check(device, K, B, period, f"{', '.join(map(repr, found))} together")


def _refuse_askew(entries: Iterable[Entry]) -> None:
    """Refuse forces that give out energy on a closed way: an observer of single periods does not see that."""
    for entry in entries:
        if not getattr(entry, "conservative", True):
            raise ConfigError(
                f"'{entry.name}': gives out energy on a closed way: its stiffness, damping or weights mix what the "
                "region holds with what it leaves free: give one number, or a matrix with the axes of the region"
            )


def _tell_uncounted(entries: Iterable[Entry]) -> None:
    """Warn of entries whose force may depend on the state, but who do not say how."""
    silent = [
        f"'{entry.name}'"
        for entry in entries
        if isinstance(entry, Task | Constraint | Load)
        and not (hasattr(entry, "rendered") or entry.limits_motors)
    ]
    if silent:
        warn(
            f"{', '.join(silent)}: not counted in the bound of the haptic device, though the force may depend on the "
            "state; a method rendered() -> (K in N/m, B in N·s/m) tells how",
            Uncounted,
            stacklevel=5,
        )
