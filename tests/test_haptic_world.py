"""A haptic device in a stack file: read, run, written, drawn, refused."""

from __future__ import annotations

import json

import jsonschema
import numpy as np
import pytest
from stack_files import EXAMPLES

import sot
from sot.cli import main
from sot.config import load_run, parse_run
from sot.config.dump import dump
from sot.config.schema import schema
from sot.errors import ConfigError
from sot.haptic import Device, Hand
from sot.robots import Haptic
from sot.tasks import Wall
from sot.typed_yaml import parse

SINE = "{sine: {amplitude: [0, 0.002, -0.01], frequency: 4}}"
FILE = f"""haptic:
  device: {{damping: 3, delay: 0.0001}}
  hand:
    target: {SINE}
    release: 0.09
  position: [0, 0, 0.005]
  name: pen
output: torque
dt: 0.0005
duration: 0.1
stack:
  - []
  - wall: {{frame: pen, stiffness: 1500, damping: 1, name: floor}}
"""


def test_a_file_and_python_are_the_same_run():
    config = parse_run(FILE)
    swing = Hand(sot.sine(amplitude=[0, 0.002, -0.01], frequency=4.0), release=0.09)
    by_hand = Haptic(Device(damping=3.0, delay=1e-4), hand=swing, dt=5e-4, position=[0, 0, 0.005], name="pen")
    wall = Wall("pen", stiffness=1500.0, damping=1.0, name="floor")
    controller = sot.Controller(by_hand.robot, sot.Stack([], [wall]), output="torque", dt=5e-4)
    known = sot.run(by_hand, controller, config.duration).state
    assert by_hand.works.hand > 1e-5 and by_hand.energy.wall > 1e-6  # it is swung, and into the wall
    np.testing.assert_array_equal(known.q, config.run().state.q)
    again = parse_run(dump(config))
    np.testing.assert_array_equal(known.q, again.run().state.q)
    jsonschema.validate(parse(FILE).plain(), schema())
    jsonschema.validate(parse(dump(config)).plain(), schema())


def test_a_reference_starts_where_the_stylus_is_and_goes_as_in_a_stack():
    hand = Hand(sot.move(by=[0.01, 0, 0], duration=1.0)).begun(np.array([0.0, 0.02, 0.0]))
    places = [[0.0, 0.02, 0.0], [0.005, 0.02, 0.0], [0.01, 0.02, 0.0]]
    np.testing.assert_allclose([hand.at(t, 3) for t in (0.0, 0.5, 2.0)], places)
    still = Hand([0.0, 0.0, 0.1])
    assert still.begun(np.ones(3)) is still


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("damping: 3,", "damping: 1.1,", r":13: stack\[1\].wall: 'floor': K = 1500 N/m .* is past the passive bound"),
        ("output: torque\n", "", r":1: 'haptic' takes torque commands only: it needs 'output: torque'"),
        ("output: torque", "output: velocity", r":8: output: 'haptic' takes torque commands only"),
        ("damping: 3", "dumping: 3", r":2: haptic.device.dumping: unknown key 'dumping'; did you mean 'damping'"),
        ("delay: 0.0001", "delay: -1", r":2: haptic.device.delay: delay: expected a number ≥ 0"),
        ("{sine:", "{function:", r":4: haptic.hand.target.function: unknown reference 'function'"),
        ("[0, 0.002, -0.01]", "[0, -0.01]", r":4: haptic.hand.target.sine.amplitude: .*expected 3 numbers"),
        (SINE, "[0, 1]", r"hand.*: target: expected 3 finite numbers"),
        (SINE, "down", r":4: .*expected numbers, or a reference such as"),
        ("release: 0.09", "release: soon", r":5: haptic.hand.release: expected a number"),
        ("position: [0, 0, 0.005]", "position: [0, 0]", r":6: haptic.position: .*expected 3"),
        ("haptic:", "robot: ur5\nhaptic:", r":1: robot: 'haptic' in line 2 brings its own robot"),
    ],
)  # fmt: skip
def test_mistakes_are_named_with_their_line(old, new, said):
    with pytest.raises(ConfigError, match=said):
        parse_run(FILE.replace(old, new, 1))


@pytest.mark.parametrize("command", [["check"], ["run", "--headless"]], ids=["check", "run"])
def test_a_wall_past_the_bound_is_an_error_of_the_file(tmp_path, capsys, command):
    file = tmp_path / "stiff.yaml"
    file.write_text(FILE.replace("stiffness: 1500", "stiffness: 15000"), encoding="utf-8")
    assert main([command[0], str(file), *command[1:]]) == 2
    error = capsys.readouterr().err
    assert f"sot: error: {file}:13: stack[1].wall: 'floor': K = 1.5e+04 N/m" in error
    file.write_text(FILE.replace("{damping: 3,", "{damping: 3, passivity: true,"), encoding="utf-8")
    assert main([command[0], str(file), *command[1:]]) == 0


def test_two_springs_together_blame_the_first():
    pull = "  - attractor: {frame: pen, region: {point: {}}, stiffness: 7000, damping: 1, name: pull}\n"
    with pytest.raises(ConfigError, match=r":13: stack\[1\].wall: 'floor', 'pull' together: K = 8500 N/m"):
        parse_run(FILE.replace("delay: 0.0001", "friction: 0.1") + pull)


def test_runs_of_devices_and_fingers_are_drawn(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    file = tmp_path / "pen.yaml"
    file.write_text(FILE, encoding="utf-8")
    for source, more in ((file, []), (EXAMPLES / "finger_push.yaml", ["--duration", "0.02"])):
        picture = tmp_path / f"{source.stem}.png"
        assert main(["run", str(source), "--headless", "--json", "--plot", str(picture), *more]) == 0
        said = capsys.readouterr()
        assert f"wrote {picture}" in said.err and json.loads(said.out)["ok"]
        assert picture.read_bytes().startswith(b"\x89PNG")
    for name, words in (("pen.svg", "a plot ends with .png"), ("nowhere/pen.png", "there is no folder")):
        assert main(["run", str(file), "--headless", "--json", "--plot", str(tmp_path / name)]) == 2
        said = capsys.readouterr()
        assert words in said.err and not said.out  # before the run
    assert main(["run", str(EXAMPLES / "ur5_circle.yaml"), "--headless", "--plot", str(picture)]) == 2
    said = capsys.readouterr().err
    assert "--plot: runs in the world 'kinematic' have no plot; those in finger, haptic have one" in said


def test_regions_of_the_example_are_reached():
    """Each region is reached to 0.1 mm within 0.08 s."""
    config = load_run(EXAMPLES / "stylus_regions.yaml")
    robot = config.simulated()
    record = config.world.recorder(robot)
    sot.run(robot, config.controller(), config.duration, observers=[record])
    for start, (name, away) in zip((0.0, 0.2, 0.4), record.away.items(), strict=True):
        k = np.searchsorted(record.time, start + 0.08)
        first = np.flatnonzero(np.isfinite(away))[0]
        assert away[k] < 1e-4 < 5e-3 < away[first], name
        assert record.time[first] == pytest.approx(start + config.dt)
    assert list(record.away) == ["line", "plane", "point"]
