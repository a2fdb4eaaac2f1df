"""Gains that robots with a controller of their own at every joint are sent along with a command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sot.checks import positive
from sot.errors import ConfigError, TaskError
from sot.features.selection import driven, indices, select
from sot.model import Model

Gains = float | Sequence[float] | Mapping[str, float]


@dataclass(frozen=True)
class JointImpedance:
    """Stiffness and damping with which joints follow a command: τ + kp (q − q_meas) + kd (v − v_meas).

    A number is for every joint with a motor, a list has one for each of them in the robot's order, and a mapping goes
    by names or patterns such as `leg_*`: of several that fit the last one counts, and joints that none fits have 0.

    Attributes:
        kp: Stiffness, N·m/rad (N/m for sliding joints).
        kd: Damping, N·m·s/rad (N·s/m for sliding joints).
    """

    kp: Gains
    kd: Gains

    def __post_init__(self) -> None:
        for name in ("kp", "kd"):
            object.__setattr__(self, name, _checked(getattr(self, name), f"impedance: {name}"))

    def gains(self, model: Model) -> tuple[np.ndarray, np.ndarray]:
        """kp and kd of a robot, each of shape (nv,), 0 where there is no motor; they cannot be written to."""
        return _spread(self.kp, model, "impedance: kp"), _spread(self.kd, model, "impedance: kd")


def _checked(given: object, where: str) -> float | tuple[float, ...] | dict[str, float]:
    if isinstance(given, Mapping):
        return {str(name): positive(value, f"{where} of {name}", zero=True) for name, value in given.items()}
    if isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, str) and np.ndim(given):
        return tuple(positive(value, where, zero=True) for value in given)
    return positive(given, where, zero=True)


def _spread(given: Gains, model: Model, where: str) -> np.ndarray:
    joints, gains = driven(model), np.zeros(model.nv)
    if isinstance(given, Mapping):
        for pattern, value in given.items():
            gains[indices(joint.v for joint in select(model, pattern, joints, where))] = value
    else:
        columns = indices(joint.v for joint in joints)
        if isinstance(given, Sequence) and len(given) != columns.size:
            raise TaskError(
                f"{where}: robot '{model.robot.name}' has {columns.size} joints with a motor, got {len(given)} numbers"
            )
        gains[columns] = given
    gains.setflags(write=False)
    return gains


def checked_impedance(impedance: object, output: str) -> JointImpedance | None:
    """What a controller was given as its impedance."""
    if impedance is None or isinstance(impedance, JointImpedance):
        if impedance is not None and output != "torque":
            raise ConfigError(f"impedance: goes with torques; use output='torque', not '{output}'")
        return impedance
    raise ConfigError(f"impedance: expected a sot.JointImpedance(kp=..., kd=...), got {impedance!r}")
