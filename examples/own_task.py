"""A task of one's own: two methods, and all solvers, YAML and the viewer work with it. Twin: own_task.yaml"""

import sys

import numpy as np

import sot
from sot.robots import Kinematic, load
from sot.tasks import JointLimits, Posture

DT = 5e-3  # s


class Reach(sot.Task):
    """Keeps a frame on a sphere around the base: e = ‖p‖ − distance, one row (m)."""

    kind = "reach"

    def __init__(self, frame: str, distance: float, **options) -> None:
        super().__init__(**options)
        self.frame, self.distance = frame, distance

    def error(self, model: sot.Model) -> np.ndarray:
        return np.array([np.linalg.norm(self._point(model)) - self.distance])

    def jacobian(self, model: sot.Model) -> np.ndarray:
        p = self._point(model)
        return (p / np.linalg.norm(p)) @ model.jacobian(model.frame(self.frame), "aligned")[:3][None]

    def _point(self, model: sot.Model) -> np.ndarray:
        return model.placement(model.frame(self.frame)).translation


if __name__ == "__main__":
    xarm = load("xarm7")
    stack = sot.Stack([JointLimits()], [Reach("link_eef", distance=0.6, gain=3.0)], [Posture(gain=1.0)])
    controller = sot.Controller(xarm, stack, dt=DT)
    run = sot.run(Kinematic(xarm, dt=DT), controller, duration=3.0, viewer="--viewer" in sys.argv)
    print(run.summary())
