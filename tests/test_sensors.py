"""What a simulated robot tells of itself: exact by default, else with the noise that was asked for and no other."""

from __future__ import annotations

import numpy as np
import pytest
from a_block import MASS, NOTHING, block

import sot
from sot.errors import ConfigError
from sot.robots import Simulated, load
from sot.simulation import Actuators, Sensors
from sot.state import Command
from sot.tasks import BaseOrientation, CenterOfMass, Contact, JointLimits, Posture, TorqueLimits

G = 9.81


@pytest.fixture(scope="module")
def brick(tmp_path_factory):
    return block(tmp_path_factory.mktemp("block"))


def hold(robot, ticks, v=0.0):
    """Joints move with a velocity, by the servo; all that was read."""
    nv, states = robot.engine.model.nv, []
    for _ in range(ticks):
        robot.write(Command(0.0, np.full(nv, v)))
        states.append((robot.read(), robot.truth()))
    return states


def quick(robot, **options):
    return Simulated(robot, bodies=False, itself=False, **options)


# -- joints ------------------------------------------------------------------------------------------------


def test_sensors_are_exact_by_default():
    robot = quick(load("solo12"))
    for measured, true in hold(robot, 20, 0.1):
        assert measured.q.tobytes() == true.q.tobytes()
        assert measured.v.tobytes() == true.v.tobytes()
        assert measured.time == true.time
        assert measured.imu is None


def test_encoders_count_in_quanta():
    robot = Simulated(load("panda"), sensors=Sensors(encoder_quantum=1e-3))
    for measured, true in hold(robot, 50, 0.3):
        np.testing.assert_allclose(measured.q / 1e-3, np.round(measured.q / 1e-3), atol=1e-9)
        assert np.abs(measured.q - true.q).max() <= 0.5e-3 + 1e-12


def test_joints_that_turn_without_end_have_quanta_of_their_angle():
    robot = Simulated(load("kinova"), sensors=Sensors(encoder_quantum=0.01))
    (*_, (measured, true)) = hold(robot, 50, 0.5)
    angle = np.arctan2(measured.q[1], measured.q[0])
    np.testing.assert_allclose(angle / 0.01, np.round(angle / 0.01), atol=1e-9)
    assert abs(angle - np.arctan2(true.q[1], true.q[0])) <= 0.005 + 1e-12


def test_velocity_by_difference_is_that_of_the_readings():
    robot = Simulated(load("panda"), sensors=Sensors(encoder_quantum=1e-4, joint_velocity="difference"))
    before = robot.read().q
    for measured, _ in hold(robot, 30, 0.3):
        np.testing.assert_allclose(measured.v, (measured.q - before) / robot.dt, atol=1e-9)
        before = measured.q


def test_noise_has_the_spread_that_was_asked_for():
    """2000 readings of 12 joints: the standard deviation is known to about 0.5 %."""
    robot = quick(load("solo12"), sensors=Sensors(encoder_noise=1e-3, velocity_noise=0.02), ground=False)
    states = hold(robot, 2000)
    q = np.array([measured.q[7:] - true.q[7:] for measured, true in states])
    v = np.array([measured.v[6:] - true.v[6:] for measured, true in states])
    np.testing.assert_allclose([q.std(), v.std()], [1e-3, 0.02], rtol=0.03)
    assert abs(q.mean()) < 3e-5  # about 5 standard deviations of the mean
    base = [np.abs(measured.q[:7] - true.q[:7]).max() for measured, true in states]
    assert max(base) == 0.0  # encoders are at joints


NOISY = Sensors(
    encoder_quantum=1e-4, encoder_noise=1e-4, velocity_noise=0.01, imu=True, gyro_noise=0.01, gyro_bias=0.01,
    accelerometer_noise=0.1, accelerometer_bias=0.1, force_noise=0.1,
)  # fmt: skip


def bits(state):
    parts = [state.q, state.v, state.imu.gyro, state.imu.accelerometer, *state.forces.values()]
    return b"".join(part.tobytes() for part in parts)


def test_equal_seeds_give_equal_bits_and_others_do_not():
    robots = [quick(load("solo12"), sensors=NOISY, seed=seed) for seed in (3, 3, 4)]
    first, second, other = ([bits(measured) for measured, _ in hold(robot, 20)] for robot in robots)
    assert first == second
    assert not set(first) & set(other)


def test_the_noise_of_one_sensor_does_not_change_another():
    few = Sensors(encoder_noise=1e-4)
    more = Sensors(encoder_noise=1e-4, imu=True, gyro_noise=0.1, force_noise=1.0, velocity_noise=0.1)
    first, second = ([m.q.tobytes() for m, _ in hold(quick(load("solo12"), sensors=s), 10)] for s in (few, more))
    assert first == second


# -- base and feet -----------------------------------------------------------------------------------------


def test_an_inertial_sensor_feels_the_ground_and_not_the_fall(brick):
    """At rest it reads +g along its z axis, turned with the base; in free fall nothing."""
    tilt = 0.2
    standing = quick(brick, ground=(0.0, tilt), sensors=Sensors(imu=True))
    falling = quick(brick, ground=False, sensors=Sensors(imu=True), v=np.array([0.4, 0, 0, 0, 0, 0]))
    for _ in range(200):
        standing.write(Command(0.0, NOTHING, tau=NOTHING))
        falling.write(Command(0.0, NOTHING, tau=NOTHING))
    np.testing.assert_allclose(standing.read().imu.accelerometer, [-G * np.sin(tilt), 0.0, G * np.cos(tilt)], atol=1e-3)
    np.testing.assert_allclose(standing.read().imu.gyro, 0.0, atol=1e-6)
    np.testing.assert_allclose(falling.read().imu.accelerometer, 0.0, atol=1e-9)


def test_an_inertial_sensor_feels_that_it_turns(brick):
    """About its main axes a free block turns on and on, and its centre feels nothing, up to the length of a step."""
    spin, errors = np.array([0.0, 0.0, 0.0, 0.3, 0.0, 0.0]), []
    for dt in (2e-3, 1e-3):
        robot = quick(brick, dt=dt, ground=False, sensors=Sensors(imu=True), v=spin)
        for _ in range(round(0.2 / dt)):
            robot.write(Command(0.0, NOTHING, tau=NOTHING))
        np.testing.assert_allclose(robot.read().imu.gyro, spin[3:], atol=1e-12)
        errors.append(np.linalg.norm(robot.read().imu.accelerometer))
    assert errors[1] < 2e-3
    np.testing.assert_allclose(errors[0] / errors[1], 2.0, rtol=0.05)


def test_biases_stay_and_noise_does_not(brick):
    sensors = Sensors(imu=True, gyro_bias=0.05, gyro_noise=0.01, accelerometer_bias=0.2, accelerometer_noise=0.05)
    robot = quick(brick, sensors=sensors)
    for _ in range(100):  # it comes to rest
        robot.write(Command(0.0, NOTHING, tau=NOTHING))
    readings = []
    for _ in range(1000):
        robot.write(Command(0.0, NOTHING, tau=NOTHING))
        imu = robot.read().imu
        readings.append([*imu.gyro, *(imu.accelerometer - [0.0, 0.0, G])])
    spread, mean = np.std(readings, axis=0), np.mean(readings, axis=0)
    np.testing.assert_allclose(spread, np.repeat([0.01, 0.05], 3), rtol=0.1)
    assert (np.abs(mean) > 5.0 * spread / np.sqrt(1000)).any()  # there is a bias
    assert (np.abs(mean) < np.repeat([0.2, 0.8], 3)).all()  # within four standard deviations of it


def test_feet_feel_the_weight_and_where_it_is(brick):
    """Σ f = m g, and no torque about the middle, in the axes of the foot also where it stands on a slope."""
    tilt = 0.15
    robot = quick(brick, ground=(0.0, tilt))
    for _ in range(300):
        robot.write(Command(0.0, NOTHING, tau=NOTHING))
    wrench = robot.read().forces["block"]
    np.testing.assert_allclose(wrench[:3], MASS * G * np.array([-np.sin(tilt), 0.0, np.cos(tilt)]), atol=1e-3)
    # Forces of the corners go through the centre of mass, which is the frame's origin.
    np.testing.assert_allclose(wrench[3:], 0.0, atol=1e-3)


def test_the_mean_force_of_a_period_has_the_impulse_of_its_steps(brick):
    """A block falls onto the ground within a period: the impulse is m v, however many steps there are."""
    above, down = np.array([0, 0, 0.0502, 0, 0, 0, 1.0]), np.array([0, 0, -1.0, 0, 0, 0])
    for substeps in (1, 4):
        robot = quick(brick, dt=4e-3, substeps=substeps, q=above, v=down)
        impulse = 0.0
        for _ in range(3):
            robot.write(Command(0.0, NOTHING, tau=NOTHING))
            impulse += robot.dt * robot.read().forces["block"][2]
        after = robot.truth().v[2]
        np.testing.assert_allclose(impulse, MASS * (after + 1.0 + G * 3 * robot.dt), rtol=1e-9)


def test_forces_may_be_left_out():
    assert hold(quick(load("solo12"), sensors=Sensors(forces=False)), 1)[0][0].forces is None


def test_robots_without_feet_feel_nothing():
    assert hold(Simulated(load("panda")), 1)[0][0].forces == {}


# -- leg odometry ------------------------------------------------------------------------------------------

FAIR = {  # of sensors as they are in such robots
    "gyro_noise": 2e-3, "gyro_bias": 5e-3, "accelerometer_noise": 0.02, "accelerometer_bias": 0.05,
    "encoder_quantum": 1e-5, "encoder_noise": 2e-5,
}  # fmt: skip


def squat(name, seconds, amplitude, **sensors):
    """A robot squats and sways under a controller that is told the estimated state. Errors of the base: m, rad."""
    robot = load(name)
    feet = [Contact(foot.frame, friction=0.5, min_force=1.0) for foot in robot.feet]
    com = CenterOfMass(gain=10.0, reference=sot.sine(amplitude=amplitude, frequency=0.5, fade=1.0))
    stack = sot.Stack([JointLimits(), TorqueLimits(), *feet], [com], [BaseOrientation(gain=10.0)], [Posture(gain=5.0)])
    body, model, errors = quick(robot, sensors=Sensors(base="estimated", **sensors)), sot.Model(robot), []
    controller = sot.Controller(robot, stack, output="torque", dt=1e-3)
    for _ in range(round(1e3 * seconds)):
        state, true = body.read(), body.truth()
        away = model.difference(state.q, true.q)[:6]
        errors.append([np.linalg.norm(away[:3]), np.linalg.norm(away[3:])])
        body.write(controller.step(state))
    return np.array(errors), body


@pytest.mark.parametrize(
    ("name", "amplitude", "force_noise"), [("talos", [0.0, 0.02, 0.03], 1.0), ("solo12", [0.0, 0.01, 0.02], 0.05)]
)
def test_the_estimate_does_not_drift(name, amplitude, force_noise):
    """In motion the base is known to 1 mm and 1 mrad, at the end not worse than half-way by more than a hair."""
    errors, body = squat(name, 10.0, amplitude, force_noise=force_noise, **FAIR)
    assert errors[:, 0].max() < 1.0e-3
    assert errors[:, 1].max() < 1.0e-3
    half = len(errors) // 2
    assert errors[-500:, 0].max() < errors[half - 500 : half, 0].max() + 0.3e-3
    assert body.truth().q[2] > 0.8 * body.robot.home[2]


def test_the_estimate_needs_its_feet():
    """Without the feet on the ground the inertial sensor alone drifts away: that is what the feet are good for."""
    solo = load("solo12")
    robot = quick(solo, ground=False, sensors=Sensors(base="estimated", **FAIR), actuators=Actuators(friction=0.0))
    model = sot.Model(solo)
    states = hold(robot, 2000)
    away = [np.linalg.norm(model.difference(measured.q, true.q)[:3]) for measured, true in states]
    assert away[-1] > 0.02


# -- mistakes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"encoder_noise": -1.0}, "sensors: encoder_noise: expected a number ≥ 0"),
        ({"gyro_bias": np.nan}, "sensors: gyro_bias: expected a number"),
        ({"base": "guessed"}, "sensors: base: unknown value 'guessed'. Available: exact, estimated"),
        ({"joint_velocity": "differences"}, "did you mean 'difference'"),
        ({"imu": 1}, "sensors: imu: expected True or False, got 1"),
    ],
)
def test_wrong_options_are_refused(options, said):
    with pytest.raises(ConfigError, match=said):
        Sensors(**options)


def test_a_fixed_base_is_not_estimated():
    with pytest.raises(ConfigError, match="sensors: base: robot 'panda' has no free base"):
        Simulated(load("panda"), sensors=Sensors(base="estimated"))
