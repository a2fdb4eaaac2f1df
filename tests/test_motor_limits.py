"""What motors can do: torque limits that fall with speed, and torques that change no faster than they may."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from robot_files import GOOD, write

import sot
from sot.entry import Tick
from sot.errors import ModelError, SotError, TaskError
from sot.robots import load
from sot.state import State
from sot.tasks import Pose, Posture, TorqueLimits, TorqueRate


def bounds(constraint, robot, v, before=None, dt=1e-3):
    model = sot.Model(robot)
    constraint.setup(model)
    model.update(robot.home, v)
    rows = constraint.dynamic_rows(model, Tick(0.0, dt, v, previous_torque=before))
    assert rows.on == "torque" and constraint.rows(model, Tick(0.0, dt, v)).lower.size == 0
    return rows


# -- torque and speed --------------------------------------------------------------------------------------


def test_the_curve_of_a_motor():
    """Full torque up to the corner, none at the no-load speed, all of it for braking; a closed form per joint."""
    robot = load("ur5")
    limit = np.array(robot.pin_model.effortLimit)
    for speed in (-9.0, -8.0, -5.0, -2.0, -1.0, 0.0, 0.5, 2.0, 2.5, 7.999, 8.0, 11.0):
        rows = bounds(TorqueLimits(0.5, no_load_speed=8.0, corner_speed=2.0), robot, np.full(6, speed))
        forwards = min(1.0, max(0.0, (8.0 - speed) / 6.0))
        backwards = min(1.0, max(0.0, (8.0 + speed) / 6.0))
        np.testing.assert_allclose(rows.upper, 0.5 * limit * forwards, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(rows.lower, -0.5 * limit * backwards, rtol=1e-12, atol=1e-12)
        against = rows.upper if speed < 0.0 else -rows.lower
        np.testing.assert_allclose(against, 0.5 * limit, rtol=1e-12)


def test_the_curve_is_continuous():
    robot = load("solo12")
    constraint, nv = TorqueLimits(), robot.pin_model.nv
    speeds = np.linspace(-100.0, 100.0, 4001)
    found = np.array([bounds(constraint, robot, np.full(nv, s)).upper for s in speeds])
    assert np.abs(np.diff(found, axis=0)).max() <= 2.7 / 84.0 * 0.05 * (1.0 + 1e-9)
    assert (found[speeds <= 0.0] == 2.7).all() and (found[speeds >= 84.0] == 0.0).all()


def test_no_curve_no_change():
    panda, solo = load("panda"), load("solo12")
    fast = np.full(panda.pin_model.nv, 50.0)
    rows = bounds(TorqueLimits(), panda, fast)
    np.testing.assert_array_equal(rows.upper, panda.pin_model.effortLimit[panda.actuated])
    rows = bounds(TorqueLimits(curve=False), solo, np.full(solo.pin_model.nv, 50.0))
    assert (rows.upper == 2.7).all() and (rows.lower == -2.7).all()


def test_robots_know_their_motors(tmp_path):
    solo = load("solo12")
    assert (solo.no_load_speed[6:] == 84.0).all() and np.isinf(solo.no_load_speed[:6]).all()
    assert (solo.corner_speed == 0.0).all()
    write(tmp_path, "arm.urdf", GOOD)
    motor = "{no_load_speed: 10, corner_speed: 4}"
    arm = load(str(write(tmp_path, "mine.yaml", f"urdf: arm.urdf\nactuators: {{'j[12]': {motor}}}\n")), lock=["j2"])
    np.testing.assert_array_equal(arm.no_load_speed, [10.0, np.inf])
    np.testing.assert_array_equal(arm.corner_speed, [4.0, 0.0])


BAD_FILES = {
    "{no_load_speed: 3, corner_speed: 4}": "no_load_speed of joint 'j1', 3, is not above its corner_speed, 4",
    "{no_load_speed: 0}": "no_load_speed of joint 'j1'",
    "{no_load_speed: -1}": "actuators.j1.no_load_speed: expected numbers ≥ 0",
    "{no_load_speed: .nan}": "mine.yaml:2: actuators.j1.no_load_speed",
    "{no_lod_speed: 3}": "did you mean 'no_load_speed'",
}


@pytest.mark.parametrize("motor", BAD_FILES)
def test_mistakes_in_a_file(tmp_path, motor):
    write(tmp_path, "arm.urdf", GOOD)
    path = write(tmp_path, "mine.yaml", f"urdf: arm.urdf\nactuators: {{j1: {motor}}}\n")
    with pytest.raises(SotError) as caught:
        load(str(path))
    assert BAD_FILES[motor] in str(caught.value)


BAD = {
    "corner above": (lambda: TorqueLimits(no_load_speed=2.0, corner_speed=3.0), TaskError, "not above"),
    "corner alone": (lambda: TorqueLimits(curve=False, corner_speed=3.0), TaskError, "curve"),
    "NaN": (lambda: TorqueLimits(no_load_speed=np.nan), TaskError, "no_load_speed of panda_joint1"),
    "size": (lambda: TorqueLimits(no_load_speed=[1.0, 2.0]), TaskError, "1 or 9"),
    "rate": (lambda: TorqueRate(0.0), TaskError, "limit of panda_joint1"),
    "NaN rate": (lambda: TorqueRate(np.nan), TaskError, "limit of panda_joint1"),
    "joints": (lambda: TorqueRate(5.0, joints="x*"), ModelError, "panda_joint1"),
    "infinite": (lambda: TorqueRate(np.inf), TaskError, "no motor"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_said(case):
    make, kind, words = BAD[case]
    with pytest.raises(kind, match=words):
        make().setup(sot.Model(load("panda")))


def falling_arm(robot, *limits, seconds=0.5, dt=1e-3, gain=30.0):
    """An arm whose task wants to be far away at once; q, v and τ of every tick, by integration of v̇."""
    hand = Pose(robot.hands[0], gain=gain, reference=[-0.3, 0.4, 0.3, 0, 1, 0, 0])
    stack = sot.Stack([*limits], [hand], [Posture(gain=5.0)])
    controller = sot.Controller(robot, stack, output="torque", dt=dt)
    q, v, history = robot.home.copy(), np.zeros(robot.pin_model.nv), []
    for k in range(round(seconds / dt)):
        command = controller.step(State(dt * k, q, v))
        history.append((q, v, command.tau))
        q, v = command.q, command.v
    return controller, history


def test_a_fast_arm_keeps_to_its_curve():
    """The bound acts: torques are on the curve, below what they would be without it, and never beyond."""
    robot = load("panda", lock=["panda_finger_joint*"])
    curve = TorqueLimits(no_load_speed=3.0, corner_speed=0.5)
    _, history = falling_arm(robot, curve)
    limit, on_the_curve = np.array(robot.pin_model.effortLimit), 0
    for _, v, tau in history:
        allowed = limit * np.clip((3.0 - np.abs(v)) / 2.5, 0.0, 1.0)
        assert (tau * np.sign(v) <= allowed + 1e-8 * limit).all() and (np.abs(tau) <= limit * (1.0 + 1e-9)).all()
        on_the_curve += int(((tau * np.sign(v) > allowed - 1e-6) & (np.abs(v) > 0.6)).any())
    assert on_the_curve > 10
    _, free = falling_arm(robot, TorqueLimits())
    beyond = [tau * np.sign(v) - limit * np.clip((3.0 - np.abs(v)) / 2.5, 0.0, 1.0) for _, v, tau in free]
    assert np.max(beyond) > 10.0  # N·m, which the curve took away


def test_broken_by_looks_at_the_speed():
    robot = load("solo12")
    model, constraint = sot.Model(robot), TorqueLimits()
    constraint.setup(model)
    v = np.full(model.nv, 42.0)
    model.update(robot.home, v)
    tau = np.where(robot.actuated, 2.0, 0.0)
    command = sot.Command(0.0, v, None, tau)
    assert constraint.broken_by(model, Tick(0.0, 1e-3, v), command) == pytest.approx(2.0 - 1.35)
    assert constraint.broken_by(model, Tick(0.0, 1e-3, v), sot.Command(0.0, v, None, -tau)) == 0.0


# -- torque rate -------------------------------------------------------------------------------------------


def test_torques_change_no_faster_than_they_may():
    robot = load("panda", lock=["panda_finger_joint*"])
    for dt in (1e-3, 5e-3):
        rate = TorqueRate(200.0)
        controller, history = falling_arm(robot, rate, TorqueLimits(), dt=dt, seconds=0.3, gain=4.0)
        torques = np.array([tau for *_, tau in history])
        steps = np.abs(np.diff(torques, axis=0)).max(axis=1)
        assert steps.max() <= 200.0 * dt * (1.0 + 1e-9) and (steps > 0.999 * 200.0 * dt).sum() > 10
        assert controller.counters.infeasible == 0
    _, free = falling_arm(robot, TorqueLimits(), seconds=0.1, gain=4.0)
    assert np.abs(np.diff([tau for *_, tau in free], axis=0)).max() > 0.25  # N·m a tick, which was too much


def test_the_first_tick_is_free_and_limits_come_first():
    robot = load("ur5")
    limit, rest = np.array(robot.pin_model.effortLimit), np.zeros(6)
    rows = bounds(TorqueRate(10.0), robot, rest)
    assert np.isinf(rows.lower).all() and np.isinf(rows.upper).all()
    rows = bounds(TorqueRate(10.0), robot, rest, before=0.5 * limit)
    np.testing.assert_allclose(rows.upper - rows.lower, 0.02)
    beyond = bounds(TorqueRate(10.0), robot, rest, before=1.5 * limit)  # after a jump
    np.testing.assert_array_equal(beyond.lower, limit)
    np.testing.assert_array_equal(beyond.upper, limit)


def test_a_limit_that_falls_faster_than_the_rate_is_kept():
    """A motor that runs up to its no-load speed loses torque at once; the rate gives way, and no tick is infeasible."""
    robot = load("solo12")
    v = np.zeros(robot.pin_model.nv)
    v[6:] = 63.0  # a quarter is left
    before = np.where(robot.actuated, 2.7, 0.0)
    rate, limits = TorqueRate(1.0), TorqueLimits()
    slow, most = bounds(rate, robot, v, before), bounds(limits, robot, v)
    assert (slow.lower <= slow.upper).all()
    np.testing.assert_allclose(slow.lower, most.upper)


def test_a_stack_that_changes_keeps_the_rate():
    """While two versions of a stack are blended each keeps the rate, and so does the blend."""
    robot, steps = load("panda", lock=["panda_finger_joint*"]), []
    for rate in ([TorqueRate(300.0)], []):
        hand = Pose(robot.hands[0], gain=4.0, name="hand")
        stack = sot.Stack([*rate, TorqueLimits()], [hand], [Posture(gain=5.0)])
        controller = sot.Controller(robot, stack, output="torque")
        hand.reference = sot.move(by=[-0.1, 0.1, 0.1], duration=0.4)
        q, v, torques = robot.home.copy(), np.zeros(7), []
        for k in range(500):
            if k == 250:
                controller.stack.remove("hand", ramp=0.005)
            command = controller.step(State(1e-3 * k, q, v))
            q, v = command.q, command.v
            torques.append(command.tau)
        steps.append(np.abs(np.diff(torques, axis=0)).max())
        assert controller.counters.infeasible == 0
    assert steps[0] <= 0.3 * (1.0 + 1e-9) and steps[1] > 0.6  # N·m a tick


def test_a_run_counts_torques_that_jump():
    """`Run.max_violation` has the rate too, measured between commands."""
    from sot.loop.recount import Recount

    robot = load("ur5")
    controller = sot.Controller(robot, sot.Stack([TorqueRate(10.0)], [Posture()]), output="torque")
    state = State(0.0, robot.home, np.zeros(6))
    recount = Recount(controller, state, 2)
    for tau in (np.zeros(6), np.full(6, 0.5)):
        controller.step(state)
        recount.add(state, sot.Command(0.0, np.zeros(6), robot.home, tau), 1)
    assert recount.result(state, 0).max_violation["torque_rate"] == pytest.approx(0.5 - 0.01)


def test_limits_are_soft_on_later_levels():
    """Below a task that needs more, a soft limit gives way; above it, it is kept."""
    robot = load("panda", lock=["panda_finger_joint*"])
    state = State(0.0, robot.home, np.zeros(7))
    hold = pin.rnea(robot.pin_model, robot.pin_model.createData(), robot.home, np.zeros(7), np.zeros(7))
    worst = int(np.argmax(np.abs(hold)))
    for kept in (True, False):
        order = [TorqueLimits(limit=5.0)], [Posture()]
        controller = sot.Controller(robot, sot.Stack([], *(order if kept else order[::-1])), output="torque")
        torque = controller.step(state).tau[worst]
        assert (abs(torque) <= 5.0 + 1e-6) == kept
