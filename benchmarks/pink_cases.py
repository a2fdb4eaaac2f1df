"""The compared cases in pink: `python pink_cases.py [CASE...]`, last line of output is JSON.

As pink's manual has it: a `Configuration` kept over the run, `solve_ik` with quadprog, default limits
(position and velocity, from the URDF), gain 1 (the whole error is asked for in one tick).
pink's costs are square roots of our weights: its objective is ||cost * error||^2.
What a tick measures is in `cases.py`.
"""

from __future__ import annotations

import sys
from math import sqrt
from typing import Any

import cases
import numpy as np
import pinocchio as pin
from pink import Configuration, solve_ik
from pink.tasks import ComTask, FrameTask, PostureTask, Task


class _PinkCase:
    """A configuration and a list of tasks, all of them started on their targets."""

    def __init__(self, model: pin.Model, q: np.ndarray, tasks: list[Task]) -> None:
        self.configuration = Configuration(model, model.createData(), q)
        self.q = q
        self.tasks = tasks
        for task in tasks:
            task.set_target_from_configuration(self.configuration)

    def update(self) -> None:
        self.configuration.update(self.q)

    def _solve(self) -> None:
        self.velocity = solve_ik(self.configuration, self.tasks, cases.DT, solver="quadprog")

    def integrate(self) -> None:
        self.q = self.configuration.integrate(self.velocity, cases.DT)


class Panda(_PinkCase):
    """`panda-ik`: the hand on a circle."""

    def __init__(self) -> None:
        model = pin.buildModelFromUrdf(cases.robot_file(cases.PANDA_URDF))
        self.hand = _frame_task(cases.PANDA_HAND, "hand")
        super().__init__(model, cases.PANDA_START.copy(), [self.hand, _posture_task()])
        self.start = self.hand.transform_target_to_world.copy()

    def target(self, offset: np.ndarray) -> pin.SE3:
        return pin.SE3(self.start.rotation, self.start.translation + offset)

    def solve(self, target: pin.SE3) -> None:
        self.hand.set_target(target)
        self._solve()

    def error(self, offset: np.ndarray) -> float:
        self.update()
        pose = self.configuration.get_transform_frame_to_world(cases.PANDA_HAND)
        return float(np.linalg.norm(pose.translation - self.target(offset).translation))


class Talos(_PinkCase):
    """`talos-ik`: soles and hands held, the centre of mass swaying."""

    def __init__(self) -> None:
        model = pin.buildModelFromUrdf(cases.robot_file(cases.TALOS_URDF), pin.JointModelFreeFlyer())
        pin.loadReferenceConfigurations(model, cases.robot_file(cases.TALOS_SRDF), False)
        self.com = ComTask(cost=sqrt(cases.WEIGHTS["com"]))
        soles = [_frame_task(frame, "sole") for frame in cases.TALOS_SOLES]
        hands = [_frame_task(frame, "hand") for frame in cases.TALOS_HANDS]
        q = model.referenceConfigurations[cases.TALOS_START].copy()
        super().__init__(model, q, [*soles, self.com, *hands, _posture_task()])
        self.start = self.com.target_com.copy()

    def target(self, offset: np.ndarray) -> np.ndarray:
        return self.start + offset

    def solve(self, target: np.ndarray) -> None:
        self.com.set_target(target)
        self._solve()

    def error(self, offset: np.ndarray) -> float:
        com = pin.centerOfMass(self.configuration.model, self.configuration.data, self.q)
        return float(np.linalg.norm(com - self.target(offset)))


def _frame_task(frame: str, kind: str) -> FrameTask:
    cost = sqrt(cases.WEIGHTS[kind])
    return FrameTask(frame, position_cost=cost, orientation_cost=cost)


def _posture_task() -> PostureTask:
    return PostureTask(cost=sqrt(cases.WEIGHTS["posture"]))


def panda_ik() -> dict[str, Any]:
    return cases.measure(Panda(), cases.circle)


def talos_ik() -> dict[str, Any]:
    return cases.measure(Talos(), cases.sway)


if __name__ == "__main__":
    sys.exit(cases.main("pin-pink", {"panda-ik": panda_ik, "talos-ik": talos_ik}))
