"""A humanoid raises its hand, then waves: a reference is set anew while the robot runs. Twin: g1_wave.yaml"""

import sys

import sot
from sot.robots import Kinematic, load
from sot.tasks import CenterOfMass, JointLimits, Pose, Position, Posture

DT = 5e-3  # s

g1 = load("g1")
hand = Position("right_rubber_hand", name="hand", gain=20.0)
hand.reference = sot.move(by=[0.05, -0.1, 0.4], duration=1.5)  # m
stack = sot.Stack(
    [JointLimits()],
    [Pose("left_ankle_roll_link", gain=50.0), Pose("right_ankle_roll_link", gain=50.0)],
    [CenterOfMass(gain=20.0, mask="xy")],
    [hand],
    [Posture(gain=1.0)],
)
viewer = sot.Viewer(g1) if "--viewer" in sys.argv else None
robot, controller = Kinematic(g1, dt=DT), sot.Controller(g1, stack, dt=DT)
sot.run(robot, controller, duration=2.0, viewer=viewer)
hand.reference = sot.sine(amplitude=[0.0, 0.08, 0.0], frequency=1.0, fade=0.5)  # m, Hz, s
run = sot.run(robot, controller, duration=3.0, viewer=viewer)
print(run.summary())
