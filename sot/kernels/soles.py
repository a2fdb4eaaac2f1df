"""Flat soles that stand across the edge of a box.

Corners of a sole are candidates like others (`sot.kernels.touch`). Where the edge of a box passes under the sole, what
carries it are the corners of the part of the sole that is above the box: the sole, cut along the sides of the face.
"""

from __future__ import annotations

import math

from sot.kernels.compiler import entry_kernel, kernel
from sot.kernels.touch import (
    CARRIER,
    CENTER,
    FIRST,
    FRICTION,
    HALF,
    KIND,
    LABEL,
    LAST,
    PLANE,
    POSITION,
    RADIUS,
    ROTATION,
    SOLE,
    add,
    carried,
    distance,
    speed,
)

KEYS = 1 << 16  # keys of these contacts begin here, eight for each group
CORNER, CORNERS = 4, 24  # numbers of a corner, place in the box and key; corners a polygon may have


@entry_kernel
def stand_across(balls, groups, shapes, oMi, twists, dt, reach, who, contacts, count, scratch):
    """Contacts of soles at the edges of boxes, behind `count` others. Returns how many there are in all."""
    for g in range(groups.shape[0]):
        group = groups[g]
        size = int(group[LAST] - group[FIRST])
        if group[SOLE] == 0.0 or size < 3 or size + 4 > CORNERS:
            continue
        T, twist = oMi[int(group[CARRIER])], twists[int(group[CARRIER])]
        x, y, z = carried(T, group[CENTER], group[CENTER + 1], group[CENTER + 2])
        near = reach + dt * speed(twist, group)
        for s in range(shapes.shape[0]):
            if shapes[s, KIND] == PLANE or distance(shapes[s], x, y, z)[0] > group[RADIUS] + near:
                continue
            _seen_from(shapes[s], T, balls, int(group[FIRST]), size, scratch[0])
            axis, side, apart = _face(shapes[s], scratch[0], size)
            if apart < near:
                cut = _cut(shapes[s], axis, size, KEYS + 8 * g, scratch)
                count = _add_corners(
                    group, shapes[s], s, axis, side, cut, T, twist, dt, reach, who, contacts, count, scratch[0]
                )
    return count


@kernel
def _seen_from(shape, T, balls, first, size, polygon):
    """Corners of a sole in the axes of a box, without keys."""
    R = shape[ROTATION:POSITION]
    for i in range(size):
        x, y, z = carried(T, balls[first + i, 0], balls[first + i, 1], balls[first + i, 2])
        x, y, z = x - shape[POSITION], y - shape[POSITION + 1], z - shape[POSITION + 2]
        for k in range(3):
            polygon[i, k] = R[3 * k] * x + R[3 * k + 1] * y + R[3 * k + 2] * z
        polygon[i, 3] = -1.0


@kernel
def _face(shape, polygon, size):
    """The face of the box from which the sole is farthest: its axis, on which side, and how far."""
    axis, side, most = 0, 1.0, -math.inf
    for k in range(3):
        for sign in (1.0, -1.0):
            apart = math.inf
            for i in range(size):
                apart = min(apart, sign * polygon[i, k] - shape[HALF + k])
            if apart > most:
                axis, side, most = k, sign, apart
    return axis, side, most


@kernel
def _cut(shape, axis, size, key, scratch):
    """Cut the polygon in scratch[0] along the four sides of a face. Returns how many corners are left."""
    plane = 0
    for k in range(3):
        if k != axis:
            for sign in (1.0, -1.0):
                size = _cut_along(k, sign, shape[HALF + k], size, key + 2 * plane, scratch[0], scratch[1])
                for i in range(size):
                    for c in range(CORNER):
                        scratch[0, i, c] = scratch[1, i, c]
                plane += 1
    return size


@kernel
def _cut_along(k, sign, half, size, key, polygon, out):
    """The part of a polygon where sign · p[k] ≤ half. New corners get keys, one going out of it, one coming in."""
    count = 0
    for i in range(size):
        here, there = polygon[i], polygon[(i + 1) % size]
        a, b = half - sign * here[k], half - sign * there[k]
        if a >= 0.0:
            for c in range(CORNER):
                out[count, c] = here[c]
            count += 1
        if (a >= 0.0) != (b >= 0.0):
            part = a / (a - b)
            for c in range(3):
                out[count, c] = here[c] + part * (there[c] - here[c])
            out[count, 3] = key if a >= 0.0 else key + 1
            count += 1
    return count


@kernel
def _add_corners(group, shape, s, axis, side, size, T, twist, dt, reach, who, contacts, count, polygon):
    """Contacts of the new corners; the sole's own are candidates already."""
    R = shape[ROTATION:POSITION]
    nx, ny, nz = side * R[3 * axis], side * R[3 * axis + 1], side * R[3 * axis + 2]
    for i in range(size):
        p = polygon[i]
        if p[3] >= 0.0:
            x = shape[POSITION] + R[0] * p[0] + R[3] * p[1] + R[6] * p[2]
            y = shape[POSITION + 1] + R[1] * p[0] + R[4] * p[1] + R[7] * p[2]
            z = shape[POSITION + 2] + R[2] * p[0] + R[5] * p[1] + R[8] * p[2]
            count = add(
                int(group[CARRIER]), int(p[3]), int(group[LABEL]), s, side * p[axis] - shape[HALF + axis],
                shape[FRICTION], x, y, z, nx, ny, nz, 0.0, T, twist, shape, dt, reach, who, contacts, count,
            )  # fmt: skip
    return count
