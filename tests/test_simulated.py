"""The simulated robot: commands become torques as they should; what is wrong is refused."""

from __future__ import annotations

import numpy as np
import pytest
from a_block import NOTHING, block

import sot
from sot.errors import ConfigError, RobotError
from sot.model import Model
from sot.robot import Robot
from sot.robots import Simulated, load
from sot.simulation import Actuators, Push
from sot.state import Command


@pytest.fixture(scope="module")
def panda():
    return load("panda", lock=["panda_finger_*"])


@pytest.fixture(scope="module")
def pendulum():
    return load("double_pendulum")


@pytest.fixture(scope="module")
def solo():
    return load("solo12")


def quick(robot, *arguments, **options):
    return Simulated(robot, *arguments, bodies=False, itself=bool(not robot.feet), **options)


def torques(robot, tau):
    return Command(0.0, np.zeros(robot.engine.model.nv), tau=np.array(tau, dtype=float))


# -- the robot ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["panda", "ur5", "kinova", "tiago", "solo12", "go2", "anymal", "talos", "g1"])
def test_robots_hold_their_posture_when_told_not_to_move(name):
    """The servo of every joint, against gravity, on the ground; it gives way by 0.01 rad at most."""
    robot = load(name)
    body, model = Simulated(robot), Model(robot)
    assert isinstance(body, Robot)
    for _ in range(300):
        body.write(Command(0.0, np.zeros(model.nv)))
    state = body.read()
    away = model.difference(state.q, robot.home)
    assert np.abs(away).max() < 0.01
    assert np.abs(state.v).max() < 0.01
    assert state.time == pytest.approx(0.3)


def test_reading_changes_nothing_and_gives_copies(solo):
    robot = quick(solo)
    state = robot.read()
    state.q[:] = 7.0
    assert robot.read().q.max() < 7.0
    assert robot.read().time == 0.0


def test_it_starts_where_it_is_told(solo):
    model = Model(solo)
    q, v = model.integrate(solo.home, np.full(model.nv, 0.1)), np.linspace(0.0, 1.0, model.nv)
    state = quick(solo, 1e-3, q, v, ground=False).read()
    np.testing.assert_allclose(state.q, q, atol=1e-12)
    np.testing.assert_array_equal(state.v, v)


def test_on_a_slope_it_starts_with_its_feet_on_the_ground(solo):
    robot = quick(solo, ground=(0.1, -0.2))
    normal, model = robot.engine.scene.obstacles[0].plane, Model(solo)
    model.update(robot.read().q, np.zeros(model.nv))
    heights = [model.placement(model.frame(foot.frame)).act(foot.points[0]) @ normal for foot in solo.feet]
    model.update(solo.home, np.zeros(model.nv))
    at_home = [model.placement(model.frame(foot.frame)).act(foot.points[0])[2] for foot in solo.feet]
    np.testing.assert_allclose(heights, at_home, atol=1e-12)


def test_arms_have_no_ground_unless_they_are_given_one(panda, solo):
    assert not Simulated(panda).engine.scene.obstacles
    assert [thing.name for thing in Simulated(panda, ground=True).engine.scene.obstacles] == ["ground"]
    assert [thing.name for thing in quick(solo).engine.scene.obstacles] == ["ground"]


def test_a_base_that_drives_may_touch_the_floor():
    """Its wheels do, and nothing can move it up from there."""
    tiago = load("tiago")
    robot = Simulated(tiago, ground=True)
    for _ in range(50):
        robot.write(Command(0.0, np.zeros(tiago.pin_model.nv)))
    assert robot.touches() is not None
    assert np.abs(Model(tiago).difference(robot.read().q, tiago.home)).max() < 0.01


def test_a_viewer_is_told_what_there_is(solo):
    """Things around, an arrow per contact, and one for a push while it acts, with its tip where it pushes."""
    post = sot.Obstacle("post", box=[0.1, 0.2, 0.5], at=[0.5, 0.0, 0.25])
    push = Push(0.01, "base_link", force=[3.0, 0.0, 0.0], duration=0.02, point=[0.1, 0.0, 0.0])
    robot = quick(solo, ground=(0.0, 0.05), obstacles=[post], disturbances=[push])
    model = Model(solo)
    shown = []
    for _ in range(40):
        robot.write(Command(0.0, np.zeros(18)))
        shown.append({drawing.name: drawing for drawing in robot.sketch(model)})
    assert {"ground", "post", "touch 0", "touch 3"} <= set(shown[-1])
    np.testing.assert_allclose(shown[-1]["post"].pose[:3, 3], [0.5, 0.0, 0.25])
    assert [i + 1 for i, names in enumerate(shown) if "push 0" in names] == list(range(10, 30))
    arrow = shown[15]["push 0"]
    assert (arrow.end - arrow.start)[0] > 0.0
    assert "ground" not in {drawing.name for drawing in quick(solo).sketch(model)}  # a viewer has its own floor


# -- motors ------------------------------------------------------------------------------------------------


def test_torques_move_a_robot_as_its_dynamics_say(panda):
    """M v̇ + h = τ over one short step, without friction."""
    robot = Simulated(panda, dt=1e-5, actuators=Actuators(limits=False, friction=0.0, damping=0.0))
    tau, model = np.linspace(-20.0, 20.0, 7), Model(panda)
    robot.write(torques(robot, tau))
    model.update(panda.home, np.zeros(7))
    np.testing.assert_allclose(robot.read().v / 1e-5, np.linalg.solve(model.mass_matrix, tau - model.bias), rtol=1e-6)


def test_torques_end_at_their_limits(panda):
    limit = panda.pin_model.effortLimit
    for strength in (1.0, 0.3):
        robot = Simulated(panda, actuators=Actuators(strength=strength))
        robot.write(torques(robot, 5.0 * limit * [1, -1, 1, -1, 1, -1, 1]))
        np.testing.assert_allclose(robot.torque, strength * limit * [1, -1, 1, -1, 1, -1, 1])
    robot = Simulated(panda, actuators=Actuators(limits=False))
    robot.write(torques(robot, 5.0 * limit))
    np.testing.assert_array_equal(robot.torque, 5.0 * limit)


def test_torque_falls_with_speed(solo):
    """Solo12's motors have nothing left at 84 rad/s, but all of their torque for braking."""
    speed = np.zeros(18)
    speed[6:9] = [42.0, 84.0, -84.0]
    robot = quick(solo, 1e-6, None, speed, ground=False)
    robot.write(torques(robot, [0.0] * 6 + [5.0] * 12))
    np.testing.assert_allclose(robot.torque[6:10], [1.35, 0.0, 2.7, 2.7], atol=1e-12)


def test_a_free_base_has_no_motor(solo):
    robot = quick(solo, ground=False)
    robot.write(torques(robot, [100.0] * 6 + [0.0] * 12))
    np.testing.assert_array_equal(robot.torque[:6], 0.0)


def test_joint_impedance_acts_at_every_step(panda):
    """τ + kp (q* − q) + kd (v* − v) with q and v at the end of every step, not at the last command."""
    robot = Simulated(panda, dt=4e-3, substeps=4, actuators=Actuators(limits=False))
    wanted, kp, kd, tau = panda.home + 0.1, np.full(7, 30.0), np.full(7, 2.0), np.linspace(0.0, 1.0, 7)
    finer = Simulated(panda, dt=1e-3, actuators=Actuators(limits=False))
    command = Command(0.0, np.full(7, 0.2), wanted, tau, kp, kd)
    robot.write(command)
    for _ in range(4):
        finer.write(command)
    after = finer.truth()
    expected = tau + kp * (wanted - after.q) + kd * (0.2 - after.v)
    np.testing.assert_allclose(robot.torque, expected, atol=1e-12)
    np.testing.assert_array_equal(robot.truth().q, finer.truth().q)
    assert np.abs(expected - tau - kp * 0.1 - kd * 0.2).max() > 0.1  # it would be another one without sub-steps


def test_stiffness_alone_is_a_command(panda):
    """Without a torque; what is not given is zero."""
    robot = Simulated(panda)
    robot.write(Command(0.0, np.zeros(7), panda.home + 0.01, None, np.full(7, 100.0), None))
    np.testing.assert_allclose(robot.torque, 100.0 * (panda.home + 0.01 - robot.truth().q), atol=1e-12)


def test_stiff_commands_need_no_short_steps():
    """Kinova's wrist weighs 1e-3 kg m²; explicitly, kd h would have to stay below that. Nothing swings, at any gain."""
    kinova = load("kinova")
    nv = kinova.pin_model.nv
    for kd in (20.0, 2000.0):
        robot = Simulated(kinova, actuators=Actuators(friction=0.0, damping=0.0))
        command = Command(0.0, np.zeros(nv), kinova.home, np.zeros(nv), np.full(nv, 20.0 * kd), np.full(nv, kd))
        robot.write(command)
        for _ in range(300):
            robot.write(command)
        assert np.abs(robot.truth().v).max() < 0.05
        robot.write(command)
        assert (np.abs(robot.torque) < 0.9 * kinova.pin_model.effortLimit).all()


def test_tries_leave_no_trace(solo):
    """Motors at their limits make a servo try its steps again; the engine counts and remembers only the last try."""
    robot = quick(solo, actuators=Actuators(strength=0.2))
    tries, step = [0], robot.engine.step

    def counted(*arguments):
        tries[0] += 1
        step(*arguments)

    robot.engine.step = counted
    for k in range(100):
        robot.write(Command(0.0, np.r_[np.zeros(6), np.full(12, 3.0 * (-1) ** (k // 10))]))
    assert tries[0] > 120
    assert robot.engine.counters.steps == 100


def test_servos_lag_behind_too(pendulum):
    """The torque of a velocity command comes with the lag of the motors: 1 − e^(−h/T) of it after a step."""
    gains = sot.JointImpedance(kp=0.0, kd=0.01)
    prompt, late = (
        quick(pendulum, dt=1e-4, actuators=Actuators(lag=lag, servo=gains, limits=False, friction=0.0, damping=0.0))
        for lag in (0.0, 0.01)
    )
    for robot in (prompt, late):
        robot.write(Command(0.0, np.array([1.0, 0.0])))
    part = 1.0 - np.exp(-1e-4 / 0.01)
    np.testing.assert_allclose(late.torque[0], part * 0.01 * (1.0 - late.truth().v[0]), rtol=1e-9)
    assert prompt.torque[0] > 10.0 * late.torque[0]


def test_torques_lag_behind(pendulum):
    """A first-order lag: 1 − e^(−t/T) after t."""
    robot = quick(pendulum, dt=2e-3, substeps=2, actuators=Actuators(lag=0.01, limits=False))
    for _ in range(5):
        robot.write(torques(robot, [0.1, 0.0]))
    np.testing.assert_allclose(robot.torque[0], 0.1 * (1.0 - np.exp(-0.01 / 0.01)), rtol=1e-12)


@pytest.mark.parametrize(("delay", "first"), [(0.0, 0), (0.002, 2), (0.0025, 3), (0.0301, 31)])
def test_commands_arrive_late(panda, delay, first):
    """Counted in steps of the simulation, rounded up; before, the servo holds the joints."""
    robot = Simulated(panda, dt=1e-3, delay=delay)
    done = []
    for k in range(40):
        robot.write(torques(robot, np.full(7, 0.1 * k)))
        done.append(robot.torque[6])
    np.testing.assert_allclose(done[first:], 0.1 * np.arange(40 - first), atol=1e-12)
    held = np.abs(robot.truth().q - panda.home).max() if first == 0 else np.abs(np.array(done[:first])).max()
    assert held < 12.0


def test_fractions_of_a_tick_are_delays_too(panda):
    """Half a period late: half of the steps are still under the old command."""
    robot = Simulated(panda, dt=2e-3, substeps=2, delay=1e-3)
    for k in range(1, 5):
        robot.write(torques(robot, np.full(7, float(k))))
        np.testing.assert_allclose(robot.torque, float(k))  # that of the second step
    late = Simulated(panda, dt=2e-3, substeps=2, delay=2e-3)
    for k in range(1, 5):
        late.write(torques(late, np.full(7, float(k))))
    np.testing.assert_allclose(late.torque, 3.0)


def test_the_servo_follows_velocities(panda):
    robot = Simulated(panda, substeps=2)
    v = np.array([0.2, -0.1, 0.3, 0.0, 0.1, 0.2, -0.3])
    for _ in range(1000):
        robot.write(Command(0.0, v))
    state = robot.read()
    np.testing.assert_allclose(state.v, v, atol=2e-3)
    np.testing.assert_allclose(state.q, panda.home + v, atol=0.01)


def test_the_servo_does_not_need_short_steps(panda):
    """It is solved for the velocity at the end of a step: 20 ms are as good as 1 ms."""
    ends = []
    for dt in (1e-3, 20e-3):
        robot = Simulated(panda, dt=dt)
        for _ in range(round(0.6 / dt)):
            robot.write(Command(0.0, np.full(7, 0.2)))
        ends.append(robot.read())
    np.testing.assert_allclose(ends[0].q, ends[1].q, atol=1e-3)
    np.testing.assert_allclose(ends[1].v, 0.2, atol=5e-3)


def test_the_servo_ends_at_the_limits_of_its_motors(panda):
    """Weak motors sink under the arm's weight, at their limits, and come back when they are asked to."""
    robot = Simulated(panda, actuators=Actuators(strength=0.15))
    worst = 0.0
    for _ in range(400):
        robot.write(Command(0.0, np.zeros(7)))
        worst = max(worst, (np.abs(robot.torque) / (0.15 * panda.pin_model.effortLimit)).max())
    assert worst <= 1.0 + 1e-9
    assert np.abs(robot.read().q - panda.home).max() > 0.05


def test_given_gains_of_the_servo_are_used(pendulum):
    """A soft one sinks by τ / kp."""
    soft = quick(pendulum, actuators=Actuators(servo=sot.JointImpedance(kp=2.0, kd=1.0), friction=0.0, damping=0.0))
    for _ in range(4000):
        soft.write(Command(0.0, np.zeros(2)))
    model = Model(pendulum)
    model.update(soft.read().q, np.zeros(2))
    np.testing.assert_allclose(2.0 * model.difference(pendulum.home, soft.read().q), model.bias, atol=1e-4)


def test_followers_follow():
    """The second finger of a gripper goes with the first, in the air and with the servo."""
    robot = Simulated(load("panda"))
    v = np.zeros(9)
    v[7] = 0.02
    for _ in range(300):
        robot.write(Command(0.0, v))
    q = robot.read().q
    assert abs(q[7] - q[8]) < 1e-5
    assert abs(q[7] - (load("panda").home[7] + 0.006)) < 2e-3


# -- what goes wrong ---------------------------------------------------------------------------------------


def test_a_state_that_diverges_is_an_error_with_the_states_before_it(tmp_path):
    brick = block(tmp_path)
    robot = quick(brick, ground=False, disturbances=[Push(0.1, "block", force=[1e12, 0.0, 0.0], duration=1.0)])
    with pytest.raises(RobotError, match="diverged") as caught:
        for _ in range(200):
            robot.write(Command(0.0, NOTHING, tau=NOTHING))
    states = caught.value.states
    assert len(states) == 50
    assert states[-1].time == pytest.approx(states[0].time + 0.049)
    assert states[-1].time >= 0.1
    assert all(np.isfinite(state.q).all() and np.isfinite(state.v).all() for state in states)
    with pytest.raises(RobotError, match="is closed"):
        robot.write(Command(0.0, NOTHING, tau=NOTHING))
    assert np.isfinite(robot.read().q).all()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (lambda: Command(0.0, np.zeros(6)), "velocity command: expected 7 numbers, got shape"),
        (lambda: Command(0.0, None), "velocity command: expected 7 numbers, got None"),
        (lambda: Command(0.0, np.zeros(7), tau=np.full(7, np.nan)), "torque command: entry 0 is not finite"),
        (lambda: Command(0.0, np.zeros(7), tau=np.zeros(7), kp=np.ones(7)), "configuration command: expected 7 num"),
        (lambda: Command(0.0, np.zeros(7), np.zeros(7), kp=-np.ones(7)), "stiffness kp: has negative entries"),
        (lambda: Command(0.0, None, tau=np.zeros(7), kd=np.ones(7)), "velocity command: expected 7 numbers, got None"),
        (lambda: Command(0.0, np.zeros(7), tau="much"), "torque command: expected 7 numbers, got 'much'"),
    ],
)  # fmt: skip
def test_wrong_commands_are_refused_and_nothing_moves(panda, command, said):
    robot = Simulated(panda)
    with pytest.raises(RobotError, match=said):
        robot.write(command())
    assert robot.read().time == 0.0
    np.testing.assert_array_equal(robot.read().q, panda.home)


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"dt": 0.0}, RobotError, "dt: expected a number > 0"),
        ({"friction": np.nan}, ConfigError, "friction: expected a number"),
        ({"substeps": 0}, ConfigError, "substeps: expected an integer from 1 on"),
        ({"substeps": 1.5}, ConfigError, "substeps: expected an integer"),
        ({"restitution": 1.2}, ConfigError, "restitution: expected a number from 0 to 1"),
        ({"delay": -1e-3}, ConfigError, "delay: expected a number ≥ 0"),
        ({"ground": (0.1,)}, ConfigError, "ground: expected 2 numbers"),
        ({"ground": (0.0, 2.0)}, ConfigError, "ground: expected angles up to 1 rad"),
        ({"ground": "flat"}, ConfigError, "ground: expected True, False or its angles about x and y, rad; got 'flat'"),
        ({"ground": 1}, ConfigError, "ground: expected True, False or its angles"),
        ({"friction": True}, ConfigError, "friction: expected a number, got True"),
        ({"restitution": "1"}, ConfigError, "restitution: expected a number, got '1'"),
        ({"sensors": {}}, ConfigError, "sensors: expected a sot.simulation.Sensors, got {}"),
        ({"actuators": 0}, ConfigError, "actuators: expected a sot.simulation.Actuators, got 0"),
        ({"seed": -1}, ConfigError, "seed: expected an integer from 0 on"),
        ({"sensors": "good"}, ConfigError, "sensors: expected a sot.simulation.Sensors, got 'good'"),
        ({"actuators": 3}, ConfigError, "actuators: expected a sot.simulation.Actuators, got 3"),
        ({"obstacles": [1]}, ConfigError, "obstacles: expected a list of sot.Obstacle"),
        ({"obstacles": [sot.Obstacle("a", box=[1, 1, 1], at=[9, 0, 0])] * 2}, ConfigError, "the name 'a' is taken"),
        ({"obstacles": [sot.Obstacle("a", ball=1.0, at=[9, 0, 0])]}, ConfigError, "planes and boxes only"),
        ({"q": np.zeros(3)}, RobotError, "start configuration q: expected 7 numbers"),
        ({"v": np.full(7, np.inf)}, RobotError, "start velocity v: entry 0 is not finite"),
    ],
)  # fmt: skip
def test_wrong_options_are_refused(panda, options, error, said):
    with pytest.raises(error, match=said):
        Simulated(panda, **options)


def test_parts_without_mass_are_refused():
    with pytest.raises(ConfigError, match=r"cannot be simulated: it has joints without inertia: .*rotor_inertia"):
        Simulated(load("romeo"))


@pytest.mark.parametrize(
    "options", [{"strength": 0.0}, {"lag": -1.0}, {"limits": "yes"}, {"servo": 3.0}, {"friction": np.nan}]
)
def test_wrong_actuators_are_refused(options):
    with pytest.raises(ConfigError, match=f"actuators: {next(iter(options))}: expected"):
        Actuators(**options)


def test_motors_without_limits_have_no_curve():
    """Solo12's motors give less towards their no-load speed, unless they have no limits at all."""
    from sot.simulation import Actuators

    robot = Simulated(load("solo12"), ground=False, actuators=Actuators(limits=False))
    tau, fastest = np.append(np.zeros(6), np.tile([0.0, 0.0, 0.5], 4)), 0.0  # N·m at the knees
    for _ in range(200):
        robot.write(Command(0.0, np.zeros(18), tau=tau))
        fastest = max(fastest, np.abs(robot.truth().v).max())
    assert fastest > 84.0
