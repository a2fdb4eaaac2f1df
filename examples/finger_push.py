"""A finger pushes a cup to a place and lets go of it, under torque control. Twin: finger_push.yaml

Impacts, stick and slip are exact.

Options: a file to draw the run into, .png, .gif or .html.
"""

import sys

import sot
from sot.finger import Body
from sot.robots import Finger
from sot.tasks import JointFriction, Posture

cup = Body("cup", mass=0.2, position=0.10, width=0.04, mu_static=0.4, mu_kinetic=0.3)
saucer = Body("saucer", mass=0.1, position=0.20, width=0.04, mu_static=0.2, drag=0.3)
finger = Finger(Body("finger", mass=0.1, drag=0.5), [cup, saucer], walls=[0.45], restitution=0.3, rest_speed=0.02)

there_and_back = sot.waypoints(points=[[0.25], [0.05]], durations=[1.0, 1.0])  # m, s
reach = Posture(name="reach", gain=50.0, reference=there_and_back)
stack = sot.Stack([JointFriction()], [reach])
controller = sot.Controller(finger.robot, stack, output="torque", dt=finger.dt)
run = sot.run(finger, controller, duration=2.5)

record = finger.record()
print(run.summary(), "", record.summary(), "", record.table(), sep="\n")
for path in sys.argv[1:]:
    print("wrote", record.plot(path) if path.endswith(".png") else record.animate(path))
