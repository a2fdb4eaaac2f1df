"""Short runs of the example robots, of squats at torque level and of loops closed in the simulator, recorded. Record
them anew, all or some, after a change that is meant:

python tests/record.py [ROBOT or EXAMPLE ...]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
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
    "g1_stand": 1500,
    "go2_stand": 7000,  # on three feet from 6.3 s on
    "panda_box": 3000,  # around the box until 3 s
    "solo12_stand": 7000,  # on three feet from 6.3 s on
    "talos_push": 4500,  # pushed at 4 s
}
LOOP_ROWS = 50  # of each that are kept


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


def run(name: str, solver: str, compiled: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Commands, shape (TICKS / EVERY, nv), and norms of the tasks' errors, shape (TICKS / EVERY, tasks)."""
    description = load(name)
    robot, stack = Kinematic(description, dt=DT), stack_for(description)
    controller = sot.Controller(description, stack, solver=solver, dt=DT, compiled=compiled)
    commands, errors = [], []
    for tick in range(TICKS):
        command = controller.step(robot.read())
        if tick % EVERY == 0:
            commands.append(command.v)
            errors.append(list(_errors(controller)))
        robot.write(command)
    return np.array(commands), np.array(errors)


def squat(name: str, solver: str, compiled: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Velocities and torques, shape (ticks kept, nv), and norms of the tasks' errors, shape (ticks kept, tasks)."""
    config = load_run(FOLDER.parent.parent / "examples" / f"{name}.yaml")
    config.stack["com"].weight = 1e4  # so that it is more than a wish where levels are weights
    robot = Kinematic(config.robot, dt=config.dt)
    controller = TimedController(
        config.robot, config.stack, events=config.events, solver=solver, dt=config.dt, output="torque",
        compiled=compiled,
    )  # fmt: skip
    commands, torques, errors = [], [], []
    for tick in range(SQUAT_TICKS):
        command = controller.step(robot.read())
        if tick % SQUAT_EVERY == 0:
            commands.append(command.v)
            torques.append(command.tau)
            errors.append(list(_errors(controller)))
        robot.write(command)
    return np.array(commands), np.array(torques), np.array(errors)


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
        if name in SQUATS:
            kept = dict(zip(("commands", "torques", "errors"), squat(name, solver), strict=True))
        else:
            kept = dict(zip(("commands", "errors"), run(name, solver), strict=True))
        arrays |= {f"{solver}_{key}": values for key, values in kept.items()}
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}.npz"
    np.savez_compressed(path, **arrays)
    return path


if __name__ == "__main__":
    for robot in sys.argv[1:] or (*ROBOTS, *SQUATS, *LOOPS):
        path = record(robot)
        print(f"{path.name}: {path.stat().st_size / 1024:.0f} kB")
