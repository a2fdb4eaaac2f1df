"""What tasks have in common that ask something of contact forces."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from sot.contact import Contact
from sot.contacts import Contacts
from sot.entry import Entry, Rows, Tick
from sot.errors import TaskError, unknown
from sot.feature import Value
from sot.model import Model
from sot.reference import Reference
from sot.sketch import CALM, Colour, Line
from sot.task import Mask, pick
from sot.wanted import Numbers, Wanted

LONGEST, LIGHT, SLIGHT = 0.5, 1.0, 10.0  # m, of an arrow: the robot's weight, or more; of robots below 1 kg 10 N


class ForceTask(Entry):
    """Rows on y, the forces of all contacts; none at velocity level, where forces are not known.

    With a `contact` it is about that one, by name or frame. A contact that is not in the stack when the task joins it
    is an error; where it is taken away later the task has nothing to say until it is there again.

    Attributes:
        contact: Name or frame of the contact; None for all of them.
        feature: The space of the reference.
    """

    def __init__(
        self,
        space: Numbers,
        contact: str | None,
        *,
        reference: Reference | Value | None,
        name: str | None,
        weight: float,
        mask: Mask | None,
    ) -> None:
        self.contact, self.feature = contact, space
        super().__init__(name=name, weight=weight)
        self.mask = mask
        self.wanted = Wanted(space, reference, f"{self.name}: reference")
        self.reset()

    @property
    def reference(self) -> Reference:
        """What is wanted. May be set at any time; it takes effect at the next tick."""
        return self.wanted.reference

    @reference.setter
    def reference(self, reference: Reference | Value | None) -> None:
        self.wanted.reference = reference  # type: ignore[assignment]  # the setter takes values too

    @property
    def mask(self) -> Mask | None:
        """Rows to keep."""
        return self._mask

    @mask.setter
    def mask(self, mask: Mask | None) -> None:
        self._refuse_while_running("mask")
        self._kept = pick(mask, self.feature.labels(), f"{self.name}: mask")
        self._mask = mask

    def reset(self) -> None:
        self.wanted.reset()
        self._contacts: Contacts | None = None
        self._found: Contact | None = None
        self._known = False  # it has been in the stack once

    def begin(self, model: Model, tick: Tick) -> None:
        self.wanted.begin(tick.time)

    @abstractmethod
    def force_rows(self, model: Model, contacts: Contacts, contact: Contact | None) -> Rows:
        """The rows on y.

        Args:
            model: The robot.
            contacts: All contacts.
            contact: The one it is about; None if it is about all.
        """

    def check(self, model: Model, contact: Contact) -> None:
        """Refuse a contact that cannot do what is asked."""

    def rows(self, model: Model, tick: Tick) -> Rows:
        return Rows(np.zeros((0, model.nv)), np.zeros(0), np.zeros(0))

    def dynamic_rows(self, model: Model, tick: Tick) -> Rows:
        contacts = self._contacts if tick.contacts is None else tick.contacts
        if contacts is None:
            return self.rows(model, tick)
        if self.contact is not None and self.find(model, contacts) is None:
            return Rows(np.zeros((0, contacts.size)), np.zeros(0), np.zeros(0), on="force")
        self._contacts = contacts
        return self.force_rows(model, contacts, self._found)

    def find(self, model: Model, contacts: Contacts) -> Contact | None:
        """The contact it is about; None if it has been taken away."""
        if contacts is not self._contacts:  # names are looked up once per version of the stack
            self._found = self._look_up(model, contacts)
            self._contacts = contacts
        return self._found

    def _look_up(self, model: Model, contacts: Contacts) -> Contact | None:
        for contact in contacts:
            if self.contact in (contact.name, contact.frame):
                self.check(model, contact)
                self._known = True
                return contact
        if not self._known:
            raise TaskError(f"{self.name}: {unknown('contact', self.contact, [other.name for other in contacts])}")
        return None

    def labels(self, count: int) -> list[str]:
        names = self.feature.labels()
        return [names[i] for i in self._kept][:count]

    def units(self, count: int) -> list[str]:
        return [""] * count


def placed(rows: np.ndarray, contacts: Contacts, contact: Contact) -> np.ndarray:
    """Rows on the forces of one contact as rows on those of all, shape (k, size)."""
    A = np.zeros((len(rows), contacts.size))
    A[:, contacts.place(contact)] = rows
    return A


def arrow(model: Model, name: str, start: np.ndarray, force: np.ndarray, colour: Colour = CALM) -> Line:
    """A force in the world as an arrow: half a metre for the robot's weight, and no longer.

    For one that weighs next to nothing, such as a stylus of m kg, it is m / 2 metres for 10 N.
    """
    longest = LONGEST * min(model.mass / LIGHT, 1.0)
    length = longest / max(model.mass * 9.81, SLIGHT, float(np.linalg.norm(force)))
    return Line(name, np.array(start), start + length * force, colour, arrow=True)
