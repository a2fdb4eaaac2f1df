"""Stack files with the key `simulation`: read, run, written, and wrong."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sot
from sot.cli import main
from sot.config import parse_run
from sot.config.dump import dump
from sot.errors import ConfigError
from sot.robots import Simulated
from sot.simulation import Actuators, Push, Sensors

FILE = """robot: solo12
output: torque
dt: 0.001
duration: 0.3
simulation:
  ground: [0, 0.05]
  friction: 0.8
  substeps: 2
  delay: 0.001
  bodies: false
  obstacles: [{name: post, box: [0.1, 0.1, 1.0], at: [1.0, 0.0, 0.5]}]
  actuators: {strength: 0.9, servo: {kp: 10, kd: 0.5}}
  sensors: {encoder_noise: 1e-5}
  disturbances: [{push: {at: 0.1, frame: base_link, force: [2, 0, 0]}}]
  seed: 4
stack:
  - - joint_limits
    - torque_limits
    - contact: {frame: FL_FOOT, friction: 0.6}
    - contact: {frame: FR_FOOT, friction: 0.6}
    - contact: {frame: HL_FOOT, friction: 0.6}
    - contact: {frame: HR_FOOT, friction: 0.6}
  - com: {gain: 10}
  - base_orientation: {gain: 10}
  - posture: {gain: 5}
"""


def test_a_file_runs_in_the_simulation(tmp_path, capsys):
    file = tmp_path / "run.yaml"
    file.write_text(FILE, encoding="utf-8")
    assert main(["run", str(file), "--headless", "--json"]) == 0
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert said["ok"]
    assert not said["fell"]
    assert said["max_foot_slip_m"] > 1e-6  # a robot that does as it is told would not slip at all
    assert main(["check", str(file)]) == 0


def test_a_file_and_python_are_the_same_run():
    config = parse_run(FILE)
    by_hand = Simulated(
        config.robot,
        1e-3,
        ground=(0.0, 0.05),
        friction=0.8,
        substeps=2,
        delay=0.001,
        bodies=False,
        obstacles=config.world.obstacles,
        actuators=Actuators(strength=0.9, servo=sot.JointImpedance(kp=10.0, kd=0.5)),
        sensors=Sensors(encoder_noise=1e-5),
        disturbances=[Push(0.1, "base_link", force=[2.0, 0.0, 0.0])],
        seed=4,
    )
    first = sot.run(by_hand, config.controller(), config.duration).state
    second = parse_run(FILE).run().state
    np.testing.assert_array_equal(first.q, second.q)


def test_without_the_key_the_robot_moves_as_told():
    assert type(parse_run("{robot: solo12, stack: [posture]}").simulated()).__name__ == "Kinematic"
    assert type(parse_run("{robot: solo12, simulation: true, stack: [posture]}").simulated()).__name__ == "Simulated"


def test_files_are_written_as_they_are_read(tmp_path):
    text = dump(parse_run(FILE))
    assert dump(parse_run(text)) == text
    again = parse_run(text).world
    assert again.options() | {"obstacles": ()} == parse_run(FILE).world.options() | {"obstacles": ()}
    assert "simulation: true" in dump(parse_run("{robot: solo12, simulation: {friction: 0.7}, stack: [posture]}"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("friction: 0.8", "fricton: 0.8", ":7: simulation.fricton: unknown key 'fricton'; did you mean 'friction'"),
        ("strength: 0.9", "strenght: 0.9", ":12: simulation.actuators.strenght: unknown key"),
        ("encoder_noise: 1e-5", "encoder_noise: -1", ":13: simulation.sensors.*encoder_noise: expected a number ≥ 0"),
        ("ground: [0, 0.05]", "ground: [0, a]", ":6: simulation.ground"),
        ("substeps: 2", "substeps: 0", ":8: simulation.substeps: .*expected an integer from 1 on"),
    ],
)
def test_mistakes_in_files_are_named_with_their_line(old, new, said):
    with pytest.raises(ConfigError, match=said):
        parse_run(FILE.replace(old, new, 1))


def test_a_simulation_is_true_or_a_mapping():
    with pytest.raises(ConfigError, match=r":2: simulation: expected true or a mapping .*, got 3"):
        parse_run("robot: solo12\nsimulation: 3\nstack: [posture]")
