"""Changes of a stack at given times.

    events = [sot.config.events.Swap(2.0, "com", "hand"), sot.config.events.Remove(4.0, "hand", ramp=1.0)]
    controller = sot.config.events.TimedController(talos, stack, events=events)

Between two calls of `sot.run` the stack can be changed directly; this is for what a file says beforehand.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sot.checks import positive
from sot.controller import Controller
from sot.description import Description
from sot.entry import Entry
from sot.errors import TaskError
from sot.feature import Feature
from sot.reference import Reference
from sot.stack import Stack
from sot.state import Command, State
from sot.task import FeatureTask
from sot.wanted import Wanted

EARLY = 1e-9  # s: a tick that is this much early by rounding is on time


@dataclass(frozen=True)
class Event(ABC):
    """Something that happens to a stack.

    Attributes:
        at: When, s on the robot's clock. It happens at the first tick that is not earlier.
    """

    at: float

    def __post_init__(self) -> None:
        positive(self.at, "event: at", zero=True)

    @abstractmethod
    def apply(self, stack: Stack) -> None:
        """Make it happen."""


@dataclass(frozen=True)
class Push(Event):
    """Add an entry; see `Stack.push`."""

    entry: Entry
    level: int | None = None
    insert: bool = False
    ramp: float = 0.5

    def apply(self, stack: Stack) -> None:
        stack.push(self.entry, self.level, insert=self.insert, ramp=self.ramp)


@dataclass(frozen=True)
class Remove(Event):
    """Take an entry out; see `Stack.remove`."""

    name: str
    ramp: float = 0.5

    def apply(self, stack: Stack) -> None:
        stack.remove(self.name, ramp=self.ramp)


@dataclass(frozen=True)
class Swap(Event):
    """Let two entries change places; see `Stack.swap`."""

    first: str
    second: str
    ramp: float = 0.5

    def apply(self, stack: Stack) -> None:
        stack.swap(self.first, self.second, ramp=self.ramp)


@dataclass(frozen=True)
class SetReference(Event):
    """Give a task another reference, which starts from where the robot then is."""

    name: str
    reference: Reference

    def apply(self, stack: Stack) -> None:
        self._task(stack).reference = self.reference  # type: ignore[attr-defined]  # `_task` has looked

    def space(self, stack: Stack) -> Feature:
        """Where the reference lives."""
        task = self._task(stack)
        return task.feature if isinstance(task, FeatureTask) else task.wanted.space  # type: ignore[attr-defined]

    def _task(self, stack: Stack) -> Entry:
        """The task that is meant: one with a feature, or with numbers that it wants."""
        entry = stack[self.name]
        if not isinstance(entry, FeatureTask) and not isinstance(getattr(entry, "wanted", None), Wanted):
            raise TaskError(f"'{self.name}' is a {entry.kind}, which has no reference")
        return entry


class TimedController(Controller):
    """A controller whose stack changes by itself at given times."""

    def __init__(
        self, robot: Description, stack: Stack, *, events: Sequence[Event] = (), **options: Any
    ) -> None:
        """
        Args:
            robot: What `sot.robots.load` gives.
            stack: Tasks and constraints in order.
            events: What happens when; in any order.
            options: As for `Controller`.
        """
        super().__init__(robot, stack, **options)
        self.pending = sorted(events, key=lambda event: event.at)

    def step(self, state: State, dt: float | None = None) -> Command:
        """Command for a state, after the events that are due."""
        while self.pending and self.pending[0].at <= state.time + EARLY:
            self.pending.pop(0).apply(self.stack)
        return super().step(state, dt)
