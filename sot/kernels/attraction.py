"""Spring and damper towards a point, with everything that keeps the force within bounds, sample by sample.

    f = K (p_a − p) − C (I − P) v − drag + f*     then cap, rate, and what becomes of it without fresh input
"""

from __future__ import annotations

import numpy as np

from sot.kernels.compiler import entry_kernel, kernel

LARGEST = 1e100  # N: beyond it squares overflow; such a force counts as none
CAP, RATE, TIMEOUT, FADE = 0, 1, 2, 3  # places in `bounds`
LEGACY, ONE_SIDED = 1, 2  # bits of `law`


@kernel
def _raw(p, v, target, held, K, C, drag, push, law, out):  # type: ignore[no-untyped-def]
    """The force without bounds, into `out`. Returns False where it is no number."""
    e0, e1, e2 = target[0] - p[0], target[1] - p[1], target[2] - p[2]
    square = e0 * e0 + e1 * e1 + e2 * e2
    if law & LEGACY:
        along = (e0 * v[0] + e1 * v[1] + e2 * v[2]) / square if square > 0.0 else 0.0
        d0, d1, d2 = e0 * along, e1 * along, e2 * along
    else:
        d0 = held[0, 0] * v[0] + held[0, 1] * v[1] + held[0, 2] * v[2]
        d1 = held[1, 0] * v[0] + held[1, 1] * v[1] + held[1, 2] * v[2]
        d2 = held[2, 0] * v[0] + held[2, 1] * v[1] + held[2, 2] * v[2]
    for i in range(3):
        out[i] = K[i, 0] * e0 + K[i, 1] * e1 + K[i, 2] * e2 - C[i, 0] * d0 - C[i, 1] * d1 - C[i, 2] * d2 - drag[i]
    inward = out[0] * e0 + out[1] * e1 + out[2] * e2
    if law & ONE_SIDED and inward < 0.0 and square > 0.0:  # pushes out, and never pulls back in
        out[0] -= inward / square * e0
        out[1] -= inward / square * e1
        out[2] -= inward / square * e2
    usable = True
    for i in range(3):
        out[i] += push[i]
        usable = usable and abs(out[i]) <= LARGEST  # NaN fails
    return usable


@kernel
def _shorten(x, most):  # type: ignore[no-untyped-def]
    """Scale a vector so that it is no longer than `most`; its direction stays."""
    norm = np.sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2])
    if norm > most:
        for i in range(3):
            x[i] *= most / norm


@kernel
def _advance(usable, f, bounds, step, memory):  # type: ignore[no-untyped-def]
    """The force that is sent in place of f, in place: within cap and rate; the last good one, then none."""
    last, good = memory[0], memory[1]
    if usable:
        _shorten(f, bounds[CAP])
        memory[2, 0] = 0.0
        for i in range(3):
            good[i] = f[i]
    else:
        memory[2, 0] += step
    late = memory[2, 0] - bounds[TIMEOUT]
    share = 1.0 if late <= 0.0 else max(0.0, 1.0 - late / bounds[FADE])
    for i in range(3):
        f[i] = share * good[i] - last[i]
    _shorten(f, bounds[RATE] * step)
    for i in range(3):
        f[i] += last[i]
    _shorten(f, bounds[CAP])  # after a cap was lowered it comes before the rate
    for i in range(3):
        last[i] = f[i]


@entry_kernel
def attract_once(p, v, target, held, K, C, drag, push, law, bounds, step, fresh, memory, f):  # type: ignore[no-untyped-def]
    """The force for one sample, into f; arguments as below, and `drag`, what else damps, N, shape (3,)."""
    usable = _raw(p, v, target, held, K, C, drag, push, law, f)
    _advance(usable and fresh, f, bounds, step, memory)


@entry_kernel
def attract(points, speeds, targets, held, K, C, drag, push, law, bounds, steps, fresh, memory, forces):  # type: ignore[no-untyped-def]
    """Forces for samples that follow each other.

    Args:
        points: p, m, shape (n, 3).
        speeds: v, m/s, shape (n, 3).
        targets: p_a, m, shape (n, 3).
        held: I − P, shape (n, 3, 3), or (1, 3, 3) for all.
        K: N/m, shape (3, 3).
        C: N·s/m, shape (3, 3).
        drag: N, shape (3,).
        push: f*, N, shape (3,).
        law: Bits LEGACY and ONE_SIDED.
        bounds: Cap (N), rate (N/s), time-out (s), fade (s).
        steps: Time since the sample before, s, shape (n,).
        fresh: Whether a sample is new, shape (n,).
        memory: Last force, last good force, age of it; shape (3, 3), changed in place.
        forces: Out, N, shape (n, 3).
    """
    for k in range(len(points)):
        usable = _raw(
            points[k], speeds[k], targets[k], held[min(k, len(held) - 1)], K, C, drag, push, law, forces[k]
        )
        _advance(usable and fresh[k], forces[k], bounds, steps[k], memory)
