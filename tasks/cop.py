"""Centre of pressure."""

from __future__ import annotations

from typing import Literal

import numpy as np

from sot.contact import Contact
from sot.contacts import Contacts
from sot.entry import Rows, Tick
from sot.errors import TaskError, unknown
from sot.feature import Value
from sot.force_task import ForceTask, placed
from sot.model import Model
from sot.reference import Hold, Reference, hold
from sot.sketch import CALM, Drawing, Solid, Sphere
from sot.task import Mask
from sot.wanted import Numbers

AXES = ("world", "local")
STEEP = 0.1  # z of a surface's normal below which no point of it is looked for above or below another
LIGHT = 1e-3  # of the robot's weight: with less force there is no centre of pressure to speak of


class CenterOfPressure(ForceTask):
    """Brings the centre of pressure to a point p*: there forces have no torque about axes in the ground's plane.

        −τ_y(p*) = f_n (p − p*)_x = 0,    τ_x(p*) = f_n (p − p*)_y = 0

    which is linear in the forces; two rows, N·m. Of all contacts together the plane is horizontal, at the mean height
    of the touching points, whether the ground is flat or slopes: there the centre of pressure is the zero moment point.
    Of one contact it is its own surface. A foot that does not press has no torque anywhere, which is an answer too:
    where that is not meant, give its contact a `min_force`. At velocity level it asks for nothing.
    """

    kind = "cop"

    def __init__(
        self,
        contact: str | None = None,
        axes: Literal["world", "local"] = "world",
        *,
        reference: Reference | Value | None = None,
        name: str | None = None,
        weight: float = 1.0,
        mask: Mask | None = None,
    ) -> None:
        """
        Args:
            contact: Name or frame of a contact in the stack; by default all together.
            axes: Axes of the reference: `world` (x and y there; the height follows), or `local` for those of the
                contact's surface, from the origin of its frame.
            reference: A point [x, y], m, or a reference. By default, and with
                `sot.hold()`, the middle of the touching points.
            name: Name in reports and look-ups; by default `cop`, or `cop_<contact>`.
            weight: Importance against the other tasks of the same level.
            mask: Rows to keep, by label: x, y; or a boolean per row.
        """
        super().__init__(Numbers(["x", "y"]), contact, reference=None, name=name, weight=weight, mask=mask)
        if axes not in AXES:
            raise TaskError(f"{self.name}: axes: {unknown('axes', axes, AXES)}")
        if contact is None and axes == "local":
            raise TaskError(f"{self.name}: axes: only one contact has local axes; give contact=, or axes 'world'")
        self.axes = axes
        self.reference = reference  # type: ignore[assignment]  # the setter takes values too

    def default_name(self) -> str:
        return "cop" if self.contact is None else f"cop_{self.contact}"

    @property
    def reference(self) -> Reference:
        """Where it should be; `sot.hold()` is the middle of the touching points. May be set at any time."""
        return hold() if self._in_the_middle else self.wanted.reference

    @reference.setter
    def reference(self, reference: Reference | Value | None) -> None:
        in_the_middle = reference is None or (isinstance(reference, Hold) and reference.value is None)
        if in_the_middle:
            self.wanted.reset()
        else:
            self.wanted.reference = reference  # type: ignore[assignment]  # the setter takes values too
        self._in_the_middle = in_the_middle

    def begin(self, model: Model, tick: Tick) -> None:
        """A first reference starts from the middle."""
        if self._in_the_middle:
            return
        here = None
        if self.wanted.target is None and tick.contacts is not None:
            here = self._middle(model, tick.contacts)
        self.wanted.begin(tick.time, here)

    def _middle(self, model: Model, contacts: Contacts) -> np.ndarray | None:
        """The middle of the touching points in the axes of the reference, m, shape (2,)."""
        contact = None if self.contact is None else self.find(model, contacts)
        if self.contact is not None and contact is None:
            return None
        axes, middle, _ = self._plane(model, contacts, contact)
        return middle[:2] if self.axes == "world" else axes[:2] @ (middle - model.placement(self._frame).translation)

    def check(self, model: Model, contact: Contact) -> None:
        if contact.point is not None:
            raise TaskError(f"{self.name}: contact '{contact.name}' is a point: its centre of pressure cannot move")
        self._frame = model.frame(contact.frame)

    # -- rows -----------------------------------------------------------------------------------------

    def force_rows(self, model: Model, contacts: Contacts, contact: Contact | None) -> Rows:
        axes, _, goal = self._plane(model, contacts, contact)
        nothing = np.zeros(self._kept.size)
        return Rows(self._moments(model, contacts, contact, axes, goal)[self._kept], nothing, nothing, on="force")

    def _moments(
        self, model: Model, contacts: Contacts, contact: Contact | None, axes: np.ndarray, about: np.ndarray
    ) -> np.ndarray:
        """(−τ_y, τ_x) about a point, from y, shape (2, size)."""
        W = self._wrenches(model, contacts, contact, about)
        return np.vstack([-axes[1] @ W[3:], axes[0] @ W[3:]])

    def _wrenches(
        self, model: Model, contacts: Contacts, contact: Contact | None, about: np.ndarray
    ) -> np.ndarray:
        """Force and torque about a point, from y, shape (6, size)."""
        if contact is None:
            return contacts.wrench_map(model, about)
        return placed(contact.wrenches_in_world(model, about), contacts, contact)

    def _plane(
        self, model: Model, contacts: Contacts, contact: Contact | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Axes x, y and normal of the plane as rows, shape (3, 3); the middle of the touching points; and p*."""
        if contact is None:
            touching = [other.touching_points(model) for other in contacts]
            middle = np.vstack(touching).mean(axis=0) if touching else np.zeros(3)
            return np.eye(3), middle, middle if self._in_the_middle else np.append(self.wanted.value, middle[2])
        T = model.placement(self._frame)
        axes = contact.cone.basis[:3, :3].T @ T.rotation.T
        middle = contact.touching_points(model).mean(axis=0)
        return axes, middle, middle if self._in_the_middle else self._on_surface(axes, middle, T.translation)

    def _on_surface(self, axes: np.ndarray, middle: np.ndarray, origin: np.ndarray) -> np.ndarray:
        """The point of the surface that is meant."""
        x, y, normal = axes
        if self.axes == "local":
            inside = origin + ((middle - origin) @ normal) * normal
            return inside + self.wanted.value[0] * x + self.wanted.value[1] * y
        across = self.wanted.value - middle[:2]
        steepness = np.copysign(max(abs(normal[2]), STEEP), normal[2])
        return np.append(self.wanted.value, middle[2] - normal[:2] @ across / steepness)

    # -- what there is to tell ------------------------------------------------------------------------

    def point(self, model: Model, contacts: Contacts, forces: np.ndarray) -> np.ndarray | None:
        """Where the centre of pressure is, in the world, m, shape (3,); None if next to no force presses.

        Args:
            model: The robot.
            contacts: All contacts.
            forces: y, N and N·m.
        """
        contact = None if self.contact is None else self.find(model, contacts)
        if self.contact is not None and contact is None:
            return None
        axes, middle, _ = self._plane(model, contacts, contact)
        wrench = self._wrenches(model, contacts, contact, middle) @ forces
        pressure = float(axes[2] @ wrench[:3])
        if not (pressure > LIGHT * model.mass * 9.81):
            return None
        return middle + (-axes[1] @ wrench[3:] * axes[0] + axes[0] @ wrench[3:] * axes[1]) / pressure

    def facts(self, model: Model, tick: Tick, v: np.ndarray) -> dict[str, float | str]:
        """Where it is in the world, and how far from where it should be, m."""
        if tick.contacts is None or tick.forces is None:
            return {}
        point = self.point(model, tick.contacts, tick.forces)
        if point is None:
            return {"pressure": "none"}
        goal = self._plane(model, tick.contacts, self._found)[2]
        return {"x": float(point[0]), "y": float(point[1]), "off": float(np.linalg.norm(point - goal))}

    def sketch(self, model: Model) -> list[Drawing]:
        """The wanted point."""
        if self._contacts is None or (self.contact is not None and self._found is None):
            return []
        pose = np.eye(4)
        pose[:3, 3] = self._plane(model, self._contacts, self._found)[2]
        return [Solid("wanted", Sphere(0.015), pose, CALM)]
