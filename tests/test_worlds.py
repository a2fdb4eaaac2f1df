"""What a stack file can be run on: read, run, written, wrong, and with a world of one's own."""

from __future__ import annotations

import dataclasses
import json

import jsonschema
import numpy as np
import pytest

import sot
from sot import robots
from sot.cli import main
from sot.config import parse_run
from sot.config.dump import dump
from sot.config.schema import schema
from sot.errors import ConfigError
from sot.finger import Body
from sot.robots import Finger, Kinematic, Mujoco
from sot.simulation import Push
from sot.typed_yaml import parse

STACK = """output: torque
dt: 0.001
duration: 0.2
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
MUJOCO = f"""robot: solo12
mujoco:
  ground: [0, 0.05]
  friction: 0.8
  substeps: 2
  softness: 1.5
  disturbances: [{{push: {{at: 0.1, frame: base_link, force: [2, 0, 0]}}}}]
{STACK}"""
SIMULATION = MUJOCO.replace("mujoco:", "simulation:").replace("  softness: 1.5\n", "")
FINGER = """finger:
  body: {name: tip, mass: 0.2, drag: 0.5}
  objects:
    - {name: cup, mass: 0.2, position: 0.1, width: 0.04, mu_static: 0.4}
    - {name: saucer, mass: 0.1, position: 0.2}
  walls: [-0.5, {position: 0.3, name: stop}]
  restitution: [{between: [tip, cup], e: 0.5}]
  servo: 20
dt: 0.001
duration: 0.5
stack: [posture: {gain: 10, reference: {move: {to: [0.15], duration: 0.4}}}]
"""
BARE = {  # those that bring their robot
    "finger": "{finger: true, stack: [posture]}",
    "haptic": "{haptic: true, output: torque, stack: [posture]}",
}
EVERY = pytest.mark.parametrize("name", robots.worlds())


@EVERY
def test_every_world_is_in_a_file_of_its_name_and_has_only_defaults(name):
    kind = robots.world(name)
    assert kind.kind == name
    assert dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen
    assert kind().plain() == {}
    text = BARE.get(name, f"{{robot: solo12, {name}: true, stack: [posture]}}")
    config = parse_run(text)
    assert type(config.world) is kind
    written = dump(config)
    assert dump(parse_run(written)) == written
    robot = config.simulated()
    robot.write(config.controller().step(robot.read()))
    assert robot.read().time == pytest.approx(config.dt)
    jsonschema.validate(parse(text).plain(), schema())


def test_mujoco_in_a_file_and_in_python_are_the_same_run():
    config = parse_run(MUJOCO)
    push = Push(0.1, "base_link", force=[2.0, 0.0, 0.0])
    by_hand = Mujoco(
        config.robot, 1e-3, ground=(0.0, 0.05), friction=0.8, substeps=2, softness=1.5, disturbances=[push]
    )
    first = sot.run(by_hand, config.controller(), config.duration).state
    np.testing.assert_array_equal(first.q, parse_run(dump(parse_run(MUJOCO))).run().state.q)


def test_the_finger_in_a_file_and_in_python_are_the_same_run():
    """It brings its own robot, hits the cup, and follows velocities with its servo."""
    config = parse_run(FINGER)
    cup = Body("cup", mass=0.2, position=0.1, width=0.04, mu_static=0.4)
    things = [cup, Body("saucer", mass=0.1, position=0.2)]
    tip, walls = Body("tip", mass=0.2, drag=0.5), [-0.5, sot.finger.Wall(0.3, "stop")]
    by_hand = Finger(tip, things, walls, {("tip", "cup"): 0.5}, dt=1e-3, servo=20.0)
    first = sot.run(by_hand, config.controller(), config.duration).state
    again = parse_run(dump(parse_run(FINGER)))
    np.testing.assert_array_equal(first.q, again.run().state.q)
    assert config.robot.name == "tip"
    assert by_hand.record().events[0].kind == "bounce"


@pytest.mark.parametrize(
    ("text", "old", "new", "said"),
    [
        (MUJOCO, "softness", "sensors", r":6: mujoco.sensors: unknown key 'sensors'. Available: ground, .*softness"),
        (MUJOCO, "softness: 1.5", "softness: 0", r":6: mujoco.softness: .*expected a number > 0"),
        (MUJOCO, "push: {at: 0.1, frame: base_link, force: [2, 0, 0]}", "hold: {at: 0, frame: base_link, duration: 1}",
         r":7: mujoco.disturbances: .*hold: a robot in MuJoCo takes push and friction_change only"),
        (MUJOCO, "frame: base_link", "frame: base", r":7: mujoco.disturbances\[0\].push.frame: .*unknown frame 'base'"),
        (MUJOCO, "frame: base_link", "frame: universe", r":7: mujoco.disturbances\[0\].push.frame: .*fixed to the"),
        (MUJOCO, "mujoco:", "mujocco:", r":2: mujocco: unknown key 'mujocco'; did you mean 'mujoco'"),
        (MUJOCO, "mujoco:", "simulation: true\nmujoco:", r":3: mujoco: a robot is in one world, and line 2 says 'simu"),
        (MUJOCO, "robot: solo12\n", "", r"the key 'robot' is missing. Keys: robot, stack, .*mujoco"),
        (FINGER, "finger:\n", "robot: solo12\nfinger:\n", r":1: robot: 'finger' in line 2 brings its own robot"),
        (FINGER, "drag", "draft", r":2: finger.body.draft: unknown key 'draft'; did you mean 'drag'.*: name, mass"),
        (FINGER, "mass: 0.1, ", "mass: -1, ", r":5: finger.objects\[1\]: body 'saucer': mass: expected a number > 0"),
        (FINGER, "[tip, cup]", "[tip, cap]", r":7: finger.restitution: .*unknown body 'cap'; did you mean 'cup'"),
        (FINGER, "position: 0.2}", "position: 0.11}", r":1: finger: 'cup' and 'saucer' overlap"),
        (FINGER, "servo: 20", "servo: stiff", r":8: finger.servo: expected a number"),
        ("finger: 3\nstack: [posture]", "", "", r":1: finger: expected true or a mapping"),
        ("{robot: ur5, kinematic: {lag: -1}, stack: [posture]}", "", "", r":1: kinematic.lag: .*expected a number ≥ 0"),
    ],
)  # fmt: skip
def test_mistakes_are_named_with_their_line(text, old, new, said):
    with pytest.raises(ConfigError, match=said):
        parse_run(text.replace(old, new, 1))


def test_a_file_runs_in_another_engine(tmp_path, capsys):
    file = tmp_path / "run.yaml"
    file.write_text(SIMULATION, encoding="utf-8")
    ends = {}
    for engine in ("simulation", "mujoco"):
        assert main(["run", str(file), "--headless", "--json", "--engine", engine]) == 0
        ends[engine] = np.array(json.loads(capsys.readouterr().out.splitlines()[-1])["final_q"])
    moved = parse_run(SIMULATION).changed(engine="mujoco").run().state.q
    np.testing.assert_array_equal(ends["mujoco"], moved)
    assert 1e-9 < np.abs(ends["simulation"] - ends["mujoco"]).max() < 1e-3


@pytest.mark.parametrize(
    ("text", "engine", "said"),
    [
        (SIMULATION, "gazebo", "unknown engine 'gazebo'. Available: kinematic, mujoco, simulation"),
        (SIMULATION.replace("substeps: 2", "seed: 2"), "mujoco", "the file sets simulation.seed, which mujoco does"),
        (SIMULATION, "kinematic", "the file sets simulation.ground, which kinematic does not have. It has: lag"),
        (FINGER, "mujoco", "the robot is a finger, which is in no engine but its own"),
    ],
)
def test_what_an_engine_does_not_have_is_said(tmp_path, capsys, text, engine, said):
    file = tmp_path / "run.yaml"
    file.write_text(text, encoding="utf-8")
    assert main(["run", str(file), "--headless", "--engine", engine]) == 2
    assert f"sot: error: --engine: {said}" in capsys.readouterr().err


def test_options_of_a_robot_that_moves_as_told():
    config = parse_run("{robot: ur5, kinematic: {lag: 0.1, noise: 1e-3, seed: 3}, duration: 0.1, stack: [posture]}")
    by_hand = Kinematic(config.robot, config.dt, lag=0.1, noise=1e-3, seed=3)
    np.testing.assert_array_equal(config.simulated().read().q, by_hand.read().q)
    assert "kinematic: {lag: 0.1, noise: 0.001, seed: 3}" in dump(config)
    assert "kinematic" not in dump(parse_run("{robot: ur5, stack: [posture]}"))


OWN = '''
from dataclasses import dataclass
from sot.description.slider import stylus
from sot.robots.kinematic import Kinematic
from sot.world import World

@dataclass(frozen=True)
class OwnWorld(World):
    """A stylus.

    Attributes:
        mass: kg.
    """

    kind = "own"
    brings_robot = True

    mass: float = 0.1

    def description(self):
        return stylus("pen", self.mass)

    def make(self, robot, dt):
        return Kinematic(robot, dt)
'''


def test_a_further_device_costs_one_file(tmp_path, monkeypatch):
    (tmp_path / "own_world.py").write_text(OWN, encoding="utf-8")
    monkeypatch.setattr(robots, "__path__", [*robots.__path__, str(tmp_path)])
    text = "own: {mass: 0.3}\nduration: 0.1\nstack: [posture]\n"
    config = parse_run(text)
    assert config.robot.name == "pen" and config.robot.mass == pytest.approx(0.3)
    assert config.run().ok
    assert "own: {mass: 0.3}" in dump(config)
    jsonschema.validate(parse(text).plain(), schema())
    with pytest.raises(ConfigError, match=r":1: own.mas: unknown key 'mas'; did you mean 'mass'"):
        parse_run(text.replace("mass", "mas"))
