"""The inverse dynamics cases in PlaCo, run by `placo_cases.py`.

As PlaCo's manual has it: one `DynamicsSolver` kept over the run, hard tasks that hold the feet with a planar or a
unilateral point contact each, soft tasks for the rest, `dt` set, torque and velocity limits enabled. PlaCo has no
bounds for the normal force but zero. What a tick measures is in `id_cases.py`.
"""

from __future__ import annotations

from typing import Any

import cases
import id_cases
import numpy as np
import placo
from id_cases import Problem, Target


class PlacoDynamics:
    """A problem with all tasks started on their targets."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.robot = problem, _robot(problem)
        self.model = self.robot.model
        self.start = problem.start(self.model)
        self.solver = placo.DynamicsSolver(self.robot)
        self.solver.dt = id_cases.DT
        self.solver.enable_torque_limits(True)
        self.solver.enable_velocity_limits(True)
        self.solver.torque_cost = id_cases.REGULARIZATION  # with the default, 1e-3, Talos gives way by half a metre
        self.state(0.0, self.start, np.zeros(self.model.nv))
        self.robot.update_kinematics()
        self._contacts()
        self._tasks()

    def _contacts(self) -> None:
        for frame in self.problem.feet:
            pose = self.robot.get_T_world_frame(frame)
            if self.problem.sole is None:
                task = self.solver.add_position_task(frame, pose[:3, 3])
                task.configure(frame, "hard", 1.0)
                _damped("contact", task)
                contact = self.solver.add_unilateral_point_contact(task)
            else:
                task = self._hold(frame, "contact", "hard", 1.0)
                contact = self.solver.add_planar_contact(task)
                contact.length, contact.width = self.problem.sole
            contact.mu = id_cases.FRICTION

    def _tasks(self) -> None:
        for frame in self.problem.hands:
            self._hold(frame, "hand", "soft", id_cases.WEIGHTS["hand"])
        posture = self.solver.add_joints_task()
        posture.set_joints({name: self.robot.get_joint(name) for name in self.robot.joint_names()})
        posture.configure("posture", "soft", id_cases.WEIGHTS["posture"])
        self.com = self.solver.add_com_task(self.robot.com_world())
        self.com.configure("com", "soft", id_cases.WEIGHTS["com"])
        _damped("posture", posture)
        _damped("com", self.com)

    def _hold(self, frame: str, kind: str, priority: str, weight: float) -> placo.DynamicsFrameTask:
        task = self.solver.add_frame_task(frame, self.robot.get_T_world_frame(frame))
        task.configure(frame, priority, weight, weight)
        _damped(kind, task.position(), task.orientation())
        return task

    def state(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        self.robot.state.q, self.robot.state.qd = q, v

    def tick(self, target: Target) -> None:
        self.robot.update_kinematics()
        self.com.target_world, self.com.dtarget_world, self.com.ddtarget_world = target
        self.result = self.solver.solve(False)
        self.torques = self.result.tau

    def acceleration(self) -> np.ndarray:
        if not self.result.success:
            raise RuntimeError("PlaCo found no solution")
        return self.result.qdd


def _damped(kind: str, *tasks: Any) -> None:
    """Critically damped gains."""
    rate = id_cases.RATES[kind]
    for task in tasks:
        task.kp, task.kd = rate * rate, 2.0 * rate


def _robot(problem: Problem) -> placo.RobotWrapper:
    """The robot without its meshes, with the problem's motors and limits."""
    robot = placo.RobotWrapper("", placo.Flags.ignore_collisions, cases.bare_urdf(problem.urdf))
    joints = list(robot.joint_names())
    for joint, inertia, ratio in zip(joints, *problem.rotors(joints), strict=True):
        robot.set_rotor_inertia(joint, inertia)
        robot.set_gear_ratio(joint, ratio)
        if problem.effort is not None:
            robot.set_torque_limit(joint, problem.effort)
        if problem.velocity is not None:
            robot.set_velocity_limit(joint, problem.velocity)
    return robot


def talos_id() -> dict[str, Any]:
    return id_cases.measure(PlacoDynamics(id_cases.TALOS), id_cases.TALOS)


def solo12_id() -> dict[str, Any]:
    return id_cases.measure(PlacoDynamics(id_cases.SOLO12), id_cases.SOLO12)
