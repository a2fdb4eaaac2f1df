"""A humanoid squats and reaches in a physics simulation, and takes a push. Twin: talos_push.yaml"""

import sys

import sot
from sot.robots import Simulated, load
from sot.simulation.disturbances import Push
from sot.tasks import BaseOrientation, CenterOfMass, Contact, JointLimits, Position, Posture, TorqueLimits

talos = load("talos")
soles = [Contact(f"{side}_sole_link", friction=0.6, min_force=20.0) for side in ("left", "right")]  # N
com = CenterOfMass(name="com", gain=5.0)
com.reference = sot.sine(amplitude=[0.0, 0.0, 0.04], frequency=0.5, fade=1.0)  # m, Hz, s
hand = Position("gripper_left_base_link", name="hand", gain=10.0)
hand.reference = sot.move(by=[0.2, 0.0, 0.15], duration=2.0)  # m, s
stack = sot.Stack(
    [JointLimits(), TorqueLimits(), *soles],
    [com],
    [BaseOrientation(gain=10.0)],
    [hand],
    [Posture(gain=5.0)],
)
controller = sot.Controller(talos, stack, output="torque", dt=1e-3)
push = Push(at=4.0, duration=0.1, force=[80.0, 0.0, 0.0], frame="torso_2_link")  # s, N
robot = Simulated(talos, dt=1e-3, disturbances=[push])
run = sot.run(robot, controller, duration=7.0, viewer="--viewer" in sys.argv)
print(run.summary())
