"""YAML stack files as typed objects.

    config = load_run("talos_reach.yaml")
    run = config.run(viewer=True)          # or robot, controller = config.robot(), config.controller()

A file says which robot, which stack, and what happens when; docs/yaml.md has the words. Every mistake is a
ConfigError that names file, line and path, and what would have been right.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sot.config.catalog import Catalog, built_in
from sot.config.events import Event, SetReference, TimedController
from sot.config.parts import Parts, placed
from sot.config.worlds import in_another, options, split
from sot.description import Description
from sot.entry import Entry, Tick
from sot.errors import SotError, unknown
from sot.joint_impedance import JointImpedance, checked_impedance
from sot.model import Model
from sot.stack import Stack
from sot.typed_yaml import build, parse, read
from sot.typed_yaml.node import Node

if TYPE_CHECKING:
    from sot.loop import Run
    from sot.robot import Robot
    from sot.world import World

__all__ = ["RunConfig", "RunFile", "load_run", "parse_run"]

Solver = Literal["nullspace", "hierarchical", "weighted"]
Backend = Literal["sot", "daqp", "quadprog"]
Output = Literal["velocity", "torque"]

SHORTEST, LONGEST = 1e-5, 1.0  # s, of a period
LONGEST_RUN = 1e6  # s


@dataclass(frozen=True, kw_only=True)
class RunFile:
    """The keys of a stack file, beside those of `sot.robots.worlds()`: one of these says what the robot is run on.

    Attributes:
        robot: A robot's name, a file (.yaml, .urdf, .xml), or a mapping with the keys of a description file and
            `name` for the robot that is changed by them. None only in a world that brings its own.
        stack: Levels, most important first; level 0 is hard. A level is a list of tasks and constraints.
        solver: Meaning of the order.
        backend: Quadratic program behind the solver `weighted`.
        output: What the commands are.
        impedance: Joint stiffness and damping that are sent along with torques.
        dt: Period, s.
        duration: Length of the run, s.
        plugins: Python files beside this file, or modules, with tasks, references and functions of your own.
        events: Changes of the stack at given times.
        expect: Greatest final error by task name: a run that ends with more has failed.
    """

    robot: Node | None = None
    stack: Node
    solver: Solver = "hierarchical"
    backend: Backend = "sot"
    output: Output = "velocity"
    impedance: JointImpedance | None = None
    dt: float = 5e-3
    duration: float = 5.0
    plugins: tuple[Node, ...] = ()
    events: tuple[Node, ...] = ()
    expect: dict[str, Node] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class RunConfig:
    """Everything a run needs. Tasks keep their state, so load the file again for a second run.

    Attributes:
        robot: The robot's description.
        stack: Tasks and constraints.
        solver: Meaning of the stack's order.
        backend: Quadratic program behind `weighted`.
        dt: Period, s.
        duration: Length of the run, s.
        world: What it is run on.
        events: What happens when.
        expect: Greatest final error by task name.
        source: The file.
        words: What the words of the file stand for.
        output: What the commands are: `velocity` or `torque`.
        given_robot: The robot as the file gives it; None if it gives none.
        plugins: Python files and modules of the user.
        impedance: Joint stiffness and damping that are sent along with torques.
    """

    robot: Description
    stack: Stack
    solver: str
    backend: str
    dt: float
    duration: float
    world: World
    events: tuple[Event, ...] = ()
    expect: dict[str, float] = field(default_factory=dict)
    source: str = "<text>"
    words: Catalog = field(default_factory=built_in, repr=False)
    given_robot: Any = None
    plugins: tuple[str, ...] = ()
    output: str = "velocity"
    impedance: JointImpedance | None = None

    def changed(self, solver: str | None = None, duration: float | None = None, engine: str | None = None) -> RunConfig:
        """The same with another solver or duration, s, or in another engine, such as `mujoco`."""
        world = self.world if engine is None else in_another(self.world, engine, self.robot)
        duration = duration or self.duration
        return dataclasses.replace(self, solver=solver or self.solver, duration=duration, world=world)

    def controller(self) -> TimedController:
        """The controller of the run."""
        return TimedController(
            self.robot, self.stack, events=self.events, solver=self.solver, backend=self.backend, dt=self.dt,
            output=self.output, impedance=self.impedance,
        )  # fmt: skip

    def simulated(self) -> Robot:
        """The robot that is run."""
        return self.world.make(self.robot, self.dt)

    def run(self, **options: Any) -> Run:
        """Run for `duration`; the options are those of `sot.run`."""
        from sot.loop import run

        return run(self.simulated(), self.controller(), self.duration, **options)


def load_run(path: str | Path) -> RunConfig:
    """Read a stack file. Everything in it is tried once, at the robot's home posture."""
    return _make(read(path), Path(path).expanduser().absolute().parent)


def parse_run(text: str, source: str = "<text>", folder: str | Path = ".") -> RunConfig:
    """Like `load_run` from text; relative paths start from `folder`."""
    return _make(parse(text, source), Path(folder).absolute())


def _make(node: Node, folder: Path) -> RunConfig:
    rest, word, body = split(node, [field.name for field in dataclasses.fields(RunFile)])
    file: RunFile = build(rest, RunFile)
    dt = _between(node, "dt", file.dt, SHORTEST, LONGEST)
    duration = _between(node, "duration", file.duration, dt, LONGEST_RUN)
    words = built_in()
    for plugin in file.plugins:
        words.add_plugin(plugin, folder)
    world = options(word, body)
    robot = world.description() if file.robot is None else _robot(file.robot, folder)
    with placed(body):
        world.check(robot)
    parts = Parts(words)
    stack = parts.stack(file.stack)
    events = tuple(parts.event(event) for event in file.events)
    _try_out(parts, robot, stack, events, dt)
    if file.impedance is not None:
        with placed(node.value["impedance"]):
            checked_impedance(file.impedance, file.output)
            file.impedance.gains(Model(robot))
    config = RunConfig(
        robot, stack, file.solver, file.backend, dt, duration, world,
        events=events,
        expect=_expectations(file.expect, parts),
        source=node.source,
        words=words,
        given_robot=None if file.robot is None else file.robot.plain(),
        plugins=tuple(plugin.value for plugin in file.plugins),
        output=file.output,
        impedance=file.impedance,
    )  # fmt: skip
    _ask_world(config, node, parts)
    return config


def _ask_world(config: RunConfig, node: Node, parts: Parts) -> None:
    """A world may take torques only, or refuse a stack: then the entry that its reason names first is to blame."""
    if config.output not in config.world.outputs:
        wanted = " or ".join(config.world.outputs)
        where = node.value.get("output", node)
        raise where.error(f"{config.world.kind!r} takes {wanted} commands only: it needs 'output: {wanted}'")
    try:
        config.world.check_stack(config.controller)
    except SotError as error:
        blamed = [place for entry, place in parts.places.items() if repr(entry.name) in str(error)]
        raise (blamed or [node.value["stack"]])[0].error(str(error)) from None


def _between(node: Node, key: str, value: float, low: float, high: float) -> float:
    if not (low <= value <= high):
        raise node.value.get(key, node).error(f"expected {key} from {low:g} to {high:g} s, got {value:g}")
    return value


def _robot(node: Node, folder: Path) -> Description:
    """The robot that a name, a file or a mapping stands for. Paths start from the stack file's folder."""
    from sot.robots import load

    options = dict(node.value) if node.is_mapping else {}
    name = options.pop("name", None) if node.is_mapping else node
    if name is not None and not isinstance(name.value, str):
        raise name.error(f"expected a robot's name, a file or a mapping, got {name.shown()}")
    for key in {"urdf", "mjcf", "srdf"} & options.keys():
        if isinstance(options[key].value, str):
            path = folder / Path(options[key].value).expanduser()
            options[key] = dataclasses.replace(options[key], value=str(path))
    with placed(node):
        return load(None if name is None else _resolved(name.value, folder), **options)


def _resolved(robot: str, folder: Path) -> str:
    is_file = Path(robot).suffix.lower() in (".yaml", ".yml", ".urdf", ".xml")
    return str(folder / Path(robot).expanduser()) if is_file else robot


def _expectations(expect: dict[str, Node], parts: Parts) -> dict[str, float]:
    names = [entry.name for entry in parts.places]
    for name, node in expect.items():
        if name not in names:
            raise node.error(unknown("task", name, names))
        if not (build(node, float) > 0.0):
            raise node.error(f"expected a number > 0, got {node.shown()}")
    return {name: build(node, float) for name, node in expect.items()}


# -- a rehearsal, so that a mistake is found in the file and not in the run ----------------------------------


def _try_out(parts: Parts, robot: Description, stack: Stack, events: tuple[Event, ...], dt: float) -> None:
    """Let every entry look up its names and give its rows once, and every event happen to a copy of the stack."""
    model = Model(robot)
    for entry, node in parts.places.items():
        with placed(node):
            _rows(entry, model, dt)
    copy = Stack(*stack.levels)
    order = sorted(zip(events, parts.event_places, strict=True), key=lambda pair: pair[0].at)
    for event, node in order:
        with placed(node):
            if isinstance(event, SetReference):  # a task keeps its reference, so only try whether it would start
                feature = event.space(copy)
                event.reference.start(feature, feature.value(model), event.at)
            else:
                event.apply(copy)


def _rows(entry: Entry, model: Model, dt: float) -> None:
    model.update(model.robot.home, np.zeros(model.nv))
    tick = Tick(0.0, dt, np.zeros(model.nv))
    entry.setup(model)
    entry.begin(model, tick)
    entry.rows(model, tick)
    entry.reset()
