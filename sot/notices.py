"""What a controller warns of: it goes on and answers, but somebody should know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sot.formulation import Formulation

if TYPE_CHECKING:
    from sot.closed_form.notice import Notice


def notices_of(formulation: Formulation, meaning: str) -> tuple[Notice, ...]:
    """Warnings about a version of a stack, at torque level.

    A free base without any contact is one: nothing can hold it, and whatever the command, its centre of mass falls. A
    robot in flight means it so; where there is no gravity nothing falls. The meaning `nullspace` is another where there
    are contacts: it knows equalities only.
    """
    contacts, model = formulation.contacts, formulation.model
    if contacts is None:
        return ()
    from sot.closed_form.notice import Notice

    found = []
    if not len(contacts) and model.robot.root == "free_flyer" and model.pin.gravity.linear.any():
        found.append(Notice("no contact", None, 0.0, 1.0, "contacts"))
    if len(contacts) and meaning == "nullspace":
        found.append(Notice("cones not kept", None, 0.0, 1.0, "nullspace"))
    return tuple(found)
