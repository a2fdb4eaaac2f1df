"""An arm moves its hand along a straight line, inside all joint limits. Twin: panda_reach.yaml"""

import sys

import sot
from sot.robots import Kinematic, load
from sot.tasks import JointLimits, Pose, Posture

DT = 5e-3  # s

panda = load("panda")
hand = Pose("panda_hand_tcp", name="hand", gain=20.0)
hand.reference = sot.move(by=[0.1, 0.3, -0.2], duration=2.0)  # m, in the axes of the world
stack = sot.Stack(
    [JointLimits()],  # hard: positions and velocities
    [hand],
    [Posture()],
)
controller = sot.Controller(panda, stack, dt=DT)
run = sot.run(Kinematic(panda, dt=DT), controller, duration=3.0, viewer="--viewer" in sys.argv)
print(run.summary())
