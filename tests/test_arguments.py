"""Arguments that make no sense are refused with a sentence, before anything has changed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sot
from sot.cli import main
from sot.errors import ConfigError, ModelError, RobotError, SotError, TaskError
from sot.features.selection import all_joints, select
from sot.robots import Kinematic, load
from sot.state import Command, State
from sot.tasks import JointLimits, JointPositionLimits, JointVelocityLimits, Pose, Posture
from sot.typed_yaml.node import wrap
from sot.typed_yaml.typed import build, describe


@pytest.fixture(scope="module")
def panda() -> sot.Description:
    return load("panda")


def stack() -> sot.Stack:
    return sot.Stack([JointLimits()], [Posture()])


def controller(robot: sot.Description) -> sot.Controller:
    return sot.Controller(robot, stack(), dt=5e-3)


# -- the stack ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [3, None, "pose", ["pose"], Pose, [3]])
def test_a_stack_is_made_of_entries(level: Any) -> None:
    with pytest.raises(TaskError, match="a stack takes tasks and constraints, got"):
        sot.Stack([JointLimits()], level)


MISTAKES: dict[str, tuple[Callable[[sot.Stack], object], str]] = {
    "text": (lambda s: s.push("pose"), "takes tasks and constraints, got 'pose'"),  # type: ignore[arg-type]
    "class": (lambda s: s.push(Pose), "takes tasks and constraints, got <class"),  # type: ignore[arg-type]
    "half": (lambda s: s.push(Pose("a"), level=0.5), "level: expected an integer from 0 to 2, got 0.5"),  # type: ignore[arg-type]
    "words": (lambda s: s.push(Pose("a"), level="1"), "level: expected an integer"),  # type: ignore[arg-type]
    "too deep": (lambda s: s.push(Pose("a"), level=3), "level 3 does not exist"),
    "negative": (lambda s: s.push(Pose("a"), level=-1), "level -1 does not exist"),
    "push ramp": (lambda s: s.push(Pose("a"), ramp=np.nan), "ramp"),
    "remove ramp": (lambda s: s.remove("posture", ramp=-1.0), "ramp"),
    "swap ramp": (lambda s: s.swap("posture", "joint_limits", ramp=np.inf), "ramp"),
}


@pytest.mark.parametrize(("change", "words"), MISTAKES.values(), ids=MISTAKES)
def test_a_change_that_is_refused_leaves_the_stack_as_it_was(
    change: Callable[[sot.Stack], object], words: str
) -> None:
    entries = stack()
    before = entries.levels
    with pytest.raises(TaskError, match=words):
        change(entries)
    assert entries.levels == before and entries.changes == []


def test_levels_may_be_counted_in_numpy() -> None:
    entries = stack()
    entries.push(Pose("panda_hand"), level=np.int64(1))  # type: ignore[arg-type]
    assert entries.level_of("pose_panda_hand") == 1


def test_restore_takes_changes_back() -> None:
    entries = stack()
    before = entries.levels
    entries.push(Pose("zz"), level=1, insert=True)
    entries.remove("posture")
    entries.restore(before)
    assert entries.levels == before and entries.changes == []
    entries.push(Pose("panda_hand"))
    assert len(before) == 2 and entries.changes[0].levels[:2] == before  # what was given is not shared


# -- joints and their limits -------------------------------------------------------------------------------------


def test_who_asks_for_an_unknown_joint_is_said_first_or_not_at_all(panda: sot.Description) -> None:
    model = sot.Model(panda)
    with pytest.raises(ModelError, match=r"^robot 'panda': unknown joint 'zz'"):
        select(model, ["zz"], all_joints(model))
    with pytest.raises(TaskError, match=r"^joints: the list is empty"):
        select(model, [], all_joints(model))
    with pytest.raises(ModelError, match=r"^slow: limit: robot 'panda': unknown joint 'zz'"):
        JointVelocityLimits(joints="zz", name="slow").setup(model)


@pytest.mark.parametrize("kind", [JointLimits, JointPositionLimits])
def test_a_margin_leaves_something_of_every_range(kind: type, panda: sot.Description) -> None:
    model = sot.Model(panda)
    with pytest.raises(TaskError, match=r"^safe: margin: .*'panda_joint1', \[-2\.8973, 2\.8973\]; .* 2\.8973 at most"):
        kind(margin=10.0, name="safe").setup(model)
    with pytest.raises(TaskError, match=r"'panda_finger_joint1', \[0, 0\.04\]; it can be 0\.02 at most"):
        kind(margin=0.021).setup(model)
    kind(margin=0.019).setup(model)


# -- a run -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"robot": "description"}, "robot: expected something to read and command, .*Kinematic.*, got a Description"),
        ({"robot": None}, "robot: .* got a NoneType"),
        ({"controller": 3}, "controller: expected a sot.Controller, got a int"),
        ({"viewer": "yes"}, "viewer: expected true or a sot.Viewer, got 'yes'"),
    ],
)
def test_a_run_needs_a_robot_a_controller_and_perhaps_a_viewer(
    change: dict[str, Any], words: str, panda: sot.Description
) -> None:
    arguments = {"robot": Kinematic(panda, dt=5e-3), "controller": controller(panda), "duration": 0.01, **change}
    if arguments["robot"] == "description":
        arguments["robot"] = panda
    with pytest.raises(ConfigError, match=words):
        sot.run(**arguments)


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "2e6"])
def test_a_duration_is_more_than_nothing(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "file.yaml", f"--duration={text}"]) == 2
    assert f"expected seconds, more than 0 and at most 1e6, got {text}" in capsys.readouterr().err


# -- the viewer --------------------------------------------------------------------------------------------------


@pytest.fixture
def viewer(panda: sot.Description) -> Iterator[sot.Viewer]:
    pytest.importorskip("meshcat")
    with sot.Viewer(panda) as opened:
        yield opened


@pytest.mark.parametrize("robot", ["panda", None])
def test_a_viewer_shows_a_description(robot: Any) -> None:
    with pytest.raises(ConfigError, match=r"expected a robot as sot\.robots\.load"):
        sot.Viewer(robot)


def test_a_viewer_of_another_robot_is_refused(viewer: sot.Viewer) -> None:
    ur5 = load("ur5")
    with pytest.raises(ConfigError, match="shows robot 'panda', but the controller's is 'ur5'"):
        sot.run(Kinematic(ur5, dt=5e-3), controller(ur5), 0.01, viewer=viewer)
    again = load("panda")  # the same robot, read a second time
    assert sot.run(Kinematic(again, dt=5e-3), controller(again), 0.01, viewer=viewer, realtime=False).ticks == 2


@pytest.mark.parametrize("q", [np.zeros(3), 0.0, "home", np.full(9, np.nan)])
def test_a_configuration_that_does_not_fit_is_not_shown(viewer: sot.Viewer, q: Any) -> None:
    with pytest.raises(SotError, match="viewer of robot 'panda': q: "):
        viewer.show(q)


def test_a_closed_viewer_says_so(viewer: sot.Viewer, panda: sot.Description, tmp_path: Path) -> None:
    viewer.close()
    with pytest.raises(RobotError, match="save: it was closed"):
        viewer.save(tmp_path / "page.html")
    with pytest.raises(RobotError, match="show: it was closed"):
        viewer.show(panda.home)
    assert not (tmp_path / "page.html").exists()


class CloseAt:
    """Closes a viewer in the middle of a run, as a user may: from another thread."""

    def __init__(self, viewer: sot.Viewer, time: float) -> None:
        self.viewer, self.time = viewer, time

    def __call__(self, state: State, command: Command, controller: sot.Controller) -> None:
        if state.time >= self.time:
            closing = threading.Thread(target=self.viewer.close)
            closing.start()
            closing.join()


def test_a_run_goes_on_without_its_viewer(
    viewer: sot.Viewer, panda: sot.Description, capsys: pytest.CaptureFixture[str]
) -> None:
    observers: Sequence[CloseAt] = [CloseAt(viewer, 0.1)]
    robot, moved = Kinematic(panda, dt=5e-3), controller(panda)
    result = sot.run(robot, moved, 0.3, viewer=viewer, realtime=False, observers=observers)
    assert result.ticks == 60
    sot.run(robot, moved, 0.1, viewer=viewer, realtime=False)
    assert capsys.readouterr().err.count("viewer: was closed") == 1


# -- words -------------------------------------------------------------------------------------------------------


def test_kinds_that_look_the_same_are_named_once() -> None:
    assert describe(float | Sequence[float] | np.ndarray) == "a number or a list of numbers"
    assert describe(Sequence[bool] | Sequence[str] | str) == "a list or text"
    with pytest.raises(ConfigError, match="expected a number or a list of numbers, got 'fast'"):
        build(wrap("fast", "file"), float | Sequence[float] | np.ndarray)


@pytest.mark.parametrize(("kind", "words"), [(tuple[float], "1 value, got 2"), (tuple[int, int, int], "3 values")])
def test_one_value_is_singular(kind: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=f"expected {words}"):
        build(wrap([1, 2], "file"), kind)
