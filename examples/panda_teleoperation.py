"""A stylus leads an arm; a wall stops the arm, the hand on the stylus feels it and is told why. One loop, 1 kHz."""

import numpy as np

import sot
from sot.haptic import Device, Hand, Record, Resistance, Teleoperation
from sot.robots import Haptic, Simulated, load
from sot.tasks import Collisions, JointLimits, Orientation, Position, Posture, TorqueLimits

panda = load("panda")
wall = sot.Obstacle("wall", box=[0.1, 0.6, 0.8], at=[0.65, 0.0, 0.4])  # m
pull = Hand(lambda t: [0.08 * np.sin(min(t, 1.0) * np.pi / 2.0), 0.0, 0.0], stiffness=200.0)  # m, N/m
stylus = Haptic(Device(damping=3.0), hand=pull, dt=1e-3)
lead = Teleoperation(panda, "panda_hand_tcp", scale=3.0, feedforward=False)

hand = Position("panda_hand_tcp", name="hand", gain=30.0, reference=sot.follow(lead.hand))
limits = [JointLimits(), TorqueLimits(), Collisions(margin=0.02, obstacles=[wall])]
stack = sot.Stack(limits, [hand, Orientation("panda_hand_tcp", gain=10.0)], [Posture(gain=2.0)])
arm = sot.Controller(panda, stack, output="torque", dt=1e-3)

felt = Resistance(arm, "hand", lead, gain=0.4)  # kg: 0.4 · 30² · 3 = 1080 N/m when something is in the way
touch = sot.Controller(stylus.robot, sot.Stack([felt]), output="torque", dt=1e-3)
record = Record(stylus)

robots = [(Simulated(panda, dt=1e-3), arm), (stylus, touch)]
for end in (0.3, 2.0):  # s
    moved, _ = sot.run_together(robots, end - stylus.read().time, exchange=lead.exchange_arm_first, observers=[record])
    print(f"t = {end:g} s: stylus at {1e3 * stylus.read().q[0]:.1f} mm, {1e3 * lead.error[0]:.1f} mm hand error")
    print("  ", felt.why())
print("", moved.summary(), "", record.summary(), sep="\n")
