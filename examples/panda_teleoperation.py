"""A stylus leads an arm; a wall stops the arm, and the hand on the stylus feels it. Two robots in one loop, 1 kHz."""

import numpy as np

import sot
from sot.haptic import Device, Hand
from sot.haptic.teleoperation import Teleoperation
from sot.robots import Haptic, Simulated, load
from sot.tasks import Collisions, Impedance, JointLimits, Orientation, Position, Posture, TorqueLimits

panda = load("panda")
wall = sot.Obstacle("wall", box=[0.1, 0.6, 0.8], at=[0.65, 0.0, 0.4])  # m
pull = Hand(lambda t: [0.08 * np.sin(min(t, 1.0) * np.pi / 2.0), 0.0, 0.0], stiffness=200.0)  # m, N/m
stylus = Haptic(Device(damping=3.0), hand=pull, dt=1e-3)
lead = Teleoperation(panda, "panda_hand_tcp", scale=3.0)

hand = Position("panda_hand_tcp", name="hand", gain=30.0, reference=sot.follow(lead.hand))
limits = [JointLimits(), TorqueLimits(), Collisions(margin=0.02, obstacles=[wall])]
stack = sot.Stack(limits, [hand, Orientation("panda_hand_tcp", gain=10.0)], [Posture(gain=2.0)])
arm = sot.Controller(panda, stack, output="torque", dt=1e-3)

coupling = {"stiffness": [1000.0, 1000.0, 1000.0, 1.0, 1.0, 1.0], "damping": [1.0, 1.0, 1.0, 0.1, 0.1, 0.1]}
feel = Impedance("stylus", name="feel", mask=["x", "y", "z"], **coupling, reference=sot.follow(lead.stylus))
touch = sot.Controller(stylus.robot, sot.Stack([feel]), output="torque", dt=1e-3)

robots = [(stylus, touch), (Simulated(panda, dt=1e-3), arm)]
for end in (0.4, 2.0):  # s
    felt, moved = sot.run_together(robots, end - stylus.read().time, exchange=lead.exchange)
    x, force = stylus.read().q[0], stylus.force[0]
    print(f"t = {end:g} s: stylus at {1e3 * x:.1f} mm, {1e3 * lead.error[0]:.1f} mm hand error, {force:.2f} N felt")
print(moved.summary())
