"""A record in words and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sot.finger.record import Epoch, Event, Record

SHOWN = 12  # lines of a list before it is cut short
ARROWS = {1: "→", -1: "←"}
MEANING = {
    "bounce": "hit and part", "contact": "hit and stay together", "jolt": "a blow goes through", "release": "part",
    "stick": "come to rest", "slip": "break away", "turn": "slide the other way",
}  # fmt: skip


def summary(record: Record) -> str:
    """Who, how long, epochs, events, where everybody is, and the balances."""
    names = record.line.names
    lines = [f"{', '.join(names)}: {record.time[-1] - record.time[0]:g} s, {_counted(record.events)}", ""]
    lines += ["from s   to s     epoch"]
    lines += _cut([f"{e.start:<9.4f}{e.end:<9.4f}{_epoch(e)}" for e in record.epochs])
    lines += ["", *_bodies(record), "", *_balances(record)]
    return "\n".join(lines)


def table(record: Record) -> str:
    """All events, a line each."""
    lines = ["time s      event    impulse N·s  who: velocity before → after, m/s"]
    return "\n".join([*lines, *(_event(event) for event in record.events)])


def _event(event: Event) -> str:
    impulse = f"{event.impulse:<13.4g}" if event.impulse else " " * 13
    changes = ", ".join(
        f"{name} {before:.4g}" + (f" → {after:.4g}" if after != before else "")
        for name, before, after in zip(event.who, event.before, event.after, strict=True)
    )
    return f"{event.time:<12.6f}{event.kind:<9}{impulse}{changes}"


def _counted(events: Sequence[Event]) -> str:
    counts = Counter(event.kind for event in events)
    each = ", ".join(f"{count} × {MEANING[kind]}" for kind, count in counts.items())
    return f"{len(events)} events ({each})" if each else "no events"


def _epoch(epoch: Epoch) -> str:
    parts = [" + ".join(group) for group in epoch.contacts]
    if epoch.stuck:
        parts.append(f"held: {', '.join(epoch.stuck)}")
    if epoch.sliding:
        parts.append(f"sliding: {', '.join(f'{name} {ARROWS[way]}' for name, way in epoch.sliding)}")
    return "; ".join([epoch.kind, *parts])


def _cut(lines: list[str]) -> list[str]:
    if len(lines) <= SHOWN:
        return lines
    half = SHOWN // 2
    return [*lines[:half], f"… {len(lines) - 2 * half} more", *lines[-half:]]


def _bodies(record: Record) -> list[str]:
    width = max(map(len, [*record.line.names, "body"])) + 2
    lines = [f"{'body':<{width}}moved m   speed m/s"]
    for i, name in enumerate(record.line.names):
        if not record.line.walls[i]:
            ends = record.x[-1, i] - record.x[0, i], record.v[-1, i]
            moved, speed = (round(float(value), 4) + 0.0 for value in ends)  # + 0: no −0
            lines.append(f"{name:<{width}}{moved:<+10.4f}{speed:+.4f}")
    return lines


def _balances(record: Record) -> list[str]:
    p, e = record.balance.momentum, record.balance.energy
    return [
        f"momentum  {p.start:.4g} → {p.end:.4g} N·s: applied {p.applied:+.4g}, drag {p.drag:+.4g}, friction "
        f"{p.friction:+.4g}, held {p.held:+.4g}, walls {p.walls:+.4g}; off by {p.residual:.0e}",
        f"energy    {e.start:.4g} → {e.end:.4g} J: work {e.work:+.4g}, drag {-e.drag:+.4g}, friction "
        f"{-e.friction:+.4g}, impacts {-e.impacts:+.4g}; off by {e.residual:.0e}",
    ]
