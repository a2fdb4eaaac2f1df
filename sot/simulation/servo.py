"""A servo at every joint, by which a simulated robot follows velocities.

    τ = kp e + kd (v* − v),      ė = v* − v

e is how far the joint is behind what it was told: a position servo whose target moves with v*. It does not grow beyond
what the motor can make up for. Solved for the velocity at the end of a step, as `sot.simulation.actuators` does:

    τ = kp e + (kd + h kp) (v* − v⁺),      e⁺ = e + h (v* − v⁺)
"""

from __future__ import annotations

import numpy as np

from sot.joint_impedance import JointImpedance
from sot.model import Model
from sot.motors import Motors

SAG = 0.01  # rad or m by which a joint gives way at its largest torque
TIME = 0.05  # s in which it comes back
RATE = 50.0  # 1/s, of joints without a torque limit: kp is their inertia times its square


class Servo:
    """The servos of one robot."""

    def __init__(self, model: Model, motors: Motors, gains: JointImpedance | None) -> None:
        """
        Args:
            model: The robot.
            motors: What its motors can do.
            gains: kp and kd; by default a joint gives way by 0.01 rad at its largest torque, and kd = 0.05 s · kp.
        """
        columns = motors.columns
        if gains is None:
            model.update(model.robot.home, np.zeros(model.nv))
            inertia = np.diag(model.mass_matrix)[columns]
            self._kp = np.where(np.isfinite(motors.limit), motors.limit / SAG, RATE**2 * inertia)
            self._kd = TIME * self._kp
        else:
            self._kp, self._kd = (gain[columns] for gain in gains.gains(model))
        with np.errstate(divide="ignore", invalid="ignore"):
            self._most = np.where(self._kp > 0.0, motors.limit / self._kp, np.inf)
        self.start()

    def start(self) -> None:
        """Begin from where the joints are."""
        self._behind = np.zeros(self._kp.size)

    def asked(self, wanted: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
        """The torque at v⁺ = 0, and how much of v⁺ is taken from it; of every motor.

        Args:
            wanted: v* of every motor.
            h: Length of the step, s.
        """
        stiff = self._kd + h * self._kp
        return self._kp * self._behind + stiff * wanted, stiff

    def moved(self, lag: np.ndarray) -> None:
        """Add what the joints fell behind in a step, h (v* − v⁺)."""
        self._behind = np.clip(self._behind + lag, -self._most, self._most)
