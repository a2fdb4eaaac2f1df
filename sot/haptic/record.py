"""What a run of a haptic device was like: motion, force, where energy went, distances to regions.

    record = Record(stylus)
    sot.run(stylus, controller, duration=1.0, observers=[record])
    print(record.summary())
    record.plot("stylus.png")
    record.save("stylus.csv")
"""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sot.checks import writable
from sot.controller import Controller
from sot.errors import ConfigError
from sot.haptic.device import Works
from sot.haptic.passivity import Energy
from sot.state import Command, State

if TYPE_CHECKING:
    from sot.robots.haptic import Haptic

AXES = ("x", "y", "z")
WORKS, ENERGIES = tuple(Works.__dataclass_fields__), tuple(Energy.__dataclass_fields__)
COLUMNS = (
    "time", *AXES, *(f"v{axis}" for axis in AXES), *(f"f{axis}" for axis in AXES), *(f"target_{axis}" for axis in AXES),
    *WORKS, *ENERGIES,
)  # fmt: skip


class Record:
    """Watches a device as an observer of `sot.run`, or of `sot.run_together`. A row is the end of a period.

    Positions, velocities and works are true ones, and not what encoders tell. A run of a minute at 2 kHz takes 25 MB.

    Attributes:
        stylus: Who is watched.
    """

    def __init__(self, stylus: Haptic) -> None:
        """
        Args:
            stylus: The device.
        """
        if not hasattr(stylus, "works"):
            raise ConfigError(f"record: expected a sot.robots.Haptic, got a {type(stylus).__name__}")
        self.stylus = stylus
        self._rows, self._time = array("d"), stylus.plant.time
        self._away: dict[str, array[float]] = {}

    def __call__(self, state: State, command: Command, controller: Controller) -> None:
        """Take note of the period that has passed. In ticks of other robots the stylus has not moved on."""
        plant = self.stylus.plant
        if plant.time == self._time:
            return
        self._time = plant.time
        hand, size = plant.hand, plant.x.size
        held = hand is not None and hand.holds(plant.time)
        target = hand.at(plant.time, size) if hand is not None and held else np.full(size, np.nan)
        self._rows.extend((plant.time, *plant.x, *plant.v, *self.stylus.force, *target))
        self._rows.extend(vars(self.stylus.works).values())
        self._rows.extend(vars(self.stylus.energy).values())
        for entry in controller.stack:
            if hasattr(entry, "region"):
                self._note(entry.name, float(np.linalg.norm(entry.region.at(plant.x).point - plant.x)))

    def _note(self, name: str, distance: float) -> None:
        """A distance; of an entry that was not always there, NaN for the time before."""
        known = self._away.setdefault(name, array("d"))
        known.extend([np.nan] * (len(self) - 1 - len(known)))
        known.append(distance)

    def __len__(self) -> int:
        """Number of periods."""
        return len(self._rows) // len(COLUMNS)

    # -- columns ----------------------------------------------------------------------------------------

    @property
    def time(self) -> np.ndarray:
        """Ends of the periods, s, shape (n,)."""
        return self._columns("time")[:, 0]

    @property
    def position(self) -> np.ndarray:
        """m, shape (n, 3)."""
        return self._columns("x")

    @property
    def velocity(self) -> np.ndarray:
        """m/s, shape (n, 3)."""
        return self._columns("vx")

    @property
    def force(self) -> np.ndarray:
        """What was sent for the period, N, shape (n, 3)."""
        return self._columns("fx")

    @property
    def target(self) -> np.ndarray:
        """Where the hand pulls to, m, shape (n, 3); NaN where nobody holds the stylus."""
        return self._columns("target_x")

    @property
    def works(self) -> dict[str, np.ndarray]:
        """Where energy truly went since the start of the device, J, each of shape (n,); see `Works`."""
        return {name: self._columns(name, 1)[:, 0] for name in WORKS}

    @property
    def energy(self) -> dict[str, np.ndarray]:
        """What the passivity observer saw, J, each of shape (n,); see `Energy`."""
        return {name: self._columns(name, 1)[:, 0] for name in ENERGIES}

    @property
    def away(self) -> dict[str, np.ndarray]:
        """Distance to the region of each entry, m, shape (n,); NaN while it was not in the stack."""
        n = len(self)
        return {name: np.append(list(found), np.full(n - len(found), np.nan)) for name, found in self._away.items()}

    def _columns(self, first: str, width: int = 3) -> np.ndarray:
        table = np.array(self._rows).reshape(-1, len(COLUMNS))
        start = COLUMNS.index(first)
        return table[:, start : start + width]

    # -- for people -------------------------------------------------------------------------------------

    def summary(self) -> str:
        """A text for people."""
        from sot.haptic.report import summary

        return summary(self)

    def plot(self, path: str | Path) -> Path:
        """Draw position, distances, force and energy over time into a PNG file. Needs matplotlib."""
        from sot.haptic.plot import plot

        return plot(self, path)

    def save(self, path: str | Path) -> Path:
        """Write all columns to a file that ends with .csv or .npz, in m, m/s, N and J."""
        path = writable(path, ".csv", ".npz", what="a record")
        names = [*COLUMNS, *(f"away_{name}".replace(",", ";") for name in self.away)]
        table = np.column_stack([np.array(self._rows).reshape(-1, len(COLUMNS)), *self.away.values()])
        try:
            if path.suffix == ".csv":
                np.savetxt(path, table, delimiter=",", header=",".join(names), comments="", fmt="%.9g")
            else:
                np.savez(path, **dict(zip(names, table.T, strict=True)))
        except OSError as error:
            raise ConfigError(f"{path}: cannot be written: {error.strerror}") from None
        return path
