"""A humanoid squats under torque control: contacts, friction, motors. Twin: talos_squat.yaml"""

import sys

import sot
from sot.robots import Kinematic, load
from sot.tasks import CenterOfMass, Contact, JointLimits, Orientation, Posture, TorqueLimits

talos = load("talos")
com = CenterOfMass(name="com", gain=10.0)
com.reference = sot.sine(amplitude=[0.0, 0.0, 0.05], frequency=0.5, fade=1.0)  # m, Hz, s
soles = [Contact(f"{side}_sole_link", friction=0.5, min_force=20.0) for side in ("left", "right")]  # N
stack = sot.Stack(
    [JointLimits(), TorqueLimits(), *soles],
    [com],
    [Orientation("base_link", gain=10.0)],
    [Posture(gain=5.0)],
)
controller = sot.Controller(talos, stack, output="torque", dt=1e-3)
run = sot.run(Kinematic(talos, dt=1e-3), controller, duration=4.0, viewer="--viewer" in sys.argv)
print(run.summary())
