"""A tick of collision avoidance in one compiled call: distances of near pairs, the nearest of them, their rows.

Most pairs are far apart and stay so for many ticks. Each pair remembers a bound: its distance when it was last looked
at, plus the way its bodies had gone by then. As long as that, minus the way they have gone now, is above the
influence distance, nothing else is computed for it.
"""

from __future__ import annotations

import math

from sot.kernels import distance as at
from sot.kernels.compiler import entry_kernel, kernel
from sot.kernels.corners import find_corners
from sot.kernels.distance import CORNERS, to_body, to_plane
from sot.kernels.limits import brake

A_SIDE, B_SIDE, SLOT, CHOSEN, PAIR = range(5)  # columns of the table of pairs
TWIST, OBSTACLE = 12, 18  # an obstacle: placement as pinocchio has it (12), velocity of its origin, angular velocity
# With what two bodies brake: deceleration, λ, recovery speed, power at the end of the zone, its width in braking ways.
BRAKES, DAMPER, BACK, END, ROOM, BRAKE = range(6)
LEAST_ZONE = 0.1  # part of the influence zone that is left, however many pairs are nearer


@entry_kernel
def collision_rows(
    placements, jacobian, obstacles, points, bodies, geometry, support, pairs, memory, world, scratch, settings,
    reaches, order, slots, AT, lower,
):  # fmt: skip
    """A tick: distances of all pairs that are near, and rows for the nearest. Returns how many are within influence.

    −1 if a placement is not finite; then a bound is NaN, so that a solver takes notice.
    """
    if not move_bodies(placements, obstacles, bodies, geometry):
        for s in range(lower.shape[0]):
            lower[s] = math.nan
        return -1
    measure_pairs(points, bodies, geometry, pairs, memory, world, scratch, settings, reaches)
    count = choose_pairs(pairs, memory, reaches, order, slots)
    write_rows(jacobian, obstacles, bodies, support, pairs, memory, settings, reaches, order, slots, count, AT, lower)
    return count


# -- where the bodies are ------------------------------------------------------------------------------------


@kernel
def move_bodies(placements, obstacles, bodies, geometry):
    """World centres, and by how much bodies may have moved: |Δc| + ‖ΔR‖ · radius. False if one is not finite."""
    for b in range(bodies.shape[0]):
        carrier, g = bodies[b, at.CARRIER], geometry[b]
        T = placements[carrier] if carrier >= 0 else obstacles[-1 - carrier]
        turned = 0.0
        for i in range(9):
            turned += (T[i] - g[at.LAST + i]) ** 2
        x = T[9] + T[0] * g[0] + T[3] * g[1] + T[6] * g[2]
        y = T[10] + T[1] * g[0] + T[4] * g[1] + T[7] * g[2]
        z = T[11] + T[2] * g[0] + T[5] * g[1] + T[8] * g[2]
        moved = (x - g[at.WORLD]) ** 2 + (y - g[at.WORLD + 1]) ** 2 + (z - g[at.WORLD + 2]) ** 2
        # ‖ΔR‖₂ = ‖ΔR‖_F / √2 for the difference of two rotations.
        travel = g[at.TRAVEL] + math.sqrt(moved) + math.sqrt(0.5 * turned) * g[at.CORE]
        if not travel < math.inf:
            return False
        g[at.WORLD], g[at.WORLD + 1], g[at.WORLD + 2], g[at.TRAVEL] = x, y, z, travel
        for i in range(12):
            g[at.LAST + i] = T[i]
        bodies[b, at.READY] = 0
    return True


@kernel
def _ready(points, bodies, geometry, b, world):
    """Points of a body in the world, once per tick."""
    if bodies[b, at.READY]:
        return
    T = geometry[b, at.LAST :]
    for i in range(bodies[b, at.FIRST], bodies[b, at.END]):
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        for r in range(3):
            world[i, r] = T[9 + r] + T[r] * x + T[3 + r] * y + T[6 + r] * z
    bodies[b, at.READY] = 1


# -- distances -----------------------------------------------------------------------------------------------


@kernel
def measure_pairs(points, bodies, geometry, pairs, memory, world, scratch, settings, reaches):
    """Distances of all pairs that may be within influence; the others are told apart by bounds."""
    for p in range(pairs.shape[0]):
        a, b, m, reach = pairs[p, A_SIDE], pairs[p, B_SIDE], memory[p], reaches[p]
        travel = geometry[a, at.TRAVEL] + geometry[b, at.TRAVEL]
        if travel == m[at.MOVED]:  # neither has moved since: the same answer, to the last bit
            continue
        m[at.DISTANCE] = math.inf
        if m[at.CLEAR] - travel > reach:
            continue
        plane = bodies[b, at.END] == bodies[b, at.FIRST]
        T = geometry[b, at.LAST :]
        gap = _plane_gap(geometry[a], T) if plane else _sphere_gap(geometry[a], geometry[b])
        # The smooth distance is less than the true one by so much at most.
        gap -= settings[at.SMOOTHING] * (geometry[a, at.LOG] + geometry[b, at.LOG])
        if not gap > reach:
            _ready(points, bodies, geometry, a, world)
            _ready(points, bodies, geometry, b, world)
            if plane:
                to_plane(world, bodies[a], T, settings, m, scratch)
            else:
                to_body(world, bodies[a], bodies[b], geometry[a], geometry[b], travel, settings, m, scratch)
            balls = geometry[a, at.BALL] + geometry[b, at.BALL]
            if settings[at.EXACT] == 0.0:
                find_corners(world, bodies[a], bodies[b], geometry[a, at.LAST :], settings, m, scratch)
                for k in range(CORNERS):
                    m[at.CORNER + 4 * k + 3] -= balls
            gap = m[at.DISTANCE] - balls
            m[at.DISTANCE], m[at.MOVED] = gap, travel
        if not plane:  # a plane that turns moves further the further away: it is looked at in every tick
            m[at.CLEAR] = gap + travel


@kernel
def _sphere_gap(a, b):
    """Distance of the spheres around two bodies."""
    x, y, z = b[at.WORLD] - a[at.WORLD], b[at.WORLD + 1] - a[at.WORLD + 1], b[at.WORLD + 2] - a[at.WORLD + 2]
    return math.sqrt(x * x + y * y + z * z) - a[at.CORE] - a[at.BALL] - b[at.CORE] - b[at.BALL]


@kernel
def _plane_gap(a, T):
    """Distance of the sphere around a body from the plane through T's origin, across its z axis."""
    x, y, z = a[at.WORLD] - T[9], a[at.WORLD + 1] - T[10], a[at.WORLD + 2] - T[11]
    return T[6] * x + T[7] * y + T[8] * z - a[at.CORE] - a[at.BALL]


# -- the nearest pairs ---------------------------------------------------------------------------------------


@kernel
def choose_pairs(pairs, memory, reaches, order, slots):
    """Give the nearest pairs a slot each; a pair keeps its slot for as long as it is among them.

    `order` becomes their indices, nearest first, and that of the first pair too many. Returns the number of pairs
    within reach.
    """
    count, room = 0, order.shape[0]
    for p in range(pairs.shape[0]):
        pairs[p, CHOSEN] = 0
        if memory[p, at.DISTANCE] < reaches[p]:
            place = min(count, room)
            while place > 0 and memory[p, at.DISTANCE] < memory[order[place - 1], at.DISTANCE]:
                if place < room:
                    order[place] = order[place - 1]
                place -= 1
            if place < room:
                order[place] = p
            count += 1
    _fill_slots(pairs, order, min(count, slots.shape[0]), slots)
    return count


@kernel
def _fill_slots(pairs, order, chosen, slots):
    """Free the slots of pairs that are not among the chosen, then give those without one the free slots."""
    for k in range(chosen):
        pairs[order[k], CHOSEN] = 1
    for s in range(slots.shape[0]):
        if slots[s] >= 0 and not pairs[slots[s], CHOSEN]:
            pairs[slots[s], SLOT] = -1
            slots[s] = -1
    free = 0
    for k in range(chosen):
        if pairs[order[k], SLOT] < 0:
            while slots[free] >= 0:
                free += 1
            slots[free] = order[k]
            pairs[order[k], SLOT] = free


# -- rows ----------------------------------------------------------------------------------------------------


@kernel
def write_rows(jacobian, obstacles, bodies, support, pairs, memory, settings, reaches, order, slots, count, AT, lower):
    """ḋ = n·(J_B(y) − J_A(x)) v + n·v_obstacle ≥ −φ(d) for the pair in each slot, at each corner where it lies flat."""
    for c in range(AT.shape[0]):
        for r in range(AT.shape[1]):
            AT[c, r] = 0.0
    for r in range(lower.shape[0]):
        p, corner = slots[r // CORNERS], r % CORNERS
        lower[r] = -math.inf
        if p < 0 or memory[p, at.CORNER + 4 * corner + 3] == math.inf:
            continue
        m, a, b = memory[p], bodies[pairs[p, A_SIDE]], bodies[pairs[p, B_SIDE]]
        x, y, z, distance = m[at.CORNER + 4 * corner : at.CORNER + 4 * corner + 4]
        # Joints that carry both bodies come first in both lists, and do not change the distance.
        shared = 0
        while (
            a[at.SUPPORT] + shared < a[at.SUPPORT_END]
            and b[at.SUPPORT] + shared < b[at.SUPPORT_END]
            and support[a[at.SUPPORT] + shared] == support[b[at.SUPPORT] + shared]
        ):
            shared += 1
        _columns(jacobian, support, a[at.SUPPORT] + shared, a[at.SUPPORT_END], m, at.X, x, y, z, -1.0, AT, r)
        _columns(jacobian, support, b[at.SUPPORT] + shared, b[at.SUPPORT_END], m, at.Y, x, y, z, 1.0, AT, r)
        width = _zone(p, memory, settings, reaches, order, slots.shape[0], count)
        lower[r] = least_speed(distance - settings[at.MARGIN], width, settings)
        if b[at.CARRIER] < 0:
            lower[r] -= _speed(obstacles[-1 - b[at.CARRIER]], m, x, y, z)


@kernel
def _zone(p, memory, settings, reaches, order, slots, count):
    """Width of the zone in which a pair slows down. It ends where the first pair without a slot is: as pairs swap, the
    bounds of both are infinitely far away."""
    zone = reaches[p] - settings[at.MARGIN]
    if count > slots:
        nearest_left_out = memory[order[slots], at.DISTANCE] - settings[at.MARGIN]
        return min(zone, max(nearest_left_out, LEAST_ZONE * zone))
    return zone


@entry_kernel
def barrier_bounds(v, dt, brakes, memory, settings, reaches, order, slots, count, AT, speeds, lower):
    """Bounds on A v̇, see `sot.collision.barrier`.

    `speeds` holds what obstacles come nearer by themselves, −inf in rows that are not used.
    """
    for r in range(lower.shape[0]):
        lower[r] = -math.inf
        if speeds[r] == -math.inf:
            continue
        speed = speeds[r]
        for c in range(AT.shape[0]):
            speed -= AT[c, r] * v[c]
        p = slots[r // CORNERS]
        delta = memory[p, at.CORNER + 4 * (r % CORNERS) + 3] - settings[at.MARGIN]
        width = _zone(p, memory, settings, reaches, order, slots.shape[0], count)
        end = (max(delta, 0.0) / width) ** brakes[END]
        spare = brakes[BRAKES] * end / max(1.0 - end, 1e-12)
        lower[r] = -_most_change(delta, speed, dt, brakes) - spare


@kernel
def _most_change(delta, speed, dt, brakes):
    """Largest change of the speed at which two bodies come nearer."""
    loss = -math.expm1(-brakes[DAMPER] * dt) / dt
    before = max(brake(delta + 2.0 * dt * speed, loss, brakes[BRAKES], dt), -brakes[BACK])
    now = max(brake(delta + dt * speed, loss, brakes[BRAKES], dt), -brakes[BACK])
    along, left = (now - before) / dt, before - speed
    if left >= 0.0:
        return along + loss * left
    towards, room = max(speed, 0.0), delta + dt * speed
    late = towards / dt if room <= 0.5 * dt * towards else 0.5 * towards * towards / room
    return max(along + left / dt, -2.0 * brakes[BRAKES] - late)


@entry_kernel
def reach_out(placements, jacobian, obstacles, bodies, geometry, support, pairs, v, brakes, settings, twists, reaches):
    """From where on each pair has rows: from influence on, or farther away if it could be as fast as to brake there.

    Of two bodies with the twist ω, v of the second as seen from the first, no point of either comes nearer at more
    than |v at its centre| + |ω| · radius.
    """
    for b in range(bodies.shape[0]):
        _twist(placements, jacobian, obstacles, bodies[b], geometry[b], support, v, twists[b])
    for p in range(pairs.shape[0]):
        a, b = pairs[p, A_SIDE], pairs[p, B_SIDE]
        speed = _relative(twists[a], twists[b], twists[a])
        if bodies[b, at.END] > bodies[b, at.FIRST]:
            speed = min(speed, _relative(twists[a], twists[b], twists[b]))
        slow = min(speed, brakes[BRAKES] / brakes[DAMPER])
        way = slow / brakes[DAMPER] + 0.5 * (speed * speed - slow * slow) / brakes[BRAKES]
        reaches[p] = max(settings[at.INFLUENCE], settings[at.MARGIN] + brakes[ROOM] * way)


@kernel
def _twist(placements, jacobian, obstacles, body, g, support, v, out):
    """Velocity at the world's origin, angular velocity, centre and radius of a body."""
    carrier = body[at.CARRIER]
    T = placements[carrier] if carrier >= 0 else obstacles[-1 - carrier]
    for i in range(6):
        out[i] = 0.0
    for i in range(3):
        out[6 + i] = T[9 + i] + T[i] * g[0] + T[3 + i] * g[1] + T[6 + i] * g[2]
    out[9] = g[at.CORE] + g[at.BALL]
    if carrier < 0:
        x, y, z, rx, ry, rz = T[9], T[10], T[11], T[TWIST + 3], T[TWIST + 4], T[TWIST + 5]
        out[0], out[3] = T[TWIST] - (ry * z - rz * y), rx
        out[1], out[4] = T[TWIST + 1] - (rz * x - rx * z), ry
        out[2], out[5] = T[TWIST + 2] - (rx * y - ry * x), rz
    for k in range(body[at.SUPPORT], body[at.SUPPORT_END]):
        for i in range(6):
            out[i] += jacobian[i, support[k]] * v[support[k]]


@kernel
def _relative(a, b, at_body):
    """Largest speed of a body's points in the motion of b as seen from a."""
    rx, ry, rz = b[3] - a[3], b[4] - a[4], b[5] - a[5]
    x, y, z = at_body[6], at_body[7], at_body[8]
    u, v, w = b[0] - a[0] + ry * z - rz * y, b[1] - a[1] + rz * x - rx * z, b[2] - a[2] + rx * y - ry * x
    return math.sqrt(u * u + v * v + w * w) + math.sqrt(rx * rx + ry * ry + rz * rz) * at_body[9]


@kernel
def least_speed(delta, width, settings):
    """−φ: −λ δ / (1 − (δ/Δ)²) above the margin, and the way out below it, no faster than the recovery speed."""
    if delta >= width:
        return -math.inf
    if delta > 0.0:
        return -settings[at.RATE] * delta / (1.0 - (delta / width) ** 2)
    return min(-settings[at.RATE] * delta, settings[at.RECOVERY])


@kernel
def _columns(jacobian, support, first, end, m, place, px, py, pz, sign, AT, r):
    """± n·(v + ω × p) for each column (v, ω) of the Jacobian at the world's origin."""
    nx, ny, nz = m[0], m[1], m[2]
    x, y, z = m[place] + px, m[place + 1] + py, m[place + 2] + pz
    tx, ty, tz = y * nz - z * ny, z * nx - x * nz, x * ny - y * nx
    for k in range(first, end):
        c = support[k]
        linear = nx * jacobian[0, c] + ny * jacobian[1, c] + nz * jacobian[2, c]
        AT[c, r] = sign * (linear + tx * jacobian[3, c] + ty * jacobian[4, c] + tz * jacobian[5, c])


@kernel
def _speed(obstacle, m, px, py, pz):
    """n·(v + ω × (y + p − origin)): how fast an obstacle draws away by itself."""
    v, w = obstacle[TWIST : TWIST + 3], obstacle[TWIST + 3 : TWIST + 6]
    x, y, z = m[at.Y] + px - obstacle[9], m[at.Y + 1] + py - obstacle[10], m[at.Y + 2] + pz - obstacle[11]
    return (
        m[0] * (v[0] + w[1] * z - w[2] * y) + m[1] * (v[1] + w[2] * x - w[0] * z) + m[2] * (v[2] + w[0] * y - w[1] * x)
    )
