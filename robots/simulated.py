"""A robot in a physics simulation: contacts, friction, motors, sensors, and what happens to it."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from sot.collision.obstacle import Obstacle
from sot.description import Description
from sot.errors import ConfigError, RobotError
from sot.model import Model
from sot.robot_checks import configuration, joint_command, number, numbers
from sot.simulation.actuators import Actuators
from sot.simulation.disturbances import Disturbance
from sot.simulation.engine import Touch
from sot.simulation.plant import Plant
from sot.simulation.sensors import Sense, Sensors
from sot.simulation.settings import Simulation
from sot.simulation.sketch import sketch
from sot.sketch import Drawing
from sot.state import Command, State

KEPT = 50  # states that come with the error of a simulation that diverges


class Simulated:
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
    can_fall = True  # whether a run looks for it

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
        if not isinstance(robot, Description):
            raise ConfigError(f"a simulated robot needs a description, as `sot.robots.load` gives it; got {robot!r}")
        self.robot, self.dt = robot, number(dt, "dt")
        floor = tuple(ground) if isinstance(ground, (Sequence, np.ndarray)) else ground
        self.settings = Simulation(
            floor, obstacles, friction, substeps, restitution, bodies, itself, actuators or Actuators(), delay,
            sensors or Sensors(), disturbances, seed,
        )  # fmt: skip
        model = Model(robot)
        start = self.settings.start(robot) if q is None else configuration(model, q)
        speed = np.zeros(model.nv) if v is None else numbers(v, model.nv, "start velocity v")
        self.plant = Plant(robot, self.settings, start, speed, self.dt)
        self.engine = self.plant.engine
        self._sense = Sense(model, self.settings.sensors, start, speed, self.dt, self.settings.seed)
        self._steps, self._closed = 0, False
        self._last: deque[State] = deque(maxlen=KEPT)
        self._measured = self._sense.first(start, speed, self.plant.forces)

    def read(self) -> State:
        """What the sensors tell; the same until the next `write`."""
        return self._measured.copy()

    def truth(self) -> State:
        """What is."""
        engine = self.engine
        return State(self._steps * self.dt, engine.q, engine.v, self.plant.forces).copy()

    def write(self, command: Command) -> None:
        """Go on by one period with a command.

        Raises:
            RobotError: The robot is closed, the command has not the right numbers (the state is then unchanged), or the
                simulation diverged: the error has the last 50 true states, oldest first, as `states`, and the robot is
                closed.
        """
        if self._closed:
            raise RobotError(f"robot '{self.robot.name}' is closed and takes no commands")
        checked = joint_command(self.engine.model, command, self._steps * self.dt, f"robot '{self.robot.name}'")
        self._last.append(self.truth())
        try:
            self.plant.advance(checked, self._steps)
        except RobotError as error:
            error.states = tuple(self._last)
            self.close()
            raise
        self._steps += 1
        engine = self.engine
        self._measured = self._sense.measure(self._steps * self.dt, engine.q, engine.v, self.plant.forces)

    def close(self) -> None:
        """Stop. May be called twice; the last state can still be read."""
        self._closed = True

    @property
    def torque(self) -> np.ndarray:
        """What the motors did in the last step, N·m or N, shape (nv,)."""
        return self.plant.drive.torque.copy()

    def touches(self) -> list[Touch]:
        """What the robot touches, and with which forces, in the last step of the simulation."""
        return self.engine.touches(self.dt / self.settings.substeps)

    @property
    def ground_slopes(self) -> bool:
        """True if it was told to stand on a slope."""
        return isinstance(self.settings.ground, tuple) and any(self.settings.ground)

    def sketch(self, model: Model) -> list[Drawing]:
        """Obstacles, contact forces and pushes, for a viewer."""
        return sketch(self.plant, self._steps * self.dt)
