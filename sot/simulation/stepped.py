"""What robots in a physics engine have in common: commands, period by period, and the states before things go wrong."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import Protocol

import numpy as np

from sot.description import Description
from sot.errors import ConfigError, RobotError
from sot.model import Model
from sot.robot_checks import configuration, joint_command, number, numbers
from sot.simulation.actuators import Drive
from sot.simulation.settings import Simulation
from sot.simulation.sketch import Drawn, sketch
from sot.sketch import Drawing
from sot.state import Command, State

KEPT = 50  # states that come with the error of a simulation that diverges


class Moved(Drawn, Protocol):
    """The robot in its world."""

    drive: Drive


class Stepped(ABC):
    """A robot that a physics engine moves by one period with every command.

    Attributes:
        robot: What is simulated.
        dt: Period, s.
        settings: Everything it was told.
    """

    can_fall = True  # whether a run looks for it

    plant: Moved

    def __init__(
        self, robot: Description, dt: float, q: np.ndarray | None, v: np.ndarray | None, settings: Simulation
    ) -> None:
        """
        Args:
            robot: What to simulate.
            dt: Period of one command, s.
            q: Configuration to start from, shape (nq,); by default home, standing on the ground as it is tilted.
            v: Velocity to start with, shape (nv,); by default none.
            settings: How.
        """
        if not isinstance(robot, Description):
            raise ConfigError(f"a simulated robot needs a description, as `sot.robots.load` gives it; got {robot!r}")
        self.robot, self.dt, self.settings = robot, number(dt, "dt"), settings
        self._model = Model(robot)
        self._start = settings.start(robot) if q is None else configuration(self._model, q)
        self._speed = np.zeros(self._model.nv) if v is None else numbers(v, self._model.nv, "start velocity v")
        self._steps, self._closed = 0, False
        self._last: deque[State] = deque(maxlen=KEPT)

    @abstractmethod
    def truth(self) -> State:
        """What is."""

    @abstractmethod
    def _advance(self, command: Command) -> None:
        """Go on by one period with a command that was checked."""

    def write(self, command: Command) -> None:
        """Go on by one period with a command.

        Raises:
            RobotError: The robot is closed, the command has not the right numbers (the state is then unchanged), or the
                simulation diverged: the error has the last 50 true states, oldest first, as `states`, and the robot is
                closed.
        """
        where = f"robot '{self.robot.name}'"
        if self._closed:
            raise RobotError(f"{where} is closed and takes no commands")
        checked = joint_command(self._model, command, self._steps * self.dt, where)
        self._last.append(self.truth())
        try:
            self._advance(checked)
        except RobotError as error:
            error.states = tuple(self._last)
            self.close()
            raise
        self._steps += 1

    def close(self) -> None:
        """Stop. May be called twice; the last state can still be read."""
        self._closed = True

    @property
    def torque(self) -> np.ndarray:
        """What the motors did in the last step, N·m or N, shape (nv,)."""
        return self.plant.drive.torque.copy()

    def sketch(self, model: Model) -> list[Drawing]:
        """Obstacles, contact forces and pushes, for a viewer."""
        return sketch(self.plant, self._steps * self.dt)
