"""Small bodies and whole robots for tests of the physics engine, and what physics says about them."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from sot.kernels import stepping
from sot.kernels import touch as op
from sot.lie import exp3
from sot.robots import load
from sot.simulation.engine import Engine
from sot.simulation.scene import Scene, ground

G, MASS = 9.81, 3.0
LENGTH, WIDTH, HEIGHT = 0.4, 0.2, 0.2  # m, of a block
CORNERS = [[x, y, -0.5 * HEIGHT] for x in (-0.5 * LENGTH, 0.5 * LENGTH) for y in (-0.5 * WIDTH, 0.5 * WIDTH)]
LEGGED = ("solo12", "go2", "anymal", "bolt", "talos", "g1")
BODY = """<robot name="body"><link name="body"><inertial><mass value="{m}"/>
<inertia ixx="{i}" iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""
ARM = """<robot name="arm"><link name="base"/>
<link name="upper"><inertial><origin xyz="0 0 -0.25"/><mass value="1"/>
<inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="lower"><inertial><origin xyz="0 0 -0.2"/><mass value="0.5"/>
<inertia ixx="0.01" iyy="0.01" izz="0.005" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
<limit lower="{low}" upper="{high}" effort="100" velocity="100"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0 0 -0.5"/>
<axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="100" velocity="100"/></joint></robot>"""


def block(tmp_path, inertia=0.05):
    """A rigid block with a foot of four corners; its own axes are at its middle."""
    file = tmp_path / "body.urdf"
    file.write_text(BODY.format(m=MASS, i=inertia))
    return load(file, root="free_flyer", feet=[{"frame": "body", "points": CORNERS}])


def ball(tmp_path, radius=0.1):
    """A solid ball."""
    file = tmp_path / "ball.urdf"
    file.write_text(BODY.format(m=MASS, i=0.4 * MASS * radius**2))
    return load(file, root="free_flyer", feet=[{"frame": "body", "radius": radius}])


def arm(tmp_path, low=-3.0, high=3.0):
    """Two links that hang from a fixed base and swing about y."""
    file = tmp_path / "arm.urdf"
    file.write_text(ARM.format(low=low, high=high))
    return load(file)


def engine(robot, scene=None, **options):
    """An engine without self-collision of bodies that small robots do not have."""
    given = {"bodies": False, "itself": False, **options}
    return Engine(robot, Scene([ground()]) if scene is None else scene, **given)


def pose(position, rotation=None):
    """q of a free body."""
    turned = np.eye(3) if rotation is None else rotation
    return np.concatenate([position, pin.Quaternion(turned).coeffs()])


def about_y(angle):
    return exp3(np.array([0.0, angle, 0.0]))


def world_velocity(engine):
    """Velocity of a free body's origin in the world."""
    return pin.XYZQUATToSE3(engine.q[:7]).rotation @ engine.v[:3]


def energy(engine):
    """Kinetic plus potential, J."""
    model, data = engine.robot.pin_model, engine.robot.pin_model.createData()
    return pin.computeKineticEnergy(model, data, engine.q, engine.v) + pin.computePotentialEnergy(model, data, engine.q)


def thrown(robot, seed=0, height=0.3, **options):
    """An engine with a robot in the air that tumbles and moves its limbs."""
    simulation = Engine(robot, Scene([ground()]), **options)
    nv = robot.pin_model.nv
    spread = np.where(np.arange(nv) < 3, 0.5, np.where(np.arange(nv) < 6, 3.0, 1.0))
    q = robot.home.copy()
    q[2] += height
    simulation.reset(q, np.random.default_rng(seed).normal(size=nv) * spread)
    return simulation


def step_numbers(engine):
    """λ of the last step, velocities of its rows after it (against what is touched), and G."""
    size = engine.impulses.size
    N, G = engine._N[:, :size], engine._G[:size, :size]
    return engine.impulses, N[stepping.FREE] + N[stepping.ALLOWED] + G @ engine.impulses, G


def hits(engine):
    """Whether a contact came nearer at more than a slow speed and was stopped."""
    normals = slice(2, 3 * engine.count, 3)
    return bool(((engine._N[stepping.BEFORE, normals] < -0.02) & (engine.impulses[normals] > 0.0)).any())


def turning_work(engine):
    """What following the turns of bodies that touch may add in a step, J: Σ λ_n dt/2 |n·J̇v|."""
    return float(engine.impulses[2 : 3 * engine.count : 3] @ np.abs(engine._contacts[: engine.count, op.CURVE]))


def cone_violation(engine):
    """Largest ‖λ_t‖ − μ λ_n, or −λ_n, N·s."""
    impulses = engine.impulses[: 3 * engine.count].reshape(-1, 3)
    mu = engine._contacts[: engine.count, op.MU]
    if not len(impulses):
        return 0.0
    return float(max(np.max(np.linalg.norm(impulses[:, :2], axis=1) - mu * impulses[:, 2]), np.max(-impulses[:, 2])))
