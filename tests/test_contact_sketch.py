"""What is drawn for contacts at torque level: forces where they act, in the colour of how near the cone they are."""

from __future__ import annotations

import numpy as np
import pytest

import sot
from sot.robots import load
from sot.sketch import CALM, WARNING
from sot.state import State
from sot.tasks import CenterOfMass, Contact, Posture


def standing(name, **options):
    robot = load(name)
    contacts = [Contact(foot.frame, friction=0.5, **options) for foot in robot.feet]
    stack = sot.Stack(contacts, [CenterOfMass(name="com", gain=10.0)], [Posture()])
    controller = sot.Controller(robot, stack, output="torque")
    return contacts, controller, State(0.0, robot.home, np.zeros(controller.model.nv))


@pytest.mark.parametrize("name", ["talos", "solo12"])
def test_arrows_show_the_forces_and_where_they_act(name):
    """All arrows together are as long as the weight, 0.5 m; each has its force's line of action."""
    contacts, controller, state = standing(name)
    assert [contact.sketch(controller.model) for contact in contacts] == [[]] * len(contacts)  # no tick yet
    controller.step(state)
    model, weight, total = controller.model, controller.robot.mass * 9.81, np.zeros(3)
    for contact in contacts:
        arrow = contact.sketch(model)[0]
        assert arrow.arrow and arrow.colour == CALM
        force, torque = np.split(controller.contact_forces()[contact.name], [3])
        assert arrow.end - arrow.start == pytest.approx(0.5 * force / weight, abs=1e-12)
        arm = arrow.start - model.placement(model.frame(contact.frame)).translation
        left = torque - np.cross(arm, force)  # about the arrow's start only a torque about the normal is left
        assert left[:2] == pytest.approx([0.0, 0.0], abs=1e-9 * weight)
        low, high = contact.touching_points(model).min(axis=0), contact.touching_points(model).max(axis=0)
        assert (arrow.start >= low - 1e-9).all() and (arrow.start <= high + 1e-9).all()
        total += arrow.end - arrow.start
    assert total == pytest.approx([0.0, 0.0, 0.5], abs=1e-6)


def test_the_cone_has_its_opening():
    contacts, controller, state = standing("solo12", facets=6)
    controller.step(state)
    edges = [line for line in contacts[0].sketch(controller.model) if line.name.startswith("edge")]
    assert len(edges) == 6 and len({line.name for line in contacts[0].sketch(controller.model)}) == 13
    for edge in edges:
        x, y, z = edge.end - edge.start
        assert np.hypot(x, y) / z == pytest.approx(0.5)


def test_a_force_on_the_surface_of_its_cone_is_yellow():
    contacts, controller, state = standing("solo12")
    controller.stack["com"].reference = sot.Model(controller.robot).com + np.array([1.0, 0.0, 0.0])
    controller.step(state)
    assert WARNING in [contact.sketch(controller.model)[0].colour for contact in contacts]


def test_nothing_is_drawn_at_velocity_level_and_for_contacts_of_nobody():
    solo = load("solo12")
    contact = Contact("FL_FOOT")
    controller = sot.Controller(solo, sot.Stack([contact], [Posture()]))
    controller.step(State(0.0, solo.home, np.zeros(18)))
    assert contact.sketch(controller.model) == []
    assert Contact("FR_FOOT").sketch(controller.model) == []
