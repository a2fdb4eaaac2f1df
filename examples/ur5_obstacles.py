"""An arm goes round a post and ducks under a ball that flies by. Twin: ur5_obstacles.yaml"""

import sys

import sot
from sot.robots import Kinematic, load
from sot.tasks import Collisions, Damping, JointLimits, Position, Posture

DT = 2e-3  # s

ur5 = load("ur5")
post = sot.Obstacle("post", box=[0.08, 0.08, 0.26], at=[0.45, -0.05, 0.13])  # m
ball = sot.Obstacle("ball", ball=0.08, at=[0.3, 1.0, 0.6], velocity=[0.0, -0.25, 0.0])  # m, m/s
hand = Position("tool0", name="hand", gain=5.0)
hand.reference = sot.waypoints([[0.5, 0.35, 0.26], [0.5, -0.35, 0.26], [0.5, 0.35, 0.26]], durations=[1.0, 3.0, 3.0])
stack = sot.Stack(
    [JointLimits(acceleration=20.0), Collisions(margin=0.02, obstacles=[post, ball])],
    [hand, Damping()],
    [Posture()],
)
controller = sot.Controller(ur5, stack, dt=DT)
run = sot.run(Kinematic(ur5, dt=DT), controller, duration=8.0, viewer="--viewer" in sys.argv)
print(run.summary())
