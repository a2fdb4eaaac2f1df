"""A record of a haptic device as a picture: positions, distances, forces and energies over time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sot.checks import writable
from sot.errors import ConfigError, missing

if TYPE_CHECKING:
    from sot.haptic.record import Record

COLOURS = ("#1f6fb4", "#e07b28", "#2f9e55", "#7a5ab5", "#6b6b6b")
RED = "#b23a48"


def plot(record: Record, path: str | Path) -> Path:
    """Draw a record into a PNG file."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ConfigError(missing("matplotlib", "a plot of a haptic device", "'sot[log]'")) from None
    path = writable(path, ".png", what="a plot")
    if not len(record):
        raise ConfigError(f"{path}: the record of '{record.stylus.robot.name}' has no periods yet")
    panels = [_positions, *([_distances] if record.away else []), _forces, _energies]
    figure = Figure(figsize=(7.0, 1.9 * len(panels)), layout="constrained")
    axes = figure.subplots(len(panels), 1, sharex=True)
    for draw, axis in zip(panels, axes, strict=True):
        draw(record, axis)
        axis.grid(True, linewidth=0.4, alpha=0.5)
        axis.legend(loc="lower right", bbox_to_anchor=(1.0, 0.97), ncols=8, frameon=False, fontsize=8)
    axes[-1].set_xlabel("time, s")
    try:
        figure.savefig(path, format="png", dpi=96)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from None
    return Path(path)


def _moving(record: Record) -> list[int]:
    """Axes along which something happens; all if none."""
    spans = np.ptp(record.position, axis=0) + np.abs(record.force).max(axis=0)
    found = [i for i in range(3) if spans[i] > 1e-6 * max(spans.max(), 1e-12)]
    return found or [0, 1, 2]


def _positions(record: Record, axis: Any) -> None:
    held = np.isfinite(record.target).all(axis=1)
    for i in _moving(record):
        axis.plot(record.time, 1e3 * record.position[:, i], color=COLOURS[i], label="xyz"[i], linewidth=1.4)
        if held.any():
            axis.plot(record.time, 1e3 * record.target[:, i], color=COLOURS[i], linewidth=1.0, linestyle=":",
                      label=f"hand's {'xyz'[i]}")  # fmt: skip
    axis.set_ylabel("position, mm")


def _distances(record: Record, axis: Any) -> None:
    for k, (name, away) in enumerate(record.away.items()):
        axis.plot(record.time, 1e3 * away, color=COLOURS[k % len(COLOURS)], label=name, linewidth=1.4)
    axis.set_ylabel("away, mm")


def _forces(record: Record, axis: Any) -> None:
    for i in _moving(record):
        axis.plot(record.time, record.force[:, i], color=COLOURS[i], label="xyz"[i], linewidth=1.4)
    axis.set_ylabel("force, N")


def _energies(record: Record, axis: Any) -> None:
    works, energy = record.works, record.energy
    axis.plot(record.time, 1e3 * works["hand"], color=COLOURS[4], label="hand put in", linewidth=1.2, linestyle="--")
    axis.plot(record.time, 1e3 * energy["wall"], color=COLOURS[0], label="rendered took", linewidth=1.4)
    axis.plot(record.time, 1e3 * works["lost"], color=COLOURS[2], label="device lost", linewidth=1.4)
    axis.plot(record.time, 1e3 * energy["debt"], color=RED, label="debt", linewidth=1.4)
    axis.set_ylabel("energy, mJ")
