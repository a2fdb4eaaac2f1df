"""Two tasks want the hand elsewhere: the more important one wins, until they swap. Twin: priorities.yaml"""

import sys

import sot
from sot.robots import Kinematic, load
from sot.tasks import JointLimits, Position, Posture

DT = 5e-3  # s

panda = load("panda")
left = Position("panda_hand_tcp", name="left", reference=[0.4, 0.3, 0.4])  # m, in the world
right = Position("panda_hand_tcp", name="right", reference=[0.4, -0.3, 0.4])
stack = sot.Stack([JointLimits(acceleration=15.0)], [left], [right], [Posture()])
viewer = sot.Viewer(panda) if "--viewer" in sys.argv else None
robot, controller = Kinematic(panda, dt=DT), sot.Controller(panda, stack, dt=DT)
before = sot.run(robot, controller, duration=2.0, viewer=viewer)
stack.swap("left", "right", ramp=0.5)  # the command changes over within half a second
run = sot.run(robot, controller, duration=2.5, viewer=viewer)
print(before.summary(), run.summary(), sep="\n\n")
