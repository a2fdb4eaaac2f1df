"""Where the centre of pressure of a contact may be."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from sot.checks import positive
from sot.contact import Contact
from sot.contacts import Contacts
from sot.entry import Constraint, Rows, Tick
from sot.errors import TaskError
from sot.lie import skew
from sot.model import Model
from sot.state import Command
from sot.support_polygon import support_polygon

LIGHT = 1.0  # N; below this normal force a torque is no longer counted as a distance


class CopLimits(Constraint):
    """Keeps the centre of pressure of contacts away from the edge, so that a foot does not begin to tip.

    On the plane of the contact, with normal n, the centre of pressure from the middle of the points is
    p = n × t / f_n, with t the torque about the middle. For each edge with outward normal e and distance o

        e·p ≤ o − margin        so        (e × n)·t ≤ (o − margin) f_n,

    which is linear in the forces. A contact along a line has its two ends; a single point has nothing to bound. At
    velocity level there are no forces, and it asks for nothing.
    """

    kind = "cop_limits"

    def __init__(
        self, contact: str | None = None, margin: float = 0.01, *, name: str | None = None, weight: float = 1.0
    ) -> None:
        """
        Args:
            contact: Name or frame of a contact of the stack; by default all of them.
            margin: Distance to keep from the edge of the contact's points, m.
            name: Name in reports and look-ups; by default `cop_limits`, or `cop_limits_<contact>`.
            weight: Importance against the other entries of the same level, where the limits are soft.
        """
        self.contact = contact
        super().__init__(name=name, weight=weight)
        self.margin = positive(margin, f"{self.name}: margin", zero=True)

    def default_name(self) -> str:
        return self.kind if self.contact is None else f"{self.kind}_{self.contact}"

    def setup(self, model: Model) -> None:
        # Contacts are told apart by what they are part of: while a stack changes there are two versions of it.
        self._known: WeakKeyDictionary[Contacts, tuple[Rows, np.ndarray, list[str]]] = WeakKeyDictionary()
        self._names: list[str] = []

    def rows(self, model: Model, tick: Tick) -> Rows:
        return Rows(np.zeros((0, model.nv)), np.zeros(0), np.zeros(0))

    def dynamic_rows(self, model: Model, tick: Tick) -> Rows:
        if tick.contacts is None:
            return self.rows(model, tick)
        rows, _, self._names = self._layout(model, tick.contacts)
        return rows

    def _layout(self, model: Model, contacts: Contacts) -> tuple[Rows, np.ndarray, list[str]]:
        """Rows on y, which never change; the normal force of each row's contact, on y too; labels."""
        if contacts not in self._known:
            chosen = list(contacts) if self.contact is None else [contacts[self.contact]]
            A, normal, names = [np.zeros((0, contacts.size))], [np.zeros((0, contacts.size))], []
            for contact in chosen:
                edges = self._edges(model, contact)
                for block, part in ((A, edges), (normal, np.tile(contact.cone.normal, (len(edges), 1)))):
                    whole = np.zeros((len(edges), contacts.size))
                    whole[:, contacts.place(contact)] = part
                    block.append(whole)
                names += [f"{contact.name} edge {i}" for i in range(len(edges))]
            free = np.full(len(names), np.inf)
            rows = Rows(np.vstack(A), -free, np.zeros(len(names)), on="force")
            self._known[contacts] = rows, np.vstack(normal), names
        return self._known[contacts]

    def _edges(self, model: Model, contact: Contact) -> np.ndarray:
        """A row on the contact's own forces for each edge, shape (k, r)."""
        basis, n = contact.cone.basis, contact.normal
        T = model.placement(model.frame(contact.frame))
        points = (contact.touching_points(model) - T.translation) @ T.rotation  # in its frame
        if len(points) == 1:
            if self.contact is not None:
                raise TaskError(f"{self.name}: '{contact.name}' touches at one point; its centre of pressure is there")
            return np.zeros((0, contact.cone.size))
        middle = points.mean(axis=0)
        outwards, distances = self._polygon(points - middle, n, contact.name)
        torque = basis[3:] - skew(middle) @ basis[:3]
        return np.cross(outwards, n) @ torque - distances[:, None] * (n @ basis[:3])

    def _polygon(self, points: np.ndarray, n: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Outward normals of the edges in the contact's frame, shape (k, 3), and how far out each allows, m."""
        axes = np.linalg.svd(n[None])[2][1:]  # two directions across n
        flat = points @ axes.T
        polygon = support_polygon(flat)
        widest = self._widest(polygon.vertices)
        if not (self.margin < widest):
            raise TaskError(f"{self.name}: margin: leaves nothing of contact '{name}'; it can be below {widest:.4g} m")
        if len(polygon.vertices) > 2:
            return polygon.normals @ axes, polygon.offsets - self.margin
        first, last = polygon.vertices
        along = (last - first) / np.linalg.norm(last - first)
        return np.stack([along, -along]) @ axes, np.array([along @ last, -along @ first]) - self.margin

    def _widest(self, vertices: np.ndarray) -> float:
        """The largest margin that leaves a point, m: found by halving."""
        if len(vertices) == 2:
            return 0.5 * float(np.linalg.norm(vertices[1] - vertices[0]))
        polygon = support_polygon(vertices)
        low, high = 0.0, float(np.ptp(vertices, axis=0).max())
        for _ in range(50):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if len(polygon.shrunk(middle).vertices) else (low, middle)
        return low

    def broken_by(self, model: Model, tick: Tick, command: Command) -> float:
        """How far the centre of pressure is beyond its bound, m."""
        if tick.contacts is None or tick.forces is None:
            return 0.0
        rows, normal, _ = self._layout(model, tick.contacts)
        return float(np.max(rows.A @ tick.forces / np.maximum(normal @ tick.forces, LIGHT), initial=0.0))

    def labels(self, count: int) -> list[str]:
        return self._names[:count] if len(self._names) >= count else super().labels(count)

    def units(self, count: int) -> list[str]:
        return [""] * count
