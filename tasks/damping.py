"""Damped least squares, for tasks that may become singular."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from sot.checks import positive
from sot.entry import Entry, Shaper, Shares
from sot.errors import TaskError, unknown
from sot.gears import Following
from sot.task import Task, is_plain

MODES = ("selective", "adaptive", "constant")
HAND_OVER = 0.2  # part of the threshold below which lower levels begin to take a direction over


class Damping(Shaper):
    """Keeps joint speeds bounded where tasks of its level become singular: v = (JᵀJ + λ²I)⁻¹ Jᵀ b.

    Along each singular direction of J the tasks get the part f = σ² / (σ² + λ²) of what they ask for. With the
    threshold ε and λ₀ at the singularity:

        selective   λᵢ = λ₀ (1 − (σᵢ/ε)²) for σᵢ < ε, else 0; each direction by itself
        adaptive    λ  = λ₀ (1 − (σ_min/ε)²) for σ_min < ε, else 0; the same for all directions
        constant    λ  = λ₀ everywhere

    Beyond the threshold the first two change nothing, to the last bit, unless limits are in the way. J is the
    Jacobian of the tasks in the space that higher levels leave, so a leg that is stretched between a foot on a higher
    level and the hip counts too. A direction that is all but lost (σ < ε/5) is handed over to the rest of the stack,
    a posture, say, which leads the robot out again.
    """

    kind = "damping"

    def __init__(
        self,
        mode: Literal["selective", "adaptive", "constant"] = "selective",
        damping: float = 0.05,
        threshold: float = 0.05,
        length: float = 1.0,
        tasks: str | Sequence[str] | None = None,
        per: Literal["level", "task"] = "level",
        limits: bool = True,
        *,
        name: str | None = None,
    ) -> None:
        """
        Args:
            mode: `selective`, `adaptive` or `constant`.
            damping: λ₀, in the unit of the singular values: rad/s of task speed per rad/s of joint speed.
            threshold: ε, the singular value from which on nothing is damped. Joint speeds are about 1/ε or 1/(2λ₀)
                of task speeds at most, whichever is more. A `constant` damping acts beyond it too.
            length: Metres that count as much as a radian.
            tasks: Names of the tasks of its level that are damped; by default all but joints that follow others.
            per: Look at the whole `level` at once, so that tasks in each other's way count as singular too (their
                rows weigh as their tasks do), or at each `task` by itself.
            limits: Damp also where limits, of joints or of distances, leave a problem that is weak; else the tasks have
                their strict optimum there, at the price of jumps.
            name: Name in reports and look-ups; by default `damping`.
        """
        super().__init__(name=name)
        if mode not in MODES:
            raise TaskError(f"{self.name}: mode: {unknown('mode', mode, MODES)}")
        if per not in ("level", "task"):
            raise TaskError(f"{self.name}: per: {unknown('choice', per, ('level', 'task'))}")
        self.mode, self.per, self.limits = mode, per, limits
        self.damping = positive(damping, f"{self.name}: damping")
        self.threshold = positive(threshold, f"{self.name}: threshold")
        self.acts_below = np.inf if mode == "constant" else self.threshold
        self.length = positive(length, f"{self.name}: length")
        self.tasks = [tasks] if isinstance(tasks, str) else None if tasks is None else list(tasks)

    def groups(self, level: Sequence[Entry]) -> list[list[Entry]]:
        present = {entry.name: entry for entry in level if isinstance(entry, Task)}
        if self.tasks is None:
            chosen = [entry for entry in present.values() if not isinstance(entry, Following)]
        else:
            chosen = [self._named(name, present) for name in self.tasks]
        return [[entry] for entry in chosen] if self.per == "task" else [list(chosen)]

    def _named(self, name: str, present: dict[str, Task]) -> Task:
        if name not in present:
            raise TaskError(f"{self.name}: tasks: {unknown('task of the level', name, present)}")
        if not is_plain(present[name]):
            raise TaskError(f"{self.name}: tasks: '{name}' has a law of its own, which cannot be damped")
        return present[name]

    def shares(self, sigma: np.ndarray) -> Shares:
        damping2 = self._squares(sigma)
        # f = σ² / (σ² + λ²), which is 1 and not 0/0 where both vanish.
        with np.errstate(invalid="ignore"):
            kept = np.where(damping2 > 0.0, sigma**2 / (sigma**2 + damping2), 1.0)
        given = np.maximum(1.0 - (sigma / (HAND_OVER * self.threshold)) ** 2, 0.0) ** 2
        return Shares(kept, given, float(np.sqrt(damping2.max(initial=0.0))))

    def at_limits(self, nearness: float) -> float:
        return self.damping * nearness if self.limits else 0.0

    def _squares(self, sigma: np.ndarray) -> np.ndarray:
        """λ² of each direction."""
        if self.mode == "constant":
            return np.full(sigma.shape, self.damping**2)
        weakness = np.maximum(1.0 - (sigma / self.threshold) ** 2, 0.0)
        if self.mode == "adaptive":
            weakness = np.full(sigma.shape, weakness.max(initial=0.0))
        return (self.damping * weakness) ** 2
