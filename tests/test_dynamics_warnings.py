"""Each warning of the closed-form dynamics, with its limb, value and limit, against an independent number."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from motions import G, kinds, moving, warned, weight

import sot
from sot.robots import load
from sot.tasks import Contact


def test_warning_no_contact():
    robot = load("talos")
    result = sot.inverse_dynamics(robot, robot.home, contacts=[])
    assert "nothing touches" in str(warned(result, "no contact"))
    force = [w for w in result.warnings if w.unit == "N"]
    assert len(force) == 1 and force[0].kind == "base residual"
    assert force[0].value == pytest.approx(weight(robot), rel=1e-9)
    np.testing.assert_allclose(result.base_wrench[:3], [0.0, 0.0, weight(robot)], atol=1e-9 * weight(robot))
    falling = np.zeros(robot.pin_model.nv)
    falling[:3] = [0.0, 0.0, -G]
    assert kinds(sot.inverse_dynamics(robot, robot.home, None, falling, [])) == {"no contact"}


def test_warning_base_residual():
    """Bolt on two points cannot hold its weight behind them: the torque about their line is missing."""
    robot = load("bolt")
    for forces in ("minimum_norm", "cones"):
        result = sot.inverse_dynamics(robot, robot.home, forces=forces)
        torque = next(w for w in result.warnings if w.kind == "base residual" and w.unit == "N·m")
        assert torque.value == pytest.approx(np.linalg.norm(result.torques[3:6])) and torque.limit == 1e-3
        assert torque.value > 0.1 and "on the base that no contact gives" in str(torque)
    lax = sot.Tolerances(force=1.0, torque=1.0)
    assert not sot.inverse_dynamics(robot, robot.home, tolerances=lax).warnings


def test_warning_pulling():
    robot = load("solo12")
    a = np.zeros(robot.pin_model.nv)
    a[2] = -2.0 * G  # faster than it can fall
    for forces in ("minimum_norm", "cones"):
        result = sot.inverse_dynamics(robot, robot.home, None, a, projection=None, forces=forces)
        assert sum(w[2] for w in result.wrenches.values()) == pytest.approx(-weight(robot), rel=1e-9)
        assert kinds(result) == {"pulling", "acceleration"}  # where nothing is pressed, friction has no say
        for foot in robot.feet:
            notice = warned(result, "pulling", foot.frame)
            assert notice.value == pytest.approx(result.wrenches[foot.frame][2]) and notice.limit == 0.0
            assert notice.value < -1.0 and foot.frame in str(notice)


def test_warning_slipping():
    robot = load("solo12")
    a = np.zeros(robot.pin_model.nv)
    a[0] = 4.0
    result = sot.inverse_dynamics(robot, robot.home, None, a, projection=None, friction=0.1)
    for foot in robot.feet:
        force = result.wrenches[foot.frame][:3]
        notice = warned(result, "slipping", foot.frame)
        assert notice.value == pytest.approx(np.hypot(*force[:2])) and notice.limit == pytest.approx(0.1 * force[2])
    # In the cones as little as possible: the motion is given, so the excess over the cones is.
    least = sot.inverse_dynamics(robot, robot.home, None, a, projection=None, friction=0.1, forces="cones")
    assert sum(w[0] for w in least.wrenches.values()) == pytest.approx(4.0 * robot.mass, rel=1e-9)
    assert "slipping" in kinds(least) and np.abs(least.torques[:6]).max() < 1e-9 * weight(robot)
    by_limb = {foot.frame: 2.0 if foot.frame == "FL_FOOT" else 0.1 for foot in robot.feet}
    mixed = sot.inverse_dynamics(robot, robot.home, None, a, projection=None, friction=by_limb)
    assert {w.limb for w in mixed.warnings if w.kind == "slipping"} == {"FR_FOOT", "HL_FOOT", "HR_FOOT"}


def test_warning_cop_outside():
    robot = load("talos")
    a = np.zeros(robot.pin_model.nv)
    a[0] = -2.0  # so the weight shifts to the toes and beyond: 0.877 m · 2/9.81 = 0.18 m
    result = sot.inverse_dynamics(robot, robot.home, None, a, projection=None)
    assert result.balance.margins["zmp"] < -0.05
    for limb in (None, "left_sole_link", "right_sole_link"):
        assert warned(result, "cop outside", limb).value > 0.05
    left = result.balance.cops["left_sole_link"]
    frame = sot.Model(robot).placement(sot.Model(robot).frame("left_sole_link"))
    beyond = frame.inverse().act(left)[0] - 0.084  # in front of the toes
    assert warned(result, "cop outside", "left_sole_link").value == pytest.approx(beyond, abs=1e-6)
    assert warned(result, "cop outside").value == pytest.approx(-result.balance.margins["cop"])


def test_warning_twisting():
    """One foot that turns the whole robot: the torque about the normal against a linear program over its points."""
    from scipy.optimize import linprog

    robot, frame, mu = load("talos"), "left_sole_link", 0.3
    q = robot.home.copy()
    model = sot.Model(robot)
    a = np.zeros(robot.pin_model.nv)
    a[5] = 10.0
    # A level sole under the centre of mass, so that nothing but the turning is wrong.
    offset = model.com - model.placement(model.frame(frame)).translation
    points = np.asarray(robot.feet[0].points) + np.array([offset[0], offset[1], 0.0])
    contact = Contact(frame, points=points, friction=mu)
    result = sot.inverse_dynamics(robot, q, None, a, [contact], projection=None)
    notice = warned(result, "twisting", frame)
    T = model.placement(model.frame(frame))
    centre = T.act(points.mean(axis=0))
    wrench = result.wrenches[frame].copy()
    wrench[3:] += np.cross(T.translation - centre, wrench[:3])
    local = np.concatenate([T.rotation.T @ wrench[:3], T.rotation.T @ wrench[3:]])
    assert notice.value == pytest.approx(abs(local[5]), rel=1e-9)
    edges = [np.array([mu * np.cos(t), mu * np.sin(t), 1.0]) for t in np.pi * (np.arange(4) + 0.5) / 2.0]
    rays = np.array([[*f, *np.cross(p - points.mean(axis=0), f)] for p in points for f in edges]).T
    best = linprog(-np.sign(local[5]) * rays[5], A_eq=rays[:5], b_eq=local[:5])
    assert best.success and notice.limit == pytest.approx(-best.fun, rel=1e-6)
    assert notice.limit < notice.value and "about the normal" in str(notice)


def test_warning_velocity_and_acceleration():
    robot, rng = load("talos"), np.random.default_rng(11)
    model, data = robot.pin_model, robot.pin_model.createData()
    v, a = 0.1 * rng.normal(size=model.nv), rng.normal(size=model.nv)
    result = sot.inverse_dynamics(robot, robot.home, v, a, projection=None)
    pin.forwardKinematics(model, data, robot.home, v)
    for foot in robot.feet:
        frame = model.frames[model.getFrameId(foot.frame)]
        speeds = [
            np.linalg.norm(
                pin.getFrameVelocity(
                    model, data, frame.parentJoint, frame.placement * pin.SE3(np.eye(3), np.asarray(p)), pin.LOCAL
                ).linear
            )
            for p in foot.points
        ]
        notice = warned(result, "velocity", foot.frame)
        assert notice.value == pytest.approx(max(speeds), rel=1e-9) and notice.limit == 1e-3
        assert warned(result, "acceleration", foot.frame).value > 0.1
    assert "acceleration" not in kinds(sot.inverse_dynamics(robot, robot.home, v, a))
    q, v, a = moving(robot, rng)
    assert not {"velocity", "acceleration"} & kinds(sot.inverse_dynamics(robot, q, v, a))


def test_contacts_that_contradict_each_other_are_said():
    """A second contact on the turning foot: its centripetal acceleration cannot be stopped."""
    robot = load("panda")
    v = np.zeros(robot.pin_model.nv)
    v[0] = 1.0
    contacts = [Contact("panda_hand_tcp", points=[[0, 0, 0]]), Contact("panda_link1", points=[[0.3, 0.0, 0.0]])]
    result = sot.inverse_dynamics(robot, robot.home, v, contacts=contacts)
    notice = warned(result, "acceleration", "panda_link1")
    assert notice.value == pytest.approx(0.3, rel=1e-6)  # ω² r, towards the axis that link 1 turns about


def test_warning_overloaded():
    robot = load("talos")
    contacts = [Contact("left_sole_link", max_force=300.0), Contact("right_sole_link")]
    notice = warned(sot.inverse_dynamics(robot, robot.home, contacts=contacts), "overloaded", "left_sole_link")
    assert notice.value == pytest.approx(0.5 * weight(robot), rel=0.05) and notice.limit == 300.0
    within = sot.inverse_dynamics(robot, robot.home, contacts=contacts, forces="cones")
    # Along the normal; the sole is not quite level.
    assert not within.warnings and within.wrenches["left_sole_link"][2] == pytest.approx(300.0, rel=1e-5)
