"""The inverse dynamics cases in TSID: `python tsid_cases.py [CASE...]`, last line of output is JSON.

As TSID's exercises have it: one acceleration-force formulation kept over the run, rigid contacts, torque and velocity
bounds at priority 0, the other tasks at priority 1, eiquadprog-fast as solver. What a tick measures is in
`id_cases.py`.
"""

from __future__ import annotations

import sys
from typing import Any

import cases
import id_cases
import numpy as np
import pinocchio as pin
import tsid
from id_cases import Problem, Target


class TsidDynamics:
    """A problem with all tasks started on their targets."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        urdf = cases.robot_file(problem.urdf)
        self.robot = tsid.RobotWrapper(urdf, [], pin.JointModelFreeFlyer(), False)
        self.model = self.robot.model()
        self.start = problem.start(self.model)
        inertias, ratios = problem.rotors(self.model.names[i] for i in range(2, self.model.njoints))
        self.robot.set_rotor_inertias(inertias)
        self.robot.set_gear_ratios(ratios)
        self.formulation = tsid.InverseDynamicsFormulationAccForce("tsid", self.robot, False)
        self.formulation.computeProblemData(0.0, self.start, np.zeros(self.model.nv))
        self.kept: list[Any] = []  # the formulation does not keep its tasks alive
        self._contacts()
        self._tasks()
        self._bounds()
        self.solver = tsid.SolverHQuadProgFast("solver")
        self.solver.resize(self.formulation.nVar, self.formulation.nEq, self.formulation.nIn)

    def _contacts(self) -> None:
        for frame in self.problem.feet:
            contact, rows = self._surface(frame) if self.problem.sole else self._point(frame)
            _damped("contact", contact, rows)
            contact.setReference(self._pose(frame))
            self.formulation.addRigidContact(contact, id_cases.REGULARIZATION)
            self.kept.append(contact)

    def _surface(self, frame: str) -> tuple[tsid.Contact6d, int]:
        x, y = 0.5 * np.array(self.problem.sole)
        points = np.array([[-x, -x, x, x], [-y, y, -y, y], [0.0, 0.0, 0.0, 0.0]])
        force = (id_cases.NORMAL, id_cases.FRICTION, *self.problem.force)
        return tsid.Contact6d(f"contact {frame}", self.robot, frame, points, *force), 6

    def _point(self, frame: str) -> tuple[tsid.ContactPoint, int]:
        force = (id_cases.NORMAL, id_cases.FRICTION, *self.problem.force)
        contact = tsid.ContactPoint(f"contact {frame}", self.robot, frame, *force)
        contact.useLocalFrame(False)  # else the normal turns with the lower leg
        return contact, 3

    def _tasks(self) -> None:
        for frame in self.problem.hands:
            held = tsid.TrajectorySE3Constant(f"place {frame}", self._pose(frame))
            self._add(tsid.TaskSE3Equality(f"hold {frame}", self.robot, frame), "hand", 6, held.computeNext())
        posture = tsid.TrajectoryEuclidianConstant("posture", self.start[7:]).computeNext()
        self._add(tsid.TaskJointPosture("posture", self.robot), "posture", self.robot.na, posture)
        self.com, self.sample = tsid.TaskComEquality("com", self.robot), tsid.TrajectorySample(3)
        self._add(self.com, "com", 3, self.sample)

    def _add(self, task: Any, kind: str, rows: int, sample: tsid.TrajectorySample) -> None:
        _damped(kind, task, rows)
        task.setReference(sample)
        self.formulation.addMotionTask(task, id_cases.WEIGHTS[kind], 1, 0.0)
        self.kept.append(task)

    def _bounds(self) -> None:
        joints = slice(self.model.nv - self.robot.na, None)
        effort, velocity = self.model.effortLimit[joints].copy(), self.model.velocityLimit[joints].copy()
        effort = effort if self.problem.effort is None else np.full_like(effort, self.problem.effort)
        velocity = velocity if self.problem.velocity is None else np.full_like(velocity, self.problem.velocity)
        torques = tsid.TaskActuationBounds("torque bounds", self.robot)
        torques.setBounds(-effort, effort)
        self.formulation.addActuationTask(torques, 1.0, 0, 0.0)
        speeds = tsid.TaskJointBounds("velocity bounds", self.robot, id_cases.DT)
        speeds.setVelocityBounds(-velocity, velocity)
        self.formulation.addMotionTask(speeds, 1.0, 0, 0.0)
        self.kept += [torques, speeds]

    def _pose(self, frame: str) -> pin.SE3:
        return self.robot.framePosition(self.formulation.data(), self.model.getFrameId(frame))

    def state(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        self.now = (t, q, v)

    def tick(self, target: Target) -> None:
        sample, formulation = self.sample, self.formulation
        sample.value(target.position)
        sample.derivative(target.velocity)
        sample.second_derivative(target.acceleration)
        self.com.setReference(sample)
        self.solution = self.solver.solve(formulation.computeProblemData(*self.now))
        self.torques = formulation.getActuatorForces(self.solution)

    def acceleration(self) -> np.ndarray:
        if self.solution.status != 0:
            raise RuntimeError(f"TSID found no solution, status {self.solution.status}")
        return self.formulation.getAccelerations(self.solution)


def _damped(kind: str, task: Any, rows: int) -> None:
    """Critically damped gains."""
    rate = id_cases.RATES[kind]
    task.setKp(np.full(rows, rate * rate))
    task.setKd(np.full(rows, 2.0 * rate))


def talos_id() -> dict[str, Any]:
    return id_cases.measure(TsidDynamics(id_cases.TALOS), id_cases.TALOS)


def solo12_id() -> dict[str, Any]:
    return id_cases.measure(TsidDynamics(id_cases.SOLO12), id_cases.SOLO12)


if __name__ == "__main__":
    sys.exit(cases.main("tsid", {"talos-id": talos_id, "solo12-id": solo12_id}))
