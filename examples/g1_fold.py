"""A humanoid folds its arms in front of its chest and opens them again. Twin: g1_fold.yaml"""

import sys

import sot
from sot.robots import Kinematic, load
from sot.tasks import CenterOfMass, Collisions, Damping, JointLimits, Pose, Position, Posture

DT = 2e-3  # s

g1 = load("g1")
left = Position("left_rubber_hand", name="left_hand", gain=5.0)
right = Position("right_rubber_hand", name="right_hand", gain=5.0)
left.reference = sot.waypoints([[0.3, 0.15, 1.0], [0.22, -0.1, 1.02], [0.3, 0.2, 0.9]], durations=[1.0, 2.0, 2.0])  # m
right.reference = sot.waypoints([[0.3, -0.15, 0.9], [0.22, 0.1, 0.92], [0.3, -0.2, 0.9]], durations=[1.0, 2.0, 2.0])
stack = sot.Stack(
    [JointLimits(acceleration=30.0), Collisions(margin=0.01)],
    [Pose("left_ankle_roll_link", gain=50.0), Pose("right_ankle_roll_link", gain=50.0)],
    [CenterOfMass(gain=20.0)],
    [left, right, Damping()],
    [Posture(gain=1.0)],
)
controller = sot.Controller(g1, stack, dt=DT)
run = sot.run(Kinematic(g1, dt=DT), controller, duration=7.0, viewer="--viewer" in sys.argv)
print(run.summary())
