"""A human hand that holds a stylus: a spring, a damper and a mass, until it lets go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sot.errors import ConfigError
from sot.reference import Reference
from sot.simulation.checked import number
from sot.wanted import Numbers

Target = Reference | Sequence[float] | Callable[[float], Sequence[float]]


@dataclass(frozen=True)
class Hand:
    """Pulls a stylus to a place: f = stiffness (target − x) + damping (d/dt target − ẋ), with its mass on the stylus.

    People hold a stylus with 100–1000 N/m and 1–20 N·s/m.

    Attributes:
        target: Where to, m, one number per axis; or a function of time, s; or a reference, such as
            `sot.sine([0.01, 0, 0], 0.5)`, which starts from where the stylus is.
        stiffness: N/m.
        damping: N·s/m.
        mass: What of the hand moves with the stylus, kg.
        release: When it lets go, s; by default never.
    """

    target: Target
    stiffness: float = 300.0
    damping: float = 5.0
    mass: float = 0.0
    release: float | None = None

    def __post_init__(self) -> None:
        for name in ("stiffness", "damping", "mass"):
            object.__setattr__(self, name, number(getattr(self, name), f"hand: {name}", zero=True))
        if self.release is not None:
            object.__setattr__(self, "release", number(self.release, "hand: release", zero=True))

    def begun(self, start: np.ndarray) -> Hand:
        """The same with a function of time in place of a reference, which begins at `start`, m, at time 0."""
        if not isinstance(self.target, Reference):
            return self
        path = self.target.start(Numbers(["x", "y", "z"][: start.size]), start, 0.0)
        return replace(self, target=lambda time: path.at(time).value)

    def at(self, time: float, size: int) -> np.ndarray:
        """The target, m, shape (size,).

        Raises:
            ConfigError: It has not so many finite numbers.
        """
        if isinstance(self.target, Reference):
            raise ConfigError("hand: target: a reference has to begin somewhere; ask the hand that `begun` gives")
        given = self.target(time) if callable(self.target) else self.target
        try:
            value = np.asarray(given, dtype=float)
        except (TypeError, ValueError):
            value = np.zeros(0)
        if value.shape != (size,) or not np.isfinite(value).all():
            raise ConfigError(f"hand: target: expected {size} finite numbers, got {given!r} at {time:g} s")
        return value

    def holds(self, time: float) -> bool:
        """Whether it has not let go yet."""
        return self.release is None or time < self.release
