"""What an entry that misses its goal would need of contacts and motors.

The tick is solved once more, with the limits that stand in the way on a level of their own right after the entry: they
are then broken by as little as the entry's goal allows, and the forces and torques that come out are what it takes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sot.diagnosis.part import Part
from sot.diagnosis.saved_tick import SavedTick
from sot.problem import Problem
from sot.solvers.lexicographic import Lexicographic
from sot.solvers.status import CAPPED

CAP = 1000  # iterations
REACHED, HELPS = 1e-3, 0.9  # part of what it missed that an entry may still miss: its goal is reached; this helps
MORE = 1e-6  # part of its limit by which a motor has to be beyond it to be named
SHOWN = 3  # motors that are named


class Needs:
    """Asks what entries of a tick would need; equal questions are solved once."""

    def __init__(self, tick: SavedTick) -> None:
        self.tick = tick
        self._parts = {part.name: part for part in tick.parts}
        self._told: set[tuple[str, ...]] = set()
        self._known: dict[tuple[object, ...], np.ndarray | None] = {}

    def of(self, name: str, blockers: tuple[str, ...]) -> tuple[str, ...]:
        """In words, for an entry that misses.

        Args:
            name: The entry.
            blockers: Names of the entries that stand in its way.
        """
        part = self._parts[name]
        if part.motors:
            return self._motors([part], self.tick.x)
        blocking = [self._parts[other] for other in blockers if other in self._parts]
        first = [p for p in self.tick.parts if p.level <= part.level and p is not part]
        motors = [p for p in first if p.motors] if any(other.motors for other in blocking) else []
        cones = [p for p in first if p.touch] if any(other.touch for other in blocking) else []
        # If one kind of limits is enough to blame, the other is left alone.
        for giving, enough in ((motors, REACHED), (cones, REACHED), ([*motors, *cones], HELPS)):
            x = self._solved(part, giving) if giving else None
            if x is not None and self._missing(part, x) <= enough * self._missing(part, self.tick.x):
                return self._words(giving, x)
        return ()

    def told(self, needed: tuple[str, ...]) -> str:
        """What is needed as a sentence; at length only the first time."""
        if needed in self._told:
            return "for that, see above"
        self._told.add(needed)
        return "; ".join(needed)

    def _words(self, giving: list[Part], x: np.ndarray) -> tuple[str, ...]:
        contacts = [said for other in giving if other.touch for said in other.touch.words(x)]
        return (*contacts, *self._motors([other for other in giving if other.motors], x))

    def _missing(self, part: Part, x: np.ndarray) -> float:
        return float(np.linalg.norm(self.tick.problem.violation(x)[part.rows]))

    def _motors(self, parts: list[Part], x: np.ndarray) -> tuple[str, ...]:
        """Motors whose limits are broken, worst first; each is named once."""
        problem = self.tick.problem
        worst: dict[str, tuple[float, str]] = {}
        for part in parts:
            for r in range(part.start, part.stop):
                y, i = float(problem.A[r] @ x), r - part.start
                over = max(y - problem.upper[r], problem.lower[r] - y)
                limit = problem.upper[r] if y > problem.upper[r] else problem.lower[r]
                needs, has = abs(part.value(r, y)), abs(part.value(r, float(limit)))
                if over * part.factor > MORE * max(has, 1.0):
                    text = f"motor {part.labels[i]} needs {needs:.3g} {part.units[i]}, has {has:.3g} {part.units[i]}"
                    worst.setdefault(part.labels[i], (over, text))
        order = sorted(worst.values(), reverse=True)
        rest = (f"{len(order) - SHOWN} more motors are too weak",) if len(order) > SHOWN else ()
        return (*(text for _, text in order[:SHOWN]), *rest)

    def _solved(self, part: Part, giving: list[Part]) -> np.ndarray | None:
        """x with the entry's goal before the limits of those who give way; None if no answer is found."""
        hard = part.level < self.tick.problem.hard
        key = (part.level if hard else part.name, *(other.name for other in giving))
        if key not in self._known:
            problem = self._reordered(part, giving, hard)
            solver = Lexicographic(problem, problem.n_levels)
            usable = solver.solve(CAP) != CAPPED and np.isfinite(solver.x).all()
            self._known[key] = solver.x if usable else None
        return self._known[key]

    def _reordered(self, part: Part, giving: list[Part], hard: bool) -> Problem:
        """Levels before the entry; the entry, with all that is as hard as it; who gives way. The rest is left out."""
        problem, strict = self.tick.problem, self.tick.strict
        given = np.concatenate([np.arange(other.start, other.stop) for other in giving])
        before = [np.arange(problem.rows(k).start, problem.rows(k).stop) for k in range(min(part.level, strict))]
        own = problem.rows(part.level) if hard else part.rows
        kept = [np.setdiff1d(rows, given) for rows in (*before, np.arange(own.start, own.stop))]
        levels = [*(rows for rows in kept if rows.size), given]
        order = np.concatenate(levels)
        return replace(
            problem,
            A=np.asfortranarray(problem.A[order]),
            lower=problem.lower[order],
            upper=problem.upper[order],
            offsets=np.cumsum([0, *(rows.size for rows in levels)]).astype(np.int64),
            hard=1,
        )
