"""The numbers of a haptic device: its motion under a held force, and limits of that force.

Between two changes of the force each axis obeys, with z = x − target(t) and a target that moves with speed w,

    m z̈ + (b + b_hand) ż + k_hand z = F − b w − sign(ẋ) F_c

Its solution is a power series: with κ = k/m and 2σ = c/m its coefficients are (n+1)(n+2) a₍ₙ₊₂₎ = f/m [n = 0] −
2σ (n+1) a₍ₙ₊₁₎ − κ aₙ. Pieces are so short (2σh, √κ h ≤ ½) that it is exact to the last digit, whether the motion
swings or creeps, and that ẋ turns round at most once in a piece: stick and slip are found without a step too far.
"""

from __future__ import annotations

import math

from sot.kernels.compiler import entry_kernel, kernel

TERMS = 18  # ½^18 / 18! < 1e-20
SHORT = 0.5  # 2σh and √κ h of a piece
HALVINGS = 60  # of a bisection
PIECES = 100_000  # most in one call
# Points and weights of Gauss and Legendre on [0, 1], for ∫ ẋ² dt
P0, P1, P2 = 0.5, 0.23076534494715845, 0.04691007703066802
W0, W1, W2 = 0.2844444444444444, 0.2393143352496832, 0.1184634425280945
MASS, DAMPING, FRICTION, SPRING, GRIP, PARAMETERS = range(6)  # of the kernel's `p`; those of the hand are the last two
MOTOR, LOST, WORKS = range(3)  # work of the force; what damping and friction took, J
CLAMPED, SLEWED, REFUSED = 1, 2, 4  # what became of a force


@kernel
def _series(c, z, u, mass, damping, spring, force):
    """Coefficients of z(t) from z(0) = z, ż(0) = u."""
    c[0], c[1] = z, u
    push = force / mass
    for n in range(TERMS - 2):
        c[n + 2] = (push - damping / mass * (n + 1) * c[n + 1] - spring / mass * c[n]) / ((n + 1) * (n + 2))
        push = 0.0


@kernel
def _place(c, t):
    total = 0.0
    for n in range(TERMS - 1, -1, -1):
        total = total * t + c[n]
    return total


@kernel
def _speed(c, t):
    total = 0.0
    for n in range(TERMS - 1, 0, -1):
        total = total * t + n * c[n]
    return total


@kernel
def _rate(c, t):
    total = 0.0
    for n in range(TERMS - 1, 1, -1):
        total = total * t + n * (n - 1) * c[n]
    return total


@kernel
def _turning(c, end):
    """When z̈ changes its sign within (0, end); `end` if it does not."""
    first = _rate(c, 0.0)
    if first * _rate(c, end) >= 0.0:
        return end
    low, high = 0.0, end
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if first * _rate(c, middle) > 0.0:
            low = middle
        else:
            high = middle
    return high


@kernel
def _stop(c, w, sign, end):
    """When the speed ż + w, of a body that moves with this sign, comes to zero; −1 if not before `end`."""
    turn = _turning(c, end)
    if sign * (_speed(c, turn) + w) < 0.0:
        low, high = 0.0, turn
    elif sign * (_speed(c, end) + w) < 0.0:
        low, high = turn, end
    else:
        return -1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if sign * (_speed(c, middle) + w) >= 0.0:
            low = middle
        else:
            high = middle
    return high


@kernel
def _squared(c, w, t):
    """∫ ẋ² over [0, t]."""
    total = W0 * (_speed(c, P0 * t) + w) ** 2
    total += W1 * ((_speed(c, P1 * t) + w) ** 2 + (_speed(c, (1.0 - P1) * t) + w) ** 2)
    total += W2 * ((_speed(c, P2 * t) + w) ** 2 + (_speed(c, (1.0 - P2) * t) + w) ** 2)
    return total * t


@kernel
def _rest(net, slope, dry, left):
    """How long a body at rest stays so, while the force on it grows by `slope`."""
    if slope == 0.0:
        return left
    most = dry if slope > 0.0 else -dry
    return min(left, max((most - net) / slope, 0.0))


@kernel
def _axis(x, v, a, force, p, target, w, h, c, works):
    """Move one axis on by h seconds."""
    mass, damping, dry, spring, grip = p[MASS], p[DAMPING], p[FRICTION], p[SPRING], p[GRIP]
    fastest = max((damping + grip) / mass, math.sqrt(spring / mass))
    longest = SHORT / fastest if fastest > 0.0 else h
    t, breaks = 0.0, 0.0  # breaks: the way in which it has just begun to slide
    for _ in range(PIECES):
        left = h - t
        if left <= 1e-15 * h:
            return True
        sign = math.copysign(1.0, v[a])
        if v[a] == 0.0 and dry > 0.0:
            net = force + spring * (target + w * t - x[a]) + grip * w
            if abs(net) <= dry and breaks == 0.0:
                wait = _rest(net, spring * w, dry, left)
                t += wait
                breaks = math.copysign(1.0, spring * w)
                continue
            sign = breaks if breaks != 0.0 else math.copysign(1.0, net)
        breaks = 0.0
        piece = min(left, longest)
        _series(c, x[a] - target - w * t, v[a] - w, mass, damping + grip, spring, force - damping * w - sign * dry)
        stop = _stop(c, w, sign, piece) if dry > 0.0 else -1.0
        piece = piece if stop < 0.0 else stop
        before = x[a]
        t += piece
        x[a] = _place(c, piece) + target + w * t
        v[a] = 0.0 if stop >= 0.0 else _speed(c, piece) + w
        works[MOTOR] += force * (x[a] - before)
        works[LOST] += damping * _squared(c, w, piece) + dry * abs(x[a] - before)
    return False


@entry_kernel
def advance(x, v, force, p, target, rate, h, c, works):
    """Move all axes on by h seconds under a held force. False if there were too many stops to count.

    Args:
        x, v: Positions and velocities, changed in place, shape (n,).
        force: Held, N, shape (n,).
        p: The five parameters, see above.
        target, rate: Where the hand pulls to, and how fast that moves, shape (n,).
        h: s.
        c: Memory, shape (TERMS,).
        works: Works in J, added to, shape (WORKS,).
    """
    done = True
    for a in range(x.size):
        done = _axis(x, v, a, force[a], p, target[a], rate[a], h, c, works) and done
    return done


@kernel
def _shorten(force, most):
    """Bring a force to an allowed length; True if it was longer. Squares of huge numbers are infinite, so scaled."""
    size = square = 0.0
    for a in range(force.size):
        size = max(size, abs(force[a]))
    if size == 0.0:
        return False
    for a in range(force.size):
        square += (force[a] / size) ** 2
    if not size * math.sqrt(square) > most:
        return False
    for a in range(force.size):
        force[a] = force[a] / size * (most / math.sqrt(square) * (1.0 - 1e-15))
    return True


@kernel
def _slow(force, before, step):
    """Bring the change of a force to an allowed length; True if it was longer."""
    change = 0.0
    for a in range(force.size):
        change += (force[a] - before[a]) ** 2
    if not math.sqrt(change) > step:
        return False
    for a in range(force.size):
        force[a] = before[a] + step / math.sqrt(change) * (1.0 - 1e-15) * (force[a] - before[a])
    return True


@entry_kernel
def limit(force, before, most, step):
    """Bring a force into its limits in place, along its direction. Returns what had to be done.

    First its length, then its change: a point between two forces of allowed length has an allowed length, too.

    Args:
        force: Wanted, N, shape (n,); becomes `before` if it is not finite.
        before: The last force, N, shape (n,).
        most: Largest length, N.
        step: Largest length of the change, N.
    """
    for a in range(force.size):
        if not math.isfinite(force[a]):
            for i in range(force.size):
                force[i] = before[i]
            return REFUSED
    done = CLAMPED if _shorten(force, most) else 0
    return done | SLEWED if _slow(force, before, step) else done
