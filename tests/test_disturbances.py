"""What happens to a simulated robot, against closed forms: impulses, Coulomb's law, weights, tilts."""

from __future__ import annotations

import numpy as np
import pytest
from a_block import MASS, block

import sot
from sot.config import parse_run
from sot.errors import ConfigError, ModelError
from sot.robots import Simulated, load
from sot.simulation import ExtraMass, FrictionChange, GroundTilt, Hold, Push
from sot.state import Command

G = 9.81


@pytest.fixture(scope="module")
def brick(tmp_path_factory):
    return block(tmp_path_factory.mktemp("block"))


def wait(robot, seconds):
    """Do nothing for a while."""
    nv = robot.engine.model.nv
    for _ in range(round(seconds / robot.dt)):
        robot.write(Command(0.0, np.zeros(nv), tau=np.zeros(nv)))
    return robot.truth()


def simulated(robot, *disturbances, **options):
    return Simulated(robot, bodies=False, itself=False, disturbances=disturbances, **options)


def weight(robot):
    return robot.truth().forces["block"][2]


@pytest.mark.parametrize("dt", [1e-3, 7e-4, 5e-3])
@pytest.mark.parametrize("substeps", [1, 3])
def test_an_impulse_is_the_change_of_momentum(brick, dt, substeps):
    """Whatever the steps are, and though begin and end are inside of steps."""
    impulse = np.array([1.0, -2.0, 0.5])
    push = Push(at=0.01234, duration=0.0321, frame="block", impulse=impulse)
    robot = simulated(brick, push, dt=dt, ground=False, substeps=substeps)
    state = wait(robot, 0.07)
    np.testing.assert_allclose(MASS * state.v[:3], impulse - [0.0, 0.0, MASS * G * state.time], atol=1e-12)


def test_a_force_is_an_impulse_over_its_duration(brick):
    same = {"at": 0.01, "frame": "block", "duration": 0.2}
    pushes = [Push(force=[3.0, 0.0, 0.0], **same), Push(impulse=[0.6, 0.0, 0.0], **same)]
    first, second = (wait(simulated(brick, push, ground=False), 0.3).v for push in pushes)
    np.testing.assert_allclose(first, second, atol=1e-14)
    np.testing.assert_allclose(first[0], 0.6 / MASS, atol=1e-12)


def test_a_push_beside_the_centre_turns(brick):
    """ω = I⁻¹ (r × p), for a push that is over before the block has turned."""
    push = Push(at=0.0, duration=1e-3, frame="block", impulse=[0.0, 0.01, 0.0], point=[0.3, 0.0, 0.0])
    state = wait(simulated(brick, push, ground=False), 1e-3)
    np.testing.assert_allclose(state.v[3:], [0.0, 0.0, 0.3 * 0.01 / 0.08], atol=1e-12)


def test_pushes_on_a_limb_act_through_its_jacobian():
    """A push on Solo12's foot in the air, in one step: M Δv = Jᵀ p."""
    solo = load("solo12")
    model, impulse = sot.Model(solo), np.array([0.01, 0.02, -0.03])
    push = Push(0.0, "FL_FOOT", impulse=impulse, duration=1e-3)
    robots = [simulated(solo, *pushes, ground=False) for pushes in ([], [push])]
    changed = [wait(robot, 1e-3).v for robot in robots]
    model.update(solo.home, np.zeros(model.nv))
    expected = np.linalg.solve(model.mass_matrix, model.jacobian(model.frame("FL_FOOT"), "aligned")[:3].T @ impulse)
    # The two differ in what Coriolis forces do in half a step.
    np.testing.assert_allclose(changed[1] - changed[0], expected, atol=2e-3 * np.abs(expected).max())


def test_less_friction_lets_a_block_slide(brick):
    """On a slope of 0.3 rad it stays with μ = 0.7, and slides with g (sin − μ cos) from the moment when μ is 0.1."""
    angle = 0.3
    robot = simulated(brick, FrictionChange(at=0.5, value=0.1), ground=(0.0, angle))
    assert np.linalg.norm(wait(robot, 0.5).v) < 1e-6
    speed = np.linalg.norm(wait(robot, 0.5).v[:3])
    np.testing.assert_allclose(speed, 0.5 * G * (np.sin(angle) - 0.1 * np.cos(angle)), rtol=1e-3)


def test_a_load_weighs_on_the_feet_and_is_taken_off_again(brick):
    robot = simulated(brick, ExtraMass(at=0.1, frame="block", mass=2.0, point=[0.05, 0.0, 0.1], duration=0.2))
    wait(robot, 0.09)
    np.testing.assert_allclose(weight(robot), MASS * G, rtol=1e-5)
    wait(robot, 0.2)
    np.testing.assert_allclose(weight(robot), (MASS + 2.0) * G, rtol=1e-5)
    # The centre of pressure is under the common centre of mass: y-torque = −x f.
    np.testing.assert_allclose(robot.truth().forces["block"][4], -0.05 * 2.0 * G, rtol=1e-3)
    wait(robot, 0.2)
    np.testing.assert_allclose(weight(robot), MASS * G, rtol=1e-5)
    assert brick.mass == MASS  # the controller's robot is another one


def test_a_block_goes_with_the_ground(brick):
    robot = simulated(brick, GroundTilt(at=0.1, tilt=[0.1, -0.05], duration=0.5))
    state = wait(robot, 0.8)
    model = sot.Model(brick)
    model.update(state.q, state.v)
    up = model.placement(model.frame("block")).rotation[:, 2]
    normal = [np.sin(-0.05) * np.cos(0.1), -np.sin(0.1), np.cos(-0.05) * np.cos(0.1)]
    np.testing.assert_allclose(up, normal, atol=1e-4)
    assert np.linalg.norm(state.v) < 1e-3
    assert np.linalg.norm(state.q[:2]) < 0.01  # it went along, and did not slide off


def test_tilts_follow_each_other(brick):
    """Each goes on from where the ground is."""
    settings = simulated(brick, GroundTilt(0.3, [0.0, 0.0], 0.2), GroundTilt(0.0, [0.1, 0.0], 0.2)).settings
    ground = settings.scene(brick).obstacles[0]
    tilts = [-np.arcsin(ground.motion(time).rotation[1, 2]) for time in (0.0, 0.1, 0.25, 0.4, 0.6)]
    np.testing.assert_allclose(tilts, [0.0, 0.05, 0.1, 0.05, 0.0], atol=1e-12)


# -- mistakes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Push(1.0, "block"), "force .* or an impulse .*; got none"),
        (lambda: Push(1.0, "block", force=[1, 0, 0], impulse=[1, 0, 0]), "got both"),
        (lambda: Push(1.0, "block", force=[1, 0]), "push: force: expected 3 numbers"),
        (lambda: Push(1.0, "block", force=[1, 0, np.nan]), "push: force: .* not finite"),
        (lambda: Push(np.nan, "block", force=[1, 0, 0]), "push: at: expected a number"),
        (lambda: Push(-1.0, "block", force=[1, 0, 0]), "push: at: expected a number ≥ 0"),
        (lambda: Push(1.0, "block", force=[1, 0, 0], duration=0.0), "push: duration: expected a number > 0"),
        (lambda: FrictionChange(1.0, -0.1), "friction_change: value: expected a number ≥ 0"),
        (lambda: ExtraMass(1.0, "block", 0.0), "extra_mass: mass: expected a number > 0"),
        (lambda: ExtraMass(1.0, "block", 1.0, duration=-1.0), "extra_mass: duration"),
        (lambda: GroundTilt(1.0, [0.1]), "ground_tilt: tilt: expected 2 numbers"),
        (lambda: GroundTilt(1.0, [1.5, 0.0]), "ground_tilt: tilt: expected angles up to 1 rad"),
    ],
)  # fmt: skip
def test_wrong_numbers_are_refused(make, said):
    with pytest.raises(ConfigError, match=said):
        make()


def test_what_does_not_fit_the_robot_is_refused(brick):
    with pytest.raises(ModelError, match="unknown frame 'blok'; did you mean 'block'"):
        simulated(brick, Push(1.0, "blok", force=[1.0, 0.0, 0.0]))
    with pytest.raises(ConfigError, match="no ground that could tilt"):
        simulated(brick, GroundTilt(1.0, [0.1, 0.0]), ground=False)
    with pytest.raises(ConfigError, match="disturbances: expected a list of Push, Hold, FrictionChange"):
        Simulated(brick, disturbances=["push"])


# -- files -------------------------------------------------------------------------------------------------

FILE = """robot: solo12
dt: 0.001
output: torque
simulation:
  disturbances:
    - push: {at: 1.0, frame: base_link, force: [1, 0, 0]}
    - ground_tilt: {at: 2.0, tilt: [0, 0.1]}
    - extra_mass: {at: 3.0, frame: base_link, mass: 0.5}
    - friction_change: {at: 4.0, value: 0.3}
stack:
  - joint_limits
"""


def test_a_file_and_python_say_the_same():
    config = parse_run(FILE)
    assert config.world.disturbances == (
        Push(1.0, "base_link", force=(1.0, 0.0, 0.0)),
        GroundTilt(2.0, (0.0, 0.1)),
        ExtraMass(3.0, "base_link", 0.5),
        FrictionChange(4.0, 0.3),
    )
    assert config.simulated().settings.options() == config.world.options()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("push:", "pusch:", r":6: simulation.disturbances\[0\].pusch: unknown disturbance 'pusch'; did you"),
        ("force:", "forces:", r":6: simulation.disturbances\[0\].push.forces: unknown key 'forces'; did"),
        ("base_link, force", "base, force", r":6: simulation.disturbances\[0\].push.frame: .*unknown frame 'base'"),
        ("mass: 0.5", "mass: -1", r":8: simulation.disturbances\[2\].extra_mass.mass: .*expected a number > 0"),
        ("value: 0.3", "value: high", r":9: simulation.disturbances\[3\].friction_change.value: expected a number"),
        ("tilt: [0, 0.1]", "at: 1", r":7: simulation.disturbances\[1\].ground_tilt.at: the key 'at' is given twice"),
    ],
)  # fmt: skip
def test_mistakes_in_files_are_named_with_their_line(old, new, said):
    with pytest.raises(ConfigError, match=said):
        parse_run(FILE.replace(old, new))


def test_a_hand_holds_the_robot_and_lets_go(brick):
    """Off the ground it hangs by m g / K below its home; then it falls."""
    K = 5000.0
    robot = simulated(brick, Hold(0.0, "block", duration=2.0, stiffness=K), ground=False)
    start = robot.truth().q[2]
    hanging = wait(robot, 2.0)
    assert start - hanging.q[2] == pytest.approx(MASS * G / K, rel=1e-3)
    falling = wait(robot, 0.1)
    assert falling.v[2] == pytest.approx(-G * 0.1, rel=1e-2)
