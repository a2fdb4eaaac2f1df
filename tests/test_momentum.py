"""Centroidal momentum and capture point: matrices against pinocchio and finite differences, decays against exp(−λt)."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from plugins import ROBOTS, along, model_of, scale
from test_dynamics import acceleration, residual

import sot
from sot.entry import Tick
from sot.errors import SotError
from sot.robots import load
from sot.state import State
from sot.tasks import BaseOrientation, CapturePoint, CentroidalMomentum, Contact, JointLimits, Posture

GRAVITY = 9.81


def moved(robot, seed=0, speed=1.0):
    model, rng = model_of(robot), np.random.default_rng(seed)
    model.update(model.random_configuration(rng, 0.4), speed * rng.normal(size=model.nv))
    return model


def by_bodies(model):
    """Momentum from the bodies: Σ m v, and Σ (r − c) × m v + I ω, with nothing of the model's own algorithm."""
    pin_model, data = model.pin, model.pin.createData()
    pin.forwardKinematics(pin_model, data, model.q, model.v)
    com, total = model.com, np.zeros(6)
    for i in range(1, pin_model.njoints):
        Y, T, V = pin_model.inertias[i], data.oMi[i], data.v[i]
        p = T.act(Y.lever)
        w = T.rotation @ V.angular
        linear = Y.mass * (T.rotation @ V.linear + np.cross(w, T.rotation @ Y.lever))
        total[:3] += linear
        total[3:] += np.cross(p - com, linear) + T.rotation @ Y.inertia @ T.rotation.T @ w
    return total


# -- the model ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("robot", ROBOTS)
def test_momentum_is_that_of_the_bodies(robot):
    model = moved(robot)
    expected = by_bodies(model)
    np.testing.assert_allclose(model.momentum, expected, atol=1e-10 * scale(expected))
    np.testing.assert_allclose(model.momentum_jacobian @ model.v, expected, atol=1e-10 * scale(expected))
    np.testing.assert_allclose(model.momentum_jacobian[:3], model.mass * model.com_jacobian, atol=1e-10 * model.mass)


@pytest.mark.parametrize("robot", ROBOTS)
def test_momentum_drift_matches_finite_differences(robot):
    model = moved(robot, seed=1)
    numeric = along(model, model.v, lambda m: m.momentum_jacobian @ m.v)
    np.testing.assert_allclose(model.momentum_drift, numeric, atol=1e-6 * scale(numeric))


def test_momentum_disturbs_nothing_else():
    """Views and values of the model stay as they were, whatever was asked before."""
    model = moved("talos")
    q, v, rng = model.q, model.v, np.random.default_rng(3)
    foot = model.frame("left_sole_link")

    def everything():
        return [model.mass_matrix, model.bias, model.com, model.com_jacobian, model.com_drift, model.jacobian(foot),
                model.drift(foot), model.joint_placements.copy(), model.world_jacobian.copy()]  # fmt: skip

    before = everything()
    model.update(q, v)
    momentum = (model.momentum, model.momentum_jacobian, model.momentum_drift, model.centroidal_inertia)
    for here, there in zip(before, everything(), strict=True):
        assert np.array_equal(here, there)
    model.update(model.random_configuration(rng), rng.normal(size=model.nv))
    assert np.abs(model.momentum - momentum[0]).max() > 1.0  # a copy, and a new state is a new momentum


# -- the task ----------------------------------------------------------------------------------------------------


def flying(robot, task, **options):
    """A robot in free fall: no contact, so only joints can be chosen; angular momentum is what it is."""
    return sot.Controller(load(robot), sot.Stack([], [task], [Posture()]), output="torque", **options)


@pytest.mark.parametrize("dt", [1e-3, 5e-3])
def test_angular_momentum_decays_at_the_gain(dt):
    """On two feet: h(t) = h₀ exp(−λ t), alike at 200 Hz and at 1 kHz."""
    robot, gain, duration = load("talos"), 6.0, 0.3
    task = CentroidalMomentum(mask="angular", gain=gain)
    stack = sot.Stack([Contact(foot.frame) for foot in robot.feet], [task], [Posture(gain=2.0)])
    controller = sot.Controller(robot, stack, output="torque", dt=dt, max_iterations=1000)
    model = sot.Model(robot)
    model.update(robot.home, np.zeros(model.nv))
    v = np.zeros(model.nv)
    for joint, speed in (("arm_left_1_joint", 1.0), ("arm_right_2_joint", -0.8), ("torso_1_joint", 0.5)):
        v[model.joint(joint).v] = speed
    q, sizes = robot.home, []
    for k in range(round(duration / dt) + 1):
        model.update(q, v)
        sizes.append(np.linalg.norm(model.momentum[3:]))
        command = controller.step(State(dt * k, q, v))
        assert residual(controller, State(dt * k, q, v), command) < 1e-9
        q, v = command.q, command.v
    rate = -np.log(sizes[-1] / sizes[0]) / duration
    assert rate == pytest.approx(gain, rel=0.02)


@pytest.mark.parametrize("dt", [1e-3, 5e-3])
def test_the_law_is_exact_for_any_tick(dt):
    """h + dt (A v̇ + Ȧ v) = h* + exp(−λ dt) (h − h*), row by row, with a gain for each."""
    model = moved("talos", seed=4)
    gains = np.array([1.0, 2.0, 3.0, 40.0, 50.0, 600.0])
    goal = np.arange(6.0)
    task = CentroidalMomentum(reference=goal, gain=gains)
    task.setup(model)
    tick = Tick(0.0, dt, np.zeros(model.nv))
    task.begin(model, tick)
    rows = task.dynamic_rows(model, tick)
    a = np.linalg.pinv(rows.A) @ rows.lower
    after = model.momentum + dt * (model.momentum_jacobian @ a + model.momentum_drift)
    np.testing.assert_allclose(after, goal + np.exp(-gains * dt) * (model.momentum - goal), atol=1e-9)
    rate = pin.computeCentroidalMomentumTimeVariation(model.pin, model.pin.createData(), model.q, model.v, a).vector
    np.testing.assert_allclose(rate, (after - model.momentum) / dt, atol=1e-6)


def test_at_velocity_level_the_momentum_is_the_wanted_one():
    robot = load("talos")
    goal = np.array([1.0, 0.5, 0.0, 0.3, -0.2, 0.1])
    task = CentroidalMomentum(reference=goal)
    controller = sot.Controller(robot, sot.Stack([], [task], [Posture()]))
    command = controller.step(State(0.0, robot.home, np.zeros(robot.pin_model.nv)))
    np.testing.assert_allclose(controller.model.momentum_jacobian @ command.v, goal, atol=1e-9)
    facts = task.facts(controller.model, controller._tick, command.v)
    assert facts["linear momentum"] == pytest.approx(np.linalg.norm(goal[:3]))
    controller.model.update(robot.home, command.v)
    arrow = task.sketch(controller.model)[0]
    np.testing.assert_allclose((arrow.end - arrow.start) / 0.1, goal[:3] / robot.mass, atol=1e-9)


@pytest.mark.parametrize(
    ("mask", "labels"),
    [("linear", ["x", "y", "z"]), ("angular", ["rx", "ry", "rz"]), (["z", "ry"], ["z", "ry"]), ("rz", ["rz"])],
)
def test_masks_are_groups_or_labels(mask, labels):
    model = moved("talos")
    task = CentroidalMomentum(mask=mask)
    task.setup(model)
    tick = Tick(0.0, 1e-3, np.zeros(model.nv))
    task.begin(model, tick)
    assert task.rows(model, tick).lower.size == len(labels) and task.labels(len(labels)) == labels
    assert task.units(len(labels)) == ["rad" if label.startswith("r") else "m" for label in labels]


def test_rows_of_momentum_are_speeds():
    """A robot that moves as one body: rows are its speed, m/s, and about its rate of turning, rad/s."""
    robot = load("talos")
    model = sot.Model(robot)
    task = CentroidalMomentum()
    task.setup(model)
    v = np.zeros(model.nv)
    v[:3], v[5] = [0.3, 0.2, 0.1], 0.7
    model.update(robot.home, v)
    tick = Tick(0.0, 1e-3, v)
    task.begin(model, tick)
    speeds = task.rows(model, tick).A @ v
    com_speed = model.com_jacobian @ v
    np.testing.assert_allclose(speeds[:3], com_speed, atol=1e-12)
    assert 0.2 < speeds[5] / 0.7 < 5.0


@pytest.mark.filterwarnings("ignore:no contact")
def test_no_joint_changes_the_momentum_of_a_flying_robot():
    """Physics is above the task: in flight only gravity changes it, whatever is wanted."""
    robot = load("talos")
    controller = flying("talos", CentroidalMomentum(reference=[50.0, 0, 0, 10.0, 0, 0], gain=20.0))
    rng = np.random.default_rng(0)
    state = State(0.0, robot.home, 0.3 * rng.normal(size=robot.pin_model.nv))
    command = controller.step(state)
    assert residual(controller, state, command) < 1e-9
    data = robot.pin_model.createData()
    rate = pin.computeCentroidalMomentumTimeVariation(
        robot.pin_model, data, state.q, state.v, acceleration(controller)
    ).vector
    np.testing.assert_allclose(rate, [0, 0, -robot.mass * GRAVITY, 0, 0, 0], atol=1e-6)


# -- capture point -----------------------------------------------------------------------------------------------


def push(robot, speed):
    """A state with standing feet whose centre of mass moves."""
    model = sot.Model(robot)
    model.update(robot.home, np.zeros(model.nv))
    rows, wanted = [model.com_jacobian], [np.array([*speed, 0.0])]
    for foot in robot.feet:
        contact = Contact(foot.frame)
        contact.setup(model)
        rows.append(contact.jacobian(model))
        wanted.append(np.zeros(len(rows[-1])))
    v = np.linalg.pinv(np.vstack(rows)) @ np.concatenate(wanted)
    np.testing.assert_allclose(model.com_jacobian @ v, [*speed, 0.0], atol=1e-9)
    return State(0.0, robot.home, v)


def balancing(robot, task, dt, extra=()):
    from sot.tasks import CenterOfMass

    stack = sot.Stack(
        [JointLimits(), *(Contact(foot.frame) for foot in robot.feet), *extra],
        [task, CenterOfMass(mask="z", name="height")],
        [BaseOrientation(), CentroidalMomentum(mask="angular")],
        [Posture(gain=5.0)],
    )
    return sot.Controller(robot, stack, output="torque", dt=dt, max_iterations=1000)


def corners(controller):
    """Where the feet touch."""
    return np.vstack([contact.touching_points(controller.model) for contact in controller.formulation.contacts])


def pressure(controller):
    """The centre of pressure on the ground, from the contact forces by hand."""
    formulation, model = controller.formulation, controller.model
    G = formulation.contacts.wrench_map(model, np.array([0.0, 0.0, corners(controller)[:, 2].mean()]))
    wrench = G @ formulation.y(controller.solver.x)
    return np.array([-wrench[4], wrench[3]]) / wrench[2]


def room(controller):
    """How far inside its sole, a rectangle, the centre of pressure of the worst foot is, m."""
    least, soles = np.inf, {foot.frame: np.array(foot.points) for foot in controller.robot.feet}
    for contact, y in controller.formulation.forces_of(controller.solver.x).items():
        fz, tx, ty = contact.wrench(y)[2:5]
        if fz > 1.0:
            point, sole = np.array([-ty, tx]) / fz, soles[contact.frame]
            assert np.ptp(sole[:, 2]) == 0.0 == sole[0, 2]  # so that these are its coordinates
            least = min(least, (point - sole[:, :2].min(axis=0)).min(), (sole[:, :2].max(axis=0) - point).min())
    return least


@pytest.mark.parametrize("dt", [1e-3, 5e-3])
def test_the_capture_point_decays_at_the_gain(dt):
    """ξ − ξ* falls as exp(−λ t) exactly at any rate, and the centre of mass as the linear inverted pendulum's."""
    robot, gain = load("talos"), 3.0
    task = CapturePoint(gain=gain)
    controller = balancing(robot, task, dt)
    state = push(robot, [0.02, 0.05])
    errors, q, v = [], state.q, state.v
    for k in range(round(0.4 / dt)):
        command = controller.step(State(dt * k, q, v))
        errors.append(task.measure(controller.model) - task.wanted.value)
        q, v = command.q, command.v
    start, omega = errors[0], task.omega
    np.testing.assert_allclose(start, np.array([0.02, 0.05]) / omega, atol=1e-9)
    t = dt * np.arange(len(errors))
    np.testing.assert_allclose(errors, start * np.exp(-gain * t)[:, None], atol=2e-3 * np.linalg.norm(start))


def test_a_push_is_absorbed_with_the_pressure_inside_the_feet():
    robot = load("talos")
    task = CapturePoint(gain=3.0)
    controller = balancing(robot, task, 2e-3)
    state = push(robot, [0.15, 0.1])
    q, v, start, nearest = state.q, state.v, controller.model.com, np.inf
    for k in range(1000):  # 2 s
        command = controller.step(State(2e-3 * k, q, v))
        assert residual(controller, State(2e-3 * k, q, v), command) < 1e-9
        nearest = min(nearest, room(controller))
        q, v = command.q, command.v
    assert -1e-6 < nearest < 1e-3  # at the toes for a while, and never beyond
    assert controller.counters.infeasible == 0
    assert np.abs(controller.model.com[:2] - start[:2]).max() < 2e-3
    assert np.abs(controller.model.com_jacobian[:2] @ v).max() < 5e-3
    facts = task.facts(controller.model, controller._tick, v)
    assert facts["off"] < 2e-3
    ground = task.sketch(controller.model)[0].pose[2, 3]
    assert abs(ground - corners(controller)[:, 2].mean()) < 0.01


def test_omega_is_that_of_the_height_above_the_contacts_or_of_a_given_one():
    robot = load("talos")
    for task in (CapturePoint(), CapturePoint(0.5)):
        controller = balancing(robot, task, 1e-3)
        controller.step(State(0.0, robot.home, np.zeros(robot.pin_model.nv)))
        height = task.height or controller.model.com[2] - corners(controller)[:, 2].mean()
        assert task.omega == pytest.approx(np.sqrt(9.81 / height), rel=1e-9)


def test_the_pressure_is_where_the_pendulum_has_it():
    """p = ξ − ξ̇/ω, from the forces, for a robot whose height and angular momentum are kept."""
    robot, gain = load("talos"), 3.0
    task = CapturePoint(gain=gain)
    controller = balancing(robot, task, 1e-4)
    controller.step(push(robot, [0.05, 0.03]))
    error, omega = task.measure(controller.model) - task.wanted.value, task.omega
    rate = pin.computeCentroidalMomentumTimeVariation(
        robot.pin_model, robot.pin_model.createData(), controller.model.q, controller.model.v, acceleration(controller)
    )
    # What the angular momentum and the vertical acceleration, which are small, add: p = c − (z c̈ + …)/(g + c̈_z).
    expected = task.measure(controller.model) + gain / omega * error
    lever = np.array([-rate.angular[1], rate.angular[0]]) / (robot.mass * GRAVITY)
    assert np.abs(pressure(controller) - expected - lever).max() < 2e-3
    assert np.linalg.norm(error) > 0.01


def test_at_velocity_level_the_capture_point_is_the_wanted_one():
    """ċ = ω (ξ* − c): the centre of mass goes to ξ* with the rate ω, alike at every dt."""
    robot, errors = load("talos"), {}
    for dt in (1e-3, 1e-2):
        task = CapturePoint(mask="xy")
        controller = sot.Controller(robot, sot.Stack([], [task], [Posture()]), dt=dt)
        q, v = robot.home, np.zeros(robot.pin_model.nv)
        goal = controller.model.com[:2] + np.array([0.02, 0.01])
        task.reference = goal
        for k in range(round(0.2 / dt)):
            v = controller.step(State(dt * k, q, v)).v
            q = controller.model.integrate(q, dt * v)
        controller.model.update(q, v)
        errors[dt] = controller.model.com[:2] - goal
        np.testing.assert_allclose(errors[dt], -np.exp(-0.2 * task.omega) * np.array([0.02, 0.01]), rtol=0.01)


# -- the base ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["talos", "solo12", "g1", "go2"])
def test_the_base_is_the_first_body(name):
    robot = load(name)
    task = BaseOrientation(reference=[0.0, 0.1, 0.2])
    controller = sot.Controller(robot, sot.Stack([], [task], [Posture()]), dt=1e-2)
    q, v = robot.home, np.zeros(robot.pin_model.nv)
    for k in range(300):
        v = controller.step(State(1e-2 * k, q, v)).v
        q = controller.model.integrate(q, 1e-2 * v)
    R = pin.XYZQUATToSE3(q[:7]).rotation
    np.testing.assert_allclose(R, pin.rpy.rpyToMatrix(0.0, 0.1, 0.2), atol=1e-5)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (BaseOrientation, "is fixed"),
        (lambda: CentroidalMomentum(mask="spin"), "row"),
        (lambda: CentroidalMomentum(gain=[1, 2]), "6 numbers"),
        (lambda: CentroidalMomentum(reference=[0, 0, 1]), "6 numbers"),
        (lambda: CapturePoint(height=0.0), "height"),
        (lambda: CapturePoint(reference=[0, 0, 1]), "2 numbers"),
    ],
)
def test_mistakes_are_named(make, words):
    with pytest.raises(SotError, match=words):
        sot.Controller(load("panda"), sot.Stack([], [make()]))
