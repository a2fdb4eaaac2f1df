"""Several robots in one loop, such as a haptic device and the arm that it leads."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from sot.controller import Controller
from sot.errors import ConfigError
from sot.loop import Loop, Observer, check, count_ticks, without_long_collections
from sot.loop.recount import Recount, Run
from sot.loop.warm_up import warm_up
from sot.robot import Robot
from sot.state import State

Pair = tuple[Robot, Controller]


def run_together(
    pairs: Sequence[Pair],
    duration: float,
    *,
    exchange: Callable[[Sequence[State]], None] | None = None,
    observers: Sequence[Observer] = (),
    realtime: bool = False,
) -> list[Run]:
    """Control several robots for a while, all with the same period.

    In a tick all robots are read, then `exchange` is called, then all are commanded. If anything goes wrong all are
    closed.

    Args:
        pairs: Robots, each with its controller.
        duration: Time by the robots' clocks, s.
        exchange: Is given the states of this tick, in the order of the robots, before controllers see them.
        observers: Functions of (state, command, controller), called for each robot after its command was sent.
        realtime: Keep pace with the clock.
    """
    if not pairs:
        raise ConfigError("run_together: expected at least one pair of a robot and a controller")
    for robot, controller in pairs:
        check(robot, controller)
    ticks = {count_ticks(robot, controller, duration) for robot, controller in pairs}
    if len(ticks) > 1:
        periods = ", ".join(f"{controller.robot.name} {controller.dt:g} s" for _, controller in pairs)
        raise ConfigError(f"run_together: expected one period for all robots, got {periods}")
    loop = Loop(pairs[0][1].dt, realtime=realtime)
    try:
        with without_long_collections():
            recounts = _run(pairs, ticks.pop(), loop, exchange, observers)
    except BaseException:
        for robot, _ in pairs:
            robot.close()
        raise
    return [recount.result(robot.read(), loop.late) for recount, (robot, _) in zip(recounts, pairs, strict=True)]


def _run(
    pairs: Sequence[Pair],
    ticks: int,
    loop: Loop,
    exchange: Callable[[Sequence[State]], None] | None,
    observers: Sequence[Observer],
) -> list[Recount]:
    for _, controller in pairs:
        if controller.counters.ticks == 0:
            warm_up(controller)
    recounts = [
        Recount(controller, robot.read(), ticks, physical=getattr(robot, "can_fall", False))
        for robot, controller in pairs
    ]
    for _ in range(ticks):
        loop.wait()
        states = [robot.read() for robot, _ in pairs]
        if exchange is not None:
            exchange(states)
        for (robot, controller), state, recount in zip(pairs, states, recounts, strict=True):
            begin = time.perf_counter_ns()
            command = controller.step(state)
            elapsed = time.perf_counter_ns() - begin
            robot.write(command)
            recount.add(state, command, elapsed)
            for observe in observers:
                observe(state, command, controller)
    return recounts
