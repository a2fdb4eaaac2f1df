"""A robot that does what it is told: velocities become motion, exactly, without dynamics."""

from __future__ import annotations

import math

import numpy as np

from sot.description import Description
from sot.errors import RobotError
from sot.model import Model
from sot.robot_checks import configuration, is_command, number, numbers
from sot.state import Command, State

LARGEST_STEP = 1e6  # m or rad in one period: beyond that, angles have no digits left


class Kinematic:
    """Simulated robot that integrates commanded velocities: q ← q ⊕ v dt at each `write`.

    On a free or planar base, and on joints that turn without end, ⊕ follows the constant velocity exactly
    (a screw motion), so there is no integration error. Only `Command.v` is used; limits are the controller's
    business.

    Args:
        robot: What to simulate.
        dt: Period of one step, s.
        q: Configuration to start from, shape (nq,); default: home.
        lag: Time constant with which the velocity follows the command, s; 0: at once.
        noise: Standard deviation of the measured configuration, rad and m, in the tangent space.
        seed: Seed of the noise: equal seeds give equal runs.
    """

    def __init__(
        self,
        robot: Description,
        dt: float = 1e-3,
        q: np.ndarray | None = None,
        *,
        lag: float = 0.0,
        noise: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.robot = robot
        self.model = Model(robot)
        self.dt = number(dt, "dt")
        self.noise = number(noise, "noise", zero=True)
        # First-order lag over one step: v ← v + (1 − e^(−dt/lag)) (command − v).
        lag = number(lag, "lag", zero=True)
        self._follow = 1.0 - math.exp(-self.dt / lag) if lag > 0.0 else 1.0
        self._rng = np.random.default_rng(seed)
        self._steps = 0
        self._closed = False
        self._q = configuration(self.model, robot.home if q is None else q)
        self._v = np.zeros(self.model.nv)
        self._measured = self._measure()

    def read(self) -> State:
        """The state now; the same until the next `write`."""
        # Counting steps, not adding periods: the time does not drift.
        return State(self._steps * self.dt, self._measured.copy(), self._v.copy())

    def write(self, command: Command) -> None:
        """Move for one period with the commanded velocity.

        Raises:
            RobotError: The robot is closed, or the velocity is not nv finite numbers. The state is then
                unchanged.
        """
        if self._closed:
            raise RobotError(f"robot '{self.robot.name}' is closed and takes no commands")
        is_command(command, f"robot '{self.robot.name}'")
        where = f"robot '{self.robot.name}': velocity command"
        wanted = numbers(command.v, self.model.nv, where)
        v = self._v + self._follow * (wanted - self._v)
        if not (np.abs(v).max() <= LARGEST_STEP / self.dt):
            raise RobotError(f"{where}: {np.abs(v).max():.3g} is too large to be followed")
        q = self.model.integrate(self._q, v * self.dt)
        self._q, self._v = q, v
        self._steps += 1
        self._measured = self._measure()

    def close(self) -> None:
        """Stop. May be called twice; the last state can still be read."""
        self._closed = True

    def _measure(self) -> np.ndarray:
        if self.noise == 0.0:
            return self._q
        return self.model.integrate(self._q, self.noise * self._rng.standard_normal(self.model.nv))
