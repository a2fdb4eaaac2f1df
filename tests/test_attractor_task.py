"""Attractors and fixtures in stacks: on a stylus, on Panda's hand, on a finger."""

from __future__ import annotations

import dataclasses
import inspect
import json
import runpy
from pathlib import Path as File

import numpy as np
import pytest

import sot
from sot.attractor import (
    Affine,
    Ball,
    Box,
    Gaussian,
    HalfSpace,
    Law,
    Line,
    NearRank,
    Outside,
    Parameters,
    Path,
    Plane,
    Point,
    Segment,
)  # fmt: skip
from sot.config import parse_run
from sot.config.dump import dump
from sot.config.signature import parameters
from sot.description.slider import stylus
from sot.errors import ConfigError, TaskError
from sot.model import ALIGNED
from sot.robots import Kinematic, load
from sot.sketch import Solid
from sot.tasks import Attractor, Position, Posture, Repulsor, Tube, Wall

REGIONS = [
    Plane(), Line(direction=[1, 1, 0]), Point(), Affine([[1, 2, 3], [0, 1, 1]], weights=[1, 5, 2]),
    Ball([0, 0, 0], 0.02), Box([0, 0, 0], [0.02, 0.04, 0.03]), HalfSpace(), Segment([0, 0, 0], [0.1, 0, 0]),
    Path([[0, 0, 0], [0.1, 0, 0], [0.1, 0.1, 0]], 0.01), Outside([0, 0, 0], 0.1),
    Gaussian([0, 0, 0], [1e-3, 1e-2, 1e9]),
]  # fmt: skip
HAND = "panda_hand_tcp"


@pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.kind)
def test_alone_on_a_stylus_the_joint_force_is_the_force_of_the_law(region) -> None:
    """To 1e-9 N, with a stiffness askew to the region and a force that is added."""
    task = Attractor("tip", region, [1000.0, 1500.0, 2000.0], damping=20.0, push=[1.0, 2.0, 3.0])
    controller = sot.Controller(stylus("tip", 0.19), sot.Stack([], [task]), output="torque", dt=5e-4)
    rng, law = np.random.default_rng(0), Law(region, task.parameters)
    for k in range(50):
        q, v = 0.05 * rng.normal(size=3), 0.1 * rng.normal(size=3)
        tau = controller.step(sot.State(5e-4 * k, q, v)).tau
        assert np.abs(tau - law.force(q, v)).max() <= 1e-9
        assert np.abs(tau - task.force).max() <= 1e-9


def at_state(controller: sot.Controller, seed: int, speed: float) -> sot.State:
    rng = np.random.default_rng(seed)
    nv = controller.model.nv
    q = controller.model.integrate(controller.robot.home, 0.2 * rng.normal(size=nv) * (np.arange(nv) < 7))
    return sot.State(0.0, q, speed * rng.normal(size=nv) * (np.arange(nv) < 7))


def test_on_an_arm_torques_do_what_the_force_would_do() -> None:
    """N J M⁻¹ (τ − h) = N J M⁻¹ Jᵀ f along what is held, at rest, whatever the levels below want."""
    task = Attractor(HAND, Line([0.4, 0.0, 0.5], [0, 1, 1]), stiffness=700.0)
    below = Position(HAND, gain=8.0, reference=[0.6, 0.3, 0.2])
    controller = sot.Controller(load("panda"), sot.Stack([], [task], [below], [Posture()]), output="torque", dt=1e-3)
    model = controller.model
    for seed in range(5):
        state = at_state(controller, seed, 0.0)
        state = dataclasses.replace(state, time=1e-3 * seed)
        tau = controller.step(state).tau
        J, M = model.jacobian(model.frame(HAND), ALIGNED)[:3], model.mass_matrix
        N = task.region.spans()
        moved = N @ J @ acceleration(model, tau)
        force = N @ J @ np.linalg.solve(M, J.T @ task.force)
        assert np.abs(moved - force).max() <= 1e-8 * max(1.0, np.abs(force).max())
        assert np.linalg.norm(task.force) > 1.0


def acceleration(model: sot.Model, tau: np.ndarray) -> np.ndarray:
    """v̇ of the arm under torques; its fingers are geared, so the force between them is left free."""
    M, h, n = model.mass_matrix, model.bias, model.nv
    gear = np.zeros((1, n))
    gear[0, -2:] = 1.0, -1.0
    K = np.block([[M, gear.T], [gear, np.zeros((1, 1))]])
    return np.linalg.solve(K, np.append(tau - h, 0.0))[:n]


@pytest.mark.parametrize("output", ["torque", "velocity"])
def test_lower_levels_move_along_a_line_and_not_off_it(output) -> None:
    """The residual of the line does not change with the level below, which gets all of its way along the line."""
    d = np.array([0.0, 0.6, 0.8])
    results = []
    for below in ([], [Position(HAND, gain=5.0, reference=[0.6, 0.3, 0.6])]):
        task = Attractor(HAND, Line([0.5, 0.0, 0.4], d), stiffness=500.0)
        controller = sot.Controller(load("panda"), sot.Stack([], [task], below), output=output, dt=1e-3)
        command = controller.step(at_state(controller, 3, 0.0))
        J = controller.model.jacobian(controller.model.frame(HAND), ALIGNED)[:3]
        motion = controller.solver.x[: controller.model.nv] if output == "torque" else command.v
        results.append((task.region.spans() @ J @ motion, d @ J @ motion, below, controller))
    (alone, still, _, _), (both, along, (hand,), controller) = results
    assert np.abs(alone - both).max() <= 1e-9 and np.abs(alone).max() > 1e-3
    tick = controller._tick
    rows = hand.dynamic_rows(controller.model, tick) if output == "torque" else hand.rows(controller.model, tick)
    assert abs(along - d @ rows.lower) <= 1e-8 and abs(along - still) > 1e-3


def test_at_velocity_level_the_damper_sets_the_pace() -> None:
    """C ẋ = −K x: the distance from the plane falls as exp(−K t / C), at every dt."""
    for dt in (1e-3, 1e-2):
        task = Attractor(HAND, Plane([0, 0, 0.3]), stiffness=100.0, damping=50.0)
        controller = sot.Controller(load("panda"), sot.Stack([], [task]), dt=dt)
        robot = Kinematic(load("panda"), dt=dt)
        model = controller.model
        model.update(robot.read().q, np.zeros(model.nv))
        before = model.placement(model.frame(HAND)).translation[2] - 0.3
        run = sot.run(robot, controller, duration=0.5)
        model.update(run.state.q, np.zeros(model.nv))
        after = model.placement(model.frame(HAND)).translation[2] - 0.3
        assert abs(after / before - np.exp(-1.0)) <= 2e-3


def test_a_soft_level_shares() -> None:
    """Two attractors on one level meet between their points, as their weights say: x = (w₁ x₁ + w₂ x₂)/(w₁ + w₂)."""
    points = [Point([0.1, 0, 0]), Point([-0.1, 0, 0])]
    tasks = [Attractor("tip", points[k], 100.0, damping=10.0, name=str(k), weight=w) for k, w in enumerate((3.0, 1.0))]
    controller = sot.Controller(stylus("tip", 0.2), sot.Stack([], tasks), output="torque", dt=1e-3)
    q, v = np.zeros(3), np.zeros(3)
    for k in range(3000):
        a = controller.step(sot.State(1e-3 * k, q, v)).tau / 0.2
        q, v = q + 1e-3 * v + 0.5e-6 * a, v + 1e-3 * a
    assert np.abs(q - [0.05, 0, 0]).max() <= 1e-9


FIXTURES = {
    "wall": (lambda: Wall("tip", [0, 0, 0], [0, 0, 1], 2000.0), [0, 0, 0.02], [0, 0, -0.02]),
    "tube": (lambda: Tube("tip", [[0, 0, 0], [0.2, 0, 0]], 0.02, 2000.0), [0.1, 0, 0.01], [0.1, 0, 0.05]),
    "repulsor": (lambda: Repulsor("tip", [0, 0, 0], 0.05, 2000.0), [0, 0, 0.08], [0, 0, 0.01]),
}


@pytest.mark.parametrize("kind", FIXTURES)
def test_fixtures_push_only_where_they_must_and_hold_what_is_below(kind) -> None:
    """No force where one may be; and a level below that wants through rests at the surface, without chatter."""
    make, allowed, wanted = FIXTURES[kind]
    alone = sot.Controller(stylus("tip", 0.2), sot.Stack([], [make()]), output="torque", dt=1e-3)
    assert np.abs(alone.step(sot.State(0.0, np.array(allowed), np.full(3, -0.1))).tau).max() <= 1e-12
    assert np.linalg.norm(alone.step(sot.State(1e-3, np.array(wanted), np.zeros(3))).tau) > 1.0
    fixture, hand = make(), Position("tip", reference=wanted, gain=10.0)
    controller = sot.Controller(stylus("tip", 0.2), sot.Stack([], [fixture], [hand]), output="torque", dt=1e-3)
    q, v, torques = np.array(allowed, dtype=float), np.zeros(3), []
    for k in range(4000):
        torques.append(controller.step(sot.State(1e-3 * k, q, v)).tau)
        a = torques[-1] / 0.2
        q, v = q + 1e-3 * v + 0.5e-6 * a, v + 1e-3 * a
    assert np.linalg.norm(fixture.region.at(q).point - q) <= 1e-4
    assert np.linalg.norm(v) <= 1e-3 and np.abs(np.diff(torques[-500:], axis=0)).max() <= 1e-2


def test_a_state_that_does_not_move_on_ends_the_force() -> None:
    task = Attractor("tip", Point(), 100.0, damping=10.0, timeout=0.01)
    controller = sot.Controller(stylus("tip", 0.2), sot.Stack([], [task]), output="torque", dt=1e-3)
    state = sot.State(0.0, np.array([0.1, 0, 0]), np.zeros(3))
    forces = [controller.step(state).tau[0] for _ in range(100)]
    assert np.allclose(forces[:10], -10.0) and forces[-1] == 0.0 and np.all(np.diff(forces) >= -1e-12)
    assert task.law.stale and "fresh" in str(task.facts(controller.model, controller._tick, state.v)["stale"])
    fed = controller.step(sot.State(0.2, state.q, state.v)).tau[0]
    assert np.isclose(fed, -10.0) and not task.law.stale


def test_a_target_that_is_not_set_again_ends_the_force() -> None:
    task = Attractor("tip", Point(), 100.0, damping=10.0, target_timeout=0.02)
    controller = sot.Controller(stylus("tip", 0.2), sot.Stack([], [task]), output="torque", dt=1e-3)
    at = lambda k: abs(controller.step(sot.State(1e-3 * k, np.array([0.1, 0, 0]), np.zeros(3))).tau[0])  # noqa: E731
    assert min(at(k) for k in range(200)) > 9.9  # one that was never set while running is no stream
    task.region = Point([0.0, 0.0, 0.0])
    assert [at(k) for k in range(200, 400)][-1] == 0.0
    task.region = Point([0.0, 0.0, 0.0])
    assert at(400) > 9.9


def test_the_sampling_limit_is_told_at_the_first_tick() -> None:
    task = Attractor("tip", Point(), 2000.0, damping=0.5)
    controller = sot.Controller(stylus("tip", 0.2), sot.Stack([], [task]), output="torque", dt=1e-3)
    with pytest.raises(TaskError, match=r"attractor_tip.*K dt/2 < C"):
        controller.step(sot.State(0.0, np.zeros(3), np.zeros(3)))


# -- what all of them take -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Attractor, Wall, Tube, Repulsor])
def test_all_take_the_same_parameters(kind) -> None:
    """Every field of `Parameters` is an argument, with its type, default and sentence, for Python and for files."""
    known, shared = parameters(kind), parameters(Parameters)
    for name, wanted in shared.items():
        assert name == "stiffness" or known[name] == wanted
        assert known[name].text and name in inspect.signature(kind).parameters
    needed = {Attractor: [Point()], Tube: [[[0, 0, 0], [1, 0, 0]]], Repulsor: [[0, 0, 0]]}
    with pytest.raises(TypeError, match="stifness"):
        kind("tip", *needed.get(kind, []), stifness=1.0)


def test_fixtures_are_written_to_files_as_they_are_now() -> None:
    made = [
        Wall(HAND, [0, 0, 0.1], [0, 1, 1], [[900, 10, 0], [10, 800, 0], [0, 0, 700]], damping=[3, 2, 1], name="floor"),
        Tube(HAND, [[0, 0, 0], [0.1, 0, 0]], 0.01, push=[0, 0, -1], cap=8.0, timeout=0.02),
        Repulsor(HAND, [0, 0, 0.2], target_timeout=0.1, rate=500.0, legacy=True),
    ]
    made[1].parameters = dataclasses.replace(made[1].parameters, stiffness=300.0, fade=0.2)
    read = parse_run("robot: panda\n" + dump(sot.Stack([], made))).stack.levels[1]
    for one, other in zip(made, read, strict=True):
        assert (one.name, one.region, one.target_timeout) == (other.name, other.region, other.target_timeout)
        assert one.parameters == other.parameters
    assert read[1].stiffness == 300.0 and read[1].fade == 0.2
    with pytest.raises(AttributeError):
        read[1].stiffness = 100.0  # changed as a whole, by `parameters`


def test_fixtures_push_time_out_and_wait_for_their_region() -> None:
    """A wall with a push: that alone in front of it, K d more in it; nothing without a state, or without its region."""
    wall = Wall("tip", [0, 0, 0], [0, 0, 1], 1000.0, damping=5.0, push=[0.5, 0, -1.0], timeout=0.0055, fade=0.005,
                target_timeout=0.05)  # fmt: skip
    controller = sot.Controller(stylus("tip", 0.2), sot.Stack([wall]), output="torque", dt=1e-3)
    at = lambda time, z: controller.step(sot.State(time, np.array([0, 0, z]), np.zeros(3))).tau  # noqa: E731
    assert np.allclose(at(0.0, 0.01), [0.5, 0, -1.0], atol=1e-12)
    assert np.allclose(at(0.001, -0.01), [0.5, 0, 9.0], atol=1e-12)
    assert np.allclose([at(0.001, -0.01) for _ in range(5)], [0.5, 0, 9.0], atol=1e-12)
    assert not [at(0.001, -0.01) for _ in range(8)][-1].any() and wall.law.stale
    assert np.allclose(at(0.002, -0.01), [0.5, 0, 9.0], atol=1e-12)
    wall.region = HalfSpace([0, 0, -0.005])
    forces = np.array([at(0.003 + 1e-3 * k, -0.01) for k in range(100)])
    assert np.allclose(forces[:50, 2], 4.0) and not forces[70:].any()


def test_parameters_change_all_at_once_or_not_at_all() -> None:
    """While running: the next tick has all of the new ones, and one that is wrong leaves the old."""
    task = Attractor("tip", Point(), 100.0, damping=10.0)
    controller = sot.Controller(stylus("tip", 0.2), sot.Stack([], [task]), output="torque", dt=1e-3)
    at = lambda k: controller.step(sot.State(1e-3 * k, np.array([0.1, 0, 0]), np.array([0, 0.2, 0]))).tau  # noqa: E731
    assert np.allclose(at(0), [-10.0, -2.0, 0.0], atol=1e-12)
    task.parameters = dataclasses.replace(task.parameters, stiffness=[200, 0, 0], damping=20.0, push=[0, 0, 3.0])
    assert np.allclose(at(1), [-20.0, -4.0, 3.0], atol=1e-12) and task.rendered() == pytest.approx((200.0, 20.0))
    for bad in ({"stiffness": -1.0}, {"damping": np.nan}, {"timeout": -1.0}):
        with pytest.raises(TaskError, match=next(iter(bad))):
            task.parameters = dataclasses.replace(task.parameters, cap=1.0, **bad)
    assert np.allclose(at(2), [-20.0, -4.0, 3.0], atol=1e-12)
    with pytest.raises(TaskError, match=r"attractor_tip.*K dt/2 < C"):  # it would be unstable at 1 kHz
        task.parameters = dataclasses.replace(task.parameters, stiffness=5e4)
    with pytest.raises(TaskError, match=r"C dt < 2 m"):
        task.parameters = dataclasses.replace(task.parameters, damping=500.0)
    with pytest.raises(TaskError, match=r"K dt/2 < C"):
        task.region = Gaussian([0, 0, 0], [1e-6, 1e-6, 1e-6], scale=1.0, stiffest=1e6)
    with pytest.raises(TaskError, match="Parameters"):
        task.parameters = {"stiffness": 1.0}
    assert np.allclose(at(3), [-20.0, -4.0, 3.0], atol=1e-12)
    task.parameters = dataclasses.replace(task.parameters, cap=1.0)
    assert np.linalg.norm(at(4)) == pytest.approx(1.0)


def test_rendered_is_what_is_felt() -> None:
    task = Attractor("tip", Plane(normal=[0, 0, 1]), [100.0, 200.0, 300.0], damping=[1.0, 9.0, 5.0])
    assert task.rendered() == pytest.approx((300.0, 5.0))
    assert Wall("tip", stiffness=800.0, damping=7.0).rendered() == pytest.approx((800.0, 7.0))


@pytest.mark.parametrize("region", [*REGIONS, Gaussian([0, 0, 0], 1e-3 * np.eye(3))], ids=lambda region: region.kind)
def test_regions_in_files_and_pictures(region) -> None:
    """`region: {kind: {…}}` is the region, and it is drawn with the way to it and the force."""
    task = parse_run(file_with(region.plain())).stack.levels[1][0]
    assert task.region == region
    controller = sot.Controller(load("panda"), sot.Stack([], [task]), output="torque")
    controller.step(sot.State(0.0, controller.robot.home, np.zeros(controller.model.nv)))
    drawn = task.sketch(controller.model)
    assert {"way", "force"} < {drawing.name for drawing in drawn}
    assert all(np.isfinite(d.pose if isinstance(d, Solid) else d.end).all() for d in drawn)


def file_with(region: object, **arguments: object) -> str:
    """A stack file; JSON is YAML."""
    return json.dumps({"robot": "panda", "stack": [[], {"attractor": {"frame": HAND, "region": region, **arguments}}]})


def test_matrices_and_warnings_come_through_files() -> None:
    K, C = [[500, 10, 0], [10, 600, 0], [0, 0, 700]], [10, 20, 30]
    basis = {"affine": {"basis": [[1, 0, 0], [1, 3e-6, 0]]}}
    with pytest.warns(NearRank, match="rank"):
        task = parse_run(file_with(basis, stiffness=K, damping=C)).stack.levels[1][0]
    assert np.array_equal(task.law.spring, K) and np.array_equal(task.law.damper(), np.diag(C))
    with pytest.raises(ConfigError, match=r"stiffness: the matrix must be symmetric"):
        parse_run(file_with({"plane": {}}, stiffness=[[1, 2, 0], [0, 1, 0], [0, 0, 1]]))


def test_an_unknown_region_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="half_space"):
        parse_run(file_with({"plain": {}}))


def test_the_finger_rests_where_the_forces_are_equal() -> None:
    run = runpy.run_path(str(File(__file__).parent.parent / "examples" / "finger_attractor.py"))
    assert abs(run["depth"] - 50.0 * 0.05 / 1050.0) <= 1e-9
    assert abs(run["pull"].force[0] + run["wall"].force[0]) <= 1e-6
