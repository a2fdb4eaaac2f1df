"""A hand presses a stylus into a virtual wall and lets go: the wall gives back less than it took.

Twin: haptic_wall.yaml. Option: a PNG file to draw the run into.
"""

import sys

import sot
from sot.haptic import Device, Hand, Record
from sot.robots import Haptic
from sot.tasks import Wall

press = Hand(sot.move(by=[0, 0, -0.03], duration=0.3), stiffness=300.0, damping=5.0, release=0.6)  # m, s, N/m, N·s/m
stylus = Haptic(Device(damping=3.0), hand=press, position=[0, 0, 0.01])
wall = Wall("stylus", normal=[0, 0, 1], stiffness=1000.0, damping=1.0, name="floor")  # N/m and N·s/m
controller = sot.Controller(stylus.robot, sot.Stack([], [wall]), output="torque", dt=stylus.dt)
record = Record(stylus)
run = sot.run(stylus, controller, duration=0.8, observers=[record])

print(run.summary(), "", record.summary(), sep="\n")
took = 1e3 * record.energy["wall"]  # mJ
print(f"\nthe wall held {took.max():.2f} mJ when it was pressed hardest, and kept {took[-1]:.2f} mJ, in its damper")
for path in sys.argv[1:]:
    print("wrote", record.plot(path))
