"""A robot with its motors in MuJoCo: one command period in steps of MuJoCo.

The motors are those of `sot.simulation.actuators`: torque limits, joint impedance at every step, and the servo that
follows velocities. A servo is stiff. MuJoCo takes its damping into the same solve as the contacts, so it is stable.
"""

from __future__ import annotations

import numpy as np

from sot.description import Description
from sot.kernels.touch import FRICTION
from sot.model import Model
from sot.mujoco_door.build import Settings
from sot.mujoco_door.fitting import check_settings
from sot.mujoco_door.physics import Physics
from sot.simulation.actuators import Drive
from sot.simulation.settings import Simulation
from sot.state import Command


class Plant:
    """What is simulated.

    Attributes:
        engine: The robot in MuJoCo; `engine.q` and `engine.v` are the true state.
        drive: Its motors.
        scene: What stands around the robot.
        physics: Where the robot is, as our model tells.
        wrench: Generalised forces from outside in the last step, shape (nv,).
    """

    def __init__(self, robot: Description, settings: Simulation, dt: float, softness: float) -> None:
        """
        Args:
            robot: The robot.
            settings: How it is simulated.
            dt: Time from command to command, s.
            softness: Time constant of contacts and limits, in steps.
        """
        check_settings(settings)
        self.dt, self.settings = dt, settings
        self.physics, self.scene = Model(robot), settings.scene(robot)
        for disturbance in settings.disturbances:
            disturbance.check(self.physics)
        self._h = dt / settings.substeps
        motors = settings.actuators
        self.engine = Physics(
            self.physics,
            self.scene.obstacles,
            Settings(self._h, settings.friction, softness, motors.friction, motors.damping),
            bodies=settings.bodies,
        )
        self.drive = Drive(Model(robot), motors)
        self.wrench = np.zeros(self.physics.nv)

    def here(self) -> Model:
        """The robot at its state now."""
        self.physics.update(self.engine.q, self.engine.v)
        return self.physics

    def advance(self, command: Command, tick: int, outside: np.ndarray) -> None:
        """Go on by a period with a command, and with generalised forces from outside beside those of disturbances."""
        self.drive.take(command)
        count = self.settings.substeps
        for k in range(count):
            self.wrench[:] = outside
            for disturbance in self.settings.disturbances:
                disturbance.act(self, (tick + k / count) * self.dt, self._h)
            if self.settings.disturbances and self.scene.shapes.size:
                self.engine.set_friction(float(self.scene.shapes[0, FRICTION]))
            self._step()

    def _step(self) -> None:
        """A step, again with motors at their limits if they were asked for more than they can do."""
        engine, drive = self.engine, self.drive
        parts: tuple[np.ndarray, np.ndarray] | None = drive.begin(engine.q, engine.v, self._h)
        while parts is not None:
            v = engine.step(parts[0] + self.wrench, parts[1])
            parts = drive.retry(v)
        drive.finish(v, self._h)
        engine.accept()
