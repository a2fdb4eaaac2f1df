"""The compared cases in PlaCo: `python placo_cases.py [CASE...]`, last line of output is JSON.

As PlaCo's manual has it: one `KinematicsSolver` kept over the run, soft tasks, a joints task as posture,
`dt` set, position and velocity limits enabled, the base masked for the fixed-base arm.
PlaCo's weights multiply the squared error as ours do, and its tasks ask for the whole error in one tick.
What a tick measures is in `cases.py`.
"""

from __future__ import annotations

import sys
from typing import Any

import cases
import numpy as np
import pinocchio as pin
import placo
import placo_id


class _PlacoCase:
    """A robot and its solver; the subclass adds the tasks, all of them started on their targets."""

    def __init__(self, urdf: str) -> None:
        self.robot = placo.RobotWrapper("", placo.Flags.ignore_collisions, cases.bare_urdf(urdf))
        self.update = self.robot.update_kinematics
        self.solver = placo.KinematicsSolver(self.robot)
        self.solver.dt = cases.DT
        self.solver.enable_joint_limits(True)
        self.solver.enable_velocity_limits(True)

    def _start(self, q: np.ndarray) -> None:
        self.robot.state.q = q
        self.update()
        posture = self.solver.add_joints_task()
        posture.set_joints({name: self.robot.get_joint(name) for name in self.robot.joint_names()})
        posture.configure("posture", "soft", cases.WEIGHTS["posture"])

    def _hold(self, frame: str, kind: str) -> placo.FrameTask:
        weight = cases.WEIGHTS[kind]
        task = self.solver.add_frame_task(frame, self.robot.get_T_world_frame(frame))
        task.configure(frame, "soft", weight, weight)
        return task

    def integrate(self) -> None:
        self.robot.state.q = pin.integrate(self.robot.model, self.robot.state.q, self.displacement)


class Panda(_PlacoCase):
    """`panda-ik`: the hand on a circle."""

    def __init__(self) -> None:
        super().__init__(cases.PANDA_URDF)
        self.solver.mask_fbase(True)
        q = self.robot.state.q.copy()
        q[7:] = cases.PANDA_START  # PlaCo's models begin with a free base: 3 + 4 coordinates
        self._start(q)
        self.hand = self._hold(cases.PANDA_HAND, "hand")
        self.start = self.robot.get_T_world_frame(cases.PANDA_HAND)

    def target(self, offset: np.ndarray) -> np.ndarray:
        pose = self.start.copy()  # (4, 4)
        pose[:3, 3] += offset
        return pose

    def solve(self, target: np.ndarray) -> None:
        self.hand.T_world_frame = target
        self.displacement = self.solver.solve(False)

    def error(self, offset: np.ndarray) -> float:
        self.update()
        pose = self.robot.get_T_world_frame(cases.PANDA_HAND)
        return float(np.linalg.norm((pose - self.target(offset))[:3, 3]))


class Talos(_PlacoCase):
    """`talos-ik`: soles and hands held, the centre of mass swaying."""

    def __init__(self) -> None:
        super().__init__(cases.TALOS_URDF)
        model = self.robot.model
        pin.loadReferenceConfigurations(model, cases.robot_file(cases.TALOS_SRDF), False)
        self._start(model.referenceConfigurations[cases.TALOS_START].copy())
        for frame in cases.TALOS_SOLES:
            self._hold(frame, "sole")
        for frame in cases.TALOS_HANDS:
            self._hold(frame, "hand")
        self.start = self.robot.com_world()
        self.com = self.solver.add_com_task(self.start)
        self.com.configure("com", "soft", cases.WEIGHTS["com"])

    def target(self, offset: np.ndarray) -> np.ndarray:
        return self.start + offset

    def solve(self, target: np.ndarray) -> None:
        self.com.target_world = target
        self.displacement = self.solver.solve(False)

    def error(self, offset: np.ndarray) -> float:
        self.update()
        return float(np.linalg.norm(self.robot.com_world() - self.target(offset)))


def panda_ik() -> dict[str, Any]:
    return cases.measure(Panda(), cases.circle)


def talos_ik() -> dict[str, Any]:
    return cases.measure(Talos(), cases.sway)


if __name__ == "__main__":
    known = {"panda-ik": panda_ik, "talos-ik": talos_ik}
    known |= {"talos-id": placo_id.talos_id, "solo12-id": placo_id.solo12_id}
    sys.exit(cases.main("placo", known))
