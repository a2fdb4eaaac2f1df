"""Another quadruped turns its body on four feet, then stands on three, in a physics simulation. Twin: go2_stand.yaml"""

import sys

import sot
from sot.config.events import Push, Remove, SetReference, TimedController
from sot.robots import Simulated, load
from sot.tasks import BaseOrientation, CenterOfMass, JointLimits, Position, Posture, RollingContact, TorqueLimits

go2 = load("go2")
feet = [RollingContact(foot.frame, friction=0.6, min_force=5.0) for foot in go2.feet]  # N
com = CenterOfMass(name="com", gain=5.0)
base = BaseOrientation(name="base", gain=8.0)
base.reference = sot.sine(amplitude=[0.1, 0.1, 0.1], frequency=0.5, fade=1.0)  # rad, Hz, s
stack = sot.Stack([JointLimits(), TorqueLimits(), *feet], [com], [base], [Posture(gain=5.0)])
lift = Position("FL_foot", name="lift", gain=8.0, reference=sot.move(by=[0.0, 0.0, 0.06], duration=1.0))  # m, s
events = [
    SetReference(4.0, "base", sot.move(to=[0.0, 0.0, 0.0], duration=1.0)),  # s, rad
    SetReference(4.0, "com", sot.move(by=[-0.08, -0.05, 0.0], duration=1.5)),  # over the other three feet
    Remove(6.0, "contact_FL_foot", ramp=0.3),
    Push(6.0, lift, level=2, ramp=0.3),
]
controller = TimedController(go2, stack, events=events, output="torque", dt=1e-3)
run = sot.run(Simulated(go2, dt=1e-3), controller, duration=8.0, viewer="--viewer" in sys.argv)
print(run.summary())
