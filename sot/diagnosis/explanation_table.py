"""An explanation as a table for a terminal of 110 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np

from sot.diagnosis import ActiveLimit, EntryLine, Explanation, LevelLine

WIDTH, NAME = 110, 32
SHOWN, LIMITS = 5, 15  # blockers per entry and limits that are listed


def table(explanation: Explanation) -> str:
    """The whole explanation."""
    lines = [_headline(explanation)]
    if explanation.nonfinite:
        lines += _wrap("not finite, left out: ", explanation.nonfinite)
    lines += [f"warning: {text}" for text in explanation.warnings]
    lines.append(f"level {'entry':{NAME}} rows  rank  active  residual     σ_min  σ_nonzero   damping")
    for level in explanation.levels:
        lines += _level(level)
    return "\n".join(lines + _limits(explanation))


def _headline(explanation: Explanation) -> str:
    plural = "" if explanation.iterations == 1 else "s"
    scaled = f", scaled by {explanation.scaling:.3g}" if explanation.scaling < 1.0 else ""
    blend = f", blending, {100.0 * explanation.share:.0f} % of the newest stack" if explanation.share < 1.0 else ""
    text = (
        f"t = {explanation.time:.6g} s, dt = {1e3 * explanation.dt:.4g} ms, {explanation.meaning}: "
        f"{explanation.outcome} after {explanation.iterations} iteration{plural}{scaled}{blend}"
    )
    return textwrap.fill(text, WIDTH, subsequent_indent="  ")


def _level(level: LevelLine) -> list[str]:
    """Rank, singular values and damping belong to the level and stand in its first line."""
    own = f"{_short(level.sigma_min):>8}  {_short(level.sigma_nonzero):>9}  {_short(level.damping):>8}"
    lines = []
    for i, entry in enumerate(level.entries):
        first = i == 0
        lines.append(
            f"{level.level if first else '':>5} {_cut(entry.name, NAME):{NAME}} {entry.rows or '–':>4}  "
            f"{level.rank if first else '':>4}  {entry.active or '–':>6}  {_short(entry.residual):>8}  "
            f"{own if first else ''}".rstrip()
        )
        lines += _blockers(entry) + _facts(entry)
    return lines or [f"{level.level:>5} {'(empty)':{NAME}}"]


def _blockers(entry: EntryLine) -> list[str]:
    names = [str(blocker) for blocker in entry.blockers[:SHOWN]]
    hidden = len(entry.blockers) - len(names)
    return _wrap("        blocked by ", [*names, f"and {hidden} more"] if hidden else names) if names else []


def _facts(entry: EntryLine) -> list[str]:
    said = [f"{name} {_short(fact) if isinstance(fact, float) else fact}" for name, fact in entry.facts.items()]
    return _wrap("        ", said) if said else []


def _limits(explanation: Explanation) -> list[str]:
    if not explanation.active:
        return []
    shown = explanation.active[:LIMITS]
    width = min(max(len(limit.name) for limit in shown), 66)
    lines = [f"{'active limit':{width}} {'value':>16}  multiplier  from level"]
    lines += [_limit(limit, width, explanation.strict) for limit in shown]
    hidden = len(explanation.active) - len(shown)
    return [*lines, f"and {hidden} more"] if hidden else lines


def _limit(limit: ActiveLimit, width: int, strict: int) -> str:
    level = "–" if limit.level is None else "last cost" if limit.level == strict else str(limit.level)
    value = f"{0.0 if abs(limit.value) < 1e-9 else limit.value:.4g} {limit.unit}".rstrip()
    return f"{_cut(limit.name, width):{width}} {value:>16}  {_short(limit.multiplier):>10}  {level}"


def _wrap(start: str, names: Sequence[str]) -> list[str]:
    """Names in a paragraph, with what follows the first line set in as far as the names."""
    return textwrap.wrap("; ".join(names), WIDTH, initial_indent=start, subsequent_indent=" " * len(start))


def _short(number: float) -> str:
    """At most eight characters, and no more than three digits that count."""
    if np.isnan(number):
        return "–"
    return "0" if abs(number) < 1e-12 else f"{number:.3g}" if 1e-3 <= abs(number) < 1e4 else f"{number:.1e}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
