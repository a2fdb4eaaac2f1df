"""The corners of the face on which two bodies come to lie on each other.

While a body turns about its nearest point, its far end may come close within a few ticks; and where the nearest points
go over from one end to the other, the gradient of the distance speaks of neither. So the speed is bounded at up to
four points, x + p and y + p with p = ± a ± b, where a and b are half the sides of the face. With C_A and C_B the
covariances, in the plane across n, of the points that are not much farther away than the nearest (by τ₁),

    F = 2 C_A (C_A + C_B)⁻¹ C_B        (against a plane F = C_A)

is large where both bodies extend, and its root has the sides. The distance at a corner is that of the bodies plus a
slope times p, and a side ends where that would be less. Everything changes without jumps: sides grow out of nothing.
"""

from __future__ import annotations

import math

from sot.kernels.compiler import kernel
from sot.kernels.distance import (
    AXIS,
    CORNER,
    CORNERS,
    COV_X,
    COV_Y,
    DISTANCE,
    END,
    FIRST,
    INFLUENCE,
    X,
    Y,
    across,
    cross,
    in_plane,
    support,
)

WIDE, WIDEST = 0.2, 0.05  # τ₁ as part of the influence distance, and at most, m
ASIDE = 0.002  # m; half the width that edges have for how far they lie along each other
SHORT = 0.003  # m; by how much half a side is taken shorter
LITTLE = 1e-6  # part of a covariance that is added so that it can be inverted


@kernel
def find_corners(world, a, b, T, settings, m, scratch):
    """Corners of two bodies whose direction is in scratch[0], into the memory of the pair. T is where body A is."""
    s, t, plane = scratch[0], scratch[1], b[END] == b[FIRST]
    nx, ny, nz = s[0], s[1], s[2]
    wide = min(WIDE * settings[INFLUENCE], WIDEST)
    t[0], t[1], t[2] = nx, ny, nz
    support(world, a[FIRST], a[END], nx, ny, nz, wide, t, X, COV_X)
    ax, ay, az = _carried(T, nx, ny, nz, m)
    bx, by, bz = cross(nx, ny, nz, ax, ay, az)
    aa, ab, bb = in_plane(t, COV_X, ax, ay, az, bx, by, bz)
    slope_a, slope_b = _slope(t, COV_X, aa, ab, bb, nx, ny, nz, ax, ay, az, bx, by, bz)
    if not plane:
        support(world, b[FIRST], b[END], -nx, -ny, -nz, wide, t, Y, COV_Y)
        p, q, r = in_plane(t, COV_Y, ax, ay, az, bx, by, bz)
        u, v = _slope(t, COV_Y, p, q, r, nx, ny, nz, ax, ay, az, bx, by, bz)
        slope_a, slope_b = slope_a - u, slope_b - v
        aa, ab, bb = _parallel(aa, ab, bb, p, q, r)
    p, q = _steer(aa, ab, bb)
    x, y, z = p * ax + q * bx, p * ay + q * by, p * az + q * bz
    for i in range(3):
        m[AXIS + i] = T[3 * i] * x + T[3 * i + 1] * y + T[3 * i + 2] * z
    aa, ab, bb = _root(aa, ab, bb)
    px, py, qx, qy = aa * p + ab * q, ab * p + bb * q, ab * p - aa * q, bb * p - ab * q
    rise_p, rise_q = -slope_a * px - slope_b * py, -slope_a * qx - slope_b * qy
    here = nx * (m[Y] - m[X]) + ny * (m[Y + 1] - m[X + 1]) + nz * (m[Y + 2] - m[X + 2])
    spare = max(here - m[DISTANCE], 0.0)
    for k in range(CORNERS):
        i, j = 1.0 - 2.0 * (k % 2), 1.0 - 2.0 * (k // 2)
        i, j = i * _part(px, py, i * rise_p, spare), j * _part(qx, qy, j * rise_q, spare)
        p, q = i * px + j * qx, i * py + j * qy
        c = CORNER + 4 * k
        m[c], m[c + 1], m[c + 2] = p * ax + q * bx, p * ay + q * by, p * az + q * bz
        m[c + 3] = m[DISTANCE] + max(i * rise_p + j * rise_q, 0.0)
    if _same(m, 0, 1):  # where the face has no side there are no two corners
        m[CORNER + 7] = m[CORNER + 15] = math.inf
    if _same(m, 0, 2):
        m[CORNER + 11] = m[CORNER + 15] = math.inf


@kernel
def _same(m, i, j):
    """True if two corners are in the same place."""
    i, j = CORNER + 4 * i, CORNER + 4 * j
    return m[i] == m[j] and m[i + 1] == m[j + 1] and m[i + 2] == m[j + 2]


@kernel
def _part(x, y, rise, spare):
    """Part of half a side that counts: as far as the bodies are no nearer there than they are, and less a few mm.

    So corners grow out of one point, and what is small is nothing.
    """
    size = math.sqrt(x * x + y * y)
    part = 1.0 if rise >= -spare else spare / -rise
    return max(part - SHORT / size, 0.0) if size > 0.0 else 0.0


@kernel
def _carried(T, nx, ny, nz, m):
    """A unit vector across n: that of the last tick, carried along by body A, so that it turns without jumps."""
    ax = T[0] * m[AXIS] + T[3] * m[AXIS + 1] + T[6] * m[AXIS + 2]
    ay = T[1] * m[AXIS] + T[4] * m[AXIS + 1] + T[7] * m[AXIS + 2]
    az = T[2] * m[AXIS] + T[5] * m[AXIS + 1] + T[8] * m[AXIS + 2]
    along = ax * nx + ay * ny + az * nz
    ax, ay, az = ax - along * nx, ay - along * ny, az - along * nz
    norm = math.sqrt(ax * ax + ay * ay + az * az)
    if norm > 0.1:
        ax, ay, az = ax / norm, ay / norm, az / norm
    else:
        ax, ay, az = across(nx, ny, nz)
    return ax, ay, az


@kernel
def _steer(aa, ab, bb):
    """First column of F¹⁶, of length 1: along the longer side of the face, unless both are alike; then as before."""
    for _ in range(4):
        total = aa + bb
        if not total > 1e-12:
            return 1.0, 0.0
        aa, ab, bb = aa / total, ab / total, bb / total
        aa, ab, bb = aa * aa + ab * ab, ab * (aa + bb), ab * ab + bb * bb
    norm = math.sqrt(aa * aa + ab * ab)
    return (aa / norm, ab / norm) if norm > 1e-3 * (aa + bb) else (1.0, 0.0)


@kernel
def _slope(s, c, aa, ab, bb, nx, ny, nz, ax, ay, az, bx, by, bz):
    """How heights along n go with the place across it, by least squares."""
    x, y, z = (
        s[c] * nx + s[c + 1] * ny + s[c + 2] * nz,
        s[c + 1] * nx + s[c + 3] * ny + s[c + 4] * nz,
        s[c + 2] * nx + s[c + 4] * ny + s[c + 5] * nz,
    )
    p, q = ax * x + ay * y + az * z, bx * x + by * y + bz * z
    little = LITTLE * (aa + bb) + 1e-18
    det = (aa + little) * (bb + little) - ab * ab
    return ((bb + little) * p - ab * q) / det, ((aa + little) * q - ab * p) / det


@kernel
def _parallel(aa, ab, bb, p, q, r):
    """2 C_A (C_A + C_B)⁻¹ C_B of two symmetric 2×2 matrices, as if both bodies were a little wide in all directions."""
    aa, bb, p, r = aa + ASIDE * ASIDE, bb + ASIDE * ASIDE, p + ASIDE * ASIDE, r + ASIDE * ASIDE
    xx, xy, yy = aa + p, ab + q, bb + r
    det = 0.5 * (xx * yy - xy * xy)
    # 2 (C_A + C_B)⁻¹ C_B
    k, m, n, o = (yy * p - xy * q) / det, (yy * q - xy * r) / det, (xx * q - xy * p) / det, (xx * r - xy * q) / det
    return aa * k + ab * n, 0.5 * (aa * m + ab * o + ab * k + bb * n), ab * m + bb * o


@kernel
def _root(aa, ab, bb):
    """Square root of a symmetric 2×2 matrix without negative eigenvalues: (F + √det I) / √(tr + 2 √det)."""
    root = math.sqrt(max(aa * bb - ab * ab, 0.0))
    total = aa + bb + 2.0 * root
    if not total > 0.0:
        return 0.0, 0.0, 0.0
    scale = 1.0 / math.sqrt(total)
    return scale * (aa + root), scale * ab, scale * (bb + root)
