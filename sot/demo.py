"""`sot demo`: a humanoid stands, sways and reaches, everything in one stack."""

from __future__ import annotations

from math import pi

import sot


def demo(headless: bool = False, duration: float | None = None, realtime: bool | None = None) -> sot.Run:
    """Talos keeps its feet on the ground, sways, and moves both hands.

    Args:
        headless: Do not show it, and do not wait for the clock.
        duration: s; by default 12.
        realtime: Keep pace with the clock; by default if it is shown.
    """
    from sot.robots import Kinematic, load
    from sot.tasks import CenterOfMass, JointLimits, Orientation, Pose, Posture

    talos = load("talos")
    feet = [Pose(f"{side}_sole_link", name=f"{side} foot", gain=50.0) for side in ("left", "right")]
    left = Pose("gripper_left_base_link", name="left hand", gain=10.0)
    right = Pose("gripper_right_base_link", name="right hand", gain=10.0)
    com = CenterOfMass(gain=10.0)
    stack = sot.Stack(
        [JointLimits()],
        feet,
        [com],
        [left, right],
        [Posture(), Orientation("torso_2_link", name="torso", weight=10.0)],
    )
    com.reference = sot.sine([0.0, 0.05, 0.0], frequency=0.25, fade=2.0)
    left.reference = sot.circle(0.12, speed=0.5 * pi, axes=([0, -1, 0], [0, 0, 1]), fade=2.0)
    right.reference = sot.move(by=[0.10, -0.05, 0.20], duration=4.0)
    controller = sot.Controller(talos, stack, dt=2e-3)
    viewer = None if headless else sot.Viewer(talos, open_browser=True)
    duration = 12.0 if duration is None else duration
    return sot.run(Kinematic(talos, dt=2e-3), controller, duration, viewer=viewer, realtime=realtime)
