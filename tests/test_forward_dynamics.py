"""Virtual forward dynamics: equilibria, time, limits, singularities, bad input."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, localcontext

import numpy as np
import pytest
from plugins import model_of

import sot
from sot import virtual_mass
from sot.config import load_run
from sot.entry import Rows, Tick
from sot.errors import ModelError, RobotError, SotError, TaskError
from sot.lie import SE3, exp3
from sot.robots import Kinematic, load
from sot.tasks import CartesianCompliance, CartesianForce, CartesianMotion, Damping, JointLimits, Position, Posture
from sot.virtual_mass import VirtualMass, response

HAND, SENSOR = "panda_hand_tcp", "panda_link8"
K6 = np.array([400.0, 300.0, 200.0, 30.0, 40.0, 50.0])
SOLVERS = ("nullspace", "hierarchical", "weighted")


@dataclass
class Trace:
    """What happened, one row per tick."""

    controller: sot.Controller
    robot: Kinematic
    q: np.ndarray
    v: np.ndarray

    @property
    def model(self) -> sot.Model:
        """The robot at its last state."""
        state = self.robot.read()
        self.controller.model.update(state.q, state.v)
        return self.controller.model


def simulate(
    task: sot.Entry,
    duration: float,
    dt: float = 5e-3,
    *,
    robot: str = "panda",
    solver: str = "hierarchical",
    limits: bool = True,
    q: np.ndarray | None = None,
    watch: Callable[[sot.Controller, sot.State], None] = lambda controller, state: None,
) -> Trace:
    """Run a task alone below the joint limits; `watch` sees the controller after each step."""
    description = load(robot)
    stack = sot.Stack([JointLimits()] if limits else [], [task])
    controller = sot.Controller(description, stack, solver=solver, dt=dt)
    arm = Kinematic(description, dt=dt, q=q)
    return go_on(Trace(controller, arm, np.zeros((0, controller.model.nq)), np.zeros(0)), duration, watch)


def go_on(trace: Trace, duration: float, watch=lambda controller, state: None) -> Trace:
    """Some seconds more of the same."""
    controller, arm, q, v = trace.controller, trace.robot, [], []
    for _ in range(round(duration / controller.dt)):
        state = arm.read()
        command = controller.step(state)
        watch(controller, state)
        arm.write(command)
        q.append(state.q)
        v.append(command.v)
    return Trace(controller, arm, np.array(q), np.array(v))


def rotation(model: sot.Model, axes: str, frame: str = HAND) -> np.ndarray:
    """Block-diagonal matrix (6, 6) from the axes of a stiffness to those of the world."""
    R = np.eye(3) if axes == "world" else model.placement(model.frame(frame if axes == "local" else axes)).rotation
    return np.kron(np.eye(2), R)


# -- time ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dt", [1e-3, 0.01, 0.1])
@pytest.mark.parametrize("damping", [None, 1.0, 20.0, 300.0])
def test_a_free_mass_moves_exactly(damping, dt) -> None:
    """ü + d u̇ + ω² u = 0 on each axis, for soft and stiff springs at once, without an error at any dt."""
    from scipy.linalg import expm

    K = np.diag([4.0, 400.0, 4e4, 0.3, 30.0, 3e3])
    body = VirtualMass(2.0, 0.1, 1e-14, damping, K, "mass")
    M = np.diag([2.0, 2.0, 2.0, 0.1, 0.1, 0.1])
    rate = np.diag(2.0 * np.sqrt(np.diag(K) / np.diag(M))) if damping is None else damping * np.eye(6)
    step = expm(dt * np.block([[np.zeros((6, 6)), np.eye(6)], [-np.linalg.solve(M, K), -rate]]))
    exact = [np.concatenate([np.ones(6), np.zeros(6)])]
    for _ in range(20):
        exact.append(step @ exact[-1])
    u, before = exact[1][:6], exact[0][:6]
    stroboscope = np.sqrt(np.diag(K) / np.diag(M)) * dt < np.pi  # a tick does not hide half a swing
    for k in range(1, 20):
        R, b = virtual_mass.rows(np.eye(6), (u - before) / dt, -dt * K @ u / 2.0, body.over(dt))
        u, before = u + dt * np.linalg.solve(R, b), u
        assert np.abs(u - exact[k + 1][:6])[stroboscope].max() <= 1e-9


@pytest.mark.parametrize("n", [3, 6, 7, 12])
def test_arms_are_stable_at_every_stiffness_and_dt(n) -> None:
    """Spectral radius of a whole tick, with all joints free and with some stopped."""
    rng = np.random.default_rng(n)
    for _ in range(60):
        J = rng.normal(size=(6, n)) * 10.0 ** rng.uniform(-3, 0, size=(6, 1))
        root = rng.normal(size=(6, rng.integers(1, 7)))
        K = 10.0 ** rng.uniform(0, 8) * root @ root.T
        dt, damping = 10.0 ** rng.uniform(-4, -1), rng.choice([None, 0.5, 50.0])
        period = VirtualMass(1.0, 0.1, 0.003, damping, K, "mass").over(dt)
        free = np.flatnonzero(rng.uniform(size=n) < 0.7) if rng.uniform() < 0.5 else np.arange(n)
        R, _ = virtual_mass.rows(J, np.zeros(n), np.zeros(6), period)
        columns = []
        for unit in np.eye(2 * free.size):  # a displacement, or a velocity
            y, v = np.zeros((2, n))
            y[free], v[free] = unit[: free.size], unit[free.size :]
            _, b = virtual_mass.rows(J, v, -dt * K @ J @ y, period)
            after = np.linalg.lstsq(R[:, free], b, rcond=None)[0]
            columns.append(np.concatenate([y[free] + dt * after, after]))
        assert np.abs(np.linalg.eigvals(np.array(columns).T)).max(initial=0.0) <= 1.0 + 1e-6


def test_stopped_joints_leave_a_mechanism_without_them() -> None:
    """Gauss: the least squares solution with joint j held at 0 is the motion of the arm that lacks joint j."""
    rng = np.random.default_rng(0)
    J, v, push = rng.normal(size=(6, 7)), rng.normal(size=7), rng.normal(size=6)
    v[3], others = 0.0, [0, 1, 2, 4, 5, 6]
    period = VirtualMass(1.0, 0.1, 0.003, None, K6, "mass").over(5e-3)
    R, b = virtual_mass.rows(J, v, push, period)
    held = np.linalg.lstsq(R[:, others], b, rcond=None)[0]
    S, c = virtual_mass.rows(J[:, others], v[others], push, period)
    assert np.abs(held - np.linalg.solve(S, c)).max() <= 1e-12
    assert np.abs(held - np.linalg.solve(R, b)[others]).max() > 1e-3  # which the free arm's is not


def many_digits(square: float, rate: float, dt: float) -> float:
    """(1 + ρ − 2 exp(−d dt/2) cos(√(ω² − d²/4) dt)) / (ω² dt), the cosine from its series, in 120 digits."""
    with localcontext() as context:
        context.prec = 120
        x, d, t = Decimal(square), Decimal(rate), Decimal(dt)
        y, term, cosine, k = (x - d * d / 4) * t * t, Decimal(1), Decimal(0), 0
        while abs(term) > Decimal("1e-100"):
            cosine += term
            term *= -y / ((2 * k + 1) * (2 * k + 2))
            k += 1
        return float((1 + (-d * t).exp() - 2 * (-d * t / 2).exp() * cosine) / (x * t))


@pytest.mark.parametrize("rate", [1e-3, 1.0, 40.0, 1e4])
def test_response_has_no_seams(rate) -> None:
    """Where springs vanish, and where decays become swings, nothing is lost to rounding."""
    critical = (0.5 * rate) ** 2
    for dt in (1e-4, 5e-3, 0.05):
        for square in (1e-30, 1e-6, 1.0, critical * (1 - 1e-12), critical, critical * (1 + 1e-12), 1e3):
            if np.sqrt(max(square - critical, 0.0)) * dt < np.pi:
                assert abs(response(square, rate, dt) / many_digits(square, rate, dt) - 1.0) <= 1e-9
        assert abs(response(0.0, rate, dt) * rate / -np.expm1(-rate * dt) - 1.0) <= 1e-12


def swell(model: sot.Model, tick: Tick) -> list[float]:
    """A push that grows and ends smoothly within a second, N and N·m."""
    s = np.sin(np.pi * min(tick.time, 1.0)) ** 2
    return [12.0 * s, -8.0 * s, 5.0 * s, 0.5 * s, 0.3 * s, -0.4 * s]


@pytest.mark.parametrize("damping", [None, 8.0])
def test_two_sampling_rates_give_the_same_motion(damping) -> None:
    """Also where the spring swings: at 8/s the damping ratio is 0.2."""
    ends = {}
    for dt in (1e-3, 5e-3):
        task = CartesianCompliance(HAND, measured=swell, damping=damping)
        ends[dt] = simulate(task, 1.2, dt).q[:: round(5e-3 / dt)]
    moved = np.abs(ends[1e-3] - ends[1e-3][0]).max()
    assert moved > 0.02
    assert np.abs(ends[1e-3] - ends[5e-3]).max() <= 5e-3 * moved


# -- equilibria ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axes", ["world", "local", "panda_link3"])
@pytest.mark.parametrize("part", [slice(0, 3), slice(3, 6), slice(0, 6)], ids=["force", "torque", "both"])
def test_compliance_is_displaced_by_force_over_stiffness(axes, part) -> None:
    wrench = np.zeros(6)
    wrench[part] = np.array([12.0, -9.0, 6.0, 1.5, -1.0, 2.0])[part]
    task = CartesianCompliance(HAND, K6, axes, measured=wrench)
    model = simulate(task, 4.0).model
    X = rotation(model, axes)
    expected = X @ ((X.T @ wrench) / K6)
    assert np.linalg.norm(task.error(model) - expected) <= 1e-3 * np.linalg.norm(expected)


@pytest.mark.parametrize(
    ("robot", "frame"), [("ur5", "tool0"), ("xarm7", "link_eef"), ("talos", "gripper_left_base_link")]
)
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_robot_and_every_solver_reach_the_equilibrium(robot, frame, solver) -> None:
    wrench = np.array([6.0, -4.0, 5.0, 0.4, -0.3, 0.5])
    task = CartesianCompliance(frame, K6, measured=wrench, wrench=-0.5 * wrench)
    # A ur5 at home is next to its wrist's singularity, where it takes its time.
    trace = simulate(task, 4.0, robot=robot, solver=solver, q=away(robot))
    expected = 0.5 * wrench / K6
    assert np.linalg.norm(task.error(trace.model) - expected) <= 1e-2 * np.linalg.norm(expected)
    assert trace.controller.counters.infeasible == 0
    if robot == "talos":
        assert np.abs(trace.v[:, :6]).max() <= 1e-12  # the base is none of its joints


def away(robot: str) -> np.ndarray:
    bent = np.array([0.0, -0.3, 0.6, -0.8, -1.0, 0.3])
    return load(robot).home + bent if robot == "ur5" else load(robot).home


def test_stiffness_may_be_a_full_matrix_or_one_number() -> None:
    root = np.diag(np.sqrt(K6)) + 2.0 * np.random.default_rng(3).normal(size=(6, 6))
    wrench, K = np.array([6.0, -4.0, 5.0, 0.4, -0.3, 0.5]), root @ root.T
    task = CartesianCompliance(HAND, K, measured=wrench)
    assert np.abs(K @ task.error(simulate(task, 6.0).model) - wrench).max() <= 1e-3
    task = CartesianCompliance(HAND, 500.0, mass=2.0, inertia=0.1, measured=wrench)
    expected = wrench / np.repeat([500.0, 25.0], 3)
    assert np.abs(task.error(simulate(task, 4.0).model) - expected).max() <= 1e-5


def test_the_steady_state_does_not_depend_on_dt_mass_or_damping() -> None:
    wrench = np.array([6.0, -4.0, 5.0, 0.4, -0.3, 0.5])
    settings = [{}, {"damping": 60.0}, {"mass": 3.0, "inertia": 0.2}, {"joint_inertia": 0.05}]
    for dt in (1e-3, 1e-2):
        for setting in settings:
            task = CartesianCompliance(HAND, K6, measured=wrench, **setting)
            error = task.error(simulate(task, 5.0 if dt > 5e-3 else 3.0, dt).model)
            assert np.abs(error - wrench / K6).max() <= 1e-3 * np.abs(wrench / K6).max(), (dt, setting)


def test_stiffness_without_a_limit_at_ten_milliseconds() -> None:
    """1e7 N/m is far beyond what an explicit integration could follow: it is stiff, and calm."""
    task = CartesianCompliance(HAND, 1e7, measured=[50.0, 0, 0, 0, 0, 0])
    trace = simulate(task, 1.0, 1e-2)
    assert np.abs(task.error(trace.model)[0] - 5e-6) <= 5e-8
    assert np.abs(trace.v).max() <= 1e-2


# -- wrenches --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("measured_in", ["local", "world", SENSOR])
def test_a_wrench_does_the_same_work_wherever_it_was_measured(measured_in) -> None:
    """w_toolᵀ V_tool = w_measuredᵀ V_there for every motion of the joints."""
    model, rng = model_of("panda"), np.random.default_rng(1)
    model.update(model.random_configuration(rng, 0.5), np.zeros(model.nv))
    w = rng.normal(size=6)
    task = CartesianCompliance(HAND, measured=w, measured_in=measured_in)
    task.setup(model)
    task.begin(model, Tick(0.0, 1e-3, np.zeros(model.nv)))
    hand, sensor = model.frame(HAND), model.frame(SENSOR)
    there = {"local": (hand, "local"), "world": (hand, "aligned"), SENSOR: (sensor, "local")}[measured_in]
    work = model.jacobian(*there).T @ w
    assert np.abs(model.jacobian(hand, "aligned").T @ task._measured.in_world(model) - work).max() <= 1e-12
    assert np.linalg.norm(model.placement(hand).translation - model.placement(sensor).translation) > 0.05


def test_a_measurement_is_taken_over_and_may_change_at_each_tick() -> None:
    task = CartesianForce(HAND)
    wrench = np.array([0.0, 0, 5.0, 0, 0, 0])
    task.measured = wrench
    wrench[2] = np.nan  # the user's buffer is the user's
    trace = simulate(task, 0.1, limits=False)
    assert np.isfinite(trace.v).all() and np.array_equal(task.measured, [0, 0, 5, 0, 0, 0])
    lifted = trace.model.placement(trace.model.frame(HAND)).translation[2]
    task.measured = [0, 0, -5.0, 0, 0, 0]
    model = go_on(trace, 0.4).model
    assert model.placement(model.frame(HAND)).translation[2] < lifted


@pytest.mark.parametrize("bad", [[np.nan, 0, 0, 0, 0, 0], [np.inf] * 6, [1.0] * 5, 3.0, "six", [[0.0] * 6]])
def test_a_bad_measurement_is_refused_and_never_reaches_the_robot(bad) -> None:
    for task in (CartesianForce(HAND), CartesianCompliance(HAND)):
        task.measured = [1.0, 0, 0, 0, 0, 0]
        with pytest.raises(TaskError, match=f"{task.name}: measured"):
            task.measured = bad
        assert np.array_equal(task.measured, [1, 0, 0, 0, 0, 0])
        assert np.isfinite(simulate(task, 0.05).v).all()


@pytest.mark.parametrize("kind", [CartesianForce, CartesianCompliance])
def test_without_a_usable_measurement_the_tool_slows_down(kind) -> None:
    """No force acts, not even that of the spring: the speed decays at the damping rate."""

    def sensor(model: sot.Model, tick: Tick) -> list[float]:
        if 0.5 < tick.time < 0.9:
            raise OSError("cable")
        return [np.nan if tick.time > 1.5 else 4.0, 0, 0, 0, 0, 0]

    task = kind(HAND, measured=sensor, damping=20.0)
    trace = simulate(task, 0.8, limits=False)
    fast, slow = np.linalg.norm(trace.v[100]), np.linalg.norm(trace.v[140])  # 0.2 s later
    assert fast > 2e-3 and abs(slow / fast - np.exp(-20.0 * 0.2)) <= 1e-3
    assert task.rejected == 59 and "cable" in task.reason
    later = go_on(trace, 1.2)
    assert task.rejected > 100 and "finite" in task.reason and np.isfinite(later.v).all()
    facts = later.controller.explain().entry(task.name).facts
    assert "finite" in facts["no measurement"] and facts["force"] == 0.0


def test_a_function_that_is_wrong_from_the_start_is_an_error() -> None:
    for function, words in ((lambda m, t: [np.nan] * 6, "finite"), (lambda m: [0.0] * 6, "TypeError")):
        with pytest.raises(TaskError, match=words):
            simulate(CartesianForce(HAND, measured=function, name="push"), 0.1)


# -- force -----------------------------------------------------------------------------------------------------------


def wall(stiffness: float, height: float) -> Callable[[sot.Model, Tick], list[float]]:
    """A floor that pushes back as a spring."""

    def contact(model: sot.Model, tick: Tick) -> list[float]:
        depth = height - model.placement(model.frame(HAND)).translation[2]
        return [0.0, 0.0, stiffness * max(depth, 0.0), 0.0, 0.0, 0.0]

    return contact


def pressed(task: sot.Entry, contact, **options) -> tuple[Trace, np.ndarray]:
    """Forces of the contact, tick by tick."""
    forces = []
    trace = simulate(task, watch=lambda c, state: forces.append(contact(c.model, c._tick)[2]), **options)
    return trace, np.array(forces)


@pytest.mark.parametrize("dt", [1e-3, 5e-3])
@pytest.mark.parametrize("stiffness", [300.0, 3e3, 3e4])
def test_a_tool_pushes_on_a_wall_with_the_target_force(stiffness, dt) -> None:
    contact = wall(stiffness, 0.45)
    task = CartesianForce(HAND, [0, 0, -10.0, 0, 0, 0], measured=contact, mask="z")
    trace, forces = pressed(task, contact, duration=3.0, dt=dt)
    assert abs(forces[-1] - 10.0) <= 0.1
    swings = [np.abs(part - 10.0).max() for part in np.array_split(forces[-len(forces) // 2 :], 4)]
    assert all(later <= earlier + 1e-9 for earlier, later in itertools.pairwise(swings))
    assert np.abs(trace.v[-1]).max() <= 1e-3


def test_with_enough_damping_the_force_does_not_overshoot() -> None:
    """d = 2 √(k/m) of the wall, from standing just above it."""
    contact = wall(2e3, 0.4868)
    task = CartesianForce(HAND, [0, 0, -10.0, 0, 0, 0], measured=contact, mask="z", damping=2.0 * np.sqrt(2e3))
    _, forces = pressed(task, contact, duration=2.0, dt=1e-3)
    assert abs(forces[-1] - 10.0) <= 0.1 and forces.max() <= 10.1


@pytest.mark.parametrize(("share", "grows"), [(0.9, False), (1.15, True)])
def test_the_stiffest_wall_that_sampling_allows(share, grows) -> None:
    """A wall that the law does not know of must stay below 4 m/dt² · (δ/2) coth(δ/2), δ = d dt."""
    dt, damping = 5e-3, 40.0
    half = 0.5 * damping * dt
    contact = wall(share * 4.0 / dt**2 * half / np.tanh(half), 10.0)  # deep inside: contact is never lost
    home()
    preload = contact(model_of("panda"), None)[2]
    task = CartesianForce(HAND, [0, 0, -preload, 0, 0, 0], measured=contact, mask="z", joint_inertia=1e-9)
    task.wrench = [0, 0, -preload + 0.01, 0, 0, 0]
    forces = pressed(task, contact, duration=0.25, dt=dt, limits=False)[1] - preload
    assert (np.abs(forces[-10:]).max() > 10.0 * np.abs(forces[:10]).max()) == grows


def home() -> None:
    model = model_of("panda")
    model.update(model.robot.home, np.zeros(model.nv))


def test_force_along_one_axis_and_a_pose_in_the_others() -> None:
    """Hybrid: no stiffness along z, f* there; the pose is held in the other directions."""
    contact = wall(2e3, 0.45)
    task = CartesianCompliance(HAND, [900, 900, 0, 90, 90, 90], wrench=[0, 0, -10.0, 0, 0, 0], measured=contact)
    trace, forces = pressed(task, contact, duration=3.0)
    assert abs(forces[-1] - 10.0) <= 0.1
    assert np.abs(task.error(trace.model)[[0, 1, 3, 4, 5]]).max() <= 1e-5


def test_masks_and_axes_of_a_force() -> None:
    """In the air the tool moves at f*/(m d) along the masked axes of the chosen frame, and nowhere else."""
    task = CartesianForce(HAND, [2.0, 1.0, 2.0, 0.1, 0.1, 0.1], "panda_link3", mask="xz", joint_inertia=1e-6)
    trace = simulate(task, 0.4, 1e-3, limits=False)
    model = trace.model
    V = rotation(model, "panda_link3").T @ model.jacobian(model.frame(HAND), "aligned") @ trace.v[-1]
    assert np.abs(V - [0.05, 0, 0.05, 0, 0, 0]).max() <= 2e-3
    task.mask = "rz"
    later = go_on(trace, 0.5)
    V = rotation(later.model, "panda_link3").T @ later.model.jacobian(model.frame(HAND), "aligned") @ later.v[-1]
    assert np.abs(V - [0, 0, 0, 0, 0, 0.1 / (0.1 * 40.0)]).max() <= 2e-3


# -- motion ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("axes", ["world", "local", "panda_link0"])
def test_motion_reaches_a_pose(axes, solver) -> None:
    home()
    model = model_of("panda")
    T = model.placement(model.frame(HAND))
    goal = SE3(T.rotation @ exp3(np.array([0.3, -0.4, 0.5])), T.translation + np.array([0.1, 0.2, -0.15]))
    task = CartesianMotion(HAND, axes=axes, reference=goal)
    assert np.abs(task.error(simulate(task, 3.0, solver=solver).model)).max() <= 1e-5


def lag(reference: sot.Reference, stiffness: float) -> float:
    """Largest distance from a moving target after the first second, m."""
    task, distances = CartesianMotion(HAND, stiffness), []
    task.reference = reference
    simulate(
        task, 4.0, watch=lambda c, state: distances.append(np.linalg.norm(task.error(c.model)[:3])), limits=False
    )
    return max(distances[200:])


def test_a_moving_target_is_followed_without_lag() -> None:
    """Speed 0.2 m/s: without the target's velocity the tool would be 2 V/ω behind. Left are centrifugal effects."""
    circle = sot.circle(radius=0.1, speed=2.0, fade=0.5)
    distance = lag(circle, 400.0)
    assert distance <= 5e-4 and lag(circle, 1600.0) <= 0.3 * distance
    home()
    T = model_of("panda").placement(model_of("panda").frame(HAND)).copy()

    def around(time: float) -> SE3:
        return SE3(T.rotation, T.translation + 0.1 * np.array([np.cos(2 * time) - 1.0, np.sin(2 * time), 0.0]))

    assert lag(sot.follow(around), 400.0) >= 0.015


def shock(dt: float) -> float:
    """Greatest change of the command from tick to tick, when target, force and stiffness jump."""
    task = CartesianCompliance(HAND, 200.0)
    trace = simulate(task, 0.1, dt)
    task.measured, task.wrench, task.stiffness = [10.0, 0, 0, 0, 0, 0], [0, 0, 5.0, 0, 0, 0], 800.0
    task.reference = sot.move(by=[0.0, 0.05, 0.0], duration=1e-3)
    later = go_on(trace, 2.0)
    assert np.abs(task.error(later.model)[:3] - np.array([10.0, 0, 5.0]) / 800.0).max() <= 1e-5
    return np.abs(np.diff(np.vstack([trace.v[-1:], later.v]), axis=0)).max()


def test_whatever_jumps_the_velocity_does_not() -> None:
    """A jump is an acceleration: the step of the command shrinks with dt."""
    assert 0.1 <= shock(5e-3) / 5e-3 <= 1.3 * shock(1e-3) / 1e-3


def test_a_stiffness_that_is_refused_changes_nothing() -> None:
    task = CartesianCompliance(HAND, 800.0)
    with pytest.raises(TaskError, match="stiffness"):
        task.stiffness = [-1.0] * 6
    assert task.stiffness == 800.0 and task.tool.body.stiffness[0, 0] == 800.0


# -- limits ----------------------------------------------------------------------------------------------------------


class Unlimited(CartesianForce):
    """The counter-example: integrates what it asked for, and not what was done."""

    kind = "unlimited"

    def rows(self, model: sot.Model, tick: Tick) -> Rows:
        own = getattr(self, "own", np.zeros(model.nv))
        rows = super().rows(model, Tick(tick.time, tick.dt, own))
        self.own = np.linalg.lstsq(rows.A, rows.lower, rcond=None)[0]
        return rows


def reversal(kind: type[CartesianForce], solver: str, pushing: float) -> np.ndarray:
    """Joint 1 is pushed against its limit for a while, then away: its speed from the reversal on."""
    task = kind(HAND, [0, 8.0, 0, 0, 0, 0], "panda_link1", joints="panda_joint1", damping=2.0)
    q = load("panda").home.copy()
    q[0] = load("panda").pin_model.upperPositionLimit[0] - 1e-9
    trace = simulate(task, pushing, solver=solver, q=q)
    task.wrench = [0, -8.0, 0, 0, 0, 0]
    return go_on(trace, 0.2).v[:, 0]


@pytest.mark.parametrize("solver", SOLVERS)
def test_nothing_winds_up_at_a_limit(solver) -> None:
    """After 10 s against a limit the joint leaves it as if it had just arrived."""
    first, after = reversal(CartesianForce, solver, 0.01), reversal(CartesianForce, solver, 10.0)
    assert first[0] < 0.0 and first[-1] < -0.1
    assert np.abs(after - first).max() <= 1e-6


def test_an_integrator_of_its_own_would_wind_up() -> None:
    first, after = reversal(Unlimited, "hierarchical", 0.01), reversal(Unlimited, "hierarchical", 10.0)
    assert after[0] >= 0.0 and np.abs(after - first).max() > 0.1


class ByJoint(CartesianCompliance):
    """The counter-example: rows v = v_next, in which a stopped joint does not tell the others."""

    kind = "by_joint"

    def rows(self, model: sot.Model, tick: Tick) -> Rows:
        rows = super().rows(model, tick)
        columns = self.tool.columns
        wanted = np.linalg.solve(rows.A[:, columns], rows.lower)
        return Rows(np.eye(model.nv)[columns], wanted, wanted)


def forces_left(kind: type[CartesianCompliance], dt: float) -> np.ndarray:
    """Jᵀf of the joints that are not stopped, where the wrist has reached a limit under a load."""
    task = kind(HAND, 200.0, measured=[10.0, -10.0, -10.0, 0, -1.0, 0])
    q = load("panda").home.copy()
    q[5] = 3.7  # 3° before its limit
    trace = simulate(task, 8.0, dt, q=q)
    model = trace.model
    f = task.measured - task.tool.body.stiffness @ task.error(model)
    assert kind is ByJoint or np.abs(trace.v[-1]).max() <= 1e-5
    q, limits = model.q[:7], model.pin
    stopped = np.minimum(q - limits.lowerPositionLimit[:7], limits.upperPositionLimit[:7] - q) <= 1e-6
    assert stopped.any()
    return (model.jacobian(model.frame(HAND), "aligned").T @ f)[:7][~stopped]


@pytest.mark.parametrize("dt", [2e-3, 1e-2])
def test_at_limits_the_other_joints_find_their_own_equilibrium(dt) -> None:
    """Where some joints are stopped, those that are not bear no torque; plain rows on joints miss that."""
    assert np.abs(forces_left(CartesianCompliance, dt)).max() <= 1e-4
    assert np.abs(forces_left(ByJoint, dt)).max() > 5.0


# -- singularities ---------------------------------------------------------------------------------------------------


def stretched(robot: str, frame: str, dt: float = 5e-3, **options) -> tuple[float, float, float]:
    """Out beyond the arm's reach and back within 6 s: largest joint speed, smallest σ, distance at the end."""
    home_model = sot.Model(load(robot))
    T = home_model.placement(home_model.frame(frame)).copy()
    outwards = 0.7 * T.translation * [1, 1, 0] / np.linalg.norm(T.translation[:2])
    sigmas = []

    def measure(controller: sot.Controller, state: sot.State) -> None:
        sigmas.append(np.linalg.svd(controller.model.jacobian(task.tool.frame_id))[1][-1])

    task = CartesianMotion(frame, **options)
    goals = [SE3(T.rotation, T.translation + outwards), T]
    task.reference = sot.waypoints(goals, [2.0, 2.0])
    trace = simulate(task, 6.0, dt, robot=robot, limits=False, watch=measure)
    return np.abs(trace.v).max(), min(sigmas), np.linalg.norm(task.error(trace.model))


@pytest.mark.parametrize(("robot", "frame"), [("panda", HAND), ("ur5", "tool0")])
def test_speeds_stay_bounded_through_the_stretched_arm(robot, frame) -> None:
    """Without any limits: the joint inertia alone holds the speeds, and the arm comes back."""
    speed, sigma, distance = stretched(robot, frame)
    assert sigma <= 1e-3 and speed <= 8.0 and distance <= 1e-6
    assert stretched(robot, frame, joint_inertia=1e-7)[0] > 5.0 * speed


def test_the_base_may_be_one_of_the_joints() -> None:
    wrench = [5.0, 0, 0, 0, 0, 0]
    model = model_of("tiago")
    base = next(iter(model.joints))
    hand = model.robot.hands[0]
    alone = simulate(CartesianForce(hand, wrench), 0.5, robot="tiago", limits=False)
    assert np.abs(alone.v[:, :3]).max() <= 1e-12 and np.abs(alone.v).max() > 0.01
    driving = simulate(CartesianForce(hand, wrench, joints=[base]), 0.5, robot="tiago", limits=False)
    assert driving.v[-1][0] > 0.05 and np.abs(driving.v[:, 3:]).max() <= 1e-12


# -- beside other tasks ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [0, 1])
def test_damping_beside_it_leaves_it_alone(order) -> None:
    """A task with rows of its own is neither damped nor a reason to stumble, on its level or above."""
    panda = load("panda")
    task, other = CartesianCompliance(HAND, measured=[5.0, 0, 0, 0, 0, 0]), Position("panda_link4")
    levels = ([task, other, Damping()],) if order else ([task], [other, Damping()])
    controller = sot.Controller(panda, sot.Stack([], *levels), dt=5e-3)
    assert sot.run(Kinematic(panda, dt=5e-3), controller, 1.0).ok


def test_lower_levels_do_not_change_it() -> None:
    panda = load("panda")
    ends = []
    for below in ([], [[Posture(reference=0.1)]]):
        task = CartesianCompliance(HAND, measured=[5.0, 3.0, 0, 0, 0, 0])
        controller = sot.Controller(panda, sot.Stack([JointLimits()], [task], *below), dt=5e-3)
        ends.append(sot.run(Kinematic(panda, dt=5e-3), controller, 1.0).state.q[:7])
    assert np.abs(ends[0] - ends[1]).max() <= 1e-9


# -- what it tells ---------------------------------------------------------------------------------------------------


def test_facts_and_arrows() -> None:
    task = CartesianCompliance(HAND, K6, "local", measured=[12.0, 0, 9.0, 0.3, 0, 0])
    trace = simulate(task, 0.02)
    entry = trace.controller.explain().entry(task.name)
    assert entry.facts["mode"] == "compliance" and abs(entry.facts["measured force"] - 15.0) <= 1e-12
    assert 13.0 <= entry.facts["force"] <= 15.0
    v, model = trace.v[-1], trace.controller.model
    model.update(trace.q[-1], v)
    J = model.jacobian(model.frame(HAND))
    energy = 0.5 * v @ J.T @ np.diag([1, 1, 1, 0.1, 0.1, 0.1]) @ J @ v + 0.5 * 0.003 * v[:7] @ v[:7]
    assert abs(entry.facts["kinetic energy"] - energy) <= 1e-12 and energy > 0.0
    pull, push = task.sketch(model)
    hand = model.placement(model.frame(HAND)).translation
    assert pull.arrow and push.arrow and pull.name != push.name
    assert np.abs(push.end - push.start - 0.005 * np.array([12.0, 0, 9.0])).max() <= 1e-12
    force = task.measured - rotation(model, "local") @ np.diag(K6) @ rotation(model, "local").T @ task.error(model)
    assert np.array_equal(pull.start, hand) and np.abs(pull.end - hand - 0.005 * force[:3]).max() <= 1e-9
    task.measured = [0, 3e4, 0, 0, 0, 0]
    assert abs(np.linalg.norm(task.sketch(model)[1].end - hand) - 0.5) <= 1e-12


def test_labels_are_joints() -> None:
    for task in (CartesianMotion(HAND), CartesianForce(HAND, joints="panda_joint[2-4]")):
        task.setup(model_of("panda"))
        assert task.labels(0)[:2] == ["panda_joint1", "panda_joint2"] or len(task.labels(0)) == 3


FILE = """
robot: panda
duration: 1.5
dt: 0.005
stack:
  - joint_limits
  - cartesian_compliance:
      frame: panda_hand_tcp
      name: hand
      stiffness: [400, 400, 200, 40, 40, 40]
      axes: local
      measured: [5, 0, 0, 0, 0, 0]
      measured_in: local
events:
  - {at: 0.5, set: hand, reference: {move: {by: [0, 0.1, 0], duration: 0.5}}}
"""


def test_it_can_be_written_in_a_file(tmp_path) -> None:
    file = tmp_path / "stack.yaml"
    file.write_text(FILE)
    run = load_run(file).run()
    assert run.ok and abs(run.final_error["hand"] - 5.0 / 400.0) <= 1e-3


def test_a_state_that_is_not_finite_is_said_to_be_the_state() -> None:
    trace = simulate(CartesianMotion(HAND), 0.05)
    state = trace.robot.read()
    state.q[2] = np.nan
    with pytest.raises(RobotError, match="not finite"):
        trace.controller.step(state)


# -- bad input -------------------------------------------------------------------------------------------------------

BAD = {
    "frame": (lambda: CartesianMotion("hnd"), ModelError, HAND),
    "axes": (lambda: CartesianMotion(HAND, axes="wrld"), ModelError, "world"),
    "axes of a force": (lambda: CartesianForce(HAND, axes=3), ModelError, "local"),
    "measured in": (lambda: CartesianForce(HAND, measured_in="sensor"), ModelError, "panda_link8"),
    "stiffness size": (lambda: CartesianMotion(HAND, [1.0, 2.0, 3.0]), TaskError, "6 numbers"),
    "stiffness word": (lambda: CartesianMotion(HAND, "stiff"), TaskError, "6 numbers"),
    "ragged stiffness": (lambda: CartesianMotion(HAND, [[1.0], [2.0, 3.0]]), TaskError, "6×6"),
    "negative stiffness": (lambda: CartesianMotion(HAND, -1.0), TaskError, "stiffness"),
    "negative axis": (lambda: CartesianMotion(HAND, [1, 1, -1, 1, 1, 1]), TaskError, "push away"),
    "NaN stiffness": (lambda: CartesianMotion(HAND, [1, 1, np.nan, 1, 1, 1]), TaskError, "finite"),
    "infinite stiffness": (lambda: CartesianMotion(HAND, np.inf), TaskError, "stiffness"),
    "asymmetric": (lambda: CartesianMotion(HAND, np.triu(np.ones((6, 6)))), TaskError, "symmetric"),
    "indefinite": (lambda: CartesianMotion(HAND, np.ones((6, 6)) - np.eye(6)), TaskError, "push away"),
    "no stiffness, no damping": (lambda: CartesianCompliance(HAND, 0.0), TaskError, "give a rate"),
    "damping": (lambda: CartesianMotion(HAND, damping=0.0), TaskError, "damping"),
    "NaN damping": (lambda: CartesianForce(HAND, damping=np.nan), TaskError, "damping"),
    "mass": (lambda: CartesianForce(HAND, mass=-1.0), TaskError, "mass"),
    "inertia": (lambda: CartesianForce(HAND, inertia=0.0), TaskError, "inertia"),
    "joint inertia": (lambda: CartesianForce(HAND, joint_inertia=0.0), TaskError, "joint_inertia"),
    "wrench": (lambda: CartesianForce(HAND, [0, 0, np.nan, 0, 0, 0]), TaskError, "wrench"),
    "wrench size": (lambda: CartesianCompliance(HAND, wrench=[1.0]), TaskError, "6 numbers"),
    "mask": (lambda: CartesianForce(HAND, mask="w"), TaskError, "rx"),
    "joint": (lambda: CartesianForce(HAND, joints="panda_finger_joint1"), ModelError, "panda_joint7"),
    "fixed frame": (lambda: CartesianForce("panda_link0"), TaskError, "no joint with a motor"),
    "pose": (lambda: CartesianMotion(HAND, reference=[1, 2, 3]), TaskError, "7 numbers"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_said_with_what_would_be_right(case) -> None:
    make, kind, words = BAD[case]
    with pytest.raises(SotError) as caught:
        task = make()
        task.setup(model_of("panda"))
        task.begin(model_of("panda"), Tick(0.0, 1e-3, np.zeros(9)))
    assert isinstance(caught.value, kind) and words in str(caught.value), str(caught.value)
