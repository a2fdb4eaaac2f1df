"""Rows of the everyday tasks and of contacts on accelerations: the twin of `assembly` at torque level.

    J v̇ = s̈* − Kp e − Kd ė − J̇v

Velocities and drifts of frames come from pinocchio's pass for h: `data.v`, and `data.a_gf`, the accelerations of all
joints at v̇ = 0 against a world that falls upwards. The readable definition is in `sot.task` and `sot.contact`.
"""

from __future__ import annotations

import math

from sot.kernels.assembly import (
    ACCELERATION,
    ADAPTIVE,
    ALIGNED,
    AXES,
    BASIS,
    COM,
    CONTACT,
    DAMPING,
    DECAY,
    FORCES,
    FRAME,
    GEAR,
    JOINT,
    LARGEST,
    OP,
    ORIENTATION,
    PARAMETER,
    PARAMETERS,
    POSE,
    POSITION,
    ROLLING,
    ROW,
    SCALE,
    SHAPE,
    SIZE,
    SUPPORT,
    SUPPORT_END,
    TARGET,
    TARGETS,
    TO_GROUND,
    VELOCITY,
    WORLD,
    frame_columns,
    frame_error,
    place,
)
from sot.kernels.compiler import kernel


@kernel
def accelerate(
    table, parameters, targets, support, dt, q, v, J, oMi, twists, falls, com, Ag, mass, com_drift, gravity, AT, lower,
    upper, TT, unit,
):  # fmt: skip
    """Write the rows of every line of the table, and what contact forces do to the joints into TT."""
    R = parameters[-9:]  # scratch at the end: rotation by columns, position, error, its rate, drift
    p = parameters[-12:-9]
    e = parameters[-18:-12]
    rate = parameters[-24:-18]
    drift = parameters[-30:-24]
    for k in range(table.shape[0]):
        line = table[k]
        par = parameters[line[PARAMETER] : line[PARAMETER] + PARAMETERS]
        goal = targets[line[TARGET] : line[TARGET] + TARGETS]
        if line[OP] == FRAME or line[OP] == CONTACT:
            i, shape, axes = line[JOINT], line[SHAPE], line[AXES]
            place(oMi[i], par, R, p)
            frame_error(shape, axes, R, p, goal, e)
            _frame_motion(shape, axes, oMi[i], par, R, p, twists[i], falls[i], gravity, rate, drift)
            if line[AXES] == ROLLING:
                _roll(oMi[i], twists[i], falls[i], par[TO_GROUND:], p, e, rate, drift)
            if line[OP] == CONTACT:
                _contact_rows(line, par, goal, R, p, support, J, e, rate, drift, AT, TT, v.size, unit)
            else:
                frame_columns(line, par[SCALE], R, p, support, J, AT)
        elif line[OP] == COM:
            _com_rows(line, par, goal, v, com, Ag, mass, com_drift, e, rate, drift, AT)
        else:  # gears: the row itself never changes
            e[0] = q[line[JOINT]] - par[0] * q[line[AXES]] - par[1]
            rate[0], drift[0] = v[line[FORCES]] - par[0] * v[line[SIZE]], 0.0
        _law(line, par, goal, e, rate, drift, dt, lower, upper)


@kernel
def _frame_motion(shape, axes, joint, par, R, p, twist, fall, gravity, rate, drift):
    """J v and J̇v of a frame, from its joint's twist and acceleration at v̇ = 0, both in the joint's axes."""
    vx, vy, vz = _at_frame(joint, par, twist)
    wx, wy, wz = _turn(joint, twist[3], twist[4], twist[5])
    ax, ay, az = _at_frame(joint, par, fall)
    ax, ay, az = ax + gravity[0], ay + gravity[1], az + gravity[2]
    bx, by, bz = _turn(joint, fall[3], fall[4], fall[5])
    if axes == ALIGNED or shape == POSITION:  # of the point itself: + ω × v
        ax, ay, az = ax + wy * vz - wz * vy, ay + wz * vx - wx * vz, az + wx * vy - wy * vx
    elif axes == WORLD:  # of the point that passes the origin: + p × angular
        vx, vy, vz = vx + p[1] * wz - p[2] * wy, vy + p[2] * wx - p[0] * wz, vz + p[0] * wy - p[1] * wx
        ax, ay, az = ax + p[1] * bz - p[2] * by, ay + p[2] * bx - p[0] * bz, az + p[0] * by - p[1] * bx
    else:
        vx, vy, vz = _turn_back(R, vx, vy, vz)
        wx, wy, wz = _turn_back(R, wx, wy, wz)
        ax, ay, az = _turn_back(R, ax, ay, az)
        bx, by, bz = _turn_back(R, bx, by, bz)
    angular = 0 if shape == ORIENTATION else 3
    if shape != ORIENTATION:
        rate[0], rate[1], rate[2] = vx, vy, vz
        drift[0], drift[1], drift[2] = ax, ay, az
    if shape != POSITION:
        rate[angular], rate[angular + 1], rate[angular + 2] = wx, wy, wz
        drift[angular], drift[angular + 1], drift[angular + 2] = bx, by, bz


@kernel
def _roll(joint, twist, fall, arm, p, e, rate, drift):
    """From the centre of a ball to the point that touches: + ω × arm, with an arm that does not turn.

    Of the error only the height is left, that along the arm.
    """
    wx, wy, wz = _turn(joint, twist[3], twist[4], twist[5])
    bx, by, bz = _turn(joint, fall[3], fall[4], fall[5])
    x, y, z = arm[0], arm[1], arm[2]
    rate[0], rate[1], rate[2] = rate[0] + wy * z - wz * y, rate[1] + wz * x - wx * z, rate[2] + wx * y - wy * x
    drift[0], drift[1], drift[2] = drift[0] + by * z - bz * y, drift[1] + bz * x - bx * z, drift[2] + bx * y - by * x
    height = (e[0] * x + e[1] * y + e[2] * z) / (x * x + y * y + z * z)
    e[0], e[1], e[2] = height * x, height * y, height * z
    p[0], p[1], p[2] = p[0] + x, p[1] + y, p[2] + z


@kernel
def _at_frame(joint, par, u):
    """Linear part of a twist at the frame's origin, linear + angular × arm, in the axes of the world."""
    x, y, z = par[9], par[10], par[11]
    return _turn(joint, u[0] + u[4] * z - u[5] * y, u[1] + u[5] * x - u[3] * z, u[2] + u[3] * y - u[4] * x)


@kernel
def _turn(R, x, y, z):
    """R u, R by columns."""
    return R[0] * x + R[3] * y + R[6] * z, R[1] * x + R[4] * y + R[7] * z, R[2] * x + R[5] * y + R[8] * z


@kernel
def _turn_back(R, x, y, z):
    """Rᵀ u."""
    return R[0] * x + R[1] * y + R[2] * z, R[3] * x + R[4] * y + R[5] * z, R[6] * x + R[7] * y + R[8] * z


@kernel
def _com_rows(line, par, goal, v, com, Ag, mass, com_drift, e, rate, drift, AT):
    """The centre of mass: its Jacobian is that of the momentum over the mass."""
    for i in range(3):
        e[i] = com[i] - goal[4 * i + 3]
        drift[i] = com_drift[i]
        speed = 0.0
        for c in range(v.size):
            speed += Ag[i, c] * v[c]
        rate[i] = speed / mass
        if line[ROW + i] >= 0:
            scale = par[SCALE] / mass
            for c in range(v.size):
                AT[c, line[ROW + i]] = scale * Ag[i, c]


@kernel
def _contact_rows(line, par, goal, R, p, support, J, e, rate, drift, AT, TT, nv, unit):
    """Bᵀ of everything that a frame has: six numbers in its own axes, or three of a point in the world's.

    The same rows, as columns of forces: a contact's y pulls at the joints with (Bᵀ J)ᵀ y.
    """
    size, count = line[SIZE], 3 if line[SHAPE] == POSITION else 6
    B, scale = par[BASIS : BASIS + 36], par[SCALE]  # by columns of six
    _reduce(B, size, count, e)
    _reduce(B, size, count, rate)
    _reduce(B, size, count, drift)
    _shorten(e, size, par[LARGEST])
    first, forces = line[ROW], nv + line[FORCES]
    for s in range(line[SUPPORT], line[SUPPORT_END]):
        c = support[s]
        wx, wy, wz = J[3, c], J[4, c], J[5, c]
        vx, vy, vz = J[0, c] + wy * p[2] - wz * p[1], J[1, c] + wz * p[0] - wx * p[2], J[2, c] + wx * p[1] - wy * p[0]
        if count == 6:
            vx, vy, vz = _turn_back(R, vx, vy, vz)
            wx, wy, wz = _turn_back(R, wx, wy, wz)
        for i in range(size):
            b = 6 * i
            value = B[b] * vx + B[b + 1] * vy + B[b + 2] * vz
            if count == 6:
                value += B[b + 3] * wx + B[b + 4] * wy + B[b + 5] * wz
            AT[c, first + i] = scale * value
            TT[forces + i, c] = -unit * value


@kernel
def _reduce(B, size, count, u):
    """u ← Bᵀ u, in place."""
    a0, a1, a2, a3, a4, a5 = u[0], u[1], u[2], u[3], u[4], u[5]
    for i in range(size):
        b = 6 * i
        value = B[b] * a0 + B[b + 1] * a1 + B[b + 2] * a2
        if count == 6:
            value += B[b + 3] * a3 + B[b + 4] * a4 + B[b + 5] * a5
        u[i] = value


@kernel
def _shorten(e, size, largest):
    """A drift larger than this is corrected as if it were just this large."""
    norm2 = 0.0
    for i in range(size):
        norm2 += e[i] * e[i]
    if norm2 > largest * largest:
        for i in range(size):
            e[i] *= largest / math.sqrt(norm2)


@kernel
def _law(line, par, goal, e, rate, drift, dt, lower, upper):
    """J v̇ = s̈* − Kp e − Kd (ė − ṡ*) − J̇v, scaled by the root of the weight."""
    size = 6 if line[OP] == FRAME and line[SHAPE] == POSE else 3
    if line[OP] == GEAR:
        size = 1
    elif line[OP] == CONTACT:
        size = line[SIZE]
    adaptive = par[ADAPTIVE + 2] >= 0.0
    kp = kd = 0.0
    if adaptive:
        norm2 = 0.0
        for i in range(size):
            norm2 += e[i] * e[i]
        near, far, slope = par[ADAPTIVE], par[ADAPTIVE + 1], par[ADAPTIVE + 2]
        pole = math.exp(-((near - far) * math.exp(-slope * math.sqrt(norm2)) + far) * dt)
        kp, kd = ((1.0 - pole) / dt) ** 2, (1.0 - pole * pole) / dt
    for i in range(size):
        row = line[ROW + i]
        if row >= 0:
            if not adaptive:
                kp, kd = par[DECAY + i], par[DAMPING + i]
            acceleration = goal[ACCELERATION + i]
            # v is what led here in the last period, so it is compared with the target's speed in the middle of that
            speed = goal[VELOCITY + i] - 0.5 * dt * acceleration
            value = par[SCALE] * (acceleration - kp * e[i] - kd * (rate[i] - speed) - drift[i])
            lower[row] = value
            upper[row] = value
