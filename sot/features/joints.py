"""Joint space: the posture, and how far joints are from their limits."""

from __future__ import annotations

import numpy as np

from sot.checks import vector
from sot.errors import TaskError, unknown
from sot.feature import Feature
from sot.features.selection import Joints, all_joints, bounded, driven, indices, select
from sot.model import Joint, Model

HOME = "home"
MIDDLE = "middle"


class JointPosture(Feature):
    """Configuration of some joints. One row per degree of freedom, rad or m; e = q ⊖ q* and J picks the joints.

    Endless joints are (cos, sin) in q, ball joints quaternions, a free base both: differences are taken on their
    manifolds. All driven joints are meant by default; the base is one of them only if it is named.

    Attributes:
        columns: Entries of v, shape (dim,), known after `setup`.
        home: The robot's home posture of these joints.
    """

    dim = 0

    def __init__(self, joints: Joints | None = None) -> None:
        """
        Args:
            joints: Names or patterns (`arm_left_*`); by default all joints that have a motor.
        """
        self.joints = joints
        self.columns = np.zeros(0, dtype=int)

    def setup(self, model: Model) -> None:
        among = driven(model) if self.joints is None else all_joints(model)
        self._chosen = select(model, self.joints, among)
        self._model = model
        self.columns = indices(joint.v for joint in self._chosen)
        self.q_index = indices(joint.q for joint in self._chosen)
        self.dim = self.columns.size
        self.home = model.robot.home[self.q_index].copy()
        self._flat = all(joint.is_scalar for joint in self._chosen)
        self._labels = [model.velocity_names()[i] for i in self.columns]
        self._rows = np.eye(model.nv)[self.columns]

    def value(self, model: Model) -> np.ndarray:
        return model.q[self.q_index]

    def jacobian(self, model: Model) -> np.ndarray:
        return self._rows

    def drift(self, model: Model) -> np.ndarray:
        return np.zeros(self.dim)

    def difference(self, value: np.ndarray, reference: np.ndarray) -> np.ndarray:
        if self._flat:
            return value - reference
        return self._model.difference(self._whole(value), self._whole(reference))[self.columns]

    def integrate(self, value: np.ndarray, step: np.ndarray) -> np.ndarray:
        if self._flat:
            return value + step
        whole = np.zeros(self._model.nv)
        whole[self.columns] = step
        return self._model.integrate(self._whole(value), whole)[self.q_index]

    def _whole(self, value: np.ndarray) -> np.ndarray:
        """A configuration of the whole robot, with the other joints at home."""
        q = self._model.robot.home.copy()
        q[self.q_index] = value
        return q

    def as_value(self, target: object, where: str) -> np.ndarray:
        """From a posture's name, a table joint → value (the others at home), numbers per row, or a whole q."""
        if isinstance(target, str):
            return self._named(target, where)
        if isinstance(target, dict):
            return self._table(target, where)
        size = np.size(target)  # type: ignore[arg-type]  # size takes anything
        if size == self._model.nq and size != self.q_index.size:
            return self._valid(vector(target, size, where)[self.q_index], where)
        if size == self.q_index.size and not self._flat:
            return self._valid(vector(target, size, where), where)
        return self._angles(vector(target, self.dim, where), where)

    def _named(self, name: str, where: str) -> np.ndarray:
        postures = {**self._model.robot.postures, HOME: self._model.robot.home}  # an SRDF may have a home of its own
        if name not in postures:
            raise TaskError(f"{where}: {unknown('posture', name, postures)}")
        return postures[name][self.q_index].copy()

    def _table(self, table: dict[str, object], where: str) -> np.ndarray:
        value = self.home.copy()
        for name in table:
            joint = next((joint for joint in self._chosen if joint.name == name), None)
            if joint is None:
                raise TaskError(f"{where}: {unknown('joint', name, [joint.name for joint in self._chosen])}")
            place = np.isin(self.q_index, np.arange(joint.q.start, joint.q.stop))
            value[place] = self._one(joint, table[name], f"{where}: {name}")
        return self._valid(value, where)

    @staticmethod
    def _one(joint: Joint, target: object, where: str) -> np.ndarray:
        """Coordinates of one joint; an endless joint takes its angle."""
        nq, nv = joint.q.stop - joint.q.start, joint.v.stop - joint.v.start
        if np.size(target) == 1 and (nq, nv) == (2, 1):  # type: ignore[arg-type]  # size takes anything
            angle = float(vector(target, 1, where)[0])
            return np.array([np.cos(angle), np.sin(angle)])
        return vector(target, nq, where, repeat=False)

    def _angles(self, numbers: np.ndarray, where: str) -> np.ndarray:
        """One number per row, where each joint has just one."""
        if self.dim != len(self._chosen):
            raise TaskError(f"{where}: expected {self.q_index.size} numbers, the coordinates of the joints")
        pairs = zip(self._chosen, numbers, strict=True)
        return np.concatenate([self._one(joint, number, where) for joint, number in pairs])

    def _valid(self, value: np.ndarray, where: str) -> np.ndarray:
        """The value with its circles and quaternions at length one. Refuses what is far from that."""
        if self._flat:
            return value
        near = self.integrate(self.home, self.difference(value, self.home))
        if not (np.abs(near - value).max() <= 1e-3):
            raise TaskError(f"{where}: {value.tolist()} has a quaternion or a (cos, sin) that is not of length 1")
        return near

    def labels(self) -> list[str]:
        return self._labels


class JointLimitDistance(Feature):
    """How far joints are from their limits, one row per joint, rad or m:  s = (q − l) (u − q) / (u − l).

    At a limit it is zero with slope 1, and so equals the distance to the nearer limit to first order; it is
    negative outside, and largest, a quarter of the range, in the middle. Unlike min(q − l, u − q) it is smooth.
    """

    dim = 0

    def __init__(self, joints: Joints | None = None) -> None:
        """
        Args:
            joints: Names or patterns; by default all joints with two position limits.
        """
        self.joints = joints

    def setup(self, model: Model) -> None:
        chosen = select(model, self.joints, bounded(model))
        self.columns, self.q_index = indices(j.v for j in chosen), indices(j.q for j in chosen)
        self.dim = self.columns.size
        self.lower = model.pin.lowerPositionLimit[self.q_index].copy()
        self.range = model.pin.upperPositionLimit[self.q_index] - self.lower
        if not (self.range > 0.0).all():
            fixed = [j.name for j, width in zip(chosen, self.range, strict=True) if not (width > 0.0)]
            raise TaskError(f"joint limit distance: no room between the limits of {', '.join(fixed)}")
        self._labels = [joint.name for joint in chosen]
        self._rows = np.eye(model.nv)[self.columns]

    def value(self, model: Model) -> np.ndarray:
        below = model.q[self.q_index] - self.lower
        return below * (self.range - below) / self.range

    def jacobian(self, model: Model) -> np.ndarray:
        slope = 1.0 - 2.0 * (model.q[self.q_index] - self.lower) / self.range
        return slope[:, None] * self._rows

    def drift(self, model: Model) -> np.ndarray:
        return -2.0 * model.v[self.columns] ** 2 / self.range

    def as_value(self, target: object, where: str) -> np.ndarray:
        """One number for all joints, one per joint, or `middle`: as far from both limits as can be."""
        if isinstance(target, str):
            if target != MIDDLE:
                raise TaskError(f"{where}: {unknown('target', target, [MIDDLE])}, or numbers")
            return self.range / 4.0
        return vector(target, self.dim, where)

    def labels(self) -> list[str]:
        return self._labels
