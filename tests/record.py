"""Short runs of the example robots, of squats at torque level and of loops closed in the simulator, recorded. Record
them anew, all or some, after a change that is meant:

python tests/record.py [ROBOT or EXAMPLE ...]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

import sot
from sot.config import load_run
from sot.config.events import TimedController
from sot.entry import Entry
from sot.reference import Reference
from sot.robots import Finger, Kinematic, load
from sot.solvers.choice import MEANINGS
from sot.tasks import CenterOfMass, JointLimits, Pose, Position, Posture

FOLDER = Path(__file__).parent / "recorded"
ROBOTS = (
    "anymal", "bolt", "double_pendulum", "g1", "go2", "kinova",
    "panda", "solo12", "talos", "tiago", "ur5", "xarm7",
)  # fmt: skip
DT, TICKS, EVERY = 5e-3, 200, 4  # s; ticks; of which so many-th is kept
SQUATS = ("g1_squat", "solo12_squat", "talos_squat")  # examples at torque level, 1 ms
SQUAT_TICKS, SQUAT_EVERY = 480, 12
LOOPS = {  # examples in a simulation at 1 ms, and for how many ticks: until what they show has happened
    "anymal_slope": 2000,  # level at 2 s
    "bolt_release": 1150,  # released at 1 s
    "finger_push": 1500,  # lets go of the cup at 1.08 s
    "g1_stand": 3500,  # waves from 2 s on
    "go2_stand": 7000,  # on three feet from 6.3 s on
    "panda_box": 3000,  # around the box until 3 s
    "solo12_stand": 7000,  # on three feet from 6.3 s on
    "talos_push": 4500,  # pushed at 4 s
}
LOOP_ROWS = 50  # of each that are kept

Rows = dict[str, np.ndarray]


def stack_for(robot: sot.Description) -> sot.Stack:
    """A stack that fits every robot: feet stay, the centre of mass sways, hands turn, and the posture is kept."""
    limits = [JointLimits(acceleration=50.0)]
    feet: list[Entry] = [
        (Pose if len(foot.points) > 1 else Position)(foot.frame, gain=50.0) for foot in robot.feet
    ]
    pairs = zip(robot.hands, (2.0, 1.0), strict=False)
    hands = [Position(hand, gain=20.0, weight=weight, reference=_turning(robot)) for hand, weight in pairs]
    sway = CenterOfMass(gain=20.0, mask="xy", reference=sot.sine([0.01, 0.015, 0.0], frequency=1.0, fade=0.2))
    levels = [limits, feet, [sway] if feet else [], hands, [Posture(gain=2.0)]]
    return sot.Stack(levels[0], *(level for level in levels[1:] if level))


def _turning(robot: sot.Description) -> Reference:
    if robot.name == "double_pendulum":
        return sot.sine([0.0, 0.05, 0.02], frequency=1.0)
    return sot.circle(0.05, speed=3.0, normal=[1.0, 0.5, 0.0], fade=0.2)


def run(name: str, solver: str, kinds: Sequence[bool] = (True,)) -> list[Rows]:
    """Commands and errors of the example stack on a robot, by compiled controllers (True) and plain ones (False)."""
    description = load(name)
    controllers = [
        sot.Controller(description, stack_for(description), solver=solver, dt=DT, compiled=compiled)
        for compiled in kinds
    ]
    # Acceleration limits look back on the last command, so they are asked at every tick, for a quarter of the time.
    return _follow(Kinematic(description, dt=DT), controllers, range(0, TICKS, EVERY), others=range(TICKS // 4))


def squat(name: str, solver: str, kinds: Sequence[bool] = (True,)) -> list[Rows]:
    """The same of an example at torque level, with torques."""
    controllers = [_squatting(name, solver, compiled) for compiled in kinds]
    kept = range(0, SQUAT_TICKS, SQUAT_EVERY)
    return _follow(Kinematic(load(name.split("_")[0]), dt=1e-3), controllers, kept, others=kept)


def _squatting(name: str, solver: str, compiled: bool) -> sot.Controller:
    config = load_run(FOLDER.parent.parent / "examples" / f"{name}.yaml")
    config.stack["com"].weight = 1e4  # so that it is more than a wish where levels are weights
    return TimedController(
        config.robot, config.stack, events=config.events, solver=solver, dt=config.dt, output="torque",
        compiled=compiled,
    )  # fmt: skip


def _follow(robot: Kinematic, controllers: Sequence[sot.Controller], kept: range, others: range) -> list[Rows]:
    """What controllers make of the states of a motion, which the first of them leads from tick to tick.

    Of each: commands and torques, shape (ticks kept, nv), and norms of the tasks' errors, shape (ticks kept, tasks).

    Args:
        robot: What moves.
        controllers: Whom to ask.
        kept: Ticks that are kept.
        others: Ticks at which all but the first are asked.
    """
    found: list[dict[str, list]] = [{"commands": [], "torques": [], "errors": []} for _ in controllers]
    for tick in range(kept.stop):
        state = robot.read()
        asked = controllers if tick in others else controllers[:1]
        commands = [controller.step(state) for controller in asked]
        for controller, command, rows in zip(asked, commands, found, strict=False) if tick in kept else ():
            rows["commands"].append(command.v)
            rows["torques"] += [] if command.tau is None else [command.tau]
            rows["errors"].append(list(_errors(controller)))
        robot.write(commands[0])
    return [{name: np.array(values) for name, values in rows.items() if values} for rows in found]


def loop(name: str) -> tuple[np.ndarray, np.ndarray]:
    """True configurations, shape (ticks kept, nq), and torques, (ticks kept, nv), of an example in a simulation.

    Of the finger, the positions of everything on its line.
    """
    config = load_run(FOLDER.parent.parent / "examples" / f"{name}.yaml")
    robot, controller = config.simulated(), config.controller()
    states, torques = [], []
    for tick in range(LOOPS[name]):
        command = controller.step(robot.read())
        if tick % (LOOPS[name] // LOOP_ROWS) == 0:
            states.append(list(robot.positions().values()) if isinstance(robot, Finger) else robot.truth().q)
            torques.append(command.tau)
        robot.write(command)
    return np.array(states), np.array(torques)


def _errors(controller: sot.Controller) -> Iterator[float]:
    for entry in controller.stack:
        if isinstance(entry, sot.Task):
            yield float(np.linalg.norm(entry.error(controller.model)))


def record(name: str) -> Path:
    """Run a robot, or a squat, with every solver and write what came out."""
    arrays = dict(zip(("states", "torques"), loop(name), strict=True)) if name in LOOPS else {}
    for solver in MEANINGS if name not in LOOPS else ():
        (kept,) = squat(name, solver) if name in SQUATS else run(name, solver)
        arrays |= {f"{solver}_{key}": values for key, values in kept.items()}
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}.npz"
    np.savez_compressed(path, **arrays)
    return path


if __name__ == "__main__":
    for robot in sys.argv[1:] or (*ROBOTS, *SQUATS, *LOOPS):
        path = record(robot)
        print(f"{path.name}: {path.stat().st_size / 1024:.0f} kB")
