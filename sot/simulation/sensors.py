"""What a simulated robot tells of itself: encoders, inertial sensor, foot forces; exact, or with noise and bias."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal, get_args, get_type_hints

import numpy as np

from sot.errors import ConfigError, unknown
from sot.model import Model
from sot.simulation.checked import number, yes_or_no
from sot.simulation.estimator import Odometry
from sot.state import Imu, State


@dataclass(frozen=True)
class Sensors:
    """Sensors of a simulated robot; without arguments they are exact.

    A bias is constant in a run. It is drawn from the seed, like all noise; what is given is its standard deviation.

    Attributes:
        encoder_quantum: Step of the joint encoders, rad or m.
        encoder_noise: Standard deviation of joint positions, rad or m.
        joint_velocity: `exact`, or `difference` of two encoder readings.
        velocity_noise: Standard deviation of joint velocities, rad/s or m/s.
        base: `exact`, or `estimated` from inertial sensor, encoders and foot forces.
        imu: Tell what the inertial sensor reads.
        gyro_noise: Standard deviation, rad/s.
        gyro_bias: Standard deviation of the constant part, rad/s.
        accelerometer_noise: Standard deviation, m/s².
        accelerometer_bias: Standard deviation of the constant part, m/s².
        forces: Tell what the feet feel.
        force_noise: Standard deviation of forces, N, and of torques, a tenth of it, N·m.
    """

    encoder_quantum: float = 0.0
    encoder_noise: float = 0.0
    joint_velocity: Literal["exact", "difference"] = "exact"
    velocity_noise: float = 0.0
    base: Literal["exact", "estimated"] = "exact"
    imu: bool = False
    gyro_noise: float = 0.0
    gyro_bias: float = 0.0
    accelerometer_noise: float = 0.0
    accelerometer_bias: float = 0.0
    forces: bool = True
    force_noise: float = 0.0

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self))
        for field in fields(self):
            where, hint, value = f"sensors: {field.name}", hints[field.name], getattr(self, field.name)
            if hint is float:
                object.__setattr__(self, field.name, number(value, where, zero=True))
            elif hint is bool:
                yes_or_no(value, where)
            elif get_args(hint) and value not in get_args(hint):
                raise ConfigError(f"{where}: {unknown('value', value, get_args(hint))}")

    def check(self, model: Model) -> None:
        """Refuse sensors that a robot cannot have."""
        if (self.imu or self.base == "estimated") and model.robot.root != "free_flyer":
            what = "base" if self.base == "estimated" else "imu"
            raise ConfigError(f"sensors: {what}: robot '{model.robot.name}' has no free base that could be measured")


class Sense:
    """The sensors of one robot at work."""

    def __init__(self, model: Model, sensors: Sensors, q: np.ndarray, v: np.ndarray, dt: float, seed: int) -> None:
        """
        Args:
            model: The robot; its state is changed.
            sensors: What they are like.
            q: Configuration at the start, which an estimator is told.
            v: Velocity at the start.
            dt: Time from one reading to the next, s.
            seed: Equal seeds give equal noise.
        """
        self._model, self.sensors, self._dt = model, sensors, dt
        # One stream each: another noise, or none, of one sensor does not change the others.
        streams = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(5)]
        self._encoders, self._speeds, self._gyro, self._accelerometer, self._forces = streams
        self._gyro_bias = sensors.gyro_bias * self._gyro.standard_normal(3)
        self._accelerometer_bias = sensors.accelerometer_bias * self._accelerometer.standard_normal(3)
        sensors.check(model)
        self._imu = sensors.imu or sensors.base == "estimated"
        base = 0 if model.robot.root == "fixed" else 1
        joints = [joint for joint in model.joints.values() if joint.index > base]
        self._simple = np.array([joint.q.start for joint in joints if joint.is_scalar], dtype=int)
        self._turning = [joint.q for joint in joints if not joint.is_scalar and joint.v.stop - joint.v.start == 1]
        self._first = min((joint.v.start for joint in joints), default=model.nv)  # of v, after the base
        self._previous = self._encoded(q)
        self._linear = self._velocity_in_world(q, v)
        self._odometry = Odometry(model.robot, self._previous, v, dt) if sensors.base == "estimated" else None

    def first(self, q: np.ndarray, v: np.ndarray, forces: Mapping[str, np.ndarray]) -> State:
        """What the sensors read at the start; an estimator begins with where the base is."""
        imu = self._inertial(q, v) if self._imu else None
        return State(0.0, self._previous.copy(), v.copy(), dict(forces) if self.sensors.forces else None, imu)

    def measure(self, time: float, q: np.ndarray, v: np.ndarray, forces: Mapping[str, np.ndarray]) -> State:
        """What the sensors read after a period.

        Args:
            time: s.
            q: True configuration.
            v: True velocity.
            forces: True wrenches of the feet.
        """
        measured = self._encoded(q)
        speed = self._speed(measured, v)
        felt = self._felt(forces) if self.sensors.forces or self._odometry is not None else None
        imu = self._inertial(q, v) if self._imu else None
        self._previous = measured
        if self._odometry is not None and imu is not None and felt is not None:
            measured, speed = self._odometry.step(measured, speed, imu, felt)
        return State(time, measured, speed, felt if self.sensors.forces else None, imu)

    # -- joints ----------------------------------------------------------------------------------------

    def _encoded(self, q: np.ndarray) -> np.ndarray:
        noise, quantum = self.sensors.encoder_noise, self.sensors.encoder_quantum
        if noise == 0.0 and quantum == 0.0:
            return q.copy()
        step = np.zeros(self._model.nv)
        step[self._first :] = noise * self._encoders.standard_normal(self._model.nv - self._first)
        q = self._model.integrate(q, step)
        if quantum > 0.0:
            q[self._simple] = quantum * np.round(q[self._simple] / quantum)
            for pair in self._turning:  # joints that turn without end are cosine and sine
                angle = quantum * np.round(np.arctan2(q[pair][1], q[pair][0]) / quantum)
                q[pair] = np.cos(angle), np.sin(angle)
        return q

    def _speed(self, measured: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Velocity: that of the joints as measured, that of the base as it is."""
        speed, joints = v.copy(), slice(self._first, None)
        if self.sensors.joint_velocity == "difference":
            speed[joints] = self._model.difference(measured, self._previous)[joints] / self._dt
        if self.sensors.velocity_noise > 0.0:
            speed[joints] += self.sensors.velocity_noise * self._speeds.standard_normal(speed[joints].size)
        return speed

    # -- base and feet ---------------------------------------------------------------------------------

    def _inertial(self, q: np.ndarray, v: np.ndarray) -> Imu:
        """Angular velocity, and the mean acceleration of the last period less gravity; in the axes of the base."""
        R, linear = _rotation(q), self._velocity_in_world(q, v)
        felt = R.T @ ((linear - self._linear) / self._dt - self._model.gravity)
        self._linear = linear
        return Imu(
            v[3:6] + self._gyro_bias + self.sensors.gyro_noise * self._gyro.standard_normal(3),
            felt + self._accelerometer_bias + self.sensors.accelerometer_noise * self._accelerometer.standard_normal(3),
        )

    def _velocity_in_world(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return _rotation(q) @ v[:3] if self._imu else np.zeros(3)

    def _felt(self, forces: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        if self.sensors.force_noise == 0.0:
            return {name: wrench.copy() for name, wrench in forces.items()}
        spread = self.sensors.force_noise * np.array([1.0, 1.0, 1.0, 0.1, 0.1, 0.1])
        return {name: wrench + spread * self._forces.standard_normal(6) for name, wrench in forces.items()}


def _rotation(q: np.ndarray) -> np.ndarray:
    """Of a free base, from its unit quaternion (x, y, z, w)."""
    x, y, z, w = q[3:7]
    return np.array([
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
    ])  # fmt: skip
