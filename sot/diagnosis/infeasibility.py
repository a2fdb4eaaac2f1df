"""Infeasible is an everyday event: `controller.report()` says what clashes, and by how much."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sot.diagnosis import EntryLine, explain_tick
from sot.diagnosis.clash import Clash
from sot.diagnosis.needs import Needs
from sot.diagnosis.saved_tick import SavedTick, capture_all
from sot.solvers.status import CAPPED

if TYPE_CHECKING:
    from sot.controller import Controller

WIDTH = 110
SHOWN, LINES = 3, 12  # rows and blockers named in one sentence; clashes listed


@dataclass(frozen=True)
class Report:
    """What one tick could not do.

    While a change of the stack is blended in, this covers every version of it that takes part in the command.

    Attributes:
        time: Time of the tick, s.
        nonfinite: Entries that gave NaN or infinity.
        clashes: Hard limits and hard rows that are not kept, and hard entries that gave NaN or infinity.
        misses: Entries of later levels that get less than they ask for, which is what levels are for.
        capped: True if a solve stopped at its iteration cap or time budget.
        share: Part of the newest version of the stack in the command: below 1 while it is blended in.
        warnings: What is worth a warning about the newest version of the stack, in words.
    """

    time: float
    nonfinite: tuple[str, ...]
    clashes: tuple[Clash, ...]
    misses: tuple[Clash, ...]
    capped: bool = False
    share: float = 1.0
    warnings: tuple[str, ...] = ()

    @property
    def infeasible(self) -> bool:
        """True if something hard is not kept."""
        return bool(self.clashes)

    def __str__(self) -> str:
        blend = f", while blending: {100.0 * self.share:.0f} % new stack" if self.share < 1.0 else ""
        lines = [f"t = {self.time:.6g} s: {'infeasible' if self.infeasible else 'feasible'}{blend}"]
        lines += [_paragraph(f"warning: {text}") for text in self.warnings]
        if self.capped:
            lines.append("  the solver stopped at its iteration cap or time budget: there may be a better command")
        told = {clash.text for clash in self.clashes}
        lines += [_paragraph(_left_out(name)) for name in self.nonfinite if _left_out(name) not in told]
        lines += [_paragraph(clash.text) for clash in self.clashes[:LINES]]
        if len(self.clashes) > LINES:
            lines.append(f"  and {len(self.clashes) - LINES} more")
        if self.misses:
            lines.append("not reached on later levels:")
            lines += [_paragraph(miss.text) for miss in self.misses]
        return "\n".join(lines)


def _paragraph(text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent="    ")


def _left_out(name: str) -> str:
    return f"{name}: gave NaN or infinity, which was left out of this tick"


def report(controller: Controller) -> Report:
    """Report on the last tick of a controller."""
    *older, newest = capture_all(controller)
    result = report_tick(newest)
    for tick in reversed(older):
        result = _joined(result, report_tick(tick))
    return result


def _joined(newest: Report, older: Report) -> Report:
    """One report on two versions of the stack; what both suffer from is told once."""
    where = f"older stack, {100.0 * older.share:.0f} %: "
    return replace(
        newest,
        nonfinite=tuple(dict.fromkeys((*newest.nonfinite, *older.nonfinite))),
        clashes=newest.clashes + _others(newest.clashes, older.clashes, where),
        misses=newest.misses + _others(newest.misses, older.misses, where),
        capped=newest.capped or older.capped,
    )


def _others(known: Iterable[Clash], clashes: Iterable[Clash], where: str) -> tuple[Clash, ...]:
    texts = {clash.text for clash in known}
    return tuple(replace(clash, text=where + clash.text) for clash in clashes if clash.text not in texts)


def report_tick(tick: SavedTick) -> Report:
    """Report on a tick."""
    postures = {part.name for part in tick.parts if part.columns}
    levels = explain_tick(tick).levels
    hard = [entry for level in levels[: tick.problem.hard] for entry in level.entries]
    soft = levels[tick.problem.hard :]
    broken = [_unknown(entry.name) for entry in hard if entry.name in tick.nonfinite]
    needs = Needs(tick)
    clashes = [*broken, *tick.limit_clashes, *(_miss(entry, needs) for entry in hard if entry.misses)]
    # A posture in the metric takes what is left, and never gets it all.
    entries = [entry for level in soft for entry in level.entries if entry.name not in postures]
    misses = tuple(_miss(entry, needs) for entry in entries if entry.misses)
    return Report(tick.time, tick.nonfinite, tuple(clashes), misses, tick.outcome == CAPPED, tick.share, tick.warnings)


def _unknown(name: str) -> Clash:
    """A hard entry that gave NaN or infinity: nobody can say whether it is kept."""
    return Clash(name, (), math.nan, "", (), _left_out(name))


def _miss(entry: EntryLine, needs: Needs) -> Clash:
    amounts = [(f"{abs(amount):.3g} {unit}".rstrip(), label) for label, amount, unit in entry.misses[:SHOWN]]
    by = ", ".join(f"{amount} in {label}" for amount, label in amounts)
    rest = f" and in {len(entry.misses) - SHOWN} more" if len(entry.misses) > SHOWN else ""
    blockers = tuple(blocker.name for blocker in entry.blockers)
    text = f"{entry.name}: misses by {by}{rest}"
    if blockers:
        others = f" and {len(blockers) - SHOWN} more" if len(blockers) > SHOWN else ""
        text += f", blocked by {', '.join(blockers[:SHOWN])}{others}"
    needed = needs.of(entry.name, tuple(blocker.owner for blocker in entry.blockers))
    if needed:
        text += f"; {needs.told(needed)}"
    units = {unit for _, _, unit in entry.misses}
    labels = tuple(label for label, _, _ in entry.misses)
    return Clash(entry.name, labels, entry.residual, units.pop() if len(units) == 1 else "", blockers, text, needed)
