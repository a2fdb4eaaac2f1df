"""What is worth a warning, as data: which limb, how much, and how much would have been right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields

import numpy as np

from sot.checks import positive
from sot.closed_form.balance import Balance
from sot.closed_form.forces import unactuated
from sot.closed_form.touching import Touching
from sot.contact import Contact
from sot.model import Model
from sot.support_polygon import horizontal_axes, support_polygon

SENTENCES = {
    "no contact": "nothing touches, and the base is free",
    "cones not kept": "'{unit}' knows equalities only, forces may leave their cones; take 'hierarchical' or 'weighted'",
    "pulling": "pushes with {value:.4g} {unit}, at least {limit:.4g} {unit} is possible",
    "overloaded": "pushes with {value:.4g} {unit}, at most {limit:.4g} {unit} is allowed",
    "slipping": "needs {value:.4g} {unit} of friction along the surface, which gives {limit:.4g} {unit}",
    "twisting": "needs {value:.4g} {unit} of friction about the normal, which gives {limit:.4g} {unit}",
    "cop outside": "centre of pressure {value:.4g} {unit} outside of what touches",
    "base residual": "{value:.4g} {unit} on the base that no contact gives",
    "velocity": "moves with {value:.4g} {unit} where it touches",
    "acceleration": "accelerates with {value:.4g} {unit} where it touches",
}


@dataclass(frozen=True)
class Tolerances:
    """What counts as nothing.

    Attributes:
        rank: Singular values up to this part of the largest one are zero.
        force: N.
        torque: N·m.
        speed: Of a point that touches, m/s.
        acceleration: Of a point that touches, m/s².
    """

    rank: float = 1e-8
    force: float = 1e-3
    torque: float = 1e-3
    speed: float = 1e-3
    acceleration: float = 1e-3

    def __post_init__(self) -> None:
        for part in fields(self):
            positive(getattr(self, part.name), f"tolerances: {part.name}", zero=part.name != "rank")


@dataclass(frozen=True)
class Notice:
    """One warning.

    Attributes:
        kind: One of SENTENCES.
        limb: Frame of the limb; None for the whole robot.
        value: What it is.
        limit: What it should be at most (pulling: at least).
        unit: Unit of both.
        text: All of it in words.
    """

    kind: str
    limb: str | None
    value: float
    limit: float
    unit: str
    text: str = field(init=False)

    def __post_init__(self) -> None:
        sentence = SENTENCES[self.kind].format(value=self.value, limit=self.limit, unit=self.unit)
        object.__setattr__(self, "text", f"{self.kind}: {self.limb or 'robot'}: {sentence}")

    def __str__(self) -> str:
        return self.text


def notices(
    touching: Touching, a: np.ndarray, y: np.ndarray, tau: np.ndarray, balance: Balance, limits: Tolerances
) -> Iterator[Notice]:
    """Everything that is worth a warning about a motion with acceleration a, forces y and torques tau."""
    model = touching.model
    free = unactuated(model)
    if free.size and not touching.limbs:
        yield Notice("no contact", None, 0.0, 1.0, "contacts")
    yield from _residual(tau[free], limits)
    for limb, contact in touching.limbs.items():
        yield from _motion(touching, limb, a, limits)
        found = list(_force(model, contact, y[touching.place(limb)], balance.cops.get(limb), limits))
        yield from found or _twist(model, contact, y[touching.place(limb)], limits)
    if balance.cop is not None and np.isfinite(balance.margins["cop"]):
        push = float(np.linalg.norm(touching.wrench(y, np.zeros(3))[:3]))
        yield from _outside(None, balance.margins["cop"], push, limits)


def _residual(tau: np.ndarray, limits: Tolerances) -> Iterator[Notice]:
    """Of a free flyer, the only root without motors: force, then torque."""
    for part, limit, unit in ((tau[:3], limits.force, "N"), (tau[3:], limits.torque, "N·m")):
        size = float(np.linalg.norm(part))
        if not (size <= limit):
            yield Notice("base residual", None, size, limit, unit)


def _motion(touching: Touching, limb: str, a: np.ndarray, limits: Tolerances) -> Iterator[Notice]:
    """Speed and acceleration of the fastest of a limb's points, in the directions that it holds."""
    J, drift = touching.J[touching.place(limb)], touching.drift[touching.place(limb)]
    speed, left = (_fastest(touching.at_points(limb, rates)) for rates in (J @ touching.model.v, J @ a + drift))
    if not (speed <= limits.speed):
        yield Notice("velocity", limb, speed, limits.speed, "m/s")
    if not (left <= limits.acceleration):
        yield Notice("acceleration", limb, left, limits.acceleration, "m/s²")


def _fastest(rates: np.ndarray) -> float:
    return float(np.linalg.norm(rates, axis=1).max())


def _force(
    model: Model, contact: Contact, y: np.ndarray, cop: np.ndarray | None, limits: Tolerances
) -> Iterator[Notice]:
    """Normal force, force along the surface, centre of pressure."""
    normal = contact.normal_in_world(model)
    force = contact.wrenches_in_world(model, np.zeros(3))[:3] @ y
    push = float(normal @ force)
    if not (push >= contact.min_force - limits.force):
        yield Notice("pulling", contact.frame, push, contact.min_force, "N")
    if not (push <= contact.max_force + limits.force):
        yield Notice("overloaded", contact.frame, push, contact.max_force, "N")
    along, grip = float(np.linalg.norm(force - push * normal)), contact.friction * max(push, 0.0)
    if not (along <= grip + limits.force):
        yield Notice("slipping", contact.frame, along, grip, "N")
    if cop is not None and push > 0.0:
        axes = horizontal_axes(normal)
        surface = support_polygon(contact.touching_points(model) @ axes.T)
        yield from _outside(contact.frame, surface.margin(axes @ cop), push, limits)


def _outside(limb: str | None, margin: float, push: float, limits: Tolerances) -> Iterator[Notice]:
    """A pressure so far outside that its torque about the edge counts."""
    if not (-margin * push <= limits.torque):
        yield Notice("cop outside", limb, -margin, 0.0, "m")


def _twist(model: Model, contact: Contact, y: np.ndarray, limits: Tolerances) -> Iterator[Notice]:
    """Torque about the normal, through the centre of the points, against what the wrench cone leaves of it."""
    cone, centre = contact.cone, contact.touching_points(model).mean(axis=0)
    G, normal = contact.wrenches_in_world(model, centre), contact.normal_in_world(model)
    about = np.concatenate([np.zeros(3), normal])
    turn = np.linalg.lstsq(G, about, rcond=None)[0]  # y of 1 N·m about the normal
    if not (np.abs(G @ turn - about).max() <= 1e-6):  # a point: there is none
        return
    slope, room = cone.facets @ turn, -cone.facets @ y
    most = float(np.min(room[slope > 1e-9] / slope[slope > 1e-9], initial=np.inf))
    least = float(np.max(room[slope < -1e-9] / slope[slope < -1e-9], initial=-np.inf))
    if least > most:  # outside in another way, between the pyramid and the circle
        return
    value = float(normal @ (G @ y)[3:])
    if not (most >= -limits.torque):
        yield Notice("twisting", contact.frame, abs(value), abs(value + most), "N·m")
    elif not (least <= limits.torque):
        yield Notice("twisting", contact.frame, abs(value), abs(value + least), "N·m")
