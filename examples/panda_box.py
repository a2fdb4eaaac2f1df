"""An arm reaches around a box under torque control, in a physics simulation. Twin: panda_box.yaml"""

import sys

import sot
from sot.robots import Simulated, load
from sot.tasks import Collisions, Damping, JointLimits, Pose, Posture, TorqueLimits

panda = load("panda")
box = {"box": [0.1, 0.1, 0.5], "at": [0.5, 0.15, 0.25]}  # m
hand = Pose("panda_hand_tcp", name="hand", gain=5.0)
hand.reference = sot.move(by=[0.0, 0.4, -0.1, 0.0, 0.0, 0.0], duration=3.0)  # m, rad; s
stack = sot.Stack(
    [JointLimits(), TorqueLimits(), Collisions(obstacles=[sot.Obstacle("box", **box)])],
    [hand, Damping()],
    [Posture(gain=2.0)],
)
controller = sot.Controller(panda, stack, output="torque", dt=1e-3)
robot = Simulated(panda, dt=1e-3, obstacles=[sot.Obstacle("box", **box)])
run = sot.run(robot, controller, duration=5.0, viewer="--viewer" in sys.argv)
print(run.summary())
