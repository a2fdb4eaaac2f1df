"""The physics engine against textbooks: blocks on slopes, balls, momentum, friction cones."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from engine_bodies import (
    CORNERS,
    HEIGHT,
    LEGGED,
    MASS,
    G,
    about_y,
    ball,
    block,
    cone_violation,
    energy,
    engine,
    hits,
    pose,
    step_numbers,
    thrown,
    turning_work,
    world_velocity,
)

from sot.robots import load
from sot.simulation.scene import Scene, ground

DT = 1e-3
SLOPE = np.deg2rad(25.0)
FRICTION_ANGLE = np.tan(SLOPE)


def on_slope(robot, mu, angle=SLOPE, height=0.5 * HEIGHT, turned=True, **options):
    """A body that lies on a slope which goes down along x."""
    simulation = engine(robot, Scene([ground(tilt=[0.0, angle])], friction=mu), **options)
    R = about_y(angle)
    simulation.reset(pose(height * R[:, 2], R if turned else None))
    return simulation, R


def run(simulation, duration, dt=DT, tau=None):
    tau = np.zeros(simulation.v.size) if tau is None else tau
    for _ in range(round(duration / dt)):
        simulation.step(tau, dt)


# -- a block on a slope ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", [0.0, 0.5, 0.99])
@pytest.mark.parametrize("heading", [0.0, 0.7])
def test_a_block_sticks_below_the_friction_angle(tmp_path, part, heading):
    mu = 0.5
    angle = np.arctan(part * mu)
    simulation, R = on_slope(block(tmp_path), mu, angle)
    turned = R @ pin.exp3(np.array([0.0, 0.0, heading]))
    simulation.reset(pose(0.5 * HEIGHT * R[:, 2], turned))
    start = simulation.q.copy()
    run(simulation, 2.0)
    np.testing.assert_allclose(simulation.q, start, atol=1e-7)
    assert np.abs(simulation.v).max() < 1e-7
    force = sum(touch.force for touch in simulation.touches(DT))
    np.testing.assert_allclose(force, [0.0, 0.0, MASS * G], atol=1e-5 * MASS * G)


@pytest.mark.parametrize("mu", [0.0, 0.1, 0.3, 0.99 * FRICTION_ANGLE])
def test_a_block_slides_above_it(tmp_path, mu):
    """a = g (sin − μ cos)."""
    simulation, R = on_slope(block(tmp_path), mu)
    run(simulation, 0.5)
    expected = G * (np.sin(SLOPE) - mu * np.cos(SLOPE))
    moved = R.T @ world_velocity(simulation)
    assert moved[0] / 0.5 == pytest.approx(expected, rel=1e-3, abs=1e-6)
    np.testing.assert_allclose(moved[1:], 0.0, atol=1e-6)
    # v belongs to the middle of a step, so the way is exact up to half a step.
    way = R.T @ simulation.q[:3] - [0.0, 0.0, 0.5 * HEIGHT]
    assert way[0] == pytest.approx(0.5 * expected * 0.5 * (0.5 + DT), rel=1e-3, abs=1e-7)
    np.testing.assert_allclose(way[1:], 0.0, atol=1e-6)


def test_friction_stops_a_block(tmp_path):
    """A block that slides at v stops after v²/2μg, and stays."""
    mu, speed = 0.4, 1.0
    simulation, _ = on_slope(block(tmp_path), mu, 0.0)
    simulation.reset(pose([0.0, 0.0, 0.5 * HEIGHT]), np.array([speed, 0.0, 0.0, 0.0, 0.0, 0.0]))
    run(simulation, 1.0)
    assert simulation.q[0] == pytest.approx(speed**2 / (2 * mu * G), rel=5e-3)
    at = simulation.q.copy()
    run(simulation, 0.5)
    np.testing.assert_allclose(simulation.q, at, atol=1e-8)


def test_a_block_tips_over_its_edge(tmp_path):
    """On a slope that is steeper than width over height it tips, whatever the friction."""
    for angle, tips in ((np.arctan(0.4 / 0.2) - 0.02, False), (np.arctan(0.4 / 0.2) + 0.02, True)):
        simulation, R = on_slope(block(tmp_path), 10.0, angle)
        run(simulation, 0.5)
        turned = R.T @ pin.XYZQUATToSE3(simulation.q).rotation
        assert (np.linalg.norm(pin.log3(turned)) > 0.05) == tips


def test_a_block_comes_out_of_the_ground(tmp_path):
    """What overlaps at the start is taken back within 0.1 s, and without any speed."""
    simulation, _ = on_slope(block(tmp_path), 0.5, 0.0)
    simulation.reset(pose([0.0, 0.0, 0.5 * HEIGHT - 0.004]))
    fastest = 0.0
    for _ in range(100):
        simulation.step(np.zeros(6), DT)
        fastest = max(fastest, np.abs(simulation.v).max())
    assert simulation.q[2] == pytest.approx(0.5 * HEIGHT, abs=1e-6)
    np.testing.assert_allclose(simulation.q[:2], 0.0, atol=1e-9)
    assert fastest < 1e-6


# -- a ball ----------------------------------------------------------------------------------------------------


def test_a_ball_rolls_down_a_slope(tmp_path):
    """a = 5/7 g sin without slipping, friction 2/7 m g sin."""
    radius = 0.1
    simulation, R = on_slope(ball(tmp_path, radius), 0.5, height=radius, turned=False)
    run(simulation, 0.5)
    velocity = R.T @ world_velocity(simulation)
    assert velocity[0] / 0.5 == pytest.approx(5.0 / 7.0 * G * np.sin(SLOPE), rel=1e-3)
    (touch,) = simulation.touches(DT)
    assert R[:, 0] @ touch.force == pytest.approx(-2.0 / 7.0 * MASS * G * np.sin(SLOPE), rel=1e-3)
    assert R[:, 2] @ touch.force == pytest.approx(MASS * G * np.cos(SLOPE), rel=1e-3)
    assert abs(touch.gap) < 1e-6


def test_a_ball_slips_where_friction_is_low(tmp_path):
    """Below μ = 2/7 tan it slides, a = g (sin − μ cos), and turns with 5/2 μ g cos / r."""
    mu, radius = 0.05, 0.1
    simulation, R = on_slope(ball(tmp_path, radius), mu, height=radius, turned=False)
    run(simulation, 0.4)
    assert (R.T @ world_velocity(simulation))[0] / 0.4 == pytest.approx(
        G * (np.sin(SLOPE) - mu * np.cos(SLOPE)), rel=1e-3
    )
    assert simulation.v[4] / 0.4 == pytest.approx(2.5 * mu * G * np.cos(SLOPE) / radius, rel=1e-3)


@pytest.mark.parametrize("restitution", [0.0, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("height", [0.2, 0.3171])
def test_bounces(tmp_path, restitution, height):
    """A ball that falls from h comes back to e² h; with e = 0 it stays."""
    simulation = engine(ball(tmp_path), restitution=restitution)
    simulation.reset(pose([0.0, 0.0, 0.1 + height]))
    fall = np.sqrt(2 * height / G)
    run(simulation, fall + 0.02)
    top = []
    for _ in range(round(2.0 * fall * max(restitution, 0.1) / DT)):
        simulation.step(np.zeros(6), DT)
        top.append(simulation.q[2] - 0.1)
    assert max(top) == pytest.approx(restitution**2 * height, rel=0.01, abs=1e-7)


def test_a_block_comes_to_rest_though_it_bounces(tmp_path):
    simulation = engine(block(tmp_path), restitution=0.5)
    simulation.reset(pose([0.0, 0.0, 0.3], about_y(0.3)))
    run(simulation, 3.0)
    at = simulation.q.copy()
    run(simulation, 0.5)
    np.testing.assert_allclose(simulation.q, at, atol=1e-7)
    assert simulation.q[2] == pytest.approx(0.5 * HEIGHT, abs=1e-5)


# -- laws of a step, on whole robots ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", LEGGED)
def test_momentum_cone_and_energy_of_every_step(name):
    """A robot that is thrown on the ground: in every step momentum changes by the sum of impulses, which are in their
    cones, and take energy away."""
    robot = load(name)
    simulation = thrown(robot, seed=1, damping=np.zeros(robot.pin_model.nv))
    model, data = robot.pin_model, robot.pin_model.createData()
    weight = robot.mass * G
    touched, deepest = 0, 0.0
    for _ in range(600):
        q = simulation.q
        simulation.step(np.zeros(model.nv), DT)
        impulses, after, delassus = step_numbers(simulation)
        pin.ccrba(model, data, q, simulation._free)
        before = data.hg.vector.copy()
        change = pin.ccrba(model, data, q, simulation.v) @ simulation.v - before
        np.testing.assert_allclose(change, wrenches(simulation, data.com[0]), rtol=0.0, atol=1e-9)
        assert cone_violation(simulation) <= 1e-9
        work = impulses @ after - 0.5 * impulses @ delassus @ impulses
        kinetic = 0.5 * (simulation.v + simulation._free) @ mass(model, data, q) @ (simulation.v - simulation._free)
        assert kinetic == pytest.approx(work, abs=1e-9 * weight)
        assert work <= 1e-12 * weight + (0.0 if hits(simulation) else turning_work(simulation))
        touched += simulation.count > 0
        deepest = min(deepest, *(touch.gap for touch in simulation.touches(DT) if touch.thing == "ground"), 0.0)
    assert touched > 100
    assert deepest > -0.7e-3  # m, of G1, whose joints turn at 58 rad/s; of the others 0.02 mm
    assert simulation.counters.crowded == 0


def mass(model, data, q):
    M = pin.crba(model, data, q)
    return np.triu(M) + np.triu(M, 1).T


def wrenches(simulation, about):
    """Sum of the impulses of contacts with things, and of their moments about a point."""
    total = np.zeros(6)
    for touch in simulation.touches(1.0):  # forces over 1 s: impulses
        if touch.thing == "ground":
            total += np.concatenate([touch.force, np.cross(touch.point - about, touch.force)])
    return total


@pytest.mark.parametrize("name", ["solo12", "g1"])
def test_the_same_bits(name):
    """The same start gives the same bits: in another engine, and in the same one after others."""
    ends = []
    robot = load(name)
    first, second = thrown(robot, seed=2), thrown(robot, seed=2)
    for simulation in (first, second, first):
        nv = robot.pin_model.nv
        start = thrown(robot, seed=2)
        simulation.reset(start.q, start.v)
        rng = np.random.default_rng(3)
        for _ in range(400):
            simulation.step(robot.mass / 5.0 * rng.normal(size=nv) * (np.arange(nv) >= 6), DT)
        ends.append(np.concatenate([simulation.q, simulation.v, simulation.impulses]))
    assert ends[0].tobytes() == ends[1].tobytes() == ends[2].tobytes()


def test_corners_are_where_they_were_said(tmp_path):
    """Contact points of a block at rest are its corners."""
    simulation, _ = on_slope(block(tmp_path), 0.5, 0.0)
    run(simulation, 0.01)
    found = np.array(sorted(touch.point.tolist() for touch in simulation.touches(DT)))
    np.testing.assert_allclose(found, np.add(CORNERS, [0.0, 0.0, 0.5 * HEIGHT]), atol=1e-7)
    assert energy(simulation) == pytest.approx(MASS * G * 0.5 * HEIGHT, rel=1e-9)
