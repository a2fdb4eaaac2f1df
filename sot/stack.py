"""The ordered list of levels that a user writes."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sot.checks import positive
from sot.entry import Entry
from sot.errors import TaskError, unknown


@dataclass(frozen=True)
class Change:
    """A version of the stack and the seconds in which a running controller blends into it."""

    levels: tuple[tuple[Entry, ...], ...]
    ramp: float


class Stack:
    """Levels in falling priority. Level 0 is hard; each later level does what the ones before leave free.

        stack = sot.Stack([JointLimits()], [hand], [Posture()])
        stack.push(gaze, level=2, ramp=0.5)

    Changes take effect at the controller's next tick, blended over `ramp` seconds.
    """

    def __init__(self, *levels: Sequence[Entry] | Entry) -> None:
        """
        Args:
            levels: One list of tasks and constraints per level, most important first.
        """
        self._levels: list[list[Entry]] = [_level(level) for level in levels]
        if not self._levels:
            raise TaskError("a stack needs at least one level")
        self._check_names()
        self.changes: list[Change] = []  # not yet seen by the controller

    @property
    def levels(self) -> tuple[tuple[Entry, ...], ...]:
        """The levels as they are now."""
        return tuple(tuple(level) for level in self._levels)

    def __iter__(self) -> Iterator[Entry]:
        for level in self._levels:
            yield from level

    def __len__(self) -> int:
        return len(self._levels)

    def __contains__(self, name: object) -> bool:
        return any(entry.name == name for entry in self)

    def __getitem__(self, name: str) -> Entry:
        level, index = self._find(name)
        return self._levels[level][index]

    def names(self) -> list[str]:
        """Names of all entries, most important first."""
        return [entry.name for entry in self]

    def level_of(self, name: str) -> int:
        """Level on which an entry stands."""
        return self._find(name)[0]

    def push(self, entry: Entry, level: int | None = None, *, insert: bool = False, ramp: float = 0.5) -> None:
        """Add an entry.

        Args:
            entry: The task or constraint.
            level: Level to add it to; by default a new last level.
            insert: Make a new level at this place instead of joining the one that is there.
            ramp: Seconds over which a running controller blends into the new stack.
        """
        ramp = _seconds(ramp)
        if _entry(entry).name in self:
            raise TaskError(f"the stack already has an entry named {entry.name!r}; give one of them another name=")
        level = self._place(level)
        if insert or level == len(self._levels):
            self._levels.insert(level, [])
        self._levels[level].append(entry)
        self._changed(ramp)

    def remove(self, name: str, *, ramp: float = 0.5) -> Entry:
        """Take an entry out. An emptied level goes with it, except level 0."""
        ramp = _seconds(ramp)
        level, index = self._find(name)
        entry = self._levels[level].pop(index)
        if level > 0 and not self._levels[level]:
            del self._levels[level]
        self._changed(ramp)
        entry.leave()
        return entry

    def swap(self, first: str, second: str, *, ramp: float = 0.5) -> None:
        """Let two entries change places."""
        ramp = _seconds(ramp)
        (a, i), (b, j) = self._find(first), self._find(second)
        self._levels[a][i], self._levels[b][j] = self._levels[b][j], self._levels[a][i]
        self._changed(ramp)

    def restore(self, levels: tuple[tuple[Entry, ...], ...]) -> None:
        """Put the levels back as given and drop all changes that wait for a controller.

        Used by a controller that could not take a change over.

        Args:
            levels: What `levels` was before the change.
        """
        self._levels = [list(level) for level in levels]
        self.changes.clear()

    def _changed(self, ramp: float) -> None:
        self.changes.append(Change(self.levels, ramp))

    def _place(self, level: int | None) -> int:
        """Level at which an entry is added; the one after the last is new."""
        count = len(self._levels)
        try:
            place = count if level is None else operator.index(level)
        except TypeError:
            raise TaskError(f"level: expected an integer from 0 to {count}, got {level!r}") from None
        if not 0 <= place <= count:
            raise TaskError(f"level {place} does not exist: the stack has levels 0 to {count - 1}")
        return place

    def _find(self, name: str) -> tuple[int, int]:
        for i, level in enumerate(self._levels):
            for j, entry in enumerate(level):
                if entry.name == name:
                    return i, j
        raise TaskError(unknown("entry", name, self.names()))

    def _check_names(self) -> None:
        seen: set[str] = set()
        for entry in self:
            if entry.name in seen:
                raise TaskError(f"two entries of the stack are named {entry.name!r}; give one of them another name=")
            seen.add(entry.name)

    def __repr__(self) -> str:
        lines = [f"  {k}: {', '.join(entry.name for entry in level)}" for k, level in enumerate(self._levels)]
        return "Stack(\n" + "\n".join(lines) + "\n)"


def _level(level: object) -> list[Entry]:
    """The entries of a level, which is a list of them or one alone."""
    if isinstance(level, Iterable) and not isinstance(level, str):
        return [_entry(entry) for entry in level]
    return [_entry(level)]


def _entry(entry: object) -> Entry:
    if not isinstance(entry, Entry):
        raise TaskError(f"a stack takes tasks and constraints, got {entry!r}")
    return entry


def _seconds(ramp: object) -> float:
    """A ramp, looked at before anything changes."""
    return positive(ramp, "ramp", zero=True)
