"""Over 300 malformed inputs from `mutations.py`: each an error of ours that names the place, no traceback."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mutations import Mutation, stack_files, urdf_files
from stack_files import EXAMPLES

from sot.cli import main
from sot.config import parse_run
from sot.errors import ConfigError, SotError
from sot.robots import load
from sot.typed_yaml import read

STACKS, URDFS = stack_files(220), urdf_files(50)
FILE = str(EXAMPLES / "ur5_circle.yaml")

# Arguments, and what of them the message must repeat.
ARGUMENTS = [
    ([], "COMMAND"),
    (["rum", FILE], "rum"),
    (["Run", FILE], "Run"),
    (["--quick"], "COMMAND"),
    (["run"], "FILE"),
    (["run", "nowhere.yaml"], "nowhere.yaml: no such file"),
    (["run", str(EXAMPLES)], "cannot be read"),
    (["run", ""], "cannot be read"),
    (["run", "a\0b.yaml"], "cannot be read"),
    (["run", "ur5_circle"], "ur5_circle: no such file"),
    (["run", str(EXAMPLES / "ur5_circle.py")], "is a Python script, not a stack file; run it with: python"),
    (["run", "arm.urdf"], "arm.urdf is a robot, not a stack file"),
    (["run", FILE, FILE], "unrecognized arguments"),
    (["run", FILE, "--solver"], "--solver: expected one argument"),
    (["run", FILE, "--headless", "--solver", "best"], "--solver: unknown solver 'best'"),
    (["run", FILE, "--headless", "--solver", "Weighted"], "did you mean 'weighted'"),
    (["run", FILE, "--headless", "--solver", ""], "--solver: unknown solver ''"),
    (["run", FILE, "--duration"], "--duration: expected one argument"),
    *((["run", FILE, "--headless", "--duration", text], "--duration") for text in (
        "0", "0.0", "-1", "nan", "inf", "-inf", "1e9", "1e999", "long", "1s", "1,5", "", " ", "0x1", "1e-9", "ten",
    )),
    (["run", FILE, "--headless", "--duration", "1", "2"], "unrecognized arguments: 2"),
    (["run", FILE, "--headles", "--durations", "1"], "--durations"),
    (["run", FILE, "--json=yes"], "--json"),
    (["check"], "FILE"),
    (["check", "nowhere.yaml"], "nowhere.yaml: no such file"),
    (["check", FILE, "--solver", "weighted"], "--solver"),
    (["list", "robot"], "robot"),
    (["list", "robots", "tasks"], "unrecognized arguments: tasks"),
    (["show"], "NAME"),
    (["show", "talo"], "did you mean 'talos'"),
    (["show", "posee"], "did you mean 'pose'"),
    (["show", ""], "unknown robot, task or reference ''"),
    (["show", "nowhere.urdf"], "nowhere.urdf"),
    (["show", "nowhere.yaml"], "nowhere.yaml: no such file"),
    (["show", FILE], "ur5_circle.yaml:3: robot: unknown key 'robot'"),
    (["demo", "--duration", "-2"], "--duration"),
    (["demo", "talos"], "unrecognized arguments: talos"),
    (["bench", "--ticks", "0"], "--ticks"),
    (["bench", "--ticks", "many"], "--ticks"),
    (["bench", "--ticks", "1.5"], "--ticks"),
    (["schema", "robot"], "unrecognized arguments: robot"),
]  # fmt: skip


def test_there_are_300():
    assert len({m.content for m in STACKS}) + len({m.content for m in URDFS}) + len(ARGUMENTS) >= 300


@pytest.mark.parametrize("mutation", STACKS, ids=lambda m: m.name)
def test_stack_files(mutation: Mutation, tmp_path: Path):
    file = tmp_path / "stack.yaml"
    file.write_bytes(mutation.content)
    with pytest.raises(ConfigError) as raised:
        read(file)  # what is no YAML at all is refused here
        parse_run(mutation.content.decode(), str(file), mutation.folder)
    place = re.match(rf"{re.escape(str(file))}:(\d+): .", str(raised.value))
    assert place, raised.value
    assert mutation.lines is None or int(place[1]) in mutation.lines, raised.value


@pytest.mark.parametrize("mutation", URDFS, ids=lambda m: m.name)
def test_urdf_files(mutation: Mutation, tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    file = tmp_path / "arm.urdf"
    file.write_bytes(mutation.content)
    with pytest.raises(SotError, match=r"arm\.urdf.*: "):
        load(file)
    assert capfd.readouterr() == ("", "")  # no library says anything by itself


@pytest.mark.parametrize(
    "arguments, message",
    ARGUMENTS,
    ids=lambda value: " ".join(value)[-40:].replace("\0", "0") if isinstance(value, list) else "",
)
def test_arguments(arguments: list[str], message: str, capfd: pytest.CaptureFixture[str]):
    assert main(arguments) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert message in err and "Traceback" not in err
    assert re.match(r"sot: error: .|usage: sot", err)
