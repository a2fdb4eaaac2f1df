"""Manipulability as a feature, and the task that raises it."""

from __future__ import annotations

import numpy as np
import pytest
from plugins import along, model_of

import sot
from sot.entry import Tick
from sot.errors import RobotError, SotError
from sot.features import Manipulability as Feature
from sot.model import ALIGNED, Model
from sot.robots import load
from sot.singularity import measure
from sot.state import State
from sot.tasks import JointLimits, Manipulability, Pose, Posture

ARMS = {
    "panda": "panda_hand_tcp",
    "ur5": "tool0",
    "so101": "gripper_frame_link",
    "xarm7": "link_eef",
    "talos": "gripper_left_base_link",
}
PERIODS = (5e-3, 1e-3)


def determinant(model: Model, feature: Feature) -> float:
    """√det(J Jᵀ), or √det(Jᵀ J), from pinocchio's Jacobian."""
    chain = feature.chain
    J = model.jacobian(chain.frame_id, ALIGNED)[chain.rows][:, chain.columns[chain.chosen]]
    J = J / np.where(chain.rows < 3, chain.length, 1.0)[:, None]
    return float(np.sqrt(max(np.linalg.det(J @ J.T if J.shape[0] <= J.shape[1] else J.T @ J), 0.0)))


def ready(robot: str, **arguments) -> tuple[Model, Feature]:
    model, feature = model_of(robot), Feature(ARMS[robot], **arguments)
    feature.setup(model)
    return model, feature


@pytest.mark.parametrize("arguments", [{}, {"mask": "xyz"}, {"mask": ["rx", "rz"], "length": 0.3}, {"joints": "*"}])
@pytest.mark.parametrize("robot", ARMS)
def test_value_and_gradient_match_the_definition(robot, arguments) -> None:
    model, feature = ready(robot, **arguments)
    for seed in range(4):
        model.update(model.random_configuration(np.random.default_rng(seed)), np.zeros(model.nv))
        assert abs(feature.value(model)[0] - determinant(model, feature)) <= 1e-12
        units = np.eye(model.nv)
        numeric = [along(model, unit, lambda m: np.array(determinant(m, feature))) for unit in units]
        assert np.abs(feature.jacobian(model)[0] - numeric).max() <= 1e-6


def test_it_is_zero_and_finite_at_a_singularity() -> None:
    """The slope there is that of one side: ± what a step to the side shows."""
    model, feature = ready("ur5")
    q = model.robot.home.copy()
    q[4] = 0.0
    model.update(q, np.zeros(6))
    assert feature.value(model)[0] <= 1e-15
    slope = feature.jacobian(model)[0]
    assert np.isfinite(slope).all() and np.isfinite(feature.drift(model)).all()
    step = 1e-6
    model.update(q + step * np.eye(6)[4], np.zeros(6))
    assert abs(abs(slope[4]) - determinant(model, feature) / step) <= 1e-4 and abs(slope[4]) > 0.01


def test_a_feature_task_brings_it_to_a_value() -> None:
    """For those who want w at a value, and have a value that can be reached."""
    model, feature = ready("panda")
    task = sot.FeatureTask(feature, reference=0.15, gain=5.0)
    controller = sot.Controller(load("panda"), sot.Stack([task], [Posture()]), dt=5e-3)
    q, v = model.robot.home.copy(), np.zeros(model.nv)
    for i in range(400):
        v = controller.step(State(time=5e-3 * i, q=q, v=v)).v
        q = model.integrate(q, 5e-3 * v)
    model.update(q, v)
    assert abs(determinant(model, feature) - 0.15) <= 1e-4


# -- the task ----------------------------------------------------------------------------------------------


def climb(
    robot: str, levels: list[list], q: np.ndarray, duration: float, dt: float = 5e-3, solver: str = "hierarchical"
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """w, v and q of a run."""
    model, feature = ready(robot)
    controller = sot.Controller(load(robot), sot.Stack(*levels), solver=solver, dt=dt)
    v, out = np.zeros(model.nv), []
    for i in range(round(duration / dt)):
        v = controller.step(State(time=dt * i, q=q, v=v)).v.copy()
        q = model.integrate(q, dt * v)
        model.update(q, v)
        out.append((determinant(model, feature), v, q))
    w, vs, qs = zip(*out, strict=True)
    return np.array(w), np.array(vs), np.array(qs)


def bent(robot: str) -> np.ndarray:
    q = model_of(robot).robot.home.copy()
    q[:5] += [0.1, 0.3, 0.6, -0.2, 0.3]
    return q


@pytest.mark.parametrize("dt", PERIODS)
@pytest.mark.parametrize("robot", ["panda", "ur5", "so101"])
def test_it_rises_at_the_gain_and_ends_at_the_goal(robot, dt) -> None:
    """On its own, log w rises by λ per second until the goal is a factor e away; then the rest decays at λ."""
    model, feature = ready(robot)
    model.update(bent(robot), np.zeros(model.nv))
    start, gain, factor = determinant(model, feature), 4.0, 1.4
    w, _, _ = climb(robot, [[Manipulability(ARMS[robot], goal=factor * start, gain=gain)]], bent(robot), 1.5, dt)
    missing = np.log(factor * start / w)
    assert (np.diff(missing) <= 1e-12).all() and abs(missing[-1]) <= 0.01
    half = round(0.25 / dt) - 1
    assert abs(missing[half] - np.log(factor) * np.exp(-gain * 0.25)) <= 0.02 * np.log(factor)
    fast, _, _ = climb(robot, [[Manipulability(ARMS[robot], goal=100.0, gain=1.0)]], bent(robot), 0.1, dt)
    assert abs(np.log(fast[-1] / start) - 0.1) <= 3e-3


def test_above_the_goal_it_asks_for_nothing() -> None:
    model, task = model_of("panda"), Manipulability(ARMS["panda"], goal=1e-3)
    task.setup(model)
    model.update(model.robot.home, np.zeros(model.nv))
    rows = task.rows(model, Tick(0.0, 1e-3, np.zeros(model.nv)))
    assert rows.lower is rows.upper and not rows.lower.any()
    assert rows.A.shape == (7, 9) and task.labels(7) == [f"panda_joint{i}" for i in range(1, 8)]


@pytest.mark.parametrize("solver", ["nullspace", "hierarchical", "weighted"])
@pytest.mark.parametrize("robot", ["panda", "xarm7"])
def test_a_redundant_arm_climbs_to_the_top_while_its_hand_stays(robot, solver) -> None:
    """It ends where no self-motion leads up, and rests there."""
    hand, task = Pose(ARMS[robot], weight=1e8 if solver == "weighted" else 1.0), Manipulability(ARMS[robot], gain=8.0)
    w, v, q = climb(robot, [[JointLimits()], [hand], [task]], bent(robot), 10.0, solver=solver)
    model, feature = ready(robot)
    model.update(q[-1], v[-1])
    J = model.jacobian(feature.chain.frame_id)[:, :7]
    slope = feature.jacobian(model)[0, :7] / w[-1] @ np.linalg.svd(J)[2][-1]
    assert w[-1] > 1.1 * w[0] and (np.diff(w) > -1e-6).all() and abs(slope) <= 0.01
    assert np.abs(hand.error(model)).max() <= 2e-3
    jitter = np.abs(np.diff(v, 2, axis=0))
    assert jitter.max() <= 0.05 and jitter[-200:].max() <= 1e-4


def test_both_periods_give_the_same_climb() -> None:
    levels = [[[JointLimits()], [Pose(ARMS["panda"])], [Manipulability(ARMS["panda"], gain=5.0)]] for _ in PERIODS]
    coarse, fine = (climb("panda", level, bent("panda"), 2.0, dt)[2] for level, dt in zip(levels, PERIODS, strict=True))
    assert np.abs(coarse - fine[4::5]).max() <= 2e-3


def test_one_row_for_the_rate_of_w_would_flicker() -> None:
    """Why the task asks its joints one by one: at the top of the self-motions one row for w can be met at no speed."""
    row = sot.FeatureTask(Feature(ARMS["panda"]), reference=5.0, gain=0.2)
    _, v, _ = climb("panda", [[JointLimits()], [Pose(ARMS["panda"])], [row]], bent("panda"), 8.0)
    assert np.abs(np.diff(v, 2, axis=0))[-200:].max() > 1.0


@pytest.mark.parametrize("angle", [0.0, 1e-6, 1e-3])
def test_it_leaves_a_singularity(angle) -> None:
    """At w = 0 both ways out are alike, so it does not move; from the least deviation it leaves."""
    q = model_of("ur5").robot.home.copy()
    q[4] = angle
    w, v, _ = climb("ur5", [[Manipulability("tool0", gain=2.0)]], q, 3.0)
    assert np.isfinite(v).all() and np.abs(v).max() <= 2.5 * 2.0
    assert angle == 0.0 or w[-1] > 0.1


def test_facts() -> None:
    model, task = model_of("panda"), Manipulability(ARMS["panda"])
    task.setup(model)
    model.update(model.robot.home, np.zeros(model.nv))
    facts = task.facts(model, Tick(0.0, 1e-3, np.zeros(model.nv)), np.zeros(model.nv))
    found = measure(model, ARMS["panda"])
    assert facts == {"manipulability": found.manipulability, "sigma_min": found.sigma_min}


BAD = {
    "goal": (lambda: Manipulability("tool0", goal=0.0), "goal"),
    "NaN": (lambda: Manipulability("tool0", goal=np.nan), "goal"),
    "gain": (lambda: Manipulability("tool0", gain=-1.0), "gain"),
    "frame": (lambda: Manipulability("tool"), "tool0"),
    "mask": (lambda: Manipulability("tool0", mask="q"), "rx"),
    "length": (lambda: Manipulability("tool0", length=-1.0), "length"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_said(case) -> None:
    make, words = BAD[case]
    with pytest.raises(SotError, match=words):
        make().setup(model_of("ur5"))


def test_a_state_that_is_not_finite_is_the_robots_fault() -> None:
    robot = load("ur5")
    controller = sot.Controller(robot, sot.Stack([JointLimits()], [Manipulability("tool0")]))
    controller.step(State(0.0, robot.home, np.zeros(6)))
    with pytest.raises(RobotError, match="not finite"):
        controller.step(State(1e-3, np.full(6, np.nan), np.zeros(6)))
