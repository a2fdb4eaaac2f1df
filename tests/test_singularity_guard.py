"""Singular values, their gradients, and the guard that keeps them up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from plugins import along, model_of

import sot
from sot.entry import Entry, Tick
from sot.errors import ModelError, RobotError, SotError, TaskError
from sot.model import ALIGNED, Model
from sot.robots import load
from sot.singularity import Chain, SoftOrder, measure
from sot.sketch import ALARM, CALM, WARNING, Line
from sot.state import State
from sot.tasks import Damping, JointLimits, Pose, Position, Posture, SingularityGuard
from sot.tasks import singularity_guard as module

ARMS = {
    "panda": "panda_hand_tcp",
    "ur5": "tool0",
    "so101": "gripper_frame_link",
    "xarm7": "link_eef",
    "talos": "gripper_left_base_link",
    "tiago": "hand_tool_link",
}
STOP = 0.03  # the guard's default
SMALL = 0.02  # by this part σ may fall below `stop`
PERIODS = (5e-3, 1e-3)


def sigma_of(model: Model, chain: Chain) -> np.ndarray:
    """Singular values, smallest first, straight from the definition."""
    J = model.jacobian(chain.frame_id, ALIGNED)[chain.rows][:, chain.columns[chain.chosen]]
    J = J / np.where(chain.rows < 3, chain.length, 1.0)[:, None]
    return np.sort(np.linalg.svd(J, compute_uv=False))[-chain.count :]


def tick(model: Model, dt: float = 5e-3) -> Tick:
    return Tick(0.0, dt, np.zeros(model.nv))


@dataclass
class Run:
    """What came of a run: time first."""

    sigma: np.ndarray
    v: np.ndarray
    q: np.ndarray
    status: list[str]

    def jitter(self, part: float = 0.0) -> np.ndarray:
        """|Δ²v| of each joint from a part of the run on, rad/s per tick²."""
        return np.abs(np.diff(self.v[int(part * len(self.v)) :], 2, axis=0))


def run(
    robot: str,
    levels: Sequence[Sequence[Entry]],
    q: np.ndarray,
    duration: float,
    dt: float = 5e-3,
    *,
    mask: str | None = None,
    noise: float = 0.0,
    solver: str = "hierarchical",
) -> Run:
    """Commands, integrated; the guard, if there is one, is asked for its status."""
    model, rng = model_of(robot), np.random.default_rng(0)
    controller = sot.Controller(load(robot), sot.Stack(*levels), solver=solver, dt=dt)
    guard = next((entry for entry in levels[0] if isinstance(entry, SingularityGuard)), None)
    chain, v, out = Chain(model, ARMS[robot], mask), np.zeros(model.nv), Run([], [], [], [])
    for i in range(round(duration / dt)):
        seen = model.integrate(q, noise * rng.normal(size=model.nv)) if noise else q
        v = controller.step(State(time=i * dt, q=seen, v=v)).v.copy()
        model.update(q, v)
        out.status.append(guard.report(model, v).status if guard and dt == PERIODS[0] else "")
        q = model.integrate(q, dt * v)
        model.update(q, v)
        out.sigma.append(sigma_of(model, chain))
        out.v.append(v)
        out.q.append(q)
    return Run(np.array(out.sigma), np.array(out.v), np.array(out.q), out.status)


# -- singular values and their gradients -------------------------------------------------------------------


@pytest.mark.parametrize("mask", [None, "xyz", ["rx", "ry", "rz"], ["x", "z", "ry"]])
@pytest.mark.parametrize("joints", [None, "*"])
@pytest.mark.parametrize("robot", ARMS)
def test_gradients_match_finite_differences(robot, joints, mask) -> None:
    """Also along joints that are no columns of J, and along the degrees of freedom of a base."""
    model, rng = model_of(robot), np.random.default_rng(1)
    chain = Chain(model, ARMS[robot], mask, joints=joints)
    checked = 0
    for _ in range(12):
        model.update(model.random_configuration(rng), np.zeros(model.nv))
        twists = chain.twists(model)
        assert np.abs(twists - model.jacobian(chain.frame_id, ALIGNED)[:, chain.columns]).max() <= 1e-12
        sigma = sigma_of(model, chain)
        assert np.abs(chain.spectrum(twists).sigma - sigma).max() <= 1e-12
        if np.diff(sigma, prepend=0.0).min() < 0.02:  # no single gradients, or too curved for the difference
            continue
        gradients = chain.gradients(twists, chain.spectrum(twists))
        numeric = np.array([along(model, unit, lambda m: sigma_of(m, chain)) for unit in np.eye(model.nv)]).T
        assert np.abs(numeric[:, chain.columns] - gradients).max() <= 1e-5
        assert np.abs(np.delete(numeric, chain.columns, axis=1)).max(initial=0.0) <= 1e-9
        checked += 1
    assert checked >= 3


def test_measures_are_what_their_names_say() -> None:
    for robot, frame in ARMS.items():
        model, chain = model_of(robot), Chain(model_of(robot), frame)
        model.update(model.random_configuration(np.random.default_rng(2)), np.zeros(model.nv))
        found, J = measure(model, frame), chain.jacobian(chain.twists(model))
        gram = J @ J.T if J.shape[0] <= J.shape[1] else J.T @ J
        assert abs(found.manipulability - np.sqrt(np.linalg.det(gram))) <= 1e-12
        assert abs(found.condition - np.linalg.cond(J)) <= 1e-9 * found.condition
        assert found.sigma_min == found.sigma[0] == found.sigma.min() and found.length == chain.length
        assert abs(np.linalg.norm(found.direction) - 1.0) <= 1e-12
        assert abs(np.linalg.norm(J.T @ found.direction) - found.sigma_min) <= 1e-12


def test_the_direction_points_to_the_singularity() -> None:
    """A nearly stretched arm cannot reach further out: along the line from shoulder to wrist, in the plane of both."""
    model = model_of("ur5")
    q = model.robot.home.copy()
    q[2] = 0.1
    model.update(q, np.zeros(6))
    found, chain = measure(model, "tool0"), Chain(model, "tool0")
    shoulder, wrist = (model.joint_placements[i, 9:] for i in (2, 4))
    line = (wrist - shoulder) / np.linalg.norm(wrist - shoulder)
    assert found.direction[:3] @ line > 0.7
    spectrum = chain.spectrum(chain.twists(model))
    motion = spectrum.V[:, 0] * np.sign(spectrum.U[:, 0] @ found.direction)  # makes the twist
    assert along(model, motion, lambda m: sigma_of(m, chain))[0] < -0.1
    first = found.words.split(", ")[0].split()
    assert first[1] in ("x", "z") and abs(float(first[0]) - np.abs(found.direction).max()) <= 0.01


def test_length_is_the_way_to_the_frame_whatever_the_posture() -> None:
    model, lengths = model_of("ur5"), []
    for seed in range(3):
        model.update(model.random_configuration(np.random.default_rng(seed)), np.zeros(6))
        lengths.append(Chain(model, "tool0").length)
    assert len(set(lengths)) == 1
    # UR5: shoulder 0.13592 beside the base's axis, upper arm 0.425 and 0.1197, forearm 0.39225, wrist 0.093, 0.09465,
    # tool 0.0823.
    steps = [0.13585, np.hypot(0.425, 0.1197), 0.39225, 0.093, 0.09465, 0.0823]
    ways = np.cumsum(steps[::-1])[::-1]
    assert abs(lengths[0] - np.sqrt(np.mean(ways**2))) <= 1e-3
    assert Chain(model, "tool0", length=2.0).length == 2.0


def test_directions_in_which_a_frame_never_moves_do_not_count() -> None:
    """The second link of a double pendulum turns about one axis: its angular rows have rank 1."""
    model = Model(load("double_pendulum"))
    chain = Chain(model, model.robot.hands[0], ["rx", "ry", "rz"])
    assert chain.count == 1 and measure(model, model.robot.hands[0], ["rx", "ry", "rz"]).sigma_min > 0.1


# -- smooth order ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 5, 6])
def test_soft_order(count) -> None:
    """f₁ ≤ σ_min, Σf = Σσ; weights are derivatives, not negative, with sums 1; far apart it is the plain order."""
    order, rng = SoftOrder(count, 0.01), np.random.default_rng(count)
    for spread in (0.0, 0.003, 0.02, 1.0):
        sigma = np.sort(0.1 + spread * rng.random(count))
        values, weights = order(sigma)
        assert values[0] <= sigma[0] + 1e-15 and abs(values.sum() - sigma.sum()) <= 1e-12
        assert (np.diff(values) >= -1e-12).all() and (weights >= -1e-12).all()
        assert np.abs(weights.sum(axis=0) - 1.0).max() <= 1e-12 and np.abs(weights.sum(axis=1) - 1.0).max() <= 1e-12
        h = 1e-6
        numeric = [(order(sigma + h * e)[0] - order(sigma - h * e)[0]) / (2 * h) for e in np.eye(count)]
        assert np.abs(np.array(numeric).T - weights).max() <= 1e-6
    apart = np.arange(1, count + 1) * 0.4
    values, weights = order(apart)
    assert np.array_equal(values, apart) and np.abs(weights - np.eye(count)).max() <= 1e-15


# -- the allowed speed -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dt", PERIODS)
@pytest.mark.parametrize("parts", [1, 2, 3])
def test_the_allowed_speed_is_monotone_and_continuous(dt, parts) -> None:
    guard = SingularityGuard("any", slow=0.2, stop=0.05, rate=30.0)
    sigma = np.linspace(0.0, 0.3, 30001)
    speed = guard.speed(sigma, dt, parts)
    assert (speed[sigma <= 0.05] == 0.0).all() and np.isinf(speed[sigma >= 0.2]).all()
    inside = speed[sigma < 0.2]
    assert np.isfinite(inside).all() and (np.diff(inside) >= 0.0).all()
    with np.errstate(over="ignore"):
        turned = 1.0 / (1.0 + speed)  # continuous also where the speed becomes infinite
    assert np.abs(np.diff(turned)).max() <= 2e-2
    near = guard.speed(np.array([0.05 + 1e-6]), dt, parts)[0]
    assert abs(parts * near * dt - (1.0 - np.exp(-parts * 30.0 * dt)) * 1e-6) <= 1e-10


def test_rows_never_push_and_their_number_stays() -> None:
    """At any state, singular ones included: finite coefficients, no bound above zero."""
    for robot, frame in ARMS.items():
        model, rng = model_of(robot), np.random.default_rng(3)
        guard = SingularityGuard(frame, slow=0.5, stop=0.1)
        guard.setup(model)
        shapes = set()
        states = [model.robot.home, np.zeros(model.nq), *(model.random_configuration(rng, 2.0) for _ in range(20))]
        for q in states:
            if robot in ("talos", "tiago"):  # a quaternion, or cos and sin
                q = np.where(np.arange(model.nq) < 7, model.robot.home, q)
            model.update(q, np.zeros(model.nv))
            rows = guard.rows(model, tick(model))
            shapes.add(rows.A.shape)
            assert np.isfinite(rows.A).all() and (rows.lower <= 0.0).all() and np.isposinf(rows.upper).all()
            assert not np.isnan(rows.lower).any()
        assert len(shapes) == 1 and len(set(guard.labels(rows.lower.size))) == rows.lower.size


def test_far_away_there_is_no_limit() -> None:
    model = model_of("panda")
    guard = SingularityGuard("panda_hand_tcp", slow=0.1)
    guard.setup(model)
    model.update(model.robot.home, np.zeros(model.nv))
    rows = guard.rows(model, tick(model))
    assert not rows.A.any() and np.isneginf(rows.lower).all()


@pytest.mark.parametrize("robot", ["panda", "ur5", "so101", "talos"])
def test_the_parts_of_a_row_make_up_the_gradient(robot) -> None:
    """Far from others and from zero the rows of σ_min sum to its gradient; the self part does not move the frame."""
    model, frame = model_of(robot), ARMS[robot]
    guard, rng, checked = SingularityGuard(frame, slow=0.3, stop=0.01), np.random.default_rng(4), 0
    guard.setup(model)
    for _ in range(40):
        model.update(model.random_configuration(rng), np.zeros(model.nv))
        sigma = sigma_of(model, guard.chain)
        if not (0.05 < sigma[0] < 0.25) or sigma[1] - sigma[0] < 0.1:
            continue
        rows, k = guard.rows(model, tick(model)), guard.chain.count
        slope = np.array([along(model, unit, lambda m: sigma_of(m, guard.chain)[:1])[0] for unit in np.eye(model.nv)])
        assert np.abs(rows.A[::k].sum(axis=0) - slope).max() <= 1e-5
        if rows.A.shape[0] == 3 * k:
            assert np.abs(model.jacobian(guard.chain.frame_id, ALIGNED) @ rows.A[2 * k]).max() <= 1e-4
        checked += 1
    assert checked >= 2


# -- motions into singularities ----------------------------------------------------------------------------


def ur5(**joints: float) -> np.ndarray:
    model = model_of("ur5")
    q = model.robot.home.copy()
    for name, value in joints.items():
        q[model.joint(f"{name}_joint").q] = value
    return q


def pose_of(robot: str, q: np.ndarray) -> sot.SE3:
    model = model_of(robot)
    model.update(q, np.zeros(model.nv))
    return model.placement(model.frame(ARMS[robot])).copy()


MOTIONS = {
    "elbow": (ur5(), lambda: sot.move(by=[0.5, 0.0, 0.3, 0.0, 0.0, 0.0], duration=3.0)),
    "shoulder": (ur5(), lambda: sot.move(by=[-0.6, 0.0, 0.2, 0.0, 0.0, 0.0], duration=3.0)),
    "wrist": (ur5(wrist_2=-0.6), lambda: sot.move(to=pose_of("ur5", ur5(wrist_2=0.6)), duration=3.0)),
}


@pytest.mark.parametrize("motion", MOTIONS)
def test_the_guard_stops_in_front_of_singularities(motion) -> None:
    """At 200 Hz and at 1 kHz alike; without it the same motion runs into them."""
    start, reference = MOTIONS[motion]
    runs = []
    for dt in PERIODS:
        guarded = [[JointLimits(), SingularityGuard("tool0")], [Pose("tool0", reference=reference())], [Posture()]]
        runs.append(run("ur5", guarded, start, 4.0, dt))
        assert runs[-1].sigma[:, 0].min() >= STOP * (1.0 - SMALL)
    each = round(PERIODS[0] / PERIODS[1])
    assert np.abs(runs[0].sigma[:, 0] - runs[1].sigma[each - 1 :: each, 0]).max() <= 3e-3
    bare = run("ur5", [[JointLimits()], [Pose("tool0", reference=reference())], [Posture()]], start, 4.0)
    assert bare.sigma[:, 0].min() < 0.5 * STOP


@pytest.mark.parametrize("robot", ["panda", "ur5", "so101", "xarm7"])
def test_random_motions_stay_above_stop(robot) -> None:
    """Joint targets anywhere, a new one every 0.4 s: nothing but the guard holds them back."""
    model, frame, rng = model_of(robot), ARMS[robot], np.random.default_rng(5)
    guard, dt = SingularityGuard(frame, slow=0.2, stop=0.08), 5e-3
    posture = Posture(gain=4.0)
    controller = sot.Controller(load(robot), sot.Stack([guard], [posture]), dt=dt)
    chain, q, v, lowest, bare = Chain(model, frame), model.robot.home.copy(), np.zeros(model.nv), np.inf, np.inf
    for i in range(1600):
        if i % 80 == 0:
            goal = model.random_configuration(rng, 2.0)
            posture.reference = goal
            model.update(goal, v)
            bare = min(bare, sigma_of(model, chain)[0])
        v = controller.step(State(time=i * dt, q=q, v=v)).v.copy()
        q = model.integrate(q, dt * v)
        model.update(q, v)
        lowest = min(lowest, sigma_of(model, chain)[0])
    assert lowest >= 0.08 * (1.0 - SMALL) and bare < 0.05


@pytest.mark.parametrize("solver", ["nullspace", "hierarchical", "weighted"])
def test_all_solvers_keep_it(solver) -> None:
    start, reference = MOTIONS["elbow"]
    levels = [[JointLimits(), SingularityGuard("tool0")], [Pose("tool0", reference=reference())], [Posture()]]
    out = run("ur5", levels, start, 4.0, solver=solver)
    assert out.sigma[:, 0].min() >= STOP * (1.0 - SMALL) and np.isfinite(out.v).all()


def test_it_can_be_soft() -> None:
    start, reference = MOTIONS["shoulder"]
    hand = Pose("tool0", reference=reference())
    levels = [[JointLimits()], [SingularityGuard("tool0", weight=4.0)], [hand], [Posture()]]
    assert run("ur5", levels, start, 4.0).sigma[:, 0].min() >= STOP * (1.0 - SMALL)


# -- out of reach ------------------------------------------------------------------------------------------

# Slow enough that no joint meets its speed limit: where one does, a redundant arm may change its mind in one tick.
REACH = {
    "ur5": [0.6, 0.0, 0.3],
    "panda": [0.45, 0.6, 0.2],
    "xarm7": [0.0, 0.0, 0.8],
    "so101": [0.25, 0.0, 0.1],
}
QUIET = 1e-6  # rad/s per tick²: largest |Δ²v| at rest against the guard
SMOOTH = 2e-4  # mean of |Δ²v| over the whole run


class OneRow(SingularityGuard):
    """A guard that does not split its rows."""

    def setup(self, model: Model) -> None:
        super().setup(model)
        self._parts, k = ["along"], self.chain.count
        self._unbounded = self._unbounded[:k]
        self._free = sot.Rows(self._free.A[:k], self._free.lower[:k], self._unbounded)

    def _split(self, look):
        return look.slopes[None]


def out_of_reach(robot: str, mask: str | None, guard: SingularityGuard | None, dt: float = 5e-3) -> Run:
    by = REACH[robot]
    if mask is None:
        hand: Entry = Pose(ARMS[robot], reference=sot.move(by=[*by, 0.0, 0.0, 0.0], duration=12.0))
    else:
        hand = Position(ARMS[robot], reference=sot.move(by=by, duration=12.0))
    hard = [JointLimits()] if guard is None else [JointLimits(), guard]
    return run(robot, [hard, [hand], [Posture()]], model_of(robot).robot.home, 14.0, dt, mask=mask)


@pytest.mark.parametrize("mask", [None, "xyz"])
@pytest.mark.parametrize("robot", REACH)
def test_a_target_out_of_reach_makes_no_chatter(robot, mask) -> None:
    out = out_of_reach(robot, mask, SingularityGuard(ARMS[robot], mask=mask))
    assert out.sigma[:, 0].min() >= STOP * (1.0 - SMALL)
    assert out.jitter().mean() <= SMOOTH and out.jitter(0.85).max() <= QUIET
    assert np.abs(out.v[-1]).max() <= 1e-3 and out.sigma[-1, 0] <= 1.01 * STOP


@pytest.mark.parametrize(("robot", "mask"), [("panda", None), ("ur5", "xyz")])
def test_without_the_guard_or_its_parts_there_is_chatter(robot, mask) -> None:
    for guard in (None, OneRow(ARMS[robot], mask=mask)):
        out = out_of_reach(robot, mask, guard)
        assert out.jitter().mean() > 10.0 * SMOOTH and out.jitter(0.85).max() > 1.0


def test_noise_is_not_amplified() -> None:
    """At rest against the guard, noise of 0.1 mrad makes no more motion than the posture's gain makes of it."""
    start, reference = MOTIONS["elbow"]
    levels = [[JointLimits(), SingularityGuard("tool0")], [Pose("tool0", reference=reference())], [Posture()]]
    out = run("ur5", levels, start, 5.0, noise=1e-4)
    assert out.sigma[:, 0].min() >= STOP * (1.0 - SMALL) and out.jitter(0.9).max() <= 0.05


# -- no jumps ----------------------------------------------------------------------------------------------


def commands(robot: str, guard: SingularityGuard, goal: np.ndarray, path: Sequence[np.ndarray]) -> np.ndarray:
    """What the guard makes of a motion to a posture, at states along a path."""
    controller = sot.Controller(load(robot), sot.Stack([guard], [Posture(reference=goal, gain=2.0)]), dt=1e-3)
    v = np.zeros(model_of(robot).nv)
    return np.array([controller.step(State(time=0.0, q=q, v=v)).v for q in path])


def steepest(v: np.ndarray) -> float:
    return float(np.abs(np.diff(v, axis=0)).max())


def crossing(model: Model, chain: Chain) -> np.ndarray:
    """A configuration of the UR5 at which the two smallest singular values meet, by Newton steps on their gap."""
    q = np.array([-0.3, -1.47, 2.9, -1.46, -1.72, -0.52])
    for _ in range(60):
        model.update(q, np.zeros(6))
        twists = chain.twists(model)
        spectrum = chain.spectrum(twists)
        # The gap is √(a² + b²), with a half the difference of the diagonal of Uᵀ J V and b the coupling.
        slopes = chain.slopes(twists) / np.where(np.arange(6) < 3, chain.length, 1.0)[None, :, None]
        S = spectrum.U[:, :2].T @ slopes @ spectrum.V[:, :2]  # (n, 2, 2)
        rows = np.array([S[:, 1, 1] - S[:, 0, 0], S[:, 0, 1] + S[:, 1, 0]])
        q = q - np.linalg.pinv(rows) @ [spectrum.sigma[1] - spectrum.sigma[0], 0.0]
    return q


def test_crossing_singular_values_do_not_make_the_command_jump(monkeypatch) -> None:
    """On paths that pass a crossing at 0.01 mrad the command changes by less than 3 mrad/s per 0.1 mrad."""
    model = model_of("ur5")
    chain = Chain(model, "tool0")
    centre = crossing(model, chain)
    model.update(centre, np.zeros(6))
    level = sigma_of(model, chain)
    assert level[1] - level[0] <= 1e-9

    def worst() -> float:
        found = []
        for seed in range(6):
            rng = np.random.default_rng(seed)
            way, goal = rng.normal(size=6), centre + 1.5 * rng.normal(size=6)
            way, side = way / np.linalg.norm(way), 1e-5 * rng.normal(size=6)
            path = [centre + side + x * way for x in np.linspace(-0.02, 0.02, 401)]
            guard = SingularityGuard("tool0", slow=1.5 * level[0], stop=0.8 * level[0], rate=5.0)
            found.append(steepest(commands("ur5", guard, goal, path)))
        return max(found)

    assert worst() <= 3e-3
    monkeypatch.setattr(module, "MIXING", 1e-5)
    assert worst() >= 0.1


def test_passing_zero_does_not_make_the_command_jump(monkeypatch) -> None:
    """At σ = 0 the gradient changes sign; the bound is open there and closes over a few mrad on both sides."""
    path = [ur5(wrist_2=x) for x in np.linspace(-4e-3, 4e-3, 801)]
    smooth = steepest(commands("ur5", SingularityGuard("tool0"), ur5(), path))
    monkeypatch.setattr(module, "CENTRE", 1e-9)
    assert smooth <= 0.1 <= 1.0 <= steepest(commands("ur5", SingularityGuard("tool0"), ur5(), path))


def test_flat_gradients_do_not_make_the_command_jump(monkeypatch) -> None:
    """In the plane of a stretched Panda self-motions to the left and right are alike: σ is at an extremum there."""
    model = model_of("panda")
    q = model.robot.home.copy()
    q[:7] = [0.0, 0.69, 0.0, -0.62, 0.0, 1.34, 0.0]
    model.update(q, np.zeros(model.nv))
    chain = Chain(model, ARMS["panda"])
    twists = chain.twists(model)
    assert sigma_of(model, chain)[0] < STOP
    turn = np.zeros(model.nv)
    turn[:7] = np.linalg.svd(chain.jacobian(twists))[2][-1]
    path = [q + x * turn for x in np.linspace(-0.05, 0.05, 1001)]

    def worst() -> float:
        goals = (q + 0.5 * turn, q - 0.5 * turn)
        return max(steepest(commands("panda", SingularityGuard(ARMS["panda"]), goal, path)) for goal in goals)

    smooth = worst()
    monkeypatch.setattr(module, "FREE", 0.0)
    assert smooth <= 5e-4 and worst() >= 5e-3  # rad/s per 0.1 mrad


# -- leaving -----------------------------------------------------------------------------------------------

SINGULAR = {
    "wrist": ur5(wrist_2=0.0),
    "elbow": ur5(elbow=0.0),
    "both": ur5(elbow=0.0, wrist_2=0.0),
    "almost": ur5(wrist_2=-1e-12),
    "below": ur5(elbow=0.05),
}


@pytest.mark.parametrize("solver", ["nullspace", "hierarchical", "weighted"])
@pytest.mark.parametrize("start", SINGULAR)
def test_it_lets_go_of_a_singular_start(start, solver) -> None:
    """Half a second later the arm is out, at 0.1 mrad of noise too; and it stays if nobody wants to move."""
    q = SINGULAR[start]
    for noise in (0.0, 1e-4):
        levels = [[JointLimits(), SingularityGuard("tool0")], [Posture(gain=2.0)]]
        out = run("ur5", levels, q, 0.5, noise=noise, solver=solver)
        assert np.isfinite(out.v).all() and out.sigma[-1, 0] > 0.15
        assert "leaving" in out.status and out.status[-1] == "none"
    still = run("ur5", [[SingularityGuard("tool0")], [Posture(reference=q)]], q, 0.05, solver=solver)
    assert np.abs(still.v).max() <= 1e-9


@pytest.mark.parametrize("dt", PERIODS)
def test_a_hand_is_pulled_back_from_a_stretched_arm(dt) -> None:
    hand = Pose("tool0", reference=sot.move(by=[-0.2, 0.0, 0.0, 0.0, 0.0, 0.0], duration=2.0))
    levels = [[JointLimits(), SingularityGuard("tool0")], [hand, Damping()], [Posture()]]
    out = run("ur5", levels, ur5(elbow=0.02), 4.0, dt)
    assert out.sigma[0, 0] < STOP < 0.06 < out.sigma[-1, 0]
    model = model_of("ur5")
    model.update(out.q[-1], out.v[-1])
    assert np.abs(hand.error(model)).max() <= 1e-3


# -- what it says ------------------------------------------------------------------------------------------


def test_all_statuses_occur_in_their_order() -> None:
    start = pose_of("ur5", ur5())
    out_and_back = [sot.SE3(start.rotation, start.translation + np.array(d)) for d in ([0.5, 0, 0.3], [0, 0, 0])]
    hand = Pose("tool0", reference=sot.waypoints(out_and_back, durations=[3.0, 3.0]), gain=10.0)
    out = run("ur5", [[JointLimits(), SingularityGuard("tool0")], [hand], [Posture()]], ur5(), 6.5)
    changes = [status for i, status in enumerate(out.status) if i == 0 or status != out.status[i - 1]]
    assert changes == ["none", "slowing", "stopped", "leaving", "none"]
    for sigma, status in zip(out.sigma[:-1, 0], out.status[1:], strict=True):  # each at the state it was said of
        if status == "stopped":
            assert sigma <= STOP + 0.05 * (0.15 - STOP)
        if status == "none":
            assert sigma >= 0.15


COLOURS = {"slowing": WARNING, "stopped": ALARM, "leaving": CALM}


@pytest.mark.parametrize("robot", ARMS)
def test_facts_and_sketches_are_finite_everywhere(robot) -> None:
    model, guard = model_of(robot), SingularityGuard(ARMS[robot], slow=0.4, stop=0.1)
    rng, seen = np.random.default_rng(6), set()
    for i in range(60):
        v = rng.normal(size=model.nv)
        model.update(model.random_configuration(rng, 0.1 * i), v)
        facts = guard.facts(model, tick(model), v)
        assert list(facts) == ["sigma_min", "condition", "manipulability", "direction", "status"]
        assert all(np.isfinite(fact) for fact in facts.values() if not isinstance(fact, str))
        assert facts["direction"] and facts["status"] == guard.report(model, v).status
        seen.add(facts["status"])
        drawings = guard.sketch(model)
        assert bool(drawings) == (facts["status"] != "none")
        for line in drawings:
            assert isinstance(line, Line) and line.arrow and line.colour == COLOURS[facts["status"]]
            assert np.allclose(line.start, model.placement(model.frame(ARMS[robot])).translation)
            assert np.isfinite(line.end).all() and 0.01 < np.linalg.norm(line.end - line.start) < 1.0
    assert {"slowing", "leaving"} <= seen


def test_at_a_singularity_everything_is_said_too() -> None:
    model, guard = model_of("ur5"), SingularityGuard("tool0")
    for q in SINGULAR.values():
        model.update(q, np.zeros(6))
        facts = guard.facts(model, tick(model), np.zeros(6))
        assert facts["status"] == "stopped" and np.isfinite(facts["condition"]) and facts["direction"]
        assert guard.sketch(model)[0].colour == ALARM


def test_it_is_explained() -> None:
    controller = sot.Controller(load("ur5"), sot.Stack([SingularityGuard("tool0")], [Posture()]))
    q = ur5(elbow=0.05)
    controller.step(State(time=0.0, q=q, v=np.zeros(6)))
    text = str(controller.explain())
    assert "singularity_guard_tool0" in text and "sigma_min" in text and "leaving" in text


# -- errors ------------------------------------------------------------------------------------------------

BAD = {
    "order": (lambda: SingularityGuard("tool0", slow=0.1, stop=0.2), TaskError, "below slow"),
    "stop": (lambda: SingularityGuard("tool0", stop=0.0), TaskError, "stop"),
    "NaN": (lambda: SingularityGuard("tool0", slow=np.nan), TaskError, "slow"),
    "rate": (lambda: SingularityGuard("tool0", rate=-1.0), TaskError, "rate"),
    "length": (lambda: SingularityGuard("tool0", length=0.0), TaskError, "length"),
    "frame": (lambda: SingularityGuard("tool"), ModelError, "tool0"),
    "mask": (lambda: SingularityGuard("tool0", mask="xw"), TaskError, "rx"),
    "joints": (lambda: SingularityGuard("tool0", joints="panda_joint1"), ModelError, "elbow_joint"),
    "fixed": (lambda: SingularityGuard("base_link"), TaskError, "no joint"),
    "never": (lambda: SingularityGuard("shoulder_link", mask="xyz"), TaskError, "never move"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_said(case) -> None:
    make, kind, words = BAD[case]
    with pytest.raises(SotError) as caught:
        make().setup(model_of("ur5"))
    assert isinstance(caught.value, kind) and words in str(caught.value), str(caught.value)


def test_a_state_that_is_not_finite_is_the_robots_fault() -> None:
    robot = load("ur5")
    controller = sot.Controller(robot, sot.Stack([JointLimits(), SingularityGuard("tool0")], [Pose("tool0")]))
    controller.step(State(0.0, robot.home, np.zeros(6)))
    with pytest.raises(RobotError, match="not finite"):
        controller.step(State(1e-3, np.full(6, np.nan), np.zeros(6)))
