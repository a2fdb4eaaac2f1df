"""What holds for every robot: it takes commands only, and what it tells is the reader's own."""

from __future__ import annotations

import numpy as np
import pytest

from sot.errors import ConfigError, RobotError
from sot.robots import Finger, Kinematic, Mujoco, Simulated, load
from sot.simulation import ExtraMass, Hold, Push, Sensors
from sot.state import Command

ROBOTS = {
    "kinematic": lambda: Kinematic(load("solo12"), noise=1e-3),
    "simulated": lambda: Simulated(load("solo12"), sensors=Sensors(imu=True)),
    "mujoco": lambda: Mujoco(load("solo12")),
    "finger": Finger,
}
WRONG = (None, (0.0, [0.0]), np.zeros(18), 1.0, "go", {"v": 0.0})
EVERY = pytest.mark.parametrize("kind", ROBOTS)


def standing_still(robot) -> Command:
    return Command(0.0, np.zeros(robot.robot.pin_model.nv))


@EVERY
@pytest.mark.parametrize("wrong", WRONG, ids=[type(wrong).__name__ for wrong in WRONG])
def test_what_is_no_command_is_refused_and_nothing_moves(kind, wrong):
    robot = ROBOTS[kind]()
    before = robot.read()
    with pytest.raises(RobotError, match=rf"'{robot.robot.name}': expected a sot.Command.*, got "):
        robot.write(wrong)
    after = robot.read()
    assert after.time == before.time
    np.testing.assert_array_equal(after.q, before.q)
    robot.write(standing_still(robot))  # and it is not closed


def arrays(state):
    """Everything in a state that can be written to, by its name."""
    yield from (("q", state.q), ("v", state.v))
    yield from (state.forces or {}).items()
    if state.imu is not None:
        yield from (("gyro", state.imu.gyro), ("accelerometer", state.imu.accelerometer))


@EVERY
def test_whoever_changes_a_state_changes_no_robot(kind):
    """Of `read`, and of `truth` where there is one: the state that was told, the next one, and the motion after it."""
    spoilt, untouched = ROBOTS[kind](), ROBOTS[kind]()
    for robot in (spoilt, untouched):
        robot.write(standing_still(robot))
    for tell in {"read", "truth"} & set(dir(spoilt)):
        for _, array in arrays(getattr(spoilt, tell)()):
            array += 1.0
    for robot in (spoilt, untouched):
        robot.write(standing_still(robot))
    for tell in {"read", "truth"} & set(dir(spoilt)):
        for (name, array), (_, known) in zip(
            arrays(getattr(spoilt, tell)()), arrays(getattr(untouched, tell)()), strict=True
        ):
            np.testing.assert_array_equal(array, known, err_msg=name)


@EVERY
def test_two_readings_share_no_memory(kind):
    robot = ROBOTS[kind]()
    robot.write(standing_still(robot))
    first, second = (dict(arrays(robot.read())) for _ in range(2))
    assert first.keys() == second.keys()
    assert not [name for name in first if np.shares_memory(first[name], second[name])]


@pytest.mark.parametrize("robot", [Simulated, Mujoco], ids=lambda robot: robot.__name__)
@pytest.mark.parametrize("frame", ["universe", "panda_link0"])
def test_nothing_can_happen_to_the_world(robot, frame):
    """A frame that no joint carries: a push on it would do nothing, and nobody would know."""
    things = [Push(0.1, frame, force=[1.0, 0.0, 0.0])]
    things += [Hold(0.1, frame, 1.0), ExtraMass(0.1, frame, 1.0)] if robot is Simulated else []
    for thing in things:
        with pytest.raises(ConfigError, match=rf"{thing.kind}: frame: '{frame}' of robot 'panda' is fixed to the"):
            robot(load("panda"), disturbances=[thing])
