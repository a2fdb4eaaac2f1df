"""What a simulated robot stands on: boxes, edges, steps, things that move, and other bodies of its own."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from collision_oracle import distances_at
from engine_bodies import HEIGHT, MASS, G, about_y, arm, ball, block, engine, pose, world_velocity

from sot.collision.obstacle import Obstacle
from sot.collision.robot import collision_model
from sot.errors import ConfigError, RobotError, SotError
from sot.kernels import touch as op
from sot.lie import SE3
from sot.robots import load
from sot.simulation.engine import Engine
from sot.simulation.scene import Scene, ground

DT = 1e-3
ROD = """<robot name="rod"><link name="rod"><inertial><mass value="1"/>
<inertia ixx="0.02" iyy="0.02" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><cylinder radius="0.02" length="0.5"/></geometry></collision></link></robot>"""


def run(simulation, duration, tau=None, start=0.0):
    tau = np.zeros(simulation.v.size) if tau is None else tau
    for k in range(round(duration / DT)):
        simulation.scene.place(start + k * DT, DT)
        simulation.step(tau, DT)


def carried(simulation):
    """Sum of the forces on the robot, N."""
    return sum((touch.force for touch in simulation.touches(DT)), np.zeros(3))


# -- boxes -----------------------------------------------------------------------------------------------------


def test_distances_from_a_box_are_exact():
    """Points about a turned box against the distance to the nearest of many points of it."""
    rng = np.random.default_rng(0)
    half, R, centre = np.array([0.3, 0.2, 0.1]), pin.exp3(np.array([0.3, -0.5, 0.8])), np.array([0.1, -0.2, 0.3])
    shape = Scene([Obstacle("box", box=2 * half, at=[*centre, *pin.Quaternion(R).coeffs()])]).shapes[0]
    for _ in range(200):
        p = centre + rng.uniform(-0.6, 0.6, 3)
        local = R.T @ (p - centre)
        inside = (half - np.abs(local)).min()
        nearest = np.linalg.norm(local - np.clip(local, -half, half))
        gap, *normal = measure(shape, p)
        assert gap == pytest.approx(-inside if inside > 0.0 else nearest, abs=1e-12)
        # Along the normal the distance grows by as much as one goes.
        assert measure(shape, p + 1e-6 * np.array(normal))[0] - gap == pytest.approx(1e-6, abs=1e-10)


def measure(shape, p):
    """Distance and direction by the kernel, through a contact of one ball."""
    who, contacts = np.zeros((4, op.WHO), dtype=np.int64), np.zeros((4, op.CONTACT))
    groups = np.zeros((1, op.GROUP))
    groups[0, [op.LAST, op.RADIUS]] = 1.0, 2.0
    still = np.array([[1.0, 0, 0, 0, 1, 0, 0, 0, 1, *p]])
    balls, zero = np.array([[0.0, 0.0, 0.0, 0.0, 1.0]]), np.zeros((1, 6))
    assert op.detect(balls, groups, shape[None], still, zero, zero, np.zeros(3), DT, 10.0, who, contacts) == 1
    return contacts[0, [op.GAP, op.NORMAL, op.NORMAL + 1, op.NORMAL + 2]]


def on_plane(points):
    """Contact points of a flat body on the ground."""
    who, contacts = np.zeros((64, op.WHO), dtype=np.int64), np.zeros((64, op.CONTACT))
    groups, still = np.zeros((1, op.GROUP)), np.array([[1.0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]])
    groups[0, [op.LAST, op.RADIUS]] = len(points), 2.0
    balls, zero = np.column_stack([points, np.zeros(len(points)), np.ones(len(points))]), np.zeros((1, 6))
    shapes = Scene([ground()]).shapes
    count = op.detect(balls, groups, shapes, still, zero, zero, np.zeros(3), DT, 2e-3, who, contacts)
    return contacts[:count, op.POINT : op.NORMAL]


def test_a_few_corners_stand_for_many():
    """Of 48 corners of a disc eight are left; of a rectangle with points along its sides, all corners and some more."""
    rng = np.random.default_rng(0)
    turns = np.linspace(0.0, 2.0 * np.pi, 48, endpoint=False)
    disc = np.column_stack([np.cos(turns), np.sin(turns), 1e-9 * rng.normal(size=48)])
    found = on_plane(disc)
    assert len(found) == 8
    np.testing.assert_allclose(found.mean(axis=0), 0.0, atol=0.05)
    for angle in rng.uniform(0.0, np.pi, 50):
        sides = np.array([[x, y] for x in np.linspace(-0.5, 0.5, 7) for y in (-0.1, 0.1)])
        R = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        points = np.column_stack([sides @ R.T, np.zeros(len(sides))])
        found = on_plane(points)
        assert len(found) <= 8
        for corner in points[[0, 1, -2, -1]]:
            assert np.linalg.norm(found - corner, axis=1).min() < 1e-9


def test_a_base_that_drives_is_not_braked_by_the_floor_it_stands_in():
    """Tiago's base cannot leave the ground: nothing is known of the force under it, so there is no friction."""
    robot = load("tiago")
    simulation, nv = Engine(robot, Scene([ground()])), robot.pin_model.nv
    speed = np.zeros(nv)
    speed[0] = 0.3
    start = robot.home.copy()
    simulation.reset(start, speed)
    data = robot.pin_model.createData()
    touched = 0
    for _ in range(300):
        held = pin.rnea(robot.pin_model, data, simulation.q, np.zeros(nv), np.zeros(nv))
        simulation.step(held, DT)
        touched += simulation.count > 0
    assert touched > 0
    assert simulation.v[0] == pytest.approx(0.3, abs=1e-3)


def test_a_block_stands_on_a_box(tmp_path):
    scene = Scene([ground(), Obstacle("table", box=[1.0, 1.0, 0.4], at=[0.0, 0.0, 0.2])])
    simulation = engine(block(tmp_path), scene)
    simulation.reset(pose([0.1, 0.0, 0.4 + 0.5 * HEIGHT]))
    run(simulation, 1.0)
    np.testing.assert_allclose(simulation.q[:3], [0.1, 0.0, 0.4 + 0.5 * HEIGHT], atol=1e-7)
    assert {touch.thing for touch in simulation.touches(DT)} == {"table"}
    np.testing.assert_allclose(carried(simulation), [0.0, 0.0, MASS * G], atol=1e-5 * MASS * G)


@pytest.mark.parametrize(("ahead", "stays"), [(-0.02, True), (0.02, False)])
def test_a_block_over_an_edge(tmp_path, ahead, stays):
    """It stays if its middle is above the table, and tips over the edge if not: no corner is at the edge."""
    table = Obstacle("table", box=[2.0, 2.0, 1.0], at=[-1.0, 0.0, -0.5])
    simulation = engine(block(tmp_path), Scene([table], friction=1.0))
    simulation.reset(pose([ahead, 0.0, 0.5 * HEIGHT]))
    run(simulation, 0.5)
    if stays:
        np.testing.assert_allclose(simulation.q[:3], [ahead, 0.0, 0.5 * HEIGHT], atol=1e-6)
        np.testing.assert_allclose(carried(simulation)[2], MASS * G, rtol=1e-5)
        # The pressure acts under the middle: moments about the edge are those of the weight.
        moment = sum(touch.force[2] * touch.point[0] for touch in simulation.touches(DT))
        assert moment == pytest.approx(MASS * G * ahead, rel=1e-4)
    else:
        assert pin.log3(pin.XYZQUATToSE3(simulation.q).rotation)[1] > 0.2


def test_a_block_stands_across_a_beam(tmp_path):
    """A beam that is narrower than the block, turned, under its middle: all corners are in the air."""
    turned = pin.Quaternion(pin.exp3(np.array([0.0, 0.0, 0.3]))).coeffs()
    beam = Obstacle("beam", box=[0.1, 2.0, 0.3], at=[0.0, 0.0, -0.15, *turned])
    simulation = engine(block(tmp_path), Scene([beam]))
    simulation.reset(pose([0.01, 0.0, 0.5 * HEIGHT]))
    run(simulation, 1.0)
    np.testing.assert_allclose(simulation.q[:3], [0.01, 0.0, 0.5 * HEIGHT], atol=1e-6)
    assert carried(simulation)[2] == pytest.approx(MASS * G, rel=1e-5)
    assert len(simulation.touches(DT)) >= 3


def test_a_block_stands_on_a_post(tmp_path):
    """All corners of the post are under the sole."""
    simulation = engine(block(tmp_path), Scene([Obstacle("post", box=[0.1, 0.08, 0.5], at=[0.05, 0.0, -0.25])]))
    simulation.reset(pose([0.03, 0.01, 0.5 * HEIGHT + 0.05]))
    run(simulation, 1.0)
    np.testing.assert_allclose(simulation.q[:3], [0.03, 0.01, 0.5 * HEIGHT], atol=1e-5)
    assert carried(simulation)[2] == pytest.approx(MASS * G, rel=1e-5)


def test_a_ball_rolls_down_steps(tmp_path):
    """Several boxes: it comes to lie on the ground behind the last, and never inside one."""
    steps = [Obstacle(f"step {k}", box=[0.3, 1.0, 0.1 * k], at=[-0.3 * k, 0.0, 0.05 * k]) for k in (1, 2, 3)]
    simulation = engine(ball(tmp_path, 0.05), Scene([ground(), *steps]))
    simulation.reset(pose([-0.9, 0.0, 0.3 + 0.05]), np.array([0.6, 0.0, 0.0, 0.0, 12.0, 0.0]))
    inside = 0.0
    for _ in range(2500):
        simulation.step(np.zeros(6), DT)
        inside = min(inside, min((measure(s, simulation.q[:3])[0] for s in simulation.scene.shapes), default=0) - 0.05)
    assert inside > -1e-4
    assert simulation.q[0] > 0.0
    assert simulation.q[2] == pytest.approx(0.05, abs=1e-5)


def test_a_rod_lies_across_an_edge(tmp_path):
    """A body without any corner near the box: it is held by the distance of the two."""
    file = tmp_path / "rod.urdf"
    file.write_text(ROD)
    robot = load(file, root="free_flyer")
    beam = Obstacle("beam", box=[0.02, 1.0, 0.5], at=[0.0, 0.0, -0.25])
    simulation = Engine(robot, Scene([beam]))
    radius = max(body.hull.radius for body in collision_model(robot).bodies)
    simulation.reset(pose([0.0, 0.0, radius + 0.01], about_y(0.5 * np.pi)))
    heights, forces = [], []
    for _ in range(400):
        simulation.step(np.zeros(6), DT)
        heights.append(simulation.q[2] - radius)
        forces.append(carried(simulation)[2])
    assert min(heights) > -5e-4
    assert np.mean(forces[100:]) == pytest.approx(9.81, rel=0.02)


# -- friction --------------------------------------------------------------------------------------------------


def test_friction_of_each_obstacle(tmp_path):
    size = [9.0, 9.0, 1.0]
    floors = [Obstacle("ice", box=size, at=[0, -5.0, -0.5]), Obstacle("mat", box=size, at=[0, 5.0, -0.5])]
    scene = Scene(floors, friction={"ice": 0.1, "mat": 0.6})
    simulation = engine(block(tmp_path), scene)
    for y, mu in ((-1.0, 0.1), (1.0, 0.6)):
        simulation.reset(pose([0.0, y, 0.5 * HEIGHT]), np.array([2.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
        run(simulation, 0.2)
        assert world_velocity(simulation)[0] == pytest.approx(2.0 - mu * G * 0.2, rel=2e-3)
    scene.set_friction(0.3, "ice")
    simulation.reset(pose([0.0, -1.0, 0.5 * HEIGHT]), np.array([2.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
    run(simulation, 0.2)
    assert world_velocity(simulation)[0] == pytest.approx(2.0 - 0.3 * G * 0.2, rel=2e-3)


# -- things that move ------------------------------------------------------------------------------------------


def test_a_belt_carries_a_block_along(tmp_path):
    """On a belt at 0.5 m/s a block gets faster by μ g, until it goes along."""
    mu = 0.2
    belt = Obstacle("belt", box=[20.0, 1.0, 0.2], at=[0.0, 0.0, -0.1], velocity=[0.5, 0.0, 0.0])
    simulation = engine(block(tmp_path), Scene([belt], friction=mu))
    simulation.reset(pose([0.0, 0.0, 0.5 * HEIGHT]))
    run(simulation, 0.1)
    assert world_velocity(simulation)[0] == pytest.approx(mu * G * 0.1, rel=1e-3)
    run(simulation, 1.0, start=0.1)
    np.testing.assert_allclose(world_velocity(simulation), [0.5, 0.0, 0.0], atol=1e-6)


def test_a_lift_carries_a_block_up(tmp_path):
    """A lift with acceleration a: force m (g + a), and the block stays on it."""

    def height(time):
        return [0.0, 0.0, -0.1 + 0.5 * time * time]

    simulation = engine(block(tmp_path), Scene([Obstacle("lift", box=[1.0, 1.0, 0.2], motion=height)]))
    simulation.reset(pose([0.0, 0.0, 0.5 * HEIGHT]))
    run(simulation, 1.0)
    assert simulation.q[2] == pytest.approx(0.5 + 0.5 * HEIGHT, abs=1e-4)
    assert carried(simulation)[2] == pytest.approx(MASS * (G + 1.0), rel=1e-3)


def test_a_block_slips_when_the_ground_has_tilted_enough(tmp_path):
    mu, rate = 0.3, 0.2  # rad/s

    def motion(time):
        return SE3(about_y(rate * time), np.zeros(3))

    simulation = engine(block(tmp_path), Scene([Obstacle("ground", plane=[0, 0, 1], motion=motion)], friction=mu))
    simulation.reset(pose([0.0, 0.0, 0.5 * HEIGHT]))
    slip = None
    for k in range(2500):
        simulation.scene.place(k * DT, DT)
        simulation.step(np.zeros(6), DT)
        along = about_y(rate * (k + 1) * DT).T @ simulation.q[:3]
        assert abs(along[2] - 0.5 * HEIGHT) < 1e-5  # on the ground all the time
        if k == 500:  # it gave way a little as the ground began to move
            stuck = along[0]
        if k > 500 and slip is None and along[0] > stuck + 1e-6:
            slip = rate * k * DT
    assert slip == pytest.approx(np.arctan(mu), abs=0.005)


def test_an_obstacle_may_be_put_elsewhere(tmp_path):
    table = Obstacle("table", box=[1.0, 1.0, 0.4], at=[0.0, 0.0, -0.2])
    simulation = engine(block(tmp_path), Scene([table]))
    simulation.reset(pose([0.0, 0.0, 0.5 * HEIGHT]))
    run(simulation, 0.1)
    table.pose = [0.0, 0.0, -0.3]
    run(simulation, 0.5, start=0.1)
    assert simulation.q[2] == pytest.approx(0.5 * HEIGHT - 0.1, abs=1e-6)


# -- bodies of the robot ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "itself"), [("talos", True), ("g1", True), ("g1", False)])
def test_limbs_do_not_pass_through_each_other(name, itself):
    """A robot that floats, with torques of up to 40 N·m at all joints; distances by coal."""
    robot = load(name)
    nv, bodies = robot.pin_model.nv, collision_model(robot).bodies
    joints = np.arange(nv) >= 6
    simulation = Engine(robot, Scene([]), itself=itself, damping=1.0 * joints)
    most, rng = np.minimum(robot.pin_model.upperEffortLimit, 40.0) * joints, np.random.default_rng(1)
    pairs = [frozenset((bodies[a].name, bodies[b].name)) for a, b in collision_model(robot).pairs]
    nearest, touched = np.inf, 0
    for k in range(800):
        if k % 200 == 0:
            tau = rng.uniform(-1.0, 1.0, nv) * most
        simulation.step(tau, DT)
        touched += bool(simulation.touches(DT))
        if k % 20 == 0:
            apart = distances_at(robot, bodies, simulation.q)
            nearest = min(nearest, min(apart[pair] for pair in pairs))
    if itself:
        assert nearest >= -1e-3
        assert touched > 300
        assert {touch.name for touch in simulation.touches(DT)} <= {body.name for body in bodies}
    else:
        assert nearest < -0.05


# -- mistakes --------------------------------------------------------------------------------------------------


def test_torques_that_are_not_finite(tmp_path):
    simulation = engine(arm(tmp_path), Scene([]))
    simulation.reset(np.array([0.3, 0.2]), np.array([0.1, 0.0]))
    q, v = simulation.q.copy(), simulation.v.copy()
    for bad in (np.nan, np.inf):
        with pytest.raises(RobotError, match=r"'arm'.*elbow"):
            simulation.step(np.array([0.0, bad]), DT)
    with pytest.raises(RobotError, match="expected 2 torques"):
        simulation.step(np.zeros(3), DT)
    for dt in (0.0, -1e-3, np.nan):
        with pytest.raises(SotError, match="dt"):
            simulation.step(np.zeros(2), dt)
    assert (simulation.q == q).all()
    assert (simulation.v == v).all()
    simulation.step(np.zeros(2), DT)


def test_a_simulation_that_diverges_says_so(tmp_path):
    simulation = engine(arm(tmp_path), Scene([]))
    with pytest.raises(RobotError, match=r"'arm'.*diverged"):
        for _ in range(100):
            simulation.step(np.array([1e12, 0.0]), DT)


def test_what_an_engine_refuses(tmp_path):
    robot = block(tmp_path)
    floating = load(tmp_path / "body.urdf", root="free_flyer")
    with pytest.raises(ConfigError, match=r"no feet.*bodies=False"):
        Engine(floating, Scene([ground()]), bodies=False)
    for bad in (-0.1, 1.5, np.nan):
        with pytest.raises(SotError, match="restitution"):
            engine(robot, restitution=bad)
    with pytest.raises(SotError, match="damping"):
        engine(robot, damping=-np.ones(6))
    with pytest.raises(SotError, match="friction"):
        engine(robot, friction=np.full(6, np.nan))
    with pytest.raises(SotError, match="friction"):
        Scene([ground()], friction=-0.5)
    with pytest.raises(ConfigError, match=r"unknown obstacle 'floor'.*ground"):
        Scene([ground()]).set_friction(0.5, "floor")
    with pytest.raises(ConfigError, match="planes and boxes"):
        Scene([Obstacle("ball", ball=0.1)])
    with pytest.raises(ConfigError, match="names of their own"):
        Scene([ground(), ground()])
    with pytest.raises(SotError, match="expected 7"):
        engine(robot).reset(np.zeros(3))
