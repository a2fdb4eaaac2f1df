"""A record as a picture: positions, velocities and forces over time. The door to matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sot.checks import writable
from sot.errors import ConfigError, missing
from sot.finger.record import Record

COLOURS = ("#1f6fb4", "#e07b28", "#2f9e55", "#b23a48", "#7a5ab5", "#6b6b6b")
TOUCHING = "#e07b28"  # background while the finger touches something


def colour(record: Record, body: int) -> str:
    """Finger first, then the others in their order; walls are grey."""
    if record.line.walls[body]:
        return "#444444"
    bodies = [i for i in range(len(record.line.names)) if not record.line.walls[i] and i != record.line.finger]
    return COLOURS[0] if body == record.line.finger else COLOURS[1 + bodies.index(body) % (len(COLOURS) - 1)]


def plot(record: Record, path: str | Path) -> Path:
    """Draw a record into a PNG file."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ConfigError(missing("matplotlib", "a plot of a finger", "'sot[log]'")) from None
    path = writable(path, ".png", what="a plot")
    figure = Figure(figsize=(7.0, 5.2), layout="constrained")
    axes = figure.subplots(3, 1, sharex=True)
    for axis in axes:
        for epoch in record.epochs:
            if epoch.kind == "touching":
                axis.axvspan(epoch.start, epoch.end, color=TOUCHING, alpha=0.12, linewidth=0.0)
        axis.grid(True, linewidth=0.4, alpha=0.5)
    _positions(record, axes[0])
    _velocities(record, axes[1])
    _forces(record, axes[2])
    axes[2].set_xlabel("time, s")
    figure.savefig(path, format="png", dpi=96)
    return path


def _positions(record: Record, axis: Any) -> None:
    for i, name in enumerate(record.line.names):
        x, half, tint = record.x[:, i], 0.5 * record.line.width[i], colour(record, i)
        axis.plot(record.time, x, color=tint, label=name, linewidth=1.4)
        if half > 0.0:
            axis.fill_between(record.time, x - half, x + half, color=tint, alpha=0.2, linewidth=0.0)
    axis.set_ylabel("position, m")
    _legend(axis)


def _velocities(record: Record, axis: Any) -> None:
    for i in np.flatnonzero(~record.line.walls):
        axis.plot(record.time, record.v[:, i], color=colour(record, int(i)), linewidth=1.4)
    axis.set_ylabel("velocity, m/s")


def _forces(record: Record, axis: Any) -> None:
    axis.plot(record.time, record.force, color="#888888", label="applied", linewidth=1.2, linestyle="--")
    axis.plot(record.time, record.sensor, color=COLOURS[3], label="sensor", linewidth=1.4)
    axis.set_ylabel("force, N")
    blows = record.blows
    if blows:
        times, impulses = zip(*blows, strict=True)
        twin = axis.twinx()
        twin.vlines(times, 0.0, impulses, color=COLOURS[4], linewidth=1.6, label="impulse")
        if min(impulses) >= 0.0:
            twin.set_ylim(0.0, 1.15 * max(impulses))
        twin.set_ylabel("impulse, N·s", color=COLOURS[4])
    _legend(axis)


def _legend(axis: Any) -> None:
    """Above the axes, where it hides nothing."""
    axis.legend(loc="lower right", bbox_to_anchor=(1.0, 0.97), ncols=8, frameon=False, fontsize=8)
