"""A quadruped goes up and down on four point contacts under torque control. Twin: solo12_squat.yaml"""

import sys

import sot
from sot.robots import Kinematic, load
from sot.tasks import CenterOfMass, Contact, JointLimits, Orientation, Posture, TorqueLimits

solo = load("solo12")
com = CenterOfMass(name="com", gain=10.0)
com.reference = sot.sine(amplitude=[0.0, 0.01, 0.04], frequency=0.5, fade=1.0)  # m, Hz, s
feet = [Contact(foot.frame, friction=0.5, min_force=1.0) for foot in solo.feet]  # N
stack = sot.Stack(
    [JointLimits(), TorqueLimits(), *feet],
    [com],
    [Orientation("base_link", gain=10.0)],
    [Posture(gain=5.0)],
)
controller = sot.Controller(solo, stack, output="torque", dt=1e-3)
run = sot.run(Kinematic(solo, dt=1e-3), controller, duration=4.0, viewer="--viewer" in sys.argv)
print(run.summary())
