"""All contacts of a stack at torque level, and where their forces stand in y."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sot.contact import Contact
from sot.errors import TaskError, unknown
from sot.model import Model


class Contacts:
    """The contacts whose forces are unknowns. y holds their forces one after the other, N and N·m.

    Attributes:
        size: Length of y.
    """

    def __init__(self) -> None:
        self.size = 0
        self._places: dict[Contact, slice] = {}

    def add(self, contact: Contact) -> None:
        """Append a contact that has been set up."""
        self._places[contact] = slice(self.size, self.size + contact.cone.size)
        self.size += contact.cone.size

    def __iter__(self) -> Iterator[Contact]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, name: str) -> Contact:
        """A contact by its name or its frame."""
        for contact in self:
            if name in (contact.name, contact.frame):
                return contact
        raise TaskError(unknown("contact", name, [contact.name for contact in self]))

    def place(self, contact: Contact) -> slice:
        """Where its forces stand in y."""
        return self._places[contact]

    def wrench_map(self, model: Model, about: np.ndarray) -> np.ndarray:
        """G, with G y the sum of all contacts' wrenches on the robot, in the world, about a point, shape (6, size)."""
        G = np.zeros((6, self.size))
        for contact, place in self._places.items():
            G[:, place] = contact.wrenches_in_world(model, about)
        return G
