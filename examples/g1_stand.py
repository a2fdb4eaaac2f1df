"""A humanoid stands under torque control in a physics simulation, raises its hand and waves. Twin: g1_stand.yaml"""

import sys

import sot
from sot.config.events import SetReference, TimedController
from sot.robots import Simulated, load
from sot.tasks import BaseOrientation, CenterOfMass, Contact, JointLimits, Orientation, Position, Posture, TorqueLimits

g1 = load("g1")
soles = [Contact(f"{side}_ankle_roll_link", friction=0.6, min_force=5.0) for side in ("left", "right")]  # N
hand = Position("right_rubber_hand", name="hand", gain=8.0)
hand.reference = sot.move(by=[0.15, 0.0, 0.4], duration=1.5)  # m, s
stack = sot.Stack(
    [JointLimits(), TorqueLimits(), *soles],
    [CenterOfMass(gain=5.0)],
    [BaseOrientation(gain=10.0), Orientation("torso_link", gain=10.0)],
    [hand],
    [Posture(gain=5.0)],
)
wave = SetReference(2.0, "hand", sot.sine(amplitude=[0.0, 0.08, 0.0], frequency=1.0, fade=0.5))  # s; m, Hz, s
controller = TimedController(g1, stack, events=[wave], output="torque", dt=1e-3)
run = sot.run(Simulated(g1, dt=1e-3), controller, duration=5.0, viewer="--viewer" in sys.argv)
print(run.summary())
