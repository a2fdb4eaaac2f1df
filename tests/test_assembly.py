"""The compiled rows, bounds and metric are those of the Python definitions."""

from __future__ import annotations

import numpy as np
import pytest

from sot import PD, SE3, AdaptiveGain, Controller, Stack, State, circle, move, sine
from sot.lie import exp3
from sot.robots import load
from sot.tasks import (
    CenterOfMass,
    CentroidalMomentum,
    Contact,
    Direction,
    JointLimits,
    Orientation,
    Pose,
    Position,
    Posture,
    TorqueLimits,
)

ROBOTS = ["panda", "ur5", "tiago", "solo12", "talos", "g1"]


def frame_of(robot):
    """The last frame of the tree that a joint moves."""
    return (robot.hands or tuple(foot.frame for foot in robot.feet))[0]


def stack_for(robot, rng):
    """All compiled kinds of tasks, in all axes, with masks, weights, gains of every kind and moving targets."""
    frame = frame_of(robot)
    pose = SE3(exp3(rng.normal(size=3)), rng.normal(size=3))
    tasks = [
        Pose(frame, expressed=axes, reference=pose, gain=rng.uniform(1, 20), weight=rng.uniform(0.1, 9), name=axes)
        for axes in ("local", "world", "aligned")
    ]
    tasks += [
        Pose(frame, name="masked", mask=["x", "rz"], gain=[1, 2, 3, 4, 5, 6]),
        Pose(frame, name="adaptive", gain=AdaptiveGain(near=20, far=2, slope=5), reference=pose),
        Position(frame, reference=sine(amplitude=[0.1, 0.2, 0.3], frequency=1.0)),
        Orientation(frame, reference=pose.rotation, expressed="local"),
        CenterOfMass(reference=rng.normal(size=3), mask="xz"),
    ]
    return Stack([JointLimits(acceleration=30.0)], tasks, [Posture(gain=3.0)])


def problems(robot, meaning, seed, compiled):
    """Problems of a few random states."""
    rng = np.random.default_rng(seed)
    controller = Controller(robot, stack_for(robot, rng), solver=meaning, dt=2e-3, compiled=compiled)
    for k in range(5):
        q = controller.model.random_configuration(rng)
        controller.step(State(0.3 * k, q, rng.normal(size=controller.model.nv)))
        yield controller.plan.problem


@pytest.mark.parametrize("meaning", ["hierarchical", "weighted"])
@pytest.mark.parametrize("name", ROBOTS)
def test_both_ways_to_fill_a_plan_agree(name, meaning):
    robot = load(name)
    pairs = zip(problems(robot, meaning, 1, True), problems(robot, meaning, 1, False), strict=True)
    for fast, slow in pairs:
        for field in ("A", "lower", "upper", "metric", "target", "x_lower", "x_upper"):
            np.testing.assert_allclose(getattr(fast, field), getattr(slow, field), rtol=1e-9, atol=1e-9, err_msg=field)


@pytest.mark.parametrize("meaning", ["nullspace", "hierarchical", "weighted"])
@pytest.mark.parametrize("name", ROBOTS)
def test_both_kernels_give_the_same_command(name, meaning):
    """Along a closed loop, where the working set changes; each kernel is warm from its own past."""
    robot = load(name)
    frame = frame_of(robot)

    def controller(compiled):
        move = sine(amplitude=[0.15, 0.1, -0.2, 0, 0, 0], frequency=0.8)
        feet = [Position(foot.frame, name=foot.frame) for foot in robot.feet if foot.frame != frame]
        hand = Pose(frame, reference=move, gain=15.0)
        limits = JointLimits(scale=0.002 if name == "solo12" else 0.05)  # Solo's joints are that fast
        stack = Stack([limits], [*feet, hand], [Posture(weight=1e-2)])
        return Controller(robot, stack, solver=meaning, dt=5e-3, compiled=compiled)

    fast, slow = controller(True), controller(False)
    # Not from home, where the axes of some wrists are parallel up to rounding: nothing to agree on.
    q, v = fast.model.random_configuration(np.random.default_rng(3), spread=0.2), np.zeros(fast.model.nv)
    active = 0
    for k in range(60):
        state = State(k * 5e-3, q, v)
        command = fast.step(state)
        np.testing.assert_allclose(command.v, slow.step(state).v, atol=1e-9)
        active += np.count_nonzero(np.abs(fast.solver.status) == 1)
        q, v = fast.model.integrate(q, command.v * 5e-3), command.v
    assert active > 0 or meaning == "nullspace"  # the limits took part


@pytest.mark.parametrize(("name", "pointing"), [("kinova", False), ("xarm7", True)])
def test_rounding_is_no_motion(name, pointing):
    """A wrist that does not move the hand, or the third row of a direction, leave numbers of size 1e-17 in the rows.

    Whoever takes them for a direction of motion decides by rounding, and the two kernels round differently.
    """
    robot = load(name)

    def controller(compiled):
        turning = circle(0.06, speed=5.0, normal=[1, 0.5, 0], fade=0.2)
        hand = Position(robot.hands[0], gain=20.0, weight=2.0, reference=turning)
        extra = [[Direction(robot.hands[0])]] if pointing else []
        stack = Stack([JointLimits(acceleration=50.0)], [hand], *extra, [Posture(gain=2.0)])
        return Controller(robot, stack, dt=5e-3, compiled=compiled)

    fast, slow = controller(True), controller(False)
    q, v = robot.home, np.zeros(fast.model.nv)
    for k in range(200):
        state = State(k * 5e-3, q, v)
        command = fast.step(state)
        np.testing.assert_allclose(command.v, slow.step(state).v, atol=1e-9)
        q, v = fast.model.integrate(q, command.v * 5e-3), command.v


def test_nullspace_ties_are_not_decided_by_rounding():
    """Two joints that reach their bounds together, while the stack changes: both kernels hold the same one first."""
    robot = load("tiago")

    def controller(compiled):
        stack = Stack([JointLimits(acceleration=20.0)], [Position(robot.hands[0], gain=20.0)], [Posture()])
        return stack, Controller(robot, stack, solver="nullspace", dt=5e-3, compiled=compiled)

    (stack, fast), (twin, slow) = controller(True), controller(False)
    q, v = robot.home, np.zeros(fast.model.nv)
    for k in range(120):
        if k == 20:
            for each in (stack, twin):
                each["position_" + robot.hands[0]].reference = [1.5, 0.5, 0.3]
                each.push(CenterOfMass(reference=[0.1, 0.1, 0.6]), level=2, insert=True, ramp=0.1)
        state = State(k * 5e-3, q, v)
        command = fast.step(state)
        np.testing.assert_allclose(command.v, slow.step(state).v, atol=1e-9)
        q, v = fast.model.integrate(q, command.v * 5e-3), command.v


def test_both_kernels_take_the_same_rank_near_a_singularity():
    """With its arm at the limits, Tiago's head and base move the centre of mass along nearly the same line."""
    robot = load("tiago")

    def controller(compiled):
        move_hand = move(by=[0.3, 0.1, -0.2], duration=0.3)
        hand = Pose(robot.hands[0], name="hand", mask=["x", "z", "ry"], gain=[5, 6, 7, 8, 9, 10], reference=move_hand)
        turn = Orientation(robot.hands[0], gain=AdaptiveGain(near=10.0, far=1.0, slope=3.0))
        stack = Stack([JointLimits(acceleration=20.0)], [turn], [hand], [Posture(weight=0.3, gain=2.0)])
        return stack, Controller(robot, stack, solver="nullspace", dt=5e-3, compiled=compiled)

    (stack, fast), (twin, slow) = controller(True), controller(False)
    q, v = robot.home, np.zeros(fast.model.nv)
    for k in range(80):
        if k == 20:
            for each in (stack, twin):
                each.push(CenterOfMass(name="com", mask="xy"), level=1, ramp=0.1)
        if k == 60:
            for each in (stack, twin):
                each.swap("com", "hand", ramp=0.1)
        state = State(k * 5e-3, q, v)
        command = fast.step(state)
        np.testing.assert_allclose(command.v, slow.step(state).v, atol=1e-9)
        q, v = fast.model.integrate(q, command.v * 5e-3), command.v


# -- torque level ----------------------------------------------------------------------------------------------


def torque_stack_for(robot, rng):
    """The same kinds and stiffness and damping, with contacts, motors, and a contact that moves."""
    stack = stack_for(robot, rng)
    frame, pose = frame_of(robot), SE3(exp3(rng.normal(size=3)), rng.normal(size=3))
    contacts = [Contact(foot.frame, friction=rng.uniform(0.2, 1.0)) for foot in robot.feet if foot.frame != frame]
    moves = sine(amplitude=[0.1, 0.0, 0.1, 0.0, 0.2, 0.0], frequency=1.0)
    contacts.append(Contact(frame, reference=moves, name="moves"))
    more = [Pose(frame, name="pd", gain=PD(50.0, 3.0), reference=pose), CentroidalMomentum(mask="angular")]
    hard, tasks, last = stack.levels
    return Stack([*hard, TorqueLimits(scale=0.8), *contacts], [*tasks, *more], last)


def torque_problems(robot, meaning, seed, compiled):
    """Problems of a few random states, written but not solved."""
    rng = np.random.default_rng(seed)
    stack = torque_stack_for(robot, rng)
    controller = Controller(robot, stack, solver=meaning, dt=2e-3, output="torque", compiled=compiled)
    for k in range(5):
        q = controller.model.random_configuration(rng)
        tick = controller.begin_tick(State(0.3 * k, q, rng.normal(size=controller.model.nv)))
        controller.model.update(q, tick.previous)
        controller.phases[-1].write(tick)
        yield controller.plan.problem


@pytest.mark.parametrize("meaning", ["hierarchical", "weighted"])
@pytest.mark.parametrize("name", [*ROBOTS, "bolt", "go2"])
def test_both_ways_to_fill_a_plan_agree_at_torque_level(name, meaning):
    robot = load(name)
    pairs = zip(torque_problems(robot, meaning, 1, True), torque_problems(robot, meaning, 1, False), strict=True)
    for fast, slow in pairs:
        for field in ("A", "lower", "upper", "metric", "target", "x_lower", "x_upper"):
            np.testing.assert_allclose(getattr(fast, field), getattr(slow, field), rtol=1e-9, atol=1e-9, err_msg=field)


def _weakest(solver) -> float:
    """Smallest singular value of the rows in the working set, each of length 1, in the columns that are free."""
    rows, columns = np.split(solver.status, [len(solver.problem.A)])
    A = solver.problem.A[np.ix_(rows != 0, columns == 0)]
    return np.linalg.svd(A / np.linalg.norm(A, axis=1, keepdims=True), compute_uv=False)[-1]


@pytest.mark.parametrize("meaning", ["hierarchical", "weighted"])
@pytest.mark.parametrize("name", ["talos", "solo12", "g1", "panda"])
def test_both_kernels_give_the_same_torques(name, meaning):
    """Along a closed loop in which cones come to their limits; each kernel is warm from its own past.

    Where two facets of a cone tie, either may be in the working set: the other is then kept to 1e-9 only, the tolerance
    of rows, and torques to a few times that. Where facets meet that all but depend on each other, rounding of rows
    comes out divided by the smallest singular value of the working set.
    """
    robot = load(name)
    frame = frame_of(robot)

    def controller(compiled):
        feet = [Contact(foot.frame, friction=0.5) for foot in robot.feet]
        com = [CenterOfMass(gain=10.0, reference=move(by=[0.015, 0.012, -0.015], duration=0.5))] if feet else []
        swing = sine(amplitude=[0.06, 0.03, -0.06, 0, 0, 0], frequency=0.4, fade=0.1)
        hand = [Pose(frame, reference=swing, gain=15.0)] if robot.hands else []
        levels = [level for level in (com, hand) if level]
        stack = Stack([JointLimits(), TorqueLimits(scale=0.5), *feet], *levels, [Posture()])
        return Controller(robot, stack, solver=meaning, dt=5e-3, output="torque", compiled=compiled)

    fast, slow = controller(True), controller(False)
    q, v = robot.home, np.zeros(fast.model.nv)
    active = ties = 0
    for k in range(60):
        state = State(k * 5e-3, q, v)
        command, other = fast.step(state), slow.step(state)
        apart = max(
            np.abs(command.tau - other.tau).max() / (1.0 + np.abs(other.tau).max()),
            np.abs(command.v - other.v).max() / (1.0 + np.abs(other.v).max()),
        )
        if np.array_equal(fast.solver.status, slow.solver.status):
            assert apart <= 1e-9 or apart * _weakest(slow.solver) <= 1e-10
        assert apart <= 5e-8
        ties += apart > 1e-9
        active += np.count_nonzero(np.abs(fast.solver.status) == 1)
        q, v = command.q, command.v
    assert ties <= 5
    assert active > 0 or name in ("solo12", "panda")  # the limits took part
