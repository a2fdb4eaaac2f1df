"""From the force of a region to rows and loads, for three coordinates or for six.

Along axis n of a region, whose force is f and of which the part f_b leads back to the region,

    held       n J v̇ = n (B f_b + rest)
    one side   n J v̇ ≥ n (B f_b + rest) − slack
    free       0 = 0

and what is left, f − f_b, is a load on the joints, Jᵀ (f − f_b).
"""

from __future__ import annotations

import math

from sot.kernels.compiler import entry_kernel, kernel


@kernel
def _dot(a, b):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@kernel
def _form(a, A):  # type: ignore[no-untyped-def]
    """aᵀ A a."""
    total = 0.0
    for i in range(a.size):
        total += a[i] * _dot(A[i], a)
    return total


@entry_kernel
def split(axes, lower, upper, force, back, rest):  # type: ignore[no-untyped-def]
    """The part of a force that leads back to a region, along its axes, and the rest; both written."""
    for j in range(force.size):
        back[j], rest[j] = 0.0, 0.0
    for i in range(force.size):
        n = axes[i]
        part = _dot(n, force)
        leads = lower[i] == upper[i] or (lower[i] > 0.0 and part > 0.0) or (upper[i] < 0.0 and part < 0.0)
        goal = back if leads else rest
        for j in range(force.size):
            goal[j] += part * n[j]


@entry_kernel
def bound(axes, lower, upper, J, along, stiff, damped, A, low, up):  # type: ignore[no-untyped-def]
    """Rows on the axes.

    Args:
        axes: Axes of the region, rows, shape (k, k).
        lower: How far the region reaches along each, shape (k,).
        upper: The same.
        J: Jacobian of the frame, shape (k, nv).
        along: What is asked for along each axis, shape (k,).
        stiff: Slack per metre from a surface that is not reached, shape (k,).
        damped: What the speed along each axis takes of that if it leads to the surface, shape (k,).
        A: Out, shape (k, nv).
        low: Out, shape (k,).
        up: Out, shape (k,).
    """
    for i in range(lower.size):
        _bound(i, axes, lower, upper, J, along[i], stiff[i], damped[i], A, low, up)


@kernel
def _bound(i, axes, lower, upper, J, along, stiff, damped, A, low, up):  # type: ignore[no-untyped-def]
    free = math.isinf(lower[i]) and math.isinf(upper[i])
    for c in range(A.shape[1]):
        A[i, c] = 0.0
    low[i], up[i] = 0.0, 0.0
    if free:
        return
    for j in range(lower.size):
        if axes[i, j] != 0.0:
            for c in range(A.shape[1]):
                A[i, c] += axes[i, j] * J[j, c]
    low[i], up[i] = along, along
    if lower[i] != upper[i]:
        low[i] -= math.inf if math.isinf(lower[i]) else max(-stiff * lower[i] + min(damped, 0.0), 0.0)
        up[i] += math.inf if math.isinf(upper[i]) else max(stiff * upper[i] - max(damped, 0.0), 0.0)


@entry_kernel
def accelerate(axes, lower, upper, J, back, rest, speed, K, C, B, A, low, up):  # type: ignore[no-untyped-def]
    """Rows at torque level: slack is what a mirrored spring and damper would do, stiff = nᵀKn nᵀBn.

    Args:
        axes: As in `bound`, and so are the next two and J.
        lower: Shape (k,).
        upper: Shape (k,).
        J: Shape (k, nv).
        back: f_b, N and N·m, shape (k,).
        rest: Acceleration beside that of the force, m/s² and rad/s², shape (k,).
        speed: J v, shape (k,).
        K: Shape (k, k).
        C: Shape (k, k).
        B: J M⁻¹ Jᵀ, shape (k, k).
        A: Out, as in `bound`, and so are the others.
        low: Shape (k,).
        up: Shape (k,).
    """
    for i in range(lower.size):
        n = axes[i]
        along = _dot(n, rest)
        for j in range(lower.size):
            along += n[j] * _dot(B[j], back)
        stiff = damped = 0.0
        if lower[i] != upper[i]:
            light = _form(n, B)
            stiff, damped = _form(n, K) * light, _form(n, C) * light * _dot(n, speed)
        _bound(i, axes, lower, upper, J, along, stiff, damped, A, low, up)
