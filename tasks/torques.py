"""Wanted torques of joints."""

from __future__ import annotations

import numpy as np

from sot import limits
from sot.entry import Entry, Rows, Tick
from sot.errors import TaskError
from sot.feature import Value
from sot.features.selection import Joints, driven, indices, select
from sot.limits import Limit
from sot.model import Model
from sot.reference import Reference
from sot.wanted import Repeated, Wanted

GRAVITY = 9.81  # m/s²; with the mass the unit of torque rows, see `sot.dynamics`


class _Torques(Entry):
    """τ = τ*, each row divided by what its motor can do: a share of the limit counts the same for all motors."""

    def __init__(
        self, joints: Joints | None, reference: Reference | Value, limit: Limit | None, name: str | None, weight: float
    ) -> None:
        self.joints, self.limit = joints, limit
        super().__init__(name=name, weight=weight)
        self.feature = Repeated([])  # known after setup
        self.wanted: Wanted | None = None
        self.reference = reference

    @property
    def reference(self) -> Reference | Value:
        """τ*, N·m or N. May be set at any time; it takes effect at the next tick."""
        return self._reference

    @reference.setter
    def reference(self, reference: Reference | Value) -> None:
        if self.wanted is not None:
            self.wanted.reference = reference
        self._reference = reference

    def setup(self, model: Model) -> None:
        chosen = select(model, self.joints, driven(model), f"{self.name}: joints")
        columns, names = indices(joint.v for joint in chosen), model.velocity_names()
        scale = model.mass * GRAVITY / self._strengths(model, columns)
        self._pick = scale[:, None] * np.eye(model.nv)[columns]
        self._columns, self._scale = columns, scale
        labels = [names[c] for c in columns]
        if self.wanted is None or labels != self.feature.labels():  # (set up again with each version of the stack)
            self.feature = Repeated(labels)
            self.wanted = Wanted(self.feature, self._reference, f"{self.name}: reference")

    def _strengths(self, model: Model, columns: np.ndarray) -> np.ndarray:
        """What each motor can do, N·m or N. One without a limit counts as the strongest; without any all count 1."""
        limit = limits.efforts(model, self.limit, self.joints, f"{self.name}: limit")[columns]
        known = limit[np.isfinite(limit)]
        return np.where(np.isfinite(limit), limit, known.max(initial=0.0) or 1.0)

    def reset(self) -> None:
        if self.wanted is not None:
            self.wanted.reset()

    def begin(self, model: Model, tick: Tick) -> None:
        self._known().begin(tick.time)

    def _known(self) -> Wanted:
        if self.wanted is None:
            raise TaskError(f"{self.name}: has not been set up by a controller yet")
        return self.wanted

    def rows(self, model: Model, tick: Tick) -> Rows:
        return Rows(np.zeros((0, model.nv)), np.zeros(0), np.zeros(0))

    def dynamic_rows(self, model: Model, tick: Tick) -> Rows:
        wanted = self._scale * self._known().value
        return Rows(self._pick, wanted, wanted, on="torque")

    def labels(self, count: int) -> list[str]:
        return self.feature.labels()[:count]

    def units(self, count: int) -> list[str]:
        return [""] * count


class TorqueRegularisation(_Torques):
    """Keeps torques small, or near wanted ones: min Σ ((τ − τ*)/limit)². At velocity level it asks for nothing.

    On a low level it shares what is left open, two feet that push against each other, say, so that motors have it easy.
    """

    kind = "torque_regularisation"

    def __init__(
        self,
        joints: Joints | None = None,
        limit: Limit | None = None,
        *,
        reference: Reference | Value = 0.0,
        name: str | None = None,
        weight: float = 1.0,
    ) -> None:
        """
        Args:
            joints: Names or patterns; by default all joints with a motor.
            limit: What torques are counted in, N·m or N, for all or per joint, in place of the motors' own limits.
            reference: τ*, N·m or N, one number for all or one per joint; or a reference.
            name: Name in reports and look-ups; by default `torque_regularisation`.
            weight: Importance against the other tasks of the same level.
        """
        super().__init__(joints, reference, limit, name, weight)


class JointEffort(_Torques):
    """Lets joints push with a wanted torque, or go limp with 0: τ = τ*. At velocity level it asks for nothing.

        press = JointEffort("gripper_finger_*", 15.0)

    A row per joint. Torques of gravity and motion are part of τ: a joint with τ* = 0 falls.
    """

    kind = "joint_effort"

    def __init__(
        self,
        joints: Joints,
        reference: Reference | Value,
        *,
        name: str | None = None,
        weight: float = 1.0,
    ) -> None:
        """
        Args:
            joints: Names or patterns of joints with a motor.
            reference: τ*, N·m or N, one number for all or one per joint; or a reference, which starts from zero.
            name: Name in reports and look-ups; by default `effort_<joints>`.
            weight: Importance against the other tasks of the same level.
        """
        super().__init__(joints, reference, None, name, weight)

    def default_name(self) -> str:
        return f"effort_{self.joints}" if isinstance(self.joints, str) else "joint_effort"
