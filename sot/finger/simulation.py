"""The line in time: stretch by stretch from event to event, from breakpoint to breakpoint."""

from __future__ import annotations

from collections import deque

import numpy as np

from sot.errors import RobotError
from sot.finger.balance import Balance, Ledger
from sot.finger.bodies import Line, number
from sot.finger.equations import Equations
from sot.finger.history import History
from sot.finger.impact import collide
from sot.finger.mode import Mode, decide
from sot.finger.motion import Stretch, integrate
from sot.finger.profile import Piece, Profile, as_profile, constant
from sot.finger.record import Event, Reading, Record, finger_force
from sot.finger.triggers import Trigger

HAIR = 1e-15  # m: a smaller gap is none


class Simulation:
    """Bodies on a line under a force on the finger, exact from event to event.

    Attributes:
        line: Who is on the line.
        time: s.
        x: Positions, m, shape (n,).
        v: Velocities, m/s, shape (n,).
    """

    def __init__(
        self, line: Line, *, rest_speed: float = 1e-7, max_events: int = 5000, record: bool = True
    ) -> None:
        """
        Args:
            line: Who is on the line.
            rest_speed: Two that would part with less than this after a collision stay together, m/s.
            max_events: Most events in a second of the simulation; more are an error.
            record: Keep the motion; without it there are `events` and `balance`, but no `record()`.
        """
        self.line = line
        self.rest_speed = number(rest_speed, "rest_speed", above=0.0)
        self.max_events = int(number(max_events, "max_events", least=1.0))
        self.time, self.x, self.v = 0.0, line.x.copy(), line.v.copy()
        self._gap = line.gap.copy()
        self._parted: int | None = None  # the pair whose contact has just ended
        self._mode: Mode | None = None
        self._ledger, self._history = Ledger(line), History(line, record)
        self._recent: deque[float] = deque()  # times of the events of the last second
        self._contact = np.zeros(max(len(line.names) - 1, 0))
        self._impulse = np.zeros_like(self._contact)

    # -- in time -------------------------------------------------------------------------------------

    def step(self, force: float, dt: float) -> Reading:
        """Go on for a time with a force that is held, exactly.

        Args:
            force: On the finger, N, positive to the right.
            dt: s.
        """
        return self.advance(constant(force), self.time + number(dt, "dt", above=0.0))

    def run(self, force: object, duration: float) -> Record:
        """Go on for a time under a force profile.

        Args:
            force: A `Profile`, a number (N), or a function of time (s → N). Its time is that of the simulation.
            duration: s.
        """
        self.advance(as_profile(force), self.time + number(duration, "duration", above=0.0))
        return self.record()

    def advance(self, force: Profile, until: float) -> Reading:
        """Go on until a time, s."""
        begin = self.time
        self._impulse[:] = 0.0
        while self.time < until:
            self._collide()
            piece, end = force.at(self.time)
            mode = self._begin(piece)
            motion = Equations(self.line, mode, self.v, piece, self.time)
            end = min(end, until)
            stretch = integrate(motion, self.v, self._gap, end - self.time, force.max_step)
            self._check(stretch)
            self._take(mode, stretch, end)
        self._collide()
        return self._read(begin)

    def record(self) -> Record:
        """Everything since the start."""
        return self._history.record(self.balance)

    @property
    def events(self) -> tuple[Event, ...]:
        """What happened so far."""
        return tuple(self._history.events)

    @property
    def balance(self) -> Balance:
        """Momentum and energy so far."""
        return self._ledger.balance(self.v)

    def _begin(self, piece: Piece) -> Mode:
        """The mode from here on, and what is different in it."""
        mode = decide(self.line, self.v, self._gap, piece(self.time), self._parted)
        self._parted = None
        if not mode.same(self._mode):
            self._history.change(self.time, self._mode, mode, self.v)
        self._mode = mode
        return mode

    def _take(self, mode: Mode, stretch: Stretch, end: float) -> None:
        """Be where a stretch ends."""
        end = end if stretch.trigger is None else min(self.time + stretch.duration, end)
        self._history.add(self.time, end, self.x, stretch.rows)
        self._ledger.add(mode, stretch)
        self.time = end
        d, v = stretch.rows.d[-1], stretch.rows.v[-1]
        self._gap = self._moved_gaps(mode, d)
        self.x, self.v = self.x + d, v.copy()
        self._contact = stretch.rows.contact[-1]
        if stretch.trigger is not None:
            self._count(stretch.trigger)
            self._respond(stretch.trigger)

    def _moved_gaps(self, mode: Mode, d: np.ndarray) -> np.ndarray:
        """Gaps are kept for themselves: from positions, small ones would drown in rounding."""
        gap = np.maximum(self._gap + np.diff(d), 0.0)
        for group in mode.groups:
            gap[group.first : group.last] = 0.0
        return gap

    def _respond(self, trigger: Trigger) -> None:
        """Make exact what the event means."""
        if trigger.what == "gap":
            self._gap[trigger.which] = 0.0
        elif trigger.what == "release":
            self._parted = trigger.which

    # -- collisions ----------------------------------------------------------------------------------

    def _collide(self) -> None:
        closing = self.v[:-1] > self.v[1:]
        self._gap[closing & (self._gap <= HAIR)] = 0.0
        touching = self._gap == 0.0
        if not (closing & touching).any():
            return
        blow = collide(self.line, self.v, touching, self.rest_speed)
        together = touching & (self.v[:-1] == self.v[1:])
        self._history.blow(self.time, self.v, together, blow)
        self._ledger.add_blow(blow)
        self._impulse += blow.impulse
        self.v, self._parted = blow.v, None

    # -- checks --------------------------------------------------------------------------------------

    def _count(self, trigger: Trigger) -> None:
        recent = self._recent
        recent.append(self.time)
        while recent[0] < self.time - 1.0:
            recent.popleft()
        if len(recent) > self.max_events:
            who = self.line.names[trigger.which : trigger.which + (2 if trigger.what in ("gap", "release") else 1)]
            raise RobotError(
                f"more than {self.max_events} events within a second, the last at t = {self.time:.6g} s: "
                f"{trigger.what} of {', '.join(who)}. Bounces that never end? A larger rest_speed (now "
                f"{self.rest_speed:g} m/s) or a smaller restitution ends them; max_events raises the limit"
            )

    def _check(self, stretch: Stretch) -> None:
        if not (np.isfinite(stretch.rows.d).all() and np.isfinite(stretch.rows.v).all()):
            raise RobotError(f"the motion is not finite after t = {self.time:.6g} s")

    def _read(self, begin: float) -> Reading:
        push, impulse = (float(finger_force(self.line, part)) for part in (self._contact, self._impulse))
        return Reading(self.time, push, impulse, self.time - begin)
