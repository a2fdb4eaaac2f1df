"""Momentum and energy of a simulation, entry by entry: what came in, what went out, and what does not add up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sot.finger.bodies import Line
from sot.finger.impact import Blow
from sot.finger.mode import Mode
from sot.finger.motion import Stretch


@dataclass(frozen=True)
class Momentum:
    """Momentum of all bodies, and the impulses that changed it, all in N·s = kg·m/s.

    Attributes:
        start: At the start.
        end: Now.
        applied: ∫F dt.
        drag: Of viscous drag.
        friction: Of kinetic friction.
        held: Of static friction and walls on the finger's group while it is held: they take up all of F.
        walls: Of blows against walls.
    """

    start: float
    end: float
    applied: float
    drag: float
    friction: float
    held: float
    walls: float

    @property
    def residual(self) -> float:
        """Change of momentum less the sum of impulses, N·s."""
        return self.end - self.start - (self.applied + self.drag + self.friction + self.held + self.walls)


@dataclass(frozen=True)
class Energy:
    """Kinetic energy of all bodies, the work that was done on them and what was lost, all in J.

    Attributes:
        start: At the start.
        end: Now.
        work: ∫F v dt of the applied force.
        drag: Lost to drag.
        friction: Lost to kinetic friction.
        impacts: Lost in collisions.
    """

    start: float
    end: float
    work: float
    drag: float
    friction: float
    impacts: float

    @property
    def residual(self) -> float:
        """Change of energy less work plus losses, J."""
        return self.end - self.start - (self.work - self.drag - self.friction - self.impacts)


@dataclass(frozen=True)
class Balance:
    """Both balances.

    Attributes:
        momentum: N·s.
        energy: J.
    """

    momentum: Momentum
    energy: Energy


class Ledger:
    """Adds up, stretch by stretch and blow by blow."""

    def __init__(self, line: Line) -> None:
        self.line = line
        self._mass = np.where(line.walls, 0.0, line.mass)
        self._start = self._now(line.v)
        self._impulse = dict.fromkeys(("applied", "drag", "friction", "held", "walls"), 0.0)
        self._energy = dict.fromkeys(("work", "drag", "friction", "impacts"), 0.0)

    def _now(self, v: np.ndarray) -> tuple[float, float]:
        return float(self._mass @ v), float(0.5 * self._mass @ v**2)

    def add(self, mode: Mode, stretch: Stretch) -> None:
        """Take in a stretch of motion."""
        impulse, energy = self._impulse, self._energy
        impulse["applied"] += stretch.applied
        impulse["held"] -= stretch.applied if mode.finger.stuck else 0.0
        impulse["drag"] -= float(self.line.drag @ stretch.rows.d[-1])
        energy["work"] += stretch.work
        energy["drag"] += stretch.drag
        for group in mode.moving:
            friction = group.direction * float(self.line.slide[group.bodies].sum())
            impulse["friction"] -= friction * stretch.duration
            energy["friction"] += friction * float(stretch.rows.d[-1, group.first])

    def add_blow(self, blow: Blow) -> None:
        """Take in a collision."""
        walls = self.line.walls
        self._energy["impacts"] += blow.loss
        self._impulse["walls"] += float(blow.impulse[walls[:-1]].sum() - blow.impulse[walls[1:]].sum())

    def balance(self, v: np.ndarray) -> Balance:
        """The balance with the velocities of now."""
        (p0, e0), (p1, e1) = self._start, self._now(v)
        return Balance(Momentum(p0, p1, **self._impulse), Energy(e0, e1, **self._energy))
