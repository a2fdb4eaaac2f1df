"""The laws of physics as entries of a stack: they stand before level 0 at torque level."""

from __future__ import annotations

import numpy as np

from sot.contact import Contact
from sot.entry import Entry, Rows, Tick
from sot.errors import TaskError
from sot.model import Model


class Unactuated(Entry):
    """Joints without a motor have no torque: a floating base, passive joints."""

    kind = "unactuated"
    limits_motors = True

    def __init__(self, columns: np.ndarray, names: list[str]) -> None:
        base = any(name.startswith("root_joint") for name in names)
        super().__init__(name="floating_base" if base else "no_motor")
        self.columns, self._names = columns, names

    def setup(self, model: Model) -> None:
        none = np.zeros(self.columns.size)
        self._rows = Rows(np.eye(model.nv)[self.columns], none, none, on="torque")

    def rows(self, model: Model, tick: Tick) -> Rows:
        raise TaskError(f"{self.name}: has rows at torque level only")

    def dynamic_rows(self, model: Model, tick: Tick) -> Rows:
        return self._rows

    def labels(self, count: int) -> list[str]:
        return self._names


class Friction(Entry):
    """The cone of a contact's forces."""

    kind = "friction"

    def __init__(self, contact: Contact) -> None:
        super().__init__(name=f"forces of {contact.name}")
        self.contact = contact

    def rows(self, model: Model, tick: Tick) -> Rows:
        raise TaskError(f"{self.name}: has rows at torque level only")

    def labels(self, count: int) -> list[str]:
        return [*self.contact.cone.facet_labels, "normal force"]

    def units(self, count: int) -> list[str]:
        return [*[""] * (count - 1), "N"]
