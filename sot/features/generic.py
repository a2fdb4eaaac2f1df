"""A feature from a user's own functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sot.checks import vector
from sot.errors import TaskError
from sot.feature import Feature, Value
from sot.model import Model

Function = Callable[[Model], "np.ndarray | float"]


class Generic(Feature):
    """s(q) and J(q) as functions of the model.

        height = Generic(lambda model: model.com[2:], lambda model: model.com_jacobian[2:])
    """

    def __init__(
        self,
        value: Function,
        jacobian: Function,
        *,
        dim: int | None = None,
        drift: Function | None = None,
        difference: Callable[[Value, Value], np.ndarray] | None = None,
        integrate: Callable[[Value, np.ndarray], Value] | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        """
        Args:
            value: Model → s(q), a number or an array of shape (dim,).
            jacobian: Model → ∂s/∂v, shape (dim, nv).
            dim: Number of rows; by default as many as the Jacobian has.
            drift: Model → J̇v, shape (dim,); by default a finite difference.
            difference: (s, s*) → s ⊖ s*, for values that do not subtract plainly, such as angles.
            integrate: (s, step) → s ⊕ step, for values that do not add plainly.
            labels: A short name for each row.
        """
        for name, function in (("value", value), ("jacobian", jacobian)):
            if not callable(function):
                raise TaskError(f"generic: {name}: expected a function of the model, got {function!r}")
        self._value, self._jacobian, self._drift = value, jacobian, drift
        self._difference, self._integrate = difference, integrate
        self._labels = None if labels is None else list(labels)
        self._given = dim
        self.dim = dim or 1

    def setup(self, model: Model) -> None:
        """Call the functions once and check that their shapes belong together."""
        shape = np.shape(np.atleast_2d(self._jacobian(model)))
        self.dim = self._given or shape[0]
        if shape != (self.dim, model.nv):
            raise TaskError(f"generic: jacobian: expected shape ({self.dim}, {model.nv}), got {shape}")
        value = self.value(model)
        size = self.difference(value, value).size
        if size != self.dim:
            raise TaskError(f"generic: value: expected {self.dim} numbers, as the Jacobian has rows, got {size}")
        if len(self.labels()) != self.dim:
            raise TaskError(f"generic: labels: expected {self.dim}, got {len(self.labels())}")

    def value(self, model: Model) -> Value:
        value = self._value(model)
        return np.atleast_1d(value) if np.ndim(value) == 0 else value

    def jacobian(self, model: Model) -> np.ndarray:
        return np.atleast_2d(self._jacobian(model))

    def drift(self, model: Model) -> np.ndarray:
        return super().drift(model) if self._drift is None else np.atleast_1d(self._drift(model))

    def difference(self, value: Value, reference: Value) -> np.ndarray:
        if self._difference is None:
            return super().difference(value, reference)
        return np.atleast_1d(self._difference(value, reference))

    def integrate(self, value: Value, step: np.ndarray) -> Value:
        return super().integrate(value, step) if self._integrate is None else self._integrate(value, step)

    def as_value(self, target: object, where: str) -> Value:
        # Only the user knows what a value on a space of its own looks like.
        return target if self._difference is not None else vector(target, self.dim, where, repeat=False)

    def labels(self) -> list[str]:
        return self._labels or super().labels()
