"""A quadruped sways and rolls its body over four feet that stay on the ground. Twin: solo12_body.yaml"""

import sys

import sot
from sot.robots import Kinematic, load
from sot.tasks import JointLimits, Pose, Position, Posture

DT = 5e-3  # s

solo = load("solo12")
body = Pose("base_link", name="body", gain=20.0)
body.reference = sot.sine(
    amplitude=[0.02, 0.0, 0.03, 0.2, 0.1, 0.0], frequency=0.5, fade=0.5
)  # m, rad; Hz; s
stack = sot.Stack(
    [JointLimits()],
    [Position(foot.frame, gain=50.0) for foot in solo.feet],
    [body],
    [Posture(gain=1.0)],
)
controller = sot.Controller(solo, stack, dt=DT)
run = sot.run(Kinematic(solo, dt=DT), controller, duration=6.0, viewer="--viewer" in sys.argv)
print(run.summary())
