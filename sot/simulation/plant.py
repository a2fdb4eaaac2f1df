"""A robot with its motors in a world where things happen: one command period in steps of the engine."""

from __future__ import annotations

from collections import deque

import numpy as np

from sot.description import Description
from sot.description.load import with_own_model
from sot.model import Model
from sot.simulation.actuators import Drive
from sot.simulation.disturbances import EARLY
from sot.simulation.engine import Engine
from sot.simulation.feet import Feet
from sot.simulation.followers import Followers
from sot.simulation.masses import check_masses
from sot.simulation.settings import Simulation
from sot.state import Command


class Plant:
    """What is simulated.

    Attributes:
        engine: The physics; `engine.q` and `engine.v` are the true state.
        scene: What stands around the robot.
        physics: The model that is simulated.
        wrench: Generalised forces from outside in the last step, shape (nv,).
        forces: Wrench of each foot in the last period; see `State.forces`.
    """

    def __init__(self, robot: Description, settings: Simulation, q: np.ndarray, v: np.ndarray, dt: float) -> None:
        """
        Args:
            robot: The robot.
            settings: How it is simulated.
            q: Configuration to start from.
            v: Velocity to start with.
            dt: Time from command to command, s.
        """
        self.dt, self.settings = dt, settings
        self._model = Model(robot)
        check_masses(self._model)
        for disturbance in settings.disturbances:
            disturbance.check(self._model)
        own = any(disturbance.changes_model for disturbance in settings.disturbances)
        simulated = with_own_model(robot) if own else robot
        self.scene, motors = settings.scene(robot), settings.actuators
        self.engine = Engine(
            simulated,
            self.scene,
            bodies=settings.bodies,
            itself=settings.itself,
            restitution=settings.restitution,
            friction=motors.friction * robot.joint_friction,
            damping=motors.damping * robot.joint_damping,
        )
        self.physics = self.engine.model
        self.drive, self._followers = Drive(self._model, motors), Followers(self._model, dt / settings.substeps)
        self.engine.q, self.engine.v = q.copy(), v.copy()
        self.wrench = np.zeros(self._model.nv)
        self._commands: deque[tuple[float, Command]] = deque()
        self._viscous = self.engine.damping.copy()
        self._moving = any(thing.moving for thing in self.scene.obstacles)
        self._feet = Feet(self.engine)
        self.forces = self._feet.forces()

    def here(self) -> Model:
        """The robot at its state now, with the controller's model: it tells where things are."""
        self._model.update(self.engine.q, self.engine.v)
        return self._model

    def advance(self, command: Command, tick: int) -> None:
        """Go on by a period with a command that is sent at its begin."""
        start, count = tick * self.dt, self.settings.substeps
        h = self.dt / count
        self._commands.append((start + self.settings.delay, command))
        self._feet.clear()
        for k in range(count):
            self._step((tick + k / count) * self.dt, h)
            self._feet.feel(self.dt)
        self.forces = self._feet.forces()

    def _step(self, time: float, h: float) -> None:
        while self._commands and self._commands[0][0] <= time + EARLY:
            self.drive.take(self._commands.popleft()[1])
        if self._moving:
            self.scene.place(time, h)
        self.wrench[:] = 0.0
        for disturbance in self.settings.disturbances:
            disturbance.act(self, time, h)
        self._drive(h)

    def _drive(self, h: float) -> None:
        """A step, again with motors at their limits if they were asked for more than they can do."""
        engine, drive = self.engine, self.drive
        outside = self.wrench + self._followers.torques(engine.q, engine.v)
        parts = drive.begin(engine.q, engine.v, h)
        start = engine.mark() if parts[1].any() else None
        while True:
            # The engine takes away D v⁺, with the velocity at the end of the step: the motors' part, and friction.
            engine.damping = self._viscous + parts[1]
            engine.step(parts[0] + outside, h)
            again = drive.retry(engine.v)
            if again is None or start is None:
                break
            parts = again
            engine.back_to(start)
        engine.damping = self._viscous
        drive.finish(engine.v, h)
