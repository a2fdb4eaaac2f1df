"""Impedance: springs at rest, damping and energy in a simulation by ABA with an external force, and closed forms."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from test_dynamics import acceleration, random_state, standing
from test_force_tasks import fext_of

import sot
from sot.entry import Tick
from sot.errors import SotError
from sot.impedance import Spring, inverse_inertia, within_reach
from sot.robots import load
from sot.state import State
from sot.tasks import Contact, Impedance, Posture

HAND = "panda_hand_tcp"
K = np.array([400.0, 300.0, 200.0, 30.0, 20.0, 10.0])
FORCE = np.array([10.0, -5.0, 8.0, 0.5, -0.3, 0.2])
AXES = np.arange(6)


@pytest.fixture(scope="module")
def panda():
    return load("panda", lock=("panda_finger_joint*",))


class Simulation:
    """A robot that obeys ABA, with a wrench at its hand that the controller may not know."""

    def __init__(self, robot, task, dt=1e-3, q=None, posture=3.0):
        self.robot, self.model, self.dt, self.task = robot, robot.pin_model, dt, task
        stack = sot.Stack([], [task], [Posture(gain=posture)])
        self.controller = sot.Controller(robot, stack, output="torque", dt=dt)
        self.q, self.v, self.time = (robot.home if q is None else q).copy(), np.zeros(self.model.nv), 0.0

    def step(self, wrench=None):
        """One tick; returns e at its start."""
        command = self.controller.step(State(self.time, self.q, self.v))
        error = self.task.error(self.controller.model).copy()
        fext = fext_of(self.model, self.q, HAND, np.zeros(6) if wrench is None else wrench)
        a = pin.aba(self.model, self.model.createData(), self.q, self.v, command.tau, fext)
        assert np.isfinite(a).all()
        self.v = self.v + self.dt * a
        self.q = pin.integrate(self.model, self.q, self.dt * self.v)
        self.time += self.dt
        return error


# -- at rest -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"mass": 3.0, "measured": FORCE}, {"damping": [90, 90, 90, 5, 4, 3]}])
def test_at_rest_a_force_displaces_the_frame_as_the_stiffness_says(options, panda):
    """K⁻¹ f, whether the robot's own inertia is kept and nothing is measured, or another one is wanted."""
    simulation = Simulation(panda, Impedance(HAND, K, **options), dt=2e-3)
    errors = np.array([simulation.step(FORCE) for _ in range(3000)])
    np.testing.assert_allclose(errors[-1], FORCE / K, atol=2e-6)
    assert np.abs(simulation.v).max() < 1e-4


def test_in_local_axes_and_along_some_of_them(panda):
    """A soft z of the hand, the other positions stiff; orientations are left to the posture."""
    task = Impedance(HAND, [2000, 2000, 100, 0, 0, 0], "local", damping_ratio=1.0, mask="xyz")
    simulation = Simulation(panda, task, dt=2e-3)
    wrench = np.array([3.0, 4.0, 5.0, 0.0, 0.0, 0.0])
    for _ in range(3000):
        error = simulation.step(wrench)
    model = simulation.controller.model
    R = model.placement(model.frame(HAND)).rotation
    np.testing.assert_allclose(R.T @ error[:3], (R.T @ wrench[:3]) / [2000, 2000, 100], atol=1e-5)
    assert simulation.controller.plan.formulation.count(task) == 3


def test_a_wanted_wrench_pushes_against_a_wall(panda):
    """A stiff wall in front: where K is 0 the hand pushes with f*."""
    task = Impedance(HAND, [300, 300, 0, 30, 30, 30], wrench=[0, 0, -12.0, 0, 0, 0])
    simulation = Simulation(panda, task, dt=1e-3)
    model, wall, pushed = simulation.controller.model, None, 0.0
    for _ in range(3000):
        height = model.placement(model.frame(HAND)).translation[2] if wall is not None else None
        speed = (model.jacobian(model.frame(HAND), "aligned") @ simulation.v)[2] if wall is not None else 0.0
        pushed = 0.0 if wall is None else max(0.0, 5e3 * (wall - height) - 50.0 * speed)
        simulation.step(np.array([0.0, 0.0, pushed, 0, 0, 0]))
        model.update(simulation.q, simulation.v)
        wall = model.placement(model.frame(HAND)).translation[2] if wall is None else wall
    assert pushed == pytest.approx(12.0, rel=1e-3)


# -- on the way --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ratio", [1.0, 0.4])
@pytest.mark.parametrize("dt", [1e-3, 5e-3])
def test_with_a_mass_the_step_response_is_that_of_the_closed_form(ratio, dt, panda):
    """m ë + 2ζ√(km) ė + k e = f from rest, per axis, at 200 Hz as at 1 kHz."""
    mass = np.array([4.0, 4.0, 4.0, 0.4, 0.4, 0.4])
    task = Impedance(HAND, K, mass=mass, damping_ratio=ratio, measured=FORCE)
    simulation = Simulation(panda, task, dt=dt)
    errors = np.array([simulation.step(FORCE) for _ in range(round(1.0 / dt))])
    t, omega, rest = dt * np.arange(len(errors))[:, None], np.sqrt(K / mass), FORCE / K
    if ratio == 1.0:
        expected = rest * (1.0 - (1.0 + omega * t) * np.exp(-omega * t))
    else:
        fast = omega * np.sqrt(1.0 - ratio**2)
        swing = np.cos(fast * t) + ratio * omega / fast * np.sin(fast * t)
        expected = rest * (1.0 - np.exp(-ratio * omega * t) * swing)
    off = np.abs(errors - expected)[:, :3].max(axis=0)  # (rotations are not a flat space)
    assert (off < 4.0 * dt * np.abs(rest * omega)[:3]).all()  # first order in dt, as explicit steps are


@pytest.mark.parametrize("options", [{}, {"mass": 3.0}])
def test_critical_damping_does_not_overshoot_and_little_damping_does(options, panda):
    beyond = {}
    for ratio in (1.0, 0.3):
        task = Impedance(HAND, 400.0, damping_ratio=ratio, **options)
        simulation = Simulation(panda, task)
        goal = simulation.controller.model.placement(simulation.controller.model.frame(HAND)).copy()
        goal.translation = goal.translation + np.array([0.0, 0.06, 0.0])
        task.reference = goal
        errors = np.array([simulation.step() for _ in range(1500)])
        beyond[ratio] = errors[:, 1].max() / 0.06
        assert errors[0, 1] == pytest.approx(-0.06)
    assert beyond[1.0] < 2e-3 and beyond[0.3] > 0.05


def test_energy_only_falls(panda):
    """½ ėᵀΛė + ½ eᵀKe of a hand that was let go, with Λ by inversion of the whole mass matrix."""
    task = Impedance(HAND, K, damping_ratio=0.3)
    simulation = Simulation(panda, task)
    model = simulation.controller.model
    goal = model.placement(model.frame(HAND)).copy()
    goal.translation = goal.translation + np.array([0.03, 0.05, -0.04])
    task.reference = goal
    energies = []
    for _ in range(2000):
        v = simulation.v.copy()
        error = simulation.step()
        J = model.jacobian(model.frame(HAND), "aligned")
        inertia = np.linalg.inv(J @ np.linalg.inv(model.mass_matrix) @ J.T)
        rate = J @ v
        energies.append(0.5 * rate @ inertia @ rate + 0.5 * error @ (K * error))
    energies = np.array(energies)
    assert np.diff(energies).max() <= 0.0 and energies[-1] < 0.02 * energies[0]


@pytest.mark.parametrize("options", [{}, {"mass": 0.05}, {"damping": 1e5}])
def test_springs_that_are_too_stiff_for_the_tick_stay_stable(options, panda):
    """A million N/m at 200 Hz: nothing swings up."""
    task = Impedance(HAND, 1e6, **options)
    simulation = Simulation(panda, task, dt=5e-3)
    model = simulation.controller.model
    goal = model.placement(model.frame(HAND)).copy()
    goal.translation = goal.translation + np.array([0.0, 0.01, 0.0])
    task.reference = goal
    errors = np.array([np.linalg.norm(simulation.step()) for _ in range(400)])
    assert errors.max() < 0.02 and errors[-1] < 0.02 and np.abs(simulation.v).max() < 0.5
    if "damping" not in options:
        assert errors[-1] < 1e-4


def test_a_moving_target_is_followed(panda):
    """In free space the hand follows without lag: V* and V̇* are part of the law."""
    task = Impedance(HAND, 400.0, mass=2.0)
    simulation = Simulation(panda, task)
    task.reference = sot.sine([0.0, 0.05, 0.03, 0.0, 0.0, 0.0], 0.5, fade=0.5)
    errors = np.array([simulation.step() for _ in range(2000)])
    assert np.abs(errors).max() < 1e-3


@pytest.mark.parametrize("options", [{}, {"mass": 3.0}])
def test_near_a_singularity_accelerations_stay_bounded(options):
    """A stretched elbow: what J̇v asks for there cannot be had, and 1e-5 rad from it would take 1e6 rad/s²."""
    robot, rng = load("ur5"), np.random.default_rng(0)
    velocities, largest = 0.5 * rng.normal(size=(10, 6)), {}
    for elbow in (1.0, 0.1, 0.01, 1e-3, 1e-5, 0.0):
        q = np.array([0.0, -1.5, elbow, -1.0, 1.2, 0.0])
        task = Impedance("tool0", 300.0, **options)
        controller = sot.Controller(robot, sot.Stack([], [task], [Posture(gain=3.0)]), output="torque")
        controller.step(State(0.0, q, np.zeros(6)))
        largest[elbow] = 0.0
        for v in velocities:
            controller.step(State(0.0, q, v))
            largest[elbow] = max(largest[elbow], np.abs(acceleration(controller)).max())
    assert max(largest.values()) < 2.0 * largest[1.0] + 10.0, largest


def test_what_is_within_reach_is_all_of_it_away_from_singularities(panda):
    model, rng = sot.Model(panda), np.random.default_rng(0)
    J = model.jacobian(model.frame(HAND), "aligned")
    B, wanted = inverse_inertia(model.mass_matrix, J), rng.normal(size=6)
    assert within_reach(B, AXES, model.mass, wanted) is wanted
    # Where it begins to act it does so without a jump, and where no force moves the frame nothing is left.
    Q = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    parts = []
    for lightness in (0.1001, 0.0999, 0.05, 0.0):
        flat = Q @ np.diag([lightness, 1, 1, 1, 1, 1]) @ Q.T / np.outer(root := np.sqrt([1, 1, 1, 0.1, 0.1, 0.1]), root)
        kept = within_reach(flat, AXES, 1.0, wanted)
        parts.append((Q.T @ (root * kept))[0] / (Q.T @ (root * wanted))[0])
    np.testing.assert_allclose(parts, [1.0, 1.0, 0.5, 0.0], atol=1e-5)


# -- the law -----------------------------------------------------------------------------------------------------


def test_with_a_mass_torques_are_those_of_rnea_with_the_measured_force(panda):
    """J v̇ + J̇v = M⁻¹ (f + f* − K e − D ė), and τ = RNEA with f as an external force."""
    rng = np.random.default_rng(0)
    mass, damping = np.array([2, 3, 4, 0.2, 0.3, 0.4]), np.array([50, 60, 70, 3, 4, 5])
    wanted = np.array([1.0, 2, 3, 0.1, 0.2, 0.3])
    task = Impedance(HAND, K, mass=mass, damping=damping, measured=FORCE, wrench=wanted)
    controller = sot.Controller(panda, sot.Stack([], [task], [Posture()]), output="torque")
    controller.step(State(0.0, panda.home, np.zeros(7)))
    model = panda.pin_model
    for _ in range(5):
        state = random_state(panda, rng, spread=0.2)
        command = controller.step(state)
        a = acceleration(controller)
        expected = pin.rnea(
            model, model.createData(), state.q, state.v, a, fext_of(model, state.q, HAND, FORCE)
        )
        np.testing.assert_allclose(command.tau, expected, atol=1e-9 * (1.0 + np.abs(expected).max()))
        m, frame = controller.model, controller.model.frame(HAND)
        J = m.jacobian(frame, "aligned")
        force = FORCE + wanted - K * task.error(m) - damping * (J @ state.v)
        np.testing.assert_allclose(J @ a + m.drift(frame, "aligned"), force / mass, atol=1e-7)


def test_modes_have_the_damping_that_is_wanted():
    """Every eigenvalue of [[0, I], [−BK, −BD]] has the ratio ζ, for random masses and stiffnesses."""
    rng = np.random.default_rng(1)
    for ratio in (0.3, 0.7, 1.0):
        X, Y = rng.normal(size=(2, 6, 6))
        B, stiffness = X @ X.T + 0.1 * np.eye(6), Y @ Y.T + 0.1 * np.eye(6)
        spring = Spring(stiffness, None, ratio, None, "")
        zero = np.zeros(6)
        dt = 1e-7
        BK = -np.array([spring.acceleration(B, AXES, e, zero, zero, dt) for e in np.eye(6)]).T
        BD = -np.array([spring.acceleration(B, AXES, zero, e, zero, dt) for e in np.eye(6)]).T
        np.testing.assert_allclose(BK, B @ stiffness, rtol=1e-6, atol=1e-9)
        poles = np.linalg.eigvals(np.block([[np.zeros((6, 6)), np.eye(6)], [-BK, -BD]]))
        np.testing.assert_allclose(-poles.real / np.abs(poles), ratio, atol=1e-4 if ratio < 1.0 else 1e-3)


def test_the_inertia_of_a_robot_on_its_feet():
    """Against the whole system of equations: M v̇ − Jcᵀ y = Jᵀ f, Jc v̇ = 0; redundant contacts too."""
    robot, rng = load("talos"), np.random.default_rng(2)
    model = sot.Model(robot)
    model.update(random_state(robot, rng).q, np.zeros(model.nv))
    rows = []
    for frame in [foot.frame for foot in robot.feet] + [robot.feet[0].frame]:  # one of them twice
        contact = Contact(frame)
        contact.setup(model)
        rows.append(contact.jacobian(model))
    Jc, J, M = np.vstack(rows), model.jacobian(model.frame("gripper_left_base_link"), "aligned"), model.mass_matrix
    whole = np.block([[M, -Jc[:12].T], [Jc[:12], np.zeros((12, 12))]])
    answers = np.linalg.solve(whole, np.vstack([J.T, np.zeros((12, 6))]))[: model.nv]
    np.testing.assert_allclose(inverse_inertia(M, J, Jc), J @ answers, atol=1e-9)
    np.testing.assert_allclose(inverse_inertia(M, J), J @ np.linalg.solve(M, J.T), atol=1e-9)


def test_a_hand_of_a_standing_robot_gives_way():
    """Talos on both feet, 20 N at a hand: K⁻¹ f where the contacts hold; the simulation solves for their forces."""
    robot = load("talos")
    hand = "gripper_left_base_link"
    task = Impedance(hand, [300, 300, 300, 20, 20, 20], mask="xyz")
    stack = standing(robot, limits=False)
    stack.push(task, level=2, insert=True)
    controller = sot.Controller(robot, stack, output="torque", dt=2e-3)
    q, v, wrench = robot.home.copy(), np.zeros(robot.pin_model.nv), np.array([10.0, 5.0, -15.0])
    for k in range(1200):
        controller.step(State(2e-3 * k, q, v))
        model = controller.model
        M, J = model.mass_matrix, model.jacobian(model.frame(hand), "aligned")[:3]
        Jc = np.vstack([contact.jacobian(model) for contact in controller.formulation.contacts])
        planned = acceleration(controller)
        whole = np.block([[M, -Jc.T], [Jc, np.zeros((len(Jc), len(Jc)))]])
        extra = np.linalg.solve(whole, np.concatenate([J.T @ wrench, np.zeros(len(Jc))]))[: model.nv]
        v = v + 2e-3 * (planned + extra)
        q = pin.integrate(robot.pin_model, q, 2e-3 * v)
        error = task.error(model)[:3]
    np.testing.assert_allclose(error, wrench / 300.0, rtol=0.02, atol=2e-4)
    assert controller.counters.infeasible == 0


# -- velocity level ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dt", [1e-3, 5e-3])
def test_at_velocity_level_spring_and_damper_alone_act(dt, panda):
    """D ė + K e = f: e(t) = f/k (1 − exp(−k t/d)) per axis, alike at every dt."""
    damping = np.array([200.0, 100.0, 50.0, 6.0, 5.0, 4.0])
    task = Impedance(HAND, K, damping=damping, measured=FORCE)
    controller = sot.Controller(panda, sot.Stack([], [task], [Posture()]), dt=dt)
    q, v = panda.home, np.zeros(7)
    for k in range(round(0.4 / dt)):
        v = controller.step(State(dt * k, q, v)).v
        q = controller.model.integrate(q, dt * v)
    controller.model.update(q, v)
    error, expected = task.error(controller.model), FORCE / K * (1.0 - np.exp(-0.4 * K / damping))
    np.testing.assert_allclose(error[:3], expected[:3], rtol=1e-3)
    np.testing.assert_allclose(error[3:], expected[3:], rtol=2e-2)


def test_at_velocity_level_with_a_ratio_too(panda):
    """The same displacement at rest; a frame that is then pushed along an axis without a spring drifts."""
    task = Impedance(HAND, [400, 300, 0, 30, 20, 10], measured=[4.0, 3.0, 0.0, 0, 0, 0])
    controller = sot.Controller(panda, sot.Stack([], [task], [Posture()]), dt=5e-3)
    q, v, heights = panda.home, np.zeros(7), []
    for k in range(1000):
        if k == 800:
            np.testing.assert_allclose(task.error(controller.model)[:2], [0.01, 0.01], atol=1e-6)
            assert np.abs(v).max() < 1e-5
            task.measured = [4.0, 3.0, 2.0, 0, 0, 0]
        v = controller.step(State(5e-3 * k, q, v)).v
        q = controller.model.integrate(q, 5e-3 * v)
        heights.append(task.error(controller.model)[2])
    assert np.diff(heights[802:]).min() > 1e-5


# -- facts, mistakes ---------------------------------------------------------------------------------------------


def test_facts_and_sketch_and_a_sensor_that_fails(panda):
    answers = [FORCE] * 4
    task = Impedance(HAND, K, mass=3.0, measured=lambda model, tick: answers.pop())
    simulation = Simulation(panda, task)
    while answers:
        simulation.step(FORCE)
    simulation.step(FORCE)
    model, tick = simulation.controller.model, Tick(0.0, 1e-3, np.zeros(7))
    facts = task.facts(model, tick, simulation.v)
    error = task.error(model)
    assert facts["force"] == pytest.approx(np.linalg.norm(K[:3] * error[:3]))
    assert facts["energy"] == pytest.approx(0.5 * error @ (K * error))
    assert "pop from empty list" in str(facts["no measurement"])
    spring, measured = task.sketch(model)
    direction = measured.end - measured.start
    np.testing.assert_allclose(direction / np.linalg.norm(direction), FORCE[:3] / np.linalg.norm(FORCE[:3]), atol=1e-9)
    assert np.dot(spring.end - spring.start, -error[:3] * K[:3]) > 0.0
    np.testing.assert_allclose(task.torques(model, tick), model.jacobian(model.frame(HAND), "aligned").T @ FORCE)


def test_stiffness_may_change_at_any_time(panda):
    task = Impedance(HAND, 400.0)
    simulation = Simulation(panda, task, dt=2e-3)
    for k in range(2500):
        if k == 800:
            task.stiffness = [800, 800, 800, 40, 40, 40]
        error = simulation.step(np.array([8.0, 0, 0, 0, 0, 0]))
    assert error[0] == pytest.approx(0.01, rel=1e-3)
    with pytest.raises(SotError, match="stiffness"):
        task.stiffness = [1.0, 2.0]
    assert task.stiffness == [800, 800, 800, 40, 40, 40]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"stiffness": -1.0}, "stiffness"),
        ({"stiffness": [1, 2, 3]}, "6 numbers"),
        ({"stiffness": [1, 1, -1, 1, 1, 1]}, "push away"),
        ({"stiffness": 0.0}, "give damping"),
        ({"stiffness": [1, 1, np.nan, 1, 1, 1]}, "finite"),
        ({"damping": 0.0}, "damping: must be above zero"),
        ({"damping_ratio": -0.1}, "damping_ratio"),
        ({"damping_ratio": np.nan}, "damping_ratio"),
        ({"mass": [1, 1, 1, 1, 1, 0]}, "mass: must be above zero"),
        ({"measured": [1, 2, 3]}, "6 numbers"),
        ({"wrench": [1, 2, 3]}, "6 numbers"),
        ({"axes": "nowhere"}, "unknown axes"),
        ({"mask": "q"}, "row"),
    ],
)
def test_mistakes_are_named(options, words, panda):
    with pytest.raises(SotError, match=words):
        sot.Controller(panda, sot.Stack([], [Impedance(HAND, **options)]), output="torque")
