"""How long the periods of a loop at 2 kHz truly are. Record them anew, on a machine of your own:

python tests/record_periods.py
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from sot.loop import Loop

FILE = Path(__file__).parent / "loop_periods.npz"
DT, TICKS = 5e-4, 8000  # s


def recorded() -> np.ndarray:
    """Lengths of the periods, s."""
    return np.load(FILE)["microseconds"] * 1e-6


def record() -> np.ndarray:
    """Let a loop tick, and look at the clock after each wait; µs, at least one."""
    loop, ticks = Loop(DT), np.zeros(TICKS + 1, dtype=np.int64)
    for k in range(TICKS + 1):
        loop.wait()
        ticks[k] = time.monotonic_ns()
    return np.maximum(np.round(np.diff(ticks) / 1000), 1).astype(np.int32)


if __name__ == "__main__":
    periods = record()
    np.savez_compressed(FILE, microseconds=periods)
    p50, p99, longest = np.percentile(periods, [50, 99, 100])
    print(f"{periods.size} periods: median {p50:.0f} µs, p99 {p99:.0f} µs, longest {longest:.0f} µs")
