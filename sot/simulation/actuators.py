"""What turns commands into torques: saturation, torque–speed curve, lag, joint impedance at the inner rate, a servo.

Stiffness and damping act on where a step of length h leads to, so they are stable for all gains and steps:

    τ = τ* + kp (q* − q − h v⁺) + kd (v* − v⁺) = held − stiff v⁺,      stiff = kd + h kp

A motor that lags gives τ ← τ + α (… − τ), α = 1 − e^(−h/lag). One that would have to give more than it can gives what
it can: the step is then tried again with that torque.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sot import limits
from sot.errors import ConfigError
from sot.joint_impedance import JointImpedance
from sot.model import Model
from sot.motors import motors
from sot.simulation.checked import number, yes_or_no
from sot.simulation.servo import Servo
from sot.state import Command

TRIES = 4  # of a step, in each of which more motors are at their limits


@dataclass(frozen=True)
class Actuators:
    """What the motors of a simulated robot are like.

    Attributes:
        limits: Torques end at the robot's limits, which fall with speed where the robot has a no-load speed.
        strength: Part of these limits that the motors really have.
        friction: Part of the robot's own dry joint friction that is there.
        damping: Part of the robot's own viscous joint friction that is there.
        lag: Time constant with which torques follow commanded ones, s; 0: at once.
        servo: Gains by which joints follow commanded velocities; by default made from the robot's torque limits.
    """

    limits: bool = True
    strength: float = 1.0
    friction: float = 1.0
    damping: float = 1.0
    lag: float = 0.0
    servo: JointImpedance | None = None

    def __post_init__(self) -> None:
        yes_or_no(self.limits, "actuators: limits")
        for name in ("strength", "friction", "damping", "lag"):
            object.__setattr__(self, name, number(getattr(self, name), f"actuators: {name}", zero=name != "strength"))
        if self.servo is not None and not isinstance(self.servo, JointImpedance):
            raise ConfigError(f"actuators: servo: expected a sot.JointImpedance(kp=..., kd=...), got {self.servo!r}")


class Drive:
    """The motors of one robot at work.

    A command is one of three, of which the second contains the first:

        torque       τ
        impedance    τ + kp (q* − q) + kd (v* − v), anew in every sub-step
        velocity     a servo, see `sot.simulation.servo`

    A step begins with `begin`, is tried again as long as `retry` says so, and ends with `finish`.

    Attributes:
        torque: What the motors did in the last step, N·m or N, shape (nv,).
    """

    def __init__(self, model: Model, actuators: Actuators) -> None:
        """
        Args:
            model: The robot.
            actuators: What its motors are like.
        """
        self._model, self._lag = model, actuators.lag
        self._columns = np.flatnonzero(model.robot.actuated)
        none = np.full(model.nv, np.inf)
        limit = limits.efforts(model, None, None, "actuators") * actuators.strength if actuators.limits else none
        self.motors = motors(model, self._columns, limit, where="actuators")
        self._command: Command | None = None
        self.torque = np.zeros(model.nv)
        self._servo = Servo(model, self.motors, actuators.servo)

    def take(self, command: Command) -> None:
        """A command that acts from now on; it was checked before."""
        if not self._serves and is_velocity(command):
            self._servo.start()
        self._command = command

    @property
    def _serves(self) -> bool:
        """True if the servo acts: on a velocity command, and before the first command, when it holds the joints."""
        return self._command is None or is_velocity(self._command)

    def begin(self, q: np.ndarray, v: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
        """Torques at v⁺ = 0, and how much of v⁺ is taken from them, each of shape (nv,).

        Args:
            q: Configuration before the step.
            v: Velocity before the step.
            h: Length of the step, s.
        """
        self._held, self._stiff = self._asked(q, h)
        self._bounds, self._tries = self.motors.bounds(v), 1
        if self._lag > 0.0:
            follows = -np.expm1(-h / self._lag)
            self._held = follows * self._held + (1.0 - follows) * self.torque[self._columns]
            self._stiff = follows * self._stiff
        fixed = self._stiff == 0.0
        self._held = np.where(fixed, np.clip(self._held, *self._bounds), self._held)
        return self._parts()

    def _asked(self, q: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
        """`held` and `stiff` of a command, of every motor."""
        command, columns = self._command, self._columns
        if self._serves:
            return self._servo.asked(self._wanted, h)
        assert command is not None  # else the servo acts
        held = np.zeros(columns.size) if command.tau is None else command.tau[columns]
        stiff = np.zeros(columns.size)
        if command.kp is not None and command.q is not None:
            held = held + (command.kp * self._model.difference(command.q, q))[columns]
            stiff = stiff + h * command.kp[columns]
        if command.kd is not None:
            held = held + (command.kd * command.v)[columns]
            stiff = stiff + command.kd[columns]
        return held, stiff

    @property
    def _wanted(self) -> np.ndarray:
        """Velocities for the servo."""
        return np.zeros(self._columns.size) if self._command is None else self._command.v[self._columns]

    def retry(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """After a step to velocities v: None if all motors could do it, else the parts of another try."""
        torque = self._torque(v)
        low, high = self._bounds
        beyond = (self._stiff > 0.0) & ~((torque >= low - 1e-9) & (torque <= high + 1e-9))
        if self._tries == TRIES or not beyond.any():
            return None
        self._tries += 1
        self._held = np.where(beyond, np.clip(torque, low, high), self._held)
        self._stiff = np.where(beyond, 0.0, self._stiff)
        return self._parts()

    def finish(self, v: np.ndarray, h: float) -> None:
        """The step to velocities v was the last try."""
        self.torque = np.zeros(self._model.nv)
        self.torque[self._columns] = self._torque(v)
        if self._serves:
            self._servo.moved(h * (self._wanted - v[self._columns]))

    def _torque(self, v: np.ndarray) -> np.ndarray:
        return self._held - self._stiff * v[self._columns]

    def _parts(self) -> tuple[np.ndarray, np.ndarray]:
        tau, damping = np.zeros(self._model.nv), np.zeros(self._model.nv)
        tau[self._columns], damping[self._columns] = self._held, self._stiff
        return tau, damping


def is_velocity(command: Command) -> bool:
    """Whether a command has nothing but a velocity."""
    return command.tau is None and command.kp is None and command.kd is None
