"""What every task and constraint must do, on six robots. A new one is found by being in a file of `sot.tasks`."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from typing import get_type_hints

import numpy as np
import pytest
from plugins import ROBOTS, along, examples, fits, model_of, parameters, random_state, scale, task_classes

import sot.tasks
from sot.entry import Constraint, Entry, Load, Shaper, Tick
from sot.errors import ModelError, SotError, TaskError
from sot.gain import AdaptiveGain, as_gain, decay
from sot.model import Model
from sot.reference import hold
from sot.task import FeatureTask, Task
from sot.tasks import CenterOfMass, Gaze, Gears, Locked, Mimic, Orientation, Pose, Position, Posture


class Height(Task):
    """A user's task: two methods."""

    kind = "height"

    def error(self, model: Model) -> np.ndarray:
        return model.com[2:] - 0.8

    def jacobian(self, model: Model) -> np.ndarray:
        return model.com_jacobian[2:]


CLASSES = [*task_classes(), Height]
CASES = [(r, k) for r in ROBOTS for k in CLASSES if fits(k, r)]


def cases_of(cases: list[tuple[str, type[Entry]]]):
    return pytest.mark.parametrize(("robot", "kind"), cases, ids=lambda x: x if isinstance(x, str) else x.__name__)


def tick(model: Model, dt: float = 5e-3) -> Tick:
    return Tick(0.0, dt, np.zeros(model.nv))


def ready(robot: str, kind: type[Entry], seed: int = 0):
    """Every example of a class, set up, at a random state, holding what it measures there."""
    model, rng = model_of(robot), np.random.default_rng(seed)
    for label, entry in examples(kind, model):
        model.update(model.robot.home, np.zeros(model.nv))
        entry.setup(model)
        measure = entry.jacobian if isinstance(entry, Task) else (lambda m: np.zeros(1))
        random_state(model, rng, measure)
        if isinstance(entry, FeatureTask):
            entry.reference = hold()
        entry.begin(model, tick(model))
        yield label, entry, model


@cases_of(CASES)
def test_rows_have_the_right_shape_and_names(robot, kind) -> None:
    for label, entry, model in ready(robot, kind):
        rows = entry.rows(model, tick(model))
        count = len(rows.lower)
        assert rows.A.shape == (count, model.nv) and rows.upper.shape == (count,), label
        assert np.isfinite(rows.A).all() and (rows.lower <= rows.upper).all(), label
        assert len(set(entry.labels(count))) == count, label
        assert isinstance(entry, Constraint | Shaper) or np.array_equal(rows.lower, rows.upper), label


# Rows that are rates of an error; how far a ball has rolled along a plane is no function of q, only its height is.
HOLONOMIC = {"RollingContact": slice(2, 3)}


def check_derivatives(task: Task, model: Model, label: str) -> None:
    """At its target the error changes as J v; J v changes as the drift."""
    J = np.atleast_2d(task.jacobian(model))
    numeric = np.array([along(model, unit, task.error) for unit in np.eye(model.nv)]).T
    known = HOLONOMIC.get(type(task).__name__, slice(None))
    assert np.abs(J - numeric)[known].max() <= 1e-6 * scale(J), label
    rate = along(model, model.v, lambda m: np.atleast_2d(task.jacobian(m)) @ m.v)
    assert np.abs(task.drift(model) - rate).max() <= 1e-6 * scale(rate), label


@cases_of([case for case in CASES if issubclass(case[1], Task)])
def test_jacobian_and_drift_match_finite_differences(robot, kind) -> None:
    for label, task, model in ready(robot, kind, seed=1):
        check_derivatives(task, model, label)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_signatures_can_be_written_in_a_file(kind) -> None:
    """Files and schemas are made from signatures: every argument has a name, a type and a sentence."""
    documentation, hints = inspect.getdoc(kind.__init__) or "", get_type_hints(kind.__init__)
    for name, parameter in inspect.signature(kind).parameters.items():
        assert parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL), name
        assert name in hints, name
        assert re.search(rf"^ +{name}: \S", documentation, re.MULTILINE), f"{name} is not explained"
    common = {"name"} if issubclass(kind, Shaper | Load) else {"name", "weight"}  # no rows, nothing to weigh
    assert common <= set(inspect.signature(kind).parameters)
    assert re.fullmatch(r"[a-z][a-z0-9_]*", kind.kind) and (kind.__doc__ or "").strip()


def test_kinds_are_unique() -> None:
    assert len(sot.tasks.kinds()) == len(sot.tasks.classes())
    for name in sot.tasks.names():
        assert getattr(sot.tasks, name) is sot.tasks.classes()[name] and name in dir(sot.tasks)
    assert sot.tasks.__all__ == sot.tasks.names()


def test_what_type_checkers_are_told_exists() -> None:
    source = inspect.getsource(sot.tasks)
    told = re.findall(r"from (sot\.tasks\.\w+) import (\w+) as \2", source)
    assert told
    for module, name in told:
        assert getattr(importlib.import_module(module), name) is getattr(sot.tasks, name)


def test_a_new_file_is_a_new_task(tmp_path, monkeypatch) -> None:
    (tmp_path / "waving.py").write_text(
        "from sot.task import Task\n"
        "class Waving(Task):\n    kind = 'waving'\n"
        "    def error(self, model): return model.com[:1]\n"
        "    def jacobian(self, model): return model.com_jacobian[:1]\n"
    )
    monkeypatch.setattr(sot.tasks, "__path__", [*sot.tasks.__path__, str(tmp_path)])
    sot.tasks.classes.cache_clear()
    try:
        from sot.tasks import Waving

        assert sot.tasks.kinds()["waving"] is Waving
        model = model_of("panda")
        task = Waving()
        task.setup(model)
        check_derivatives(task, model, "waving")
    finally:
        sot.tasks.classes.cache_clear()
        sys.modules.pop("sot.tasks.waving", None)


def test_an_unknown_task_is_refused_by_name() -> None:
    with pytest.raises(AttributeError, match="Posture"):
        _ = sot.tasks.Postur


# -- the law -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dt", [1e-3, 5e-3, 0.1])
@pytest.mark.parametrize("gain", [0.0, 0.1, 10.0, 500.0, np.inf])
def test_decay_is_exact_at_every_rate(gain, dt) -> None:
    """e(t + dt) = e(t) exp(−λ dt), whatever λ dt is; an infinite gain takes one tick."""
    error = np.array([1.0, -0.3])
    after = error - dt * decay(as_gain(gain, ""), error, dt)
    assert np.abs(after - error * np.exp(-gain * dt)).max() <= 1e-15


def test_decay_per_axis_and_adaptive() -> None:
    error, dt = np.array([0.3, -0.4]), 0.01
    after = error - dt * decay(as_gain([1.0, 50.0], ""), error, dt)
    assert np.abs(after - error * np.exp([-0.01, -0.5])).max() <= 1e-15
    gain = AdaptiveGain(near=20.0, far=2.0, slope=3.0)
    rate = 18.0 * np.exp(-3.0 * 0.5) + 2.0
    assert np.abs(error - dt * decay(gain, error, dt) - error * np.exp(-rate * dt)).max() <= 1e-15
    assert gain.at(np.zeros(2)) == 20.0


WITH_GAIN = [kind for kind in CLASSES if "gain" in inspect.signature(kind).parameters]
DECAYING = [kind for kind in WITH_GAIN if issubclass(kind, FeatureTask) and kind.kind != "joint_limit_distance"]


@pytest.mark.parametrize("dt", [1e-3, 5e-3])
@pytest.mark.parametrize("kind", DECAYING, ids=lambda kind: kind.__name__)
def test_the_error_decays_at_the_gain(kind, dt) -> None:
    """On its own and with enough freedom, ‖e‖ falls as exp(−λ t), within 1 %, at 200 Hz and at 1 kHz alike."""
    gain, duration = 10.0, 0.2  # the textbook −λ e would be 2.6 % too fast at 200 Hz
    for label, task, model in ready("talos", kind, seed=3):
        task.gain = gain
        feature, start = task.feature, task.target.value
        step = feature.jacobian(model) @ np.random.default_rng(4).normal(size=model.nv)
        task.reference = feature.integrate(start, 0.02 * step / np.linalg.norm(step))
        task.begin(model, tick(model, dt))
        before = np.linalg.norm(task.error(model))
        for _ in range(round(duration / dt)):
            rows = task.rows(model, tick(model, dt))
            v = np.linalg.pinv(rows.A, rcond=1e-6) @ rows.lower
            model.update(model.integrate(model.q, dt * v), v)
        rate = -np.log(np.linalg.norm(task.error(model)) / before) / duration
        assert abs(rate - gain) <= 0.01 * gain, f"{label}: {rate:.3f}/s instead of {gain}/s"


# -- masks, gains, labels ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mask", "kept"),
    [
        (None, [0, 1, 2, 3, 4, 5]),
        ("xz", [0, 2]),
        (["z", "x"], [0, 2]),
        ("rx", [3]),
        (["rx", "rz"], [3, 5]),
        ([True, False, False, False, False, True], [0, 5]),
    ],
)
def test_masks_keep_rows(mask, kept) -> None:
    model = model_of("panda")
    random_state(model, np.random.default_rng(5), lambda m: 0.0)
    whole, masked = (Pose(model.robot.hands[0], mask=m, gain=[1, 2, 3, 4, 5, 6]) for m in (None, mask))
    for task in (whole, masked):
        task.setup(model)
        task.reference = model.placement(0)
        task.begin(model, tick(model))
    all_rows, rows = whole.rows(model, tick(model)), masked.rows(model, tick(model))
    assert np.array_equal(rows.A, all_rows.A[kept]) and np.array_equal(rows.lower, all_rows.lower[kept])
    assert masked.labels(len(kept)) == [["x", "y", "z", "rx", "ry", "rz"][i] for i in kept]


def test_posture_masks_and_labels_are_joints() -> None:
    model = model_of("talos")
    task = Posture("arm_left_*", mask=["arm_left_3_joint", "arm_left_1_joint"])
    task.setup(model)
    assert task.labels(2) == ["arm_left_1_joint", "arm_left_3_joint"]


@pytest.mark.parametrize("robot", ROBOTS)
def test_posture_leads_home_without_the_base(robot) -> None:
    model = model_of(robot)
    task = Posture()
    task.setup(model)
    model.update(model.random_configuration(np.random.default_rng(6)), np.zeros(model.nv))
    task.begin(model, tick(model))
    columns = task.feature.columns
    assert np.abs(task.error(model) - model.difference(model.q, model.robot.home)[columns]).max() <= 1e-12
    base = {"fixed": 0, "planar": 3, "free_flyer": 6}[model.robot.root]
    assert columns.min() >= base and columns.size == model.robot.actuated[base:].sum()


@pytest.mark.parametrize("target", [0.3, [0.3] * 7, {"panda_joint2": 0.3}, "home"])
def test_posture_takes_targets_in_several_forms(target) -> None:
    model = model_of("panda")
    task = Posture("panda_joint[1-7]", reference=target)
    task.setup(model)
    task.begin(model, tick(model))
    home = model.robot.home[:7]
    wanted = {0.3: [0.3] * 7, "home": home}.get(target, None) if not isinstance(target, (list, dict)) else None
    wanted = target if isinstance(target, list) else wanted
    wanted = [home[0], 0.3, *home[2:]] if isinstance(target, dict) else wanted
    assert np.allclose(task.target.value, wanted, atol=1e-15)


def test_gaze_looks_at_its_point_by_default() -> None:
    model = model_of("tiago")
    frame, point = parameters(model)["frame"][0], [2.0, 0.5, 1.2]
    task = Gaze(frame, "x", point)
    task.setup(model)
    task.begin(model, tick(model))
    T = model.placement(model.frame(frame))
    towards = (point - T.translation) / np.linalg.norm(point - T.translation)
    angle = np.arccos(np.clip(T.rotation[:, 0] @ towards, -1.0, 1.0))
    assert abs(np.linalg.norm(task.error(model)) - angle) <= 1e-9


def test_gears_hold_the_ratio() -> None:
    """v_joint − r v_of = −λ (q_joint − r q_of − o), also for the robot's own gears."""
    model = model_of("panda")
    gear = model.robot.mimics[0]
    for task in (Gears(gain=7.0), Mimic(gear.joint, gear.of, gear.ratio, gear.offset, gain=7.0)):
        task.setup(model)
        q = model.robot.home.copy()
        q[model.joint(gear.joint).q] += 0.01
        model.update(q, np.zeros(model.nv))
        rows = task.rows(model, tick(model, 1e-6))
        wanted = np.zeros(model.nv)
        wanted[model.joint(gear.joint).v], wanted[model.joint(gear.of).v] = 1.0, -gear.ratio
        here, there = (float(q[model.joint(name).q][0]) for name in (gear.joint, gear.of))
        deviation = here - gear.ratio * there - gear.offset
        assert np.array_equal(rows.A[0], wanted) and abs(rows.lower[0] + 7.0 * deviation) <= 1e-6


def test_locked_joints_stay_where_they_are() -> None:
    model = model_of("tiago")
    base = next(iter(model.joints))
    task = Locked([base, "torso*"])
    task.setup(model)
    model.update(model.random_configuration(np.random.default_rng(7)), np.zeros(model.nv))
    task.begin(model, tick(model))
    rows = task.rows(model, tick(model))
    assert rows.A.shape[0] == 4 and np.abs(rows.lower).max() <= 1e-12
    assert np.array_equal(rows.A, np.eye(model.nv)[task.feature.columns])


# -- errors ------------------------------------------------------------------------------------------------


def started(task: Entry, robot: str = "panda") -> None:
    model = model_of(robot)
    task.setup(model)
    task.begin(model, tick(model))


HAND = "panda_hand_tcp"
NAN_POSE = [0, 0, np.nan, 0, 0, 0, 1]
BAD = {
    "frame": (lambda: Pose("panda_hnd_tcp"), ModelError, HAND),
    "relative frame": (lambda: Pose(HAND, relative_to="nowhere"), ModelError, "panda_link0"),
    "not a name": (lambda: Pose(3), ModelError, "unknown frame 3"),
    "axes": (lambda: Pose(HAND, expressed="wrld"), TaskError, "world"),
    "joint": (lambda: Posture(["panda_joint9"]), ModelError, "panda_joint7"),
    "pattern": (lambda: Posture("leg_*"), ModelError, "panda_joint1"),
    "no joints": (lambda: Posture([]), TaskError, "empty"),
    "label": (lambda: Pose(HAND, mask=["x", "w"]), TaskError, "rx"),
    "mask size": (lambda: Pose(HAND, mask=[True]), TaskError, "6 booleans"),
    "empty mask": (lambda: Pose(HAND, mask=[False] * 6), TaskError, "no row"),
    "gain size": (lambda: Pose(HAND, gain=[1, 2, 3]), TaskError, "6"),
    "negative gain": (lambda: Pose(HAND, gain=-1), TaskError, "gain"),
    "NaN gain": (lambda: Pose(HAND, gain=np.nan), TaskError, "gain"),
    "zero weight": (lambda: Pose(HAND, weight=0), TaskError, "weight"),
    "pose size": (lambda: Pose(HAND, reference=[1, 2, 3]), TaskError, "7 numbers"),
    "NaN pose": (lambda: Pose(HAND, reference=NAN_POSE), TaskError, "finite"),
    "not a rotation": (lambda: Orientation(HAND, reference=np.ones((3, 3))), TaskError, "rotation"),
    "position size": (lambda: Position(HAND, reference=[1, 2]), TaskError, "3 numbers"),
    "lone number": (lambda: Position(HAND, reference=0.5), TaskError, "3 numbers"),
    "NaN position": (lambda: CenterOfMass(reference=[0, 0, np.nan]), TaskError, "finite"),
    "posture name": (lambda: Posture(reference="hom"), TaskError, "home"),
    "posture size": (lambda: Posture(reference=[0.0] * 4), TaskError, "numbers"),
    "joint in table": (lambda: Posture(reference={"panda_join1": 0}), TaskError, "panda_joint1"),
    "axis": (lambda: Gaze(HAND, "w"), TaskError, "-x"),
    "no direction": (lambda: Gaze(HAND, [0, 0, 0]), TaskError, "direction"),
    "lone axis number": (lambda: Gaze(HAND, 1.0), TaskError, "3 numbers"),
    "point": (lambda: Gaze(HAND, "z", [1, 2, np.inf]), TaskError, "finite"),
    "behind the camera": (lambda: sot.tasks.ImagePoint(HAND, [0, 0, 5]), TaskError, "depth"),
    "point at the eye": (lambda: Gaze(HAND, "z", [0, 0, 0], attached_to=HAND), TaskError, "no direction"),
    "gear itself": (lambda: Mimic("panda_joint1", "panda_joint1"), TaskError, "itself"),
    "gear joint": (lambda: Mimic("panda_joint1", "x"), ModelError, "panda_joint2"),
    "gear ratio": (lambda: Mimic("panda_joint1", "panda_joint2", np.nan), TaskError, "ratio"),
    "no limits": (lambda: sot.tasks.JointLimitDistance("x"), ModelError, "panda_joint1"),
    "target word": (lambda: sot.tasks.JointLimitDistance(reference="edge"), TaskError, "middle"),
    "damper": (lambda: sot.tasks.JointLimits(damper=0), TaskError, "damper"),
    "margin": (lambda: sot.tasks.JointLimits(margin=-0.1), TaskError, "margin"),
    "acceleration": (lambda: sot.tasks.JointLimits(acceleration=-1), TaskError, "acceleration of panda_joint1"),
    "acceleration size": (lambda: sot.tasks.JointLimits(acceleration=[1, 2]), TaskError, "1 or 9"),
    "limit joints": (lambda: sot.tasks.JointVelocityLimits(joints="y"), ModelError, "panda_joint1"),
    "generic shape": (lambda: sot.tasks.Generic(lambda m: m.com, lambda m: np.eye(3)), TaskError, "(3, 9)"),
    "generic sizes": (lambda: sot.tasks.Generic(lambda m: m.com[:2], lambda m: m.com_jacobian), TaskError, "3"),
    "generic function": (lambda: sot.tasks.Generic(3, lambda m: m.com_jacobian), TaskError, "function"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_said_with_what_would_be_right(case) -> None:
    make, kind, words = BAD[case]
    with pytest.raises(SotError) as caught:
        started(make())
    assert isinstance(caught.value, kind), repr(caught.value)
    assert words in str(caught.value), str(caught.value)


def test_no_gears_and_no_acceleration_limits() -> None:
    with pytest.raises(TaskError, match="ur5"):
        started(Gears(), "ur5")
    with pytest.raises(TaskError, match="give numbers"):
        started(sot.tasks.JointAccelerationLimits(), "ur5")
    with pytest.raises(TaskError, match="one coordinate"):
        started(Mimic("root_joint", "arm_1_joint"), "tiago")


def test_positions_have_no_local_axes() -> None:
    with pytest.raises(TaskError, match="aligned"):
        sot.features.FramePosition(HAND, "local")
