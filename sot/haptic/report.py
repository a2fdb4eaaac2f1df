"""A record in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from sot.haptic.record import Record


def summary(record: Record) -> str:
    """A line for each thing worth knowing."""
    if not len(record):
        return f"{record.stylus.robot.name}: nothing has happened yet"
    stylus, time = record.stylus, record.time
    sizes, works, energy = np.linalg.norm(record.force, axis=1), record.works, record.energy
    lines = [
        f"{stylus.robot.name}: {len(record)} periods of {1e3 * stylus.dt:g} ms, up to {time[-1]:g} s",
        f"at        {_point(1e3 * record.position[-1])} mm at the end, fastest {_top(record.velocity):.3g} m/s",
        f"force     {sizes[-1]:.3g} N at the end, at most {sizes.max():.3g} N",
        *(f"region    {name}: {1e3 * _last(away):.4g} mm at the end, from {1e3 * np.nanmin(away):.4g} to "
          f"{1e3 * np.nanmax(away):.4g} mm" for name, away in record.away.items()),
        f"works     motor {_mJ(works['motor'])} + hand {_mJ(works['hand'])} = lost {_mJ(works['lost'])} + "
        f"kinetic {_mJ(works['kinetic'])} mJ",
        f"observer  wall {_mJ(energy['wall'])}, made {_mJ(energy['made'])}, taken {_mJ(energy['taken'])}, "
        f"debt up to {1e3 * energy['debt'].max():.3g} mJ",
    ]  # fmt: skip
    counted = [f"{name} {count}" for name, count in vars(stylus.counters).items() if count]
    return "\n".join([*lines, f"commands  {', '.join(counted)}"] if counted else lines)


def _point(values: np.ndarray) -> str:
    return " ".join(f"{value:.3f}" for value in values)


def _top(vectors: np.ndarray) -> float:
    return float(np.linalg.norm(vectors, axis=1).max())


def _last(values: np.ndarray) -> float:
    """The last number that is one."""
    return float(values[np.isfinite(values)][-1])


def _mJ(values: np.ndarray) -> str:  # noqa: N802 - millijoules
    return f"{1e3 * values[-1]:.3g}"
