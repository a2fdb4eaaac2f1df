"""What the two inverse kinematics cases are, and how a tick is measured: shared by every peer's script.

A tick goes from "the state is q, the target is r" to "the commanded velocity is v":

    measured:      kinematics at q  ->  targets set, tasks and limits built  ->  QP solved
    not measured:  r(t) computed, q integrated with v

The target given at tick k is the one of time (k + 1) dt, so a controller that removes the whole error
per tick is on the target after the integration, and the final error needs no allowance for delay.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.metadata
import json
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from math import cos, pi, sin
from pathlib import Path
from typing import Any, Protocol

import numpy as np

DT = 0.005  # s, one tick
WARM_UP = 300  # ticks before the clock counts
TICKS = 2000  # ticks measured; the run ends at 11.5 s, where the sway is far out: not moving would show

# Cost of a task: weight * ||error||^2, error in m and rad.
WEIGHTS = {"sole": 100.0, "com": 10.0, "hand": 1.0, "posture": 1e-3}

PANDA_URDF = "panda_description/urdf/panda.urdf"
PANDA_HAND = "panda_hand"
PANDA_START = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785, 0.04, 0.04])  # rad, fingers in m

TALOS_URDF = "talos_data/robots/talos_reduced.urdf"
TALOS_SRDF = "talos_data/srdf/talos.srdf"
TALOS_START = "half_sitting"  # a posture of the SRDF
TALOS_SOLES = ("left_sole_link", "right_sole_link")
TALOS_HANDS = ("gripper_left_base_link", "gripper_right_base_link")


def circle(t: float) -> np.ndarray:
    """Offset (m) of the Panda's hand from its start: a 10 cm circle in the y-z plane at 1 rad/s."""
    return 0.1 * np.array([0.0, sin(t), 1.0 - cos(t)])


def sway(t: float) -> np.ndarray:
    """Offset (m) of Talos' centre of mass from its start: 3 cm sideways at 0.5 Hz."""
    return 0.03 * np.array([0.0, sin(2.0 * pi * 0.5 * t), 0.0])


class Peer(Protocol):
    """One case written for one tool; the state q lives in the object."""

    def target(self, offset: np.ndarray) -> Any:
        """The tool's own kind of target, `offset` (m) away from the start."""

    def update(self) -> None:
        """Kinematics at the current q."""

    def solve(self, target: Any) -> None:
        """Set the target, build and solve the QP, keep the result."""

    def integrate(self) -> None:
        """Move q by the kept result over one tick."""

    def error(self, offset: np.ndarray) -> float:
        """Distance (m) at the current q to the target `offset` away from the start."""


def robot_file(name: str) -> str:
    """Absolute path of a file of the `example-robot-data` package."""
    for file in importlib.metadata.files("example-robot-data") or ():
        if str(file).endswith("/robots/" + name):
            return str(Path(str(file.locate())).resolve())
    raise FileNotFoundError(f"{name} is not in the installed example-robot-data package")


def bare_urdf(name: str) -> str:
    """Text of a URDF without its meshes, which no case needs to load."""
    text = Path(robot_file(name)).read_text(encoding="utf-8")
    return re.sub(r"<(visual|collision)\b.*?</\1>", "", text, flags=re.DOTALL)


def measure(peer: Peer, offset: Callable[[float], np.ndarray]) -> dict[str, Any]:
    """Run one case; returns times in µs and the final error in m."""
    clock = time.perf_counter_ns
    stamps = np.empty((WARM_UP + TICKS, 3), dtype=np.int64)
    with no_collections():
        for k in range(len(stamps)):
            target = peer.target(offset((k + 1) * DT))
            start = clock()
            peer.update()
            between = clock()
            peer.solve(target)
            stamps[k] = start, between, clock()
            peer.integrate()
    model, solve = np.diff(stamps[WARM_UP:], axis=1).T / 1e3  # µs
    stages = {"model": float(np.median(model)), "solve": float(np.median(solve))}
    return summary(model + solve, peer.error(offset(len(stamps) * DT))) | {"stages_us": stages}


@contextlib.contextmanager
def no_collections() -> Iterator[None]:
    """Without garbage collections, which would fall into some tick: as `sot bench` does it."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def summary(times: np.ndarray, error: float) -> dict[str, Any]:
    """What is reported of the measured ticks: times in µs, final error in m."""
    return {
        "p50_us": float(np.percentile(times, 50)),
        "p99_us": float(np.percentile(times, 99)),
        "max_us": float(times.max()),
        "ticks": len(times),
        "error": error,
    }


def main(tool: str, cases: Mapping[str, Callable[[], dict[str, Any]]]) -> int:
    """Run the cases named on the command line (all by default); the last line printed is the result."""
    names = sys.argv[1:] or list(cases)
    unknown = [name for name in names if name not in cases]
    if unknown:
        print(f"unknown case {unknown[0]!r}; available: {', '.join(cases)}", file=sys.stderr)
        return 2
    results = {name: cases[name]() for name in names}
    print(json.dumps({"version": importlib.metadata.version(tool), "cases": results}))
    return 0
