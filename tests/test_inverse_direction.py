"""From torques back to contact forces: round trips, statics, and the momentum observer."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from motions import LEGGED, STANDING, moving, on_joints, weight

import sot
from sot.errors import TaskError
from sot.robots import load
from sot.tasks import Contact


@pytest.mark.parametrize("forces", ["minimum_norm", "cones"])
@pytest.mark.parametrize("name", STANDING)
def test_the_round_trip_closes(name, forces):
    robot, rng = load(name), np.random.default_rng(0)
    for _ in range(3):
        q, v, a = moving(robot, rng)
        there = sot.inverse_dynamics(robot, q, v, a, forces=forces)
        back = sot.forces_from_torques(robot, q, v, there.acceleration, there.torques)
        assert back.determined and back.unknowns == sum(3 if len(foot.points) == 1 else 6 for foot in robot.feet)
        for limb, wrench in there.wrenches.items():
            np.testing.assert_allclose(back.wrenches[limb], wrench, atol=1e-9 * weight(robot))
        assert np.abs(back.residual).max() < 1e-9 * weight(robot)


def test_the_round_trip_closes_where_contacts_are_redundant():
    """Forces inside one foot that no joint feels: both ways take the smallest, with the same shares."""
    robot, rng = load("talos"), np.random.default_rng(1)
    q, v, a = moving(robot, rng)
    twin = Contact("leg_left_6_joint", points=[[0.1, 0.05, -0.1], [0.1, -0.05, -0.1], [-0.1, 0.0, -0.1]])
    contacts, share = ["left_sole_link", "right_sole_link", twin], {"left_sole_link": 2.0}
    there = sot.inverse_dynamics(robot, q, v, a, contacts, load_share=share)
    back = sot.forces_from_torques(robot, q, v, there.acceleration, there.torques, contacts, load_share=share)
    assert (back.rank, back.unknowns, back.determined) == (12, 18, False)
    for limb, wrench in there.wrenches.items():
        np.testing.assert_allclose(back.wrenches[limb], wrench, atol=1e-9 * weight(robot))


def test_statics_of_an_arm():
    """A Panda that holds still and pushes: the force at its hand, from its torques."""
    robot, push = load("panda"), np.array([3.0, -5.0, -20.0])
    q = robot.home
    hold = pin.computeGeneralizedGravity(robot.pin_model, robot.pin_model.createData(), q)
    wrench = np.concatenate([push, np.zeros(3)])
    tau = hold - on_joints(robot, q, {"panda_hand_tcp": wrench})
    hand = [Contact("panda_hand_tcp", points=[[0.0, 0.0, 0.0]])]
    found = sot.forces_from_torques(robot, q, None, None, tau, hand)
    np.testing.assert_allclose(found.wrenches["panda_hand_tcp"], wrench, atol=1e-9 * 165)
    np.testing.assert_allclose(found.residual, 0.0, atol=1e-9 * 165)
    tau[2] += 1.0  # what no force at the hand explains is left over, at right angles to what one can
    off = sot.forces_from_torques(robot, q, None, None, tau, hand)
    assert np.linalg.norm(off.residual) > 0.1
    J = pin.computeFrameJacobian(
        robot.pin_model, robot.pin_model.createData(), q, robot.frames["panda_hand_tcp"], pin.LOCAL_WORLD_ALIGNED
    )
    np.testing.assert_allclose(J[:3] @ off.residual, 0.0, atol=1e-9)


def test_a_force_that_no_joint_feels_is_not_invented():
    """A straight pendulum does not feel a force along itself."""
    robot = load("double_pendulum")
    q = np.zeros(robot.pin_model.nq)
    q[::2] = 1.0 if robot.pin_model.nq == 4 else 0.0
    frame = list(robot.frames)[-1]
    found = sot.forces_from_torques(robot, q, None, None, np.array([1.0, 0.3]), [Contact(frame, points=[[0, 0, 0.1]])])
    assert found.rank < found.unknowns and not found.determined
    assert max(np.abs(w).max() for w in found.wrenches.values()) < 1e3


def test_torques_by_name():
    """Without those of the base; and a finger that follows has the torque that is given, not that of its leader."""
    robot, rng = load("talos"), np.random.default_rng(3)
    model = sot.Model(robot)
    tau = np.append(np.zeros(6), rng.normal(size=model.nv - 6))
    named = {joint.name: tau[joint.v] for joint in model.joints.values() if joint.name != "root_joint"}
    array, mapping = (sot.forces_from_torques(robot, robot.home, None, None, t) for t in (tau, named))
    np.testing.assert_array_equal(array.wrenches["left_sole_link"], mapping.wrenches["left_sole_link"])
    panda = load("panda")
    hand, tau = [Contact("panda_hand_tcp", points=[[0, 0, 0]])], np.append(rng.normal(size=8), 0.0)
    named = dict(zip(sot.Model(panda).joints, tau[:-1], strict=False))
    array, mapping = (sot.forces_from_torques(panda, panda.home, None, None, t, hand) for t in (tau, named))
    np.testing.assert_array_equal(array.residual, mapping.residual)


def test_mistakes_are_named():
    robot = load("talos")
    with pytest.raises(TaskError, match=r"torques: robot 'talos' has 38 numbers, got shape \(32,\)"):
        sot.forces_from_torques(robot, robot.home, None, None, np.zeros(32))
    with pytest.raises(TaskError, match="unknown frame 'foot'"):
        sot.forces_from_torques(robot, robot.home, None, None, np.zeros(38), ["foot"])
    with pytest.raises(TaskError, match="gain: expected a number > 0"):
        sot.MomentumObserver(robot, gain=-1.0)
    observer = sot.MomentumObserver(robot)
    observer.push(0.0, robot.home, np.zeros(38), np.zeros(38))
    with pytest.raises(TaskError, match="MomentumObserver: time 0 s is not after"):
        observer.push(0.0, robot.home, np.zeros(38), np.zeros(38))


# -- momentum observer -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["panda", *LEGGED])
def test_the_momentum_balance_holds(name):
    """d/dt (M v) = τ + Cᵀv − g along a motion, by central differences; for a free base in its own axes too."""
    robot, rng = load(name), np.random.default_rng(2)
    model = sot.Model(robot)
    q, v = model.random_configuration(rng, 0.3), rng.normal(size=model.nv)
    tau = rng.normal(size=model.nv)
    a, h = pin.aba(robot.pin_model, robot.pin_model.createData(), q, v, tau), 1e-5
    p = []
    for s in (-h, h):
        model.update(model.integrate(q, s * v + 0.5 * s * s * a), v + s * a)
        p.append(model.mass_matrix @ model.v)
    model.update(q, v)
    C = model.coriolis_matrix
    gravity = pin.computeGeneralizedGravity(robot.pin_model, robot.pin_model.createData(), q)
    np.testing.assert_allclose(C @ v + gravity, model.bias, atol=1e-9 * (1.0 + np.abs(model.bias).max()))
    scale = 1.0 + np.abs(model.mass_matrix @ a).max()
    np.testing.assert_allclose((p[1] - p[0]) / (2 * h), tau + C.T @ v - gravity, atol=1e-4 * scale)


def simulate(robot, observer, force, *, dt, end, torques):
    """Integrate a robot on which a wrench acts (at a frame, in the world's axes); the observer sees torques only."""
    model, data = robot.pin_model, robot.pin_model.createData()
    q, v, steps = robot.home.copy(), np.zeros(model.nv), round(end / dt)
    observer.push(0.0, q, v, torques(q, v))
    estimates, exact = [], []
    for k in range(1, steps + 1):
        tau = torques(q, v)
        external = on_joints(robot, q, force)
        # The explicit midpoint rule: errors of order dt³ per step.
        a = pin.aba(model, data, q, v, tau + external)
        middle = pin.integrate(model, q, 0.5 * dt * v)
        v_middle = v + 0.5 * dt * a
        at_middle = on_joints(robot, middle, force)
        a = pin.aba(model, data, middle, v_middle, tau + at_middle)
        q, v = pin.integrate(model, q, dt * v_middle), v + dt * a
        estimates.append(observer.push(k * dt, q, v, tau))
        exact.append(at_middle)
    return np.array(estimates), np.array(exact), q


def holding(robot, stiffness=200.0, damping=10.0):
    """Gravity and a soft posture."""
    model, data = robot.pin_model, robot.pin_model.createData()
    M = np.diag(pin.crba(model, data, robot.home)).copy()

    def torques(q, v):
        g = pin.computeGeneralizedGravity(model, data, q).copy()
        return g - M * (stiffness * pin.difference(model, robot.home, q) + damping * v)

    return torques


@pytest.mark.parametrize("gain", [20.0, 100.0])
def test_the_observer_converges_at_its_rate(gain):
    """r follows τ_ext as a first-order lag does: compared with that lag of the true external torque."""
    robot, force = load("panda"), {"panda_hand_tcp": np.array([5.0, -3.0, 8.0, 0.0, 0.0, 0.0])}
    observer, dt = sot.MomentumObserver(robot, gain), 1e-3
    estimates, exact, _ = simulate(robot, observer, force, dt=dt, end=0.3, torques=holding(robot))
    expected, r = [], np.zeros(robot.pin_model.nv)
    for tau in exact:
        r = r + (1.0 - np.exp(-gain * dt)) * (tau - r)
        expected.append(r)
    np.testing.assert_allclose(estimates, expected, atol=2e-3)
    after = round(1.0 / gain / dt)  # one time constant: 63 %
    biggest = int(np.argmax(np.abs(exact[0])))
    assert estimates[after - 1][biggest] / exact[after - 1][biggest] == pytest.approx(1 - np.exp(-1), abs=0.02)


@pytest.mark.parametrize("name", ["panda", "talos", "solo12"])
def test_the_observer_finds_the_force(name):
    """A constant force at a hand or a foot, in the air, and no acceleration is ever measured."""
    robot = load(name)
    frame = robot.hands[0] if robot.hands else robot.feet[0].frame
    force = {frame: np.array([2.0, -1.0, 3.0, 0.0, 0.0, 0.0]) * robot.mass / 16.0}
    observer = sot.MomentumObserver(robot, 100.0)
    torques = holding(robot)

    def in_the_air(q, v):
        return np.where(robot.actuated | (robot.root == "fixed"), torques(q, v), 0.0)

    simulate(robot, observer, force, dt=1e-3, end=0.2, torques=in_the_air)
    found = observer.forces([Contact(frame, points=[[0.0, 0.0, 0.0]])])
    size = np.linalg.norm(force[frame])
    np.testing.assert_allclose(found.wrenches[frame][:3], force[frame][:3], atol=0.01 * size)
    assert np.abs(found.residual).max() < 0.01 * size
    observer.reset()
    assert not observer.torques.any()


def test_without_a_force_nothing_is_seen():
    robot = load("solo12")
    observer = sot.MomentumObserver(robot, 100.0)
    torques = holding(robot)
    estimates, _, _ = simulate(
        robot, observer, {}, dt=1e-3, end=0.1, torques=lambda q, v: np.where(robot.actuated, torques(q, v) + 0.1, 0.0)
    )
    assert np.abs(estimates).max() < 2e-4 * weight(robot)
