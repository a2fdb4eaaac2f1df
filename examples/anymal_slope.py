"""A quadruped on a slope of 11° brings its body level, in a physics simulation. Twin: anymal_slope.yaml"""

import sys

import sot
from sot.robots import Simulated, load
from sot.tasks import BaseOrientation, CenterOfMass, JointLimits, Posture, RollingContact, TorqueLimits

anymal = load("anymal")
normal = [0.0, -0.1987, 0.9801]  # of ground turned by 0.2 rad about x
feet = [RollingContact(foot.frame, friction=0.6, min_force=5.0, normal=normal) for foot in anymal.feet]  # N
base = BaseOrientation(name="base", gain=8.0, reference=sot.move(to=[0.0, 0.0, 0.0], duration=2.0))  # rad, s
stack = sot.Stack(
    [JointLimits(), TorqueLimits(), *feet],
    [CenterOfMass(name="com", gain=5.0)],
    [base],
    [Posture(gain=5.0)],
)
controller = sot.Controller(anymal, stack, output="torque", dt=1e-3)
robot = Simulated(anymal, dt=1e-3, ground=[0.2, 0.0])
run = sot.run(robot, controller, duration=4.0, viewer="--viewer" in sys.argv)
print(run.summary())
