"""What a robot tells (`State`) and what it is told (`Command`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Imu:
    """What an inertial sensor at the origin of the base tells, in the base's own axes.

    Attributes:
        gyro: Angular velocity, rad/s, shape (3,).
        accelerometer: Acceleration less gravity, m/s², shape (3,): at rest it points up.
    """

    gyro: np.ndarray
    accelerometer: np.ndarray

    def copy(self) -> Imu:
        """The same with arrays of its own."""
        return Imu(self.gyro.copy(), self.accelerometer.copy())


@dataclass(frozen=True, slots=True)
class State:
    """A robot's state at one instant.

    Attributes:
        time: Seconds since the robot was started.
        q: Configuration, shape (nq,): metres, radians, unit quaternions (x, y, z, w).
        v: Velocity in the tangent space, shape (nv,): m/s and rad/s. A free-flyer's is in its own frame.
        forces: What each foot feels, by its frame: force (N) and torque about the frame's origin (N·m) on the robot, in
            the frame's own axes, shape (6,). None without such sensors.
        imu: What an inertial sensor tells; None without one.
    """

    time: float
    q: np.ndarray
    v: np.ndarray
    forces: Mapping[str, np.ndarray] | None = None
    imu: Imu | None = None

    def copy(self) -> State:
        """The same with arrays of its own: whoever changes them changes no robot."""
        forces = None if self.forces is None else {name: wrench.copy() for name, wrench in self.forces.items()}
        return State(self.time, self.q.copy(), self.v.copy(), forces, None if self.imu is None else self.imu.copy())


@dataclass(frozen=True, slots=True)
class Command:
    """What a controller asks of a robot, as a joint impedance command: τ + kp (q − q_meas) + kd (v − v_meas).

    A part that is None is not commanded. At velocity level only `v` is given, base included.

    Attributes:
        time: Time of the state it answers, in seconds.
        v: Velocity, shape (nv,), m/s and rad/s.
        q: Configuration, shape (nq,).
        tau: Joint torques, N·m (N for sliding joints).
        kp: Stiffness, N·m/rad.
        kd: Damping, N·m·s/rad.
    """

    time: float
    v: np.ndarray
    q: np.ndarray | None = None
    tau: np.ndarray | None = None
    kp: np.ndarray | None = None
    kd: np.ndarray | None = None
