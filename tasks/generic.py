"""A task from two functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sot import features
from sot.feature import Value
from sot.features.generic import Function
from sot.gain import Gain
from sot.reference import Reference
from sot.task import FeatureTask, Mask


class Generic(FeatureTask):
    """Drives a user's function of the model to a value.

        height = Generic(lambda model: model.com[2:], lambda model: model.com_jacobian[2:], reference=[0.8])

    With more than two functions, or with settings of its own, write a class: see `sot.Task`.
    """

    kind = "generic"

    def __init__(
        self,
        value: Function,
        jacobian: Function,
        *,
        dim: int | None = None,
        drift: Function | None = None,
        difference: Callable[[Value, Value], np.ndarray] | None = None,
        labels: Sequence[str] | None = None,
        reference: Reference | Value | None = None,
        name: str | None = None,
        gain: float | Sequence[float] | Gain = 5.0,
        weight: float = 1.0,
        mask: Mask | None = None,
    ) -> None:
        """
        Args:
            value: Model → s(q), a number or an array of shape (dim,).
            jacobian: Model → ∂s/∂v, shape (dim, nv).
            dim: Number of rows; by default as many as the Jacobian has.
            drift: Model → J̇v, shape (dim,); by default a finite difference.
            difference: (s, s*) → s ⊖ s*, for values that do not subtract plainly, such as angles.
            labels: A short name for each row.
            reference: The value to reach, or a reference. By default the value at the start.
            name: Name in reports and look-ups; by default `generic`.
            gain: λ in 1/s: one number, one per row, an AdaptiveGain or a PD.
            weight: Importance against the other tasks of the same level.
            mask: Rows to keep, by label or as a boolean per row.
        """
        feature = features.Generic(value, jacobian, dim=dim, drift=drift, difference=difference, labels=labels)
        super().__init__(feature, reference=reference, name=name, gain=gain, weight=weight, mask=mask)
