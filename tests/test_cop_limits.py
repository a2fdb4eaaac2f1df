"""Centres of pressure stay inside their contacts, by a margin: against forces at the points themselves."""

from __future__ import annotations

import numpy as np
import pytest

import sot
from sot.contacts import Contacts
from sot.entry import Tick
from sot.errors import SotError, TaskError
from sot.robots import load
from sot.state import State
from sot.tasks import CenterOfMass, Contact, CopLimits, JointLimits, Posture, TorqueLimits

FLAT = [[0.1, 0.05, 0.0], [0.1, -0.05, 0.0], [-0.08, -0.03, 0.0], [-0.08, 0.03, 0.0]]
TILTED = [-0.3, 0.2, 0.933]


def laid_out(constraint, *contacts, robot="talos"):
    model, all_of_them = sot.Model(load(robot)), Contacts()
    for contact in contacts:
        contact.setup(model)
        all_of_them.add(contact)
    constraint.setup(model)
    tick = Tick(0.0, 1e-3, np.zeros(model.nv), all_of_them)
    return model, tick, constraint.dynamic_rows(model, tick)


def pressed_at(contact, point, force):
    """y of a contact that is pressed at one point of its plane."""
    wrench = np.concatenate([force, np.cross(point, force)])
    return np.linalg.lstsq(contact.cone.basis, wrench, rcond=None)[0]


def turned(points, normal):
    """Points of a plane with another normal, around a middle that is not the origin."""
    normal = np.asarray(normal) / np.linalg.norm(normal)
    x = np.cross([0.0, 1.0, 0.0], normal)
    x /= np.linalg.norm(x)
    return np.asarray(points) @ np.stack([x, np.cross(normal, x), normal]) + [0.02, -0.01, -0.1], normal


@pytest.mark.parametrize("normal", [[0.0, 0.0, 1.0], TILTED])
def test_rows_are_those_of_the_shrunk_polygon(normal):
    """A force at a point of the surface is allowed if and only if the point has its margin from every edge."""
    points, n = turned(FLAT, normal)
    contact = Contact("left_sole_link", points=points, normal=n)
    _, _, rows = laid_out(CopLimits(margin=0.02), contact)
    assert rows.on == "force" and rows.A.shape == (4, 6)
    rng, seen = np.random.default_rng(0), set()
    corners = np.asarray(FLAT)[:, :2]
    for _ in range(500):
        flat = rng.uniform([-0.12, -0.07], [0.12, 0.07])
        edges = np.roll(corners, -1, axis=0) - corners  # clockwise
        inwards = np.stack([edges[:, 1], -edges[:, 0]], axis=1) / np.linalg.norm(edges, axis=1)[:, None]
        margin = ((flat - corners) * inwards).sum(axis=1).min()
        force = rng.uniform(10.0, 500.0) * n + np.cross(n, rng.normal(size=3)) * 50.0
        at = turned([[*flat, 0.0]], normal)[0][0]
        inside = (rows.A @ pressed_at(contact, at, force) <= rows.upper).all()
        if abs(margin - 0.02) > 1e-9:
            assert inside == (margin > 0.02)
            seen.add(inside)
    assert seen == {True, False}


def test_a_line_has_two_ends_and_a_point_has_none():
    line = Contact("left_sole_link", points=[[0.1, 0.02, 0.0], [-0.1, 0.02, 0.0]])
    point = Contact("right_sole_link", points=[[0.0, 0.0, 0.0]])
    _, tick, rows = laid_out(CopLimits(margin=0.03), point, line)
    assert rows.A.shape == (2, 8) and not rows.A[:, :3].any()
    for x in (-0.09, -0.0701, -0.0699, 0.0, 0.05, 0.0699, 0.0701, 0.2):
        y = np.concatenate([np.zeros(3), pressed_at(line, np.array([x, 0.02, 0.0]), np.array([3.0, -8.0, 100.0]))])
        assert (rows.A @ y <= 1e-9).all() == (abs(x) < 0.07)
    assert tick.contacts.size == 8


def test_at_velocity_level_it_asks_for_nothing():
    model = sot.Model(load("talos"))
    constraint = CopLimits()
    constraint.setup(model)
    tick = Tick(0.0, 1e-3, np.zeros(model.nv))
    assert constraint.rows(model, tick).lower.size == 0
    assert constraint.violation(model, tick, np.zeros(model.nv)) == 0.0


def pressures(controller):
    """Centre of pressure of each contact in its frame, from its wrench."""
    found = []
    for contact, y in controller.formulation.forces_of(controller.solver.x).items():
        w = contact.wrench(y)
        found.append(np.array([-w[4], w[3]]) / w[2])
    return found


def leaning(robot, constraint, by, ticks, solver="hierarchical"):
    """A stand whose centre of mass is asked to go away; margins of all centres of pressure, and torques."""
    contacts = [Contact(foot.frame, friction=0.5) for foot in robot.feet]
    com = CenterOfMass(name="com", gain=6.0)
    hard = [JointLimits(), TorqueLimits(), *contacts, *([constraint] if constraint else [])]
    stack = sot.Stack(hard, [com], [Posture(gain=5.0, weight=1e-4)])
    controller = sot.Controller(robot, stack, output="torque", solver=solver)
    com.reference = controller.model.com + np.array(by)
    half = 0.5 * np.ptp(robot.feet[0].points[:, :2], axis=0)
    middle = robot.feet[0].points[:, :2].mean(axis=0)
    q, v, margins, torques = robot.home.copy(), np.zeros(robot.pin_model.nv), [], []
    for k in range(ticks):
        command = controller.step(State(1e-3 * k, q, v))
        margins.append(min((half - np.abs(p - middle)).min() for p in pressures(controller)))
        torques.append(command.tau)
        q, v = command.q, command.v
    return controller, np.array(margins), np.array(torques)


def zigzag(torques):
    """Chatter: ticks in which a torque goes forth, back and forth again by 0.02 N·m in three ticks; a bend is none."""
    step = np.diff(torques, axis=0)
    turns = (step[1:] * step[:-1] < 0.0)[1:] & (step[1:] * step[:-1] < 0.0)[:-1]
    least = np.minimum(np.minimum(np.abs(step[2:]), np.abs(step[1:-1])), np.abs(step[:-2]))
    return int((least * turns > 0.02).any(axis=1).sum())


@pytest.mark.parametrize("solver", ["hierarchical", "weighted"])
def test_the_centre_of_pressure_keeps_its_margin(solver):
    """The bound is needed, reached and kept; torques move on without chatter."""
    robot = load("talos")
    free, without, _ = leaning(robot, None, [0.03, 0.0, 0.0], 250, solver)
    constraint = CopLimits(margin=0.03)
    controller, margins, torques = leaning(robot, constraint, [0.03, 0.0, 0.0], 250, solver)
    assert without.min() < 0.02 and margins.min() >= 0.03 - 1e-6 and margins.min() <= 0.03 + 1e-6
    assert controller.counters.infeasible == free.counters.infeasible == 0
    assert zigzag(torques) <= 3
    tick = Tick(0.0, 1e-3, np.zeros(controller.model.nv), controller.formulation.contacts)
    tick.forces = controller.formulation.y(controller.solver.x)
    assert constraint.broken_by(controller.model, tick, None) <= 1e-6


def test_broken_by_is_in_metres():
    contact = Contact("left_sole_link", points=FLAT)
    constraint = CopLimits("left_sole_link", margin=0.02)
    model, tick, _ = laid_out(constraint, contact)
    tick.forces = pressed_at(contact, np.array([0.093, 0.0, 0.0]), np.array([10.0, 5.0, 200.0]))
    assert constraint.broken_by(model, tick, None) == pytest.approx(0.013, abs=1e-9)
    tick.forces = np.zeros(6)
    assert constraint.broken_by(model, tick, None) == 0.0


def test_a_foot_that_leaves_takes_its_rows_along():
    robot = load("talos")
    controller, *_ = leaning(robot, CopLimits(), [0.0, 0.06, 0.0], 5)
    q, v = robot.home.copy(), np.zeros(robot.pin_model.nv)
    controller.stack.remove("contact_right_sole_link", ramp=0.01)
    for k in range(20):
        command = controller.step(State(0.005 + 1e-3 * k, q, v))
        assert np.isfinite(command.tau).all()
    assert controller.stack["cop_limits"].labels(4) == [f"contact_left_sole_link edge {i}" for i in range(4)]


BAD = {
    "margin": (lambda: CopLimits(margin=-0.01), "margin"),
    "NaN": (lambda: CopLimits(margin=np.nan), "margin"),
    "too wide": (lambda: CopLimits(margin=0.2), "leaves nothing of contact 'contact_left_sole_link'"),
    "unknown": (lambda: CopLimits("left_foot"), "contact_left_sole_link"),
    "a point": (lambda: CopLimits("right_sole_link"), "one point"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_said(case):
    make, words = BAD[case]
    contacts = Contact("left_sole_link"), Contact("right_sole_link", points=[[0.0, 0.0, 0.0]])
    with pytest.raises(SotError, match=words) as caught:
        laid_out(make(), *contacts)
    assert isinstance(caught.value, TaskError)
