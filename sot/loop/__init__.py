"""Ticks in time: `Loop` is the only owner of a clock, `run` joins it with a robot and a controller."""

from __future__ import annotations

import contextlib
import gc
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sot.checks import positive
from sot.controller import Controller
from sot.description import Description
from sot.errors import ConfigError
from sot.loop.recount import Recount, Run
from sot.loop.warm_up import warm_up
from sot.robot import Robot
from sot.state import Command, State

if TYPE_CHECKING:
    from sot.viewer import Viewer

Observer = Callable[[State, Command, Controller], None]

SPIN = 150_000  # ns before a deadline in which the clock is watched: a sleep may wake up this much too late


class Loop:
    """Ticks at absolute times: tick k is due at start + k · period, however long the ticks before it took.

        loop = Loop(1e-3)
        while True:
            loop.wait()
            ...

    Waiting "one period from now" instead would add the delay of every tick to all that follow.

    Attributes:
        period: Time from tick to tick, s.
        realtime: False: ticks follow each other without waiting.
        late: Ticks that were missed, by a whole period or more, and skipped.
    """

    def __init__(
        self,
        period: float,
        *,
        realtime: bool = True,
        clock: Callable[[], int] = time.monotonic_ns,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """
        Args:
            period: Time from tick to tick, s.
            realtime: False: do not wait.
            clock: Gives the time in ns.
            sleep: Waits for about so many seconds.
        """
        self.period = positive(period, "period")
        self.realtime = realtime
        self.late = 0
        self._clock, self._sleep = clock, sleep
        self._start, self._tick = 0, -1  # before the first tick

    def wait(self) -> int:
        """Wait for the next tick; the first is due at once. Returns how many were missed and are skipped.

        A tick that is late by less than a period is not lost: it begins at once, and the next one is on time.
        """
        if not self.realtime:
            return 0
        self._tick += 1
        if self._tick == 0:
            self._start = self._clock()
        missed = max(int((self._clock() - self._start) / (1e9 * self.period)) - self._tick, 0)
        self._tick += missed
        self.late += missed
        self._sleep_until(self._start + round(self._tick * self.period * 1e9))
        return missed

    def _sleep_until(self, due: int) -> None:
        while (left := due - self._clock()) > 0:
            if left > SPIN:
                self._sleep((left - SPIN) * 1e-9)


def run(
    robot: Robot,
    controller: Controller,
    duration: float,
    *,
    viewer: Viewer | bool | None = None,
    realtime: bool | None = None,
    observers: Sequence[Observer] = (),
    progress: bool = False,
) -> Run:
    """Control a robot for a while.

    The robot stays open afterwards, so that another run can follow. If anything goes wrong it is closed.

    Args:
        robot: What is read and commanded.
        controller: What turns states into commands; its `dt` is the period.
        duration: Time by the robot's clock, s.
        viewer: True opens one; or a `Viewer` that is open already.
        realtime: Keep pace with the clock; by default only if there is a viewer. A robot that advances by
            itself needs it.
        observers: Functions of (state, command, controller), called after each command was sent.
        progress: Write the time to the terminal once a second.
    """
    check(robot, controller)
    ticks = count_ticks(robot, controller, duration)
    watchers = list(observers)
    shown = _open(viewer, controller)
    if shown is not None:
        shown.watch(robot)
        watchers.append(shown.observe)
    if progress:
        watchers.append(_Progress(duration))
    loop = Loop(controller.dt, realtime=shown is not None if realtime is None else realtime)
    try:
        with without_long_collections():
            recount = _run(robot, controller, ticks, loop, watchers)
    except BaseException:
        robot.close()
        raise
    result = recount.result(robot.read(), loop.late)
    if shown is not None:
        shown.finish(controller)
    return result


def check(robot: object, controller: object) -> None:
    """Refuse what is no robot, no controller, or a controller that was made for another robot."""
    if not isinstance(robot, Robot):
        raise ConfigError(
            f"run: robot: expected something to read and command, such as sot.robots.Kinematic(robot), "
            f"got a {type(robot).__name__}"
        )
    if not isinstance(controller, Controller):
        raise ConfigError(f"run: controller: expected a sot.Controller, got a {type(controller).__name__}")
    described = getattr(robot, "robot", controller.robot)
    if isinstance(described, Description) and described.pin_model.nq != controller.model.nq:
        made_for = controller.robot.name
        raise ConfigError(f"run: the robot is '{described.name}', but the controller was made for '{made_for}'")
    controller.guard = getattr(robot, "check", None)  # a robot may refuse what it cannot do safely
    controller.force_changed()


def _open(viewer: Viewer | bool | None, controller: Controller) -> Viewer | None:
    if viewer is None or viewer is False:
        return None
    from sot.viewer import Viewer

    if viewer is True:
        return Viewer(controller.robot)
    if not isinstance(viewer, Viewer):
        raise ConfigError(f"run: viewer: expected true or a sot.Viewer, got {viewer!r}")
    viewer.check(controller.robot)
    return viewer


def _run(robot: Robot, controller: Controller, ticks: int, loop: Loop, observers: Sequence[Observer]) -> Recount:
    if controller.counters.ticks == 0:
        warm_up(controller)
    state = robot.read()
    end = state.time + (ticks - 0.5) * controller.dt
    recount = Recount(controller, state, ticks, physical=getattr(robot, "can_fall", False))
    for _ in range(ticks):
        loop.wait()
        state = robot.read()
        if state.time > end:  # its clock went on while ticks were skipped
            break
        begin = time.perf_counter_ns()
        command = controller.step(state)
        elapsed = time.perf_counter_ns() - begin
        robot.write(command)
        recount.add(state, command, elapsed)
        for observe in observers:
            observe(state, command, controller)
    return recount


def count_ticks(robot: Robot, controller: Controller, duration: float) -> int:
    """Number of ticks of a run, after a check that robot and controller mean the same period."""
    step = getattr(robot, "dt", controller.dt)
    if not (abs(step - controller.dt) <= 1e-9 * controller.dt):
        raise ConfigError(
            f"the robot moves on by {step:g} s at each command, but the controller was made for "
            f"{controller.dt:g} s; give both the same dt"
        )
    return round(positive(duration, "duration", zero=True) / controller.dt)


@contextlib.contextmanager
def without_long_collections() -> Iterator[None]:
    """Take all that is there now out of the garbage collector's rounds, which else may take milliseconds."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


class _Progress:
    """Writes the time once a second."""

    def __init__(self, duration: float) -> None:
        self._duration = duration
        self._next = -np.inf

    def __call__(self, state: State, command: Command, controller: Controller) -> None:
        if state.time >= self._next:
            self._next = state.time + 1.0
            print(f"t = {state.time:.0f} s of {self._duration:g} s", file=sys.stderr)
