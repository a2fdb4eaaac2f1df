"""A wanted force of a contact."""

from __future__ import annotations

from typing import Literal

import numpy as np

from sot.contact import Contact
from sot.contacts import Contacts
from sot.entry import Rows, Tick
from sot.errors import TaskError, unknown
from sot.feature import Value
from sot.force_task import ForceTask, arrow, placed
from sot.model import Model
from sot.reference import Reference
from sot.sketch import Drawing
from sot.task import Mask, pick
from sot.wanted import Wrench

AXES = ("world", "local")


class ContactForce(ForceTask):
    """Lets a contact push with a wanted force and torque on the robot: w = w*. At velocity level it asks for nothing.

        press = ContactForce("contact_hand", [0.0, 0.0, 20.0], mask=["fz"])
        press.reference = sot.move(to=[0.0, 0.0, 40.0], duration=1.0)  # from 20 N on

    The torque is about the origin of the contact's frame. What friction does not allow is not asked for: on a level
    after 0 it comes as near as the cone lets it. Rows count forces in weights of the robot. The contact may be taken
    away while the task stays; it then asks for nothing until the contact is there again.
    """

    kind = "contact_force"

    def __init__(
        self,
        contact: str,
        reference: Reference | Value,
        axes: Literal["world", "local"] = "world",
        *,
        name: str | None = None,
        weight: float = 1.0,
        mask: Mask | None = None,
    ) -> None:
        """
        Args:
            contact: Name or frame of a contact in the stack.
            reference: What the surface exerts on the robot, fx fy fz tx ty tz in N and N·m, or fx fy fz alone; or a
                reference, which starts from what was wanted before, and from zero at first.
            axes: Axes of the wrench: `world`, or `local` for those of the contact's frame.
            name: Name in reports and look-ups; by default `force_<contact>`.
            weight: Importance against the other tasks of the same level.
            mask: Rows to keep, by label: fx, fy, fz, tx, ty, tz; or a boolean per row. By default all; of a point the
                forces.
        """
        super().__init__(Wrench(), contact, reference=reference, name=name, weight=weight, mask=mask)
        if axes not in AXES:
            raise TaskError(f"{self.name}: axes: {unknown('axes', axes, AXES)}")
        self.axes = axes

    def default_name(self) -> str:
        return f"force_{self.contact}"

    def check(self, model: Model, contact: Contact) -> None:
        self._frame = model.frame(contact.frame)
        rows = pick(self.mask, self.feature.labels(), f"{self.name}: mask")
        if contact.point is not None:
            if self.mask is not None and rows.max() > 2:
                raise TaskError(f"{self.name}: mask: '{contact.name}' is a point and has no torque; rows: fx, fy, fz")
            rows = rows[rows < 3]
        self._kept = rows

    def force_rows(self, model: Model, contacts: Contacts, contact: Contact | None) -> Rows:
        assert contact is not None  # it has a name, so it was looked up
        wanted = self.wanted.value[self._kept]
        return Rows(placed(self._wrenches(model, contact)[self._kept], contacts, contact), wanted, wanted, on="force")

    def _wrenches(self, model: Model, contact: Contact) -> np.ndarray:
        """From the forces of the contact to its wrench, about the frame's origin or the point, shape (6, r)."""
        T = model.placement(self._frame)
        about = T.translation if contact.point is None else T.act(contact.point)
        W = contact.wrenches_in_world(model, about)
        return W if self.axes == "world" else np.vstack([T.rotation.T @ W[:3], T.rotation.T @ W[3:]])

    def facts(self, model: Model, tick: Tick, v: np.ndarray) -> dict[str, float | str]:
        """What is wanted and what was found, N and N·m."""
        if tick.contacts is None or tick.forces is None:
            return {}
        contact = self.find(model, tick.contacts)
        if contact is None:
            return {"contact": "is not in the stack"}
        found, names = self._wrenches(model, contact) @ tick.forces[tick.contacts.place(contact)], self.feature.labels()
        facts: dict[str, float | str] = {f"{names[i]} wanted": float(self.wanted.value[i]) for i in self._kept}
        return facts | {names[i]: float(found[i]) for i in self._kept}

    def sketch(self, model: Model) -> list[Drawing]:
        """The wanted force where the contact is."""
        if self._found is None:
            return []
        force = np.where(np.isin(np.arange(3), self._kept), self.wanted.value[:3], 0.0)
        R = model.placement(self._frame).rotation if self.axes == "local" else np.eye(3)
        return [arrow(model, "force", self._found.touching_points(model).mean(axis=0), R @ force)]
