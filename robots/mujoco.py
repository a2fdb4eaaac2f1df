"""A robot in MuJoCo: a second physics engine, to try a stack where its model is not the simulator's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sot.collision.obstacle import Obstacle
from sot.description import Description
from sot.errors import RobotError, missing
from sot.robot_checks import number, numbers
from sot.simulation.actuators import Actuators
from sot.simulation.disturbances import Disturbance
from sot.simulation.engine import Touch
from sot.simulation.settings import Simulation
from sot.simulation.stepped import Stepped
from sot.state import Command, State

if TYPE_CHECKING:
    from sot.mujoco_door.plant import Plant

class Mujoco(Stepped):
    """A robot in MuJoCo, with contacts, friction, joint limits and motors.

        robot = Mujoco(load("talos"))
        run = sot.run(robot, sot.Controller(talos, stack, output="torque", dt=1e-3), duration=10.0)

    It takes the commands of `Simulated`: torques, torques with stiffness and damping, or a velocity. `read` is the
    truth. How contacts are made is in `sot.mujoco_door.build`; see docs/mujoco.md for how the two agree.

    Attributes:
        robot: What is simulated.
        dt: Period, s.
        settings: Everything it was told.
        engine: MuJoCo: `engine.mujoco_model` and `engine.mujoco_data` are its own.
        external: Forces from outside, beside those of disturbances, until changed: N and N·m in the tangent space, on a
            free base a wrench in its own axes, shape (nv,).
    """

    name = "mujoco"  # in a viewer

    def __init__(
        self,
        robot: Description,
        dt: float = 1e-3,
        q: np.ndarray | None = None,
        v: np.ndarray | None = None,
        *,
        ground: bool | Sequence[float] | None = None,
        obstacles: Sequence[Obstacle] = (),
        friction: float = 0.7,
        substeps: int = 1,
        bodies: bool = True,
        actuators: Actuators | None = None,
        disturbances: Sequence[Disturbance] = (),
        softness: float = 1.0,
    ) -> None:
        """
        Args:
            robot: What to simulate.
            dt: Period of one command, s.
            q: Configuration to start from, shape (nq,); by default home, standing on the ground as it is tilted.
            v: Velocity to start with, shape (nv,); by default none.
            ground: A floor through z = 0: True or False, or its angles about x and y, rad. By default there is one for
                robots with a free base.
            obstacles: Planes and boxes that stand around.
            friction: Friction coefficient of ground and obstacles.
            substeps: Steps of MuJoCo per command.
            bodies: Let collision bodies touch things, not only feet.
            actuators: What the motors are like; by default the robot's own, with its limits and friction.
            disturbances: Pushes and changes of friction.
            softness: Time constant with which contacts and joint limits close, in steps of MuJoCo.
        """
        super().__init__(robot, dt, q, v, Simulation(
            ground, obstacles, friction, substeps, bodies=bodies,  # type: ignore[arg-type]  # (a list of angles too)
            actuators=Actuators() if actuators is None else actuators, disturbances=disturbances,
        ))  # fmt: skip
        self.plant = _plant(robot, self.settings, self.dt, number(softness, "softness"))
        self.engine = self.plant.engine
        self.engine.place(self._start, self._speed)
        self.external = np.zeros(self._model.nv)

    def read(self) -> State:
        """The state now; the same until the next `write`."""
        return State(self._steps * self.dt, self.engine.q.copy(), self.engine.v.copy())

    def truth(self) -> State:
        """What is: the same."""
        return self.read()

    def write(self, command: Command) -> None:
        """Go on by one period with a command, and with `external`; see `Simulated.write`."""
        self._outside = numbers(self.external, self._model.nv, f"robot '{self.robot.name}': external")
        super().write(command)

    def _advance(self, command: Command) -> None:
        self.plant.advance(command, self._steps, self._outside)

    def touches(self) -> list[Touch]:
        """What the robot touches, and with which forces, in the last step of the simulation."""
        return self.engine.touches()


def _plant(robot: Description, settings: Simulation, dt: float, softness: float) -> Plant:
    try:
        from sot.mujoco_door.plant import Plant
    except ImportError as error:
        if error.name is None or error.name.split(".")[0] != "mujoco":
            raise
        raise RobotError(missing("mujoco", "a robot in MuJoCo", "'sot[mujoco]'")) from None
    return Plant(robot, settings, dt, softness)
