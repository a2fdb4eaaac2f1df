"""The rows of a tick at torque level in one compiled call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sot.closed_loop import ClosedLoop
from sot.contact import Contact
from sot.entry import Entry, Tick
from sot.kernels import torques as kernel
from sot.laws import Friction, Unactuated
from sot.motors import LimitsMotors
from sot.problem import Problem
from sot.tables import Boxes, Lines, Postures

if TYPE_CHECKING:
    from sot.dynamics import Dynamics
    from sot.plan import Block


class CompiledDynamics:
    """What one compiled call writes: the equation of motion, tables of tasks, bounds on torques, friction cones."""

    def __init__(self, dynamics: Dynamics, lines: Lines, problem: Problem) -> None:
        self.dynamics, self._problem = dynamics, problem
        model = dynamics.model
        self._views = model.views_of_dynamics()
        self._roots = model.root_joints()
        self._constants = np.zeros(kernel.CONSTANTS)
        self._constants[: kernel.COM_DRIFT] = model.mass, dynamics.unit, *model.gravity
        self._bounded: list[tuple[Entry, slice]] = []  # whose bounds change from tick to tick, and its motors
        self._motors, self._torques = np.zeros((0, 2), dtype=np.int64), np.zeros((0, kernel.MOTOR))
        by_python = (contact for contact in dynamics.contacts if contact not in lines.tasks)
        self._by_python: list[Contact | ClosedLoop] = [*by_python, *dynamics.loops]

    def takes(self, block: Block) -> bool:
        """Rows that only pick torques of joints, and cones, which never change."""
        if isinstance(block.entry, Friction):
            cone = self.dynamics.cone(block.entry.contact)
            self._problem.A[block.rows] = block.scale * cone.A
            self._problem.lower[block.rows] = block.scale * cone.lower
            self._problem.upper[block.rows] = block.scale * cone.upper
            return True
        if not block.entry.limits_motors or self.dynamics.geared:
            return False
        self._add_motors(block)
        return True

    def _add_motors(self, block: Block) -> None:
        tick = Tick(0.0, 1e-3, np.zeros(self.dynamics.model.nv), self.dynamics.contacts)
        rows = block.entry.dynamic_rows(self.dynamics.model, tick)
        start, count = len(self._motors), rows.lower.size
        table = np.zeros((count, kernel.MOTOR))
        table[:, kernel.LOWER], table[:, kernel.UPPER], table[:, kernel.SCALE] = rows.lower, rows.upper, block.scale
        if isinstance(block.entry, LimitsMotors):  # the kernel knows how they fall with speed
            curve = block.entry.motors
            table[:, kernel.LOWER], table[:, kernel.UPPER] = -curve.limit, curve.limit
            table[:, kernel.CORNER], table[:, kernel.SLOPE] = curve.corner, curve.slope
        elif not isinstance(block.entry, Unactuated):
            self._bounded.append((block.entry, slice(start, start + count)))
        motors = np.column_stack([np.arange(block.rows.start, block.rows.stop), np.argmax(rows.A, axis=1)])
        self._motors, self._torques = np.vstack([self._motors, motors]), np.vstack([self._torques, table])

    def fill(self, problem: Problem, AT: np.ndarray, lines: Lines, postures: Postures, boxes: Boxes, tick: Tick) -> int:
        dynamics = self.dynamics
        model, (twists, falls, forces, Ag, M, nle) = dynamics.model, self._views
        for entry, place in self._bounded:
            rows = entry.dynamic_rows(model, tick)
            self._torques[place, kernel.LOWER], self._torques[place, kernel.UPPER] = rows.lower, rows.upper
        for entry in self._by_python:
            dynamics.put_forces(entry, tick)
        return kernel.fill_dynamics(
            lines.table, lines.parameters, lines.targets, lines.support, self._constants, self._roots, tick.dt,
            model.q, model.v, model.world_jacobian, model.joint_placements, twists, falls, forces, model.com_view,
            Ag, M, nle, dynamics.load, self._motors, self._torques, AT, problem.lower, problem.upper,
            dynamics.torques, dynamics.bias, postures.picks, postures.goals, boxes.index, boxes.limits,
            problem.target, problem.x_lower, problem.x_upper,
        )  # fmt: skip
