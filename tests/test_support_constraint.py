"""The centre of mass stays over the feet: at both levels, on soles and on points, at rest and pushed to the edge."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import sot
from sot.entry import Tick
from sot.errors import ModelError, SotError, TaskError
from sot.robots import load
from sot.state import State
from sot.tasks import CenterOfMass, Contact, JointLimits, Posture, SupportPolygon, TorqueLimits

MARGIN = 0.02
AWAY = {"talos": [0.2, 0.05, 0.0], "solo12": [0.25, 0.0, 0.0]}  # m; legs stay bent


def standing(name, output, constraint, *, gain=3.0, dt=1e-3, away=None):
    """A stand whose centre of mass is asked to go where nothing carries it."""
    robot = load(name)
    contacts = [Contact(foot.frame) for foot in robot.feet]
    com = CenterOfMass(name="com", gain=gain)
    stack = sot.Stack([JointLimits(), TorqueLimits(), *contacts, constraint], [com], [Posture(gain=5.0)])
    controller = sot.Controller(robot, stack, output=output, dt=dt)
    com.reference = controller.model.com + np.array(AWAY[name] if away is None else away)
    return controller


def feet(model):
    points = []
    for foot in model.robot.feet:
        T = model.placement(model.frame(foot.frame))
        points += [T.act(np.asarray(point)) for point in foot.points]
    return np.array(points)


def room(points, p):
    """Distance of p to the nearest side of the hull, from scipy's own hull."""
    equations = ConvexHull(points[:, :2]).equations
    return -(equations[:, :2] @ p[:2] + equations[:, 2]).max()


def pushed(controller, seconds, dt=1e-3):
    """Margins of the centre of mass and of the capture point, and what is commanded, by integration of v̇."""
    model, (q, v) = controller.model, (controller.robot.home.copy(), np.zeros(controller.model.nv))
    ground, found, commands = feet(model), [], []
    for k in range(round(seconds / dt)):
        command = controller.step(State(dt * k, q, v))
        com, speed = model.com, model.com_jacobian @ v
        omega = np.sqrt(9.81 / (com[2] - ground[:, 2].mean()))
        # A velocity that is held for a tick is that of its middle, where the robot was half a tick ago.
        found.append((room(ground, com), room(ground, com + speed * (1.0 / omega - 0.5 * dt))))
        commands.append(command.v if command.tau is None else command.tau)
        v = command.v
        q = model.integrate(q, dt * v) if command.q is None else command.q
    return np.array(found).T, np.array(commands), v


def zigzag(commands, least):
    """Chatter: ticks in which a command goes forth, back and forth again in three ticks; a bend is none."""
    step = np.diff(commands, axis=0)
    turns = (step[1:] * step[:-1] < 0.0)[1:] & (step[1:] * step[:-1] < 0.0)[:-1]
    size = np.minimum(np.minimum(np.abs(step[2:]), np.abs(step[1:-1])), np.abs(step[:-2]))
    return int((size * turns > least).any(axis=1).sum())


@pytest.mark.parametrize("output", ["velocity", "torque"])
@pytest.mark.parametrize("name", ["talos", "solo12"])
def test_the_centre_of_mass_stops_at_the_margin(name, output):
    """Three seconds against a target outside: it comes to the margin, never beyond it, and stays there in peace."""
    controller = standing(name, output, SupportPolygon(margin=MARGIN))
    (com, capture), commands, v = pushed(controller, 3.0)
    assert com.min() >= MARGIN - 1e-6 and com[-1] <= MARGIN + 1e-4
    assert capture.min() >= MARGIN - 1e-5  # ω is that of the moment, and the height changes a little
    assert controller.counters.infeasible == 0 and np.abs(v).max() < 1e-3
    assert zigzag(commands, 1e-3 if output == "velocity" else 0.02) <= 3


def test_without_it_the_centre_of_mass_leaves():
    """What the tests above would see if the rows did nothing."""
    controller = standing("solo12", "velocity", SupportPolygon(points=[[-9, -9, 0], [9, -9, 0], [9, 9, 0], [-9, 9, 0]]))
    (com, _), *_ = pushed(controller, 1.0)
    assert com[-1] < 0.0


@pytest.mark.parametrize("name", ["talos", "solo12"])
def test_without_the_capture_point_it_is_faster(name):
    """The centre of mass alone keeps its margin too, and on the way the capture point does not."""
    away = np.array(AWAY[name])
    slow, fast = (
        pushed(standing(name, "velocity", SupportPolygon(MARGIN, capture=c, rate=20.0), gain=8.0, away=away), 1.0)[0]
        for c in (True, False)
    )
    assert fast[0].min() >= MARGIN - 1e-6 and slow[1].min() >= MARGIN - 1e-5 > fast[1].min() + 1e-3
    assert fast[0][100] < slow[0][100] - 1e-3


def test_the_same_motion_at_200_hz_and_1_khz():
    ways = []
    for dt in (1e-3, 5e-3):
        controller = standing("solo12", "torque", SupportPolygon(MARGIN), dt=dt)
        ways.append(pushed(controller, 1.0, dt)[0][0][:: round(5e-3 / dt)])
    assert np.abs(ways[0] - ways[1]).max() < 3e-3


@pytest.mark.parametrize("capture", [True, False])
def test_no_state_inside_leads_outside(capture):
    """The law in one dimension, from random states and with any acceleration that the rows allow: invariant."""
    rng, model = np.random.default_rng(0), sot.Model(load("solo12"))
    constraint = SupportPolygon(0.0, capture=capture, points=[[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
    constraint.setup(model)
    for dt in (1e-3, 5e-3, 0.05):
        d, u = rng.uniform(0.0, 1.0, 1000), np.zeros(1000)
        omega = float(np.sqrt(9.81 / model.com[2])) if capture else constraint.rate
        k = constraint._brake(omega, dt)
        p, lag = np.exp(-constraint.rate * dt), 1.0 / k - dt
        for _ in range(300):
            most = k * (d - p * (d - lag * u))
            u = np.where(rng.random(1000) < 0.7, most, most - rng.exponential(1.0, 1000))
            d = d - dt * u
            assert d.min() >= -1e-12 and (d - lag * u).min() >= -1e-12


@pytest.mark.parametrize("name", ["talos", "solo12", "g1"])
def test_rows_are_the_speed_towards_each_edge(name):
    """J and the drift against finite differences of the distance to the edges, on random states."""
    model, rng = sot.Model(load(name)), np.random.default_rng(2)
    constraint = SupportPolygon(0.0, points=feet(model))
    constraint.setup(model)
    equations = np.unique(np.round(ConvexHull(feet(model)[:, :2]).equations, 9), axis=0)

    def distances(q):
        model.update(q, np.zeros(model.nv))
        return -(equations[:, :2] @ model.com[:2] + equations[:, 2])

    q, v, h = model.random_configuration(rng, 0.2), rng.normal(size=model.nv), 1e-4
    before, now, after = (distances(model.integrate(q, s * h * v)) for s in (-1.0, 0.0, 1.0))
    model.update(q, v)
    rows = constraint.dynamic_rows(model, Tick(0.0, 1e-3, v))
    used = np.isfinite(rows.upper)
    towards = np.sort((before - after) / (2.0 * h))
    np.testing.assert_allclose(np.sort(rows.A[used] @ v), towards, atol=1e-6 * (1.0 + np.abs(towards).max()))
    omega, p = np.sqrt(9.81 / (model.com[2] - constraint.points[:, 2].mean())), np.exp(-0.01)
    u, bend = (before - after) / (2.0 * h), -(before - 2.0 * now + after) / h**2
    k = -np.expm1(-omega * 1e-3) / 1e-3
    wanted = (k * (now - p * (now - u * (1.0 / k - 1e-3))) - u) / 1e-3 - bend
    np.testing.assert_allclose(np.sort(rows.upper[used]), np.sort(wanted), rtol=1e-4, atol=1e-3)


def test_a_slope_is_seen_along_gravity():
    """Feet at different heights: the polygon is that of their shadows."""
    model = sot.Model(load("solo12"))
    points = np.array([[0.2, 0.2, 0.0], [0.2, -0.2, 0.0], [-0.2, -0.2, 0.1], [-0.2, 0.2, 0.1]])
    constraint = SupportPolygon(0.0, points=points)
    constraint.setup(model)
    facts = constraint.facts(model, Tick(0.0, 1e-3, np.zeros(model.nv)), np.zeros(model.nv))
    assert facts["centre of mass from the edge in m"] == pytest.approx(0.2 - np.abs(model.com[:2]).max(), abs=1e-12)
    assert len(constraint.sketch(model)) == 4


def test_a_foot_that_leaves_takes_its_part_of_the_polygon_along():
    """On one foot the rows are those of one foot; the number of rows is another in the new version of the stack."""
    controller = standing("talos", "torque", SupportPolygon(0.0), away=[0.0, 0.085, 0.0])
    q, v = controller.robot.home.copy(), np.zeros(controller.model.nv)
    for k in range(2200):
        if k == 2000:
            controller.stack.remove("contact_right_sole_link", ramp=0.05)
        command = controller.step(State(1e-3 * k, q, v))
        q, v = command.q, command.v
    left = feet(controller.model)[:4]
    assert room(left, controller.model.com) > 0.0 and controller.counters.infeasible == 0
    tick = Tick(0.0, 1e-3, v, controller.formulation.contacts)
    facts = controller.stack["support_polygon"].facts(controller.model, tick, v)
    assert facts["centre of mass from the edge in m"] == pytest.approx(room(left, controller.model.com), abs=2e-6)


@pytest.mark.filterwarnings("ignore:no contact")
def test_in_the_air_it_asks_for_nothing():
    robot = load("solo12")
    controller = sot.Controller(robot, sot.Stack([SupportPolygon()], [Posture()]), output="torque")
    command = controller.step(State(0.0, robot.home, np.zeros(18)))
    assert np.isfinite(command.tau).all() and controller.counters.infeasible == 0
    assert "nothing" in str(controller.explain())


def test_violation_is_measured_on_the_robot():
    model = sot.Model(load("solo12"))
    constraint = SupportPolygon(0.05)
    constraint.setup(model)
    q = model.robot.home.copy()
    tick = Tick(0.0, 1e-3, np.zeros(18))
    assert constraint.violation(model, tick, np.zeros(18)) == 0.0
    constraint.points = feet(model)
    q[0] += 0.3  # the body alone: its feet are said to stay
    model.update(q, np.zeros(18))
    expected = 0.05 - room(constraint.points, model.com)
    assert constraint.violation(model, tick, np.zeros(18)) == pytest.approx(expected, abs=1e-9)


BAD = {
    "margin": (lambda: SupportPolygon(-0.1), TaskError, "margin"),
    "NaN rate": (lambda: SupportPolygon(rate=np.nan), TaskError, "rate"),
    "both": (lambda: SupportPolygon(contacts=["a"], points=[[0, 0, 0]]), TaskError, "not both"),
    "points": (lambda: SupportPolygon(points=[[0, 0, np.nan]]), TaskError, "points"),
    "frame": (lambda: SupportPolygon(contacts=["FL_FOO"]), ModelError, "FL_FOOT"),
    "none": (lambda: SupportPolygon(contacts=[]), TaskError, "empty"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_said(case):
    make, kind, words = BAD[case]
    with pytest.raises(SotError) as caught:
        make().setup(sot.Model(load("solo12")))
    assert isinstance(caught.value, kind) and words in str(caught.value)


def test_an_arm_has_no_feet():
    with pytest.raises(TaskError, match="no feet"):
        sot.Controller(load("ur5"), sot.Stack([SupportPolygon()], [Posture()]))
    stack = sot.Stack([Contact("FL_FOOT"), SupportPolygon(contacts=["FR_FOOT"])], [Posture()])
    with pytest.raises(TaskError, match="unknown contact 'FR_FOOT'"):
        sot.Controller(load("solo12"), stack, output="torque")
