"""Time: ticks that do not drift, motion that does not depend on the period, commands that do not jump."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import numpy as np
import pytest

import sot
from sot.errors import ConfigError, SotError
from sot.loop import Loop
from sot.loop.warm_up import warm_up
from sot.robots import Kinematic, load
from sot.tasks import CenterOfMass, JointLimits, JointVelocityLimits, Pose, Position, Posture

MS = 1_000_000  # ns


class Clock:
    """A clock that moves on when somebody looks at it, sleeps or works. Sleeps end 60 µs late, as real ones do."""

    def __init__(self) -> None:
        self.now = 7_000_000_123  # ns

    def __call__(self) -> int:
        self.now += 100
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += round(seconds * 1e9) + 60_000


def starts(loop: Loop, clock: Clock, work: list[float]) -> np.ndarray:
    """Times at which ticks begin, in periods since the first, if tick k works for work[k] periods."""
    times = []
    for share in work:
        loop.wait()
        times.append(clock.now)
        clock.now += round(share * loop.period * 1e9)
    return (np.array(times) - times[0]) / (loop.period * 1e9)


# -- the clock ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("period", [1e-3, 5e-3, 1.0 / 300.0])
def test_ticks_stay_on_the_grid_however_long_the_work_takes(period: float) -> None:
    clock = Clock()
    loop = Loop(period, clock=clock, sleep=clock.sleep)
    work = np.random.default_rng(1).uniform(0.0, 0.95, 5000).tolist()
    late = starts(loop, clock, work) - np.arange(5000)
    assert loop.late == 0
    assert late.min() >= -1e-3 and late.max() < 1e-3  # in periods: tick 4999 is as punctual as tick 1


def test_a_limiter_that_counts_from_now_would_drift() -> None:
    """What the test above is for: the same ticks, each waiting one period less its own work."""
    clock = Clock()
    begin = clock()
    for share in np.random.default_rng(1).uniform(0.0, 0.95, 5000):
        clock.now += round(share * MS)
        clock.sleep(1e-3 * (1.0 - share))
    assert (clock.now - begin) / MS - 5000 > 100


def test_missed_ticks_are_skipped_and_counted_and_the_phase_is_kept() -> None:
    clock = Clock()
    loop = Loop(1e-3, clock=clock, sleep=clock.sleep)
    times = starts(loop, clock, [0.2, 0.2, 3.4, 0.2, 0.2, 1.3, 0.2, 0.2])
    # Tick 2 takes until 5.4: ticks 3 and 4 are lost, 5 begins at once, 6 is on time. Tick 7 is late and not lost.
    np.testing.assert_allclose(times, [0, 1, 2, 5.4, 6, 7, 8.3, 9], atol=1e-3)
    assert loop.late == 2


def test_the_real_clock_loses_nothing() -> None:
    loop, rng = Loop(2e-3), np.random.default_rng(2)
    loop.wait()
    begin = time.monotonic()
    for _ in range(150):
        time.sleep(rng.uniform(0.0, 3e-3))
        loop.wait()
    behind = time.monotonic() - begin - (150 + loop.late) * loop.period
    assert -1e-3 < behind < 0.1  # waiting from tick to tick would lose 0.2 s


def test_without_real_time_nothing_waits() -> None:
    def forbidden(seconds: float) -> None:
        raise AssertionError("slept")

    loop = Loop(10.0, realtime=False, sleep=forbidden)
    assert [loop.wait() for _ in range(1000)] == [0] * 1000


# -- runs --------------------------------------------------------------------------------------------------------


def panda_run(
    dt: float,
    duration: float = 2.5,
    legs: tuple[float, float] = (1.2, 1.0),
    gain: float = 20.0,
    **options: object,
) -> tuple[sot.Run, np.ndarray]:
    """The hand goes to a place and back while the posture is held; returns its way, shape (ticks, 3)."""
    panda = load("panda")
    reference = sot.waypoints([sot.SE3(np.diag([1.0, -1.0, -1.0]), np.array(p)) for p in POINTS], legs)
    hand = Pose("panda_hand", reference=reference, gain=gain)
    stack = sot.Stack([JointLimits()], [hand], [Posture()])
    way: list[np.ndarray] = []

    def watch(state: sot.State, command: sot.Command, controller: sot.Controller) -> None:
        way.append(controller.model.placement(controller.model.frame("panda_hand")).translation.copy())

    run = sot.run(
        Kinematic(panda, dt=dt),
        sot.Controller(panda, stack, dt=dt),
        duration,
        observers=[watch],
        **options,  # type: ignore[arg-type]
    )
    return run, np.array(way)


POINTS = ([0.45, 0.15, 0.45], [0.50, -0.10, 0.60])


def test_the_same_run_gives_the_same_bits() -> None:
    first, second = panda_run(2e-3)[0].state, panda_run(2e-3)[0].state
    assert first.q.tobytes() == second.q.tobytes() and first.v.tobytes() == second.v.tobytes()


def test_a_simulation_in_real_time_is_the_same_simulation() -> None:
    begin = time.monotonic()
    timed = panda_run(2e-3, 0.3, realtime=True)[0]
    assert 0.298 <= time.monotonic() - begin
    assert timed.ticks == 150
    assert timed.state.q.tobytes() == panda_run(2e-3, 0.3)[0].state.q.tobytes()


def test_200_hz_and_1_khz_give_the_same_motion() -> None:
    (slow, way), (fast, fine_way) = panda_run(5e-3), panda_run(1e-3)
    assert np.ptp(way, axis=0).max() > 0.2  # it did move
    assert np.abs(way - fine_way[::5]).max() <= 1e-4
    assert slow.final_error["pose_panda_hand"] <= 1e-4 and fast.final_error["pose_panda_hand"] <= 1e-4


def test_what_is_left_between_periods_shrinks_with_them() -> None:
    """A faster motion at half the gain: a held velocity is an arc where a line is asked for, an error of order dt."""

    def way(dt: float) -> np.ndarray:
        return panda_run(dt, 1.8, legs=(0.8, 0.6), gain=10.0)[1]

    finest = way(2.5e-4)
    coarse, medium, fine = (np.abs(way(dt) - finest[:: round(dt / 2.5e-4)]).max() for dt in (5e-3, 2e-3, 1e-3))
    assert coarse <= 5e-4  # m
    assert 2.0 <= coarse / medium <= 3.5  # 2.5 times the period, a little more against a finest that is not zero
    assert 2.0 <= medium / fine <= 3.0


@pytest.mark.parametrize("dt", [5e-3, 1e-3])
@pytest.mark.parametrize("name", ["panda", "ur5", "tiago", "solo12", "talos", "g1"])
def test_errors_decay_at_the_rate_that_was_asked_for(name: str, dt: float) -> None:
    robot = load(name)
    frame = (robot.hands or tuple(foot.frame for foot in robot.feet))[0]
    for rate in (1.0, 5.0, 20.0, 50.0):
        for kind in (lambda rate: Position(frame, gain=rate), lambda rate: CenterOfMass(gain=rate)):
            assert measured_rate(robot, kind(rate), dt, rate) == pytest.approx(rate, rel=0.01)


def measured_rate(robot: sot.Description, task: sot.FeatureTask, dt: float, rate: float) -> float:
    """Rate of decay of a 1 cm error over about two time constants, 1/s."""
    controller, simulated = sot.Controller(robot, sot.Stack([], [task]), dt=dt), Kinematic(robot, dt=dt)
    task.reference = task.feature.value(sot.Model(robot)) + np.array([0.006, -0.006, -0.005])
    ticks, sizes = round(2.0 / (rate * dt)), []
    for _ in range(ticks + 1):
        command = controller.step(simulated.read())
        sizes.append(np.linalg.norm(task.error(controller.model)))
        simulated.write(command)
    return float(np.log(sizes[0] / sizes[-1]) / (ticks * dt))


# -- changes of the stack ----------------------------------------------------------------------------------------

RAMP, AT, DT = 0.4, 0.2, 2e-3


def changed_run(change: Callable[[sot.Stack, float], object], ramp: float | None) -> np.ndarray:
    """Commands of a run in which the stack changes at 0.2 s, shape (ticks, nv). No ramp: it never changes."""
    panda = load("panda")
    low = Position("panda_hand", name="low", reference=[0.45, 0.15, 0.40], gain=2.0)
    high = Position("panda_hand", name="high", reference=[0.45, -0.15, 0.60], gain=2.0)
    stack = sot.Stack([], [low], [high], [Posture()])
    commands: list[np.ndarray] = []

    def watch(state: sot.State, command: sot.Command, controller: sot.Controller) -> None:
        commands.append(command.v)
        if ramp is not None and len(commands) == round(AT / DT):
            change(stack, ramp)

    sot.run(Kinematic(panda, dt=DT), sot.Controller(panda, stack, dt=DT), 1.0, observers=[watch])
    return np.array(commands)


CHANGES: dict[str, Callable[[sot.Stack, float], object]] = {
    "push": lambda stack, ramp: stack.push(
        Position("panda_hand", name="far", reference=[0.30, 0.30, 0.70], gain=2.0), level=1, insert=True, ramp=ramp
    ),
    "remove": lambda stack, ramp: stack.remove("low", ramp=ramp),
    "swap": lambda stack, ramp: stack.swap("low", "high", ramp=ramp),
}


def jump(commands: np.ndarray) -> float:
    """Largest change of the command from one tick to the next, rad/s."""
    return float(np.linalg.norm(np.diff(commands, axis=0), axis=1).max())


@pytest.mark.parametrize("name", CHANGES)
def test_a_ramp_keeps_the_command_continuous(name: str) -> None:
    sudden, ramped = changed_run(CHANGES[name], 0.0), changed_run(CHANGES[name], RAMP)
    undisturbed = jump(changed_run(CHANGES[name], None))
    # x = x_old + s (x_new − x_old) with |ds/dt| ≤ 1.5 / ramp, besides what x_old and x_new change by themselves.
    gap = 2.0 * max(np.linalg.norm(sudden, axis=1).max(), np.linalg.norm(ramped, axis=1).max())
    allowed = 1.5 * DT / RAMP * gap + 2.0 * max(undisturbed, 1e-3 * gap)
    assert jump(ramped) <= allowed
    assert jump(sudden) > 5.0 * allowed  # without the ramp it jumps
    np.testing.assert_allclose(ramped[: round(AT / DT)], sudden[: round(AT / DT)])
    assert np.linalg.norm(ramped[-1] - sudden[-1]) < 0.2 * np.linalg.norm(sudden[round(AT / DT)])


# -- what a run tells --------------------------------------------------------------------------------------------


class Slow(sot.Constraint):
    """All joint speeds within ±0.05."""

    kind = "slow"

    def rows(self, model: sot.Model, tick: sot.Tick) -> sot.Rows:
        bound = np.full(model.nv, 0.05)
        return sot.Rows(np.eye(model.nv), -bound, bound)


def test_the_outcome_has_the_keys_of_the_command_line() -> None:
    run = panda_run(5e-3, 0.5)[0]
    told = json.loads(json.dumps(run.to_json()))
    assert {"ticks", "solver", "tick_us", "final_error", "max_violation", "infeasible_ticks"} <= told.keys()
    assert set(told["tick_us"]) == {"p50", "p99", "max"}
    assert 0.0 < told["tick_us"]["p50"] <= told["tick_us"]["p99"] <= told["tick_us"]["max"]
    assert told["ticks"] == 100 and told["solver"] == "hierarchical" and told["infeasible_ticks"] == 0
    assert {"pose_panda_hand", "posture"} <= told["final_error"].keys()
    assert told["max_violation"] == {"joint_limits": 0.0}
    for word in ("pose_panda_hand", "joint_limits", "kept", "p99"):
        assert word in run.summary()


def test_the_final_error_is_that_of_the_last_state_and_of_the_rows_that_count() -> None:
    panda = load("panda")
    hand = Position("panda_hand", reference=[0.6, 0.3, 0.5], mask="xz", gain=1.0)
    run = sot.run(Kinematic(panda), sot.Controller(panda, sot.Stack([], [hand])), 0.7)
    model = sot.Model(panda)
    model.update(run.state.q, run.state.v)
    p = model.placement(model.frame("panda_hand")).translation
    assert run.final_error["position_panda_hand"] == pytest.approx(np.hypot(p[0] - 0.6, p[2] - 0.5), rel=1e-9)


def test_violations_are_measured_on_the_robot() -> None:
    panda = load("panda")
    watched: list[np.ndarray] = []
    hand = Position("panda_hand", reference=[0.6, 0.3, 0.5], gain=20.0)
    stack = sot.Stack([], [hand], [Slow(), JointVelocityLimits(limit=0.2, name="soft")])
    controller = sot.Controller(panda, stack, dt=5e-3)
    run = sot.run(Kinematic(panda, dt=5e-3), controller, 0.5, observers=[lambda s, c, k: watched.append(c.v)])
    fastest = np.abs(watched).max()
    assert fastest > 0.5
    assert run.max_violation == pytest.approx({"slow": fastest - 0.05, "soft": fastest - 0.2})
    assert run.hard == () and run.ok  # soft ones may give way


def test_a_start_outside_the_limits_is_told() -> None:
    panda = load("panda")
    q = panda.home.copy()
    q[0] = panda.pin_model.upperPositionLimit[0] + 0.1
    controller = sot.Controller(panda, sot.Stack([JointLimits()], [Posture()]), dt=5e-3)
    run = sot.run(Kinematic(panda, dt=5e-3, q=q), controller, 0.5)
    assert run.max_violation["joint_limits"] >= 0.1 and not run.ok
    assert "BROKEN" in run.summary()


class Flaky(sot.Task):
    """Gives NaN in some of its ticks."""

    kind = "flaky"

    def __init__(self, bad: range) -> None:
        super().__init__()
        self.bad, self.asked = bad, 0

    def begin(self, model: sot.Model, tick: sot.Tick) -> None:
        self.asked = round(tick.time / tick.dt)

    def error(self, model: sot.Model) -> np.ndarray:
        return np.array([np.nan if self.asked in self.bad else 0.0])

    def jacobian(self, model: sot.Model) -> np.ndarray:
        return np.eye(model.nv)[:1]


@pytest.mark.parametrize("bad", [range(0), range(5, 12)], ids=["never", "seven"])
def test_ticks_with_nan_count_against_a_run(bad: range) -> None:
    panda = load("panda")
    controller = sot.Controller(panda, sot.Stack([JointLimits()], [Flaky(bad)], [Posture()]), dt=5e-3)
    run = sot.run(Kinematic(panda, dt=5e-3), controller, 0.1)
    assert run.nonfinite_ticks == run.to_json()["nonfinite_ticks"] == controller.counters.nonfinite == len(bad)
    assert run.ok == (not bad)
    assert ("7 with NaN or infinity" in run.summary()) == bool(bad)
    assert run.infeasible_ticks == 0 and run.final_error["flaky"] == 0.0


class Alive:
    """A robot with a clock of its own, which runs at three times the pace that the controller thinks."""

    def __init__(self, simulated: Kinematic) -> None:
        self.simulated, self.closed = simulated, False

    def read(self) -> sot.State:
        state = self.simulated.read()
        return sot.State(3.0 * state.time, state.q, state.v)

    def write(self, command: sot.Command) -> None:
        self.simulated.write(command)

    def close(self) -> None:
        self.closed = True


def test_a_run_ends_by_the_clock_of_the_robot() -> None:
    panda = load("panda")
    robot = Alive(Kinematic(panda))
    run = sot.run(robot, sot.Controller(panda, sot.Stack([], [Posture()])), 0.3)
    assert run.ticks == 100 and not robot.closed


def test_a_robot_is_closed_when_something_goes_wrong() -> None:
    panda = load("panda")
    robot = Alive(Kinematic(panda))

    def fail(state: sot.State, command: sot.Command, controller: sot.Controller) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        sot.run(robot, sot.Controller(panda, sot.Stack([], [Posture()])), 0.3, observers=[fail])
    assert robot.closed


def test_robot_and_controller_must_mean_the_same_period() -> None:
    panda = load("panda")
    with pytest.raises(ConfigError, match=r"0\.001 s.*0\.005 s.*same dt"):
        sot.run(Kinematic(panda, dt=1e-3), sot.Controller(panda, sot.Stack([], [Posture()]), dt=5e-3), 1.0)


@pytest.mark.parametrize("duration", [float("nan"), -1.0, float("inf"), "long"])
def test_a_duration_is_a_number(duration: object) -> None:
    panda = load("panda")
    with pytest.raises(SotError, match="duration"):
        sot.run(Kinematic(panda), sot.Controller(panda, sot.Stack([], [Posture()])), duration)  # type: ignore[arg-type]


@pytest.mark.parametrize("solver", ["nullspace", "hierarchical", "weighted"])
def test_warming_up_does_not_touch_the_users_tasks(solver: str) -> None:
    class Shy(sot.Task):
        kind = "shy"
        asked = 0

        def error(self, model: sot.Model) -> np.ndarray:
            Shy.asked += 1
            return model.com[2:] - 0.5

        def jacobian(self, model: sot.Model) -> np.ndarray:
            return model.com_jacobian[2:]

    panda = load("panda")
    hand = Pose("panda_hand", reference=sot.move(by=[0.1, 0.0, 0.0], duration=1.0))
    controller = sot.Controller(panda, sot.Stack([JointLimits()], [hand], [Shy()], [Posture()]), solver=solver)  # type: ignore[arg-type]
    before = Shy.asked
    warm_up(controller)
    assert Shy.asked == before and hand.target is None and controller.counters.ticks == 0


def test_robot_and_controller_must_be_of_the_same_kind():
    from sot.tasks import Posture

    panda = load("panda")
    controller = sot.Controller(panda, sot.Stack([], [Posture()]))
    with pytest.raises(ConfigError, match="'ur5', but the controller was made for 'panda'"):
        sot.run(Kinematic(load("ur5")), controller, duration=0.01)
