"""Where a robot touches the world, and the numbers of one step of a simulation.

Candidates are balls on the robot, of radius 0 for the corners of soles. They are looked at against half-spaces and
boxes. See `sot.simulation.engine` for what the step solves.
"""

from __future__ import annotations

import math

from sot.kernels.compiler import entry_kernel, kernel
from sot.kernels.linear import dot

PLANE, BOX = 0, 1
# A shape of the world: kind, friction, rotation by columns (9), position (3), half lengths (3).
KIND, FRICTION, ROTATION, POSITION, HALF, SHAPE = 0, 1, 2, 11, 14, 17
# A contact: joint, other joint, candidate, shape, then gap, friction, point (3), normal (3).
JOINT, OTHER, CANDIDATE, PLACE = 0, 1, 2, 3
GAP, MU, POINT, NORMAL, CONTACT = 0, 1, 2, 5, 8


@entry_kernel
def detect(joints, balls, groups, shapes, oMi, margin, who, contacts):
    """Contacts of all candidates within a margin. Returns how many there are; at most as many as there is room for.

    A group is (first, last, centre (3), radius, joint): candidates that are far away together, of which only those
    within the margin are looked at. A line of `balls` is (position in the joint (3), radius, friction).
    """
    count = 0
    for g in range(groups.shape[0]):
        group = groups[g]
        first, last = int(group[0]), int(group[1])
        T = oMi[int(group[6])]
        cx, cy, cz = _at(T, group[2], group[3], group[4])
        for s in range(shapes.shape[0]):
            if _distance(shapes[s], cx, cy, cz)[0] > group[5] + margin:
                continue
            for i in range(first, last):
                x, y, z = _at(oMi[joints[i]], balls[i, 0], balls[i, 1], balls[i, 2])
                gap, nx, ny, nz = _distance(shapes[s], x, y, z)
                r = balls[i, 3]
                if gap - r < margin and count < contacts.shape[0]:
                    who[count, JOINT], who[count, OTHER] = joints[i], 0
                    who[count, CANDIDATE], who[count, PLACE] = i, s
                    c = contacts[count]
                    c[GAP], c[MU] = gap - r, math.sqrt(balls[i, 4] * shapes[s, FRICTION])
                    c[POINT], c[POINT + 1], c[POINT + 2] = x - r * nx, y - r * ny, z - r * nz
                    c[NORMAL], c[NORMAL + 1], c[NORMAL + 2] = nx, ny, nz
                    count += 1
    return count


@kernel
def _at(T, x, y, z):
    """T p, with T as 12 numbers: the rotation by columns, then the translation."""
    return (
        T[9] + T[0] * x + T[3] * y + T[6] * z,
        T[10] + T[1] * x + T[4] * y + T[7] * z,
        T[11] + T[2] * x + T[5] * y + T[8] * z,
    )


@kernel
def _distance(shape, x, y, z):
    """Signed distance of a point from a shape, and the direction out of it."""
    R = shape[ROTATION:POSITION]
    dx, dy, dz = x - shape[POSITION], y - shape[POSITION + 1], z - shape[POSITION + 2]
    if shape[KIND] == PLANE:
        return R[6] * dx + R[7] * dy + R[8] * dz, R[6], R[7], R[8]
    a = R[0] * dx + R[1] * dy + R[2] * dz
    b = R[3] * dx + R[4] * dy + R[5] * dz
    c = R[6] * dx + R[7] * dy + R[8] * dz
    hx, hy, hz = shape[HALF], shape[HALF + 1], shape[HALF + 2]
    ox, oy, oz = max(abs(a) - hx, 0.0), max(abs(b) - hy, 0.0), max(abs(c) - hz, 0.0)
    ox, oy, oz = math.copysign(ox, a), math.copysign(oy, b), math.copysign(oz, c)
    out = math.sqrt(ox * ox + oy * oy + oz * oz)
    if out > 0.0:
        u, v, w = ox / out, oy / out, oz / out
    else:  # inside: through the nearest face
        px, py, pz = hx - abs(a), hy - abs(b), hz - abs(c)
        u = v = w = 0.0
        if px <= py and px <= pz:
            out, u = -px, math.copysign(1.0, a)
        elif py <= pz:
            out, v = -py, math.copysign(1.0, b)
        else:
            out, w = -pz, math.copysign(1.0, c)
    return out, R[0] * u + R[3] * v + R[6] * w, R[1] * u + R[4] * v + R[7] * w, R[2] * u + R[5] * v + R[8] * w


@entry_kernel
def prepare(
    count, who, contacts, axes, support, starts, J, rows, signs, M, damping, tau, nle, v, dt, L, JT, Y, G, free
):  # fmt: skip
    """Everything of a step that is linear: L Lᵀ = M + dt D, v_free, J, Y = L⁻¹ Jᵀ, G = YᵀY. Returns the rows of J.

    Rows are three per contact, along its axes (two tangents, normal), then one per joint in `rows`: `signs` times
    its velocity. A row of JT is a row of J.
    """
    _factor(M, damping, dt, L)
    _without_contacts(L, damping, tau, nle, v, dt, free)
    for i in range(count):
        _contact_rows(who[i], contacts[i], axes[i], support, starts, J, JT[3 * i], JT[3 * i + 1], JT[3 * i + 2])
    for k in range(rows.size):
        row = JT[3 * count + k]
        row[:] = 0.0
        row[rows[k]] = signs[k]
    size = 3 * count + rows.size
    _delassus(L, JT, Y, size, G)
    return size


@kernel
def _without_contacts(L, damping, tau, nle, v, dt, free):
    """v_free = v + dt (M + dt D)⁻¹ (τ − h − D v): implicit in the damping."""
    for c in range(v.size):
        free[c] = tau[c] - nle[c] - damping[c] * v[c]
    _forward(L, free, v.size)
    _backward(L, free, v.size)
    for c in range(v.size):
        free[c] = v[c] + dt * free[c]


@kernel
def _delassus(L, JT, Y, size, G):
    """Y = L⁻¹ Jᵀ, row by row, and G = Y Yᵀ."""
    n = L.shape[0]
    for i in range(size):
        source, row = JT[i], Y[i]
        for c in range(n):
            row[c] = source[c]
        _forward(L, row, n)
    for i in range(size):
        for j in range(i + 1):
            total = dot(Y[i], Y[j], n)
            G[i, j] = total
            G[j, i] = total


@kernel
def _factor(M, damping, dt, L):
    """Cholesky of M + dt D; M has its upper half only."""
    for i in range(L.shape[0]):
        for j in range(i + 1):
            value = M[j, i]
            if i == j:
                value += dt * damping[i]
            for c in range(j):
                value -= L[i, c] * L[j, c]
            L[i, j] = math.sqrt(value) if i == j else value / L[j, j]


@kernel
def _forward(L, b, n):
    """L x = b, in place."""
    for i in range(n):
        value = b[i]
        row = L[i]
        for c in range(i):
            value -= row[c] * b[c]
        b[i] = value / row[i]


@kernel
def _backward(L, b, n):
    """Lᵀ x = b, in place."""
    for i in range(n - 1, -1, -1):
        b[i] /= L[i, i]
        row = L[i]
        for c in range(i):
            b[c] -= row[c] * b[i]


@kernel
def _contact_rows(who, contact, axes, support, starts, J, first, second, third):
    """Velocity of the first body against the other at the contact's point, along two tangents and the normal."""
    for c in range(first.size):
        first[c] = second[c] = third[c] = 0.0
    nx, ny, nz = contact[NORMAL], contact[NORMAL + 1], contact[NORMAL + 2]
    _tangents(nx, ny, nz, axes)
    for side in range(2):
        joint = who[JOINT + side]
        sign = 1.0 - 2.0 * side
        for s in range(starts[joint], starts[joint + 1]):
            c = support[s]
            wx, wy, wz = J[3, c], J[4, c], J[5, c]
            px, py, pz = contact[POINT], contact[POINT + 1], contact[POINT + 2]
            vx = sign * (J[0, c] + wy * pz - wz * py)
            vy = sign * (J[1, c] + wz * px - wx * pz)
            vz = sign * (J[2, c] + wx * py - wy * px)
            first[c] += axes[0] * vx + axes[1] * vy + axes[2] * vz
            second[c] += axes[3] * vx + axes[4] * vy + axes[5] * vz
            third[c] += nx * vx + ny * vy + nz * vz


@kernel
def _tangents(nx, ny, nz, axes):
    """Two unit vectors across a normal: along x and y for a normal along z."""
    if abs(nx) < 0.9:
        tx, ty, tz = 1.0 - nx * nx, -nx * ny, -nx * nz
    else:
        tx, ty, tz = -ny * nx, 1.0 - ny * ny, -ny * nz
    size = math.sqrt(tx * tx + ty * ty + tz * tz)
    tx, ty, tz = tx / size, ty / size, tz / size
    axes[0], axes[1], axes[2] = tx, ty, tz
    axes[3], axes[4], axes[5] = ny * tz - nz * ty, nz * tx - nx * tz, nx * ty - ny * tx


@entry_kernel
def free_velocities(size, JT, free, offsets, g):
    """g = J v_free + offsets."""
    for i in range(size):
        total = offsets[i]
        row = JT[i]
        for c in range(free.size):
            total += row[c] * free[c]
        g[i] = total


@entry_kernel
def push(size, Y, L, impulses, free, v):
    """v = v_free + M⁻¹ Jᵀ λ, in place."""
    n = free.size
    for c in range(n):
        total = 0.0
        for i in range(size):
            total += Y[i, c] * impulses[i]
        v[c] = total
    _backward(L, v, n)
    for c in range(n):
        v[c] += free[c]
