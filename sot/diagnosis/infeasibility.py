"""Infeasible is an everyday event: `controller.report()` says what clashes, and by how much."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sot.diagnosis import EntryLine, explain_tick
from sot.diagnosis.clash import Clash
from sot.diagnosis.saved_tick import SavedTick, capture

if TYPE_CHECKING:
    from sot.controller import Controller

WIDTH = 110
SHOWN, LINES = 3, 12  # rows and blockers named in one sentence; clashes listed


@dataclass(frozen=True)
class Report:
    """What one tick could not do.

    Attributes:
        time: Time of the tick, s.
        nonfinite: Entries that gave NaN or infinity.
        clashes: Hard limits and hard rows that are not kept.
        misses: Entries of later levels that get less than they ask for, which is what levels are for.
    """

    time: float
    nonfinite: tuple[str, ...]
    clashes: tuple[Clash, ...]
    misses: tuple[Clash, ...]

    @property
    def infeasible(self) -> bool:
        """True if something hard is not kept."""
        return bool(self.clashes)

    def __str__(self) -> str:
        lines = [f"t = {self.time:.6g} s: {'infeasible' if self.infeasible else 'feasible'}"]
        for name in self.nonfinite:
            lines.append(_paragraph(f"{name}: gave NaN or infinity, which was left out of this tick"))
        lines += [_paragraph(clash.text) for clash in self.clashes[:LINES]]
        if len(self.clashes) > LINES:
            lines.append(f"  and {len(self.clashes) - LINES} more")
        if self.misses:
            lines.append("not reached on later levels:")
            lines += [_paragraph(miss.text) for miss in self.misses]
        return "\n".join(lines)


def _paragraph(text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent="    ")


def report(controller: Controller) -> Report:
    """Report on the last tick of a controller."""
    return report_tick(capture(controller))


def report_tick(tick: SavedTick) -> Report:
    """Report on a tick."""
    postures = {part.name for part in tick.parts if part.columns}
    hard, *soft = explain_tick(tick).levels
    clashes = [*tick.limit_clashes, *(_miss(entry) for entry in hard.entries if entry.misses)]
    # A posture in the metric takes what is left, and never gets it all.
    entries = [entry for level in soft for entry in level.entries if entry.name not in postures]
    misses = tuple(_miss(entry) for entry in entries if entry.misses)
    return Report(tick.time, tick.nonfinite, tuple(clashes), misses)


def _miss(entry: EntryLine) -> Clash:
    amounts = [(f"{abs(amount):.3g} {unit}".rstrip(), label) for label, amount, unit in entry.misses[:SHOWN]]
    by = ", ".join(f"{amount} in {label}" for amount, label in amounts)
    rest = f" and {len(entry.misses) - SHOWN} more rows" if len(entry.misses) > SHOWN else ""
    blockers = tuple(blocker.name for blocker in entry.blockers)
    text = f"{entry.name}: misses by {by}{rest}"
    if blockers:
        others = f" and {len(blockers) - SHOWN} more" if len(blockers) > SHOWN else ""
        text += f", blocked by {', '.join(blockers[:SHOWN])}{others}"
    units = {unit for _, _, unit in entry.misses}
    labels = tuple(label for label, _, _ in entry.misses)
    return Clash(entry.name, labels, entry.residual, units.pop() if len(units) == 1 else "", blockers, text)
