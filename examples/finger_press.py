"""A finger goes to a cup and pushes it to a wall, then presses with a given force. Twin: finger_press.yaml"""

import sys

import sot
from sot.config.events import Push, TimedController
from sot.finger import Body
from sot.robots import Finger
from sot.tasks import JointEffort, JointFriction, Posture

cup = Body("cup", mass=0.2, position=0.10, width=0.04, mu_static=0.4, mu_kinetic=0.3)
finger = Finger(Body("finger", mass=0.1, drag=0.5), [cup], walls=[0.3], dt=1e-3)
reach = Posture(name="reach", gain=50.0, reference=sot.move(to=[0.26], duration=1.0))  # m, s
press = JointEffort(name="press", joints="slide", reference=3.0)  # N
stack = sot.Stack([JointFriction()], [reach])
events = [Push(1.5, press, level=1, insert=True, ramp=0.2)]  # s; before the reach
controller = TimedController(finger.robot, stack, events=events, output="torque", dt=1e-3)
run = sot.run(finger, controller, duration=2.5, viewer="--viewer" in sys.argv)
print(run.summary(), f"presses with {finger.force():.3f} N at {finger.positions()['finger']:.3f} m", sep="\n")
