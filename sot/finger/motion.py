"""One stretch of time in one mode: the equations of motion are integrated until the first event."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

from sot.errors import RobotError
from sot.finger.crossing import divided, first_crossing
from sot.finger.equations import Equations
from sot.finger.triggers import Trigger, triggers

RTOL, ATOL = 1e-12, 1e-14  # the motion between steps, where events are found, is two digits less exact than its ends
PACE = 0.3  # first step, as part of the time in which drag ends a motion
BEND = 0.05  # rows of a record are so close that drag changes a velocity by no more than this part between two
SMOOTH = 4  # rows per step of the integration, where the force is a user's function


@dataclass(frozen=True, slots=True)
class Rows:
    """A motion at several times, the first at its start and the last at its end.

    Attributes:
        tau: Times since the start, s, shape (k,).
        d: Displacements, m, shape (k, n).
        v: Velocities, m/s, shape (k, n).
        a: Accelerations, m/s², shape (k, n).
        force: Applied force, N, shape (k,).
        contact: Contact forces, N, shape (k, n − 1).
    """

    tau: np.ndarray
    d: np.ndarray
    v: np.ndarray
    a: np.ndarray
    force: np.ndarray
    contact: np.ndarray


@dataclass(frozen=True, slots=True)
class Stretch:
    """What came out.

    Attributes:
        duration: s.
        trigger: What ended it; None if it went on to the end.
        work: Of the applied force, J.
        drag: Energy lost to drag, J.
        applied: Impulse of the applied force, N·s.
        rows: The motion.
    """

    duration: float
    trigger: Trigger | None
    work: float
    drag: float
    applied: float
    rows: Rows


def integrate(motion: Equations, v: np.ndarray, gap: np.ndarray, duration: float, max_step: float) -> Stretch:
    """Go on until an event, or for a time.

    Args:
        motion: Equations of motion.
        v: Velocities at the start, m/s, shape (n,).
        gap: Free space at the start, m, shape (n − 1,).
        duration: s.
        max_step: Longest step of the integration, s.
    """
    if not motion.groups and motion.piece.constant:
        return _stretch(motion, np.array([0.0, duration]), None, lambda tau: _at_rest(motion, tau))
    waiting = triggers(motion, v, gap)
    outcome = solve_ivp(
        motion.rate, (0.0, duration), motion.y0, method="DOP853", rtol=RTOL, atol=ATOL, dense_output=True,
        events=[_terminal(trigger) for trigger in waiting], max_step=max_step,
        first_step=_first_step(motion, min(duration, max_step)),
    )  # fmt: skip
    if outcome.status < 0:
        raise RobotError(f"the motion after t = {motion.start:.6g} s cannot be followed: {outcome.message}")
    steps, trigger = outcome.t, None
    for candidate, times in zip(waiting, outcome.t_events, strict=True):
        if times.size and times[-1] >= steps[-1]:
            trigger = candidate
    missed = first_crossing([candidate.signal for candidate in waiting], outcome.sol, steps)
    if missed is not None:
        steps, trigger = np.append(steps[steps < missed[0]], missed[0]), waiting[missed[1]]
    return _stretch(motion, steps, trigger, outcome.sol)


def _terminal(trigger: Trigger) -> Callable[[float, np.ndarray], float]:
    def event(tau: float, y: np.ndarray) -> float:
        return float(trigger.signal(tau, y))

    event.terminal, event.direction = True, -1.0  # type: ignore[attr-defined]  # how scipy is told
    return event


def _first_step(motion: Equations, longest: float) -> float | None:
    """Drag alone sets the pace; a user's function may have any."""
    if not motion.piece.linear:
        return None
    return min(longest, PACE / motion.fastest) if motion.fastest > 0.0 else longest


def _at_rest(motion: Equations, tau: np.ndarray) -> np.ndarray:
    y = np.zeros((motion.y0.size, tau.size))
    y[-1] = motion.force(0.0) * tau
    return y


def _stretch(
    motion: Equations, steps: np.ndarray, trigger: Trigger | None, solution: Callable[[np.ndarray], np.ndarray]
) -> Stretch:
    longest = float(np.diff(steps).max(initial=0.0))
    parts = max(1 if motion.piece.linear else SMOOTH, math.ceil(motion.fastest * longest / BEND))
    times = divided(steps, parts)
    y = solution(times)
    if trigger is not None and trigger.what == "stop":
        y[motion.count + motion.place[trigger.which], -1] = 0.0  # to the bit
    work, drag, applied = y[2 * motion.count :, -1].tolist()
    return Stretch(float(steps[-1]), trigger, work, drag, applied, _rows(motion, times, y))


def _rows(motion: Equations, times: np.ndarray, y: np.ndarray) -> Rows:
    shape, n = (times.size, len(motion.line.names)), motion.count
    d, v, a = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    rates = motion.acceleration(times, y)
    for body, i in motion.place.items():
        d[:, body], v[:, body], a[:, body] = y[i], y[n + i], rates[i]
    return Rows(times, d, v, a, motion.force(times), motion.contact_forces(times, y))
