"""A plane holds the hand like a spring, a lower level moves it along the plane. Twin: panda_attractor.yaml"""

import sys

import sot
from sot.attractor import Plane
from sot.robots import Simulated, load
from sot.tasks import Attractor, JointLimits, Position, Posture, TorqueLimits

panda = load("panda")
sheet = Plane(point=[0.0, 0.0, 0.5], normal=[0.0, 0.0, 1.0])  # m
plane = Attractor("panda_hand_tcp", sheet, stiffness=1500.0, cap=60.0, name="plane")  # N/m, N
hand = Position("panda_hand_tcp", name="hand", gain=5.0, mask=["x", "y"])
hand.reference = sot.move(by=[0.1, 0.2, 0.3], duration=2.0)  # m, s; the plane does not let it rise
stack = sot.Stack([JointLimits(), TorqueLimits()], [plane], [hand], [Posture(gain=2.0)])
controller = sot.Controller(panda, stack, output="torque", dt=1e-3)
run = sot.run(Simulated(panda, dt=1e-3), controller, duration=3.0, viewer="--viewer" in sys.argv)
print(run.summary())
