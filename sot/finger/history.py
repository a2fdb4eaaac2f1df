"""What happened, written down as it happens."""

from __future__ import annotations

import numpy as np

from sot.errors import RobotError
from sot.finger.balance import Balance
from sot.finger.bodies import Line
from sot.finger.impact import Blow
from sot.finger.mode import Group, Mode
from sot.finger.motion import Rows
from sot.finger.record import Epoch, Event, Kind, Record


class History:
    """Rows, epochs and events, in the order in which they come."""

    def __init__(self, line: Line, keep: bool) -> None:
        """
        Args:
            line: Who is on the line.
            keep: Keep the rows of the motion.
        """
        self.line, self.keep = line, keep
        self.events: list[Event] = []
        self._epochs: list[tuple[float, Mode]] = []  # when each began
        self._now = 0.0
        self._rows: list[tuple[np.ndarray, ...]] = []

    def add(self, start: float, end: float, x: np.ndarray, rows: Rows) -> None:
        """Append a stretch of motion from a time to another, s, that began at positions x, m."""
        self._now = end
        if self.keep:
            times = np.minimum(start + rows.tau, end)
            self._rows.append((times, x + rows.d, rows.v, rows.a, rows.force, rows.contact))

    def blow(self, time: float, v: np.ndarray, together: np.ndarray, blow: Blow) -> None:
        """Events of a collision.

        Args:
            time: s.
            v: Velocities before, m/s.
            together: True for pairs that touched and moved as one.
            blow: What it did.
        """
        for k in np.flatnonzero(blow.impulse > 0.0):
            parts = blow.v[k + 1] > blow.v[k]
            kind: Kind = "bounce" if parts else "jolt" if together[k] else "contact"
            self._event(time, kind, slice(k, k + 2), v, blow.v, float(blow.impulse[k]))

    def change(self, time: float, old: Mode | None, new: Mode, v: np.ndarray) -> None:
        """Events of a change of mode, without those that a blow explains, and a new epoch."""
        self._epochs.append((time, new))
        if old is None:
            return
        for k in range(len(self.line.names) - 1):
            if _joined(old, k) and not _joined(new, k) and v[k] == v[k + 1]:
                self._event(time, "release", slice(k, k + 2), v, v)
        for group in new.groups:
            for kind in _kinds(old, group, v, self.line):
                self._event(time, kind, group.bodies, v, v)

    def _event(
        self, time: float, kind: Kind, who: slice, before: np.ndarray, after: np.ndarray, impulse: float = 0.0
    ) -> None:
        speeds = tuple(before[who].tolist()), tuple(after[who].tolist())
        self.events.append(Event(time, kind, self.line.names[who], *speeds, impulse))

    def record(self, balance: Balance) -> Record:
        """Everything so far."""
        if not self._rows:
            raise RobotError("nothing is recorded yet; run or step the simulation, with record=True")
        time, x, v, a, force, contact = (np.concatenate(column) for column in zip(*self._rows, strict=True))
        ends = [*(start for start, _ in self._epochs[1:]), self._now]
        epochs = [self._epoch(start, end, mode) for (start, mode), end in zip(self._epochs, ends, strict=True)]
        return Record(
            self.line, time, x, v, a, force, contact, tuple(e for e in epochs if e.end > e.start), tuple(self.events),
            balance,
        )  # fmt: skip

    def _epoch(self, start: float, end: float, mode: Mode) -> Epoch:
        names, walls = self.line.names, self.line.walls
        contacts = tuple(names[group.bodies] for group in mode.groups if group.first < group.last)
        members = [(group, body) for group in mode.groups for body in range(group.first, group.last + 1)]
        stuck = tuple(names[body] for group, body in members if group.stuck and not walls[body])
        sliding = tuple((names[body], group.direction) for group, body in members if group.direction)
        touching = mode.finger.first < mode.finger.last
        return Epoch(start, end, "touching" if touching else "separate", contacts, stuck, sliding)


def _joined(mode: Mode, pair: int) -> bool:
    return any(group.first <= pair < group.last for group in mode.groups)


def _kinds(old: Mode, group: Group, v: np.ndarray, line: Line) -> list[Kind]:
    """How a group moves differently from before, if it does and friction has to do with it."""
    bodies = [body for body in range(group.first, group.last + 1) if not line.walls[body]]
    before = {body: next(g for g in old.groups if body in g) for body in bodies}
    if not bodies or line.hold[group.bodies].sum() == 0.0:
        return []
    if group.stuck:
        if line.walls[group.bodies].any():  # the blow says it
            return []
        return ["stick"] if any(not before[body].stuck for body in bodies) else []
    if v[group.first] != 0.0:  # a blow set it in motion, or it goes on
        return []
    if all(before[body].stuck for body in bodies):
        return ["slip"]
    return ["turn"] if any(before[body].direction == -group.direction for body in bodies) else []
