"""Tasks and loads of forces and torques: contact force, centre of pressure, wanted torques, wrenches, friction."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from test_dynamics import acceleration, contact_torque, outside_cone, random_state, residual, standing

import sot
from sot.errors import SotError, TaskError
from sot.robots import load
from sot.state import State
from sot.tasks import (
    CenterOfMass,
    CenterOfPressure,
    Contact,
    ContactForce,
    ExternalWrench,
    JointEffort,
    JointFriction,
    JointLimits,
    Posture,
    TorqueLimits,
    TorqueRegularisation,
)

LEFT, RIGHT = "left_sole_link", "right_sole_link"


def still(robot):
    return State(0.0, robot.home, np.zeros(robot.pin_model.nv))


def made(robot, *entries, level=1, solver="hierarchical", feet=None):
    """A standing robot with further entries on a level of their own, and its command at rest."""
    stack = standing(robot, feet=feet)
    for i, entry in enumerate(entries):
        stack.push(entry, level=level, insert=i == 0)
    return sot.Controller(robot, stack, output="torque", solver=solver, max_iterations=1000)


def wrench_of(controller, frame, about=None):
    """Force and torque of a contact in the world, about the frame's origin; by hand from its points."""
    contact = controller.formulation.contacts[frame]
    T = controller.model.placement(controller.model.frame(contact.frame))
    local = contact.wrench(controller.formulation.forces_of(controller.solver.x)[contact])
    R = np.eye(3) if contact.point is not None else T.rotation
    force, torque = R @ local[:3], R @ local[3:]
    origin = T.translation if contact.point is None else T.act(contact.point)
    return force, torque + np.cross(origin - (origin if about is None else about), force)


# -- contact force -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["hierarchical", "nullspace"])
def test_a_foot_carries_what_it_is_told(solver):
    robot = load("talos")
    force = ContactForce(LEFT, [0.0, 0.0, 600.0], mask=["fz"])
    controller = made(robot, force, solver=solver, level=2)
    command = controller.step(still(robot))
    assert wrench_of(controller, LEFT)[0][2] == pytest.approx(600.0, abs=1e-6)
    assert wrench_of(controller, RIGHT)[0][2] == pytest.approx(robot.mass * 9.81 - 600.0, abs=1e-3)
    assert residual(controller, still(robot), command) < 1e-9
    assert np.abs(acceleration(controller)).max() < 1e-5  # the centre of mass, above, stays


def test_a_whole_wrench_in_either_axes():
    robot, rng = load("talos"), np.random.default_rng(3)
    state = random_state(robot, rng, spread=0.02, speed=0.05)
    wanted = np.array([12.0, -8.0, 500.0, 3.0, -5.0, 1.0])
    for axes in ("world", "local"):
        force = ContactForce(f"contact_{LEFT}", wanted, axes)
        controller = made(robot, force)
        command = controller.step(state)
        R = controller.model.placement(controller.model.frame(LEFT)).rotation if axes == "local" else np.eye(3)
        found = np.concatenate([R.T @ part for part in wrench_of(controller, LEFT)])
        np.testing.assert_allclose(found, wanted, atol=1e-6)
        assert residual(controller, state, command) < 1e-9 and outside_cone(controller) < 1e-5


@pytest.mark.parametrize("name", ["solo12", "go2"])
def test_a_point_has_forces_only(name):
    robot = load(name)
    foot = robot.feet[0].frame
    controller = made(robot, ContactForce(foot, [1.0, 0.5, 0.2 * robot.mass * 9.81]), level=2)
    assert controller.plan.formulation.count(controller.stack[f"force_{foot}"]) == 3
    controller.step(still(robot))
    wrench = wrench_of(controller, foot)[0]
    np.testing.assert_allclose(wrench, [1.0, 0.5, 0.2 * robot.mass * 9.81], atol=1e-6)
    with pytest.raises(TaskError, match=r"is a point and has no torque; rows: fx, fy, fz"):
        made(robot, ContactForce(foot, np.zeros(6), mask=["fz", "tx"]))


def test_what_friction_forbids_is_approached():
    """600 N sideways with 300 N downwards: the force stays in its cone, and physics holds."""
    robot = load("talos")
    controller = made(robot, ContactForce(LEFT, [600.0, 0.0, 300.0], mask=["fx", "fz"]))
    command = controller.step(still(robot))
    assert residual(controller, still(robot), command) < 1e-9
    assert outside_cone(controller) < 1e-5
    assert wrench_of(controller, LEFT)[0][0] < 0.5 * wrench_of(controller, LEFT)[0][2] + 1e-6


def test_a_contact_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(TaskError, match=rf"force_left_foot: unknown contact 'left_foot'.*contact_{LEFT}"):
        made(load("talos"), ContactForce("left_foot", [0, 0, 1]))
    with pytest.raises(TaskError, match="cop_nobody: unknown contact 'nobody'"):
        made(load("talos"), CenterOfPressure("nobody"))


def test_a_contact_is_taken_away_and_comes_back():
    """The tasks have nothing to say meanwhile; no tick fails, and nothing jumps."""
    robot = load("talos")
    force, cop = ContactForce(RIGHT, [0.0, 0.0, 40.0], mask=["fz"]), CenterOfPressure(RIGHT)
    controller = sot.Controller(robot, standing(robot), output="torque")
    controller.stack["com"].reference = sot.move(by=[0.0, 0.085, 0.0], duration=1.0)
    state, counts, torques, away = still(robot), {}, [], controller.stack[f"contact_{RIGHT}"]
    for k in range(1900):
        if k == 1200:
            controller.stack.push(force, level=2, insert=True, ramp=0.1)
            controller.stack.push(cop, level=2, ramp=0.1)
        if k == 1400:
            controller.stack.remove(away.name, ramp=0.1)
        if k == 1600:
            controller.stack.push(away, level=0, ramp=0.1)
        command = controller.step(State(1e-3 * k, state.q, state.v))
        torques.append(command.tau)
        state = State(0.0, command.q, command.v)
        if k in (1399, 1599, 1899):
            blocks = [block for block in controller.plan.blocks if block.entry in (force, cop)]
            counts[k] = [block.rows.stop - block.rows.start for block in blocks]
        if k == 1599:
            assert "not in the stack" in str(force.facts(controller.model, with_forces(controller), state.v))
            assert force.sketch(controller.model) == [] and cop.sketch(controller.model) == []
    assert counts == {1399: [1, 2], 1599: [0, 0], 1899: [1, 2]}
    assert controller.counters.infeasible == 0
    assert np.abs(np.diff(torques, axis=0)).max() < 2.0  # N·m from one ms to the next
    assert wrench_of(controller, RIGHT)[0][2] == pytest.approx(40.0, abs=1e-3)


def with_forces(controller):
    """The tick of a controller as reports see it."""
    tick, formulation = controller._tick, controller.formulation
    tick.contacts, tick.forces = formulation.contacts, formulation.y(controller.solver.x)
    return tick


def test_a_wanted_force_may_move():
    """A reference starts from what was wanted before; forces follow it at once, there is no lag."""
    robot = load("talos")
    force = ContactForce(LEFT, [0.0, 0.0, 400.0], mask=["fz"])
    controller = made(robot, force, level=2)
    controller.step(still(robot))
    force.reference = sot.move(to=[0.0, 0.0, 500.0], duration=0.1)
    for k, wanted in ((1, 400.0), (51, 450.0), (101, 500.0)):
        controller.step(State(1e-3 * k, robot.home, np.zeros(robot.pin_model.nv)))
        assert wrench_of(controller, LEFT)[0][2] == pytest.approx(wanted, abs=1e-6)
    with pytest.raises(TaskError, match="reference"):
        force.reference = [1.0, 2.0]
    with pytest.raises(TaskError, match="mask cannot change while a controller uses it"):
        force.mask = ["fx"]
    with pytest.raises(TaskError, match="finite"):
        force.reference = [0.0, 0.0, np.nan]
    facts = force.facts(controller.model, with_forces(controller), np.zeros(robot.pin_model.nv))
    assert facts["fz wanted"] == 500.0 and facts["fz"] == pytest.approx(500.0, abs=1e-6)
    arrow = force.sketch(controller.model)[0]
    direction = arrow.end - arrow.start
    assert direction[2] == pytest.approx(0.5 * 500.0 / (robot.mass * 9.81)) and abs(direction[0]) < 1e-12


# -- centre of pressure ------------------------------------------------------------------------------------------


def pressure_point(points, forces, height):
    """Where a resultant of forces at points pierces a horizontal plane, torques about it at right angles to that plane.

    Independent of the task: Varignon's theorem, coordinate by coordinate, with τ = Σ p × f.
    """
    torque, force = sum(np.cross(p, f) for p, f in zip(points, forces, strict=True)), sum(forces)
    return np.array([-torque[1] + height * force[0], torque[0] + height * force[1]]) / force[2]


@pytest.mark.parametrize("name", ["talos", "solo12"])
@pytest.mark.parametrize("goal", [[0.01, 0.02], [-0.01, -0.015]])
def test_the_centre_of_pressure_is_where_it_should_be(name, goal):
    robot, rng = load(name), np.random.default_rng(0)
    state = random_state(robot, rng, spread=0.02, speed=0.02)
    cop = CenterOfPressure(reference=goal)
    controller = made(robot, cop)
    command = controller.step(state)
    contacts = controller.formulation.contacts
    wrenches = [wrench_of(controller, contact.frame, np.zeros(3)) for contact in contacts]
    force, torque = sum(w[0] for w in wrenches), sum(w[1] for w in wrenches)
    touching = np.vstack([contact.touching_points(controller.model) for contact in contacts])
    height = touching[:, 2].mean()
    found = np.array([-torque[1] + height * force[0], torque[0] + height * force[1]]) / force[2]
    np.testing.assert_allclose(found, goal, atol=1e-7)
    point = cop.point(controller.model, contacts, with_forces(controller).forces)
    np.testing.assert_allclose(point[:2], goal, atol=1e-7)
    assert residual(controller, state, command) < 1e-9


def test_the_centre_of_pressure_by_brute_force():
    """From the forces of single points: their mean, weighted with their normal forces."""
    robot = load("solo12")
    cop = CenterOfPressure(reference=[0.01, -0.005])
    controller = made(robot, cop)
    controller.step(still(robot))
    contacts, model = list(controller.formulation.contacts), controller.model
    points = np.vstack([contact.touching_points(model) for contact in contacts])
    forces = np.array([wrench_of(controller, contact.frame)[0] for contact in contacts])
    assert np.ptp(points[:, 2]) < 1e-3  # a flat ground, or the mean would mean nothing
    mean = forces[:, 2] @ points[:, :2] / forces[:, 2].sum()
    np.testing.assert_allclose(mean, [0.01, -0.005], atol=1e-5)
    np.testing.assert_allclose(pressure_point(points, forces, points[:, 2].mean()), [0.01, -0.005], atol=1e-7)


@pytest.mark.parametrize("tilt", [0.0, 0.3])
@pytest.mark.parametrize("axes", ["world", "local"])
def test_the_centre_of_pressure_of_one_foot_lies_in_its_sole(tilt, axes):
    """On a slope too: f applied there, with a torque along the normal alone, is the wrench of the contact."""
    robot = load("talos")
    q = robot.home.copy()
    model = sot.Model(robot)
    q[:7] = pin.SE3ToXYZQUAT(pin.SE3(pin.exp3(np.array([0.0, tilt, 0.0])), np.zeros(3)) * pin.XYZQUATToSE3(q[:7]))
    model.update(q, np.zeros(model.nv))
    T = model.placement(model.frame(LEFT))
    goal = np.array([0.02, -0.01])
    expected = T.act(np.append(goal, 0.0))
    cop = CenterOfPressure(LEFT, axes, reference=goal if axes == "local" else expected[:2])
    contacts = [Contact(frame, min_force=100.0) for frame in (LEFT, RIGHT)]  # no force would have no torque either
    stack = sot.Stack(contacts, [cop], [CenterOfMass(gain=10.0)], [Posture(gain=5.0)])
    controller = sot.Controller(robot, stack, output="torque", max_iterations=1000)
    state = State(0.0, q, np.zeros(model.nv))
    command = controller.step(state)
    force, torque = wrench_of(controller, LEFT, expected)
    assert np.linalg.norm(force) > 100.0 - 1e-6
    assert np.abs(T.rotation.T @ torque)[:2].max() < 1e-6
    point = cop.point(controller.model, controller.formulation.contacts, with_forces(controller).forces)
    np.testing.assert_allclose(point, expected, atol=1e-8)
    assert residual(controller, state, command) < 1e-9


def test_by_default_it_is_the_middle_and_a_first_reference_starts_there():
    robot = load("talos")
    cop = CenterOfPressure()
    controller = made(robot, cop)
    controller.step(still(robot))
    contacts = controller.formulation.contacts
    middle = np.vstack([contact.touching_points(controller.model) for contact in contacts]).mean(axis=0)
    forces = with_forces(controller).forces
    np.testing.assert_allclose(cop.point(controller.model, contacts, forces), middle, atol=1e-7)
    assert cop.facts(controller.model, with_forces(controller), None)["off"] < 1e-7
    cop.reference = sot.move(by=[0.02, 0.0], duration=0.1)
    controller.step(State(1e-3, robot.home, np.zeros(robot.pin_model.nv)))
    np.testing.assert_allclose(cop.wanted.value, middle[:2], atol=1e-9)
    np.testing.assert_allclose(cop.sketch(controller.model)[0].pose[:3, 3], middle, atol=1e-9)
    controller.step(State(0.2, robot.home, np.zeros(robot.pin_model.nv)))
    point = cop.point(controller.model, contacts, with_forces(controller).forces)
    np.testing.assert_allclose(point[:2] - middle[:2], [0.02, 0.0], atol=1e-7)
    cop.reference = sot.hold()
    controller.step(State(0.3, robot.home, np.zeros(robot.pin_model.nv)))
    np.testing.assert_allclose(
        cop.point(controller.model, contacts, with_forces(controller).forces), middle, atol=1e-7
    )


@pytest.mark.filterwarnings("ignore:no contact")
def test_without_any_contact_it_asks_for_nothing():
    robot = load("talos")
    cop = CenterOfPressure(reference=[0.1, 0.1])
    controller = made(robot, cop, feet=[])
    command = controller.step(still(robot))
    assert residual(controller, still(robot), command) < 1e-9
    assert cop.facts(controller.model, with_forces(controller), None) == {"pressure": "none"}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ContactForce(LEFT, [0, 0, 1], "up"), "axes"),
        (lambda: ContactForce(LEFT, [0, 0, 1], mask=["f"]), "fz"),
        (lambda: ContactForce(LEFT, "much"), "reference"),
        (lambda: CenterOfPressure(axes="local"), "one contact"),
        (lambda: CenterOfPressure(axes="sole"), "world"),
        (lambda: CenterOfPressure(reference=[0.0, 0.0, 0.0]), "2 numbers"),
        (lambda: ExternalWrench(LEFT, [0, 0, 1]), "6 numbers"),
        (lambda: ExternalWrench(LEFT, [0, 0, np.nan, 0, 0, 0]), "finite"),
        (lambda: JointFriction(scale=0.0), "scale"),
        (lambda: JointFriction(speed=-1.0), "speed"),
    ],
)
def test_bad_arguments(make, words):
    with pytest.raises(SotError, match=words):
        make()


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (CenterOfPressure("FL_FOOT"), "is a point"),
        (ExternalWrench("nowhere", np.zeros(6)), "unknown frame"),
        (JointFriction(friction=-1.0), "≥ 0"),
        (JointFriction(joints="root_joint"), "unknown joint"),
        (JointFriction(damping=[1.0, 2.0]), "numbers"),
        (JointEffort("root_joint", 1.0), "unknown joint"),
        (JointEffort("*_KFE", [1.0, 2.0]), "4 numbers"),
    ],
)
def test_what_does_not_fit_the_robot(entry, words):
    robot = load("solo12")
    if isinstance(entry, CenterOfPressure):
        entry.contact = robot.feet[0].frame
    with pytest.raises(SotError, match=words):
        made(robot, entry)


# -- loads -------------------------------------------------------------------------------------------------------


def fext_of(model, q, frame, wrench):
    """pinocchio's external forces for a wrench in the world's axes at a frame's origin."""
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    index = model.getFrameId(frame)
    joint = model.frames[index].parentJoint
    at_frame = pin.Force(wrench[:3], wrench[3:])
    aligned = pin.SE3(np.eye(3), data.oMf[index].translation)
    forces = pin.StdVec_Force()
    forces.extend([pin.Force.Zero() for _ in range(model.njoints)])
    forces[joint] = data.oMi[joint].actInv(aligned.act(at_frame))
    return forces


@pytest.mark.parametrize("measured_in", ["world", "local", "panda_link4"])
def test_torques_with_a_known_wrench_are_those_of_rnea(measured_in):
    robot, rng = load("panda", lock=("panda_finger_joint*",)), np.random.default_rng(1)
    hand, model = "panda_hand_tcp", robot.pin_model
    wrench = rng.normal(size=6) * [20, 20, 20, 3, 3, 3]
    known = ExternalWrench(hand, wrench, measured_in)
    controller = sot.Controller(robot, sot.Stack([known], [Posture()]), output="torque")
    for _ in range(10):
        state = random_state(robot, rng, spread=0.5)
        command = controller.step(state)
        data = model.createData()
        pin.framesForwardKinematics(model, data, state.q)
        here = data.oMf[model.getFrameId(hand)]
        world = pin.Force(wrench[:3], wrench[3:])  # by pinocchio's own transport of forces
        if measured_in == "local":
            world = pin.SE3(here.rotation, np.zeros(3)).act(world)
        elif measured_in != "world":
            sensor = data.oMf[model.getFrameId(measured_in)]
            world = pin.SE3(np.eye(3), here.translation).actInv(sensor.act(world))
        fext = fext_of(model, state.q, hand, world.vector)
        expected = pin.rnea(model, model.createData(), state.q, state.v, acceleration(controller), fext)
        np.testing.assert_allclose(command.tau, expected, atol=1e-9 * (1.0 + np.abs(expected).max()))
        back = pin.aba(model, model.createData(), state.q, state.v, command.tau, fext)
        np.testing.assert_allclose(back, acceleration(controller), atol=1e-8 * (1.0 + np.abs(back).max()))


def test_the_ground_carries_a_known_load_too():
    """30 N down at a hand and 10 N from behind: Σ f = m g − external; torques balance about the centre of mass."""
    robot = load("talos")
    hand, wrench = "gripper_left_base_link", np.array([10.0, 0.0, -30.0, 0.0, 0.5, 0.0])
    known = ExternalWrench(hand, wrench)
    controller = made(robot, known)
    command = controller.step(still(robot))
    parts = [wrench_of(controller, frame, controller.model.com) for frame in (LEFT, RIGHT)]
    force, torque = sum(part[0] for part in parts), sum(part[1] for part in parts)
    np.testing.assert_allclose(force, [-10.0, 0.0, robot.mass * 9.81 + 30.0], atol=1e-4)
    arm = controller.model.placement(controller.model.frame(hand)).translation - controller.model.com
    np.testing.assert_allclose(torque + np.cross(arm, wrench[:3]) + wrench[3:], np.zeros(3), atol=1e-4)
    model = robot.pin_model
    fext = fext_of(model, robot.home, hand, wrench)
    needed = pin.rnea(model, model.createData(), robot.home, np.zeros(model.nv), acceleration(controller), fext)
    assert np.abs(needed - command.tau - contact_torque(controller)).max() < 1e-9 * robot.mass * 9.81
    known.wrench = np.zeros(6)
    command = controller.step(still(robot))
    assert residual(controller, still(robot), command) < 1e-9


def test_a_wrench_from_a_function_that_fails_stays_as_it_was():
    robot, answers = load("ur5"), [np.array([0, 0, -10.0, 0, 0, 0])] * 3
    known = ExternalWrench("tool0", lambda model, tick: answers.pop())
    controller = sot.Controller(robot, sot.Stack([known], [Posture()]), output="torque")
    state = still(robot)
    first = controller.step(state).tau.copy()
    while answers:
        controller.step(state)
    np.testing.assert_allclose(controller.step(state).tau, first, atol=1e-9)
    facts = known.facts(controller.model, controller._tick, state.v)
    assert facts["force"] == 10.0 and "pop from empty list" in str(facts["the last one is used"])
    end = known.sketch(controller.model)[0]
    assert end.end[2] < end.start[2]


@pytest.mark.parametrize("scale", [1.0, 0.7])
def test_friction_is_made_up_for(scale):
    """With the friction in the simulation, the robot accelerates as planned; without the load it would not."""
    robot, rng = load("talos"), np.random.default_rng(2)
    assert robot.joint_friction.max() > 0.0 and robot.joint_damping.max() > 0.0
    stack = standing(robot)
    stack.push(JointFriction(scale, speed=0.02), level=0)
    controller = sot.Controller(robot, stack, output="torque", max_iterations=1000)
    model = robot.pin_model
    for _ in range(3):
        state = random_state(robot, rng, spread=0.02)
        command = controller.step(state)
        friction = -scale * (robot.joint_damping * state.v + robot.joint_friction * np.tanh(state.v / 0.02))
        assert np.abs(friction).max() > 0.3
        total = command.tau + contact_torque(controller) + friction
        back = pin.aba(model, model.createData(), state.q, state.v, total)
        np.testing.assert_allclose(back, acceleration(controller), atol=1e-8 * (1.0 + np.abs(back).max()))


def test_friction_by_numbers_and_at_rest():
    robot = load("ur5")
    model = sot.Model(robot)
    entry = JointFriction(friction=2.0, damping=[1, 2, 3, 4, 5, 6], speed=0.1)
    entry.setup(model)
    v = np.linspace(-1.0, 1.0, 6)
    model.update(robot.home, v)
    np.testing.assert_allclose(entry.torques(model, None), -(np.arange(1, 7) * v + 2.0 * np.tanh(10.0 * v)), atol=1e-12)
    assert entry.facts(model, None, v)["power"] > 0.0
    model.update(robot.home, np.zeros(6))
    assert (entry.torques(model, None) == 0.0).all()
    one = JointFriction(friction=2.0, joints="elbow_joint")
    one.setup(model)
    model.update(robot.home, np.full(6, 10.0))
    np.testing.assert_allclose(one.torques(model, None), [0, 0, -2.0, 0, 0, 0], atol=1e-9)


# -- torques -----------------------------------------------------------------------------------------------------


def test_joints_push_with_the_torque_they_are_told_or_go_limp():
    robot, rng = load("panda", lock=("panda_finger_joint*",)), np.random.default_rng(5)
    push, limp = JointEffort("panda_joint2", 7.5), JointEffort(["panda_joint6", "panda_joint7"], 0.0, name="limp")
    controller = sot.Controller(robot, sot.Stack([push, limp], [Posture()]), output="torque")
    model = robot.pin_model
    for _ in range(5):
        state = random_state(robot, rng, spread=0.3)
        command = controller.step(state)
        np.testing.assert_allclose(command.tau[[1, 5, 6]], [7.5, 0.0, 0.0], atol=1e-8)
        back = pin.aba(model, model.createData(), state.q, state.v, command.tau)
        np.testing.assert_allclose(back, acceleration(controller), atol=1e-8 * (1.0 + np.abs(back).max()))
    push.reference = sot.move(to=3.5, duration=0.1)
    controller.step(State(0.0, state.q, state.v))
    command = controller.step(State(0.05, state.q, state.v))
    assert command.tau[1] == pytest.approx(5.5, abs=1e-8)


@pytest.mark.parametrize("name", ["talos", "solo12"])
def test_torques_are_as_small_as_physics_lets_them(name):
    """At rest with forces free to choose: the least Σ (τ/limit)² over all forces that balance, by a QP of its own."""
    from scipy.optimize import lsq_linear

    robot = load(name)
    contacts = [Contact(foot.frame, friction=5.0) for foot in robot.feet]  # wide cones, so that none is active
    hold = Posture(gain=5.0)
    stack = sot.Stack([*contacts], [CenterOfMass(gain=10.0)], [hold], [TorqueRegularisation()])
    controller = sot.Controller(robot, stack, output="torque", max_iterations=1000)
    command = controller.step(still(robot))
    assert np.abs(acceleration(controller)).max() < 1e-6
    model = robot.pin_model
    gravity = pin.rnea(model, model.createData(), robot.home, np.zeros(model.nv), np.zeros(model.nv))
    Jc = np.vstack([contact.jacobian(controller.model) for contact in controller.formulation.contacts])
    base, joints = ~robot.actuated, robot.actuated
    y0 = np.linalg.lstsq(Jc.T[base], gravity[base], rcond=None)[0]
    free = np.linalg.svd(Jc.T[base])[2][np.linalg.matrix_rank(Jc.T[base]) :].T
    limit = model.effortLimit[joints]
    A, b = -(Jc.T[joints] @ free) / limit[:, None], -(gravity[joints] - Jc.T[joints] @ y0) / limit
    best = np.linalg.norm(A @ lsq_linear(A, b, lsmr_tol="auto", tol=1e-14).x - b)
    found = np.linalg.norm(command.tau[joints] / limit)
    assert found == pytest.approx(best, rel=1e-4)
    assert found < 0.9999 * np.linalg.norm(plain_torques(robot, contacts)[joints] / limit)


def plain_torques(robot, contacts):
    """The same without the task."""
    fresh = [Contact(contact.frame, friction=5.0) for contact in contacts]
    stack = sot.Stack(fresh, [CenterOfMass(gain=10.0)], [Posture(gain=5.0)])
    return sot.Controller(robot, stack, output="torque", max_iterations=1000).step(still(robot)).tau


def test_regularisation_counts_in_limits_or_in_what_is_given():
    robot = load("ur5")
    model = sot.Model(robot)
    own, given = TorqueRegularisation(), TorqueRegularisation(limit=10.0, reference=[1, 2, 3, 4, 5, 6])
    for entry in (own, given):
        entry.setup(model)
        entry.begin(model, sot.entry.Tick(0.0, 1e-3, np.zeros(6)))
    unit = robot.mass * 9.81
    tick = sot.entry.Tick(0.0, 1e-3, np.zeros(6))
    np.testing.assert_allclose(own.dynamic_rows(model, tick).A, np.diag(unit / robot.pin_model.effortLimit))
    rows = given.dynamic_rows(model, tick)
    np.testing.assert_allclose(rows.A, unit / 10.0 * np.eye(6))
    np.testing.assert_allclose(rows.lower, unit / 10.0 * np.arange(1, 7))
    assert rows.on == "torque" and own.rows(model, tick).lower.size == 0


def test_explanations_tell_of_forces():
    robot = load("talos")
    entries = [ContactForce(LEFT, [0, 0, 500.0], mask=["fz"]), CenterOfPressure(), ExternalWrench(RIGHT, np.ones(6))]
    controller = made(robot, *entries, JointFriction(), level=2)
    controller.step(still(robot))
    said = controller.explain()
    assert said.entry(f"force_{LEFT}").facts["fz"] == pytest.approx(500.0, abs=0.1)
    assert said.entry("cop").facts["off"] < 0.1
    assert said.entry(f"wrench_{RIGHT}").facts["force"] == pytest.approx(np.sqrt(3.0))
    assert said.entry("joint_friction").facts["power"] == 0.0
    assert "fz wanted 500" in str(said)


# -- at velocity level -------------------------------------------------------------------------------------------


def test_at_velocity_level_they_ask_for_nothing():
    robot = load("talos")
    plain = sot.Controller(robot, sot.Stack([JointLimits()], [Posture(reference="home")]))
    stack = sot.Stack(
        [JointLimits(), TorqueLimits(), ExternalWrench(LEFT, np.ones(6)), JointFriction()],
        [ContactForce(LEFT, [0, 0, 1.0]), CenterOfPressure(), TorqueRegularisation(), JointEffort("head_*", 1.0)],
        [Posture(reference="home")],
    )
    controller = sot.Controller(robot, stack)
    state = random_state(robot, np.random.default_rng(0))
    np.testing.assert_array_equal(controller.step(state).v, plain.step(state).v)
