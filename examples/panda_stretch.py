"""An arm is asked beyond its reach, through its stretched singularity, and comes back. Twin: panda_stretch.yaml"""

import sys

import sot
from sot.robots import Kinematic, load
from sot.tasks import Damping, JointLimits, Pose, Posture

DT = 1e-3  # s

panda = load("panda")
hand = Pose("panda_hand_tcp", name="hand", gain=10.0)
far, near = [0.9, 0.0, 0.5, 1, 0, 0, 0], [0.5, 0.2, 0.5, 1, 0, 0, 0]  # x y z qx qy qz qw; it reaches 0.7 m
hand.reference = sot.waypoints([far, near], durations=[2.0, 2.0])
stack = sot.Stack([JointLimits()], [hand, Damping()], [Posture()])
controller = sot.Controller(panda, stack, dt=DT)
run = sot.run(Kinematic(panda, dt=DT), controller, duration=5.0, viewer="--viewer" in sys.argv)
print(run.summary())
