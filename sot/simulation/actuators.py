"""What turns commands into torques: saturation, torque–speed curve, lag, joint impedance at the inner rate, a servo."""

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
        self.servo = Servo(model, self.motors, actuators.servo)

    def take(self, command: Command) -> None:
        """A command that acts from now on; it was checked before."""
        if not self.serves and is_velocity(command):
            self.servo.start()
        self._command = command

    @property
    def serves(self) -> bool:
        """True if the servo acts: on a velocity command, and before the first command, when it holds the joints."""
        return self._command is None or is_velocity(self._command)

    @property
    def wanted(self) -> np.ndarray:
        """Velocity for the servo."""
        return np.zeros(self._model.nv) if self._command is None else self._command.v

    def torques(self, q: np.ndarray, v: np.ndarray, h: float) -> np.ndarray:
        """Torques of a command with torques or gains, N·m or N, shape (nv,).

        Args:
            q: Configuration.
            v: Velocity.
            h: Length of the step, s.
        """
        wanted = self._asked(q, v)
        if self._lag > 0.0:  # τ ← τ + (1 − e^(−h/lag)) (τ* − τ)
            wanted = self.torque - np.expm1(-h / self._lag) * (wanted - self.torque)
        self.torque = np.zeros(self._model.nv)
        self.torque[self._columns] = np.clip(wanted[self._columns], *self.motors.bounds(v))
        return self.torque

    def _asked(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        command = self._command
        assert command is not None  # `serves` was asked before
        tau = np.zeros(self._model.nv) if command.tau is None else command.tau.copy()
        if command.kp is not None and command.q is not None:
            tau += command.kp * self._model.difference(command.q, q)
        if command.kd is not None:
            tau += command.kd * (command.v - v)
        return tau


def is_velocity(command: Command) -> bool:
    """Whether a command has nothing but a velocity."""
    return command.tau is None and command.kp is None and command.kd is None
