"""A humanoid bends its knees, then squats and sways under torque control. Twin: g1_squat.yaml"""

import sys

import sot
from sot.robots import Kinematic, load
from sot.tasks import CenterOfMass, Contact, JointLimits, Orientation, Posture, TorqueLimits

DT = 1e-3  # s

g1 = load("g1")
com = CenterOfMass(name="com", gain=10.0, reference=sot.move(by=[0.0, 0.0, -0.06], duration=1.0))  # m, s
soles = [Contact(f"{side}_ankle_roll_link", friction=0.5, min_force=10.0) for side in ("left", "right")]  # N
stack = sot.Stack(
    [JointLimits(), TorqueLimits(), *soles],
    [com],
    [Orientation("pelvis", gain=10.0)],
    [Posture(gain=5.0)],
)
viewer = sot.Viewer(g1) if "--viewer" in sys.argv else None
robot, controller = Kinematic(g1, dt=DT), sot.Controller(g1, stack, output="torque", dt=DT)
sot.run(robot, controller, duration=1.0, viewer=viewer)
com.reference = sot.sine(amplitude=[0.0, 0.02, 0.04], frequency=0.5, fade=0.5)  # m, Hz, s
run = sot.run(robot, controller, duration=3.0, viewer=viewer)
print(run.summary())
