"""An oracle for bodies on a line: Moreau's time stepping, which knows no events at all.

Each step solves for velocities with contact impulses P ≥ 0 and friction impulses |R| ≤ h f at once (projected
Gauss–Seidel). It is of first order in the step h, for inelastic collisions and static friction equal to kinetic one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sot.finger import Line


def march(line: Line, force: Callable[[float], float], duration: float, h: float) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities at the end."""
    n = len(line.names)
    inverse = np.where(line.walls, 0.0, 1.0 / line.mass).tolist()
    drag, slide = line.drag.tolist(), line.slide.tolist()
    x, v = line.x.tolist(), line.v.tolist()
    half = (0.5 * line.width).tolist()
    P, R = [0.0] * (n - 1), [0.0] * n
    for k in range(round(duration / h)):
        v = [v[i] / (1.0 + h * drag[i] * inverse[i]) for i in range(n)]
        v[line.finger] += h * force((k + 0.5) * h) * inverse[line.finger]
        active = [x[i + 1] - half[i + 1] - x[i] - half[i] <= 1e-9 for i in range(n - 1)]
        P = [P[i] if active[i] else 0.0 for i in range(n - 1)]
        for i in range(n):  # begin with the impulses of the last step
            v[i] += inverse[i] * (R[i] + (P[i - 1] if i > 0 else 0.0) - (P[i] if i < n - 1 else 0.0))
        _relax(v, P, R, active, inverse, [h * f for f in slide])
        x = [x[i] + h * v[i] for i in range(n)]
    return np.array(x), np.array(v)


def _relax(
    v: list[float], P: list[float], R: list[float], active: list[bool], inverse: list[float], bound: list[float]
) -> None:
    for _ in range(200):
        change = 0.0
        for i, holds in enumerate(active):
            weight = inverse[i] + inverse[i + 1]
            if holds and weight > 0.0:
                new = max(P[i] + (v[i] - v[i + 1]) / weight, 0.0)
                d, P[i] = new - P[i], new
                v[i] -= inverse[i] * d
                v[i + 1] += inverse[i + 1] * d
                change = max(change, abs(d))
        for i, w in enumerate(inverse):
            if w > 0.0 and bound[i] > 0.0:
                new = min(max(R[i] - v[i] / w, -bound[i]), bound[i])
                d, R[i] = new - R[i], new
                v[i] += w * d
                change = max(change, abs(d))
        if change < 1e-13:
            return
