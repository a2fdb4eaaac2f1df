"""Damping: the law against the textbook formula, nothing at all far away, a smooth hand-over at the singularity."""

from __future__ import annotations

import numpy as np
import pytest

import sot
from sot.config import parse_run
from sot.config.dump import dump
from sot.diagnosis.saved_tick import capture_all
from sot.errors import TaskError
from sot.model import Model
from sot.robots import load
from sot.solvers.status import CAPPED
from sot.state import State
from sot.tasks import (
    CartesianMotion,
    Collisions,
    Damping,
    ImagePoint,
    JointLimits,
    Locked,
    Pose,
    Position,
    Posture,
    SingularityGuard,
)

MODES = ("selective", "adaptive", "constant")
SOLVERS = ("nullspace", "hierarchical", "weighted")
STRETCHED = np.array([0.3, -0.8, 0.0, -0.7, 0.9, 0.2])  # UR5 with its elbow straight


def command(robot, stack, q, *, solver="hierarchical", compiled=True, dt=1e-3):
    controller = sot.Controller(robot, stack, solver=solver, compiled=compiled, dt=dt)
    return controller.step(State(0.0, q, np.zeros(controller.model.nv))).v, controller


def spectrum(controller, frame):
    model = controller.model
    return np.linalg.svd(model.jacobian(model.frame(frame), "aligned"), full_matrices=False)


def wanted(controller, task):
    """What the task asks for before anything is damped."""
    return task.rows(controller.model, controller._tick).lower


def near(q, elbow):
    q = q.copy()
    q[2] = elbow
    return q


GOAL = [0.5, 0.2, 0.4, 0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("elbow", [0.0, 1e-6, 0.02, 0.1, 1.0])
def test_the_command_is_that_of_damped_least_squares(mode, elbow):
    """Without anything below it v = V diag(σ/(σ² + λ²)) Uᵀ b, with λ as the mode says."""
    robot, hand = load("ur5"), Pose("tool0", reference=GOAL)
    damping = Damping(mode, damping=0.04, threshold=0.06)
    v, controller = command(robot, sot.Stack([], [hand, damping]), near(STRETCHED, elbow))
    U, sigma, Vt = spectrum(controller, "tool0")
    square = np.maximum(1.0 - (sigma / 0.06) ** 2, 0.0) ** 2 * 0.04**2
    square = {"selective": square, "adaptive": square.max(), "constant": 0.04**2}[mode]
    expected = Vt.T @ (sigma / np.maximum(sigma**2 + square, 1e-300) * (U.T @ wanted(controller, hand)))
    np.testing.assert_allclose(v, expected, atol=1e-8)
    assert damping.strength == pytest.approx(np.sqrt(np.max(square)))


@pytest.mark.parametrize("mode", ["selective", "adaptive"])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name, frame", [("panda", "panda_hand_tcp"), ("so101", "gripper_frame_link")])
def test_far_away_not_a_bit_changes(mode, solver, name, frame):
    """so101 has five joints: a pose of six rows never has full rank, which is no reason to damp it."""
    robot = load(name)
    commands = []
    for extra in ([], [Damping(mode, damping=0.05, threshold=0.01)]):
        hand = Pose(frame, gain=5.0, reference=sot.move(by=[0.01, 0.005, 0.01], duration=0.15))
        stack = sot.Stack([JointLimits()], [hand, *extra], [Posture()])
        controller = sot.Controller(robot, stack, solver=solver, dt=1e-3)
        q, v, found = robot.home.copy(), np.zeros(controller.model.nv), []
        for k in range(150):
            v = controller.step(State(1e-3 * k, q, v)).v
            q = controller.model.integrate(q, 1e-3 * v)
            found.append(v)
        commands.append(np.array(found))
    assert np.abs(commands[0]).max() > 0.01
    assert (commands[0] == commands[1]).all()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("elbow", [0.0, 1e-7, 0.01, 0.05])
def test_compiled_and_plain_agree(solver, mode, elbow):
    robot, found = load("ur5"), []
    for compiled in (True, False):
        hand = Pose("tool0", reference=GOAL)
        stack = sot.Stack([JointLimits()], [hand, Damping(mode)], [Posture(reference=robot.home)])
        found.append(command(robot, stack, near(STRETCHED, elbow), solver=solver, compiled=compiled)[0])
    np.testing.assert_allclose(found[0], found[1], atol=1e-9)


def sweep(extra):
    """Commands while the elbow passes through straight, limits off."""
    robot = load("ur5")
    hand = Pose("tool0", reference=GOAL)
    stack = sot.Stack([], [hand, *extra], [Posture(gain=2.0, reference=near(STRETCHED, 1.0))])
    controller = sot.Controller(robot, stack, dt=1e-3)
    elbows = np.linspace(-2e-3, 2e-3, 401)
    return np.array([controller.step(State(0.0, near(STRETCHED, e), np.zeros(6))).v for e in elbows])


def test_the_command_is_continuous_through_the_singularity():
    """Also where σ is exactly 0 and the rank drops: the posture has taken the lost direction over before."""
    steps = np.abs(np.diff(sweep([Damping()]), axis=0)).max(axis=1)
    assert steps.max() < 0.05  # rad/s per 1e-5 rad: no jump among 401 commands
    assert np.median(steps) > 0.1 * steps.max()
    assert np.abs(np.diff(sweep([]), axis=0)).max() > 100.0


def test_a_lost_direction_goes_to_the_rest_of_the_stack():
    """Straight elbow, target behind the hand: the task alone cannot bend it, the posture does."""
    robot = load("ur5")
    stack = sot.Stack(
        [], [Pose("tool0", reference=GOAL), Damping()], [Posture(gain=2.0, reference=near(STRETCHED, 1.0))]
    )
    v, controller = command(robot, stack, STRETCHED)
    _, sigma, Vt = spectrum(controller, "tool0")
    assert sigma[-1] < 1e-9
    target = controller.plan.problem.target
    assert Vt[-1] @ v == pytest.approx(Vt[-1] @ target, abs=1e-6)
    assert abs(Vt[-1] @ v) > 0.5


def crowded(robot):
    """Where tool and elbow of a UR5, each easy by itself, are nearly impossible together."""
    model, rng = Model(robot), np.random.default_rng(5)

    def values(q, *frames):
        model.update(q, np.zeros(6))
        J = np.vstack([model.jacobian(model.frame(frame), "aligned")[:3] for frame in frames])
        return np.linalg.svd(J, compute_uv=False)

    samples = [model.random_configuration(rng, 3.0) for _ in range(3000)]
    easy = [q for q in samples if values(q, "tool0")[-1] > 0.15]
    return min(easy, key=lambda q: values(q, "tool0", "forearm_link")[4])  # 3 + 2 directions: the elbow is on a ball


def test_tasks_in_each_others_way_count_when_the_level_is_looked_at():
    robot = load("ur5")
    q, speeds = crowded(robot), {}
    for per in ("task", "level", None):
        tasks = [Position("tool0", reference=[0.4, 0.2, 0.5]), Position("forearm_link", reference=[0.1, 0.3, 0.5])]
        extra = [] if per is None else [Damping(per=per)]
        speeds[per] = np.abs(command(robot, sot.Stack([], [*tasks, *extra]), q)[0]).max()
    assert speeds["task"] == speeds[None]
    assert speeds["level"] < 0.2 * speeds[None]


def test_a_stretched_leg_is_seen_through_the_feet():
    """The pelvis of a free-floating robot has six base columns of its own; only the feet above make it singular."""
    robot = load("talos")
    feet = [Pose(f"{side}_sole_link") for side in ("left", "right")]
    pelvis = Position("base_link", reference=robot.home[:3] + np.array([0.0, 0.0, 0.2]))
    damping = Damping()
    stack = sot.Stack([JointLimits()], feet, [pelvis, damping], [Posture()])
    controller = sot.Controller(robot, stack, dt=2e-3)
    q, v, strengths = robot.home.copy(), np.zeros(controller.model.nv), []
    for k in range(400):
        v = controller.step(State(2e-3 * k, q, v)).v
        q = controller.model.integrate(q, 2e-3 * v)
        strengths.append(damping.strength)
    assert strengths[0] == 0.0
    assert strengths[-1] > 0.01
    assert controller.explain().levels[2].damping == damping.strength
    assert f"{damping.strength:.3g}" in str(controller.explain())


def test_constant_damping_of_hard_rows_leaves_gears_alone():
    """Joints that follow others are no task of the level that is damped."""
    robot = load("panda")
    stack = sot.Stack([JointLimits()], [Pose("panda_hand", reference=GOAL), Damping("constant")])
    v, controller = command(robot, stack, robot.home)
    one, two = (controller.model.joints[f"panda_finger_joint{i}"].v for i in (1, 2))
    assert v[one] == pytest.approx(v[two], abs=1e-12)


def test_gears_beside_a_damped_task_are_none_of_its_tasks():
    """The controller puts them on level 0; were they damped too, a finger would lag behind the other."""
    robot, q = load("panda"), load("panda").home.copy()
    q[-1] += 0.01
    speeds = []
    for extra in ([], [Damping("constant", damping=0.5)]):
        v, _ = command(robot, sot.Stack([Pose("panda_hand", reference=GOAL), *extra]), q)
        speeds.append(v[-2:])
    np.testing.assert_allclose(speeds[1], speeds[0], atol=1e-12)


def test_joints_that_cannot_move_do_not_count():
    """Tiago's base has a sideways speed of 0: its column makes no direction strong."""
    robot = load("tiago")
    model, rng = Model(robot), np.random.default_rng(0)

    def smallest(q, columns):
        model.update(q, np.zeros(model.nv))
        return np.linalg.svd(model.jacobian(model.frame("hand_tool_link"), "aligned")[:, columns], compute_uv=False)[-1]

    movable = [c for c in range(model.nv) if c != 1]
    q = min((model.random_configuration(rng) for _ in range(300)), key=lambda q: smallest(q, movable))
    weak = smallest(q, movable)
    threshold = 1.5 * weak
    assert smallest(q, slice(None)) > threshold
    for compiled in (True, False):
        hand, damping = Pose("hand_tool_link"), Damping(damping=0.1, threshold=threshold)
        command(robot, sot.Stack([JointLimits()], [hand, damping], [Posture()]), q, compiled=compiled)
        assert damping.strength == pytest.approx(0.1 * (1.0 - 1.0 / 1.5**2), rel=1e-6)


class NoNumber(sot.Task):
    """Its Jacobian is fine, its error is not."""

    kind = "no_number"

    def error(self, model):
        return np.array([np.nan])

    def jacobian(self, model):
        return np.eye(model.nv)[:1]


@pytest.mark.parametrize("where", ["beside", "below"])
def test_what_is_not_finite_changes_nothing_for_the_others(where):
    """They keep their place, and are damped once, not twice."""
    robot, q = load("ur5"), near(STRETCHED, 0.06)
    commands = []
    for extra in ([], [NoNumber()]):
        level = [Pose("tool0", gain=0.2, reference=GOAL), Damping()]
        levels = [[*level, *extra], [Posture()]] if where == "beside" else [level, extra, [Posture()]]
        v, controller = command(robot, sot.Stack([JointLimits()], *levels), q)
        commands.append(v)
    assert controller.plan.nonfinite == ["no_number"]
    np.testing.assert_allclose(commands[1], commands[0], atol=1e-9)


def test_tasks_with_a_law_of_their_own_stand_beside():
    robot = load("ur5")
    for per in ("level", "task"):
        stack = sot.Stack([JointLimits()], [Pose("tool0"), CartesianMotion("tool0"), Damping(per=per)], [Posture()])
        _, controller = command(robot, stack, STRETCHED)
        assert [group.rows.size for group in controller.phases[0].shaping.groups] == [6]
    stack = sot.Stack([], [Pose("tool0"), Posture(), Damping(per="task")])  # a posture that has no rows
    assert np.isfinite(command(robot, stack, STRETCHED)[0]).all()


def test_a_camera_that_sees_its_point_only_from_here():
    """The rank is looked for at other configurations; there this task has no Jacobian."""
    robot = load("ur5")
    model = Model(robot)
    model.update(robot.home, np.zeros(6))
    point = model.placement(model.frame("tool0")).act(np.array([0.1, 0.0, 1.0]))
    stack = sot.Stack([JointLimits()], [ImagePoint("tool0", point), Damping()], [Posture()])
    assert np.isfinite(command(robot, stack, robot.home)[0]).all()


def test_versions_of_a_stack_that_are_blended_do_not_mix_their_damping():
    robot = load("ur5")
    stack = sot.Stack(
        [],
        [Pose("tool0", name="hand", reference=GOAL), Damping()],
        [Position("forearm_link", name="elbow")],
        [Posture()],
    )
    controller = sot.Controller(robot, stack, dt=1e-3)
    controller.step(State(0.0, near(STRETCHED, 0.02), np.zeros(6)))
    stack.swap("hand", "elbow", ramp=1.0)
    for k in range(3):
        controller.step(State(0.1 * k, near(STRETCHED, 0.02), np.zeros(6)))
        old, new = (max(part.damping for part in tick.parts) for tick in capture_all(controller))
        assert old > 0.04
        assert new == 0.0


def test_as_yaml_and_back():
    stack = sot.Stack([], [Pose("tool0"), Damping("constant", damping=0.1)])
    text = f"robot: ur5\n{dump(stack)}"
    again = parse_run(text).stack["damping"]
    assert (again.mode, again.damping, again.threshold) == ("constant", 0.1, 0.05)
    assert "threshold" not in text


def test_it_has_no_rows_to_show():
    _, controller = command(load("ur5"), sot.Stack([], [Pose("tool0", reference=GOAL), Damping()]), STRETCHED)
    level = controller.explain().levels[1]
    assert (level.rows, level.damping) == (6, 0.05)
    assert [entry.rows for entry in level.entries] == [6, 0]


def test_non_finite_rows_do_not_reach_the_command():
    class Broken(sot.Task):
        kind = "broken"

        def error(self, model):
            return np.array([np.nan if model.q[0] > 0.5 else 0.1])

        def jacobian(self, model):
            return np.full((1, model.nv), np.nan if model.q[0] > 0.5 else 1.0)

    robot = load("ur5")
    stack = sot.Stack([JointLimits()], [Broken(), Pose("tool0", reference=GOAL), Damping()], [Posture()])
    controller = sot.Controller(robot, stack, dt=1e-3)
    q = STRETCHED.copy()
    q[0] = 1.0
    v = controller.step(State(0.0, q, np.zeros(6))).v
    assert np.isfinite(v).all()
    assert controller.plan.nonfinite == ["broken"]


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Damping("strong"), "unknown mode 'strong'"),
        (lambda: Damping(per="stack"), "unknown choice 'stack'"),
        (lambda: Damping(threshold=0.0), "threshold"),
        (lambda: Damping(damping=float("nan")), "damping: damping"),
        (lambda: Damping(length=-1.0), "length"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(sot.errors.SotError, match=message):
        make()


@pytest.mark.parametrize(
    "level, message",
    [
        ([Pose("tool0"), Damping(tasks="tol0")], "unknown task of the level 'tol0'.*tool0"),
        ([Pose("tool0"), Damping(), Damping(name="second")], "shaped by 'damping' already"),
        ([JointLimits(), Damping()], "no task whose directions could be weak"),
        ([Damping(per="task")], "no task whose directions could be weak"),
        ([Pose("tool0"), CartesianMotion("tool0"), Damping(tasks="motion_tool0")], "a law of its own"),
    ],
)
def test_a_level_that_does_not_fit(level, message):
    with pytest.raises(TaskError, match=message):
        sot.Controller(load("ur5"), sot.Stack([], level, [Locked("wrist_3_joint")]))


def stretched_run(extra):
    """A Panda is asked beyond its reach and back at once, so fast that its elbow is at its speed limit on the way."""
    robot = load("panda")
    far, back = [0.9, 0.0, 0.5, 1, 0, 0, 0], [0.5, 0.2, 0.5, 1, 0, 0, 0]
    hand = Pose("panda_hand_tcp", gain=10.0, reference=sot.waypoints([far, back], durations=[2.0, 2.0]))
    controller = sot.Controller(robot, sot.Stack([JointLimits()], [hand, *extra], [Posture()]), dt=2e-3)
    q, v, speeds, errors = robot.home.copy(), np.zeros(9), [], []
    for k in range(2500):
        v = controller.step(State(2e-3 * k, q, v)).v
        q = controller.model.integrate(q, 2e-3 * v)
        speeds.append(v)
        errors.append(np.linalg.norm(hand.error(controller.model)))
    return np.abs(np.diff(speeds, axis=0)).max(), errors[-1]


def test_joints_at_their_limits_do_not_make_the_others_jump():
    """A joint that is held leaves the others a problem that is singular though the arm is not."""
    jump, error = stretched_run([Damping()])
    assert jump < 0.5  # rad/s from one tick to the next
    assert error < 1e-4
    assert stretched_run([Damping(limits=False)])[0] > 1.5
    assert stretched_run([])[0] > 4.0


@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_a_posture_at_its_limits_takes_nothing_from_the_hand(scale):
    """Joint limits stop what the posture wants, not what the hand needs: the hand is followed as if undamped."""
    robot, commands = load("panda"), []
    goal = robot.home.copy()
    goal[[0, 2]] += [1.5, -1.0]
    for extra in ([], [Damping()]):
        circle = sot.sine(amplitude=[0.02, 0.02, 0, 0, 0, 0], frequency=0.5)
        hand = Pose("panda_hand_tcp", gain=10.0, reference=circle)
        stack = sot.Stack([JointLimits(scale=scale)], [hand, *extra], [Posture(gain=30.0, reference=goal)])
        controller = sot.Controller(robot, stack, dt=2e-3)
        q, v, found, held = robot.home.copy(), np.zeros(9), [], 0
        for k in range(200):
            v = controller.step(State(2e-3 * k, q, v)).v
            q = controller.model.integrate(q, 2e-3 * v)
            held += (np.abs(controller.solver.status[-9:]) == 1).any()
            found.append(v)
        commands.append(np.array(found))
    assert held > 20
    assert (commands[0] == commands[1]).all()


@pytest.mark.parametrize("guarded", [False, True])
def test_rows_that_hold_do_not_make_the_joints_jump(guarded):
    """An inequality above the hand leaves it a weak problem: a shoulder would go to and fro at its speed limit."""
    robot, jitter = load("panda"), []
    for extra in ([], [Damping()]):
        limits = [JointLimits(), Collisions(margin=0.02), *([SingularityGuard("panda_hand_tcp")] if guarded else [])]
        way = sot.sine(amplitude=[0.35, 0.4, 0.1, 0, 0, 0], frequency=0.25)
        hand = Pose("panda_hand_tcp", gain=5.0, reference=way)
        controller = sot.Controller(robot, sot.Stack(limits, [hand, *extra], [Posture()]), dt=2e-3)
        q, v, speeds = robot.home.copy(), np.zeros(9), []
        for k in range(2000):
            v = controller.step(State(2e-3 * k, q, v)).v
            q = controller.model.integrate(q, 2e-3 * v)
            speeds.append(v)
        assert np.linalg.norm(hand.error(controller.model)) < 0.01
        jitter.append(np.abs(np.diff(speeds, 2, axis=0)).mean())
    assert jitter[0] > 0.1
    assert jitter[1] < 1e-3


def test_without_an_answer_in_time_the_tasks_alone_count(monkeypatch):
    """Capped at one iteration, the problem beside the tick has none; what it would say must not lead anywhere."""
    monkeypatch.setattr("sot.variant.CAP", 1)
    robot = load("panda")
    hand = Pose("panda_hand_tcp", gain=10.0, reference=sot.move(by=[0.5, 0.3, 0.0, 0, 0, 0], duration=0.2))
    stack = sot.Stack([JointLimits()], [hand, Damping()], [Posture(gain=30.0, reference=[0.0] * 7 + [0.01] * 2)])
    controller = sot.Controller(robot, stack, dt=2e-3)
    q, v, fallen_back = robot.home.copy(), np.zeros(9), 0
    for k in range(150):
        v = controller.step(State(2e-3 * k, q, v)).v
        q = controller.model.integrate(q, 2e-3 * v)
        shaping = controller.phases[0].shaping
        alone, goal = shaping._alone[1].solved(), shaping._widened[1].solved()
        fallen_back += shaping._widened[1]._solver.outcome == CAPPED and np.array_equal(goal, alone)
    assert fallen_back > 10
    assert np.isfinite(v).all()
