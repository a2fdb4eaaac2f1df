"""A quadruped turns its body on four feet, then stands on three, in a physics simulation. Twin: solo12_stand.yaml"""

import sys

import sot
from sot.config.events import Push, Remove, SetReference, TimedController
from sot.robots import Simulated, load
from sot.tasks import BaseOrientation, CenterOfMass, JointLimits, Position, Posture, RollingContact, TorqueLimits

solo12 = load("solo12")
feet = [RollingContact(foot.frame, friction=0.6, min_force=0.5) for foot in solo12.feet]  # N
com = CenterOfMass(name="com", gain=5.0)
base = BaseOrientation(name="base", gain=8.0)
base.reference = sot.sine(amplitude=[0.1, 0.1, 0.1], frequency=0.5, fade=1.0)  # rad, Hz, s
stack = sot.Stack([JointLimits(), TorqueLimits(), *feet], [com], [base], [Posture(gain=5.0)])
lift = Position("FL_FOOT", name="lift", gain=8.0, reference=sot.move(by=[0.0, 0.0, 0.04], duration=1.0))  # m, s
events = [
    SetReference(4.0, "base", sot.move(to=[0.0, 0.0, 0.0], duration=1.0)),  # s, rad
    SetReference(4.0, "com", sot.move(by=[-0.06, -0.03, 0.0], duration=1.5)),  # over the other three feet
    Remove(6.0, "contact_FL_FOOT", ramp=0.3),
    Push(6.0, lift, level=2, ramp=0.3),
]
controller = TimedController(solo12, stack, events=events, output="torque", dt=1e-3)
run = sot.run(Simulated(solo12, dt=1e-3), controller, duration=8.0, viewer="--viewer" in sys.argv)
print(run.summary())
