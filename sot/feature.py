"""What a task looks at: `Feature`, a function s(q) of the robot with its derivatives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from sot.model import Model

Value = Any  # an array, a rotation matrix or an SE3: whatever space the feature lives in


class Feature(ABC):
    """A measure s(q) of the robot, with J = ∂s/∂v and the drift J̇v.

    Values may live on a manifold: `difference` is s ⊖ s*, `integrate` is s ⊕ δ, both in the tangent space
    in which the Jacobian is expressed.
    """

    dim: int

    def setup(self, model: Model) -> None:  # noqa: B027 - optional hook, nothing to do by default
        """Look up names once. Raises a ModelError that lists the valid ones."""

    @abstractmethod
    def value(self, model: Model) -> Value:
        """s(q)."""

    @abstractmethod
    def jacobian(self, model: Model) -> np.ndarray:
        """∂s/∂v, shape (dim, nv)."""

    def drift(self, model: Model) -> np.ndarray:
        """J̇ v, shape (dim,). By default a central difference along the motion."""
        return numeric_drift(model, self.jacobian)

    def difference(self, value: Value, reference: Value) -> np.ndarray:
        """value ⊖ reference, shape (dim,)."""
        return np.atleast_1d(np.asarray(value) - np.asarray(reference))

    def integrate(self, value: Value, step: np.ndarray) -> Value:
        """value ⊕ step."""
        return np.asarray(value) + step

    def along(self, origin: Value, basis: np.ndarray) -> Callable[[np.ndarray], Value]:
        """step → origin ⊕ step, for many steps out of the span of the basis (rows, in the tangent space)."""
        return partial(self.integrate, origin)

    def as_value(self, target: object, where: str) -> Value:
        """A user's target as a value of this feature. Raises a TaskError if it cannot be one."""
        from sot.checks import vector

        # A lone number for a point in space is more likely a mistake than a shorthand.
        return vector(target, self.dim, where, repeat=False)

    def labels(self) -> list[str]:
        """A short name for each row."""
        return [str(i) for i in range(self.dim)]


def numeric_drift(model: Model, jacobian: Any, step: float = 1e-6) -> np.ndarray:
    """J̇ v ≈ (J(q ⊕ h v) − J(q ⊖ h v)) v / 2h, for features that have no closed form."""
    q, v, dynamic = model.q, model.v, model.dynamic
    model.dynamic = False  # the Jacobian is enough
    model.update(model.integrate(q, step * v), v)
    ahead = jacobian(model) @ v
    model.update(model.integrate(q, -step * v), v)
    behind = jacobian(model) @ v
    model.dynamic = dynamic
    model.update(q, v)
    return (ahead - behind) / (2.0 * step)
