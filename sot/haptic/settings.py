"""What a simulated haptic device is like, as one object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from sot.errors import ConfigError, unknown
from sot.simulation.checked import number, yes_or_no

ESTIMATES = ("window", "difference", "exact")
BOUNDS = ("passive", "stable", "off")


@dataclass(frozen=True)
class Device:
    """A haptic device: a body on sliding axes, with encoders and a force that is held for a period.

    Attributes:
        mass: Effective mass at the tip, kg.
        damping: b, viscous friction of each axis, N·s/m.
        friction: Coulomb friction of each axis, N.
        quantum: Smallest step of the encoders at the tip, m; 0 for none.
        delay: Time from a command to its effect, s; any part of a period.
        estimate: What tells the velocity: `window` (the mean over the last `window` seconds), `difference` (over the
            last period) or `exact`.
        window: s. Vendors take about 20 ms, so that their velocity is 10 ms old.
        force_limit: Largest force, N. Longer ones are shortened along their direction.
        rate_limit: Largest change of the force, N/s; none by default.
        speed_limit: Speed beyond which the device does not push the stylus, and brakes it, m/s.
        bound: Which settings are refused: those that may give out energy (`passive`), those that swing by themselves
            (`stable`), or none (`off`).
        passivity: Let the passivity controller take energy out; then it is refused what is too much for that only.
    """

    mass: float = 0.2
    damping: float = 2.0
    friction: float = 0.0
    quantum: float = 1e-5
    delay: float = 0.0
    estimate: Literal["window", "difference", "exact"] = "window"
    window: float = 0.02
    force_limit: float = 12.0
    rate_limit: float | None = None
    speed_limit: float = 1.0
    bound: Literal["passive", "stable", "off"] = "passive"
    passivity: bool = False

    def __post_init__(self) -> None:
        for name in ("mass", "window", "force_limit", "speed_limit"):
            object.__setattr__(self, name, number(getattr(self, name), name))
        for name in ("damping", "friction", "quantum", "delay"):
            object.__setattr__(self, name, number(getattr(self, name), name, zero=True))
        if self.rate_limit is not None:
            object.__setattr__(self, "rate_limit", number(self.rate_limit, "rate_limit"))
        if self.estimate not in ESTIMATES:
            raise ConfigError(unknown("estimate", self.estimate, ESTIMATES))
        if self.bound not in BOUNDS:
            raise ConfigError(unknown("bound", self.bound, BOUNDS))
        yes_or_no(self.passivity, "passivity")

    def samples(self, period: float) -> int:
        """Periods over which the velocity is a mean; 0 where it is exact."""
        if self.estimate == "exact":
            return 0
        return 1 if self.estimate == "difference" else max(int(np.round(self.window / period)), 1)
