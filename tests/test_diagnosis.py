"""Explanations, infeasibility reports and saved ticks: every number and name is checked against the problem."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sot.controller import Controller
from sot.description import Description
from sot.diagnosis import load_tick, save_tick
from sot.diagnosis.saved_tick import SavedTick, capture, capture_all
from sot.diagnosis.tick_file import write_tick
from sot.entry import Box, Constraint, Entry, Rows, Tick
from sot.errors import ConfigError, SolveError, TaskError
from sot.model import Model
from sot.robots import load
from sot.solvers.status import FREE
from sot.stack import Stack
from sot.state import State
from sot.task import Task
from sot.tasks import (
    CenterOfMass,
    JointAccelerationLimits,
    JointLimits,
    JointPositionLimits,
    JointVelocityLimits,
    Locked,
    Pose,
    Position,
    Posture,
)

MEANINGS = ("nullspace", "hierarchical", "weighted")
HAND = "panda_hand_tcp"
FAR = [2.0, 0.0, 0.5]  # m, out of the arm's reach


class Keep(Constraint):
    """lower ≤ v ≤ upper for one joint, as a row."""

    kind = "keep"

    def __init__(self, column: int, lower: float, upper: float, name: str) -> None:
        super().__init__(name=name)
        self.column, self.lower, self.upper = column, lower, upper

    def rows(self, model: Model, tick: Tick) -> Rows:
        return Rows(np.eye(model.nv)[[self.column]], np.array([self.lower]), np.array([self.upper]))

    def labels(self, count: int) -> list[str]:
        return ["speed"]


class Band(Box):
    """The same bounds for all joints."""

    kind = "band"

    def __init__(self, lower: float, upper: float, name: str) -> None:
        super().__init__(name=name)
        self.lower, self.upper = lower, upper

    def box(self, model: Model, tick: Tick) -> tuple[np.ndarray, np.ndarray]:
        return np.full(model.nv, self.lower), np.full(model.nv, self.upper)


class Broken(Task):
    """A task that can be told to give numbers that are none."""

    kind = "broken"
    error_value, jacobian_value = 0.1, 1.0

    def error(self, model: Model) -> np.ndarray:
        return np.array([self.error_value, 0.2])

    def jacobian(self, model: Model) -> np.ndarray:
        J = np.zeros((2, model.nv))
        J[0, 0], J[1, 1] = self.jacobian_value, 1.0
        return J


@pytest.fixture(scope="module")
def panda() -> Description:
    return load("panda")


@pytest.fixture(scope="module")
def talos() -> Description:
    return load("talos")


def one_tick(
    robot: Description, *levels: list[Entry], solver: str = "hierarchical", q: np.ndarray | None = None,
    v: np.ndarray | None = None,
) -> Controller:  # fmt: skip
    controller = Controller(robot, Stack(*levels), solver=solver, dt=1e-3)  # type: ignore[arg-type]  # any word
    nv = controller.model.nv
    command = controller.step(State(0.0, robot.home if q is None else q, np.zeros(nv) if v is None else v))
    assert np.isfinite(command.v).all()
    return controller


def upper_limit(robot: Description, joint: str) -> tuple[int, float]:
    """Where a joint stands in q and v (the same for an arm), and its upper position limit."""
    at = Model(robot).joint(joint).q.start
    return at, float(robot.pin_model.upperPositionLimit[at])


def run_talos(robot: Description, solver: str, ticks: int = 60) -> Controller:
    """Feet > centre of mass > hands, one of them out of reach."""
    feet = [Pose(f"{side}_sole_link", name=f"{side}_foot") for side in ("left", "right")]
    hands = [
        Position("gripper_left_base_link", name="hand_left", reference=[2.0, 0.5, 1.5], weight=4.0),
        Position("gripper_right_base_link", name="hand_right", reference=[0.5, -0.3, 1.0]),
    ]
    stack = Stack([JointLimits(acceleration=20.0)], feet, [CenterOfMass()], hands, [Posture()])
    controller = Controller(robot, stack, solver=solver, dt=5e-3)  # type: ignore[arg-type]  # any word
    q, v = robot.home, np.zeros(controller.model.nv)
    for tick in range(ticks):
        v = controller.step(State(5e-3 * tick, q, v)).v
        q = controller.model.integrate(q, 5e-3 * v)
    return controller


# -- explanation: numbers ----------------------------------------------------------------------------


@pytest.mark.parametrize("solver", MEANINGS)
def test_residuals_are_what_the_command_leaves_of_each_task(talos: Description, solver: str) -> None:
    """J v − (what the task asked for), without weights, whoever assembled and solved."""
    controller = run_talos(talos, solver)
    explanation = controller.explain()
    tick = Tick(*controller.plan.written)
    v = controller.solver.x
    for level in controller.stack.levels:
        for entry in level:
            rows = entry.rows(controller.model, tick)
            miss = np.maximum(rows.A @ v - rows.upper, 0.0) + np.minimum(rows.A @ v - rows.lower, 0.0)
            line = explanation.entry(entry.name)
            assert line.residual == pytest.approx(np.linalg.norm(miss), abs=1e-7)
            assert {label for label, _, _ in line.misses} == {
                label for label, value in zip(entry.labels(miss.size), miss, strict=True) if abs(value) > 1e-6
            }
    for line in explanation.levels:
        assert line.residual == pytest.approx(np.linalg.norm([entry.residual for entry in line.entries]))


def test_rank_and_singular_values_are_those_of_the_projected_rows(talos: Description) -> None:
    """σ(J N) with N = I − J̄⁺ J̄ over the levels above and the joints at a bound."""
    controller = run_talos(talos, "hierarchical")
    explanation = controller.explain()
    tick, m = Tick(*controller.plan.written), controller.plan.problem.lower.size
    above = np.eye(controller.model.nv)[controller.solver.status[m:] != FREE]
    assert len(above) >= 3
    for line, entries in zip(explanation.levels[1:], controller.stack.levels[1:], strict=True):
        J = np.vstack([entry.rows(controller.model, tick).A for entry in entries])
        sigma = np.linalg.svd(J - J @ np.linalg.pinv(above, rcond=1e-9) @ above, compute_uv=False)
        rank = int(np.count_nonzero(sigma > 1e-7))
        assert line.rank == rank
        assert line.rows == len(J)
        assert line.sigma_min == pytest.approx(sigma[-1] if rank == len(J) else 0.0, abs=1e-9)
        if rank:
            assert line.sigma_nonzero == pytest.approx(sigma[rank - 1], abs=1e-9)
        above = np.vstack([above, J])


def level_cost(tick: SavedTick, x: np.ndarray, level: int) -> float:
    """½‖violation‖² of a level with its weights."""
    violation = tick.problem.violation(x)[tick.problem.rows(level)]
    return 0.5 * float(violation @ violation)


def moved_bound(tick: SavedTick, column: int, side: str, step: float) -> SavedTick:
    bound = getattr(tick.problem, side).copy()
    bound[column] += step
    return replace(tick, problem=replace(tick.problem, **{side: bound}))


def test_a_multiplier_is_what_the_level_gains_when_the_bound_gives_way(panda: Description) -> None:
    """∂(½‖ρ‖²)/∂bound = −λ, by central differences of whole solves."""
    hand = Position(HAND, name="hand", reference=FAR)
    controller = one_tick(panda, [JointVelocityLimits(limit=0.5)], [hand], [Posture()])
    tick, explanation = capture(controller), controller.explain()
    checked = 0
    for limit in explanation.active:
        if limit.level != 1:
            continue
        column = next(c for c, joint in enumerate(tick.joints) if limit.name.endswith(f" of {joint}"))
        side = "x_upper" if limit.multiplier > 0.0 else "x_lower"
        assert limit.value == pytest.approx(getattr(tick.problem, side)[column])
        ahead, behind = (moved_bound(tick, column, side, step).solve() for step in (1e-5, -1e-5))
        slope = (level_cost(tick, ahead, 1) - level_cost(tick, behind, 1)) / 2e-5
        assert -limit.multiplier == pytest.approx(slope, rel=1e-4, abs=1e-6)
        checked += 1
    assert checked >= 2


def test_blockers_are_exactly_the_limits_whose_release_helps(panda: Description) -> None:
    hand = Position(HAND, name="hand", reference=FAR)
    controller = one_tick(panda, [JointVelocityLimits(limit=0.5)], [hand], [Posture()])
    tick = capture(controller)
    blockers = {blocker.name for blocker in controller.explain().entry("hand").blockers}
    residual = level_cost(tick, tick.x, 1)
    for column in range(tick.problem.n):
        for side, names in (("x_lower", tick.bound_names.lower), ("x_upper", tick.bound_names.upper)):
            released = moved_bound(tick, column, side, 0.01 if side == "x_upper" else -0.01)
            helps = level_cost(tick, released.solve(), 1) < residual - 1e-7
            assert helps == (names[column] in blockers)


def test_a_task_is_blocked_by_the_levels_above_it_that_want_something_else(panda: Description) -> None:
    first = Position(HAND, name="first", reference=[0.5, 0.3, 0.5])
    second = Position(HAND, name="second", reference=[0.5, -0.3, 0.5])
    below = one_tick(panda, [], [first], [second], [Posture()]).explain()
    assert [blocker.name for blocker in below.entry("second").blockers] == ["first: row y"]
    assert below.entry("first").blockers == ()
    peers = one_tick(panda, [], [first, second], [Posture()]).explain()
    assert [blocker.name for blocker in peers.entry("first").blockers] == ["second: row y"]
    assert [blocker.name for blocker in peers.entry("second").blockers] == ["first: row y"]


def test_nullspace_blames_the_inequality_for_which_it_scales(panda: Description) -> None:
    slow, hand = Keep(1, -0.05, 0.05, "slow"), Position(HAND, name="hand", reference=FAR)
    explanation = one_tick(panda, [slow], [hand], [Posture()], solver="nullspace").explain()
    assert 0.0 < explanation.scaling < 1.0
    assert "slow" in [blocker.name for blocker in explanation.entry("hand").blockers]
    assert f"scaled by {explanation.scaling:.3g}" in str(explanation)


def test_only_the_rows_that_block_are_named(panda: Description) -> None:
    """A whole pose above a position leaves it nothing; only its three linear rows are in the way."""
    pose = Pose(HAND, name="pose")
    point = Position(HAND, name="point", reference=[0.5, 0.2, 0.5])
    explanation = one_tick(panda, [], [pose], [point], [Posture()]).explain()
    (blocker,) = explanation.entry("point").blockers
    assert blocker.name in ("pose: rows x, y, z", "pose: rows x, z, y")


# -- explanation: words ------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", MEANINGS)
def test_the_table_names_everything_and_fits_the_terminal(talos: Description, solver: str) -> None:
    controller = run_talos(talos, solver)
    text = str(controller.explain())
    assert max(len(line) for line in text.splitlines()) <= 110
    for name in controller.stack.names():
        assert name in text
    assert "hand_left" in text and "blocked by" in text
    assert max(len(line) for line in str(controller.report()).splitlines()) <= 110


def test_bounds_are_named_by_the_limit_that_sets_them(panda: Description) -> None:
    at, top = upper_limit(panda, "panda_joint4")
    q = panda.home.copy()
    q[at] = top - 1e-4
    for limits, kind in (
        (JointLimits(name="limits"), "position"),
        (JointLimits(name="limits", position=False), "velocity"),
        (JointLimits(name="limits", position=False, velocity=False, acceleration=0.1), "acceleration"),
    ):
        controller = one_tick(panda, [limits], [Posture(gain=500.0, reference={"panda_joint4": 1.0})], q=q)
        names = [limit.name for limit in controller.explain().active]
        assert f"limits: upper {kind} limit of panda_joint4" in names


def test_nothing_to_explain_before_the_first_tick(panda: Description) -> None:
    with pytest.raises(SolveError, match=r"controller\.step"):
        Controller(panda, Stack([JointLimits()], [Posture()])).explain()
    explanation = one_tick(panda, [JointLimits()], [Posture()]).explain()
    with pytest.raises(TaskError, match="posture"):
        explanation.entry("postur")


# -- infeasible ticks --------------------------------------------------------------------------------


def test_a_feasible_tick_has_no_clash(panda: Description) -> None:
    hand = Position(HAND, reference=[0.5, 0.0, 0.5])
    report = one_tick(panda, [JointLimits()], [hand], [Posture()]).report()
    assert not report.infeasible and report.clashes == () and report.misses == ()
    assert "feasible" in str(report)


@pytest.mark.parametrize("solver", ["hierarchical", "weighted"])
def test_hard_rows_that_contradict_each_other_share_the_violation_and_are_both_named(
    panda: Description, solver: str
) -> None:
    rows = [Keep(0, 0.5, 0.6, "fast"), Keep(0, -0.3, 0.2, "slow"), JointLimits()]
    controller = one_tick(panda, rows, [Posture()], solver=solver)
    report = controller.report()
    assert report.infeasible and controller.counters.infeasible == 1
    amounts = {clash.entry: (clash.amount, clash.blockers) for clash in report.clashes}
    assert amounts["fast"] == (pytest.approx(0.15), ("slow",))
    assert amounts["slow"] == (pytest.approx(0.15), ("fast",))
    assert "fast: misses by 0.15 in speed, blocked by slow" in str(report)


@pytest.mark.parametrize("solver", MEANINGS)
def test_a_hard_task_out_of_reach_names_the_limits_in_its_way(panda: Description, solver: str) -> None:
    hand = Position(HAND, name="hand", reference=FAR, gain=50.0)
    controller = one_tick(panda, [hand, JointLimits()], [Posture()], solver=solver)
    report = controller.report()
    assert report.infeasible and controller.counters.infeasible == 1
    clash = next(clash for clash in report.clashes if clash.entry == "hand")
    assert clash.parts[0] == "x" and clash.unit == "m/s"
    assert clash.amount == pytest.approx(controller.solver.hard_residual(), rel=1e-6)
    assert any("velocity limit of panda_joint" in blocker for blocker in clash.blockers)
    assert "m/s in x" in clash.text


def test_a_soft_task_out_of_reach_is_a_miss_and_no_clash(panda: Description) -> None:
    report = one_tick(panda, [JointLimits()], [Position(HAND, name="hand", reference=FAR, gain=50.0)]).report()
    assert not report.infeasible
    (miss,) = report.misses
    assert miss.entry == "hand" and any("velocity limit" in blocker for blocker in miss.blockers)


def test_a_start_outside_the_limits_is_named_with_its_distance(panda: Description) -> None:
    at, top = upper_limit(panda, "panda_joint4")
    q = panda.home.copy()
    q[at] = top + 0.12
    controller = one_tick(panda, [JointLimits()], [Posture()], q=q)
    (clash,) = controller.report().clashes
    assert (clash.entry, clash.parts, clash.unit) == ("joint_limits", ("panda_joint4",), "rad")
    assert clash.amount == pytest.approx(0.12)
    assert clash.text == "joint_limits: panda_joint4 is 0.12 rad outside its upper position limit"
    assert controller.solver.x[at] < 0.0  # and it comes back


def test_outside_the_limits_and_slow_to_turn_names_both_limits(panda: Description) -> None:
    at, top = upper_limit(panda, "panda_joint4")
    q = panda.home.copy()
    q[at] = top + 0.12
    controller = one_tick(panda, [JointLimits(acceleration=5.0)], [Posture()], q=q)
    (clash,) = controller.report().clashes
    assert clash.blockers == ("joint_limits: acceleration limit of panda_joint4",)
    assert controller.counters.infeasible == 1
    assert controller.solver.x[at] == pytest.approx(-5e-3)  # as fast as it can


def test_too_fast_to_stop_is_named_within_one_box_and_between_two(panda: Description) -> None:
    at, top = upper_limit(panda, "panda_joint4")
    q, v = panda.home.copy(), np.zeros(panda.pin_model.nv)
    q[at], v[at] = top - 1e-3, 1.0
    (clash,) = one_tick(panda, [JointLimits(acceleration=5.0)], [Posture()], q=q, v=v).report().clashes
    assert clash.parts == ("panda_joint4",) and "too fast for its upper limit" in clash.text
    boxes: list[Entry] = [JointPositionLimits(name="walls"), JointAccelerationLimits(5.0, name="motors")]
    controller = one_tick(panda, boxes, [Posture()], q=q, v=v)
    (between,) = controller.report().clashes
    assert "motors: lower acceleration limit" in between.text and "walls: upper position limit" in between.text
    # The speed it must keep less the speed the damper allows.
    allowed = (1.0 - np.exp(-25.0 * 1e-3)) / 1e-3 * 1e-3
    assert between.amount == pytest.approx(1.0 - 5e-3 - allowed, rel=1e-6)


def test_boxes_and_rows_of_the_users_own_that_contradict_each_other_are_named(panda: Description) -> None:
    nv = panda.pin_model.nv
    report = one_tick(panda, [Band(0.2, 0.3, "fast"), Band(-0.1, 0.1, "slow")], [Posture()]).report()
    assert len(report.clashes) == nv
    assert report.clashes[0].amount == pytest.approx(0.1)
    both = "fast: lower bound of panda_joint1 and slow: upper bound of panda_joint1"
    assert report.clashes[0].text.startswith(both)
    assert len(one_tick(panda, [Band(0.2, -0.3, "odd")], [Posture()]).report().clashes) == nv
    controller = one_tick(panda, [Keep(2, 0.2, -0.3, "odd")], [Posture()])
    (clash,) = controller.report().clashes
    assert clash.text == "odd: the bounds of row speed contradict each other by 0.5"
    assert controller.solver.x[2] == pytest.approx(-0.05)  # least violation: the middle


# -- numbers that are none ---------------------------------------------------------------------------


@pytest.mark.parametrize("solver", MEANINGS)
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["error_value", "jacobian_value"])
def test_a_task_that_gives_nan_is_left_out_and_named_and_comes_back(
    panda: Description, where: str, number: float, solver: str
) -> None:
    broken = Broken(name="broken")
    hand = Position(HAND, reference=[0.5, 0.0, 0.5])
    controller = Controller(panda, Stack([JointLimits()], [broken], [hand], [Posture()]), solver=solver)  # type: ignore[arg-type]
    state = State(0.0, panda.home, np.zeros(panda.pin_model.nv))
    good = controller.step(state).v
    setattr(broken, where, number)
    with np.errstate(all="ignore"):
        command = controller.step(state)
    assert np.isfinite(command.v).all()
    assert controller.counters.nonfinite == 1 and controller.plan.nonfinite == ["broken"]
    assert controller.report().nonfinite == ("broken",)
    assert "broken: gave NaN or infinity" in str(controller.report())
    assert "not finite, left out: broken" in str(controller.explain())
    setattr(broken, where, getattr(Broken, where))
    np.testing.assert_allclose(controller.step(state).v, good, rtol=0.0, atol=1e-9)
    assert controller.counters.nonfinite == 1 and controller.plan.nonfinite == []


@pytest.mark.parametrize("solver", MEANINGS)
@pytest.mark.parametrize("where", ["error_value", "jacobian_value"])
@pytest.mark.parametrize("number", [1e100, 1e160, 1e200, 1e300, -1e308])
def test_numbers_that_overflow_never_reach_the_command(
    panda: Description, where: str, number: float, solver: str
) -> None:
    broken = Broken(name="broken")
    setattr(broken, where, number)
    with np.errstate(all="ignore"):
        controller = one_tick(panda, [JointLimits()], [broken], [Posture()], solver=solver)
    assert (np.abs(controller.solver.x) <= panda.pin_model.velocityLimit).all()


@pytest.mark.parametrize("solver", MEANINGS)
def test_a_box_that_gives_nan_stops_its_joints(panda: Description, solver: str) -> None:
    hand = Position(HAND, reference=[0.5, 0.0, 0.5])
    controller = one_tick(panda, [Band(-1.0, np.nan, "odd")], [hand], [Posture()], solver=solver)
    assert controller.plan.nonfinite == ["odd"]
    np.testing.assert_array_equal(controller.solver.x, 0.0)


# -- saved ticks -------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", MEANINGS)
def test_a_saved_tick_tells_and_solves_the_same(talos: Description, solver: str, tmp_path: Path) -> None:
    controller = run_talos(talos, solver)
    tick = load_tick(save_tick(controller, tmp_path / "tick.npz"))
    assert str(tick.explain()) == str(controller.explain())
    assert str(tick.report()) == str(controller.report())
    np.testing.assert_allclose(tick.solve(), controller.solver.x, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(tick.solve(compiled=False), controller.solver.x, rtol=0.0, atol=1e-8)


def test_a_saved_tick_can_be_solved_in_another_meaning(talos: Description, tmp_path: Path) -> None:
    """Weighted from a file of the hierarchy is weighted from the same state."""
    ticks = {}
    for solver in ("hierarchical", "weighted"):
        feet = [Pose(f"{side}_sole_link", name=f"{side}_foot") for side in ("left", "right")]
        hand = Position("gripper_left_base_link", name="hand", reference=[0.8, 0.5, 1.3], weight=4.0)
        controller = one_tick(talos, [JointLimits()], feet, [hand], [Posture(weight=1e-2)], solver=solver)
        ticks[solver] = load_tick(save_tick(controller, tmp_path / f"{solver}.npz"))
    strict, weighted = ticks["hierarchical"], ticks["weighted"]
    for backend in ("sot", "daqp"):
        np.testing.assert_allclose(strict.solve("weighted", backend), weighted.x, rtol=0.0, atol=1e-7)
    np.testing.assert_allclose(weighted.solve("hierarchical"), strict.x, rtol=0.0, atol=1e-7)
    with pytest.raises(ConfigError, match="hierarchical"):
        strict.solve("hierarchicall")


def test_a_file_that_is_no_saved_tick_is_an_error_that_names_it(panda: Description, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        load_tick(tmp_path / "missing.npz")
    with pytest.raises(ConfigError, match="cannot be written"):
        write_tick(capture(one_tick(panda, [JointLimits()], [Posture()])), tmp_path / "no" / "folder.npz")
    for name, content in (("text.npz", b"hello"), ("empty.npz", b""), ("zip.npz", b"PK\x05\x06" + bytes(18))):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ConfigError, match=name) as error:
            load_tick(tmp_path / name)
        assert "pickle" not in str(error.value)
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        load_tick(tmp_path)
    np.save(tmp_path / "array.npy", np.zeros(3))
    np.savez(tmp_path / "other.npz", A=np.zeros((2, 2)))
    for name in ("array.npy", "other.npz"):
        with pytest.raises(ConfigError, match=name):
            load_tick(tmp_path / name)


def test_pickled_objects_are_never_loaded(tmp_path: Path) -> None:
    np.savez(tmp_path / "evil.npz", A=np.array([object()], dtype=object))
    with pytest.raises(ConfigError, match=r"evil\.npz: is not a saved tick, or damaged$"):
        load_tick(tmp_path / "evil.npz")


def test_damaged_files_are_errors_or_harmless(panda: Description, tmp_path: Path) -> None:
    hand = Position(HAND, name="hand", reference=FAR)
    path = save_tick(one_tick(panda, [JointLimits()], [hand], [Posture()]), tmp_path / "tick.npz")
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(150):
        damaged = bytearray(content[: rng.integers(1, len(content))] if rng.random() < 0.3 else content)
        for _ in range(int(rng.integers(1, 20))):
            damaged[int(rng.integers(len(damaged)))] = int(rng.integers(256))
        path.write_bytes(bytes(damaged))
        try:
            assert isinstance(load_tick(path), SavedTick)
        except ConfigError as error:
            assert "tick.npz" in str(error)
            refused += 1
    assert refused > 100


@pytest.mark.parametrize(
    "change",
    [
        {"strict": 9}, {"meaning": "heavy"}, {"backend": "osqp"}, {"x": np.zeros(3)}, {"joints": ("a",)},
        {"status": np.zeros(2, dtype=np.int8)}, {"outcome": 7},
    ],
)  # fmt: skip
def test_parts_that_do_not_fit_together_are_refused(panda: Description, tmp_path: Path, change: dict) -> None:
    tick = capture(one_tick(panda, [JointLimits()], [Posture()]))
    write_tick(replace(tick, **change), tmp_path / "odd.npz")
    with pytest.raises(ConfigError, match="do not fit together"):
        load_tick(tmp_path / "odd.npz")


# -- while a change of the stack is blended in -------------------------------------------------------


def blended(robot: Description, time: float, ramp: float = 0.5) -> Controller:
    """A hard task out of reach leaves the stack; the last tick is `time` seconds later."""
    hand = Position(HAND, name="far_hand", reference=FAR, gain=50.0)
    stack = Stack([JointLimits(), hand], [Posture()])
    controller = Controller(robot, stack)
    state = State(0.0, robot.home, np.zeros(robot.pin_model.nv))
    controller.step(state)
    stack.remove("far_hand", ramp=ramp)
    controller.step(replace(state))
    controller.step(replace(state, time=time))
    return controller


def test_a_report_covers_every_stack_that_takes_part_in_the_command(panda: Description) -> None:
    controller = blended(panda, 0.25)  # half of the ramp, half of the command
    report = controller.report()
    assert controller.counters.infeasible == 3
    assert report.infeasible and report.share == pytest.approx(0.5)
    (clash,) = report.clashes
    assert clash.entry == "far_hand" and clash.text.startswith("older stack, 50 %: far_hand: misses by")
    assert str(report).splitlines()[0].endswith("infeasible, while blending: 50 % new stack")
    after = blended(panda, 0.6)
    after.step(State(0.7, panda.home, np.zeros(panda.pin_model.nv)))
    assert not after.report().infeasible and "blending" not in str(after.report())
    assert after.report().share == 1.0


def test_what_old_and_new_stack_suffer_from_is_told_once(panda: Description) -> None:
    q = panda.home.copy()
    q[0] = 3.2  # rad
    stack = Stack([JointLimits()], [Posture()])
    controller = Controller(panda, stack)
    controller.step(State(0.0, q, np.zeros(panda.pin_model.nv)))
    stack.push(Position(HAND, name="hand"), level=1, ramp=0.5)
    for time in (0.0, 0.1):
        controller.step(State(time, q, np.zeros(panda.pin_model.nv)))
    assert len(controller.phases) == 2
    assert [clash.parts for clash in controller.report().clashes] == [("panda_joint1",)]


def test_shares_of_overlapping_changes_are_those_of_the_command(panda: Description) -> None:
    """x = Σ shareᵢ xᵢ, with three versions of the stack at work."""
    hand = Position(HAND, name="hand", reference=[0.5, 0.2, 0.5])
    stack = Stack([JointLimits()], [hand], [Posture(reference={"panda_joint1": 0.5})])
    controller = Controller(panda, stack)
    state = State(0.0, panda.home, np.zeros(panda.pin_model.nv))
    controller.step(state)
    stack.push(Keep(1, -0.01, 0.01, "slow"), level=0, ramp=1.0)
    controller.step(replace(state, time=0.1))
    stack.remove("hand", ramp=1.0)
    controller.step(replace(state, time=0.4))
    command = controller.step(replace(state, time=0.8))
    ticks = capture_all(controller)
    assert len(ticks) == 3 and sum(tick.share for tick in ticks) == pytest.approx(1.0)
    np.testing.assert_allclose(sum(tick.share * tick.x for tick in ticks), command.v, rtol=0.0, atol=1e-12)


def test_explanations_and_files_say_that_the_command_is_a_blend(panda: Description, tmp_path: Path) -> None:
    controller = blended(panda, 0.15)  # s = 0.3: 3 s² − 2 s³ = 0.216
    assert "blending, 22 % of the newest stack" in str(controller.explain()).splitlines()[0]
    assert "far_hand" not in str(controller.explain())
    tick = load_tick(save_tick(controller, tmp_path / "tick.npz"))
    assert tick.share == pytest.approx(0.216)
    assert str(tick.explain()) == str(controller.explain())
    assert "22 % of the command, a blend" in str(tick)
    alone = one_tick(panda, [JointLimits()], [Posture()])
    assert alone.explain().share == capture(alone).share == 1.0
    assert "blend" not in f"{alone.explain()}{alone.report()}{capture(alone)}"


# -- who is to blame under nullspace -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Keep(0, 0.5, 0.5, "first"), Keep(0, 0.2, 0.2, "second")),
        (Locked(["panda_joint1"], name="first"), Posture(name="second", reference={"panda_joint1": 1.0})),
    ],
    ids=["rows", "locked"],
)
def test_nullspace_blames_equalities_for_what_equalities_do(panda: Description, first: Entry, second: Entry) -> None:
    report = one_tick(panda, [first, second], [Posture()], solver="nullspace").report()
    blamed = {clash.entry: clash.blockers for clash in report.clashes}
    assert {name: [b.split(":")[0] for b in by] for name, by in blamed.items()} == {
        "first": ["second"], "second": ["first"]
    }  # fmt: skip
    assert "inequalities" not in str(report)


def test_nullspace_owns_up_to_inequalities_that_it_does_not_pursue(panda: Description) -> None:
    report = one_tick(panda, [Keep(0, 0.5, 0.6, "fast")], [Posture()], solver="nullspace").report()
    assert [clash.blockers for clash in report.clashes] == [
        ("the solver 'nullspace', which does not pursue inequalities",)
    ]


def test_nullspace_blames_every_joint_that_it_holds_and_whose_release_would_help(panda: Description) -> None:
    """‖J v − b‖ over one more joint, by least squares: a held joint blocks, whichever way it would go."""
    hand = Position(HAND, name="hand", reference=[-0.451, 0.205, 0.677], gain=1.5)
    q = np.array([2.071, -1.644, 1.331, -2.544, 2.104, 2.024, -1.161, 0.017, 0.017])
    controller = one_tick(panda, [JointVelocityLimits(limit=0.3)], [hand], [Posture()], solver="nullspace", q=q)
    blockers = {blocker.name.split(" of ")[1] for blocker in controller.explain().entry("hand").blockers}
    J, x = hand.rows(controller.model, Tick(*controller.plan.written)), controller.solver.x
    missed = J.lower - J.A @ x
    held = np.flatnonzero(np.abs(x) > 0.3 - 1e-9)
    helps = {controller.model.velocity_names()[c] for c in held if abs(J.A[:, c] @ missed) > 1e-6}
    assert len(held) == 7 and 0 < len(helps) < 7  # the last joint turns about the hand's own axis
    assert blockers == helps


# -- report and counters -----------------------------------------------------------------------------


@pytest.mark.parametrize("solver", MEANINGS)
@pytest.mark.parametrize("compiled", [True, False])
def test_report_and_counters_agree_outside_the_limits(panda: Description, solver: str, compiled: bool) -> None:
    for q0 in (0.0, 2.89, 2.9, 3.2, -3.2):  # rad; the limits are ±2.8973
        q = panda.home.copy()
        q[0] = q0
        stack = Stack([JointLimits()], [Posture(reference=panda.home)])
        controller = Controller(panda, stack, solver=solver, compiled=compiled)  # type: ignore[arg-type]
        controller.step(State(0.0, q, np.zeros(panda.pin_model.nv)))
        assert controller.report().infeasible == (abs(q0) > 2.8973)
        assert controller.counters.infeasible == int(abs(q0) > 2.8973)


def test_a_capped_tick_is_told(panda: Description) -> None:
    hand = Position(HAND, name="hand", reference=FAR, gain=50.0)
    controllers = []
    for cap in (1, 100):
        controller = Controller(panda, Stack([JointLimits()], [hand], [Posture()]), max_iterations=cap)
        controller.step(State(0.0, panda.home, np.zeros(panda.pin_model.nv)))
        controllers.append(controller)
        assert controller.report().capped == (controller.counters.capped > 0)
    capped, whole = controllers
    assert capped.report().capped and not whole.report().capped
    assert "iteration cap or time budget" in str(capped.report())
    assert "iteration cap" not in str(whole.report())


@pytest.mark.parametrize("solver", MEANINGS)
def test_a_hard_entry_that_gives_nan_is_infeasible_and_a_soft_one_is_not(panda: Description, solver: str) -> None:
    broken = Broken(name="broken")
    broken.error_value = np.nan
    hard = one_tick(panda, [JointLimits(), broken], [Posture()], solver=solver).report()
    assert hard.infeasible and [clash.entry for clash in hard.clashes] == ["broken"]
    assert str(hard).count("gave NaN or infinity") == 1
    soft = one_tick(panda, [JointLimits()], [broken], [Posture()], solver=solver).report()
    assert not soft.infeasible and soft.nonfinite == ("broken",)


@pytest.mark.parametrize("solver", MEANINGS)
def test_a_box_that_was_left_out_blocks_nobody(panda: Description, solver: str) -> None:
    hand = Position(HAND, name="hand", reference=[0.5, 0.2, 0.5])
    controller = one_tick(panda, [JointLimits(), Band(-1.0, np.nan, "odd")], [hand], [Posture()], solver=solver)
    report, explanation = controller.report(), controller.explain()
    assert report.infeasible and [clash.entry for clash in report.clashes] == ["odd"]
    names = [blocker.name for blocker in explanation.entry("hand").blockers]
    assert names and all(name.startswith("standstill of panda_joint") for name in names)
    assert not any("odd" in limit.name for limit in explanation.active)
