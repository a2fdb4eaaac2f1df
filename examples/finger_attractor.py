"""A spring pulls a finger into a virtual wall; it rests where both forces are equal. Twin: finger_attractor.yaml

They share one level. With the attractor L behind the wall's surface the finger is at a depth of K L / (K + K_wall).
"""

import sot
from sot.attractor import Plane
from sot.finger import Body
from sot.robots import Finger
from sot.tasks import Attractor, Wall

K, K_WALL, SURFACE, BEHIND = 50.0, 1000.0, 0.10, 0.05  # N/m and m

finger = Finger(Body("finger", mass=0.1))
pull = Attractor("finger", Plane([SURFACE + BEHIND, 0, 0], normal=[1, 0, 0]), stiffness=K, name="pull")
wall = Wall("finger", point=[SURFACE, 0, 0], normal=[-1, 0, 0], stiffness=K_WALL)
controller = sot.Controller(finger.robot, sot.Stack([], [pull, wall]), output="torque", dt=finger.dt)
run = sot.run(finger, controller, duration=3.0)

depth = float(run.state.q[0]) - SURFACE
print(run.summary())
print(f"\nrests {1e3 * depth:.6f} mm deep, by the formula {1e3 * K * BEHIND / (K + K_WALL):.6f} mm")
print(f"spring {pull.force[0]:.4f} N, wall {wall.force[0]:.4f} N")
