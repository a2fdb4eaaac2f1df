"""Contacts in all kinds of places: slopes, edges, lines, tables, several at once, none; by pinocchio and statics."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from torque_oracle import G, Look, centre_of_pressure, near_home, off_points, points_of, rest, still, weight

import sot
from sot.errors import SotWarning
from sot.robots import load
from sot.state import State
from sot.tasks import (
    CenterOfMass,
    Contact,
    JointLimits,
    Orientation,
    Pose,
    Posture,
    TorqueLimits,
)

DT = 1e-3  # s
SLOPE = np.deg2rad(20.0)
TILT = pin.exp3(np.array([0.0, SLOPE, 0.0]))
SOLVERS = ("hierarchical", "weighted", "nullspace")


def controller_of(robot, *levels, solver="hierarchical", **options):
    return sot.Controller(robot, sot.Stack(*levels), solver=solver, output="torque", dt=DT, **options)


def tick(controller, state):
    return Look(controller, state, controller.step(state))


def in_cones(look, contacts):
    return max(look.outside(contact) for contact in contacts) <= 1e-9


def follow(controller, q, count, v=None):
    """Integrate the commands; yields what pinocchio sees of each tick."""
    state = State(0.0, q, np.zeros(controller.model.nv) if v is None else v)
    for k in range(count):
        look = tick(controller, state)
        yield look
        state = State(DT * (k + 1), look.command.q, look.command.v)


def ended(robot, *levels):
    """Where a stack comes to rest at velocity level."""
    controller = sot.Controller(robot, sot.Stack(*levels), dt=0.02)
    q, v = robot.home.copy(), np.zeros(controller.model.nv)
    for k in range(150):
        v = controller.step(State(0.02 * k, q, v)).v
        q = controller.model.integrate(q, 0.02 * v)
    assert np.abs(v).max() < 1e-9
    return q


def total_force(look):
    return sum(wrench[:3] for wrench in look.forces.values())


def at(robot, q, frame):
    data = robot.pin_model.createData()
    pin.framesForwardKinematics(robot.pin_model, data, q)
    return data.oMf[robot.pin_model.getFrameId(frame)]


# -- a slope ---------------------------------------------------------------------------------------------------


def on_slope(robot):
    """A posture on the slope: points as they are, with the whole robot tilted; soles with legs that make up for it."""
    if len(robot.feet[0].points) == 1:
        q = robot.home.copy()
        base = pin.SE3(TILT, np.zeros(3)) * pin.XYZQUATToSE3(q[:7])
        q[:7] = pin.SE3ToXYZQUAT(base)
        return q
    feet = [Pose(foot.frame, gain=20.0, name=foot.frame) for foot in robot.feet]
    middle = np.mean([at(robot, robot.home, foot.frame).translation for foot in robot.feet], axis=0)
    for foot in feet:
        T = at(robot, robot.home, foot.frame)
        foot.reference = pin.SE3(TILT @ T.rotation, T.translation)
    com = CenterOfMass(mask="xy", gain=20.0, reference=[*middle[:2], 0.0])
    return ended(robot, [JointLimits()], feet, [com], [Posture(gain=20.0)])


def feet_on_slope(robot, friction):
    normal = TILT[:, 2] if len(robot.feet[0].points) == 1 else [0.0, 0.0, 1.0]  # a sole lies on it
    return [Contact(foot.frame, friction=friction, normal=normal, facets=8) for foot in robot.feet]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", ["solo12", "go2", "anymal", "talos", "g1"])
def test_a_robot_rests_on_a_slope_with_enough_friction(name, solver):
    """tan 20° = 0.364 is needed; eight facets of friction 0.5 give 0.462 at least."""
    robot = load(name)
    q, feet = on_slope(robot), feet_on_slope(robot, 0.5)
    limits = [] if solver == "nullspace" else [JointLimits(), TorqueLimits()]
    stay = Posture(reference=sot.hold())
    controller = controller_of(robot, [*limits, *feet], [CenterOfMass()], [stay], solver=solver)
    look = tick(controller, State(0.0, q, np.zeros(controller.model.nv)))
    np.testing.assert_allclose(total_force(look), [0.0, 0.0, weight(robot)], atol=1e-6 * weight(robot))
    assert look.residual() <= 1e-9
    assert np.abs(look.acceleration).max() <= (1e-5 if solver == "weighted" else 1e-6)
    if solver != "nullspace":
        assert in_cones(look, feet) and controller.counters.infeasible == 0
        for foot in feet:
            normal = TILT[:, 2]
            force = look.forces[foot.name][:3]
            assert np.linalg.norm(force - normal * (normal @ force)) <= 0.5 * normal @ force + 1e-9 * weight(robot)


@pytest.mark.parametrize("solver", ["hierarchical", "weighted"])
@pytest.mark.parametrize("name", ["solo12", "go2", "anymal", "talos", "g1"])
def test_with_too_little_friction_it_is_said_and_physics_holds(name, solver):
    robot = load(name)
    q, feet = on_slope(robot), feet_on_slope(robot, 0.2)
    hard = [TorqueLimits(), *feet, CenterOfMass(name="com")]
    controller = controller_of(robot, hard, [Posture(reference=sot.hold())], solver=solver)
    look = tick(controller, State(0.0, q, np.zeros(controller.model.nv)))
    report = controller.report()
    assert controller.counters.infeasible == 1 and report.infeasible and controller.counters.capped == 0
    assert "would slide" in str(report)
    assert look.residual() <= 1e-9 and in_cones(look, feet)
    down = pin.exp3(np.array([0.0, SLOPE, 0.0])) @ np.array([1.0, 0.0, 0.0])
    assert (total_force(look) + robot.mass * np.array([0.0, 0.0, -G])) @ down > 0.01 * weight(robot)  # it slides off


# -- edges and lines -------------------------------------------------------------------------------------------


def part_of_sole(robot, part):
    """Front half, or a triangle of three corners, in the frame of the foot."""
    points = np.asarray(robot.feet[0].points, dtype=float)
    front = points[:, 0] > points[:, 0].mean()
    if part == "front":
        middle = points[~front].copy()
        middle[:, 0] = points[:, 0].mean()
        return np.vstack([points[front], middle])
    return points[:3]


@pytest.mark.parametrize("part", ["front", "triangle"])
@pytest.mark.parametrize("solver", ["hierarchical", "weighted"])
@pytest.mark.parametrize("name", ["talos", "g1"])
def test_a_sole_partly_off_an_edge_presses_with_what_is_on_it(name, solver, part):
    """The centre of mass is asked beyond the edge: it cannot get there, and each pressure stays on the points."""
    robot = load(name)
    points = part_of_sole(robot, part)
    feet = [Contact(foot.frame, points=points, friction=0.6, min_force=5.0) for foot in robot.feet]
    com = CenterOfMass(name="com", gain=8.0, reference=sot.move(by=[-0.08, 0.0, 0.0], duration=0.4))
    limits = [JointLimits(), TorqueLimits()]
    controller = controller_of(robot, [*limits, *feet], [com], [Posture()], solver=solver)
    at_edge = 0
    for look in follow(controller, robot.home, 150):
        assert look.residual() <= 1e-9
        for foot in feet:
            cop = centre_of_pressure(look, foot)
            assert off_points(cop, points) <= 1e-7
            at_edge += off_points(cop - [0.0005, 0.0, 0.0], points) > 0.0
    assert at_edge > 50  # the edge did take part
    assert controller.counters.infeasible == 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_line_makes_no_torque_about_itself_and_lets_the_foot_turn(solver):
    """Talos stands on its left sole and on the toes of its right one, whose heel it lifts."""
    robot = load("talos")
    toes = [[0.084, 0.054, 0.0], [0.084, -0.054, 0.0]]
    sole, line = Contact("left_sole_link", friction=0.6), Contact("right_sole_link", points=toes, friction=0.6)
    R = at(robot, robot.home, "right_sole_link").rotation
    heel = Orientation("right_sole_link", gain=10.0, reference=R @ pin.exp3(np.array([0.0, 0.3, 0.0])))
    com = CenterOfMass(gain=10.0)
    controller = controller_of(robot, [sole, line], [com, heel], [Posture(weight=1e-4)], solver=solver)
    start = at(robot, robot.home, "right_sole_link")
    along = np.array([0.0, 1.0, 0.0])
    for look in follow(controller, robot.home, 500):
        assert line.cone.size == 5
        T, wrench = look.placement(line), look.forces[line.name]
        torque = wrench[3:] - np.cross(T.rotation @ toes[0], wrench[:3])
        assert abs(torque @ (T.rotation @ along)) <= 1e-9 * weight(robot)
        assert look.residual() <= 1e-9
        if solver != "nullspace":
            assert look.outside(line) <= 1e-9
    T = at(robot, look.state.q, "right_sole_link")
    turned = pin.log3(start.rotation.T @ T.rotation)
    assert turned == pytest.approx([0.0, 0.3, 0.0], abs=0.02)
    for toe in np.array(toes):
        assert np.linalg.norm(T.act(toe) - start.act(toe)) < 1e-5


@pytest.mark.parametrize("name", ["talos", "g1"])
def test_points_of_a_line_stand_still_whatever_the_foot_does(name):
    """Random states with turning feet: both ends have no acceleration along the five held directions."""
    robot, rng = load(name), np.random.default_rng(3)
    points = np.asarray(robot.feet[0].points)[:2]
    line = Contact(robot.feet[0].frame, points=points, friction=0.7)
    sole = Contact(robot.feet[1].frame, friction=0.7)
    controller = controller_of(robot, [line, sole], [CenterOfMass()], [Posture()], max_iterations=2000)
    turning = 0.0
    for _ in range(20):
        q = near_home(robot, rng, 0.1)
        v = still(robot, q, rng.uniform(-0.5, 0.5, robot.pin_model.nv), [line, sole])
        for entry in controller.stack:
            entry.reset()
        look = tick(controller, State(0.0, q, v))
        turning = max(turning, np.abs(pin.getFrameVelocity(
            look.model, _moved(look), look.model.getFrameId(line.frame)).angular).max())  # fmt: skip
        # Along the line the two ends' accelerations differ by the centripetal one if the line turns; it does not.
        assert look.moving(line) <= 1e-9 and look.moving(sole) <= 1e-9
    assert turning > 0.05  # it did turn about the line


def _moved(look):
    data = look.model.createData()
    pin.forwardKinematics(look.model, data, look.state.q, look.state.v)
    return data


# -- many at once, few, none -----------------------------------------------------------------------------------


def hands_on_table(robot, as_points):
    """Palms: wherever the hand's frame looks, the table is below it."""
    contacts = []
    for hand in robot.hands:
        R = at(robot, robot.home, hand).rotation
        corners = 0.03 * np.array([[1, 1, 0], [1, -1, 0], [-1, -1, 0], [-1, 1, 0]]) @ R  # level, in the hand's frame
        if as_points:
            contacts.append(Contact(hand, points=[[0.0, 0.0, 0.0]], friction=0.5))
        else:
            contacts.append(Contact(hand, points=corners, normal=R.T[:, 2], friction=0.5))
    return contacts


@pytest.mark.parametrize("as_points", [True, False])
@pytest.mark.parametrize("solver", SOLVERS)
def test_feet_and_hands_at_once(solver, as_points):
    """Four soles and palms, 24 forces for 6 equations: at rest the weight is shared, and so it stays."""
    robot = load("talos")
    hands = hands_on_table(robot, as_points)
    feet = [Contact(foot.frame, friction=0.5) for foot in robot.feet]
    limits = [] if solver == "nullspace" else [JointLimits(), TorqueLimits()]
    controller = controller_of(robot, [*limits, *feet, *hands], [CenterOfMass()], [Posture()], solver=solver)
    for look in follow(controller, robot.home, 30):
        np.testing.assert_allclose(total_force(look), [0.0, 0.0, weight(robot)], atol=1e-6 * weight(robot))
        assert look.residual() <= 1e-9
        assert np.abs(look.acceleration).max() <= (1e-5 if solver == "weighted" else 1e-6)
        if solver != "nullspace":
            assert in_cones(look, [*feet, *hands])
    assert controller.counters.capped == 0
    assert solver == "nullspace" or controller.counters.infeasible == 0
    assert all(look.forces[hand.name][2] >= -1e-9 for hand in hands) or solver == "nullspace"


@pytest.mark.parametrize("as_points", [True, False])
def test_feet_and_hands_of_a_moving_robot_hold_still(as_points):
    robot, rng = load("talos"), np.random.default_rng(11)
    contacts = [*(Contact(foot.frame, friction=0.7) for foot in robot.feet), *hands_on_table(robot, as_points)]
    controller = controller_of(robot, [*contacts], [CenterOfMass()], [Posture()], max_iterations=2000)
    for _ in range(20):
        q = near_home(robot, rng, 0.05)
        for entry in controller.stack:
            entry.reset()
        look = tick(controller, State(0.0, q, still(robot, q, rng.uniform(-0.3, 0.3, robot.pin_model.nv), contacts)))
        assert look.residual() <= 1e-9 and in_cones(look, contacts)
        if not controller.report().infeasible:
            assert max(look.moving(contact) for contact in contacts) <= 1e-9
    assert controller.counters.capped == 0 and controller.counters.infeasible <= 5


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", ["solo12", "talos"])
def test_the_same_foot_twice_is_the_same_foot(name, solver):
    """Each pair of twins pushes together as the one did alone; nothing is infeasible, and torques are the same."""
    robot = load(name)
    found = []
    for count in (1, 2):
        names = [(foot.frame, f"{foot.frame} {i}") for foot in robot.feet for i in range(count)]
        feet = [Contact(frame, name=name, friction=0.5) for frame, name in names]
        limits = [] if solver == "nullspace" else [JointLimits(), TorqueLimits()]
        controller = controller_of(robot, [*limits, *feet], [CenterOfMass()], [Posture()], solver=solver)
        look = tick(controller, rest(robot))
        assert look.residual() <= 1e-9 and controller.counters.capped == 0
        assert solver == "nullspace" or (controller.counters.infeasible == 0 and in_cones(look, feet))
        np.testing.assert_allclose(total_force(look), [0.0, 0.0, weight(robot)], atol=1e-6 * weight(robot))
        found.append((look.command.tau, look.acceleration))
    (one, slow), (two, twin) = found
    np.testing.assert_allclose(two, one, atol=1e-5 * weight(robot))
    np.testing.assert_allclose(twin, slow, atol=1e-4)


@pytest.mark.parametrize("solver", ["hierarchical", "weighted"])
@pytest.mark.parametrize("name", ["talos", "g1"])
def test_one_foot_carries_all(name, solver):
    """The weight is over the left foot before the right one is no contact at all."""
    robot = load(name)
    q = over_left_foot(robot)
    foot = Contact(robot.feet[0].frame, friction=0.6)
    stay = Posture(reference=sot.hold())
    controller = controller_of(robot, [TorqueLimits(), foot], [CenterOfMass()], [stay], solver=solver)
    look = tick(controller, State(0.0, q, np.zeros(controller.model.nv)))
    np.testing.assert_allclose(total_force(look), [0.0, 0.0, weight(robot)], atol=1e-6 * weight(robot))
    assert look.residual() <= 1e-9 and in_cones(look, [foot]) and controller.counters.infeasible == 0
    com = pin.centerOfMass(robot.pin_model, robot.pin_model.createData(), q)
    pressed = at(robot, q, foot.frame).act(centre_of_pressure(look, foot))
    np.testing.assert_allclose(pressed[:2], com[:2], atol=1e-6)  # statics
    assert off_points(centre_of_pressure(look, foot), points_of(robot, foot)) <= 1e-9


def over_left_foot(robot):
    """A posture with both feet as at home and the centre of mass over the left one."""
    left = at(robot, robot.home, robot.feet[0].frame).act(np.mean(robot.feet[0].points, axis=0))
    com = CenterOfMass(mask="xy", gain=20.0, reference=[*left[:2], 0.0])
    feet = [Pose(foot.frame, gain=20.0) for foot in robot.feet]
    return ended(robot, [JointLimits()], feet, [com], [Posture(gain=20.0)])


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", ["solo12", "go2", "anymal", "bolt", "talos", "g1"])
def test_without_any_contact_it_falls_freely_and_is_warned_of(name, solver):
    robot = load(name)
    limits = [] if solver == "nullspace" else [JointLimits(), TorqueLimits()]
    with pytest.warns(SotWarning, match="no contact"):
        controller = controller_of(robot, limits, [CenterOfMass()], [Posture()], solver=solver)
    rng = np.random.default_rng(1)
    for _ in range(5):
        state = State(0.0, near_home(robot, rng, 0.2), rng.uniform(-0.5, 0.5, controller.model.nv))
        for entry in controller.stack:
            entry.reset()
        look = tick(controller, state)
        assert np.isfinite(look.command.tau).all() and look.residual() <= 1e-9
        rate = pin.computeCentroidalMomentumTimeVariation(
            robot.pin_model, robot.pin_model.createData(), state.q, state.v, look.acceleration
        )
        np.testing.assert_allclose(rate.linear, [0.0, 0.0, -weight(robot)], atol=1e-9 * weight(robot))
        np.testing.assert_allclose(rate.angular, 0.0, atol=1e-9 * weight(robot))
