"""A biped on two balls for feet is held by its base, then released, for as long as it can. Twin: bolt_release.yaml"""

import sys

import sot
from sot.robots import Simulated, load
from sot.simulation import Hold
from sot.tasks import BaseOrientation, CenterOfMass, JointLimits, Posture, RollingContact, TorqueLimits


def make():
    """A robot in a hand that lets go after a second, and its controller."""
    feet = [RollingContact(foot.frame, friction=0.7, min_force=0.2) for foot in bolt.feet]  # N
    stack = sot.Stack(
        [JointLimits(), TorqueLimits(), *feet],
        [CenterOfMass(name="com", gain=5.0)],
        [BaseOrientation(name="base", gain=10.0)],
        [Posture(gain=5.0)],
    )
    hand = Hold(at=0.0, frame="base_link", duration=1.0)  # s
    robot = Simulated(bolt, dt=1e-3, disturbances=[hand], bodies=False, itself=False)
    return robot, sot.Controller(bolt, stack, output="torque", dt=1e-3)


bolt = load("bolt")
run = sot.run(*make(), duration=1.2, viewer="--viewer" in sys.argv)
print(run.summary())
held = 1.2
while not sot.run(*make(), duration=held + 0.05).fell:  # it cannot step, so it falls some time
    held += 0.05
print(f"stands for {held - 1.0:.2f} s after it is released")
