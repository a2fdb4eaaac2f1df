"""Stack files: what they become, what they may not say, and the way back to text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import plugins
import pytest
from robot_files import GOOD, write
from stack_files import REFERENCES, yaml_arguments

import sot
from sot.config import RunConfig, load_run, parse_run
from sot.config.dump import dump
from sot.config.events import Remove, SetReference, Swap
from sot.entry import Tick
from sot.errors import ConfigError
from sot.gain import AdaptiveGain
from sot.reference import KINDS, Move, Sine
from sot.robots import Kinematic, load
from sot.tasks import JointLimits, Pose, Posture
from sot.typed_yaml import dump as to_text

TALOS = """\
robot: talos
solver: weighted
backend: daqp
dt: 0.002
duration: 0.5
stack:
  - [joint_limits, joint_acceleration_limits: {limit: 20}]
  - - pose: {frame: left_sole_link, gain: 50}
    - pose: {frame: right_sole_link}
  - com: {reference: {sine: {amplitude: [0, 0.03, 0], frequency: 0.5}}}
  - position:
      frame: gripper_left_base_link
      name: hand
      gain: {near: 10, far: 2, slope: 5}
      mask: xz
      weight: 3
  - posture:
events:
  - {at: 0.1, set: hand, reference: {move: {by: [0.1, 0, 0], duration: 0.2}}}
  - {at: 0.3, swap: [com, hand], ramp: 0.1}
  - {at: 0.4, remove: com}
expect: {hand: 0.5}
"""


def run(config: RunConfig) -> np.ndarray:
    """Commands of a whole run, shape (ticks, nv)."""
    robot, controller = config.simulated(), config.controller()
    commands = []
    for _ in range(round(config.duration / config.dt)):
        commands.append(controller.step(robot.read()))
        robot.write(commands[-1])
    return np.array([command.v for command in commands])


def test_words_become_typed_objects():
    config = parse_run(TALOS)
    assert config.robot.name == "talos"
    assert (config.solver, config.backend, config.dt, config.duration) == ("weighted", "daqp", 0.002, 0.5)
    assert [[entry.kind for entry in level] for level in config.stack.levels] == [
        ["joint_limits", "joint_acceleration_limits"], ["pose", "pose"], ["com"], ["position"], ["posture"],
    ]  # fmt: skip
    assert config.stack["pose_left_sole_link"].gain == 50.0
    hand, com = config.stack["hand"], config.stack["com"]
    assert hand.gain == AdaptiveGain(10.0, 2.0, 5.0)
    assert (hand.weight, hand.mask) == (3.0, "xz")
    assert isinstance(com.reference, Sine) and com.reference.frequency == 0.5
    first, second, third = config.events
    assert isinstance(first, SetReference) and isinstance(first.reference, Move)
    assert second == Swap(0.3, "com", "hand", 0.1)
    assert third == Remove(0.4, "com")
    assert config.expect == {"hand": 0.5}


def test_a_file_and_python_give_the_same_commands(tmp_path: Path):
    file = write(
        tmp_path,
        "ur5.yaml",
        """
robot: ur5
dt: 0.01
duration: 1.0
stack:
  - joint_limits: {margin: 0.1, scale: 0.5}
  - pose: {frame: tool0, gain: [4, 4, 4, 2, 2, 2], reference: {move: {by: [0.1, 0.1, -0.1], duration: 0.5}}}
  - posture: {gain: 2, reference: {shoulder_pan_joint: 0.3}}
""",
    )
    hand = Pose("tool0", gain=[4, 4, 4, 2, 2, 2], reference=sot.move(by=[0.1, 0.1, -0.1], duration=0.5))
    posture = Posture(gain=2.0, reference={"shoulder_pan_joint": 0.3})
    ur5 = load("ur5")
    robot = Kinematic(ur5, dt=0.01)
    controller = sot.Controller(
        ur5, sot.Stack([JointLimits(margin=0.1, scale=0.5)], [hand], [posture]), dt=0.01
    )
    commands = run(load_run(file))
    assert np.abs(commands).max() > 0.1
    for command in commands:
        expected = controller.step(robot.read())
        robot.write(expected)
        assert np.array_equal(command, expected.v)


def test_events_happen_at_their_tick():
    config = parse_run(TALOS)
    robot, controller = config.simulated(), config.controller()
    order = {}
    for _ in range(250):
        state = robot.read()
        robot.write(controller.step(state))
        order[round(state.time, 6)] = config.stack.names()
    assert order[0.298].index("com") < order[0.298].index("hand")
    assert order[0.3].index("hand") < order[0.3].index("com")
    assert "com" in order[0.398] and "com" not in order[0.4]
    assert isinstance(config.stack["hand"].reference, Move)


def test_a_pushed_task_moves_the_robot():
    text = """
robot: ur5
dt: 0.01
duration: 2.0
stack: [joint_limits, posture: {gain: 1}]
events:
  - {at: 1.0, push: {position: {frame: tool0, name: tip, reference: {move: {by: [0, 0, 0.1], duration: 0.5}}}},
     level: 1, insert: true, ramp: 0.2}
"""
    config = parse_run(text)
    speed = np.abs(run(config)).max(axis=1)
    assert speed[:100].max() < 1e-9 and speed[100:].max() > 0.05
    assert config.stack.level_of("tip") == 1 and config.stack.level_of("posture") == 2
    assert dump(parse_run(dump(parse_run(text)))) == dump(parse_run(text))


# -- where a mistake is --------------------------------------------------------------------------------

MISTAKES = {
    "robot": ("robot: talos", "robot: talo", r"1: robot: unknown robot 'talo'; did you mean 'talos'"),
    "key": (
        "duration: 0.5",
        "durations: 0.5",
        r"5: durations: unknown key 'durations'; did you mean 'duration'",
    ),
    "solver": ("weighted", "weigthed", r"2: solver: unknown value 'weigthed'; did you mean 'weighted'"),
    "dt": ("0.002", "0", r"4: dt: expected dt from 1e-05 to 1 s"),
    "run shorter than a tick": (
        "duration: 0.5",
        "duration: 0.001",
        r"5: duration: expected duration from 0.002",
    ),
    "kind": (
        "  - posture:",
        "  - postures:",
        r"17: stack\[4\]\.postures: unknown task 'postures'; did you mean 'posture'",
    ),
    "argument": (
        "mask: xz",
        "masks: xz",
        r"15: stack\[3\]\.position\.masks: unknown key of position 'masks'; did you",
    ),
    "required": ("frame: right_sole_link", "", r"9: stack\[1\]\[1\]\.pose: pose needs the key 'frame'"),
    "frame": (
        "right_sole_link",
        "right_sole",
        r"9: stack\[1\]\[1\]\.pose\.frame: .*unknown frame 'right_sole'; did you",
    ),
    "row": ("mask: xz", "mask: xw", r"15: stack\[3\]\.position\.mask: .*unknown row 'w'"),
    "gain": ("{near: 10, far: 2,", "{near: 10, far: -2,", r"14: stack\[3\]\.position\.gain"),
    "type": ("gain: 50", "gain: fast", r"8: stack\[1\]\[0\]\.pose\.gain: expected a number or a list"),
    "weight": (
        "weight: 3",
        "weight: 0",
        r"16: stack\[3\]\.position\.weight: hand: weight: expected a number > 0",
    ),
    "reference": (
        "sine:",
        "sinus:",
        r"10: stack\[2\]\.com\.reference\.sinus: unknown reference 'sinus'; did you mean 'sine'",
    ),
    "reference argument": (
        "frequency: 0.5",
        "frequence: 1",
        r"10: .*sine\.frequence: unknown key of sine 'frequence'",
    ),
    "reference size": (
        "[0, 0.03, 0]",
        "[0, 0.03]",
        r"10: stack\[2\]\.com\.reference\.sine\.amplitude: .*expected 3 numbers",
    ),
    "name": (
        "name: hand",
        "name: com",
        r"11: stack\[3\]\.position: the name 'com' is taken by the com in line 10",
    ),
    "indentation": (
        "      weight: 3",
        "    weight: 3",
        r"11: stack\[3\]: a task has one key, .* got position, weight",
    ),
    "not YAML": (
        "{near: 10, far: 2, slope: 5}",
        "{near: 10, far: 2, slope: 5",
        r"15: column 11: is not valid YAML",
    ),
    "event": (
        "remove: com",
        "delete: com",
        r"21: events\[2\]: an event is one of push, remove, swap, set; got keys",
    ),
    "event name": (
        "remove: com",
        "remove: comm",
        r"21: events\[2\]\.remove: unknown entry 'comm'; did you mean 'com'",
    ),
    "event key": (
        "ramp: 0.1",
        "rampe: 0.1",
        r"20: events\[1\]\.rampe: unknown key 'rampe'; did you mean 'ramp'",
    ),
    "event time": ("{at: 0.4, ", "{", r"21: events\[2\]: the key 'at' is missing"),
    "event reference": (
        "by: [0.1, 0, 0]",
        "by: [0.1]",
        r"19: events\[0\]\.reference\.move\.by: .*expected 3 numbers",
    ),
    "no reference": (
        "set: hand",
        "set: joint_limits",
        r"19: events\[0\]\.set: 'joint_limits' is a joint_limits, which has no",
    ),
    "swap": ("[com, hand]", "[com]", r"20: events\[1\]\.swap: expected 2 values"),
    "expect": (
        "expect: {hand",
        "expect: {hnad",
        r"22: expect\.hnad: unknown task 'hnad'; did you mean 'hand'",
    ),
    "plugin": ("expect:", "plugins: [nowhere.py]\nexpect:", r"22: plugins\[0\]: no such file"),
    "module": (
        "expect:",
        "plugins: [no_such.module]\nexpect:",
        r"22: plugins\[0\]: cannot be imported: ModuleNotFound",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found_with_its_place(name: str):
    old, new, message = MISTAKES[name]
    assert TALOS.count(old) == 1
    with pytest.raises(
        ConfigError, match=r"^talos\.yaml:" + (message if message[0].isdigit() else ".*" + message)
    ):
        parse_run(TALOS.replace(old, new), "talos.yaml")


def test_arguments_beside_the_kind_are_explained():
    with pytest.raises(ConfigError, match=r"indented deeper.*got pose, frame"):
        parse_run("robot: ur5\nstack:\n  - pose:\n    frame: tool0\n")


# -- robots --------------------------------------------------------------------------------------------


def test_robots_by_path_and_with_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "there"
    folder.mkdir()
    write(folder, "arm.urdf", GOOD)
    write(folder, "arm.yaml", "urdf: arm.urdf\nhands: [d]\n")
    monkeypatch.chdir(tmp_path)  # paths start from the file, not from here
    for robot in ("arm.urdf", "arm.yaml", "{urdf: arm.urdf, hands: [d]}", "{name: arm.yaml, hands: [d]}"):
        config = load_run(
            write(folder, "stack.yaml", f"robot: {robot}\nstack: [joint_limits, position: {{frame: d}}]")
        )
        assert config.robot.pin_model.nv == 3
        assert load_run(write(folder, "again.yaml", dump(config))).robot.pin_model.nv == 3
    assert (
        parse_run("robot: {name: panda, lock: [panda_finger_*]}\nstack: [joint_limits]").robot.pin_model.nv
        == 7
    )
    with pytest.raises(ConfigError, match=r"^t:1: robot\.root: expected one of 'fixed'"):
        parse_run("robot: {name: panda, root: fly}\nstack: [joint_limits]", "t")


# -- plug-ins ------------------------------------------------------------------------------------------

PLUGIN = '''
import math
from dataclasses import dataclass
import numpy as np
import sot
from sot.reference import Reference
from sot.reference.trajectory import Rest


class Height(sot.Task):
    """Brings the centre of mass to a height."""

    kind = "height"

    def __init__(self, height: float = 0.8, offsets: list[float] | None = None, **options):
        super().__init__(**options)
        self.height = height

    def error(self, model):
        return model.com[2:] - self.height

    def jacobian(self, model):
        return model.com_jacobian[2:]


class Rows(sot.Task):
    kind = "rows_of_nothing"

    def error(self, model):
        return model.there_is_no_such_thing

    def jacobian(self, model):
        return None


@dataclass(frozen=True, eq=False)
class Up(Reference):
    kind = "up"
    step: float

    def start(self, feature, value, time):
        return Rest(feature, value + np.array([0.0, 0.0, self.step]), time)


def wave(t):
    return [0.4, 0.1 * math.sin(t), 0.5]


def reach(model):
    return model.com[:1]


def reach_jacobian(model):
    return model.com_jacobian[:1]
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, "mine.py", PLUGIN)
    return tmp_path


def with_plugin(folder: Path, stack: str) -> RunConfig:
    return parse_run(
        f"robot: ur5\nplugins: [mine.py]\nstack:\n  - joint_limits\n{stack}", "mine.yaml", folder
    )


@pytest.mark.parametrize("entry", [
    "height: {height: 0.3, gain: 2, offsets: [1, 2], name: high}",
    "height",
    "position: {frame: tool0, reference: {up: {step: 0.1}}}",
    "position: {frame: tool0, reference: {function: {f: mine.wave}}}",
    "generic: {value: mine.reach, jacobian: mine.reach_jacobian, gain: 1}",
])  # fmt: skip
def test_a_users_python_file_is_as_good_as_ours(folder: Path, entry: str):
    config = with_plugin(folder, f"  - {entry}\n")
    assert np.isfinite(run(config)).all()
    text = dump(with_plugin(folder, f"  - {entry}\n"))
    assert dump(parse_run(text, folder=folder)) == text
    assert ("gain: 2" in text) == ("gain: 2" in entry)


PLUGIN_MISTAKES = {
    "argument": (
        "  - height: {hight: 1}",
        r"5: stack\[1\]\.height\.hight: unknown key of height 'hight'; did you mean 'height'",
    ),
    "type": ("  - height: {height: high}", r"5: stack\[1\]\.height\.height: expected a number"),
    "list": ("  - height: {offsets: [1, b]}", r"5: stack\[1\]\.height\.offsets\[1\]: expected a number"),
    "raises": (
        "  - rows_of_nothing",
        r"5: stack\[1\]: AttributeError: .*no attribute 'there_is_no_such_thing'",
    ),
    "function": (
        "  - position: {frame: tool0, reference: {function: {f: mine.wav}}}",
        r"5: .*function\.f: unknown function 'mine.wav'; did you mean 'mine.wave'",
    ),
}


@pytest.mark.parametrize("name", PLUGIN_MISTAKES)
def test_mistakes_with_a_users_task(folder: Path, name: str):
    stack, message = PLUGIN_MISTAKES[name]
    with pytest.raises(ConfigError, match=r"^mine\.yaml:" + message):
        with_plugin(folder, stack)


BROKEN_PLUGINS = {
    "syntax": ("def f(:\n", "cannot be imported: SyntaxError"),
    "raises": ("x = 1\n1 / 0\n", r"cannot be imported: ZeroDivisionError: division by zero \(.*mine\.py:2\)"),
    "exits": ("import sys; sys.exit(3)\n", "cannot be imported: SystemExit"),
    "no kind": (PLUGIN.replace('kind = "height"', ""), "class Height needs a name for YAML files"),
    "taken": (
        PLUGIN.replace('kind = "height"', 'kind = "pose"'),
        "class Height: the kind 'pose' is taken by Pose",
    ),
    "hints": (
        PLUGIN.replace("height: float", "height: 'NoSuchType'"),
        "the type hints of Height cannot be read",
    ),
}


@pytest.mark.parametrize("name", BROKEN_PLUGINS)
def test_mistakes_in_a_users_file(folder: Path, name: str):
    text, message = BROKEN_PLUGINS[name]
    write(folder, "mine.py", text)
    with pytest.raises(ConfigError, match=message) as raised:
        with_plugin(folder, "  - height: {height: 1}")
    assert str(raised.value).startswith("mine.yaml:")


# -- there and back: every task and every reference finds itself here ------------------------------------


@pytest.mark.parametrize("kind", [kind for kind in plugins.task_classes() if kind.kind != "generic"])
def test_every_task_there_and_back(kind: type):
    robot = plugins.a_robot_for(kind)
    arguments = yaml_arguments(kind, plugins.model_of(robot))
    assert len(arguments) >= 2
    text = to_text({"robot": robot, "stack": ["joint_limits", {kind.kind: arguments}]})
    if kind.kind == "joint_limits":
        text = text.replace("- joint_limits\n", "- posture\n", 1)
    config = parse_run(text)
    once = dump(config)
    again = parse_run(once)
    assert dump(again) == once
    for name in arguments:
        assert f"{name}:" in once  # nothing that was given is lost
    assert_same_rows(config, again, "other")


def assert_same_rows(config: RunConfig, again: RunConfig, name: str) -> None:
    model = sot.Model(config.robot)
    model.update(model.random_configuration(np.random.default_rng(0), 0.05), np.zeros(model.nv))
    rows = []
    for stack in (config.stack, again.stack):
        entry, tick = stack[name], Tick(0.0, 0.01, np.zeros(model.nv))
        entry.setup(model)
        entry.begin(model, tick)
        rows.append(entry.rows(model, tick))
    for part in ("A", "lower", "upper"):
        assert np.array_equal(getattr(rows[0], part), getattr(rows[1], part))


@pytest.mark.parametrize("kind", KINDS)
def test_every_reference_there_and_back(folder: Path, kind: str):
    task = {"position": {"frame": "tool0", "name": "tip", "reference": {kind: REFERENCES[kind]}}}
    text = to_text({"robot": "ur5", "plugins": ["mine.py"], "stack": ["joint_limits", task]})
    config = parse_run(text, folder=folder)
    once = dump(config)
    again = parse_run(once, folder=folder)
    assert dump(again) == once
    assert all(f"{name}:" in once for name in REFERENCES[kind] if kind != "hold")
    assert np.array_equal(run(config), run(again))


def test_what_was_changed_since_is_written():
    config = parse_run(TALOS)
    config.stack["hand"].reference = sot.move(to=[0.5, 0.2, 1.0], duration=1.0)
    config.stack["hand"].gain = 7.0
    again = parse_run(dump(config))
    assert again.stack["hand"].gain == 7.0
    assert np.array_equal(again.stack["hand"].reference.to, [0.5, 0.2, 1.0])


def test_a_stack_from_python_is_written():
    pose = Pose(
        "tool0", expressed="local", reference=sot.SE3.Identity(), gain=sot.AdaptiveGain(3.0, 1.0, 2.0)
    )
    stack = sot.Stack([JointLimits(margin=0.1)], [pose], [Posture(reference=sot.hold())])
    text = dump(stack)
    again = parse_run("robot: ur5\n" + text)
    assert dump(again.stack) == text
    assert again.stack["pose_tool0"].feature.expressed == "local"
    assert np.array_equal(again.stack["pose_tool0"].reference.value, np.eye(4))
    with pytest.raises(ConfigError, match="is in no plugin"):
        dump(sot.Stack([Pose("tool0", reference=lambda t: np.eye(4))]))
