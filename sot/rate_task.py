"""Tasks on what depends on the velocity, such as momentum: at torque level a law of first order."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from sot.entry import Entry, Rows, Tick
from sot.errors import TaskError
from sot.feature import Value
from sot.gain import Gain, as_gain, decay
from sot.model import Model
from sot.reference import Reference
from sot.task import Mask, pick
from sot.wanted import Numbers, Wanted


class RateTask(Entry):
    """Drives s(q, v) to s*: with ṡ = A v̇ + b at torque level

        A v̇ = ṡ* − λ (s − s*) − b

    The acceleration is held for a tick, so the decay is written as (1 − exp(−λ dt))/dt, exact for every dt.

    Attributes:
        feature: The space of s.
    """

    def __init__(
        self,
        space: Numbers,
        *,
        reference: Reference | Value | None,
        name: str | None,
        gain: float | Sequence[float] | Gain,
        weight: float,
        mask: Mask | None,
    ) -> None:
        self.feature = space
        super().__init__(name=name, weight=weight)
        self.wanted = Wanted(space, reference, f"{self.name}: reference")
        self.gain = gain  # type: ignore[assignment]  # the setter takes lists too
        self.mask = mask

    @property
    def reference(self) -> Reference:
        """Where s should go. May be set at any time; it takes effect at the next tick."""
        return self.wanted.reference

    @reference.setter
    def reference(self, reference: Reference | Value | None) -> None:
        self.wanted.reference = reference  # type: ignore[assignment]  # the setter takes values too

    @property
    def gain(self) -> Gain:
        """λ in 1/s. May be set at any time; it takes effect at the next tick."""
        return self._gain

    @gain.setter
    def gain(self, gain: float | Sequence[float] | Gain) -> None:
        new = as_gain(gain, f"{self.name}: gain")
        if isinstance(new, np.ndarray) and new.size != self.feature.dim:
            raise TaskError(f"{self.name}: gain: expected 1 or {self.feature.dim} numbers, got {new.size}")
        self._gain = new

    @property
    def mask(self) -> Mask | None:
        """Rows to keep."""
        return self._mask

    @mask.setter
    def mask(self, mask: Mask | None) -> None:
        self._refuse_while_running("mask")
        self._kept = pick(self.named_rows(mask), self.feature.labels(), f"{self.name}: mask")
        self._mask = mask

    def named_rows(self, mask: Mask | None) -> Mask | None:
        """Labels for a mask that is a word."""
        return mask

    @abstractmethod
    def measure(self, model: Model) -> np.ndarray:
        """s(q, v), shape (dim,)."""

    def start(self, model: Model) -> np.ndarray:
        """Where references start from."""
        return self.measure(model)

    def reset(self) -> None:
        self.wanted.reset()

    def begin(self, model: Model, tick: Tick) -> None:
        self.wanted.begin(tick.time, self.start(model))

    def wanted_rate(self, model: Model, tick: Tick) -> np.ndarray:
        """ṡ that the law asks for, averaged over the tick, shape (dim,)."""
        return self.wanted.speed(tick.dt) - decay(self.gain, self.measure(model) - self.wanted.value, tick.dt)

    def kept(self, A: np.ndarray, wanted: np.ndarray) -> Rows:
        """Rows that the mask keeps."""
        wanted = wanted[self._kept]
        return Rows(A[self._kept], wanted, wanted)

    def labels(self, count: int) -> list[str]:
        names = self.feature.labels()
        return [names[i] for i in self._kept]
