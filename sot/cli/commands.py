"""What each `sot` command does. Every function returns an exit code."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sot.checks import vector, writable
from sot.cli import show as tables
from sot.config import RunConfig, load_run, worlds
from sot.controller import Controller
from sot.errors import ConfigError, unknown
from sot.loop import Observer, run
from sot.loop.recount import KEPT, Run
from sot.solvers.choice import MEANINGS
from sot.state import Command, State
from sot.world import Recorder, World

if TYPE_CHECKING:
    from sot.robot import Robot
    from sot.viewer import Viewer


def run_command(
    file: str,
    solver: str | None,
    engine: str | None,
    plot: str | None,
    headless: bool,
    realtime: bool,
    duration: float | None,
    as_json: bool,
) -> int:
    """Run a stack file."""
    if solver is not None and solver not in MEANINGS:
        raise ConfigError(f"--solver: {unknown('solver', solver, MEANINGS)}")
    config = _changed(_load(file), solver, duration, engine)
    if duration is not None and not (duration >= config.dt):
        raise ConfigError(f"--duration: {duration:g} s is less than one period, {config.dt:g} s")
    first_clash, robot = FirstClash(), config.simulated()
    recorders = [] if plot is None else [_recorder(config, robot, plot)]
    with nullcontext() if headless else _viewer(config) as viewer:
        watchers: list[Observer] = [first_clash, *recorders]
        outcome = run(
            robot, config.controller(), config.duration, viewer=viewer, realtime=realtime or None, observers=watchers
        )
    for recorder in recorders:
        print(f"wrote {recorder.plot(str(plot))}", file=sys.stderr if as_json else sys.stdout)
    problems = failures(outcome, config)
    if problems and first_clash.text:
        print(first_clash.text, file=sys.stderr)
    return _finish(outcome, problems, as_json)


def _recorder(config: RunConfig, robot: Robot, plot: str) -> Recorder:
    writable(plot, ".png", what="a plot")
    try:
        return config.world.recorder(robot)
    except ConfigError as error:
        drawn = [name for name in worlds.names() if worlds.find(name).recorder is not World.recorder]
        raise ConfigError(f"--plot: {error}; those in {', '.join(drawn)} have one") from None


def failures(outcome: Run, config: RunConfig | None = None) -> list[str]:
    """Why a run has not done what it should; empty if it has.

    It should do all its ticks, each of them feasible; keep the hard constraints to 1e-6; not fall, nor slide by more
    than 2 cm; end with finite errors, and below those that the file expects. A task that does not reach its goal is no
    failure by itself: giving way to what is more important is what a stack is for.
    """
    ticks = outcome.ticks if config is None else round(config.duration / config.dt)
    found = [] if outcome.ticks >= ticks else [f"only {outcome.ticks} of {ticks} ticks were done"]
    if outcome.infeasible_ticks:
        found.append(f"{outcome.infeasible_ticks} ticks were infeasible")
    if outcome.nonfinite_ticks:
        found.append(f"{outcome.nonfinite_ticks} ticks had to leave out an entry that was not finite")
    if outcome.fell:
        found.append("the robot fell")
    for name in outcome.slid:
        found.append(f"{name} slid by {100.0 * outcome.physics.foot_slips_m[name]:.2g} cm")  # type: ignore[union-attr]
    for name in outcome.hard:
        if not (outcome.max_violation[name] <= KEPT):
            found.append(f"{name} was broken by {outcome.max_violation[name]:.2g}")
    for name, error in outcome.final_error.items():
        limit = math.inf if config is None else config.expect.get(name, math.inf)
        if not (math.isfinite(error) and error <= limit):
            wish = f", expected {limit:g}" if limit < math.inf else ""
            found.append(f"{name} ended with an error of {error:.2g}{wish}")
    gone = [] if config is None else [name for name in config.expect if name not in outcome.final_error]
    return found + [
        f"{name} was expected to have an error, but is not in the stack at the end" for name in gone
    ]


class FirstClash:
    """Keeps the report of the first infeasible tick."""

    def __init__(self) -> None:
        self.text = ""

    def __call__(self, state: State, command: Command, controller: Controller) -> None:
        if controller.counters.infeasible and not self.text:
            self.text = f"first infeasible tick, {_clashes(controller)}"


def check_command(file: str, as_json: bool) -> int:
    """Load a stack file, do one tick, and show the levels."""
    config = _load(file)
    controller, robot = config.controller(), config.simulated()
    robot.write(controller.step(robot.read()))
    levels = tables.levels(controller)
    if as_json:
        ok = not controller.counters.infeasible
        _print_json(
            {
                "file": file, "robot": config.robot.name, "solver": config.solver, "levels": levels, "ok": ok,
                "warnings": [notice.text for notice in controller.warnings],
            }
        )  # fmt: skip
    else:
        times = f"{config.duration:g} s at dt = {1e3 * config.dt:g} ms"
        print(f"{file}: {config.robot.name}, {config.solver}, {times}\n")
        print(tables.table(levels))
        print(f"\n{len(config.events)} events. The first tick:\n\n{controller.explain()}")
    if controller.counters.infeasible:
        print(f"sot: the first tick is infeasible, {_clashes(controller)}", file=sys.stderr)
    return 1 if controller.counters.infeasible else 0


def _clashes(controller: Controller) -> str:
    """Report on a tick that was already called infeasible: when it was, and what it could not do."""
    return str(controller.report()).replace(": infeasible", "", 1)


def list_command(what: str | None, as_json: bool) -> int:
    """List what there is."""
    lists = {name: tables.LISTS[name]() for name in ([what] if what else tables.LISTS)}
    if as_json:
        _print_json({name: [line["name"] for line in lines] for name, lines in lists.items()})
        return 0
    for name, lines in lists.items():
        print("" if what else f"\n{name}\n", tables.table(lines), sep="")
    return 0


def show_command(name: str, as_json: bool) -> int:
    """Show a robot, a task or a reference."""
    facts = tables.facts(name)
    if as_json:
        _print_json(facts)
    else:
        print(tables.page(facts))
    return 0


def demo_command(headless: bool, realtime: bool, duration: float | None, as_json: bool) -> int:
    """Run the demo."""
    from sot.demo import demo

    outcome = demo(headless=headless, duration=duration, realtime=realtime or None)
    return _finish(outcome, failures(outcome), as_json)


def ik_command(
    robot: str,
    frame: str,
    position: list[float],
    rpy: list[float] | None,
    restarts: int,
    collisions: bool,
    as_json: bool,
) -> int:
    """Find joint angles that bring a frame to a position, and to an orientation if one is asked for."""
    from sot.ik import solve_ik
    from sot.lie import SE3, as_rotation
    from sot.robots import load
    from sot.tasks import Collisions, Pose, Position

    description = load(robot)
    if rpy is None:
        target = Position(frame, reference=position)
    else:
        target = Pose(frame, reference=SE3(as_rotation(rpy, "--rpy"), vector(position, 3, "--position")))
    result = solve_ik(description, target, constraints=[Collisions()] if collisions else [], restarts=restarts)
    if as_json:
        _print_json({**dataclasses.asdict(result), "q": result.q.tolist()})
    else:
        print(tables.configuration(description, result.q))
        print(f"\n{result.reason} ({1e3 * result.seconds:.1f} ms)")
    return 0 if result else 1


def collisions_command(robot: str, output: str | None, as_json: bool, **options: Any) -> int:
    """Make collision bodies of a robot, choose the pairs to watch, write them to a file."""
    from sot.cli import collisions

    made = collisions.make(robot, output, {key: value for key, value in options.items() if value is not None})
    if as_json:
        _print_json(collisions.facts(made))
    else:
        print(collisions.report(made))
    return 0


def bench_command(cases: list[str], ticks: int | None, as_json: bool) -> int:
    """Time the ticks of benchmark cases."""
    from sot import bench, bench_haptic, bench_sim

    others = {bench.SIMULATION: bench_sim, bench.HAPTIC: bench_haptic}
    ticked = [case for case in cases if case not in others]
    result: dict[str, Any] = bench.run_cases(ticked, ticks) if ticked or not cases else {}
    shown = [bench.table(result)] if result else []
    for name, other in others.items():
        if name in cases:
            found = other.run(ticks)
            result, shown = {**result, **found}, [*shown, other.table(found)]
    if as_json:
        _print_json(result)
    else:
        print("\n\n".join(shown))
    return 0


def schema_command() -> int:
    """Print the schema of stack files."""
    print(schema_text(), end="")
    return 0


def schema_text() -> str:
    """The schema as it is kept in docs/sot.schema.json."""
    from sot.config.schema import schema

    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


def _changed(config: RunConfig, solver: str | None, duration: float | None, engine: str | None) -> RunConfig:
    try:
        return config.changed(solver, duration, engine)
    except ConfigError as error:
        raise ConfigError(f"--engine: {error}") from error


def _load(file: str) -> RunConfig:
    suffix = Path(file).suffix.lower()
    if suffix == ".py":
        raise ConfigError(f"{file} is a Python script, not a stack file; run it with: python {file}")
    if suffix in (".urdf", ".xml"):
        raise ConfigError(f"{file} is a robot, not a stack file; look at it with: sot show {file}")
    return load_run(file)


def _viewer(config: RunConfig) -> Viewer:
    from sot.viewer import Viewer

    return Viewer(config.robot, open_browser=True)


def _finish(outcome: Run, problems: list[str], as_json: bool) -> int:
    if as_json:
        extra = {"final_q": outcome.state.q.tolist(), "ok": not problems, "failures": problems}
        _print_json({**outcome.to_json(), **extra})
    else:
        print(outcome.summary())
    for problem in problems:
        print(f"sot: {problem}", file=sys.stderr)
    return 1 if problems else 0


def _print_json(value: Any) -> None:
    print(json.dumps(_finite(value), allow_nan=False))


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinity: they become null."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
