"""A humanoid crosses its arms: both hands go to the other side and never touch. Twin: talos_cross.yaml"""

import sys

import sot
from sot.robots import Kinematic, load
from sot.tasks import CenterOfMass, Collisions, Damping, JointLimits, Pose, Position, Posture

DT = 2e-3  # s

talos = load("talos")
left = Position("gripper_left_base_link", name="left_hand", gain=5.0)
right = Position("gripper_right_base_link", name="right_hand", gain=5.0)
left.reference = sot.waypoints([[0.4, 0.2, 1.1], [0.4, -0.15, 1.1], [0.4, 0.2, 1.0]], durations=[1.0, 2.0, 2.0])  # m
right.reference = sot.waypoints([[0.4, -0.2, 1.0], [0.4, 0.15, 1.0], [0.4, -0.2, 1.0]], durations=[1.0, 2.0, 2.0])
stack = sot.Stack(
    [JointLimits(acceleration=30.0), Collisions(margin=0.01)],
    [Pose("left_sole_link", gain=50.0), Pose("right_sole_link", gain=50.0)],
    [CenterOfMass(gain=20.0)],
    [left, right, Damping()],
    [Posture(gain=1.0)],
)
controller = sot.Controller(talos, stack, dt=DT)
run = sot.run(Kinematic(talos, dt=DT), controller, duration=7.0, viewer="--viewer" in sys.argv)
print(run.summary())
