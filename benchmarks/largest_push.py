"""The largest push that a standing robot survives without a step, in the simulator, by bisection.

    python benchmarks/largest_push.py [talos] [solo12]

A push acts for 0.1 s, at Talos's chest and at Solo12's base. A robot survives if it has not fallen two seconds later,
its feet are where they were, within 2 cm, and it has come to rest.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

import sot
from sot.errors import SotError, SotWarning
from sot.robots import Simulated, load
from sot.simulation.disturbances import Push
from sot.tasks import BaseOrientation, CenterOfMass, Contact, JointLimits, Posture, TorqueLimits

FRAMES = {"talos": "torso_2_link", "solo12": "base_link"}
DIRECTIONS = {"forward": (1.0, 0.0, 0.0), "backward": (-1.0, 0.0, 0.0), "left": (0.0, 1.0, 0.0)}
AT, DURATION, AFTER = 1.0, 0.1, 3.0  # s


def stack(robot: sot.Description) -> sot.Stack:
    """The centre of mass over the middle of the feet comes first; hips and arms help where ankles cannot."""
    model = sot.Model(robot)
    weight = robot.mass * 9.81
    feet = [Contact(foot.frame, friction=0.6, min_force=0.02 * weight, gain=50.0) for foot in robot.feet]
    poses = [model.placement(model.frame(foot.frame)) for foot in robot.feet]
    points = [foot.points @ T.rotation.T + T.translation for foot, T in zip(robot.feet, poses, strict=True)]
    middle = 0.5 * (np.min(np.vstack(points), axis=0) + np.max(np.vstack(points), axis=0)) - model.com
    com = CenterOfMass(gain=[5.0, 5.0, 10.0], reference=sot.move(by=[*middle[:2], 0.0], duration=0.8))
    upright = [BaseOrientation(gain=10.0), Posture(gain=5.0)]
    return sot.Stack([JointLimits(), TorqueLimits(), *feet], [com], upright)


def survives(name: str, impulse: np.ndarray) -> bool:
    """Whether a robot stands after a push, N·s."""
    robot = load(name)
    push = Push(at=AT, frame=FRAMES[name], impulse=impulse.tolist(), duration=DURATION)
    controller = sot.Controller(robot, stack(robot), output="torque", dt=1e-3)
    try:
        run = sot.run(Simulated(robot, disturbances=[push]), controller, AT + AFTER)
    except SotError:
        return False
    slip = run.physics.max_foot_slip_m
    return not run.fell and slip < 0.02 and float(np.abs(run.state.v).max()) < 0.5


def largest(name: str, direction: tuple[float, float, float], resolution: float = 0.02) -> float:
    """The largest impulse, N·s, to so many of its parts; every smaller one that was tried was survived."""
    axis, unit = np.array(direction), load(name).mass / 90.0
    low, high = 0.0, 10.0 * unit
    while survives(name, high * axis):
        low, high = high, 1.5 * high
    while high - low > resolution * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if survives(name, middle * axis) else (low, middle)
    return low


if __name__ == "__main__":
    warnings.simplefilter("ignore", SotWarning)
    for robot_name in sys.argv[1:] or FRAMES:
        for word, along in DIRECTIONS.items():
            found = largest(robot_name, along)
            force, per_kg = found / DURATION, found / load(robot_name).mass
            print(f"{robot_name} {word}: {found:.3g} N·s, {force:.3g} N for {DURATION} s, {per_kg:.2f} m/s", flush=True)
