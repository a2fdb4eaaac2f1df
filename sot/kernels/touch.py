"""Where a robot touches the world: balls on its bodies against half-spaces and boxes.

A contact is part of a step if it could close in it: gap + dt n·v + dt²/2 n·J̇v < reach, with v the velocity at the
contact against what is touched. Of a body that lies flat, with many corners, those farthest out in eight directions
stand for all.
"""

from __future__ import annotations

import math

from sot.kernels.compiler import entry_kernel, kernel

PLANE, BOX = 0, 1
# A shape of the world: kind, friction, rotation by columns (9), position (3), half lengths (3), velocity of its
# origin (3), angular velocity (3).
KIND, FRICTION, ROTATION, POSITION, HALF, TWIST, SHAPE = 0, 1, 2, 11, 14, 17, 23
# Candidates that belong together: first, last, centre in the joint (3), radius, joint, name, 1 if it is a sole.
FIRST, LAST, CENTER, RADIUS, CARRIER, LABEL, SOLE, GROUP = 0, 1, 2, 5, 6, 7, 8, 9
# Who touches: joint, other joint, candidate, name of what touches, thing that is touched.
JOINT, OTHER, KEY, NAME, THING, WHO = range(6)
# A contact: gap, friction, point (3), normal (3), velocity of what is touched (3), gap that is foreseen, and by how
# much the gap grows at a constant velocity since bodies turn, as a mean speed in the step.
GAP, MU, POINT, NORMAL, SURFACE, AHEAD, CURVE, CONTACT = 0, 1, 2, 5, 8, 11, 12, 13
BAND = 5e-4  # m; corners of a body that are this much farther than its nearest one are left out
MANY = 8  # contacts of a body with a shape, at most
COS = (1.0, 0.7071067811865476, 0.0, -0.7071067811865476, -1.0, -0.7071067811865476, 0.0, 0.7071067811865476)


@entry_kernel
def detect(balls, groups, shapes, oMi, twists, turns, gravity, dt, reach, who, contacts):
    """Contacts of all candidates. Returns how many there are, even if there is room for fewer.

    A line of `balls` is (position in the joint (3), radius, friction); `twists` are those of the joints, and `turns`
    their accelerations at v̇ = 0 less gravity, in the axes of the joints.
    """
    count = 0
    for g in range(groups.shape[0]):
        group = groups[g]
        joint = int(group[CARRIER])
        T, twist, turn = oMi[joint], twists[joint], turns[joint]
        cx, cy, cz = carried(T, group[CENTER], group[CENTER + 1], group[CENTER + 2])
        fast = speed(twist, group)
        for s in range(shapes.shape[0]):
            near = reach + group[RADIUS] + dt * (fast + _shape_speed(shapes[s], cx, cy, cz, group[RADIUS]))
            if distance(shapes[s], cx, cy, cz)[0] > near:
                continue
            start = min(count, contacts.shape[0])
            count = _corners(balls, group, T, twist, turn, gravity, shapes[s], s, dt, reach, who, contacts, count)
            if group[SOLE] == 0.0 and count <= contacts.shape[0]:
                count = _thinned(who, contacts, start, count)
    return count


@kernel
def _corners(balls, group, T, twist, turn, gravity, shape, s, dt, reach, who, contacts, count):
    """Contacts of the candidates of a group with a shape."""
    for i in range(int(group[FIRST]), int(group[LAST])):
        x, y, z = carried(T, balls[i, 0], balls[i, 1], balls[i, 2])
        gap, nx, ny, nz = distance(shape, x, y, z)
        r = balls[i, 3]
        ax, ay, az = _turning(T, twist, turn, gravity, balls[i, 0], balls[i, 1], balls[i, 2])
        count = add(
            int(group[CARRIER]), i, int(group[LABEL]), s, gap - r, balls[i, 4] * shape[FRICTION], x - r * nx,
            y - r * ny, z - r * nz, nx, ny, nz, 0.5 * dt * (nx * ax + ny * ay + nz * az), T, twist, shape, dt, reach,
            who, contacts, count,
        )  # fmt: skip
    return count


@kernel
def add(
    joint, key, name, thing, gap, mu, x, y, z, nx, ny, nz, curve, T, twist, shape, dt, reach, who, contacts, count
):  # fmt: skip
    """A contact of a body with a shape, if it could close in this step. Returns how many there are now."""
    vx, vy, vz = velocity(T, twist, x, y, z)
    sx, sy, sz = _surface_velocity(shape, x, y, z)
    ahead = gap + dt * (nx * (vx - sx) + ny * (vy - sy) + nz * (vz - sz) + curve)
    if min(gap, ahead) >= reach:
        return count
    if count < contacts.shape[0]:
        w, c = who[count], contacts[count]
        w[JOINT], w[OTHER], w[KEY], w[NAME], w[THING] = joint, 0, key, name, thing
        c[GAP], c[MU], c[AHEAD], c[CURVE] = gap, mu, min(gap, ahead), curve
        c[POINT], c[POINT + 1], c[POINT + 2] = x, y, z
        c[NORMAL], c[NORMAL + 1], c[NORMAL + 2] = nx, ny, nz
        c[SURFACE], c[SURFACE + 1], c[SURFACE + 2] = sx, sy, sz
    return count + 1


@kernel
def _thinned(who, contacts, start, count):
    """Keep the contacts from `start` on that lie farthest out in eight directions. Returns how many there are now."""
    if count - start <= 4:
        return count
    lowest = math.inf
    for i in range(start, count):
        lowest = min(lowest, contacts[i, AHEAD])
    kept = start
    for k in range(MANY):
        best, most = -1, -math.inf
        for i in range(start, count):
            if contacts[i, AHEAD] < lowest + BAND:
                along = _along(contacts[i], COS[k], COS[(k + 6) % MANY])
                if along > most:
                    best, most = i, along
        if best >= kept:
            _swap(who, contacts, kept, best)
            kept += 1
    return kept


@kernel
def _along(contact, first, second):
    """How far out a contact lies in a direction across its normal."""
    nx, ny, nz = contact[NORMAL], contact[NORMAL + 1], contact[NORMAL + 2]
    ax, ay, az, bx, by, bz = across(nx, ny, nz)
    x, y, z = contact[POINT], contact[POINT + 1], contact[POINT + 2]
    return first * (ax * x + ay * y + az * z) + second * (bx * x + by * y + bz * z)


@kernel
def _swap(who, contacts, i, j):
    for c in range(WHO):
        who[i, c], who[j, c] = who[j, c], who[i, c]
    for c in range(CONTACT):
        contacts[i, c], contacts[j, c] = contacts[j, c], contacts[i, c]


@kernel
def carried(T, x, y, z):
    """T p, with T as 12 numbers: the rotation by columns, then the translation."""
    return (
        T[9] + T[0] * x + T[3] * y + T[6] * z,
        T[10] + T[1] * x + T[4] * y + T[7] * z,
        T[11] + T[2] * x + T[5] * y + T[8] * z,
    )


@kernel
def velocity(T, twist, x, y, z):
    """Velocity, in the world, of the point of a body that is at (x, y, z)."""
    dx, dy, dz = x - T[9], y - T[10], z - T[11]
    a, b, c = T[0] * dx + T[1] * dy + T[2] * dz, T[3] * dx + T[4] * dy + T[5] * dz, T[6] * dx + T[7] * dy + T[8] * dz
    wx, wy, wz = twist[3], twist[4], twist[5]
    u, v, w = twist[0] + wy * c - wz * b, twist[1] + wz * a - wx * c, twist[2] + wx * b - wy * a
    return T[0] * u + T[3] * v + T[6] * w, T[1] * u + T[4] * v + T[7] * w, T[2] * u + T[5] * v + T[8] * w


@kernel
def _turning(T, twist, turn, gravity, x, y, z):
    """Acceleration, in the world, of a point of a joint when v̇ = 0: J̇v."""
    vx, vy, vz, wx, wy, wz = twist[0], twist[1], twist[2], twist[3], twist[4], twist[5]
    ax, ay, az = turn[3], turn[4], turn[5]
    u, v, w = vx + wy * z - wz * y, vy + wz * x - wx * z, vz + wx * y - wy * x
    a = turn[0] + ay * z - az * y + wy * w - wz * v
    b = turn[1] + az * x - ax * z + wz * u - wx * w
    c = turn[2] + ax * y - ay * x + wx * v - wy * u
    return (
        gravity[0] + T[0] * a + T[3] * b + T[6] * c,
        gravity[1] + T[1] * a + T[4] * b + T[7] * c,
        gravity[2] + T[2] * a + T[5] * b + T[8] * c,
    )


@kernel
def speed(twist, group):
    """No point of a group is faster than this."""
    x, y, z = group[CENTER], group[CENTER + 1], group[CENTER + 2]
    wx, wy, wz = twist[3], twist[4], twist[5]
    u, v, w = twist[0] + wy * z - wz * y, twist[1] + wz * x - wx * z, twist[2] + wx * y - wy * x
    return math.sqrt(u * u + v * v + w * w) + math.sqrt(wx * wx + wy * wy + wz * wz) * group[RADIUS]


@kernel
def _surface_velocity(shape, x, y, z):
    """Velocity of a shape's material at a point."""
    dx, dy, dz = x - shape[POSITION], y - shape[POSITION + 1], z - shape[POSITION + 2]
    wx, wy, wz = shape[TWIST + 3], shape[TWIST + 4], shape[TWIST + 5]
    return (
        shape[TWIST] + wy * dz - wz * dy,
        shape[TWIST + 1] + wz * dx - wx * dz,
        shape[TWIST + 2] + wx * dy - wy * dx,
    )


@kernel
def _shape_speed(shape, x, y, z, radius):
    """No point of a shape within a radius is faster than this."""
    u, v, w = _surface_velocity(shape, x, y, z)
    wx, wy, wz = shape[TWIST + 3], shape[TWIST + 4], shape[TWIST + 5]
    return math.sqrt(u * u + v * v + w * w) + math.sqrt(wx * wx + wy * wy + wz * wz) * radius


@kernel
def distance(shape, x, y, z):
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


@kernel
def across(nx, ny, nz):
    """Two unit vectors across a normal: along x and y for a normal along z."""
    if abs(nx) < 0.9:
        tx, ty, tz = 1.0 - nx * nx, -nx * ny, -nx * nz
    else:
        tx, ty, tz = -ny * nx, 1.0 - ny * ny, -ny * nz
    size = math.sqrt(tx * tx + ty * ty + tz * tz)
    tx, ty, tz = tx / size, ty / size, tz / size
    return tx, ty, tz, ny * tz - nz * ty, nz * tx - nx * tz, nx * ty - ny * tx
