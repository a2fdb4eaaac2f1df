"""The centre of mass over what the robot stands on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import numpy as np

from sot.checks import positive
from sot.contacts import Contacts
from sot.entry import Constraint, Rows, Tick
from sot.errors import TaskError
from sot.model import Model
from sot.sketch import ALARM, CALM, Drawing, Line
from sot.support_polygon import Polygon, horizontal_axes, support_polygon
from sot.wrench_cone import checked_points

MOVED = 1e-6  # m by which a contact point moves before the polygon is made anew
LEAST = 4  # half-planes of a polygon at least: a point has four
LOW = 0.05  # m; the centre of mass counts as at least this high above its contacts


@dataclass
class _Support:
    """What is stood on, and room for its rows.

    Attributes:
        lower: Lower bounds of the rows: none.
        upper: Upper bounds of the rows; inf where there is none.
        normals: Outward normals of the edges in the world, 0 in rows that are not used, shape (k, 3).
        points: Contact points for which the polygon was made, in the world, m, shape (n, 3).
        polygon: Their hull, seen along gravity.
    """

    lower: np.ndarray
    upper: np.ndarray
    normals: np.ndarray
    points: np.ndarray
    polygon: Polygon = field(default_factory=lambda: support_polygon(np.zeros((0, 2))))


class SupportPolygon(Constraint):
    """Keeps the centre of mass c over the polygon of all contact points, seen along gravity, by a margin.

    With d the distance of c to an edge less the margin, u its speed towards the edge and ω = √(g / height), the capture
    point c + ċ/ω is inside if u ≤ ω d: then pressure inside of the polygon is enough to stop in time. At torque level

        ξ = d − u (1/k − dt),    ξ⁺ ≥ exp(−λ dt) ξ      so      u⁺ ≤ k (d − exp(−λ dt) ξ)

    with k = (1 − exp(−ω dt)) / dt, which tends to ω: both d and ξ stay above 0 at every later tick. At velocity level
    u ≤ k d. Without `capture` the rate λ stands for ω as well: the robot may be faster than what pressure inside the
    polygon can stop.
    """

    kind = "support_polygon"

    def __init__(
        self,
        margin: float = 0.01,
        contacts: Sequence[str] | None = None,
        points: Sequence[Sequence[float]] | None = None,
        capture: bool = True,
        rate: float = 10.0,
        *,
        name: str | None = None,
        weight: float = 1.0,
    ) -> None:
        """
        Args:
            margin: Distance to keep from the edge, m.
            contacts: Frames that are stood on. At torque level they are contacts of the stack, by default all; at
                velocity level their points are those of the robot's feet, by default all feet.
            points: What is stood on as points of the world, m, in place of contacts.
            capture: Keep the capture point c + ċ/ω inside too, not the centre of mass alone.
            rate: λ in 1/s, at which the capture point may come near its bound; without `capture` the centre of mass.
            name: Name in reports and look-ups; by default `support_polygon`.
            weight: Importance against the other entries of the same level, where it is soft.
        """
        super().__init__(name=name, weight=weight)
        self.margin = positive(margin, f"{self.name}: margin", zero=True)
        if contacts is not None and points is not None:
            raise TaskError(f"{self.name}: give contacts or points, not both")
        self.contacts = [contacts] if isinstance(contacts, str) else contacts
        self.points = None if points is None else checked_points(points, f"{self.name}: points")
        self.capture, self.rate = capture, positive(rate, f"{self.name}: rate")

    def setup(self, model: Model) -> None:
        up = -model.gravity
        self._fall = float(np.linalg.norm(up))
        if not (self._fall > 0.0):
            raise TaskError(f"{self.name}: robot '{model.robot.name}' has no gravity: nothing stands on anything")
        self._up, self._axes = up / self._fall, horizontal_axes(up)
        self._feet = self._frames(model)
        # While a stack changes there are two versions of it, each with contacts of its own.
        self._known: WeakKeyDictionary[Contacts, _Support] = WeakKeyDictionary()
        self._alone: _Support | None = None

    def _frames(self, model: Model) -> list[tuple[int, np.ndarray]]:
        """Frames and points of the feet, for where there are no contact forces."""
        feet = {foot.frame: foot.points for foot in model.robot.feet}
        if self.contacts is not None and not len(self.contacts):
            raise TaskError(f"{self.name}: contacts: is empty")
        names = list(feet) if self.contacts is None else self.contacts
        return [(model.frame(name), feet.get(name, np.zeros((1, 3)))) for name in names]

    # -- what is stood on ----------------------------------------------------------------------------------

    def _support(self, model: Model, tick: Tick) -> _Support:
        """The polygon now; made anew where a contact point has moved."""
        support = self._alone if tick.contacts is None else self._known.get(tick.contacts)
        points = self._points(model, tick.contacts)
        if support is None:
            support = self._laid_out(points, tick.contacts)
        if points.shape != support.points.shape or np.abs(points - support.points).max(initial=0.0) > MOVED:
            self._make(support, points)
        return support

    def _points(self, model: Model, contacts: Contacts | None) -> np.ndarray:
        if self.points is not None:
            return self.points
        if contacts is not None:
            chosen = contacts if self.contacts is None else [contacts[name] for name in self.contacts]
            return np.vstack([np.zeros((0, 3)), *(contact.touching_points(model) for contact in chosen)])
        if not self._feet:
            raise TaskError(f"{self.name}: robot '{model.robot.name}' has no feet; give contacts or points to stand on")
        placed = [(model.placement(frame), points) for frame, points in self._feet]
        return np.vstack([points @ T.rotation.T + T.translation for T, points in placed])

    def _laid_out(self, points: np.ndarray, contacts: Contacts | None) -> _Support:
        """Room for as many edges as there may ever be."""
        count = max(len(points), LEAST) if len(points) else 0
        free = np.full(count, np.inf)
        support = _Support(-free, free, np.zeros((count, 3)), np.full_like(points, np.inf))
        if contacts is None:
            self._alone = support
        else:
            self._known[contacts] = support
        return support

    def _make(self, support: _Support, points: np.ndarray) -> None:
        support.points, support.polygon = points.copy(), support_polygon(points, self._up)
        edges = len(support.polygon.offsets)
        support.normals[:] = 0.0
        support.normals[:edges] = support.polygon.normals @ self._axes

    # -- rows ----------------------------------------------------------------------------------------------

    def _state(self, model: Model, support: _Support) -> tuple[np.ndarray, float]:
        """d, the distance to each edge less the margin, and ω."""
        com, polygon = model.com, support.polygon
        height = max(float(self._up @ (com - support.points.mean(axis=0))), LOW)
        return polygon.offsets - self.margin - polygon.normals @ (self._axes @ com), float(np.sqrt(self._fall / height))

    def _brake(self, omega: float, dt: float) -> float:
        """k, 1/s."""
        return float(-np.expm1(-(omega if self.capture else self.rate) * dt) / dt)

    def rows(self, model: Model, tick: Tick) -> Rows:
        support = self._support(model, tick)
        if not support.upper.size:
            return _nothing(model)
        distance, omega = self._state(model, support)
        support.upper[:] = np.inf
        support.upper[: distance.size] = self._brake(omega, tick.dt) * distance
        return Rows(support.normals @ model.com_jacobian, support.lower, support.upper)

    def dynamic_rows(self, model: Model, tick: Tick) -> Rows:
        support = self._support(model, tick)
        if not support.upper.size:
            return _nothing(model)
        distance, omega = self._state(model, support)
        J, used = model.com_jacobian, slice(0, distance.size)
        speed = support.normals[used] @ (J @ model.v)
        k = self._brake(omega, tick.dt)
        after = k * (distance - np.exp(-self.rate * tick.dt) * (distance - speed * (1.0 / k - tick.dt)))
        support.upper[:] = np.inf
        support.upper[used] = (after - speed) / tick.dt - support.normals[used] @ model.com_drift
        return Rows(support.normals @ J, support.lower, support.upper)

    # -- what there is to know -----------------------------------------------------------------------------

    def violation(self, model: Model, tick: Tick, v: np.ndarray) -> float:
        """How far the centre of mass is beyond the margin now, m, whatever the rows allowed."""
        support = self._support(model, tick)
        return float(np.max(-self._state(model, support)[0], initial=0.0)) if support.upper.size else 0.0

    def facts(self, model: Model, tick: Tick, v: np.ndarray) -> dict[str, float | str]:
        support = self._support(model, tick)
        if not support.upper.size:
            return {"stands on": "nothing"}
        _, omega = self._state(model, support)
        capture = model.com + model.com_jacobian @ model.v / omega
        return {
            "centre of mass from the edge in m": support.polygon.margin(self._axes @ model.com),
            "capture point from the edge in m": support.polygon.margin(self._axes @ capture),
        }

    def labels(self, count: int) -> list[str]:
        return [f"edge {i}" for i in range(count)]

    def units(self, count: int) -> list[str]:
        return ["m"] * count

    def sketch(self, model: Model) -> list[Drawing]:
        """The polygon at the height of its lowest point."""
        support = self._alone or next(iter(self._known.values()), None)
        if support is None or not len(support.polygon.vertices):
            return []
        corners = support.polygon.vertices @ self._axes + (support.points @ self._up).min() * self._up
        colour = CALM if support.polygon.margin(self._axes @ model.com) >= self.margin else ALARM
        ends = zip(corners, np.roll(corners, -1, axis=0), strict=True)
        return [Line(f"edge {i}", start, end, colour) for i, (start, end) in enumerate(ends)]


def _nothing(model: Model) -> Rows:
    return Rows(np.zeros((0, model.nv)), np.zeros(0), np.zeros(0))
