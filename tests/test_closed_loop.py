"""Frames that are joined: motions, loop forces and torques against pinocchio's constrained dynamics."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import sot
from sot.errors import ModelError, SotError, TaskError
from sot.robots import load
from sot.state import State
from sot.tasks import CenterOfMass, ClosedLoop, Contact, JointLimits, Pose, Posture, TorqueLimits

LINK = """<link name="{0}"><inertial><origin xyz="{1} 0 0"/><mass value="{2}"/>
<inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/><origin xyz="{3} 0 0"/>
<axis xyz="0 -1 0"/><limit lower="-4" upper="4" effort="50" velocity="20"/></joint>"""
TIP = """<link name="{0}"/><joint name="{0}_fixed" type="fixed"><parent link="{1}"/><child link="{0}"/>
<origin xyz="{2} 0 0"/></joint>"""
CRANK, COUPLER, ROCKER, GROUND = 0.2, 0.5, 0.35, 0.4  # m


def four_bar(tmp_path, **options):
    """A crank, a coupler and a rocker as a tree, with the ends of coupler and rocker to be joined."""
    text = "".join([
        '<robot name="four_bar"><link name="base"/>',
        LINK.format("crank", 0.5 * CRANK, 0.5), LINK.format("coupler", 0.5 * COUPLER, 1.0),
        LINK.format("rocker", 0.5 * ROCKER, 0.8),
        JOINT.format("j_crank", "base", "crank", 0.0), JOINT.format("j_coupler", "crank", "coupler", CRANK),
        JOINT.format("j_rocker", "base", "rocker", GROUND),
        TIP.format("coupler_end", "coupler", COUPLER), TIP.format("rocker_end", "rocker", ROCKER), "</robot>",
    ])  # fmt: skip
    path = tmp_path / "four_bar.urdf"
    path.write_text(text)
    crank, coupler, rocker = closed(1.0)
    home = {"joints": {"j_crank": crank, "j_coupler": coupler, "j_rocker": rocker}}
    return load(path, home=home, passive=["j_coupler", "j_rocker"], **options)


def closed(crank):
    """Angles of the joints with the loop closed, from the intersection of two circles."""
    end = CRANK * np.array([np.cos(crank), np.sin(crank)])
    across = np.array([GROUND, 0.0]) - end
    d = np.linalg.norm(across)
    along = (COUPLER**2 - ROCKER**2 + d**2) / (2.0 * d)
    tip = end + along * across / d + np.sqrt(COUPLER**2 - along**2) * np.array([-across[1], across[0]]) / d
    coupler = np.arctan2(*(tip - end)[::-1])
    return crank, coupler - crank, np.arctan2(tip[1], tip[0] - GROUND)


def consistent(J, v):
    return v - np.linalg.pinv(J) @ (J @ v)


def accelerations(controller):
    return controller.solver.x[: controller.model.nv]


def rigid(model, kind, q, frame, other=None):
    """A constraint of pinocchio's own where a frame is: with the link of another frame, or with the world."""
    one = model.frames[model.getFrameId(frame)]
    if other is None:
        return pin.RigidConstraintModel(kind, model, one.parentJoint, one.placement, pin.LOCAL)
    data, joint = model.createData(), model.frames[model.getFrameId(other)].parentJoint
    pin.framesForwardKinematics(model, data, q)
    there = data.oMi[joint].actInv(data.oMf[model.getFrameId(frame)])
    return pin.RigidConstraintModel(kind, model, one.parentJoint, one.placement, joint, there, pin.LOCAL)


def forward(model, q, v, tau, constraints):
    """Accelerations under torques and constraints, by pinocchio."""
    data = model.createData()
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for constraint in constraints:
        models.append(constraint)
        datas.append(constraint.createData())
    pin.initConstraintDynamics(model, data, models, datas)
    settings = pin.ProximalSettings(1e-14, 1e-10, 100)
    return np.array(pin.constraintDynamics(model, data, q, v, tau, models, datas, settings))


def test_a_four_bar_linkage_moves_as_pinocchio_says(tmp_path):
    """One motor drives three joints; two of them have no torque. v̇ from the torque alone, to 1e-8."""
    robot, rng = four_bar(tmp_path), np.random.default_rng(0)
    for _ in range(10):
        loop = ClosedLoop("coupler_end", "rocker_end", "ball", reference=[0.0, 0.0, 0.0])
        stack = sot.Stack([loop], [Posture("j_crank", gain=5.0, reference=[2.0])])
        controller = sot.Controller(robot, stack, output="torque")
        q = np.array(closed(rng.uniform(0.3, 2.5)))
        controller.model.update(q, np.zeros(3))
        v = consistent(loop.jacobian(controller.model), 3.0 * rng.normal(size=3))
        command = controller.step(State(0.0, q, v))
        assert (command.tau[1:] == 0.0).all() and abs(command.tau[0]) > 1e-3
        joint = rigid(robot.pin_model, pin.ContactType.CONTACT_3D, q, "coupler_end", "rocker_end")
        expected = forward(robot.pin_model, q, v, command.tau, [joint])
        found = accelerations(controller)
        np.testing.assert_allclose(found, expected, atol=1e-8 * (1.0 + np.abs(expected).max()))
        force = controller.formulation.loop_forces(controller.solver.x)[loop.name]
        needed = pin.rnea(robot.pin_model, robot.pin_model.createData(), q, v, found)
        np.testing.assert_allclose(command.tau + loop.jacobian(controller.model).T @ force[:3], needed, atol=1e-9)
        assert not force[3:].any() and np.linalg.norm(force) > 0.1


def test_the_linkage_stays_closed(tmp_path):
    """A crank that goes round for a second: the loop's error stays small, and joints are where geometry puts them."""
    robot = four_bar(tmp_path)
    loop = ClosedLoop("coupler_end", "rocker_end", "ball", reference=[0.0, 0.0, 0.0])
    crank = Posture("j_crank", gain=8.0, reference=[2.4])
    controller = sot.Controller(robot, sot.Stack([loop], [crank]), output="torque")
    q, v, worst = robot.home.copy(), np.zeros(3), 0.0
    for k in range(1000):
        command = controller.step(State(1e-3 * k, q, v))
        worst = max(worst, float(np.linalg.norm(loop.error(controller.model))))
        q, v = command.q, command.v
    assert worst < 1e-4 and controller.counters.infeasible == 0
    assert q[0] == pytest.approx(2.4, abs=0.01)
    np.testing.assert_allclose(q, closed(q[0]), atol=1e-4)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(("name", "hands"), [
    ("talos", ["gripper_left_base_link", "gripper_right_base_link"]), ("g1", ["left_rubber_hand", "right_rubber_hand"]),
])  # fmt: skip
def test_two_hands_hold_a_bar(name, hands, compiled):
    """Both soles on the ground and a rigid bar in the hands: v̇ from the torques, by pinocchio, to 1e-8."""
    robot, rng = load(name), np.random.default_rng(3)
    model = robot.pin_model
    for _ in range(3):
        loop, contacts = ClosedLoop(*hands), [Contact(foot.frame) for foot in robot.feet]
        stack = sot.Stack([*contacts, loop], [CenterOfMass(gain=5.0)], [Posture(gain=5.0)])
        controller = sot.Controller(robot, stack, output="torque", compiled=compiled)
        q = controller.model.integrate(robot.home, 0.03 * rng.normal(size=model.nv))
        controller.model.update(q, np.zeros(model.nv))
        J = np.vstack([entry.jacobian(controller.model) for entry in (*contacts, loop)])
        v = consistent(J, 0.05 * rng.normal(size=model.nv))
        command = controller.step(State(0.0, q, v))
        constraints = [rigid(model, pin.ContactType.CONTACT_6D, q, foot.frame) for foot in robot.feet]
        constraints.append(rigid(model, pin.ContactType.CONTACT_6D, q, *hands))
        expected = forward(model, q, v, command.tau, constraints)
        np.testing.assert_allclose(accelerations(controller), expected, atol=1e-8 * (1.0 + np.abs(expected).max()))


def forces_of(controller, contacts, loop):
    """Σ Jᵀ y of contacts and loop."""
    found = controller.formulation.forces_of(controller.solver.x)
    pushed = sum(contact.force_jacobian(controller.model).T @ found[contact] for contact in contacts)
    wrench = controller.formulation.loop_forces(controller.solver.x)[loop.name]
    return pushed + loop.jacobian(controller.model).T @ wrench


def test_the_equation_of_motion_holds_with_a_loop():
    """τ + Jᵀ y + Jᵀ λ = M v̇ + h on Talos, in all three meanings; the loop carries forces that hands press with."""
    robot = load("talos")
    hands = ["gripper_left_base_link", "gripper_right_base_link"]
    for solver in ("hierarchical", "weighted", "nullspace"):
        loop, contacts = ClosedLoop(*hands), [Contact(foot.frame) for foot in robot.feet]
        push = Pose(hands[0], gain=10.0, reference=sot.move(by=[0.0, 0.05, 0.0], duration=0.5))
        hard = [JointLimits(), TorqueLimits(), *contacts, loop]
        stack = sot.Stack(hard, [CenterOfMass()], [push], [Posture(gain=5.0)])
        controller = sot.Controller(robot, stack, output="torque", solver=solver)
        q, v = robot.home.copy(), np.zeros(robot.pin_model.nv)
        for k in range(20):
            command = controller.step(State(1e-3 * k, q, v))
            needed = pin.rnea(robot.pin_model, robot.pin_model.createData(), q, v, accelerations(controller))
            found = command.tau + forces_of(controller, contacts, loop)
            assert np.abs(needed - found).max() < 1e-9 * robot.mass * 9.81
            q, v = command.q, command.v
        assert np.abs(loop.error(controller.model)).max() < 1e-5


def test_at_velocity_level_the_hands_stay_together():
    robot = load("talos")
    hands = ["gripper_left_base_link", "gripper_right_base_link"]
    loop = ClosedLoop(*hands)
    push = Pose(hands[0], gain=5.0, reference=sot.move(by=[0.05, 0.05, 0.05], duration=0.5))
    feet = [Contact(foot.frame) for foot in robot.feet]
    controller = sot.Controller(robot, sot.Stack([JointLimits(), *feet, loop], [push], [Posture()]))
    q, v = robot.home.copy(), np.zeros(robot.pin_model.nv)
    for k in range(700):
        command = controller.step(State(1e-3 * k, q, v))
        q, v = controller.model.integrate(q, 1e-3 * command.v), command.v
    assert np.abs(loop.error(controller.model)).max() < 1e-6 and np.abs(push.error(controller.model)).max() < 5e-3


def test_a_hinge_is_a_loop_with_a_mask():
    loop = ClosedLoop("gripper_left_base_link", "gripper_right_base_link", mask=["x", "y", "z", "rx", "ry"])
    model = sot.Model(load("talos"))
    loop.setup(model)
    assert loop.size == 5 and loop.force_labels == ["fx", "fy", "fz", "tx", "ty"]
    np.testing.assert_array_equal(loop.wrench(np.arange(1.0, 6.0)), [1.0, 2.0, 3.0, 4.0, 5.0, 0.0])
    assert loop.force_jacobian(model).shape == (5, model.nv)


def test_passive_joints_have_no_motor(tmp_path):
    robot = four_bar(tmp_path)
    assert robot.passive == ("j_coupler", "j_rocker") and robot.actuated.tolist() == [True, False, False]
    assert four_bar(tmp_path, lock=["j_rocker"]).passive == ("j_coupler",)
    with pytest.raises(ModelError, match="passive: unknown joint"):
        load(tmp_path / "four_bar.urdf", passive=["j_wheel"])
    controller = sot.Controller(robot, sot.Stack([], [Posture("j_crank")]), output="torque")
    controller.step(State(0.0, robot.home, np.zeros(3)))
    assert "no_motor" in str(controller.explain())


BAD = {
    "same": (lambda: ClosedLoop("crank", "crank"), "itself"),
    "joined": (lambda: ClosedLoop("crank", "rocker", "hinge"), "ball"),
    "frame": (lambda: ClosedLoop("crnk", "rocker"), "crank"),
    "one link": (lambda: ClosedLoop("coupler", "coupler_end"), "one link"),
    "reference": (lambda: ClosedLoop("crank", "rocker", "ball", reference=[0.0, np.nan, 0.0]), "finite"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_said(tmp_path, case):
    make, words = BAD[case]
    robot = four_bar(tmp_path)
    with pytest.raises(SotError, match=words):
        controller = sot.Controller(robot, sot.Stack([make()], []), output="torque")
        controller.step(State(0.0, robot.home, np.zeros(3)))


def test_a_loop_is_hard(tmp_path):
    with pytest.raises(TaskError, match="a closed loop stands on level 0"):
        sot.Controller(four_bar(tmp_path), sot.Stack([], [ClosedLoop("crank", "rocker")]), output="torque")
