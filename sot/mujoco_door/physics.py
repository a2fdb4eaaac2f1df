"""One robot in MuJoCo, step by step, in our coordinates."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from sot.collision.obstacle import Obstacle
from sot.errors import RobotError
from sot.model import Model
from sot.mujoco_door.build import ROBOT, Settings, build
from sot.mujoco_door.coordinates import Place, coordinates
from sot.mujoco_door.corners import corners
from sot.simulation.engine import Touch
from sot.simulation.masses import check_masses

LARGEST = 1e10  # accelerations beyond that are those of a simulation that has diverged


class Physics:
    """The physics of one robot.

    Attributes:
        mujoco_model: The robot in MuJoCo.
        mujoco_data: Its state in MuJoCo.
        q: Configuration.
        v: Velocity.
    """

    def __init__(self, model: Model, obstacles: Sequence[Obstacle], settings: Settings, *, bodies: bool = True) -> None:
        """
        Args:
            model: The robot.
            obstacles: What it can touch: planes and boxes.
            settings: Time step and contacts.
            bodies: Let its collision bodies touch, not only its feet.
        """
        check_masses(model)
        self._touching, self._obstacles = corners(model, bodies=bodies), tuple(obstacles)
        self._name = model.robot.name
        made = self.mujoco_model = build(model, self._obstacles, self._touching, settings)
        self.mujoco_data = mujoco.MjData(made)
        self.coordinates = coordinates(
            model, lambda name: Place(int(made.joint(name).qposadr[0]), int(made.joint(name).dofadr[0]))
        )
        self._step, self._damping = settings.step, np.array(made.dof_damping)
        self._columns = self.coordinates.columns()
        self.place(model.robot.home, np.zeros(model.nv))

    def place(self, q: np.ndarray, v: np.ndarray) -> None:
        """Put the robot into a state."""
        self.mujoco_data.qpos[:] = self.coordinates.positions(q)
        self.mujoco_data.qvel[:] = self.coordinates.velocities(q, v)
        self.q, self.v = np.array(q, dtype=float), np.array(v, dtype=float)

    def step(self, tau: np.ndarray, damping: np.ndarray | None = None) -> np.ndarray:
        """Velocity after a step with generalised forces τ − damping · v⁺; `accept` goes there.

        Args:
            tau: N·m, N and, on a free base, a wrench in its own axes; shape (nv,).
            damping: Of servos, beside that of the joints; N·m·s/rad or N·s/m, shape (nv,).

        Raises:
            RobotError: The simulation has diverged.
        """
        made, data = self.mujoco_model, self.mujoco_data
        data.qfrc_applied[:] = self.coordinates.forces(self.q, tau)
        made.dof_damping[:] = self._damping
        if damping is not None:
            made.dof_damping[self._columns] += damping
        # (mj_step would write a warning to a file and go on with what is not finite.)
        mujoco.mj_forward(made, data)
        if not (np.abs(data.qacc).max() < LARGEST):
            raise RobotError(
                f"robot '{self._name}': the simulation in MuJoCo diverged at t = {data.time:.6g} s, at speeds up to "
                f"{np.abs(self.v).max():.3g} and with forces up to {np.abs(tau).max():.3g}"
            )
        return self.coordinates.velocity(self.q, data.qvel + self._step * data.qacc)

    def accept(self) -> None:
        """Go where the last `step` leads: v⁺ = v + h v̇, then q⁺ = q ⊕ h v⁺."""
        made, data = self.mujoco_model, self.mujoco_data
        data.qvel += self._step * data.qacc
        mujoco.mj_integratePos(made, data.qpos, data.qvel, self._step)
        data.qacc_warmstart[:] = data.qacc
        data.time += self._step
        self.q = self.coordinates.configuration(data.qpos)
        self.v = self.coordinates.velocity(self.q, data.qvel)

    def set_friction(self, friction: float) -> None:
        """Friction coefficient of all contacts from now on."""
        self.mujoco_model.geom_friction[:, 0] = friction

    def dynamics(self) -> tuple[np.ndarray, np.ndarray]:
        """MuJoCo's mass matrix and bias forces at this state, in our coordinates."""
        made, data = self.mujoco_model, self.mujoco_data
        mujoco.mj_forward(made, data)
        M = np.zeros((made.nv, made.nv))
        for row, unit in zip(M, np.eye(made.nv), strict=True):
            mujoco.mj_mulM(made, data, row, unit)
        return self.coordinates.dynamics(self.q, self.v, M, np.array(data.qfrc_bias))

    def touches(self, dt: float | None = None) -> list[Touch]:
        """Contacts of the last step that push. Forces are known without its length, which our engine asks for."""
        return [found for i in range(self.mujoco_data.ncon) if (found := self._touch(i)) is not None]

    def _touch(self, index: int) -> Touch | None:
        contact, wrench = self.mujoco_data.contact[index], np.zeros(6)
        mujoco.mj_contactForce(self.mujoco_model, self.mujoco_data, index, wrench)
        if not wrench[0] > 0.0:
            return None
        names = [self.mujoco_model.geom(int(geom)).name for geom in contact.geom]
        # Rows of the frame are the normal, from the first geometry to the second, and two tangents.
        axes, sign = contact.frame.reshape(3, 3), 1.0
        if names[0].startswith(f"{ROBOT}/"):
            names, sign = names[::-1], -1.0
        thing, ball = names[0].split("/", 1)[1], int(names[1].split("/", 1)[1])
        force = sign * (wrench[:3] @ axes)
        return Touch(self._touching[ball].name, thing, contact.pos.copy(), sign * axes[0], float(contact.dist), force)
