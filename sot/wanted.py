"""Numbers that a task wants and that are no function of the robot: a force, a torque, a momentum. They may move."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sot.errors import TaskError
from sot.feature import Feature, Value
from sot.model import Model
from sot.reference import Follow, Function, Reference, Target, Trajectory, as_reference


class Numbers(Feature):
    """A flat space of so many numbers. It has references as every feature has, but nothing is measured in it."""

    def __init__(self, labels: Sequence[str]) -> None:
        self._labels = list(labels)
        self.dim = len(self._labels)

    def value(self, model: Model) -> np.ndarray:
        return np.zeros(self.dim)

    def jacobian(self, model: Model) -> np.ndarray:
        return np.zeros((self.dim, model.nv))

    def labels(self) -> list[str]:
        return list(self._labels)


class Wrench(Numbers):
    """fx fy fz (N) and tx ty tz (N·m); three numbers are a force without torque."""

    def __init__(self) -> None:
        super().__init__(["fx", "fy", "fz", "tx", "ty", "tz"])

    def as_value(self, target: object, where: str) -> np.ndarray:
        listed = isinstance(target, list | tuple) or (isinstance(target, np.ndarray) and target.ndim == 1)
        if listed and len(target) == 3:  # type: ignore[arg-type]  # a list has a length
            target = [*target, 0.0, 0.0, 0.0]  # type: ignore[misc]  # and can be iterated
        return super().as_value(target, where)


class Repeated(Numbers):
    """The same, where a single number stands for all."""

    def as_value(self, target: object, where: str) -> np.ndarray:
        from sot.checks import vector

        return vector(target, self.dim, where)


class Wanted:
    """s*(t) in a flat space. A new reference starts from where the old one was.

    Attributes:
        target: The target of this tick; None before the first.
    """

    def __init__(self, space: Numbers, reference: Reference | Value, where: str) -> None:
        self.space, self._where = space, where
        self.target: Target | None = None
        self._trajectory: Trajectory | None = None
        self.reference = reference  # type: ignore[assignment]  # the setter takes values too

    @property
    def reference(self) -> Reference:
        """Where it should go. May be set at any time; it takes effect at the next tick."""
        return self._reference

    @reference.setter
    def reference(self, reference: Reference | Value) -> None:
        new = as_reference(reference, self.space, self._where)
        if not isinstance(new, Function | Follow):  # those ask foreign code
            self._start(new, self.value, 0.0)  # a target that does not fit is refused here, not in a tick
        self._reference = new
        self._trajectory = None

    @property
    def value(self) -> np.ndarray:
        """s* of this tick; zeros before the first."""
        return np.zeros(self.space.dim) if self.target is None else self.target.value

    def reset(self) -> None:
        """Forget an earlier run."""
        self._trajectory = self.target = None

    def begin(self, time: float, here: np.ndarray | None = None) -> None:
        """Move on to a time, s.

        Args:
            time: When it is.
            here: Where a reference starts from, in place of the last target.
        """
        if self._trajectory is None:
            self._trajectory = self._start(self._reference, self.value if here is None else here, time)
            self.target = self._trajectory.at(time)
        elif self._trajectory.moving:
            self.target = self._trajectory.at(time)

    def speed(self, dt: float) -> np.ndarray | float:
        """Mean of ṡ* over the coming tick, to second order in dt."""
        return 0.0 if self.target is None else self.target.velocity + 0.5 * dt * self.target.acceleration

    def _start(self, reference: Reference, value: np.ndarray, time: float) -> Trajectory:
        try:
            return reference.start(self.space, value, time)
        except TaskError as error:
            raise TaskError(f"{self._where}: {error}") from None
