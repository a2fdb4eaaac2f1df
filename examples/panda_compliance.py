"""A hand that is pushed gives way, as a spring would, and comes back. Twin: panda_compliance.yaml"""

import sys

import numpy as np

import sot
from sot.robots import Kinematic, load
from sot.tasks import CartesianCompliance, JointLimits

DT = 5e-3  # s
PUSH = np.array([15.0, 0.0, -20.0, 0.0, 1.0, 0.0])  # N and N·m, in the axes of the world


def push(model: sot.Model, tick: sot.Tick) -> np.ndarray:
    """What a sensor would measure: from 1 s to 2.5 s somebody pushes the hand."""
    return PUSH if 1.0 <= tick.time < 2.5 else np.zeros(6)


if __name__ == "__main__":
    panda = load("panda")
    hand = CartesianCompliance(
        "panda_hand_tcp",
        stiffness=[300, 300, 150, 30, 30, 30],  # N/m and N·m/rad
        measured=push,
        name="hand",
    )
    stack = sot.Stack([JointLimits()], [hand])
    controller, robot = sot.Controller(panda, stack, dt=DT), Kinematic(panda, dt=DT)
    viewer = sot.Viewer(panda) if "--viewer" in sys.argv else None
    pushed = sot.run(robot, controller, duration=2.4, viewer=viewer)
    moved = hand.error(controller.model)
    print(f"pushed: {1e3 * moved[0]:.1f} mm along x, {1e3 * moved[2]:.1f} mm along z\n")
    run = sot.run(robot, controller, duration=1.6, viewer=viewer)
    print(run.summary())
