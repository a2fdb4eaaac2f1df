"""What a controller warns of: it goes on and answers, but somebody should know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sot.formulation import Formulation

if TYPE_CHECKING:
    from sot.closed_form.notice import Notice


def notices_of(formulation: Formulation) -> tuple[Notice, ...]:
    """Warnings about a version of a stack.

    At torque level a free base without any contact is one: nothing can hold it, and whatever the command, its centre of
    mass falls. A robot in flight means it so; where there is no gravity nothing falls.
    """
    contacts, model = formulation.contacts, formulation.model
    if contacts is None or len(contacts) or model.robot.root != "free_flyer" or not model.pin.gravity.linear.any():
        return ()
    from sot.closed_form.notice import Notice

    return (Notice("no contact", None, 0.0, 1.0, "contacts"),)
