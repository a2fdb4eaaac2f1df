"""A mobile base drives back while the hand stays where it is in the world. Twin: tiago_drive.yaml"""

import sys

import sot
from sot.robots import Kinematic, load
from sot.tasks import JointLimits, Pose, Position, Posture

DT = 5e-3  # s

tiago = load("tiago")
base = Position("base_footprint", name="base", gain=10.0, mask="x")
base.reference = sot.move(by=[-0.2, 0.0, 0.0], duration=3.0)  # m
stack = sot.Stack(
    [JointLimits()],
    [Pose("hand_tool_link", name="hand", gain=20.0)],  # without a reference: stay
    [base],
    [Posture(gain=1.0)],
)
controller = sot.Controller(tiago, stack, dt=DT)
run = sot.run(Kinematic(tiago, dt=DT), controller, duration=4.0, viewer="--viewer" in sys.argv)
print(run.summary())
