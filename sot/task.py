"""Tasks: `e = s(q) − s*` driven to zero."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence

import numpy as np

from sot.entry import Entry, Rows, Tick
from sot.errors import TaskError, unknown
from sot.feature import Feature, Value, numeric_drift
from sot.gain import Gain, as_gain, decay, decay_twice
from sot.model import Model
from sot.reference import Follow, Function, Reference, Target, Trajectory, as_reference, hold

Mask = Sequence[bool] | Sequence[str] | str


class Task(Entry):
    """Drives an error to zero: J v = −λ e + ṡ*.

    A task of your own needs two methods, `error` and `jacobian`:

        class Height(sot.Task):
            kind = "height"

            def error(self, model):
                return model.com[2:] - 0.8

            def jacobian(self, model):
                return model.com_jacobian[2:]
    """

    kind = "task"

    def __init__(
        self,
        *,
        name: str | None = None,
        gain: float | Sequence[float] | Gain = 5.0,
        weight: float = 1.0,
        mask: Mask | None = None,
    ) -> None:
        """
        Args:
            name: Name in reports and look-ups.
            gain: λ in 1/s: one number, one per row, an AdaptiveGain or a PD.
            weight: Importance against the other tasks of the same level.
            mask: Rows to keep: a boolean per row, or the labels of the rows ("xz", ["x", "z"]).
        """
        super().__init__(name=name, weight=weight)
        self.picked: np.ndarray | None = None  # indices of the rows the mask keeps; None before setup
        self._dim: int | None = None  # number of rows before masking; None before setup
        self.gain = gain  # type: ignore[assignment]  # the setter takes lists too
        self.mask = mask

    @property
    def gain(self) -> Gain:
        """λ in 1/s. May be set at any time; it takes effect at the next tick."""
        return self._gain

    @gain.setter
    def gain(self, gain: float | Sequence[float] | Gain) -> None:
        new = as_gain(gain, f"{self.name}: gain")
        if self.picked is not None:
            self._fit_gain(new)
        self._gain = new
        if self.owner is not None:
            self.owner.gains_changed()

    @property
    def mask(self) -> Mask | None:
        """Rows to keep."""
        return self._mask

    @mask.setter
    def mask(self, mask: Mask | None) -> None:
        self._refuse_while_running("mask")
        self._mask = mask

    @abstractmethod
    def error(self, model: Model) -> np.ndarray:
        """e, shape (dim,)."""

    @abstractmethod
    def jacobian(self, model: Model) -> np.ndarray:
        """∂e/∂v, shape (dim, nv)."""

    def drift(self, model: Model) -> np.ndarray:
        """J̇ v, shape (dim,)."""
        return numeric_drift(model, self.jacobian)

    def bounded(self, error: np.ndarray) -> np.ndarray:
        """What of an error is driven to zero: all of it."""
        return error

    def feedforward(self, tick: Tick) -> np.ndarray | float:
        """ṡ*, the speed of the target averaged over the tick, shape (dim,)."""
        return 0.0

    def setup(self, model: Model) -> None:
        self._fit(np.atleast_1d(self.error(model)).size)

    def _fit(self, dim: int) -> None:
        """Check mask and gain against the number of rows."""
        self._dim = dim
        self.picked = pick(self.mask, self.row_labels(dim), f"{self.name}: mask")
        self._fit_gain(self.gain)

    def _fit_gain(self, gain: Gain) -> None:
        if isinstance(gain, np.ndarray) and gain.size != self._dim:
            raise TaskError(f"{self.name}: gain: expected 1 or {self._dim} numbers, got {gain.size}")

    def target_motion(self, tick: Tick) -> tuple[np.ndarray | float, np.ndarray | float]:
        """ṡ* and s̈* at the tick, each of shape (dim,)."""
        return self.feedforward(tick), 0.0

    def rows(self, model: Model, tick: Tick) -> Rows:
        return self._kept_rows(self.rows_of_all(model, tick))

    def dynamic_rows(self, model: Model, tick: Tick) -> Rows:
        return self._kept_rows(self.dynamic_rows_of_all(model, tick))

    def rows_of_all(self, model: Model, tick: Tick) -> Rows:
        """J v = ṡ* − λ e, before masking."""
        error, jacobian = as_rows(self.error(model), 1), as_rows(self.jacobian(model), 2)
        wanted = self.feedforward(tick) - decay(self.gain, self.bounded(error), tick.dt)
        return Rows(jacobian, wanted, wanted)

    def dynamic_rows_of_all(self, model: Model, tick: Tick) -> Rows:
        """J v̇ = s̈* − Kp e − Kd ė − J̇v, before masking."""
        error, jacobian = as_rows(self.error(model), 1), as_rows(self.jacobian(model), 2)
        velocity, acceleration = self.target_motion(tick)
        # v is what led here in the last period, so it is compared with the target's speed in the middle of that.
        rate = jacobian @ model.v - (velocity - 0.5 * tick.dt * acceleration)
        wanted = acceleration - decay_twice(self.gain, self.bounded(error), rate, tick.dt) - self.drift(model)
        return Rows(jacobian, wanted, wanted)

    def _kept_rows(self, rows: Rows) -> Rows:
        if self._dim is not None and rows.lower.shape != (self._dim,):
            raise TaskError(f"{self.name}: the error has shape {rows.lower.shape}, but it had {self._dim} rows before")
        if self.picked is None or self.picked.size == rows.lower.size:
            return rows
        wanted = rows.lower[self.picked]
        return Rows(rows.A[self.picked], wanted, wanted)

    def row_labels(self, dim: int) -> list[str]:
        """A short name for each row before masking."""
        return [str(i) for i in range(dim)]

    @property
    def kept(self) -> np.ndarray:
        """Indices of the rows that the mask keeps. Known after `setup`."""
        if self.picked is None:
            raise TaskError(f"{self.name}: has not been set up by a controller yet")
        return self.picked

    def labels(self, count: int) -> list[str]:
        """Names of the rows that the mask keeps."""
        if self.picked is None:
            return super().labels(count)
        names = self.row_labels(int(self.picked.max(initial=0)) + 1)
        return [names[i] for i in self.picked]


class FeatureTask(Task):
    """A task made of a feature and a reference: e = s(q) ⊖ s*(t)."""

    kind = "feature"

    def __init__(
        self,
        feature: Feature,
        *,
        reference: Reference | Value | None = None,
        name: str | None = None,
        gain: float | Sequence[float] | Gain = 5.0,
        weight: float = 1.0,
        mask: Mask | None = None,
    ) -> None:
        """
        Args:
            feature: What is measured.
            reference: Where it should go: a value, or a reference such as `sot.move(...)`. By default it
                stays where it is when the task becomes active.
            name: Name in reports and look-ups.
            gain: λ in 1/s: one number, one per row, an AdaptiveGain or a PD.
            weight: Importance against the other tasks of the same level.
            mask: Rows to keep.
        """
        self.feature = feature
        super().__init__(name=name, gain=gain, weight=weight, mask=mask)
        self._trajectory: Trajectory | None = None
        self.target: Target | None = None
        self.reference = reference  # type: ignore[assignment]  # the setter takes values too

    @property
    def reference(self) -> Reference:
        """Where the feature should go. May be set at any time; it takes effect at the next tick."""
        return self._reference

    @reference.setter
    def reference(self, reference: Reference | Value | None) -> None:
        new = hold() if reference is None else as_reference(reference, self.feature, self.name)
        if self.target is not None and not isinstance(new, Function | Follow):  # those ask foreign code
            self._start(new, self.target.value, 0.0)  # a target that does not fit is refused here, not in a tick
        self._reference = new
        self._trajectory = None

    def _start(self, reference: Reference, value: Value, time: float) -> Trajectory:
        try:
            return reference.start(self.feature, value, time)
        except TaskError as error:
            raise TaskError(f"{self.name}: {error}") from None

    def setup(self, model: Model) -> None:
        self.feature.setup(model)
        self._fit(self.feature.dim)

    def reset(self) -> None:
        self._trajectory = self.target = None

    def begin(self, model: Model, tick: Tick) -> None:
        if self._trajectory is None:
            self._trajectory = self._start(self._reference, self.feature.value(model), tick.time)
            self.target = self._trajectory.at(tick.time)
        elif self._trajectory.moving:
            self.target = self._trajectory.at(tick.time)

    @property
    def moving(self) -> bool:
        """True if the target may change with time."""
        return self._trajectory is None or self._trajectory.moving

    def error(self, model: Model) -> np.ndarray:
        return self.feature.difference(self.feature.value(model), self.current().value)

    def jacobian(self, model: Model) -> np.ndarray:
        return self.feature.jacobian(model)

    def drift(self, model: Model) -> np.ndarray:
        return self.feature.drift(model)

    def feedforward(self, tick: Tick) -> np.ndarray:
        # The mean speed over the coming tick, to second order in dt: ṡ*(t + dt/2).
        target = self.current()
        return target.velocity + 0.5 * tick.dt * target.acceleration

    def target_motion(self, tick: Tick) -> tuple[np.ndarray, np.ndarray]:
        target = self.current()
        return target.velocity, target.acceleration

    def current(self) -> Target:
        """The target of this tick."""
        if self.target is None:
            raise TaskError(f"{self.name}: has no target yet; it gets one at the first tick of a controller")
        return self.target

    def row_labels(self, dim: int) -> list[str]:
        return self.feature.labels()


def is_plain(entry: Entry) -> bool:
    """True for a task whose rows are those of its Jacobian; one with a law of its own may have others."""
    return isinstance(entry, Task) and type(entry).rows is Task.rows


def as_rows(value: np.ndarray | float, ndim: int) -> np.ndarray:
    """What a task gave, as an array of so many dimensions."""
    if type(value) is np.ndarray and value.ndim == ndim:
        return value
    return np.atleast_1d(value) if ndim == 1 else np.atleast_2d(value)


def pick(mask: Mask | None, labels: list[str], where: str) -> np.ndarray:
    """Indices of the rows that a mask keeps."""
    if mask is None:
        return np.arange(len(labels))
    if not isinstance(mask, Iterable):
        raise TaskError(f"{where}: expected {len(labels)} booleans or some of {', '.join(labels)}; got {mask!r}")
    chosen = [mask] if isinstance(mask, str) and mask in labels else list(mask)
    if all(isinstance(label, str) for label in chosen):
        for label in chosen:
            if label not in labels:
                raise TaskError(f"{where}: {unknown('row', label, labels)}")
        picked = np.array(sorted({labels.index(str(label)) for label in chosen}), dtype=int)
    elif len(chosen) == len(labels):
        picked = np.flatnonzero(np.array(chosen, dtype=bool))
    else:
        raise TaskError(f"{where}: expected {len(labels)} booleans or some of {', '.join(labels)}; got {chosen}")
    if picked.size == 0:
        raise TaskError(f"{where}: keeps no row; available: {', '.join(labels)}")
    return picked
