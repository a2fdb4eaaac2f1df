"""A frame of a robot that carries a virtual mass: the law of `sot.virtual_mass` as rows of a stack."""

from __future__ import annotations

import numpy as np

from sot.entry import Rows, Tick
from sot.errors import TaskError
from sot.features.selection import Joints, all_joints, driven, indices, select
from sot.model import ALIGNED, Model
from sot.sketch import CALM, Colour, Line
from sot.virtual_mass import VirtualMass, rows
from sot.wrench import NONE, axes_id

ARROW = 0.005  # m per N: 20 N are as long as a hand is wide
LONGEST = 0.5  # m, of an arrow


class VirtualTool:
    """The frame, the axes in which its stiffness is given, and the joints that move it.

    Attributes:
        frame: Name of the frame.
        axes: `local`, `world`, or the name of a frame.
        joints: Names or patterns of joints; None for all with a motor that carry the frame, the base left out.
        body: Mass, damping, stiffness.
        frame_id: Index of the frame, known after `setup`.
        columns: Entries of v that move the frame, shape (n,).
        names: Names of these entries.
        force: Force and torque that moved it in the last tick, in the axes of the stiffness, shape (6,).
    """

    def __init__(self, frame: str, axes: str, joints: Joints | None, body: VirtualMass, where: str) -> None:
        self.frame, self.axes, self.joints, self.body, self._where = frame, axes, joints, body, where
        self.force = np.zeros(6)
        self.frame_id = self._axes_id = NONE

    def setup(self, model: Model) -> None:
        """Look up names."""
        self.frame_id = model.frame(self.frame)
        self._axes_id = axes_id(model, self.axes, self.frame_id)
        carrying = set(model.attachment(self.frame_id)[2])
        chain = [joint for joint in all_joints(model) if joint.v.start in carrying]
        moved = [joint for joint in driven(model) if joint in chain]
        if self.joints is None and not moved:
            raise TaskError(f"{self._where}: no joint with a motor moves the frame '{self.frame}'")
        chosen = moved if self.joints is None else select(model, self.joints, chain, self._where)
        self.columns = indices(joint.v for joint in chosen)
        names = model.velocity_names()
        self.names = [names[c] for c in self.columns]

    def turned(self, model: Model, rows: np.ndarray) -> np.ndarray:
        """Six numbers, or six rows, from the axes of the world to those of the stiffness."""
        if self._axes_id == NONE:
            return rows
        return np.matmul(model.placement(self._axes_id).rotation.T, rows.reshape(2, 3, -1)).reshape(rows.shape)

    def rows(
        self, model: Model, tick: Tick, force: np.ndarray, moving: np.ndarray | None = None
    ) -> Rows:
        """One row per joint.

        Args:
            model: The robot.
            tick: The tick.
            force: Force and torque on the tool, in the axes of the stiffness, shape (6,).
            moving: V*⁻ and V*⁺, speeds of the target over the last and the coming tick, in the axes of the world,
                shape (6, 2).
        """
        self.force = force
        period, columns = self.body.over(tick.dt), self.columns
        J = self.turned(model, model.jacobian(self.frame_id, ALIGNED).take(columns, axis=1))
        push = force * (tick.dt / self.body.mass)
        if moving is not None:
            moving = self.turned(model, moving)
        A = np.zeros((columns.size, model.nv))
        A[:, columns], b = rows(J, tick.previous[columns], push, period, moving)
        return Rows(A, b, b)

    # -- what there is to tell ------------------------------------------------------------------------

    def energy(self, model: Model, v: np.ndarray) -> float:
        """Kinetic energy of the virtual mass at a commanded velocity, J."""
        joints = v[self.columns]
        return self.body.energy(model.jacobian(self.frame_id, ALIGNED)[:, self.columns] @ joints, joints)

    def arrow(self, model: Model, name: str, force: np.ndarray, colour: Colour = CALM) -> Line:
        """A force at the tool, in the axes of the world, as an arrow of 5 mm per N and half a metre at most."""
        start = model.placement(self.frame_id).translation.copy()
        length = max(float(np.linalg.norm(force[:3])), LONGEST / ARROW)
        return Line(name, start, start + LONGEST / length * force[:3], colour, arrow=True)

    def pull(self, model: Model) -> Line:
        """The force of the last tick as an arrow."""
        R = np.eye(3) if self._axes_id == NONE else model.placement(self._axes_id).rotation
        return self.arrow(model, "force", R @ self.force[:3])
