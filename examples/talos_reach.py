"""A humanoid reaches with both hands, with its feet and its centre of mass held. Twin: talos_reach.yaml"""

import sys

import sot
from sot.robots import Kinematic, load
from sot.tasks import CenterOfMass, JointLimits, Pose, Position, Posture

DT = 5e-3  # s

talos = load("talos")
left = Position("gripper_left_base_link", name="left_hand", gain=10.0)
right = Position("gripper_right_base_link", name="right_hand", gain=10.0)
left.reference = sot.move(by=[0.2, 0.1, 0.3], duration=2.0)  # m
right.reference = sot.move(by=[0.3, 0.0, -0.2], duration=2.0)
stack = sot.Stack(
    [JointLimits()],
    [Pose("left_sole_link", gain=50.0), Pose("right_sole_link", gain=50.0)],
    [CenterOfMass(gain=20.0)],
    [left, right],
    [Posture(gain=1.0)],
)
controller = sot.Controller(talos, stack, dt=DT)
run = sot.run(Kinematic(talos, dt=DT), controller, duration=3.0, viewer="--viewer" in sys.argv)
print(run.summary())
