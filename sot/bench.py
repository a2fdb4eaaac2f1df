"""How long a tick takes: the cases of `sot bench`.

A tick is one `Controller.step`: kinematics, rows and targets, solve, command. Integrating the command to get the
next state is not part of it. Every case runs the same number of ticks from the same start, so that its final error
can be compared with other tools on the same problem (see `benchmarks/`).
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

import numpy as np

from sot.controller import Controller
from sot.description import Description
from sot.errors import ConfigError, unknown
from sot.model import Model
from sot.reference import circle, sine
from sot.stack import Stack
from sot.state import Command, State
from sot.task import Task

WARM_UP, TICKS = 300, 2000
DT, TORQUE_DT = 0.005, 0.001
NOW = np.inf  # gain: the whole error within one tick, as the tools compared with do
SWAY = sine(amplitude=[0.0, 0.03, 0.0], frequency=0.5)
STAGES = ("model", "rows", "solve", "command")
SIMULATION, HAPTIC = "sim", "haptic"  # cases that `sot.bench_sim` and `sot.bench_haptic` run

# A 10 cm circle in the y-z plane at 1 rad/s. The start is its lowest point, so the target moves along +y first.
CIRCLE = circle(radius=0.1, speed=1.0, axes=[[0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])


@dataclass(frozen=True)
class Case:
    """One benchmark.

    Attributes:
        robot: Name of the robot.
        solver: Meaning of the stack.
        stack: Makes the stack.
        watched: The task whose final error is reported.
        output: What is commanded.
    """

    robot: str
    solver: str
    stack: Callable[[], Stack]
    watched: str
    output: str = "velocity"

    @property
    def dt(self) -> float:
        """Period, s."""
        return TORQUE_DT if self.output == "torque" else DT


def _panda() -> Stack:
    from sot.tasks import JointLimits, Pose, Posture

    hand = Pose("panda_hand", gain=NOW, reference=CIRCLE, name="hand")
    return Stack([JointLimits(damper=NOW)], [hand, Posture(gain=NOW, weight=1e-3)])


def _talos_parts(**hands: Any) -> tuple[list[Any], ...]:
    from sot.tasks import CenterOfMass, JointLimits, Pose, Posture

    soles = [Pose(f"{side}_sole_link", gain=NOW, weight=100.0) for side in ("left", "right")]
    com = [CenterOfMass(gain=NOW, weight=10.0, reference=SWAY, name="com")]
    grippers = [Pose(f"gripper_{side}_base_link", gain=NOW, **hands) for side in ("left", "right")]
    return [JointLimits(damper=NOW)], soles, com, grippers, [Posture(gain=NOW, weight=1e-3)]


def _talos() -> Stack:
    limits, soles, com, hands, posture = _talos_parts()
    return Stack(limits, soles + com + hands + posture)


def _talos_strict() -> Stack:
    return Stack(*_talos_parts())


def _talos_limits() -> Stack:
    """Hands that want to move faster than slowed-down joints can follow: around a dozen limits are active."""
    from sot.tasks import JointLimits, Posture

    swing = sine(amplitude=[0.1, 0.1, 0.1, 0.0, 0.0, 0.0], frequency=0.5)
    _, soles, com, hands, _ = _talos_parts(reference=swing)
    return Stack([JointLimits(scale=0.2)], soles, com, hands, [Posture()])


class _Level(Task):
    """A task as a user writes it: the head's link stays level."""

    kind = "level"

    def __init__(self, frame: str) -> None:
        super().__init__(name=f"level_{frame}", gain=5.0)
        self.frame = frame

    def setup(self, model: Model) -> None:
        self._id = model.frame(self.frame)
        super().setup(model)

    def error(self, model: Model) -> np.ndarray:
        return model.placement(self._id).rotation[:2, 2]

    def jacobian(self, model: Model) -> np.ndarray:
        R, angular = model.placement(self._id).rotation, model.jacobian(self._id, "aligned")[3:]
        x, y, z = R[:, 2]
        return np.array([[0.0, z, -y], [-z, 0.0, x]]) @ angular


def _user_task() -> Stack:
    limits, soles, com, hands, posture = _talos_parts()
    return Stack(limits, soles + com + hands + posture + [_Level("torso_2_link"), _Level("head_2_link")])


def _collisions_panda() -> Stack:
    """21 pairs: Panda's own, and its links against a post that the hand's circle passes closely."""
    from sot.collision.obstacle import Obstacle
    from sot.tasks import Collisions, JointLimits, Pose, Posture

    post = Obstacle("post", box=[0.1, 0.1, 0.8], at=[0.68, 0.1, 0.4])
    hand = Pose("panda_hand", gain=NOW, reference=CIRCLE, name="hand")
    return Stack([JointLimits(damper=NOW), Collisions(obstacles=[post])], [hand, Posture(gain=NOW, weight=1e-3)])


def _collisions_talos() -> Stack:
    """101 pairs, those of the hands and wrists, while both hands move in front of the body."""
    from sot.tasks import Collisions

    swing = sine(amplitude=[0.05, 0.1, 0.1, 0.0, 0.0, 0.0], frequency=0.5)
    limits, soles, com, hands, posture = _talos_parts(reference=swing)
    return Stack([*limits, Collisions(only=["gripper_*", "arm_*_7_link"])], soles + com + hands + posture)


def _standing_talos(friction: float = 0.3, torque: float = 1.0, **com: Any) -> tuple[list[Any], ...]:
    from sot.tasks import CenterOfMass, Contact, JointLimits, Pose, Posture, TorqueLimits

    corners = [[x, y, 0.0] for x in (-0.1, 0.1) for y in (-0.069, 0.069)]
    soles = [
        Contact(f"{side}_sole_link", corners, friction=friction, min_force=5.0, max_force=1e4)
        for side in ("left", "right")
    ]
    center = [CenterOfMass(name="com", **{"gain": 10.0, "reference": SWAY, **com})]
    hands = [Pose(f"gripper_{side}_base_link", gain=10.0, weight=0.1) for side in ("left", "right")]
    limits = [JointLimits(), TorqueLimits(scale=torque)]
    return [*limits, *soles], center, hands, [Posture(gain=5.0, weight=1e-3)]


def _talos_id() -> Stack:
    hard, com, hands, posture = _standing_talos()
    return Stack(hard, com + hands + posture)


def _talos_id_strict() -> Stack:
    return Stack(*_standing_talos())


def _talos_id_active() -> Stack:
    """Slippery soles and motors at a third of their strength: up to six facets and three motors are at their limits."""
    wide = sine(amplitude=[0.0, 0.05, 0.02], frequency=0.5, fade=1.0)
    return Stack(*_standing_talos(friction=0.08, torque=0.32, reference=wide))


def _standing(feet: list[Any], sway: float) -> Stack:
    """Centre of mass, posture, limits."""
    from sot.tasks import CenterOfMass, JointLimits, Posture, TorqueLimits

    com = CenterOfMass(name="com", gain=10.0, reference=sine(amplitude=[0.0, sway, 0.0], frequency=0.5))
    return Stack([JointLimits(), TorqueLimits(), *feet], [com, Posture(gain=5.0, weight=1e-3)])


def _solo12_id() -> Stack:
    from sot.tasks import Contact

    feet = [Contact(f"{leg}_FOOT", [[0.0, 0.0, 0.0]], friction=0.3, min_force=0.1) for leg in ("FL", "FR", "HL", "HR")]
    return _standing(feet, 0.01)


def _g1_id() -> Stack:
    from sot.tasks import Contact

    feet = [Contact(f"{side}_ankle_roll_link", friction=0.3, min_force=1.0) for side in ("left", "right")]
    return _standing(feet, 0.02)


CASES = {
    "panda-ik": Case("panda", "weighted", _panda, "hand"),
    "talos-ik": Case("talos", "weighted", _talos, "com"),
    "talos-ik-strict": Case("talos", "hierarchical", _talos_strict, "com"),
    "talos-ik-limits": Case("talos", "hierarchical", _talos_limits, "com"),
    "user-task": Case("talos", "weighted", _user_task, "com"),
    "collisions-panda": Case("panda", "weighted", _collisions_panda, "hand"),
    "collisions-talos": Case("talos", "weighted", _collisions_talos, "com"),
    "talos-id": Case("talos", "weighted", _talos_id, "com", "torque"),
    "talos-id-strict": Case("talos", "hierarchical", _talos_id_strict, "com", "torque"),
    "talos-id-active": Case("talos", "hierarchical", _talos_id_active, "com", "torque"),
    "solo12-id": Case("solo12", "weighted", _solo12_id, "com", "torque"),
    "g1-id": Case("g1", "weighted", _g1_id, "com", "torque"),
}


def run_cases(names: list[str] | None = None, ticks: int | None = None) -> dict[str, Any]:
    """Run benchmarks.

    Args:
        names: Names out of `CASES`; all by default.
        ticks: Ticks that are measured.

    Returns:
        {"cases": {name: {"p50_us", "p99_us", "max_us", "stages_us", "stages_p99_us", "stages_max_us", "ticks",
        "error", "active"}}}; `stages_us` are medians.
    """
    chosen = names or list(CASES)
    for name in chosen:
        if name not in CASES:
            raise ConfigError(unknown("benchmark", name, [*CASES, SIMULATION, HAPTIC]))
    return {"cases": {name: _run(CASES[name], ticks or TICKS) for name in chosen}}


def _run(case: Case, ticks: int) -> dict[str, Any]:
    from sot.robots import load

    robot = load(case.robot)
    whole, staged = _measure(case, robot, ticks, _timed_step), _measure(case, robot, ticks, _staged_step)
    total = whole["times"].sum(axis=1)
    stages = dict(zip(STAGES, staged["times"].T, strict=True))
    return {
        "p50_us": float(np.median(total)),
        "p99_us": float(np.percentile(total, 99)),
        "max_us": float(total.max()),
        "stages_us": {stage: float(np.median(times)) for stage, times in stages.items()},
        "stages_p99_us": {stage: float(np.percentile(times, 99)) for stage, times in stages.items()},
        "stages_max_us": {stage: float(times.max()) for stage, times in stages.items()},
        "ticks": ticks,
        "error": whole["error"],
        "active": whole["active"],
    }


Step = Callable[[Controller, State], tuple[Command, list[float]]]


def _measure(case: Case, robot: Description, ticks: int, step: Step) -> dict[str, Any]:
    """Run the case once with the given way to step; times in µs."""
    controller = Controller(robot, case.stack(), solver=case.solver, dt=case.dt, output=case.output)  # type: ignore[arg-type]
    state = State(0.0, robot.home.copy(), np.zeros(controller.model.nv))
    times, active = [], []
    gc.collect()
    gc.disable()
    try:
        for k in range(WARM_UP + ticks):
            command, spent = step(controller, state)
            times.append(spent)
            active.append(np.count_nonzero(np.abs(controller.solver.status) == 1))
            q = controller.model.integrate(state.q, command.v * case.dt)
            state = State((k + 1) * case.dt, q, command.v)
    finally:
        gc.enable()
    error = _final_error(controller, case.watched, state)
    return {"times": np.array(times[WARM_UP:]) / 1e3, "error": error, "active": float(np.mean(active[WARM_UP:]))}


def _timed_step(controller: Controller, state: State) -> tuple[Command, list[float]]:
    begin = perf_counter_ns()
    command = controller.step(state)
    return command, [perf_counter_ns() - begin]


def _staged_step(controller: Controller, state: State) -> tuple[Command, list[float]]:
    """`Controller.step` taken apart, with a look at the clock after each stage."""
    tick, phase = controller.begin_tick(state), controller.phases[-1]
    marks = [perf_counter_ns()]
    controller.model.update(state.q, state.v)
    marks.append(perf_counter_ns())
    phase.write(tick)
    marks.append(perf_counter_ns())
    phase.solve(controller.max_iterations, None)
    marks.append(perf_counter_ns())
    command = controller.finish_tick(controller.formulation.outcome(phase.solver.x).copy())
    marks.append(perf_counter_ns())
    return command, np.diff(marks).astype(float).tolist()


def _final_error(controller: Controller, name: str, state: State) -> float:
    """Distance from the target of the final time to the final state, m."""
    task = controller.stack[name]
    if not isinstance(task, Task):
        raise ConfigError(f"benchmark: '{name}' is no task, so it has no error")
    controller.model.update(state.q, state.v)
    task.begin(controller.model, controller.begin_tick(state))
    return float(np.linalg.norm(task.error(controller.model)[:3]))


def table(result: dict[str, Any]) -> str:
    """The result of `run_cases` as text: median, 99th percentile and maximum of the tick and of its stages."""
    lines = [["case", "µs", "tick", *STAGES, "active", "error mm"]]
    for name, case in result["cases"].items():
        found = [f"{case['active']:.1f}", f"{1e3 * case['error']:.3f}"]
        for row, (figure, key) in enumerate((("p50", ""), ("p99", "_p99"), ("max", "_max"))):
            stages = [f"{case[f'stages{key}_us'][stage]:.1f}" for stage in STAGES]
            tick = f"{case[f'{figure}_us']:.1f}"
            lines.append([name if row == 0 else "", figure, tick, *stages, *(found if row == 0 else ["", ""])])
    first, *rest = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join(
        "  ".join([line[0].ljust(first), *(cell.rjust(w) for cell, w in zip(line[1:], rest, strict=True))]).rstrip()
        for line in lines
    )
