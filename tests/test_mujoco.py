"""Our engine and MuJoCo agree: the same robots and torques in both, from single accelerations to a push on a stand.

Accelerations are the same to rounding. A motion is integrated to the second order of dt by us and to the first by
MuJoCo, so runs differ in proportion to dt. Contacts differ too: ours are rigid, MuJoCo's give way by micrometres and
let a hit rebound by a fifth. The tolerances are for dt = 1 ms.
"""

from __future__ import annotations

import numpy as np
import pytest

from sot.model import Model
from sot.robots import load
from sot.robots.simulated import Simulated
from sot.simulation.actuators import Actuators
from sot.simulation.disturbances import Push
from sot.state import Command

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'sot[mujoco]'")
from sot.robots.mujoco import Mujoco  # noqa: E402

ROBOTS = ("solo12", "go2", "anymal", "bolt", "talos", "g1", "panda", "ur5", "tiago", "kinova", "icub")
FRICTIONLESS = Actuators(friction=0.0, damping=0.0)
GRAVITY = 9.81


def random_state(model, rng):
    return model.random_configuration(rng), rng.uniform(-2.0, 2.0, model.nv)


def follow(robot, command, seconds):
    """States of a run with one command."""
    states = [robot.read()]
    for _ in range(round(seconds / robot.dt)):
        robot.write(command)
        states.append(robot.read())
    return states


def apart(model, ours, theirs):
    """Largest difference of two runs, rad and m."""
    return max(np.abs(model.difference(a.q, b.q)).max() for a, b in zip(ours, theirs, strict=True))


def torques(tau):
    return Command(0.0, np.zeros(len(tau)), tau=np.asarray(tau, dtype=float))


# -- one state -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ROBOTS)
def test_mass_matrix_and_bias_forces(name):
    """M and h of pinocchio and of MuJoCo: both depend on every number of the model, and on every convention."""
    robot = Mujoco(load(name), bodies=False, ground=False)
    model, rng = Model(robot.robot), np.random.default_rng(3)
    for _ in range(5):
        q, v = random_state(model, rng)
        robot.engine.place(q, v)
        M, h = robot.engine.dynamics()
        model.update(q, v)
        assert np.abs(M - model.mass_matrix).max() < 1e-10  # kg·m²; found: 3e-14
        assert np.abs(h - model.bias).max() < 1e-10  # N·m; found: 3e-13


def test_inertias_that_no_body_has_are_kept(tmp_path):
    """Files have them: MuJoCo's compiler would refuse the first, whose moments break the triangle inequality."""
    link = """<link name="{0}"><inertial><origin xyz="0.1 0.02 0" rpy="0.3 0.2 0"/><mass value="1"/>
    <inertia ixx="{1}" iyy="{1}" izz="{2}" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
    joint = """<joint name="{0}" type="{3}"><parent link="{1}"/><child link="{2}"/><axis xyz="0 0.6 0.8"/>
    <origin xyz="0.2 0.1 0" rpy="0 0.5 0"/><limit lower="-3" upper="3" effort="5" velocity="5"/></joint>"""
    links = '<link name="base"/>' + link.format("one", 0.01, 0.05) + link.format("two", 0.0, 0.0)
    joints = joint.format("a", "base", "one", "revolute") + joint.format("b", "one", "two", "prismatic")
    path = tmp_path / "odd.urdf"
    path.write_text(f'<robot name="odd">{links}{joints}</robot>')
    robot, rng = load(path), np.random.default_rng(6)
    model, engine = Model(robot), Mujoco(robot, bodies=False, ground=False).engine
    q, v = random_state(model, rng)
    engine.place(q, v)
    model.update(q, v)
    M, h = engine.dynamics()
    assert M == pytest.approx(model.mass_matrix, abs=1e-12)
    assert h == pytest.approx(model.bias, abs=1e-12)


@pytest.mark.parametrize("name", ROBOTS)
def test_coordinates_go_there_and_back(name):
    """And qvel is what changes qpos when v changes q: MuJoCo integrates one, pinocchio the other."""
    engine = Mujoco(load(name), bodies=False, ground=False).engine
    there, model, rng = engine.coordinates, Model(load(name)), np.random.default_rng(4)
    for _ in range(5):
        q, v = random_state(model, rng)
        q, v = model.integrate(q, np.zeros(model.nv)), v
        qpos, qvel = there.positions(q), there.velocities(q, v)
        assert there.configuration(qpos) == pytest.approx(q, abs=1e-14)
        assert there.velocity(q, qvel) == pytest.approx(v, abs=1e-14)
        step = 1e-6
        mujoco.mj_integratePos(engine.mujoco_model, qpos, qvel, step)
        moved = model.difference(there.configuration(qpos), q) / step
        assert moved == pytest.approx(v, abs=1e-4)
        tau = rng.uniform(-1.0, 1.0, model.nv)
        assert there.forces(q, tau) @ qvel == pytest.approx(tau @ v)  # the same power


@pytest.mark.parametrize("name", ["solo12", "tiago", "kinova"])
def test_one_step_of_forces(name):
    """One step under random forces, base included, against M v̇ + h = τ of pinocchio."""
    model, rng = Model(load(name)), np.random.default_rng(5)
    robot = Mujoco(model.robot, bodies=False, ground=False, actuators=FRICTIONLESS)
    q, v = random_state(model, rng)
    q = model.integrate(model.robot.home, 0.05 * rng.uniform(-1.0, 1.0, model.nv))  # away from joint limits
    tau, h = rng.uniform(-1.0, 1.0, model.nv), 1e-3
    model.update(q, v)
    expected = v + h * np.linalg.solve(model.mass_matrix, tau - model.bias)
    robot.engine.place(q, v)
    found = robot.engine.step(tau)
    if model.robot.root == "free_flyer":  # a step of ẋ in the world's axes: the turning of ours within it is left out
        expected[:3] += h * np.cross(v[3:6], v[:3])
    elif model.robot.root == "planar":
        expected[:2] += h * np.array([-v[2] * v[1], v[2] * v[0]])
    assert found == pytest.approx(expected, abs=1e-9)


# -- without contact -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "options"), [("solo12", {}), ("go2", {}), ("talos", {"lock": ["gripper_*"]})])
def test_free_fall(name, options):
    """Thrown, tumbling and limp, for 0.4 s: up to 1 mm and mrad apart, half of that with half the step."""
    robot = load(name, **options)
    model, rng = Model(robot), np.random.default_rng(1)
    v = rng.uniform(-1.0, 1.0, model.nv)
    v[6:] *= 0.1  # so that no joint comes to its limit, and no leg to the other
    found = {}
    for dt in (1e-3, 5e-4):
        robots = [
            kind(robot, dt, v=v, ground=False, bodies=False, actuators=FRICTIONLESS) for kind in (Simulated, Mujoco)
        ]
        runs = [follow(one, torques(0.0 * v), 0.4) for one in robots]
        found[dt] = apart(model, *runs)
        assert not robots[0].touches()
    assert found[1e-3] < 1e-3
    assert found[5e-4] < 0.55 * found[1e-3]
    model.update(robot.home, v)
    start, speed = model.com, model.com_jacobian @ v
    model.update(runs[1][-1].q, runs[1][-1].v)
    fall = start + 0.4 * speed + 0.5 * np.array([0.0, 0.0, -GRAVITY]) * 0.4 * (0.4 + 5e-4)  # semi-implicit: t (t + dt)
    assert model.com == pytest.approx(fall, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "options", "held", "tolerance"),
    [("double_pendulum", {}, 0.0, 1.5e-4), ("ur5", {}, 0.9, 6e-3), ("panda", {"lock": ["panda_finger*"]}, 0.985, 1e-3)],
)
def test_swing(name, options, held, tolerance):
    """1 s of swinging by 0.5 to 3 rad, with damped joints, and motors that hold most of an arm's weight. The difference
    (rad) halves with the step."""
    robot = load(name, **options)
    model = Model(robot)
    q = robot.home.copy()
    q[0] -= 1.0
    model.update(q, np.zeros(model.nv))
    command = torques(held * model.bias)
    found = {}
    for dt in (1e-3, 5e-4):
        ours, theirs = (
            follow(kind(robot, dt, q=q, ground=False, bodies=False), command, 1.0) for kind in (Simulated, Mujoco)
        )
        found[dt] = apart(model, ours, theirs)
    assert np.ptp([state.q for state in ours], axis=0).max() > 0.3  # rad: it does swing
    assert found[1e-3] < tolerance
    assert found[5e-4] == pytest.approx(0.5 * found[1e-3], rel=0.05)


# -- standing ------------------------------------------------------------------------------------------------


def joint_springs(robot):
    """Stiffness and damping that hold a robot at home."""
    model = Model(robot)
    model.update(robot.home, np.zeros(model.nv))
    if robot.name == "talos":
        felt = 1.0 / np.diag(np.linalg.inv(model.mass_matrix))
        kp, kd = 2500.0 * felt, 60.0 * felt
        kp[6:18], kd[6:18] = 3000.0, 60.0
    else:
        kp, kd = np.full(model.nv, 5.0), np.full(model.nv, 0.2)
    return Command(0.0, np.zeros(model.nv), robot.home, np.zeros(model.nv), kp, kd)


def feet(model, state):
    model.update(state.q, state.v)
    return np.array([model.placement(model.frame(foot.frame)).translation for foot in model.robot.feet])


def stand(robot, dt, seconds, **options):
    """A run in each engine: the robots, and their states."""
    command = joint_springs(robot)
    robots = [kind(robot, dt, friction=1.0, bodies=False, **options) for kind in (Simulated, Mujoco)]
    return robots, [follow(one, command, seconds) for one in robots]


@pytest.mark.parametrize(("name", "height"), [("solo12", 0.05), ("talos", 0.01)])
def test_drop_and_settle(name, height):
    """Dropped on its feet: 0.15 mm apart on the way, 0.1 mm at the end, feet within 0.15 mm, and the weight carried."""
    robot = load(name)
    model, q = Model(robot), robot.home.copy()
    q[2] += height
    robots, (ours, theirs) = stand(robot, 1e-3, 2.0, q=q)
    heights = [np.array([state.q[2] for state in states]) for states in (ours, theirs)]
    assert np.abs(heights[0] - heights[1]).max() < 1.5e-4
    assert abs(heights[0][-1] - heights[1][-1]) < 1e-4
    assert np.abs(feet(model, ours[-1]) - feet(model, theirs[-1])).max() < 1.5e-4
    weight = robot.mass * GRAVITY
    forces = [sum(touch.force for touch in one.touches()) for one in robots]
    # Talos' arms still swing in their springs, the same in both.
    assert forces[1][2] == pytest.approx(weight, rel=1e-4 if name == "solo12" else 2e-3)
    assert forces[1] == pytest.approx(forces[0], abs=1e-4 * weight)
    assert {touch.name for touch in robots[1].touches()} == {foot.frame for foot in robot.feet}
    assert all(touch.gap > -2e-5 and touch.normal[2] == 1.0 for touch in robots[1].touches())


@pytest.mark.parametrize(("name", "force"), [("solo12", [6.0, 3.0, 0.0]), ("talos", [60.0, 30.0, 0.0])])
def test_push_on_a_standing_robot(name, force):
    """Bases go 15 mm aside and back. On the way they are 0.03 mm apart, and half of that with half the step."""
    robot = load(name)
    found = {}
    for dt in (1e-3, 5e-4):
        push = Push(at=0.2, frame="base_link", force=force, duration=0.1)
        _, (ours, theirs) = stand(robot, dt, 0.6, disturbances=[push])
        bases = [np.array([state.q[:3] for state in states]) for states in (ours, theirs)]
        assert np.abs(bases[0] - bases[0][0]).max() > 0.01  # m: it does move
        found[dt] = np.abs(bases[0] - bases[1]).max()
    assert found[1e-3] < 5e-5
    assert found[5e-4] < 0.6 * found[1e-3]
