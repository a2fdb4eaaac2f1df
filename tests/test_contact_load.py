"""How contacts share the load: minimum norm, cones, redundant and singular contacts, against other solvers."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from motions import STANDING, moving, point_accelerations, residual, set_up, warned, weight

import sot
from sot.robots import load
from sot.tasks import Contact, RollingContact, SlidingContact


@pytest.mark.parametrize("forces", ["minimum_norm", "cones"])
@pytest.mark.parametrize("name", STANDING)
def test_at_rest_the_ground_carries_the_weight(name, forces):
    robot = load(name)
    result = sot.inverse_dynamics(robot, robot.home, forces=forces)
    total = sum(result.wrenches.values())[:3]
    np.testing.assert_allclose(total, [0.0, 0.0, weight(robot)], atol=1e-9 * weight(robot))
    assert not result.warnings
    assert (np.abs(result.acceleration) < 1e-12).all()


def stacked_points(robot, q, contacts):
    """All points, the limbs they belong to, and the map from their forces to the base's rows."""
    model = sot.Model(robot)
    model.update(q, np.zeros(model.nv))
    points, limbs = [], []
    for frame in contacts:
        own = set_up(model, frame).touching_points(model)
        points += list(own)
        limbs += [frame] * len(own)
    base = pin.XYZQUATToSE3(q[:7])
    A = np.hstack([np.vstack([base.rotation.T, base.rotation.T @ pin.skew(p - base.translation)]) for p in points])
    return points, limbs, A


@pytest.mark.parametrize("share", [None, {0: 3.0}, {0: 0.2, 1: 2.0}])
@pytest.mark.parametrize("name", STANDING)
def test_forces_of_minimum_norm_are_those_of_the_points(name, share):
    """An oracle that knows no wrench bases: weighted least squares over the forces at all points."""
    robot, rng = load(name), np.random.default_rng(6)
    q, v, a = moving(robot, rng)
    # Point feet, soles of four points, and the point of a hand, where there is one.
    frames = [*(foot.frame for foot in robot.feet), *robot.hands[:1]]
    shares = None if share is None else {frames[i]: value for i, value in share.items()}
    result = sot.inverse_dynamics(robot, q, v, a, frames, load_share=shares)
    _, limbs, A = stacked_points(robot, q, frames)
    root = np.repeat([np.sqrt((shares or {}).get(limb, 1.0) / limbs.count(limb)) for limb in limbs], 3)
    needed = pin.rnea(robot.pin_model, robot.pin_model.createData(), q, v, result.acceleration)[:6]
    f = root * (np.linalg.pinv(A * root) @ needed)
    for frame, wrench in result.wrenches.items():
        own = sum(f[3 * i : 3 * i + 3] for i, limb in enumerate(limbs) if limb == frame)
        np.testing.assert_allclose(wrench[:3], own, atol=1e-9 * weight(robot))


def test_feet_that_touch_along_a_line():
    """Talos on the edges of its soles: five forces each, the same as those at the two ends of each edge."""
    robot, rng = load("talos"), np.random.default_rng(12)
    edge = [[0.084, 0.02, 0.0], [-0.1, 0.02, 0.0]]
    contacts = [Contact(foot.frame, points=edge) for foot in robot.feet]
    a = rng.normal(size=robot.pin_model.nv)
    result = sot.inverse_dynamics(robot, robot.home, None, a, contacts)
    assert residual(robot, robot.home, 0 * a, result) < 1e-9 and np.abs(result.torques[:6]).max() < 1e-9 * weight(robot)
    model, base = sot.Model(robot), pin.XYZQUATToSE3(robot.home[:7])
    ends = [model.placement(model.frame(c.frame)).act(np.array(p)) for c in contacts for p in edge]
    A = np.hstack([np.vstack([base.rotation.T, base.rotation.T @ pin.skew(p - base.translation)]) for p in ends])
    needed = pin.rnea(robot.pin_model, robot.pin_model.createData(), robot.home, 0 * a, result.acceleration)[:6]
    f = (np.linalg.pinv(A) @ needed).reshape(2, 2, 3).sum(axis=1)
    for own, wrench in zip(f, result.wrenches.values(), strict=True):
        np.testing.assert_allclose(wrench[:3], own, atol=1e-9 * weight(robot))


def test_a_larger_share_carries_more():
    robot = load("solo12")
    loads = [
        sot.inverse_dynamics(robot, robot.home, load_share={"FL_FOOT": s}, forces=forces).wrenches["FL_FOOT"][2]
        for s in (0.25, 1.0, 4.0)
        for forces in ("minimum_norm", "cones")
    ]
    np.testing.assert_allclose(loads[::2], loads[1::2], atol=1e-9)  # no cone is touched: both are the same
    assert loads[0] < 0.8 * loads[2] and loads[4] > 1.2 * loads[2]


@pytest.mark.parametrize("push", [2.0, 3.0, 4.0])
@pytest.mark.parametrize("name", ["solo12", "go2", "anymal"])
def test_forces_in_cones_are_those_of_another_solver(name, push):
    """min Σ‖f‖² with the weight and a push sideways carried inside |fx|, |fy| ≤ μ fz/√2, by DAQP."""
    import daqp

    robot, mu = load(name), 0.6
    a = np.zeros(robot.pin_model.nv)
    a[:2] = push, 0.5 * push
    options = {"projection": None, "friction": mu}
    result = sot.inverse_dynamics(robot, robot.home, None, a, forces="cones", **options)
    frames = [foot.frame for foot in robot.feet]
    _, _, A = stacked_points(robot, robot.home, frames)
    needed = pin.rnea(robot.pin_model, robot.pin_model.createData(), robot.home, 0 * a, a)[:6]
    m, c = len(frames), mu / np.sqrt(2.0)
    cone = np.kron(np.eye(m), np.array([[1, 0, -c], [-1, 0, -c], [0, 1, -c], [0, -1, -c]]))
    rows, upper = np.vstack([A, cone]), np.concatenate([needed, np.zeros(4 * m)])
    lower = np.concatenate([needed, np.full(4 * m, -1e30)])
    sense = np.array([5] * 6 + [0] * (4 * m), dtype=np.intc)
    f, _, flag, _ = daqp.solve(np.eye(3 * m), np.zeros(3 * m), rows, upper, lower, sense, primal_tol=1e-10)
    assert flag == 1
    np.testing.assert_allclose(
        np.concatenate([result.wrenches[frame][:3] for frame in frames]), f, atol=1e-7 * weight(robot)
    )
    assert {w.kind for w in result.warnings} <= {"acceleration"}
    smallest = sot.inverse_dynamics(robot, robot.home, None, a, **options)
    if push > 3.0:  # here the cones decide: without them a foot would slip
        assert "slipping" in {w.kind for w in smallest.warnings}


def test_cones_that_cannot_carry_it_are_left_as_little_as_possible():
    """Solo12 pushed to both sides on ice: the sum of squared distances to the facets, minimised by scipy."""
    from scipy.optimize import minimize

    robot, mu = load("solo12"), 0.2
    a = np.zeros(robot.pin_model.nv)
    a[:6] = [3.0, 1.0, 0.0, 5.0, 0.0, 8.0]
    frames, c = [foot.frame for foot in robot.feet], mu / np.sqrt(2.0)
    result = sot.inverse_dynamics(robot, robot.home, None, a, projection=None, friction=mu, forces="cones")
    facets = np.array([[1, 0, -c], [-1, 0, -c], [0, 1, -c], [0, -1, -c]]) / np.sqrt(1.0 + c * c)
    rows = np.kron(np.eye(4), np.vstack([facets, [0.0, 0.0, -1.0]]))

    def outside(f):
        return float((np.maximum(rows @ f, 0.0) ** 2).sum())

    found = np.concatenate([result.wrenches[frame][:3] for frame in frames])
    _, _, A = stacked_points(robot, robot.home, frames)
    needed = pin.rnea(robot.pin_model, robot.pin_model.createData(), robot.home, 0 * a, a)[:6]
    np.testing.assert_allclose(A @ found, needed, atol=1e-9 * weight(robot))  # the motion comes first
    start, Z = np.linalg.pinv(A) @ needed, np.linalg.svd(A)[2][6:].T
    best = minimize(lambda z: outside(start + Z @ z), np.zeros(Z.shape[1]), options={"gtol": 1e-10})
    assert best.fun > 1.0 and outside(start) > 1.05 * best.fun
    assert outside(found) <= best.fun * (1.0 + 1e-6)
    assert {w.limb for w in result.warnings if w.kind in ("slipping", "pulling")}


def test_a_contact_may_ask_for_a_force():
    """An arm that pushes on a table: the base is bolted down, so that only the contact itself asks for anything."""
    robot = load("panda")
    contact = Contact("panda_hand_tcp", points=[[0.0, 0.0, 0.0]], min_force=20.0)
    result = sot.inverse_dynamics(robot, robot.home, contacts=[contact], forces="cones")
    np.testing.assert_allclose(result.wrenches["panda_hand_tcp"][:3], [0.0, 0.0, 20.0], atol=1e-7)
    assert residual(robot, robot.home, np.zeros(robot.pin_model.nv), result) < 1e-9
    assert not result.warnings
    smallest = sot.inverse_dynamics(robot, robot.home, contacts=[contact])
    assert [(w.kind, w.value, w.limit) for w in smallest.warnings] == [("pulling", 0.0, 20.0)]


def test_a_foot_that_slides():
    """Its friction is given by how it slides; it is held along the normal only, and nothing is wrong with that."""
    robot, rng, mu = load("solo12"), np.random.default_rng(14), 0.3
    model = sot.Model(robot)
    v = rng.normal(size=model.nv)
    model.update(robot.home, v)
    held = [set_up(model, foot.frame).jacobian(model) for foot in robot.feet]
    J = np.vstack([held[0][2:], *held[1:]])  # the first foot may move along the ground
    v -= np.linalg.pinv(J) @ (J @ v)
    sliding = SlidingContact("FL_FOOT", friction=mu)
    contacts = [sliding, "FR_FOOT", "HL_FOOT", "HR_FOOT"]
    for forces in ("minimum_norm", "cones"):
        result = sot.inverse_dynamics(robot, robot.home, v, None, contacts, forces=forces)
        assert residual(robot, robot.home, v, result) < 1e-9
        assert np.abs(result.torques[:6]).max() < 1e-9 * weight(robot)
        along = held[0][:2] @ v
        force = result.wrenches["FL_FOOT"][:3]
        expected = -mu * force[2] * along / np.sqrt(along @ along + 1e-6)
        assert np.linalg.norm(along) > 0.1 and abs(force[2]) > 1.0
        np.testing.assert_allclose(force[:2], expected, atol=1e-9)
        assert not [w for w in result.warnings if w.kind in ("velocity", "acceleration", "slipping")]
        points = point_accelerations(robot, robot.home, v, result.acceleration)  # in the axes of the feet
        assert np.abs(points[1:]).max() < 1e-9 < np.abs(points[0]).max()
        back = sot.forces_from_torques(robot, robot.home, v, result.acceleration, result.torques, contacts)
        np.testing.assert_allclose(back.wrenches["FL_FOOT"], result.wrenches["FL_FOOT"], atol=1e-9)


def test_feet_that_roll():
    """Balls on the ground: the point that touches stands still, wherever the balls go."""
    robot, rng = load("solo12"), np.random.default_rng(15)
    model = sot.Model(robot)
    contacts = [RollingContact(foot.frame) for foot in robot.feet]
    for contact in contacts:
        contact.setup(model)
    J = np.vstack([contact.jacobian(model) for contact in contacts])
    v, a = rng.normal(size=(2, model.nv))
    v -= np.linalg.pinv(J) @ (J @ v)
    result = sot.inverse_dynamics(robot, robot.home, v, a, contacts)
    assert residual(robot, robot.home, v, result) < 1e-9
    assert np.abs(result.torques[:6]).max() < 1e-9 * weight(robot)
    assert not [w for w in result.warnings if w.kind in ("velocity", "acceleration")]
    # The centre of a ball accelerates along the ground with ω̇ r, and not at all along the normal.
    data = robot.pin_model.createData()
    pin.forwardKinematics(robot.pin_model, data, robot.home, v, result.acceleration)
    for foot in robot.feet:
        a = pin.getFrameClassicalAcceleration(
            robot.pin_model, data, robot.frames[foot.frame], pin.LOCAL_WORLD_ALIGNED
        ).vector
        np.testing.assert_allclose(a[:3], np.cross(a[3:], [0.0, 0.0, foot.radius]), atol=1e-9)


def test_redundant_contacts_are_accepted():
    """Feet, hands, and a second frame on each foot, which says the same once more."""
    robot, rng = load("talos"), np.random.default_rng(7)
    q, v, a = moving(robot, rng)
    twin = Contact("leg_left_6_joint", points=[[0.1, 0.05, -0.1], [0.1, -0.05, -0.1], [-0.1, 0.0, -0.1]])
    feet = ["left_sole_link", "right_sole_link"]
    without = sot.inverse_dynamics(robot, q, v, a, feet)
    once_more = sot.inverse_dynamics(robot, q, v, a, [*feet, twin])
    assert residual(robot, q, v, once_more) < 1e-9
    np.testing.assert_allclose(once_more.acceleration, without.acceleration, atol=1e-9)
    assert np.abs(once_more.torques[:6]).max() < 1e-9 * weight(robot)
    one = sot.inverse_dynamics(robot, q, v, a, ["left_sole_link"])
    both = sot.inverse_dynamics(robot, q, v, a, ["left_sole_link", twin], forces="cones")
    np.testing.assert_allclose(both.torques, one.torques, atol=1e-9 * weight(robot))  # together the same wrench
    hands = [Contact(hand, points=[[0.0, 0.0, 0.0]]) for hand in robot.hands]
    for forces in ("minimum_norm", "cones"):
        full = sot.inverse_dynamics(robot, robot.home, contacts=[*feet, *hands, twin], forces=forces)
        assert residual(robot, robot.home, 0 * v, full) < 1e-9
        total = sum(full.wrenches.values())[:3]
        np.testing.assert_allclose(total, [0.0, 0.0, weight(robot)], atol=1e-9 * weight(robot))


def test_singular_legs_are_accepted():
    """Solo12 on straight legs: a foot cannot move along its leg, whatever the joints do."""
    robot = load("solo12")
    q, v = robot.home.copy(), np.zeros(robot.pin_model.nv)
    q[7:] = 0.0
    a = np.random.default_rng(8).normal(size=robot.pin_model.nv)
    for projection in ("mass", "plain"):
        result = sot.inverse_dynamics(robot, q, v, a, projection=projection)
        assert residual(robot, q, v, result) < 1e-9
        assert np.abs(point_accelerations(robot, q, v, result.acceleration)).max() < 1e-9
        assert np.abs(result.acceleration).max() < 1e3


def test_near_a_singularity_the_tolerance_decides():
    """A UR5 whose tool is held, with its wrist a millionth of a radian from straight."""
    robot = load("ur5")
    q, a = robot.home.copy(), np.random.default_rng(9).normal(size=6)
    q[:] = [0.3, -1.0, 1.2, -0.5, 1e-6, 0.2]
    tool = [Contact("tool0", points=[[0.1, 0.0, 0.0], [0.0, 0.1, 0.0], [-0.1, 0.0, 0.0]])]
    fine = sot.inverse_dynamics(robot, q, None, a, tool, tolerances=sot.Tolerances(rank=1e-9))
    assert not fine.warnings and np.abs(fine.acceleration).max() < 1e-6  # held in all six directions
    coarse = sot.inverse_dynamics(robot, q, None, a, tool, tolerances=sot.Tolerances(rank=1e-4))
    assert np.abs(coarse.acceleration).max() > 0.1  # in five: the sixth takes joints that hardly move the tool
    # With a tool that speeds, the sixth direction has a drift: to stop it would take enormous accelerations.
    v = np.random.default_rng(10).normal(size=6)
    wild = sot.inverse_dynamics(robot, q, v, a, tool, tolerances=sot.Tolerances(rank=1e-9))
    tame = sot.inverse_dynamics(robot, q, v, a, tool, tolerances=sot.Tolerances(rank=1e-4))
    assert np.abs(wild.acceleration).max() > 1e4 > 1e2 > np.abs(tame.acceleration).max()
    assert warned(tame, "acceleration", "tool0").value > 1e-3  # and what is left over is said
