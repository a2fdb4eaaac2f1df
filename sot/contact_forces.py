"""The contact forces behind a command. While a change of the stack is blended in, so are they."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sot.contact import Contact
from sot.dynamics import Dynamics
from sot.errors import ConfigError, SolveError

if TYPE_CHECKING:
    from sot.controller import Controller
    from sot.phase import Phase


def shares(phases: Sequence[Phase]) -> list[float]:
    """Part of each phase in the command: sᵢ Πⱼ (1 − sⱼ) over the phases j after it; the oldest has what is left."""
    found, left = [], 1.0
    for phase in reversed(phases[1:]):
        share = phase.share(phase.plan.written[0])
        found.append(share * left)
        left *= 1.0 - share
    return [left, *reversed(found)]


def blended(controller: Controller) -> dict[Contact, np.ndarray]:
    """y of every contact that takes part in the last command, N and N·m; one that a phase does not have counts 0 there.

    Raises:
        ConfigError: There are no forces at velocity level.
        SolveError: There was no tick yet.
    """
    if controller.output != "torque":
        raise ConfigError("contact forces are known at torque level only: Controller(..., output='torque')")
    if not controller.counters.ticks:
        raise SolveError("there is no tick yet: call controller.step(state) first")
    found: dict[Contact, np.ndarray] = {}
    for phase, share in zip(controller.phases, shares(controller.phases), strict=True):
        formulation = phase.used.plan.formulation
        if isinstance(formulation, Dynamics):
            for contact, y in formulation.forces_of(phase.used.solver.x).items():
                found[contact] = found.get(contact, 0.0) + share * y
    return found


def grips(contact: Contact) -> bool:
    """True if friction holds it: its forces have unknowns along the surface, bounded by a pyramid."""
    return contact.cone.labels[:2] == ("fx", "fy")


def contact_forces(controller: Controller) -> dict[str, np.ndarray]:
    """Wrench of each contact on the robot by the contact's name; see `Controller.contact_forces`."""
    model, found = controller.model, blended(controller)
    origins = {contact.name: model.placement(model.frame(contact.frame)).translation for contact in found}
    wrenches: dict[str, np.ndarray] = {}
    for contact, y in found.items():  # a contact may be replaced by one of the same name: then both push for a while
        wrench = contact.wrenches_in_world(model, origins[contact.name]) @ y
        wrenches[contact.name] = wrenches.get(contact.name, 0.0) + wrench
    return wrenches
