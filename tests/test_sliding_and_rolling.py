"""Contacts that slide or roll: the motions of textbooks."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import sot
from sot.errors import TaskError
from sot.lie import exp3
from sot.robots import load
from sot.state import State
from sot.tasks import CenterOfMass, Contact, JointLimits, Posture, RollingContact, SlidingContact

G, SLOPE = 9.81, np.deg2rad(20.0)
CORNERS = [[x, y, -0.1] for x in (-0.2, 0.2) for y in (-0.1, 0.1)]
BODY = """<robot name="body"><link name="body"><inertial><mass value="3"/>
<inertia ixx="{i}" iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""


def body(tmp_path, inertia):
    """One rigid body, free to move, without any motor."""
    file = tmp_path / "body.urdf"
    file.write_text(BODY.format(i=inertia))
    return load(file, root="free_flyer")


def tilted(angle):
    return exp3(np.array([0.0, angle, 0.0]))


def fall(robot, contact, R, v=None):
    """What physics alone does: acceleration of the body in the world, and the contact's wrench in its own axes."""
    controller = sot.Controller(robot, sot.Stack([contact]), output="torque")
    quaternion = pin.Quaternion(R).coeffs()
    state = State(0.0, np.concatenate([np.zeros(3), quaternion]), np.zeros(6) if v is None else v)
    controller.step(state)
    x = controller.solver.x
    return R @ x[:3], R @ x[3:6], next(iter(controller.formulation.forces(x).values()))


@pytest.mark.parametrize("mu", [0.0, 0.1, 0.3])
def test_a_block_slides_down_a_slope(tmp_path, mu):
    """a = g (sin − μ cos), and the force acts where the block does not tip: μ h before its middle."""
    R = tilted(SLOPE)
    moving = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])  # m/s, down the slope
    contact = SlidingContact("body", CORNERS, friction=mu, slow=1e-9)
    a, alpha, wrench = fall(body(tmp_path, 0.05), contact, R, moving)
    np.testing.assert_allclose(R.T @ a, [G * (np.sin(SLOPE) - mu * np.cos(SLOPE)), 0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(alpha, 0.0, atol=1e-9)
    np.testing.assert_allclose(wrench[:3], 3 * G * np.cos(SLOPE) * np.array([-mu, 0.0, 1.0]), atol=1e-8)
    np.testing.assert_allclose(wrench[3:], 0.0, atol=1e-8)  # about the centre of mass: nothing tips


def test_friction_fades_out_at_rest(tmp_path):
    contact = SlidingContact("body", CORNERS, friction=0.5, slow=1e-2)
    _, _, wrench = fall(body(tmp_path, 0.05), contact, np.eye(3))
    np.testing.assert_allclose(wrench[:2], 0.0, atol=1e-9)
    assert wrench[2] == pytest.approx(3 * G, rel=1e-9)


def test_a_ball_rolls_down_a_slope(tmp_path):
    """a = g sin / (1 + I / m r²) = 5/7 g sin for a solid ball, with friction 2/7 m g sin."""
    radius, mass = 0.1, 3.0
    normal = tilted(SLOPE)[:, 2]
    robot = body(tmp_path, 0.4 * mass * radius**2)
    contact = RollingContact("body", radius, friction=0.5, normal=normal)
    a, alpha, wrench = fall(robot, contact, np.eye(3))
    downhill = tilted(SLOPE)[:, 0]
    np.testing.assert_allclose(a, 5.0 / 7.0 * G * np.sin(SLOPE) * downhill, atol=1e-9)
    np.testing.assert_allclose(np.cross(alpha, radius * normal), a, atol=1e-9)  # rolls without slipping
    assert wrench[:3] @ downhill == pytest.approx(-2.0 / 7.0 * mass * G * np.sin(SLOPE), rel=1e-9)
    assert wrench[:3] @ normal == pytest.approx(mass * G * np.cos(SLOPE), rel=1e-9)


def test_a_ball_goes_on_rolling(tmp_path):
    """On level ground speed and height stay, up to the arc of a velocity that is held in axes that turn: ~ dt."""
    radius, speed, duration = 0.1, 0.5, 1.0
    robot, errors = body(tmp_path, 0.4 * 3.0 * radius**2), []
    for dt in (2e-3, 5e-4):
        controller = sot.Controller(robot, sot.Stack([RollingContact("body", radius)]), output="torque", dt=dt)
        q, v = np.array([0.0, 0.0, radius, 0.0, 0.0, 0.0, 1.0]), np.array([speed, 0.0, 0.0, 0.0, speed / radius, 0.0])
        for k in range(round(duration / dt)):
            command = controller.step(State(dt * k, q, v))
            q, v = command.q, command.v
        velocity = pin.XYZQUATToSE3(q).rotation @ v[:3]
        errors.append([abs(q[2] - radius), abs(q[0] - speed * duration), np.linalg.norm(velocity - [speed, 0.0, 0.0])])
    coarse, fine = np.array(errors)
    assert (coarse < [1e-3, 0.02, 0.04]).all()
    assert (fine < 0.3 * coarse).all()


@pytest.mark.parametrize(("points", "size"), [(CORNERS, 3), (CORNERS[:2], 2), (CORNERS[:1], 1)])
def test_surfaces_lines_and_points_slide(tmp_path, points, size):
    contact = SlidingContact("body", points)
    contact.setup(sot.Model(body(tmp_path, 0.05)))
    assert contact.cone.size == size


def test_a_robot_slides_one_foot(tmp_path):
    """Solo12 on three feet that stand and one that slides sideways as its posture asks."""
    robot = load("solo12")
    feet = [Contact(foot.frame, friction=0.8) for foot in robot.feet[1:]]
    sliding = SlidingContact(robot.feet[0].frame, friction=0.2, name="sliding")
    posture = Posture(gain=10.0)
    stack = sot.Stack([JointLimits(), *feet, sliding], [CenterOfMass(gain=10.0, mask="xy")], [posture])
    controller = sot.Controller(robot, stack, output="torque", dt=1e-3)
    joint = controller.model.joint("FL_HAA")
    posture.reference = sot.move(by=0.1 * np.eye(12)[joint.v.start - 6], duration=1.0)
    q, v = robot.home.copy(), np.zeros(robot.pin_model.nv)
    start = None
    for k in range(1500):
        command = controller.step(State(1e-3 * k, q, v))
        where = sliding.touching_points(controller.model)[0]
        start = where if start is None else start
        q, v = command.q, command.v
    assert abs(where[2] - start[2]) < 1e-5  # stayed on the ground
    assert np.linalg.norm(where[:2] - start[:2]) > 5e-3  # and slid
    assert controller.counters.infeasible == 0


def test_a_ball_foot_has_a_radius():
    with pytest.raises(TaskError, match="radius"):
        sot.Controller(load("talos"), sot.Stack([RollingContact("left_sole_link")]), output="torque")
