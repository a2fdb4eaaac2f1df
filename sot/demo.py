"""`sot demo`: a humanoid in a physics simulation stands, squats, reaches and takes a push, everything in one stack."""

from __future__ import annotations

import sot

PUSH_AT = 8.0  # s
PUSH = 100.0  # N, for a tenth of a second


def demo(headless: bool = False, duration: float | None = None, realtime: bool | None = None) -> sot.Run:
    """Talos under torque control: it squats, reaches with its left hand, and is pushed from behind.

    Args:
        headless: Do not show it, and do not wait for the clock.
        duration: s; by default 12.
        realtime: Keep pace with the clock; by default if it is shown.
    """
    from sot.robots import Simulated, load
    from sot.simulation.disturbances import Push
    from sot.tasks import BaseOrientation, CenterOfMass, Contact, JointLimits, Position, Posture, TorqueLimits

    talos = load("talos")
    sides = ("left", "right")
    soles = [Contact(f"{side}_sole_link", name=f"{side} sole", friction=0.6, min_force=10.0) for side in sides]
    com = CenterOfMass(gain=5.0, reference=sot.sine([0.0, 0.0, 0.05], frequency=0.4, fade=2.0))
    hand = Position("gripper_left_base_link", name="left hand", gain=10.0)
    hand.reference = sot.move(by=[0.25, 0.0, 0.25], duration=4.0)
    stack = sot.Stack(
        [JointLimits(), TorqueLimits(), *soles],
        [com],
        [BaseOrientation(gain=10.0)],
        [hand],
        [Posture(gain=5.0)],
    )
    controller = sot.Controller(talos, stack, output="torque", dt=1e-3)
    push = Push(PUSH_AT, "torso_2_link", force=[PUSH, 0.0, 0.0])
    viewer = None if headless else sot.Viewer(talos, open_browser=True)
    duration = 12.0 if duration is None else duration
    robot = Simulated(talos, dt=1e-3, disturbances=[push])
    return sot.run(robot, controller, duration, viewer=viewer, realtime=realtime)
