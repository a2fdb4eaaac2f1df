"""A stylus is pulled to a line, then to a plane, then to a point, each within 0.08 s. Twin: stylus_regions.yaml

The damper acts on all that is held, and is stronger than a passive device of this damping may show: the bound is
`stable`. Options: --viewer, or a PNG file to draw the run into.
"""

import sys

import numpy as np

import sot
from sot.attractor import Line, Plane, Point
from sot.config.events import Push, Remove, TimedController
from sot.haptic import Device, Record
from sot.robots import Haptic
from sot.tasks import Attractor

spring = {"stiffness": 2000.0, "damping": 36.0}  # N/m and N·s/m
line = Attractor("stylus", Line([0, 0, 0.01], direction=[1, 1, 0]), **spring, name="line")  # m
plane = Attractor("stylus", Plane([0, 0, 0], normal=[0, 0.6, 0.8]), **spring, name="plane")
point = Attractor("stylus", Point([-0.01, 0.005, 0.008]), **spring, name="point")
events = [
    Push(0.2, plane, level=1, ramp=0.0), Remove(0.2, "line", ramp=0.0),
    Push(0.4, point, level=1, ramp=0.0), Remove(0.4, "plane", ramp=0.0),
]  # fmt: skip

device = Device(mass=0.19, quantum=1e-6, estimate="difference", force_limit=60.0, speed_limit=3.0, bound="stable")
stylus = Haptic(device, position=[0.015, -0.005, 0.0])
controller = TimedController(stylus.robot, sot.Stack([], [line]), events=events, output="torque", dt=stylus.dt)
record = Record(stylus)
run = sot.run(stylus, controller, duration=0.6, observers=[record], viewer="--viewer" in sys.argv)

print(run.summary(), "", record.summary(), "", sep="\n")
for start, (name, away) in zip((0.0, 0.2, 0.4), record.away.items(), strict=True):
    print(f"{name}: {1e3 * away[np.searchsorted(record.time, start + 0.08)]:.4f} mm away after 0.08 s")
for path in [argument for argument in sys.argv[1:] if argument.endswith(".png")]:
    print("wrote", record.plot(path))
