"""A robot in a physics simulation: contacts, friction, motors, sensors, and what happens to it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sot.collision.obstacle import Obstacle
from sot.description import Description
from sot.simulation.actuators import Actuators
from sot.simulation.disturbances import Disturbance
from sot.simulation.engine import Touch
from sot.simulation.plant import Plant
from sot.simulation.sensors import Sense, Sensors
from sot.simulation.settings import Simulation
from sot.simulation.stepped import Stepped
from sot.state import Command, State


class Simulated(Stepped):
    """A robot that falls if it is not held up.

        robot = Simulated(load("talos"))
        run = sot.run(robot, sot.Controller(talos, stack, output="torque", dt=1e-3), duration=10.0)

    `read` is what its sensors tell, `truth` what is. Every `write` goes on by one period. A command may be torques,
    torques with stiffness and damping (`kp`, `kd`, which act at every step of the simulation), or a velocity, which a
    servo at every joint follows; see docs/simulation.md. Joints without a motor take no torque.

    Attributes:
        robot: What is simulated.
        dt: Period, s.
        settings: Everything it was told.
        engine: The physics.
    """

    name = "simulation"  # in a viewer

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
        restitution: float = 0.0,
        bodies: bool = True,
        itself: bool = True,
        actuators: Actuators | None = None,
        delay: float = 0.0,
        sensors: Sensors | None = None,
        disturbances: Sequence[Disturbance] = (),
        seed: int = 0,
    ) -> None:
        """
        Args:
            robot: What to simulate.
            dt: Period of one command, s.
            q: Configuration to start from, shape (nq,); by default home, standing on the ground as it is tilted.
            v: Velocity to start with, shape (nv,); by default none.
            ground: A floor through z = 0: True or False, or its angles about x and y, rad. By default there is one for
                robots with a free base.
            obstacles: Planes and boxes that stand or move around.
            friction: Friction coefficient of ground and obstacles.
            substeps: Steps of the simulation per command.
            restitution: Part of the speed with which contacts part again, 0 to 1.
            bodies: Let collision bodies touch things, not only feet.
            itself: Let collision bodies of the robot touch each other.
            actuators: What the motors are like; by default the robot's own, with its limits and friction.
            delay: Time from a command to its effect, s; counted in steps of the simulation, rounded up.
            sensors: What the robot tells of itself; by default exactly what is.
            disturbances: What happens to it.
            seed: Seed of all noise: equal seeds give equal runs.
        """
        super().__init__(robot, dt, q, v, Simulation(
            ground, obstacles, friction, substeps, restitution, bodies, itself,  # type: ignore[arg-type]  # a list too
            Actuators() if actuators is None else actuators, delay, Sensors() if sensors is None else sensors,
            disturbances, seed,
        ))  # fmt: skip
        start, speed = self._start, self._speed
        self.plant = Plant(robot, self.settings, start, speed, self.dt)
        self.engine = self.plant.engine
        self._sense = Sense(self._model, self.settings.sensors, start, speed, self.dt, self.settings.seed)
        self._measured = self._sense.first(start, speed, self.plant.forces)

    def read(self) -> State:
        """What the sensors tell; the same until the next `write`."""
        return self._measured.copy()

    def truth(self) -> State:
        """What is."""
        engine = self.engine
        return State(self._steps * self.dt, engine.q, engine.v, self.plant.forces).copy()

    def _advance(self, command: Command) -> None:
        self.plant.advance(command, self._steps)
        time, engine = (self._steps + 1) * self.dt, self.engine
        self._measured = self._sense.measure(time, engine.q, engine.v, self.plant.forces)

    def touches(self) -> list[Touch]:
        """What the robot touches, and with which forces, in the last step of the simulation."""
        return self.engine.touches(self.dt / self.settings.substeps)

    @property
    def ground_slopes(self) -> bool:
        """True if it was told to stand on a slope."""
        return isinstance(self.settings.ground, tuple) and any(self.settings.ground)
