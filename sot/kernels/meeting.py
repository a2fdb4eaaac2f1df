"""Contacts of two bodies of a robot, and of bodies with boxes, from their distances; see `sot.collision.distances`."""

from __future__ import annotations

import math

from sot.kernels import distance as at
from sot.kernels.compiler import entry_kernel, kernel
from sot.kernels.touch import (
    AHEAD,
    CURVE,
    FRICTION,
    GAP,
    JOINT,
    KEY,
    MU,
    NAME,
    NORMAL,
    OTHER,
    POINT,
    SURFACE,
    THING,
    add,
    velocity,
)

# A pair: joint of the first, joint of the second or −1, names of both, key; the second may be a shape of the world.
FIRST_JOINT, SECOND_JOINT, FIRST_NAME, SECOND_NAME, KEY_OF, PAIR = range(6)


@entry_kernel
def meet(pairs, balls, memory, shapes, friction, oMi, twists, dt, reach, who, contacts, count):
    """Contacts of pairs that could close in this step, behind `count` others. Returns how many there are in all."""
    for p in range(pairs.shape[0]):
        m, pair = memory[p], pairs[p]
        gap, a, b = m[at.DISTANCE], pair[FIRST_JOINT], pair[SECOND_JOINT]
        if not gap < math.inf:  # far away
            continue
        nx, ny, nz = m[at.NORMAL], m[at.NORMAL + 1], m[at.NORMAL + 2]
        x, y, z = _between(m, balls[p, 0] - balls[p, 1])
        if b < 0:
            s = pair[SECOND_NAME]
            count = add(
                a, pair[KEY_OF], pair[FIRST_NAME], s, gap, shapes[s, FRICTION], x, y, z, -nx, -ny, -nz, 0.0,
                oMi[a], twists[a], shapes[s], dt, reach, who, contacts, count,
            )  # fmt: skip
            continue
        ux, uy, uz = velocity(oMi[a], twists[a], x, y, z)
        vx, vy, vz = velocity(oMi[b], twists[b], x, y, z)
        ahead = min(gap, gap + dt * (nx * (vx - ux) + ny * (vy - uy) + nz * (vz - uz)))
        if ahead < reach:
            if count < contacts.shape[0]:
                _write(pair, gap, friction, x, y, z, nx, ny, nz, ahead, who[count], contacts[count])
            count += 1
    return count


@kernel
def _between(m, difference):
    """The point half-way between the surfaces of two bodies, whose balls differ by so much."""
    return (
        0.5 * (m[at.X] + m[at.Y] + difference * m[at.NORMAL]),
        0.5 * (m[at.X + 1] + m[at.Y + 1] + difference * m[at.NORMAL + 1]),
        0.5 * (m[at.X + 2] + m[at.Y + 2] + difference * m[at.NORMAL + 2]),
    )


@kernel
def _write(pair, gap, friction, x, y, z, nx, ny, nz, ahead, w, c):
    """The second body touches the first one."""
    w[JOINT], w[OTHER], w[KEY] = pair[SECOND_JOINT], pair[FIRST_JOINT], pair[KEY_OF]
    w[NAME], w[THING] = pair[SECOND_NAME], pair[FIRST_NAME]
    c[GAP], c[MU], c[AHEAD] = gap, friction, ahead
    c[POINT], c[POINT + 1], c[POINT + 2] = x, y, z
    c[NORMAL], c[NORMAL + 1], c[NORMAL + 2] = nx, ny, nz
    c[SURFACE] = c[SURFACE + 1] = c[SURFACE + 2] = c[CURVE] = 0.0
