"""How fast the haptic loop is: the case `haptic` of `sot bench`.

A hand presses the simulated stylus into a virtual wall at 2 kHz. A tick is `Controller.step`; a step of the device is
its `write`: limits, passivity observer, exact motion with the hand, and encoders.
"""

from __future__ import annotations

import gc
from time import perf_counter_ns
from typing import Any

import numpy as np

from sot.controller import Controller
from sot.haptic import Device, Hand
from sot.stack import Stack

WARM_UP, TICKS, DT = 300, 4000, 5e-4
STIFFNESS, DAMPING = 2000.0, 1.0  # of the wall, N/m and N·s/m
HELD, BEHIND = 300.0, 0.01  # the hand: N/m, and how far behind the surface its target is, m


def run(ticks: int | None = None) -> dict[str, Any]:
    """Run the loop.

    Args:
        ticks: Ticks that are measured.

    Returns:
        {"haptic": {"period_us", "tick_us": {"p50", "p99", "max"}, "device_us": {...}, "ticks", "depth_mm"}}.
    """
    from sot.robots import Haptic
    from sot.tasks import Wall

    hand = Hand([0.0, 0.0, -BEHIND], stiffness=HELD)
    haptic = Haptic(Device(), hand=hand, dt=DT)
    wall = Wall(haptic.robot.name, stiffness=STIFFNESS, damping=DAMPING)
    controller = Controller(haptic.robot, Stack([wall]), output="torque", dt=DT)
    haptic.check(controller)
    tick, device = _measure(haptic, controller, ticks or TICKS)
    return {
        "haptic": {
            "period_us": 1e6 * DT,
            "tick_us": _figures(tick),
            "device_us": _figures(device),
            "ticks": ticks or TICKS,
            "depth_mm": -1e3 * float(haptic.truth().q[2]),
        }
    }


def _measure(haptic: Any, controller: Controller, ticks: int) -> np.ndarray:
    """Times of the controller and of the device, µs, shape (2, ticks)."""
    times = np.zeros((2, WARM_UP + ticks))
    gc.collect()
    gc.disable()
    try:
        for k in range(WARM_UP + ticks):
            state = haptic.read()
            begin = perf_counter_ns()
            command = controller.step(state)
            middle = perf_counter_ns()
            haptic.write(command)
            times[:, k] = middle - begin, perf_counter_ns() - middle
    finally:
        gc.enable()
    return times[:, WARM_UP:] / 1e3


def _figures(times: np.ndarray) -> dict[str, float]:
    return {
        "p50": float(np.median(times)),
        "p99": float(np.percentile(times, 99)),
        "max": float(times.max()),
    }


def table(result: dict[str, Any]) -> str:
    """The result of `run` as text."""
    found = result["haptic"]
    lines = [["haptic, µs", "p50", "p99", "max"]]
    for word, key in (("tick", "tick_us"), ("device", "device_us")):
        lines.append([word, *(f"{value:.1f}" for value in found[key].values())])
    text = ["  ".join([line[0].ljust(10), *(cell.rjust(8) for cell in line[1:])]) for line in lines]
    return "\n".join([*text, f"period {found['period_us']:.0f} µs, {found['depth_mm']:.3f} mm deep in the wall"])
