"""A tool turns on a circle, its axis held; turning about that axis is left free. Twin: ur5_circle.yaml"""

import sys

import sot
from sot.robots import Kinematic, load
from sot.tasks import Direction, JointLimits, Position, Posture

DT = 5e-3  # s

ur5 = load("ur5")
tip = Position("tool0", name="tip", gain=20.0)
tip.reference = sot.circle(
    radius=0.1, speed=1.0, normal=[0, 0, 1], fade=1.0
)  # m, rad/s; 1 s to come up to speed
stack = sot.Stack(
    [JointLimits(acceleration=10.0)],  # rad/s²
    [tip, Direction("tool0", axis="z", name="upright", gain=20.0)],
    [Posture(gain=1.0)],
)
controller = sot.Controller(ur5, stack, dt=DT)
run = sot.run(Kinematic(ur5, dt=DT), controller, duration=8.0, viewer="--viewer" in sys.argv)
print(run.summary())
