"""Gains that go along with torques: numbers, lists, names; in Python and in files."""

from __future__ import annotations

import numpy as np
import pytest

import sot
from sot.config import parse_run
from sot.config.dump import dump
from sot.errors import ConfigError, ModelError, SotError, TaskError
from sot.robots import load
from sot.state import State
from sot.tasks import Contact, Posture, TorqueLimits


def controller_of(robot, impedance, **options):
    stack = sot.Stack([TorqueLimits(), *(Contact(foot.frame) for foot in robot.feet)], [Posture()])
    return sot.Controller(robot, stack, **{"output": "torque", "impedance": impedance, **options})


def first_command(robot, impedance):
    controller = controller_of(robot, impedance)
    return controller.step(State(0.0, robot.home, np.zeros(controller.model.nv)))


@pytest.mark.parametrize("name", ["talos", "solo12", "panda", "ur5"])
def test_numbers_go_to_every_joint_with_a_motor_and_to_no_other(name):
    robot = load(name)
    command = first_command(robot, sot.JointImpedance(kp=50.0, kd=2.0))
    assert (command.kp == np.where(robot.actuated, 50.0, 0.0)).all()
    assert (command.kd == np.where(robot.actuated, 2.0, 0.0)).all()
    without = first_command(robot, None)
    assert without.kp is None and without.kd is None
    assert (command.tau == without.tau).all() and (command.q == without.q).all()  # gains change nothing else


def test_joints_that_follow_others_and_driving_bases_get_none():
    panda, tiago = load("panda"), load("tiago")
    command = first_command(panda, sot.JointImpedance(kp=50.0, kd=2.0))
    assert panda.mimics and command.kp[sot.Model(panda).joint(panda.mimics[0].joint).v].tolist() == [0.0]
    assert (first_command(tiago, sot.JointImpedance(kp=50.0, kd=2.0)).kp[:3] == 0.0).all()


def test_names_and_patterns_the_last_one_counts():
    solo = load("solo12")
    command = first_command(solo, sot.JointImpedance(kp={"*": 1.0, "*_KFE": 3.0, "FL_KFE": 5.0}, kd={"FL_*": 0.1}))
    names = sot.Model(solo).velocity_names()
    kp, kd = dict(zip(names, command.kp, strict=True)), dict(zip(names, command.kd, strict=True))
    assert (kp["FL_KFE"], kp["HR_KFE"], kp["HR_HAA"]) == (5.0, 3.0, 1.0)
    assert (kd["FL_HAA"], kd["FR_HAA"]) == (0.1, 0.0)


@pytest.mark.parametrize("make", [list, tuple, np.array])
def test_lists_have_one_for_each_motor(make):
    solo = load("solo12")
    given = np.arange(1.0, 13.0)
    command = first_command(solo, sot.JointImpedance(kp=make(given), kd=0.0))
    assert (command.kp == np.r_[np.zeros(6), given]).all()


def test_a_robot_that_uses_them_gets_the_torque_where_it_is_as_planned():
    """The impedance acts on what differs from the plan only: at q, v after the tick it adds nothing."""
    solo = load("solo12")
    command = first_command(solo, sot.JointImpedance(kp=50.0, kd=2.0))
    assert command.q.shape == (19,) and command.v.shape == command.tau.shape == command.kp.shape == (18,)
    with pytest.raises(ValueError, match="read-only"):
        command.kp[6] = 1.0  # the same array goes out with every command


@pytest.mark.parametrize(
    ("kp", "kd", "error", "words"),
    [
        (-1.0, 0.0, TaskError, "impedance: kp: expected a number ≥ 0, got -1"),
        (1.0, float("nan"), TaskError, "impedance: kd: expected a number ≥ 0, got nan"),
        (float("inf"), 0.0, TaskError, "impedance: kp"),
        ("stiff", 0.0, TaskError, "impedance: kp: expected a number, got 'stiff'"),
        ({"FL_KFE": -2.0}, 0.0, TaskError, "impedance: kp of FL_KFE"),
        ({"FL_KNEE": 2.0}, 0.0, ModelError, "impedance: kp: robot 'solo12': unknown joint 'FL_KNEE'.*FL_KFE"),
        (1.0, {"root_joint": 2.0}, ModelError, "unknown joint 'root_joint'"),
        ([1.0] * 18, 0.0, TaskError, "impedance: kp: robot 'solo12' has 12 joints with a motor, got 18 numbers"),
    ],
)
def test_bad_gains_are_refused(kp, kd, error, words):
    with pytest.raises(error, match=words):
        controller_of(load("solo12"), sot.JointImpedance(kp=kp, kd=kd))


def test_only_torques_take_them():
    solo = load("solo12")
    with pytest.raises(ConfigError, match="output='torque'"):
        controller_of(solo, sot.JointImpedance(1.0, 1.0), output="velocity")
    with pytest.raises(ConfigError, match=r"expected a sot\.JointImpedance"):
        controller_of(solo, {"kp": 1.0, "kd": 1.0})


FILE = """\
robot: solo12
output: torque
impedance: {}
stack:
  - [torque_limits, contact: {{frame: FL_FOOT}}]
  - posture
"""


@pytest.mark.parametrize(
    ("text", "kp"),
    [("{kp: 30, kd: 1}", np.full(12, 30.0)), ("{kp: {'*': 20, FL_HAA: 40}, kd: 1}", np.r_[40.0, np.full(11, 20.0)])],
)
def test_files_say_the_same(text, kp):
    config = parse_run(FILE.format(text))
    controller = config.controller()
    command = controller.step(State(0.0, config.robot.home, np.zeros(18)))
    assert (command.kp[6:] == kp).all() and (command.kd[6:] == 1.0).all()
    again = parse_run(dump(config))
    assert again.impedance == config.impedance


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{kp: 30}", r"<text>:3: impedance: the key 'kd' is missing"),
        ("{kp: 30, kd: -1}", r"<text>:3: impedance: .*expected a number ≥ 0"),
        ("{kp: 30, kd: 1, ki: 2}", r"<text>:3: impedance.ki: unknown key 'ki'"),
        ("{kp: {knee: 1}, kd: 1}", r"<text>:3: impedance.*unknown joint 'knee'"),
        ("{kp: soft, kd: 1}", r"<text>:3: impedance.kp: expected a number"),
        ("5", r"<text>:3: impedance: expected"),
    ],
)
def test_mistakes_in_files_are_found_at_their_place(text, words):
    with pytest.raises(SotError, match=words):
        parse_run(FILE.format(text))
    with pytest.raises(SotError, match="goes with torques"):
        parse_run(FILE.format("{kp: 1, kd: 1}").replace("torque\n", "velocity\n"))
