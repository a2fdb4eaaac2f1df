"""Regions of poses: nearest orientations, moments on Panda's hand, what it does in a simulation, and files."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from plugins import along, random_state, scale
from scipy.linalg import eigh

import sot
from sot.attractor import Affine, Ball, Line, Plane, Point
from sot.attractor.facing import Facing
from sot.config import parse_run
from sot.config.dump import dump
from sot.errors import TaskError
from sot.lie import exp3, log3
from sot.model import ALIGNED, Model
from sot.robots import Kinematic, Simulated, load
from sot.simulation import Push
from sot.tasks import Attractor, Orientation, Posture

HAND = "panda_hand_tcp"
ANYWHERE = Affine([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
TARGET = [0.3, -0.5, 2.0]


@pytest.fixture(scope="module")
def panda():
    return load("panda", lock=("panda_finger_joint*",))


def home(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Position and rotation of the hand at home."""
    model.update(model.robot.home, np.zeros(model.nv))
    place = model.placement(model.frame(HAND))
    return place.translation.copy(), place.rotation.copy()


def quaternions(vectors: np.ndarray) -> np.ndarray:
    half = 0.5 * np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.concatenate([np.cos(half), 0.5 * np.sinc(half / np.pi) * vectors], axis=-1)


# -- orientations ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("free", ["", "z", "x", "xy", "zx"])
def test_the_nearest_orientation_is_nearest_and_allowed(free) -> None:
    """Of 20,000 rotations about the free axes none is nearer; and what is held and what is free span all axes."""
    rng, facing, picked = np.random.default_rng(0), Facing(TARGET, free), ["xyz".index(letter) for letter in free]
    turns = np.zeros((20_000, 3))
    turns[:, picked] = rng.uniform(-np.pi, np.pi, size=(len(turns), len(picked)))
    allowed = quaternions(turns)
    for R in (exp3(2.0 * rng.normal(size=3)) for _ in range(10)):
        hold, off = facing.at(R), log3(facing._target.T @ R)
        nearest = 2.0 * np.arccos(np.abs(allowed @ quaternions(off)).max().clip(0.0, 1.0))
        angle = np.linalg.norm(hold.point)
        assert angle <= nearest + 1e-7 and nearest <= angle + 0.06
        there = log3(facing._target.T @ exp3(hold.point) @ R)
        assert np.abs(np.delete(there, picked)).max() <= 1e-12
        way = np.where(hold.free, 0.0, hold.lower)
        assert np.abs(hold.axes.T @ way - hold.point).max() <= 1e-12 and hold.free.sum() == len(free)
        assert np.abs(hold.axes @ hold.axes.T - np.eye(3)).max() <= 1e-12
        assert np.abs(hold.held - hold.axes[~hold.free].T @ hold.axes[~hold.free]).max() <= 1e-12


def test_large_angles_go_the_short_way_up_to_half_a_turn() -> None:
    """About any axis: 3.1 rad back, 3.2 rad on, exact to the last digits and without a jump before π."""
    rng = np.random.default_rng(1)
    for u in rng.normal(size=(5, 3)):
        u /= np.linalg.norm(u)
        for angle, way in ((3.1, -3.1), (np.pi - 1e-9, 1e-9 - np.pi), (3.2, 2 * np.pi - 3.2), (1e-9, -1e-9)):
            R = exp3(angle * u) @ exp3(np.array([0, 0, 2.0]))
            assert np.abs(Facing([0, 0, 2.0]).at(R).point - way * u).max() <= 1e-12


@pytest.mark.parametrize("free", ["", "z", "yx"])
def test_jacobian_and_drift_of_six_rows(free, panda) -> None:
    """By finite differences, at any error; also where a region of space is curved."""
    model, rng = Model(panda), np.random.default_rng(2)
    for region in (Plane([0.1, 0.2, 0.3], [1, 2, -1]), Ball([0.1, 0.2, 0.3], 0.05)):
        task = Attractor(HAND, region, orientation=TARGET, free=free)
        task.setup(model)
        random_state(model, rng, task.jacobian)
        J, unit = task.jacobian(model), np.eye(model.nv)
        assert J.shape == (6, model.nv) and task.units(6) == ["m"] * 3 + ["rad"] * 3
        assert np.linalg.norm(task.error(model)[3:]) > 0.1
        assert np.abs(J - np.array([along(model, u, task.error) for u in unit]).T).max() <= 1e-6 * scale(J)
        rate = along(model, model.v, lambda m, task=task: task.jacobian(m) @ m.v)
        assert np.abs(task.drift(model) - rate).max() <= 1e-6 * scale(rate)


# -- torques and velocities --------------------------------------------------------------------------------


@pytest.mark.parametrize("free", ["", "z"])
def test_torques_do_what_force_and_moment_would_do(free, panda) -> None:
    """N J M⁻¹ (τ − h) = N J M⁻¹ Jᵀ w at rest with w of the law, written out here, whatever lower levels want."""
    K, turn = np.array([700.0, 600.0, 500.0]), np.array([[30.0, 4.0, 0.0], [4.0, 20.0, 0.0], [0.0, 0.0, 25.0]])
    task = Attractor(HAND, Point([0.5, 0.1, 0.4]), K, orientation=TARGET, free=free, rotational_stiffness=turn)
    below = [Orientation(HAND, gain=8.0, reference=[0.1, 0.2, 0.3])] if free else []
    controller = sot.Controller(panda, sot.Stack([], [task], below, [Posture()]), output="torque", dt=1e-3)
    model, rng = controller.model, np.random.default_rng(3)
    for k in range(3):
        q = model.integrate(panda.home, 0.3 * rng.normal(size=model.nv))
        tau = controller.step(sot.State(1e-3 * k, q, np.zeros(model.nv))).tau
        place, J = model.placement(model.frame(HAND)), model.jacobian(model.frame(HAND), ALIGNED)
        R, target = place.rotation, Facing(TARGET)._target
        if free:  # the shortest way between the two z axes
            sine = np.cross(R[:, 2], target[:, 2])
            way = sine * np.arctan2(np.linalg.norm(sine), R[:, 2] @ target[:, 2]) / np.linalg.norm(sine)
        else:
            way = log3(target @ R.T)
        wrench = np.concatenate([K * (np.array([0.5, 0.1, 0.4]) - place.translation), turn @ way])
        assert np.abs(np.concatenate([task.force, task.moment]) - wrench).max() <= 1e-9
        N = np.vstack([np.eye(6)[:3], np.c_[np.zeros((2 if free else 3, 3)), R.T[: 2 if free else 3]]])
        if free:  # the moment about z is a load: it adds to what the level below does
            assert abs(R[:, 2] @ turn @ way) > 0.1
            wrench[3:] -= R[:, 2] * (R[:, 2] @ wrench[3:])
            tau = tau - J[3:].T @ R[:, 2] * (R[:, 2] @ turn @ way)
        moved = N @ J @ np.linalg.solve(model.mass_matrix, tau - model.bias)
        assert np.abs(moved - N @ J @ np.linalg.solve(model.mass_matrix, J.T @ wrench)).max() <= 1e-7


@pytest.mark.parametrize("output", ["torque", "velocity"])
def test_lower_levels_spin_the_hand_about_its_free_axis_and_no_other(output, panda) -> None:
    """What is asked for about x and y is had to 1e-9, and about z the level below has its way."""
    results = []
    for below in ([], [Orientation(HAND, gain=5.0, reference=[0.5, 1.0, -1.0])]):
        task = Attractor(HAND, ANYWHERE, orientation=[3.0, 0.2, 0.0], free="z")
        controller = sot.Controller(panda, sot.Stack([], [task], below), output=output, dt=1e-3)
        command = controller.step(sot.State(0.0, panda.home, np.zeros(panda.pin_model.nv)))
        model = controller.model
        motion = controller.solver.x[: model.nv] if output == "torque" else command.v
        results.append(model.jacobian(model.frame(HAND))[3:] @ motion)  # in the hand's own axes
    alone, both = results
    assert np.abs(alone - both)[:2].max() <= 1e-9 and np.abs(alone[:2]).max() > 1e-3
    assert abs(both[2] - alone[2]) > 1e-2


def test_at_velocity_level_an_angle_decays_at_the_pace_of_the_damper(panda) -> None:
    """3.1 rad about the hand's own z: θ = 3.1 exp(−K t/C), every tick, at 1 ms and 10 ms; nothing else moves."""
    p, R = home(Model(panda))
    goal = R @ exp3(np.array([0.0, 0.0, -3.1]))
    for dt in (1e-3, 1e-2):
        task = Attractor(
            HAND, Point(p), 100.0, damping=20.0, orientation=goal, rotational_stiffness=10.0, rotational_damping=2.0
        )
        robot = Kinematic(panda, dt=dt)
        controller = sot.Controller(panda, sot.Stack([], [task]), dt=dt)
        errors = []
        for _ in range(round(0.4 / dt)):
            robot.write(controller.step(robot.read()))
            errors.append(task.error(controller.model))
        angles = 3.1 * np.exp(-5.0 * dt * np.arange(len(errors)))
        assert np.abs(np.array(errors)[:, 5] - angles).max() <= 1e-3 * 3.1
        assert np.abs(np.array(errors)[:, :5]).max() <= 0.2 * dt  # joints move straight on within a tick


def test_at_velocity_level_modes_decay_with_the_damping_ratio(panda) -> None:
    """From 1e-6 along K u = ω² Λ u with C = 2ζ√(KΛ), C ẋ = −K x goes as exp(−ω t/2ζ): J v = −u (1 − exp(−κ dt))/dt."""
    ratio, dt, K = 0.7, 0.02, np.array([900.0, 800.0, 700.0, 30.0, 20.0, 25.0])
    model = Model(panda)
    p, R = home(model)
    J = model.jacobian(model.frame(HAND), ALIGNED)
    squares, modes = eigh(np.diag(K), np.linalg.inv(J @ np.linalg.solve(model.mass_matrix, J.T)))
    for square, mode in zip(squares, modes.T, strict=True):
        u = 1e-6 * mode / np.abs(mode).max()
        task = Attractor(
            HAND, Point(p - u[:3]), K[:3], orientation=exp3(-u[3:]) @ R, rotational_stiffness=K[3:], damping_ratio=ratio
        )
        controller = sot.Controller(panda, sot.Stack([], [task]), dt=dt)
        moved = J @ controller.step(sot.State(0.0, panda.home, np.zeros(model.nv))).v
        wanted = u * np.expm1(-dt * np.sqrt(square) / (2.0 * ratio)) / dt
        assert np.abs(moved - wanted).max() <= 1e-4 * np.abs(wanted).max()


# -- in a simulation ---------------------------------------------------------------------------------------


def test_a_known_wrench_displaces_the_hand_by_the_compliance(panda) -> None:
    """At rest K x = f and K_r e = r × f, for a push beside the hand that goes on, from 0.4 rad away."""
    p, R = home(Model(panda))
    K, turn = np.array([900.0, 800.0, 700.0]), np.array([30.0, 20.0, 25.0])
    force, lever = [6.0, -4.0, 5.0], [0.1, 0.05, 0.0]
    goal = exp3(np.array([0.2, -0.3, 0.15])) @ R
    there = p + np.array([0.03, 0.05, -0.04])
    task = Attractor(HAND, Point(there), K, orientation=goal, rotational_stiffness=turn)
    push = Push(at=0.0, frame=HAND, force=force, duration=10.0, point=lever)
    robot = Simulated(panda, dt=2e-3, bodies=False, disturbances=[push])
    controller = sot.Controller(panda, sot.Stack([], [task], [Posture(gain=10.0)]), output="torque", dt=2e-3)
    sot.run(robot, controller, duration=3.0)
    model = Model(panda)
    model.update(robot.truth().q, robot.truth().v)
    place = model.placement(model.frame(HAND))
    assert np.abs(robot.truth().v).max() <= 1e-4
    assert np.abs(place.translation - there - force / K).max() <= 2e-6
    off = log3(place.rotation @ goal.T)
    assert np.abs(off - np.cross(place.rotation @ lever, force) / turn).max() <= 2e-5 < 0.01 < np.abs(off).max()


def test_half_a_turn_goes_the_short_way_with_torques(panda) -> None:
    """3.1 rad about the hand's own z with a soft spring: the angle only falls, and steadily."""
    p, R = home(Model(panda))
    task = Attractor(HAND, Point(p), orientation=R @ exp3(np.array([0.0, 0.0, -3.1])), rotational_stiffness=2.0)
    robot = Simulated(panda, dt=2e-3, bodies=False)
    controller = sot.Controller(panda, sot.Stack([], [task], [Posture()]), output="torque", dt=2e-3)
    angles = []
    for _ in range(600):
        robot.write(controller.step(robot.read()))
        angles.append(task.error(controller.model)[5])
    steps = np.diff(angles)
    assert angles[0] == pytest.approx(3.1) and steps.max() <= 1e-4 and steps.min() >= -0.1 and abs(angles[-1]) <= 0.05


@pytest.mark.parametrize("mode", [0, 3, 5])
def test_modes_of_hand_and_arm_swing_with_the_damping_ratio(mode, panda) -> None:
    """Let go 5e-4 along an eigenvector of K u = ω² Λ u it stays on it: exp(−ζωt)(cos ω_d t + ζω/ω_d sin ω_d t)."""
    ratio, K = 0.3, np.array([900.0, 800.0, 700.0, 30.0, 20.0, 25.0])
    model = Model(panda)
    p, R = home(model)
    J = model.jacobian(model.frame(HAND), ALIGNED)
    squares, modes = eigh(np.diag(K), np.linalg.inv(J @ np.linalg.solve(model.mass_matrix, J.T)))
    omega = np.sqrt(squares[mode])
    dt = 0.01 / omega
    u = 5e-4 * modes[:, mode] / np.abs(modes[:, mode]).max()
    task = Attractor(
        HAND, Point(p - u[:3]), K[:3], orientation=exp3(-u[3:]) @ R, rotational_stiffness=K[3:], damping_ratio=ratio
    )
    robot = Simulated(panda, dt=dt, bodies=False)
    controller = sot.Controller(panda, sot.Stack([], [task], [Posture(gain=3.0)]), output="torque", dt=dt)
    times, swing = dt * np.arange(600), []
    for _ in times:
        robot.write(controller.step(robot.read()))
        place, off = controller.model.placement(controller.model.frame(HAND)), np.zeros(6)
        off[:3], off[3:] = place.translation - (p - u[:3]), log3(place.rotation @ (exp3(-u[3:]) @ R).T)
        swing.append(off @ (K * u) / (u @ (K * u)))
    fast = omega * np.sqrt(1.0 - ratio**2)
    wanted = np.exp(-ratio * omega * times) * (np.cos(fast * times) + ratio * omega / fast * np.sin(fast * times))
    assert np.abs(np.array(swing) - wanted).max() <= 0.02 and np.min(swing) < -0.3


# -- bounds, changes, files --------------------------------------------------------------------------------


def test_the_moment_has_a_cap_of_its_own_and_both_fade_without_input(panda) -> None:
    options = {"damping": 40.0, "rotational_damping": 2.0, "timeout": 0.005, "fade": 0.005}
    goal = exp3(np.array([1.0, 0.5, -1.0])) @ home(Model(panda))[1]
    task = Attractor(HAND, Point([0.3, 0, 0.5]), orientation=goal, cap=5.0, torque_cap=1.5, **options)
    controller = sot.Controller(panda, sot.Stack([], [task], [Posture()]), output="torque", dt=1e-3)
    state = sot.State(0.0, panda.home, np.zeros(panda.pin_model.nv))
    controller.step(state)
    assert np.allclose(task.moment, np.array([1.0, 0.5, -1.0]), atol=1e-12)  # 1.5 long, along the way
    assert np.linalg.norm(task.force) == pytest.approx(5.0)
    for _ in range(20):
        controller.step(state)
    assert not task.moment.any() and not task.force.any()
    facts = task.facts(controller.model, controller._tick, state.v)
    assert facts["moment"] == 0.0 and facts["turned"] == pytest.approx(1.5) and "stale" in facts


def test_orientation_and_parameters_change_while_running(panda) -> None:
    p, R = home(Model(panda))
    task = Attractor(HAND, Point(p), orientation=R, target_timeout=0.01)
    controller = sot.Controller(panda, sot.Stack([], [task], [Posture()]), output="torque", dt=1e-3)

    def moment(k: int) -> np.ndarray:
        controller.step(sot.State(1e-3 * k, panda.home, np.zeros(controller.model.nv)))
        return task.moment

    assert np.abs(moment(0)).max() <= 1e-12
    task.orientation = exp3(np.array([0.2, 0.0, 0.0])) @ R
    assert np.allclose(moment(1), [4.0, 0.0, 0.0], atol=1e-12)
    task.rotational = dataclasses.replace(task.rotational, stiffness=50.0)
    assert np.allclose(moment(2), [10.0, 0.0, 0.0], atol=1e-12) and task.rendered_turning()[0] == pytest.approx(50.0)
    with pytest.raises(TaskError, match="orientation"):
        task.orientation = [0.0, np.nan, 0.0]
    assert not [moment(k) for k in range(3, 200)][-1].any()  # it was set while running, and then no more
    with pytest.raises(TaskError, match="three rows"):
        Attractor(HAND, Point(p)).orientation = R
    assert Attractor(HAND, Point(p)).rendered_turning() == (0.0, 0.0)


def test_the_sampling_limit_of_a_moment_is_told(panda) -> None:
    task = Attractor(HAND, ANYWHERE, orientation=TARGET, rotational_damping=1e-3, rotational_stiffness=30.0)
    controller = sot.Controller(panda, sot.Stack([], [task], [Posture()]), output="torque", dt=1e-3)
    with pytest.raises(TaskError, match=r"K dt/2 < C, here 0\.015 N·m·s/rad"):
        controller.step(sot.State(0.0, panda.home, np.zeros(panda.pin_model.nv)))


@pytest.mark.parametrize("free", ["", "z"])
@pytest.mark.parametrize("orientation", [TARGET, [0.0, 0.6, 0.0, 0.8], exp3(np.array(TARGET)).tolist()])
def test_poses_in_files_and_back(orientation, free) -> None:
    """As roll, pitch, yaw, quaternion or matrix; written from a task that was made in Python and read again."""
    made = Attractor(
        HAND, Line([0.4, 0, 0.5]), orientation=orientation, free=free, torque_cap=3.0, rotational_stiffness=[9, 8, 7]
    )
    levels = dump(sot.Stack([], [made]))
    task = parse_run("robot: panda\noutput: torque\n" + levels).stack.levels[1][0]
    assert task.orientation == made.orientation and task.free == free and task.region == made.region
    assert task.rotational == made.rotational and task.parameters == made.parameters


def test_what_is_wrong_is_said() -> None:
    for options, words in (
        ({"orientation": [1, 2]}, "orientation"), ({"orientation": TARGET, "free": "xyz"}, "one or two"),
        ({"orientation": TARGET, "free": "w"}, "free"), ({"free": "z"}, "give one"), ({"torque_cap": np.nan}, "cap"),
        ({"orientation": TARGET, "rotational_stiffness": -1.0}, "stiffness"),
    ):  # fmt: skip
        with pytest.raises(TaskError, match=words):
            Attractor(HAND, Point(), **options)
