"""Inverse kinematics in one call."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sot
from sot import SE3, Controller, Stack, State
from sot.cli import main
from sot.errors import ModelError, TaskError
from sot.model import Model
from sot.robots import load
from sot.tasks import CartesianMotion, CenterOfMass, Collisions, JointLimits, Pose, Position, Posture

ARMS = {
    "panda": ("panda_hand", {}, ("panda_joint",)),
    "ur5": ("tool0", {}, ("",)),
    "talos": ("gripper_left_base_link", {"root": "fixed"}, ("arm_left", "torso")),
}


def reachable(robot, frame, moving, rng):
    """A pose that some configuration inside the limits has, by construction."""
    model, q = Model(robot), robot.home.copy()
    for joint in model.joints.values():
        if joint.is_scalar and joint.name.startswith(moving):
            low = max(model.pin.lowerPositionLimit[joint.q][0], -np.pi)
            high = min(model.pin.upperPositionLimit[joint.q][0], np.pi)
            q[joint.q] = rng.uniform(low, high)
    return pose_of(robot, frame, q)


def pose_of(robot, frame, q):
    model = Model(robot)
    model.update(q, np.zeros(model.nv))
    return SE3(model.placement(model.frame(frame)))


def assert_inside(robot, q):
    model = Model(robot)
    for joint in model.joints.values():
        if joint.is_scalar:
            low, high = model.pin.lowerPositionLimit[joint.q], model.pin.upperPositionLimit[joint.q]
            assert low - 1e-12 <= q[joint.q] <= high + 1e-12


@pytest.mark.parametrize("name", ARMS)
def test_reachable_poses_are_reached(name):
    """2,000 random poses: at least 99.5 % are found; every success is checked by forward kinematics and limits."""
    frame, options, moving = ARMS[name]
    robot, rng = load(name, **options), np.random.default_rng(1)
    found = 0
    for _ in range(2000):
        T = reachable(robot, frame, moving, rng)
        result = sot.solve_ik(robot, Pose(frame, reference=T))
        if result:
            found += 1
            reached = pose_of(robot, frame, result.q)
            assert np.linalg.norm(reached.translation - T.translation) <= 1e-6
            assert np.abs(reached.rotation - T.rotation).max() <= 2e-6
            assert_inside(robot, result.q)
    assert found >= 1990


def test_several_targets_are_met_together():
    """Talos: both soles where they are, both hands and the centre of mass elsewhere; the base is free to follow."""
    talos = load("talos")
    feet = [Pose(foot.frame, name=foot.frame, reference=pose_of(talos, foot.frame, talos.home)) for foot in talos.feet]
    hands = [
        Position(hand, name=hand, reference=pose_of(talos, hand, talos.home).translation + np.array([0.1, 0.0, 0.1]))
        for hand in talos.hands
    ]
    model = Model(talos)
    result = sot.solve_ik(talos, [*feet, *hands, CenterOfMass(reference=model.com + np.array([0.0, 0.02, 0.0]))])
    assert result, result.reason
    assert max(result.error.values()) <= 1e-6
    assert_inside(talos, result.q)


def test_gears_hold_in_the_answer():
    """Panda's second finger follows the first, also after random restarts."""
    panda = load("panda")
    wish = [Position("panda_leftfinger", reference=[0.4, 0.2, 0.5]), Posture(["panda_finger_joint1"], reference=[0.03])]
    result = sot.solve_ik(panda, wish)
    assert result, result.reason
    assert result.q[7] == pytest.approx(0.03, abs=1e-6)
    assert result.q[8] == pytest.approx(result.q[7], abs=1e-6)


def test_what_is_out_of_reach_is_said_in_words():
    panda = load("panda")
    result = sot.solve_ik(panda, Position("panda_hand", reference=[3.0, 0.0, 0.5]), restarts=3)
    assert not result
    assert "position_panda_hand misses by" in result.reason
    # As near as it gets: stretched towards the target, so the distance that is left is about 3 m minus the arm.
    assert 1.5 < result.error["position_panda_hand"] < 2.5
    assert_inside(panda, result.q)
    assert np.isfinite(result.q).all()


def test_the_same_seed_gives_the_same_answer():
    ur5 = load("ur5")
    T = reachable(ur5, "tool0", ("",), np.random.default_rng(7))
    one, other = (sot.solve_ik(ur5, Pose("tool0", reference=T), seed=3) for _ in range(2))
    assert np.array_equal(one.q, other.q)


def test_running_tasks_are_not_disturbed():
    """A task that is at work in a controller can be a target as well."""
    panda = load("panda")
    hand = Position("panda_hand", reference=[0.4, 0.1, 0.5])
    controller = Controller(panda, Stack([], [hand], [Posture()]))
    twin = Controller(panda, Stack([], [Position("panda_hand", reference=hand.reference)], [Posture()]))
    state = State(0.0, panda.home, np.zeros(9))
    for k in range(5):
        state = State(k * 1e-3, panda.home, np.zeros(9))
        if k == 2:
            sot.solve_ik(panda, hand, restarts=0)
        assert np.array_equal(controller.step(state).v, twin.step(state).v)
    assert hand.gain == 5.0


def test_joints_that_follow_others_do_so_also_where_the_target_is_missed():
    panda = load("panda")
    result = sot.solve_ik(panda, Position("panda_hand", reference=[3.0, 0.1, 0.5]))
    assert not result
    assert result.q[-1] == pytest.approx(result.q[-2], abs=1e-12)


def test_a_batch_begins_where_it_is_told():
    panda, target = load("panda"), Position("panda_hand", reference=[0.4, 0.1, 0.5])
    q0 = sot.solve_ik(panda, target).q
    first, second = sot.solve_ik_batch(panda, [target, target], q0=q0)
    assert first.iterations == second.iterations == 0


def test_a_batch_shows_its_progress(capsys):
    panda, rng = load("panda"), np.random.default_rng(2)
    targets = [Pose("panda_hand", reference=reachable(panda, "panda_hand", ("panda_joint",), rng)) for _ in range(5)]
    results = sot.solve_ik_batch(panda, targets, progress=True)
    assert all(results)
    assert "5/5, 5 solved" in capsys.readouterr().err


def nearest(collisions, robot, q):
    model = Model(robot)
    model.update(q, np.zeros(model.nv))
    return collisions.nearest(model, 1)[0].distance


@pytest.mark.parametrize("name, frame", [("panda", "panda_hand_tcp"), ("ur5", "tool0")])
def test_collisions_are_avoided(name, frame):
    """A post stands where the plain answer is; every answer keeps away from it, and meets the same target."""
    robot = load(name)
    plain = sot.solve_ik(robot, Position(frame, reference=[0.35, 0.3, 0.5]))
    model = Model(robot)
    model.update(plain.q, np.zeros(model.nv))
    elbow = model.joint_placements[4, 9:]  # in the middle of the arm
    post = sot.Obstacle("post", ball=0.08, at=elbow)
    around = Collisions(margin=0.02, obstacles=[post])
    assert nearest(around, robot, plain.q) < 0.0
    result = sot.solve_ik(robot, Position(frame, reference=[0.35, 0.3, 0.5]), constraints=around)
    assert result, result.reason
    assert nearest(around, robot, result.q) >= 0.02
    assert np.allclose(pose_of(robot, frame, result.q).translation, [0.35, 0.3, 0.5], atol=1e-6)
    assert result.error["collisions"] == 0.0


def test_an_obstacle_that_moved_counts_where_it_is_now():
    robot = load("ur5")
    wall = sot.Obstacle("wall", box=[0.02, 1.0, 1.0], at=[5.0, 0.0, 0.5])
    around = Collisions(obstacles=[wall])
    target = Position("tool0", reference=[0.5, 0.1, 0.3])
    assert sot.solve_ik(robot, target, constraints=around)
    wall.pose = [0.5, 0.1, 0.3]
    blocked = sot.solve_ik(robot, target, constraints=around, restarts=3)
    assert not blocked
    assert "collisions" in blocked.reason
    wall.pose = [5.0, 0.0, 0.5]
    assert sot.solve_ik(robot, target, constraints=around)


def test_mistakes_are_named():
    panda = load("panda")
    with pytest.raises(TaskError, match="solve_ik"):
        sot.solve_ik(panda, [])
    with pytest.raises(TaskError, match="q0"):
        sot.solve_ik(panda, Position("panda_hand", reference=[0.4, 0, 0.4]), q0=[0.0, 1.0])
    with pytest.raises(TaskError, match="tolerance"):
        sot.solve_ik(panda, Position("panda_hand", reference=[0.4, 0, 0.4]), tolerance=-1.0)
    with pytest.raises(TaskError, match="joint limits are kept anyway"):
        sot.solve_ik(panda, Position("panda_hand", reference=[0.4, 0, 0.4]), constraints=JointLimits())
    with pytest.raises(TaskError, match="constraints: expected a list"):
        sot.solve_ik(panda, Position("panda_hand", reference=[0.4, 0, 0.4]), constraints=3)
    with pytest.raises(TaskError, match="restarts"):
        sot.solve_ik(panda, Position("panda_hand", reference=[0.4, 0, 0.4]), restarts=-1)
    with pytest.raises(TaskError, match="iterations"):
        sot.solve_ik(panda, Position("panda_hand", reference=[0.4, 0, 0.4]), iterations=0)
    with pytest.raises(ModelError, match="nowhere"):
        sot.solve_ik(panda, Position("nowhere", reference=[0.4, 0, 0.4]))


def test_what_cannot_be_a_target_is_refused():
    """Else the answer would be about something else: the start of a motion, the last of two, a balance of forces."""
    panda = load("panda")
    with pytest.raises(TaskError, match="position_panda_hand: expected a place as reference, got one that moves"):
        sot.solve_ik(panda, Position("panda_hand", reference=sot.move(by=[0.1, 0.0, 0.0], duration=1.0)))
    both = [Position("panda_hand", mask=axis, reference=[0.4, 0.1, 0.5]) for axis in "xz"]
    with pytest.raises(TaskError, match="two targets are named 'position_panda_hand'"):
        sot.solve_ik(panda, both)
    with pytest.raises(TaskError, match="expected tasks such as Pose"):
        sot.solve_ik(panda, CartesianMotion("panda_hand", reference=[0.4, 0.1, 0.5, 1, 0, 0, 0]))


def test_on_the_command_line(capsys):
    words = ["ik", "panda", "--frame", "panda_hand", "--position", "0.4", "0.1", "0.5"]
    assert main([*words, "--json"]) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    reached = pose_of(load("panda"), "panda_hand", np.array(result["q"]))
    assert np.allclose(reached.translation, [0.4, 0.1, 0.5], atol=1e-6)
    assert main([*words, "--rpy", "3.14", "0", "0"]) == 0
    assert main([*words, "--collisions"]) == 0
    assert "panda_joint1" in capsys.readouterr().out
    assert main([*words[:-3], "5", "5", "5"]) == 1
    assert "misses by" in capsys.readouterr().out
    assert main([*words[:3], "nowhere", *words[4:]]) == 2
