"""What a viewer draws for a contact at torque level: its force, where it acts, and its friction cone."""

from __future__ import annotations

import numpy as np

from sot.contact import Contact
from sot.contact_forces import blended, grips
from sot.controller import Controller
from sot.model import Model
from sot.sketch import ALARM, CALM, WARNING, Colour, Drawing, Line

WEIGHT = 0.5  # m, length of the arrow of a force as large as the robot's weight
CONE = 0.03  # m, height of the cone that is drawn, of a robot of 1 kg; it grows with the robot's length
NEAR = 1e-6  # weights of the robot: so close to the cone's surface a force is on it


def sketch(contact: Contact, model: Model) -> list[Drawing]:
    """An arrow for the force and lines around the cone; nothing at velocity level and before the first tick.

    The arrow is green inside the cone, yellow on its surface, where the contact is about to slide or tip, red outside.
    """
    controller = contact.owner
    if not isinstance(controller, Controller) or controller.output != "torque" or not controller.counters.ticks:
        return []
    y = blended(controller).get(contact)
    if y is None:
        return []
    weight = max(model.mass * 9.81, 1.0)
    centre = contact.touching_points(model).mean(axis=0)
    force, torque = np.split(contact.wrenches_in_world(model, centre) @ y, [3])
    at = _centre_of_pressure(centre, contact.normal_in_world(model), force, torque, 1e-3 * weight)
    colour = _colour(contact, y / weight)
    arrow = Line("force", at, at + WEIGHT / weight * force, colour, arrow=True)
    return [arrow, *_cone(contact, model, at)] if grips(contact) else [arrow]


def _centre_of_pressure(
    centre: np.ndarray, normal: np.ndarray, force: np.ndarray, torque: np.ndarray, least: float
) -> np.ndarray:
    """c + n × τ_c / (n · f); the middle of the contact where there is next to no force."""
    push = float(normal @ force)
    return centre + np.cross(normal, torque) / push if push > least else centre


def _colour(contact: Contact, y: np.ndarray) -> Colour:
    outside = float(np.max(contact.cone.facets @ y, initial=-float(contact.cone.normal @ y)))
    return ALARM if outside > NEAR else WARNING if outside > -NEAR else CALM


def _cone(contact: Contact, model: Model, at: np.ndarray) -> list[Drawing]:
    """Edges of the pyramid, and what joins their ends."""
    push = contact.wrenches_in_world(model, at)[:3, :3]  # directions of fx, fy and fz in the world
    angles = 2.0 * np.pi * (np.arange(contact.facets) + 0.5) / contact.facets
    sides = contact.friction * np.column_stack([np.cos(angles), np.sin(angles)])
    ends = at + CONE * np.cbrt(model.mass) * (np.column_stack([sides, np.ones(contact.facets)]) @ push.T)
    edges = [Line(f"edge {i}", at, end, CALM) for i, end in enumerate(ends)]
    rim = [Line(f"rim {i}", end, ends[i - 1], CALM) for i, end in enumerate(ends)]
    return [*edges, *rim]
