"""A servo at every joint, by which a simulated robot follows velocities.

    τ = kp e + kd (v* − v),      ė = v* − v

e is how far the joint is behind what it was told: a position servo whose target moves with v*. The step solves it for
the velocity at its end, so it is stable for all gains and lengths of a step:

    τ = kp e + (kd + h kp) (v* − v⁺),      e⁺ = e + h (v* − v⁺)

A motor that would have to give more than it can gives what it can, and e grows no further than that.
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
        self.motors = motors
        columns = motors.columns
        if gains is None:
            model.update(model.robot.home, np.zeros(model.nv))
            inertia = np.diag(model.mass_matrix)[columns]
            self._kp = np.where(np.isfinite(motors.limit), motors.limit / SAG, RATE**2 * inertia)
            self._kd = TIME * self._kp
        else:
            self._kp, self._kd = (gain[columns] for gain in gains.gains(model))
        self._nv = model.nv
        self.start()

    def start(self) -> None:
        """Begin from where the joints are."""
        self._behind = np.zeros(self.motors.columns.size)
        self._free = np.ones(self.motors.columns.size, dtype=bool)  # motors that can do what the servo asks

    def begin(self, wanted: np.ndarray, v: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
        """Torques at v⁺ = 0, and how much of v⁺ is taken from them, each of shape (nv,).

        Args:
            wanted: v*, shape (nv,).
            v: Velocity before the step, shape (nv,).
            h: Length of the step, s.
        """
        columns = self.motors.columns
        self._wanted, self._bounds = wanted[columns], self.motors.bounds(v)
        self._stiff = self._kd + h * self._kp
        self._free[:] = True
        self._held = self._kp * self._behind + self._stiff * self._wanted
        return self._parts()

    def retry(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """After a step to velocities v: None if all motors could do it, else the parts of another try."""
        torque = self._torque(v)
        low, high = self._bounds
        beyond = self._free & ~((torque >= low - 1e-9) & (torque <= high + 1e-9))
        if not beyond.any():
            return None
        self._free &= ~beyond
        self._held = np.where(beyond, np.clip(torque, low, high), self._held)
        return self._parts()

    def finish(self, v: np.ndarray, h: float) -> np.ndarray:
        """Torques of the step to velocities v, shape (nv,)."""
        torque = np.zeros(self._nv)
        torque[self.motors.columns] = self._torque(v)
        behind = self._behind + h * (self._wanted - v[self.motors.columns])
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.where(self._kp > 0.0, self.motors.limit / self._kp, np.inf)
        self._behind = np.clip(behind, -most, most)
        return torque

    def _torque(self, v: np.ndarray) -> np.ndarray:
        return self._held - np.where(self._free, self._stiff * v[self.motors.columns], 0.0)

    def _parts(self) -> tuple[np.ndarray, np.ndarray]:
        tau, damping = np.zeros(self._nv), np.zeros(self._nv)
        tau[self.motors.columns] = self._held
        damping[self.motors.columns] = np.where(self._free, self._stiff, 0.0)
        return tau, damping
