"""The numbers of one step of a simulation; see `sot.simulation.engine` for what it solves.

Rows are three per contact, along its axes (two tangents, normal), then one per joint that is near a limit, then one
per joint with friction. `N` has a number per row in each of its lines.
"""

from __future__ import annotations

import math

from sot.kernels.cholesky import backward, delassus, factor, forward, spread
from sot.kernels.compiler import entry_kernel, kernel
from sot.kernels.linear import dot
from sot.kernels.touch import CURVE, GAP, JOINT, KEY, NORMAL, POINT, SURFACE, THING, across

# Lines of N: distance that is left; velocity of what is touched; velocity before the step, of normals and limits, in
# the axes of the middle of the last step, to which it belongs; velocity that is allowed; g, J v_free without these two;
# where λ is looked for first, λ; what is asked to take back a penetration, what does it; the scale of a row, g and
# guess in it; 1 where a contact parts that has hit.
LEFT, THEIRS, BEFORE, ALLOWED, FREE, GUESS, FOUND, ASKED, SHIFT, SCALE, SCALED, SCALED_GUESS, PARTS, LINES = range(14)
# A joint with limits: place in q, place in v, lower and upper limit.
IN_Q, IN_V, LOW, HIGH, LIMIT = range(5)
# What is remembered of a contact: its impulse (3), and the speed with which it hit.
HIT, MEMORY = 3, 4
AT_LOW, AT_HIGH, RUBS = range(3)  # impulses that are remembered of a joint
OUT, OUT_SPEED = 0.2, 0.2  # part of a penetration that is taken back in a step, at most so fast, m/s or rad/s
SLOP = 1e-7  # m or rad; penetrations up to this are left alone
SWEEPS = 10  # over the rows, to take penetrations back
TINY = 1e-12  # 1/kg; least mobility of a contact


@entry_kernel
def fall(M, damping, tau, nle, v, dt, rate, L, free, middle):
    """L Lᵀ = M + dt D, where the robot would go without contacts, and the velocity half-way through the step.

    `rate` is what contacts added to v̇ in the last step: those that stay will do so again.
    """
    factor(M, damping, dt, L)
    _fall(L, damping, tau, nle, v, dt, free)
    for c in range(v.size):
        middle[c] = 0.5 * (v[c] + free[c] + dt * rate[c])


@kernel
def _fall(L, damping, tau, nle, v, dt, free):
    """v_free = v + dt (M + dt D)⁻¹ (τ − h − D v): implicit in the damping."""
    for c in range(v.size):
        free[c] = tau[c] - nle[c] - damping[c] * v[c]
    forward(L, free, v.size)
    backward(L, free, v.size)
    for c in range(v.size):
        free[c] = v[c] + dt * free[c]


# -- rows ----------------------------------------------------------------------------------------------------


@entry_kernel
def joint_rows(limits, q, middle, dt, reach, dry, columns, signs, left):
    """Joints that could reach a limit in this step, then those with friction. Returns how many limits there are.

    What other joints and contacts do in the step can make a joint about as fast as the fastest one.
    """
    count, fastest = 0, 0.0
    for c in range(middle.size):
        fastest = max(fastest, abs(middle[c]))
    reach += dt * fastest
    for k in range(limits.shape[0]):
        at, rate = q[int(limits[k, IN_Q])], middle[int(limits[k, IN_V])]
        for side in range(2):
            sign = 1.0 - 2.0 * side
            here = sign * (at - limits[k, LOW + side])
            if min(here, here + dt * sign * rate) < reach:
                columns[count], signs[count], left[count] = int(limits[k, IN_V]), sign, here
                count += 1
    for k in range(dry.size):
        columns[count + k], signs[count + k], left[count + k] = dry[k], 1.0, 0.0
    return count


@entry_kernel
def prepare(
    count, limits, joints, who, contacts, axes, support, starts, J, columns, signs, left, damping, tau, nle, v, dt,
    restitution, slow, met, memory, joint_memory, free, L, JT, Y, G, N,
):  # fmt: skip
    """Everything of a step that is linear: v_free, J, Y = L⁻¹ Jᵀ, G = YᵀY, g. Returns the number of rows.

    A row of JT is a row of J.
    """
    _fall(L, damping, tau, nle, v, dt, free)
    hits = False
    for i in range(count):
        k = 3 * i
        _contact_rows(who[i], contacts[i], axes[i], support, starts, J, JT[k], JT[k + 1], JT[k + 2])
        _contact_numbers(contacts[i], axes[i], _find(met, who[i]), memory, restitution, dt, k, N)
        N[BEFORE, k + 2] = dot(JT[k + 2], v, v.size) - N[THEIRS, k + 2] - contacts[i, CURVE]
        hits |= N[BEFORE, k + 2] < -slow and contacts[i, GAP] + dt * N[BEFORE, k + 2] < 0.0
    if not hits:
        _follow_turns(count, contacts, dt, N)
    for k in range(joints):
        i = 3 * count + k
        JT[i, :] = 0.0
        JT[i, columns[k]] = signs[k]
        N[LEFT, i], N[THEIRS, i], N[ALLOWED, i] = left[k], 0.0, -max(left[k], 0.0) / dt
        N[BEFORE, i] = signs[k] * v[columns[k]]
        N[GUESS, i] = joint_memory[columns[k], _kind(k, limits, signs)]
    size = 3 * count + joints
    delassus(L, JT, Y, size, G)
    for i in range(size):
        N[FREE, i] = dot(JT[i], free, v.size) - N[THEIRS, i] - N[ALLOWED, i]
    return size


@entry_kernel
def scale(count, size, dry_scales, G, N, S):
    """The problem in units in which its numbers are about 1: λ = c s λ', u = c u'/s, S = s G s. Returns c.

    A contact has one s for all of its rows, so that its cone stays. Those of friction in joints do not change, and c
    goes by powers of 4, so that intervals of friction are the same in most steps.
    """
    s = N[SCALE]
    for i in range(count):
        k = 3 * i
        s[k] = s[k + 1] = s[k + 2] = math.sqrt(3.0 / max(G[k, k] + G[k + 1, k + 1] + G[k + 2, k + 2], TINY))
    dry = size - dry_scales.size
    for i in range(3 * count, size):
        s[i] = 1.0 / math.sqrt(G[i, i]) if i < dry else dry_scales[i - dry]
    largest = 1e-9
    for i in range(size):
        largest = max(largest, abs(s[i] * N[FREE, i]))
    c = 4.0 ** math.floor(0.5 * math.log2(largest))
    for i in range(size):
        N[SCALED, i], N[SCALED_GUESS, i] = s[i] * N[FREE, i] / c, N[GUESS, i] / (s[i] * c)
        for j in range(size):
            S[i, j] = s[i] * G[i, j] * s[j]
    return c


@kernel
def _contact_numbers(c, axes, place, memory, restitution, dt, i, N):
    """A gap may close, n·v⁺ ≥ −gap/dt; what overlaps must not go on; what has hit parts with a part of its speed."""
    x, y, z = c[SURFACE], c[SURFACE + 1], c[SURFACE + 2]
    N[THEIRS, i] = axes[0] * x + axes[1] * y + axes[2] * z
    N[THEIRS, i + 1] = axes[3] * x + axes[4] * y + axes[5] * z
    N[THEIRS, i + 2] = c[NORMAL] * x + c[NORMAL + 1] * y + c[NORMAL + 2] * z
    N[ALLOWED, i] = N[ALLOWED, i + 1] = 0.0
    N[LEFT, i + 2], N[ALLOWED, i + 2] = c[GAP], -max(c[GAP], 0.0) / dt
    for k in range(3):
        N[GUESS, i + k] = memory[place, k] if place >= 0 else 0.0
    N[PARTS, i + 2] = 0.0
    if place >= 0 and restitution * memory[place, HIT] < 0.0:
        N[PARTS, i + 2] = 1.0
        N[ALLOWED, i + 2] = -restitution * memory[place, HIT]


@kernel
def _follow_turns(count, contacts, dt, N):
    """Gaps at the end of the step go by n·v⁺ and by how bodies turn while they move, which is known to second order.

    So contacts that stay neither sink in nor lift off. Not at an impact: there this would be a little energy.
    """
    for i in range(count):
        n = 3 * i + 2
        N[LEFT, n] += dt * contacts[i, CURVE]
        N[ALLOWED, n] -= contacts[i, CURVE]


@kernel
def _find(met, who):
    """Where a contact is among those that are remembered, or −1."""
    for j in range(met.shape[0]):
        if met[j, 0] < 0:  # none after this
            return -1
        if met[j, 0] == who[KEY] and met[j, 1] == who[THING]:
            return j
    return -1


@kernel
def _kind(k, limits, signs):
    """Which of the impulses of a joint a row has."""
    if k >= limits:
        return RUBS
    return AT_LOW if signs[k] > 0.0 else AT_HIGH


@kernel
def _contact_rows(who, contact, axes, support, starts, J, first, second, third):
    """Velocity of the first body against the other at the contact's point, along two tangents and the normal."""
    for c in range(first.size):
        first[c] = second[c] = third[c] = 0.0
    nx, ny, nz = contact[NORMAL], contact[NORMAL + 1], contact[NORMAL + 2]
    axes[0], axes[1], axes[2], axes[3], axes[4], axes[5] = across(nx, ny, nz)
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


# -- after the impulses are known ----------------------------------------------------------------------------


@entry_kernel
def push(
    count, limits, joints, who, columns, signs, dt, slow, met, memory, joint_memory, free, middle, rate, L, Y, G, N, v,
    moved,
):  # fmt: skip
    """v⁺ = v_free + M⁻¹ Jᵀ λ; `moved` is the velocity of the positions, which takes back penetrations as well."""
    size = 3 * count + joints
    spread(size, Y, L, N[FOUND], v)
    calm = 0.0 if _has_impact(count, limits, slow, N) else 1.0 / dt
    for c in range(v.size):
        rate[c] = calm * v[c]
        v[c] += free[c]
        moved[c] = v[c]
    _remember(count, limits, joints, who, columns, signs, slow, met, memory, joint_memory, G, N)
    if _ask(count, limits, size, dt, G, N):
        _take_back(count, limits, size, G, N)
        spread(size, Y, L, N[SHIFT], middle)  # which is not needed any more
        for c in range(v.size):
            moved[c] += middle[c]


@kernel
def _has_impact(count, limits, slow, N):
    """Whether something was stopped at more than a slow speed: that does not go on in the next step."""
    for j in range(count + limits):
        i = _row(j, count)
        if N[FOUND, i] > 0.0 and N[BEFORE, i] < -slow:
            return True
    return False


@kernel
def _remember(count, limits, joints, who, columns, signs, slow, met, memory, joint_memory, G, N):
    """Impulses, and how fast contacts came that were stopped in this step: they part in the next one."""
    for i in range(count):
        n = 3 * i + 2
        met[i, 0], met[i, 1] = who[i, KEY], who[i, THING]
        for k in range(3):
            memory[i, k] = N[FOUND, 3 * i + k]
        hit = N[FOUND, n] > 0.0 and N[BEFORE, n] < -slow and N[PARTS, n] == 0.0
        memory[i, HIT] = N[BEFORE, n] if hit else 0.0
    if count < met.shape[0]:
        met[count, 0] = -1
    joint_memory[:, :] = 0.0
    for k in range(joints):
        joint_memory[columns[k], _kind(k, limits, signs)] = N[FOUND, 3 * count + k]


@kernel
def _row(j, count):
    """The j-th row that a distance belongs to: normals of contacts, then limits."""
    return 3 * j + 2 if j < count else 2 * count + j


@kernel
def _ask(count, limits, size, dt, G, N):
    """How fast each row should part: a little where it overlaps at the end of the step. True if any should."""
    deep = False
    for j in range(count + limits):
        i = _row(j, count)
        speed = N[FREE, i] + N[ALLOWED, i] + dot(G[i], N[FOUND], size)
        end = N[LEFT, i] + dt * speed
        if end < -SLOP:
            N[ASKED, i] = min(OUT * -end / dt, OUT_SPEED)
            deep = True
        else:
            N[ASKED, i] = -max(end, 0.0) / dt
    return deep


@kernel
def _take_back(count, limits, size, G, N):
    """0 ≤ π ⊥ G π − asked ≥ 0, by a few sweeps: what moves the robot out of things and gives it no velocity."""
    for i in range(size):
        N[SHIFT, i] = 0.0
    for _ in range(SWEEPS):
        for j in range(count + limits):
            i = _row(j, count)
            if G[i, i] > 0.0:  # else nothing can move that way, as a base that drives cannot leave the floor
                lacking = N[ASKED, i] - dot(G[i], N[SHIFT], size)
                N[SHIFT, i] = max(N[SHIFT, i] + lacking / G[i, i], 0.0)
