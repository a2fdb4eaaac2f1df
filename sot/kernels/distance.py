"""Smooth distance between two convex bodies.

A body is the hull of points xᵢ, swept by a ball of radius r. For a unit direction n from body A to body B

    gap(n) = min n·yⱼ − max n·xᵢ − r_A − r_B        and their distance is the largest gap, d = max gap(n).

With the soft support s(n) = τ log Σ exp(n·xᵢ/τ) in place of max n·xᵢ (and −s(−n) in place of min) the distance

    d_τ = max −s_A(n) − s_B(−n) − r_A − r_B,        d − τ log(k_A k_B) ≤ d_τ ≤ d,

has the gradient n·(ẏ − ẋ), where x and y are means of the points weighted by exp(±n·p/τ). All of these change
without jumps, also where two edges or faces become parallel. `sot.collision.definition` is the readable form.

For points apart from each other the gap has one local maximum, so any start leads to it. For points that overlap
(deeper than by the balls alone) it may have several: there the direction of the last tick decides.
"""

from __future__ import annotations

import math

from sot.kernels.compiler import kernel

# Columns of the table of bodies. A carrier is a joint, or −1 − the index of an obstacle. A body without points is the
# half-space below the plane z = 0 of its carrier.
CARRIER, FIRST, END, SUPPORT, SUPPORT_END, READY, BODY = range(7)
# Numbers of a body: centre in the carrier's frame, radius of its points about the centre, swept radius, log of the
# number of points, centre in the world, the carrier's placement at the last tick, and how far any of its points may
# have gone since the start.
CENTER, CORE, BALL, LOG, WORLD, LAST, TRAVEL, GEOMETRY = 0, 3, 4, 5, 6, 9, 21, 22
# Memory of a pair: direction, points x and y, distance (infinite if it was not measured), a bound that says how far
# its bodies can go before it must be looked at again, and where their travel stood when it was measured.
# Then the unit vector, in body A's frame, by which corners are told apart, and for each of four corners where it is
# from x and y, and the distance there, infinite if there is none.
NORMAL, X, Y, DISTANCE, CLEAR, MOVED, AXIS, CORNER, MEMORY = 0, 3, 6, 9, 10, 11, 12, 15, 31
CORNERS = 4
MARGIN, INFLUENCE, RATE, RECOVERY, SMOOTHING, EXACT, SETTINGS = range(7)
# A direction under test: n, x, y, the covariances of both (xx xy xz yy yz zz), gap of the points. Scratch has room for
# three: the best so far, the next, and the best of several starts.
COV_X, COV_Y, GAP, TRIAL = 9, 15, 21, 22

TOLERANCE, ROUNDING = 1e-10, 1e-15  # on the part of y − x across n, m, for bodies near the origin
CAP, COLD_CAP, LINE_CAP = 30, 4, 30  # iterations: at the end, at each τ on the way, along one step
NEGLIGIBLE = -40.0  # exponent below which a point has no weight
COOLING = 0.4  # by how much τ shrinks from step to step of a cold start
RESTART = 0.05  # m; bodies that moved further since a direction was found make a cold start


@kernel
def to_plane(world, body, T, settings, m, scratch):
    """Distance from a plane: the direction is given."""
    s = scratch[0]
    for i in range(3):
        s[i] = -T[6 + i]
    height = support(world, body[FIRST], body[END], s[0], s[1], s[2], settings[SMOOTHING], s, X, COV_X)
    if settings[EXACT] > 0.0:
        height = _hard_support(world, body[FIRST], body[END], s[0], s[1], s[2])
    away = s[0] * (T[9] - s[X]) + s[1] * (T[10] - s[X + 1]) + s[2] * (T[11] - s[X + 2])
    for i in range(3):
        m[NORMAL + i], m[X + i], m[Y + i] = s[i], s[X + i], s[X + i] + away * s[i]
    m[DISTANCE] = s[0] * T[9] + s[1] * T[10] + s[2] * T[11] - height


@kernel
def to_body(world, a, b, ga, gb, travel, settings, m, scratch):
    """Distance of two bodies from where the last tick left off, or from nothing."""
    s, tau = scratch[0], settings[SMOOTHING]
    # What rounding makes of the weights grows with the distance from the origin, and as τ goes to 0.
    scale = 1.0 + abs(ga[WORLD]) + abs(ga[WORLD + 1]) + abs(ga[WORLD + 2])
    tolerance = scale * (TOLERANCE + ROUNDING * (ga[CORE] + gb[CORE]) / tau)
    span = (a[FIRST], a[END], b[FIRST], b[END])
    warm = travel - m[MOVED] <= RESTART
    if warm:
        for i in range(3):
            s[i] = m[NORMAL + i]
        done = _newton(world, span, tau, tolerance, CAP, scratch)
        if not done and s[GAP] > 0.0:  # lost its way; what overlaps keeps its direction instead
            warm = False
    if not warm:
        _from_nothing(world, span, ga, gb, tau, tolerance, scratch)
    for i in range(3):
        m[NORMAL + i], m[X + i], m[Y + i] = s[i], s[X + i], s[Y + i]
    m[DISTANCE] = s[GAP]
    if settings[EXACT] > 0.0:
        m[DISTANCE] = -_hard_support(world, span[0], span[1], s[0], s[1], s[2]) - _hard_support(
            world, span[2], span[3], -s[0], -s[1], -s[2]
        )


@kernel
def _from_nothing(world, span, ga, gb, tau, tolerance, scratch):
    """The best direction: from centre to centre with τ going down; of bodies that overlap, the best of thirteen."""
    s, best = scratch[0], scratch[2]
    x, y, z = gb[WORLD] - ga[WORLD], gb[WORLD + 1] - ga[WORLD + 1], gb[WORLD + 2] - ga[WORLD + 2]
    norm = math.sqrt(x * x + y * y + z * z)
    s[0], s[1], s[2] = (x / norm, y / norm, z / norm) if norm > 1e-9 else (0.0, 0.0, 1.0)
    size = ga[CORE] + gb[CORE]
    _cool(world, span, size, tau, tolerance, scratch)
    if s[GAP] > 0.0:
        return
    _copy(s, best)
    for k in range(12):
        g, axis = (ga if k < 6 else gb), 3 * (k % 3)
        sign = 1.0 if k % 6 < 3 else -1.0
        for i in range(3):
            s[i] = sign * g[LAST + axis + i]
        _cool(world, span, size, tau, tolerance, scratch)
        if s[GAP] > best[GAP]:
            _copy(s, best)
    _copy(best, s)


@kernel
def _cool(world, span, size, tau, tolerance, scratch):
    """Maximise with a τ as large as the bodies first, where there are no corners to get caught on."""
    level = size
    while level > tau:
        _newton(world, span, level, 1e-3 * level, COLD_CAP, scratch)
        level *= COOLING
    _newton(world, span, tau, tolerance, CAP, scratch)


@kernel
def _newton(world, span, tau, tolerance, cap, scratch):
    """Maximise the gap over the sphere from the direction in scratch[0]: Newton steps that are halved while too long.

    With w = y − x and P the projection across n:  (P (C_A + C_B) P / τ + (n·w) P) δ = P w,  n ← (n + δ)/‖n + δ‖.
    Returns False at the cap; the direction is the best so far, and its gap still no more than the distance.
    """
    s, t = scratch[0], scratch[1]
    _evaluate(world, span, tau, s)
    for _ in range(cap):
        nx, ny, nz = s[0], s[1], s[2]
        wx, wy, wz = s[Y] - s[X], s[Y + 1] - s[X + 1], s[Y + 2] - s[X + 2]
        along = nx * wx + ny * wy + nz * wz
        gx, gy, gz = wx - along * nx, wy - along * ny, wz - along * nz
        if gx * gx + gy * gy + gz * gz <= tolerance * tolerance:
            return True
        dx, dy, dz = _step(s, tau, along, gx, gy, gz)
        slope = gx * dx + gy * dy + gz * dz
        step, found = 1.0, False
        for _ in range(LINE_CAP):
            x, y, z = nx + step * dx, ny + step * dy, nz + step * dz
            norm = math.sqrt(x * x + y * y + z * z)
            t[0], t[1], t[2] = x / norm, y / norm, z / norm
            _evaluate(world, span, tau, t)
            if t[GAP] >= s[GAP] + 1e-4 * step * slope - 1e-14:
                found = True
                break
            # Where the slope along the step changes its sign, by a straight line through both slopes.
            there = (t[Y] - t[X]) * dx + (t[Y + 1] - t[X + 1]) * dy + (t[Y + 2] - t[X + 2]) * dz
            step *= min(max(slope / (slope - there), 0.1), 0.5) if there < slope else 0.5
        if not found:  # nothing better within rounding
            return True
        _copy(t, s)
    return False


@kernel
def _copy(source, target):
    for i in range(TRIAL):
        target[i] = source[i]


@kernel
def _step(s, tau, along, gx, gy, gz):
    """Newton's step in the plane across n, as a vector of the world; always uphill and at most 1 long."""
    ax, ay, az = across(s[0], s[1], s[2])
    bx, by, bz = cross(s[0], s[1], s[2], ax, ay, az)
    xa, xab, xb = in_plane(s, COV_X, ax, ay, az, bx, by, bz)
    ya, yab, yb = in_plane(s, COV_Y, ax, ay, az, bx, by, bz)
    aa, ab, bb = (xa + ya) / tau + along, (xab + yab) / tau, (xb + yb) / tau + along
    # Bodies that overlap have n·w < 0: keep the matrix positive, so that the step goes uphill.
    least = 0.5 * (aa + bb) - math.sqrt(0.25 * (aa - bb) ** 2 + ab * ab)
    floor = 0.1 * abs(along) + 1e-9
    if least < floor:
        aa += floor - least
        bb += floor - least
    ga, gb = ax * gx + ay * gy + az * gz, bx * gx + by * gy + bz * gz
    det = aa * bb - ab * ab
    p, q = (bb * ga - ab * gb) / det, (aa * gb - ab * ga) / det
    size = math.sqrt(p * p + q * q)
    if size > 1.0:
        p, q = p / size, q / size
    return p * ax + q * bx, p * ay + q * by, p * az + q * bz


@kernel
def across(nx, ny, nz):
    """A unit vector across n and across the axis that n is farthest from."""
    if abs(nx) <= abs(ny) and abs(nx) <= abs(nz):
        norm = math.sqrt(ny * ny + nz * nz)
        return 0.0, nz / norm, -ny / norm
    if abs(ny) <= abs(nz):
        norm = math.sqrt(nx * nx + nz * nz)
        return -nz / norm, 0.0, nx / norm
    norm = math.sqrt(nx * nx + ny * ny)
    return ny / norm, -nx / norm, 0.0


@kernel
def cross(x, y, z, u, v, w):
    return y * w - z * v, z * u - x * w, x * v - y * u


@kernel
def in_plane(s, c, ax, ay, az, bx, by, bz):
    """aᵀCa, aᵀCb and bᵀCb."""
    ux, uy, uz = (
        s[c] * ax + s[c + 1] * ay + s[c + 2] * az,
        s[c + 1] * ax + s[c + 3] * ay + s[c + 4] * az,
        s[c + 2] * ax + s[c + 4] * ay + s[c + 5] * az,
    )
    vx, vy, vz = (
        s[c] * bx + s[c + 1] * by + s[c + 2] * bz,
        s[c + 1] * bx + s[c + 3] * by + s[c + 4] * bz,
        s[c + 2] * bx + s[c + 4] * by + s[c + 5] * bz,
    )
    return ax * ux + ay * uy + az * uz, bx * ux + by * uy + bz * uz, bx * vx + by * vy + bz * vz


@kernel
def _evaluate(world, span, tau, s):
    """Gap, points x and y, and the sum of the covariances for the direction in s."""
    first = support(world, span[0], span[1], s[0], s[1], s[2], tau, s, X, COV_X)
    s[GAP] = -first - support(world, span[2], span[3], -s[0], -s[1], -s[2], tau, s, Y, COV_Y)


@kernel
def support(world, first, end, nx, ny, nz, tau, s, at, cov):
    """τ log Σ exp(n·x/τ); mean and covariance of the points by these weights go to s[at] and s[cov]."""
    top, best = -math.inf, first
    for i in range(first, end):
        value = nx * world[i, 0] + ny * world[i, 1] + nz * world[i, 2]
        world[i, 3] = value
        if value > top:
            top, best = value, i
    x, y, z = world[best, 0], world[best, 1], world[best, 2]
    total, mx, my, mz = 1.0, 0.0, 0.0, 0.0
    xx, xy, xz, yy, yz, zz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(first, end):
        exponent = (world[i, 3] - top) / tau
        if exponent > NEGLIGIBLE and i != best:
            weight = math.exp(exponent)
            dx, dy, dz = world[i, 0] - x, world[i, 1] - y, world[i, 2] - z
            total += weight
            mx, my, mz = mx + weight * dx, my + weight * dy, mz + weight * dz
            xx, xy, xz = xx + weight * dx * dx, xy + weight * dx * dy, xz + weight * dx * dz
            yy, yz, zz = yy + weight * dy * dy, yz + weight * dy * dz, zz + weight * dz * dz
    mx, my, mz = mx / total, my / total, mz / total
    s[at], s[at + 1], s[at + 2] = x + mx, y + my, z + mz
    s[cov] = xx / total - mx * mx
    s[cov + 1] = xy / total - mx * my
    s[cov + 2] = xz / total - mx * mz
    s[cov + 3] = yy / total - my * my
    s[cov + 4] = yz / total - my * mz
    s[cov + 5] = zz / total - mz * mz
    return top + tau * math.log(total)


@kernel
def _hard_support(world, first, end, nx, ny, nz):
    """max n·x."""
    top = -math.inf
    for i in range(first, end):
        top = max(top, nx * world[i, 0] + ny * world[i, 1] + nz * world[i, 2])
    return top
