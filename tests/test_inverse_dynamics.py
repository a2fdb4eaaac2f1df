"""Torques in closed form: the equation of motion, projections, the base and bad input, against pinocchio."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from motions import LEGGED, STANDING, moving, on_joints, point_accelerations, residual, set_up, weight

import sot
from sot.errors import ModelError, SotError, TaskError
from sot.robots import load
from sot.state import State
from sot.tasks import CenterOfMass, Contact, Posture


@pytest.mark.parametrize("name", ["panda", "ur5", "tiago", "double_pendulum"])
def test_with_a_fixed_base_torques_are_those_of_rnea(name):
    robot, rng = load(name), np.random.default_rng(0)
    model = sot.Model(robot)
    for _ in range(10):
        q, v, a = model.random_configuration(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
        result = sot.inverse_dynamics(model, q, v, a)
        expected = pin.rnea(robot.pin_model, robot.pin_model.createData(), q, v, a)
        np.testing.assert_allclose(result.torques, expected, atol=1e-9 * (1.0 + np.abs(expected).max()))
        assert not result.warnings and result.wrenches == {}


@pytest.mark.parametrize("forces", ["minimum_norm", "cones"])
@pytest.mark.parametrize("projection", ["mass", "plain"])
@pytest.mark.parametrize("name", LEGGED)
def test_the_equation_of_motion_holds(name, projection, forces):
    robot, rng = load(name), np.random.default_rng(1)
    model = sot.Model(robot)
    for _ in range(4):
        q, v, a = moving(robot, rng)
        result = sot.inverse_dynamics(model, q, v, a, projection=projection, forces=forces)
        assert residual(robot, q, v, result) < 1e-9
        assert np.abs(point_accelerations(robot, q, v, result.acceleration)).max() < 1e-9 * (1 + np.abs(a).max())
        if name in STANDING:
            assert np.abs(result.torques[:6]).max() < 1e-9 * weight(robot)
            assert np.abs(result.base_wrench).max() < 1e-9 * weight(robot)


@pytest.mark.parametrize("name", ["solo12", "go2", "anymal", "talos", "g1"])
def test_the_torques_make_the_robot_move_so(name):
    """Forward again: ABA with the forces, and pinocchio's constrained dynamics, which finds the forces by itself."""
    robot, rng = load(name), np.random.default_rng(2)
    model, data = robot.pin_model, robot.pin_model.createData()
    for _ in range(4):
        q, v, a = moving(robot, rng)
        result = sot.inverse_dynamics(robot, q, v, a)
        scale = 1.0 + np.abs(result.acceleration).max()
        back = pin.aba(model, data, q, v, result.torques + on_joints(robot, q, result.wrenches))
        np.testing.assert_allclose(back, result.acceleration, atol=1e-8 * scale)
        constrained = _constrained(robot, q, v, result.torques)
        np.testing.assert_allclose(constrained, result.acceleration, atol=1e-8 * scale)


def _constrained(robot, q, v, tau):
    """v̇ of pin.constraintDynamics with all feet held."""
    model, data = robot.pin_model, robot.pin_model.createData()
    constraints = pin.StdVec_RigidConstraintModel()
    for foot in robot.feet:
        frame = model.frames[model.getFrameId(foot.frame)]
        kind = pin.ContactType.CONTACT_3D if len(foot.points) == 1 else pin.ContactType.CONTACT_6D
        T = frame.placement * pin.SE3(np.eye(3), np.asarray(foot.points[0]))
        constraints.append(pin.RigidConstraintModel(kind, model, frame.parentJoint, T, pin.LOCAL))
    datas = pin.StdVec_RigidConstraintData()
    for constraint in constraints:
        datas.append(constraint.createData())
    pin.initConstraintDynamics(model, data, constraints, datas)
    settings = pin.ProximalSettings(1e-14, 1e-12, 50)
    return pin.constraintDynamics(model, data, q, v, tau, constraints, datas, settings).copy()


@pytest.mark.parametrize("name", ["solo12", "talos", "g1"])
def test_projection_by_mass_is_what_contacts_do(name):
    """Gauss: of all accelerations that the contacts allow, physics takes the nearest to the free one, by mass."""
    robot, rng = load(name), np.random.default_rng(3)
    model, data = robot.pin_model, robot.pin_model.createData()
    q, v, _ = moving(robot, rng)
    tau = np.append(np.zeros(6), 5.0 * rng.uniform(-1.0, 1.0, model.nv - 6))
    free = pin.aba(model, data, q, v, tau)
    result = sot.inverse_dynamics(robot, q, v, free, projection="mass")
    np.testing.assert_allclose(
        result.acceleration, _constrained(robot, q, v, tau), atol=1e-8 * (1.0 + np.abs(free).max())
    )


def test_the_plain_projection_is_the_nearest_in_numbers():
    robot, rng = load("talos"), np.random.default_rng(4)
    q, v, a = moving(robot, rng)
    model = sot.Model(robot)
    change = sot.inverse_dynamics(model, q, v, a, projection="plain").acceleration - a
    by_mass = sot.inverse_dynamics(model, q, v, a, projection="mass").acceleration - a
    J = np.vstack([set_up(model, foot.frame).jacobian(model) for foot in robot.feet])
    Z = np.linalg.svd(J)[2][len(J) :].T  # what the contacts leave free
    assert np.abs(Z.T @ change).max() < 1e-9
    assert np.abs(Z.T @ model.mass_matrix @ by_mass).max() < 1e-9 * np.abs(model.mass_matrix).max()
    assert np.linalg.norm(change) < np.linalg.norm(by_mass)


@pytest.mark.parametrize("name", ["talos", "g1", "bolt", "solo12"])
def test_closed_form_and_optimisation_agree(name):
    """On one foot the forces are unique: the controller's acceleration must give the controller's torques."""
    robot, rng = load(name), np.random.default_rng(5)
    foot = robot.feet[0].frame
    stack = sot.Stack([Contact(foot, friction=0.5)], [CenterOfMass(gain=5.0)], [Posture(gain=5.0)])
    controller = sot.Controller(robot, stack, output="torque", max_iterations=1000)
    for _ in range(3):
        q, v, _ = moving(robot, rng, feet=[foot], spread=0.02, speed=0.1)
        command = controller.step(State(0.0, q, v))
        a = controller.solver.x[: controller.model.nv].copy()
        result = sot.inverse_dynamics(robot, q, v, a, [Contact(foot, friction=0.5)], projection=None)
        scale = weight(robot)
        np.testing.assert_allclose(result.torques, command.tau, atol=1e-8 * scale)
        # Its own forces inside their cone, as the controller's are: neither pulling nor slipping.
        assert not {w.kind for w in result.warnings} & {"pulling", "slipping", "cop outside", "base residual"}


# -- the base ----------------------------------------------------------------------------------------------------


def test_the_base_wrench_is_what_holds_the_robot():
    robot, rng = load("panda"), np.random.default_rng(10)
    model, data = robot.pin_model, robot.pin_model.createData()
    q, v, a = pin.neutral(model) + 0.3, rng.normal(size=model.nv), rng.normal(size=model.nv)
    q[-2:] = 0.01
    result = sot.inverse_dynamics(robot, q, v, a)
    pin.rnea(model, data, q, v, a)
    pin.forwardKinematics(model, data, q)
    expected = data.oMi[1].act(data.f[1]).vector  # through the first joint, about the world's origin
    np.testing.assert_allclose(result.base_wrench, expected, atol=1e-9 * weight(robot))
    bolt = load("bolt")
    q, v, a = moving(bolt, rng)
    result = sot.inverse_dynamics(bolt, q, v, a)
    R = pin.XYZQUATToSE3(q[:7]).rotation
    np.testing.assert_allclose(result.base_wrench[:3], R @ result.torques[:3], atol=1e-9 * weight(bolt))
    np.testing.assert_allclose(result.base_wrench[3:], R @ result.torques[3:6], atol=1e-9 * weight(bolt))


def test_the_rate_of_momentum_leaves_the_model_as_it_was():
    """Pinocchio keeps the accelerations of the last motion; drifts are those at v̇ = 0 all the same."""
    robot, rng = load("talos"), np.random.default_rng(13)
    model, frame = sot.Model(robot), robot.frames["left_sole_link"]
    model.update(robot.home, rng.normal(size=model.nv))
    drift, com = model.drift(frame), model.com_drift
    rate = model.momentum_rate(rng.normal(size=model.nv))
    np.testing.assert_array_equal(model.drift(frame), drift)
    np.testing.assert_array_equal(model.com_drift, com)
    assert rate.shape == (6,) and np.abs(rate).max() > 1.0


def test_the_mass_matrix_has_the_rotors():
    robot = load("g1")
    model, bare = sot.Model(robot), robot.pin_model.copy()
    bare.rotorInertia[:] = 0.0
    bare.armature[:] = 0.0
    M = pin.crba(bare, bare.createData(), robot.home)
    M = np.triu(M) + np.triu(M, 1).T
    model.update(robot.home, np.zeros(model.nv))
    np.testing.assert_allclose(model.mass_matrix - M, np.diag(robot.rotor_inertia * robot.gear_ratio**2), atol=1e-12)
    assert (robot.rotor_inertia * robot.gear_ratio**2 > 1e-3).sum() == 29


# -- what users pass in ------------------------------------------------------------------------------------------


def by_name(robot, q, v=None):
    """Joints with their coordinates, and something that is none."""
    model = sot.Model(robot)
    pose = {joint.name: q[joint.q] for joint in model.joints.values()}
    rates = {joint.name: v[joint.v] for joint in model.joints.values()} if v is not None else None
    return {**pose, "camera_tilt": 0.4}, rates


@pytest.mark.parametrize("name", ["talos", "tiago", "ur5"])
def test_poses_by_name_and_extra_coordinates(name):
    robot, rng = load(name), np.random.default_rng(12)
    model = sot.Model(robot)
    q, v = model.random_configuration(rng, 0.1), rng.normal(size=model.nv)
    pose, rates = by_name(robot, q, v)
    a, b = sot.inverse_dynamics(robot, q, v), sot.inverse_dynamics(robot, pose, rates)
    np.testing.assert_array_equal(a.torques, b.torques)


def test_followers_and_angles_of_unbounded_joints_may_be_short():
    panda = load("panda")
    q = panda.home.copy()
    q[-2:] = 0.02
    pose, _ = by_name(panda, q)
    del pose["panda_finger_joint2"]  # follows the first finger
    np.testing.assert_allclose(sot.inverse_dynamics(panda, pose).torques, sot.inverse_dynamics(panda, q).torques)
    shifted = replace(panda, mimics=tuple(replace(mimic, ratio=0.5, offset=0.003) for mimic in panda.mimics))
    q[-1] = 0.5 * 0.02 + 0.003
    np.testing.assert_allclose(sot.inverse_dynamics(shifted, pose).torques, sot.inverse_dynamics(panda, q).torques)
    kinova = load("kinova")
    model = sot.Model(kinova)
    unbounded = next(j for j in model.joints.values() if j.q.stop - j.q.start == 2)
    q = kinova.home.copy()
    q[unbounded.q] = np.cos(0.7), np.sin(0.7)
    pose, _ = by_name(kinova, q)
    pose[unbounded.name] = 0.7
    np.testing.assert_allclose(sot.inverse_dynamics(kinova, pose).torques, sot.inverse_dynamics(kinova, q).torques)


def nan_at(robot, index):
    q = robot.home.copy()
    q[index] = np.nan
    return q


MISTAKES = {
    "unknown frame": ({"contacts": ["left_sole"]}, "unknown frame 'left_sole'; did you mean 'left_sole_link'"),
    "unknown frame of a Contact": ({"contacts": [Contact("l_foot")]}, "unknown frame 'l_foot'"),
    "unknown frame in a mapping": (
        {"contacts": {"left_sole_link": True, "right_sole_link": True, "tail": False}},
        "unknown frame 'tail'",
    ),
    "no frame": ({"contacts": [3]}, "expected names of frames or Contact objects, got 3"),
    "half the feet": ({"contacts": {"left_sole_link": True}}, "incomplete: nothing is said about 'right_sole_link'"),
    "not a bool": (
        {"contacts": {"left_sole_link": 1.0, "right_sole_link": True}},
        "'left_sole_link': expected True or False, got 1.0",
    ),
    "twice": ({"contacts": ["left_sole_link", Contact("left_sole_link")]}, "'left_sole_link' is there twice"),
    "friction": ({"friction": -0.1}, "friction of 'left_sole_link': expected a number > 0, got -0.1"),
    "friction of nobody": ({"friction": {"tail": 0.5}}, "friction: unknown contact 'tail'"),
    "share of nobody": ({"load_share": {"tail": 0.5}}, "load_share: unknown contact 'tail'"),
    "share": ({"load_share": {"left_sole_link": np.nan}}, "load_share of 'left_sole_link': expected a number > 0"),
    "projection": ({"projection": "masss"}, "projection: unknown metric 'masss'; did you mean 'mass'"),
    "forces": ({"forces": "cone"}, "forces: unknown choice 'cone'; did you mean 'cones'"),
    "v": ({"v": np.zeros(3)}, r"v: robot 'talos' has 38 numbers, got shape \(3,\)"),
    "words": ({"v": "fast"}, "v: expected numbers, got 'fast'"),
    "a": ({"a": np.full(38, np.inf)}, "a: joint 'root_joint' has a value that is not finite"),
}


@pytest.mark.parametrize(("options", "words"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_named(options, words):
    robot = load("talos")
    with pytest.raises(SotError, match=words):
        sot.inverse_dynamics(robot, robot.home, **options)


def test_mistakes_in_a_pose_are_named():
    robot = load("talos")
    pose, _ = by_name(robot, robot.home)
    with pytest.raises(TaskError, match="joint 'leg_left_4_joint' has a value that is not finite"):
        sot.inverse_dynamics(robot, nan_at(robot, 10))
    with pytest.raises(TaskError, match="joint 'root_joint' has a value that is not finite"):
        sot.inverse_dynamics(robot, {**pose, "root_joint": nan_at(robot, 2)[:7]})
    with pytest.raises(TaskError, match="q: is incomplete: no value for 'torso_1_joint', 'arm_left_1_joint'"):
        sot.inverse_dynamics(
            robot, {key: pose[key] for key in reversed(pose) if key not in ("arm_left_1_joint", "torso_1_joint")}
        )
    with pytest.raises(TaskError, match="joint 'torso_1_joint': expected numbers of shape"):
        sot.inverse_dynamics(robot, {**pose, "torso_1_joint": [0.1, 0.2]})
    with pytest.raises(TaskError, match=r"joint 'root_joint': .* norm 1"):
        sot.inverse_dynamics(robot, {**pose, "root_joint": [0, 0, 1, 0, 0, 0, 2]})
    with pytest.raises(TaskError, match=r"expected what `sot\.robots\.load` gives"):
        sot.inverse_dynamics("talos", robot.home)
    with pytest.raises(TaskError, match="tolerances: force: expected a number"):
        sot.Tolerances(force=-1.0)
    with pytest.raises(TaskError, match="tolerances: rank"):
        sot.Tolerances(rank=0.0)


def test_a_robot_without_mass_is_named():
    robot = load("double_pendulum")
    for inertia in robot.pin_model.inertias:
        inertia.mass, inertia.inertia = 0.0, np.zeros((3, 3))
    robot.pin_model.armature[:] = 0.0
    contact = [Contact(list(robot.frames)[-1], points=[[0, 0, 0]])]
    with pytest.raises(ModelError, match="mass matrix is not positive definite"):
        sot.inverse_dynamics(robot, robot.home, contacts=contact)


def test_the_users_own_contact_is_not_touched():
    robot = load("talos")
    contact = Contact("left_sole_link")
    before = dict(vars(contact))
    sot.inverse_dynamics(robot, robot.home, contacts=[contact])
    assert vars(contact).keys() == before.keys()


def test_feet_by_true_and_false():
    robot = load("talos")
    one = sot.inverse_dynamics(robot, robot.home, contacts={"left_sole_link": True, "right_sole_link": np.False_})
    assert list(one.wrenches) == ["left_sole_link"]
