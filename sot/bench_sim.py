"""How fast the simulations are: the case `sim` of `sot bench`.

Robots stand on the ground at 1 kHz, held by springs and dampers at their joints, in our engine and in MuJoCo: the same
robot, scene, contact points and torques in one run. Only steps of the engine are timed, not the springs.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from time import perf_counter_ns
from typing import Any

import numpy as np

from sot.description import Description
from sot.errors import RobotError, missing
from sot.joint_impedance import JointImpedance
from sot.kernels import stepping, touch
from sot.model import Model
from sot.simulation.engine import Engine
from sot.simulation.meetings import Meetings
from sot.simulation.scene import Scene, ground

WARM_UP, STEPS, DT = 300, 3000, 1e-3
SPRINGS = {
    "solo12": JointImpedance(kp=5.0, kd=0.2),
    "talos": JointImpedance(
        kp={"*": 100.0, "leg_*": 3000.0, "gripper_*": 1.0}, kd={"*": 5.0, "leg_*": 60.0, "gripper_*": 0.02}
    ),
}
STAGES = ("model", "detect", "prepare", "solve", "finish")  # of a step of our engine; what is left over is "rest"

Step = Callable[[np.ndarray], None]
Part = tuple[str, Any, str]  # a stage, and a function that is a part of it: its owner and its name


def run(steps: int | None = None) -> dict[str, Any]:
    """Run all robots in both engines.

    Args:
        steps: Steps that are measured.

    Returns:
        {"simulation": {robot: {engine: {"factor", "mean_us", "p50_us", "p99_us", "height"}}}, "notes": [...]}: `factor`
        is simulated time over the time it takes. Our engine has its stages beside, `stages_us`, and MuJoCo `own_us`:
        what is left without translation from and to our coordinates; both are means.
    """
    from sot.robots import load

    found: dict[str, dict[str, Any]] = {}
    notes: list[str] = []
    for name in SPRINGS:
        robot = load(name)
        found[name] = {"sot": _ours(robot, steps or STEPS)}
        try:
            found[name]["mujoco"] = _theirs(robot, steps or STEPS)
        except RobotError as error:
            notes = [str(error)]
        else:
            own = found[name]["mujoco"]["own_us"]
            notes.append(f"{name}: {own:.1f} µs of a step are MuJoCo's own ({1e6 * DT / own:.0f} × real time)")
    return {"simulation": found, "notes": notes}


def _ours(robot: Description, steps: int) -> dict[str, Any]:
    plain = Engine(robot, Scene([ground()]))
    result = _measure(robot, plain, lambda tau: plain.step(tau, DT), steps)
    watched = Engine(robot, Scene([ground()]))
    with _clocks(_parts(watched)) as spent:
        whole = _measure(robot, watched, lambda tau: watched.step(tau, DT), steps, spent)
    stages = {stage: ns / 1e3 / steps for stage, ns in spent.items()}
    return {**result, "stages_us": {**stages, "rest": whole["mean_us"] - sum(stages.values())}}


def _theirs(robot: Description, steps: int) -> dict[str, Any]:
    try:
        from sot.mujoco_door import build, physics
    except ImportError:
        raise RobotError(missing("mujoco", "the comparison with MuJoCo", "'sot[mujoco]'")) from None
    engine = physics.Physics(Model(robot), [ground()], build.Settings(DT, 0.7))

    def step(tau: np.ndarray) -> None:
        engine.step(tau)
        engine.accept()

    result = _measure(robot, engine, step, steps)
    own = [("own", physics.mujoco, "mj_forward"), ("own", physics.mujoco, "mj_integratePos")]
    with _clocks(own) as spent:
        _measure(robot, engine, step, steps, spent)
    return {**result, "own_us": spent["own"] / 1e3 / steps}


def _measure(
    robot: Description, engine: Any, step: Step, steps: int, spent: dict[str, int] | None = None
) -> dict[str, Any]:
    """Let a robot stand, and time its steps.

    Args:
        robot: The robot.
        engine: Has its state, `q` and `v`.
        step: Goes on by one step.
        steps: How many are measured.
        spent: Clocks that begin to count after the warm-up.
    """
    model = Model(robot)
    kp, kd = SPRINGS[robot.name].gains(model)
    times = np.zeros(WARM_UP + steps)
    gc.collect()
    gc.disable()
    try:
        for k in range(WARM_UP + steps):
            if k == WARM_UP and spent is not None:
                spent.update(dict.fromkeys(spent, 0))
            tau = kp * model.difference(robot.home, engine.q) - kd * engine.v
            begin = perf_counter_ns()
            step(tau)
            times[k] = perf_counter_ns() - begin
    finally:
        gc.enable()
    times = times[WARM_UP:] / 1e3
    return {
        "factor": 1e6 * DT / float(times.mean()),
        "mean_us": float(times.mean()),
        "p50_us": float(np.median(times)),
        "p99_us": float(np.percentile(times, 99)),
        "height": float(engine.q[2]),
    }


@contextmanager
def _clocks(parts: list[Part]) -> Iterator[dict[str, int]]:
    """ns spent in each stage, while it is open. It costs a step about a microsecond."""
    spent = dict.fromkeys([stage for stage, _, _ in parts], 0)
    with ExitStack() as stack:
        for stage, owner, name in parts:
            original = getattr(owner, name)
            setattr(owner, name, _timed(original, stage, spent))
            stack.callback(setattr, owner, name, original)
        yield spent


def _parts(engine: Engine) -> list[Part]:
    """Which functions make up the stages of a step."""
    model = engine.model
    return [
        ("model", model, "update"),
        ("model", model, "update_bias"),
        ("detect", touch, "detect"),
        ("detect", Meetings, "add"),
        ("prepare", stepping, "fall"),
        ("prepare", stepping, "joint_rows"),
        ("prepare", stepping, "prepare"),
        ("solve", engine.solver, "solve"),
        ("finish", stepping, "push"),
        ("finish", model, "integrate"),
    ]


def _timed(function: Callable[..., Any], stage: str, spent: dict[str, int]) -> Callable[..., Any]:
    def timed(*arguments: Any) -> Any:
        begin = perf_counter_ns()
        result = function(*arguments)
        spent[stage] += perf_counter_ns() - begin
        return result

    return timed


def table(result: dict[str, Any]) -> str:
    """The result of `run` as text."""
    lines = [["robot", "engine", "× real time", "µs/step", "p50", "p99", *STAGES, "rest"]]
    for name, engines in result["simulation"].items():
        for row, (engine, one) in enumerate(engines.items()):
            stages = [f"{us:.1f}" for us in one.get("stages_us", {}).values()] or [""] * (len(STAGES) + 1)
            figures = [f"{one['factor']:.1f}", *(f"{one[key]:.1f}" for key in ("mean_us", "p50_us", "p99_us"))]
            lines.append([name if row == 0 else "", engine, *figures, *stages])
    first, second, *rest = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    text = [
        "  ".join([line[0].ljust(first), line[1].ljust(second), *map(str.rjust, line[2:], rest)]).rstrip()
        for line in lines
    ]
    return "\n".join([*text, *result["notes"]])
