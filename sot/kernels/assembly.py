"""Rows of the everyday tasks, all in one compiled call.

The plan (see `sot.plan`) describes each task by one line of an integer table; the kernel reads pinocchio's memory
and writes Aᵀ and the bounds in place. The readable definition of the same rows is in `sot.features` and
`sot.task`; a test holds the two together.
"""

from __future__ import annotations

import math

from sot.kernels.compiler import entry_kernel, kernel
from sot.kernels.limits import joint_bounds, joint_targets

# Columns of the table: one line per task, or per pair of joints for gears, whose places in q are JOINT and AXES, and in
# v FORCES and SIZE. A contact has SIZE forces, from FORCES on.
OP, SHAPE, AXES, JOINT, PARAMETER, TARGET, SUPPORT, SUPPORT_END, FORCES, SIZE, ROW = range(11)
LINE = ROW + 6  # then the row of each of the six components, −1 where the mask drops it

FRAME, COM, GEAR, CONTACT = 0, 1, 2, 3  # OP
POSE, POSITION, ORIENTATION = 0, 1, 2  # SHAPE
LOCAL, WORLD, ALIGNED, ROLLING = 0, 1, 2, 3  # AXES; those of a ball that rolls are the world's

# Parameters of a line: frame placement (12; or ratio and offset), decay factors (6; at torque level Kp), Kd (6),
# adaptive gain (near, far, slope), root of the weight; of a contact its `max_drift`, B by columns, and for a ball the
# way from its centre to the ground.
PLACEMENT, DECAY, DAMPING, ADAPTIVE, SCALE, LARGEST, BASIS, TO_GROUND = 0, 12, 18, 24, 27, 28, 29, 65
PARAMETERS = TO_GROUND + 3
# Target of a line: value (12: the upper rows of a homogeneous matrix), velocity (6), acceleration (6).
VELOCITY, ACCELERATION, TARGETS = 12, 18, 24


@entry_kernel
def fill(
    table, parameters, targets, support, dt, J, oMi, com, Jcom, AT, lower, upper,
    picks, goals, box_index, box_limits, q, previous, target, x_lower, x_upper,
):  # fmt: skip
    """Everything that is compiled: rows, metric and bounds of a tick. Returns the number of crossed bounds."""
    assemble(table, parameters, targets, support, dt, q, J, oMi, com, Jcom, AT, lower, upper)
    joint_targets(picks, goals, q, target)
    return joint_bounds(box_index, box_limits, q, previous, dt, x_lower, x_upper)


@kernel
def assemble(table, parameters, targets, support, dt, q, J, oMi, com, Jcom, AT, lower, upper):
    """Write the rows of every line of the table."""
    R = parameters[-9:]  # scratch at the end: rotation by columns, position, error
    p = parameters[-12:-9]
    e = parameters[-18:-12]
    for k in range(table.shape[0]):
        line = table[k]
        par = parameters[line[PARAMETER] : line[PARAMETER] + PARAMETERS]
        goal = targets[line[TARGET] : line[TARGET] + TARGETS]
        if line[OP] == FRAME:
            place(oMi[line[JOINT]], par, R, p)
            frame_error(line[SHAPE], line[AXES], R, p, goal, e)
            frame_columns(line, par[SCALE], R, p, support, J, AT)
        elif line[OP] == COM:
            for i in range(3):
                e[i] = com[i] - goal[4 * i + 3]
                if line[ROW + i] >= 0:
                    for c in range(AT.shape[0]):
                        AT[c, line[ROW + i]] = par[SCALE] * Jcom[i, c]
        else:  # the row itself never changes
            e[0] = q[line[JOINT]] - par[0] * q[line[AXES]] - par[1]
        _law(line, par, goal, e, dt, lower, upper)


@kernel
def place(joint, par, R, p):
    """World placement of a frame: T_world_frame = T_world_joint T_joint_frame."""
    for c in range(3):
        for r in range(3):
            R[3 * c + r] = (
                joint[r] * par[3 * c] + joint[3 + r] * par[3 * c + 1] + joint[6 + r] * par[3 * c + 2]
            )
    for r in range(3):
        p[r] = joint[9 + r] + joint[r] * par[9] + joint[3 + r] * par[10] + joint[6 + r] * par[11]


@kernel
def frame_error(shape, axes, R, p, goal, e):
    """e = s ⊖ s* for a pose (linear, angular), a position or an orientation."""
    first = 0 if shape == ORIENTATION else 3
    if shape != ORIENTATION:
        for i in range(3):
            e[i] = p[i] - goal[4 * i + 3]
    if shape == POSITION:
        return
    _relative_log(R, goal, axes == LOCAL, e[first : first + 3])
    if shape == POSE and axes != ALIGNED:
        _screw(R, p, goal, axes, e)


@kernel
def _relative_log(R, goal, local, out):
    """log3(R*ᵀ R) (local) or log3(R R*ᵀ) (world axes), exact up to π, through the quaternion."""
    D = (
        (_rel(R, goal, local, 0, 0), _rel(R, goal, local, 0, 1), _rel(R, goal, local, 0, 2)),
        (_rel(R, goal, local, 1, 0), _rel(R, goal, local, 1, 1), _rel(R, goal, local, 1, 2)),
        (_rel(R, goal, local, 2, 0), _rel(R, goal, local, 2, 1), _rel(R, goal, local, 2, 2)),
    )
    trace = D[0][0] + D[1][1] + D[2][2]
    ax, ay, az = D[2][1] - D[1][2], D[0][2] - D[2][0], D[1][0] - D[0][1]
    if trace >= D[0][0] and trace >= D[1][1] and trace >= D[2][2]:
        s = 2.0 * math.sqrt(1.0 + trace)
        w, x, y, z = 0.25 * s, ax / s, ay / s, az / s
    elif D[0][0] >= D[1][1] and D[0][0] >= D[2][2]:
        s = 2.0 * math.sqrt(1.0 + D[0][0] - D[1][1] - D[2][2])
        w, x, y, z = ax / s, 0.25 * s, (D[0][1] + D[1][0]) / s, (D[0][2] + D[2][0]) / s
    elif D[1][1] >= D[2][2]:
        s = 2.0 * math.sqrt(1.0 + D[1][1] - D[0][0] - D[2][2])
        w, x, y, z = ay / s, (D[0][1] + D[1][0]) / s, 0.25 * s, (D[1][2] + D[2][1]) / s
    else:
        s = 2.0 * math.sqrt(1.0 + D[2][2] - D[0][0] - D[1][1])
        w, x, y, z = az / s, (D[0][2] + D[2][0]) / s, (D[1][2] + D[2][1]) / s, 0.25 * s
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    norm = math.sqrt(x * x + y * y + z * z)
    factor = 2.0 * math.atan2(norm, w) / norm if norm > 1e-10 else 2.0 / w
    out[0], out[1], out[2] = factor * x, factor * y, factor * z


@kernel
def _rel(R, goal, local, i, j):
    """Entry (i, j) of R*ᵀ R or R R*ᵀ; R is stored by columns, R* by rows of four."""
    if local:
        return goal[i] * R[3 * j] + goal[4 + i] * R[3 * j + 1] + goal[8 + i] * R[3 * j + 2]
    return R[i] * goal[4 * j] + R[3 + i] * goal[4 * j + 1] + R[6 + i] * goal[4 * j + 2]


@kernel
def _screw(R, p, goal, axes, e):
    """Linear part of log6: V(ω)⁻¹ t, with t the translation of T*⁻¹T (local) or T T*⁻¹ (world)."""
    wx, wy, wz = e[3], e[4], e[5]
    gx, gy, gz = goal[3], goal[7], goal[11]
    if axes == LOCAL:
        dx, dy, dz = p[0] - gx, p[1] - gy, p[2] - gz
        tx = goal[0] * dx + goal[4] * dy + goal[8] * dz
        ty = goal[1] * dx + goal[5] * dy + goal[9] * dz
        tz = goal[2] * dx + goal[6] * dy + goal[10] * dz
    else:
        tx = p[0] - _turned(R, goal, 0, gx, gy, gz)
        ty = p[1] - _turned(R, goal, 1, gx, gy, gz)
        tz = p[2] - _turned(R, goal, 2, gx, gy, gz)
    angle2 = wx * wx + wy * wy + wz * wz
    angle = math.sqrt(angle2)
    if angle > 1e-4:
        c = (1.0 - 0.5 * angle / math.tan(0.5 * angle)) / angle2
    else:
        c = 1.0 / 12.0 + angle2 / 720.0
    # V⁻¹ t = t − ½ ω×t + c ω×(ω×t)
    ux, uy, uz = wy * tz - wz * ty, wz * tx - wx * tz, wx * ty - wy * tx
    e[0] = tx - 0.5 * ux + c * (wy * uz - wz * uy)
    e[1] = ty - 0.5 * uy + c * (wz * ux - wx * uz)
    e[2] = tz - 0.5 * uz + c * (wx * uy - wy * ux)


@kernel
def _turned(R, goal, i, x, y, z):
    """Entry i of R R*ᵀ (x, y, z)."""
    return _rel(R, goal, False, i, 0) * x + _rel(R, goal, False, i, 1) * y + _rel(R, goal, False, i, 2) * z


@kernel
def frame_columns(line, scale, R, p, support, J, AT):
    """Columns of the joints that move the frame, from pinocchio's Jacobian in the world."""
    shape, axes = line[SHAPE], line[AXES]
    angular = 0 if shape == ORIENTATION else 3
    for s in range(line[SUPPORT], line[SUPPORT_END]):
        c = support[s]
        wx, wy, wz = J[3, c], J[4, c], J[5, c]
        vx, vy, vz = J[0, c], J[1, c], J[2, c]
        if axes != WORLD or shape == POSITION:  # velocity of the frame's origin
            vx, vy, vz = vx + wy * p[2] - wz * p[1], vy + wz * p[0] - wx * p[2], vz + wx * p[1] - wy * p[0]
        if axes == LOCAL:
            vx, vy, vz = (
                R[0] * vx + R[1] * vy + R[2] * vz,
                R[3] * vx + R[4] * vy + R[5] * vz,
                R[6] * vx + R[7] * vy + R[8] * vz,
            )
            wx, wy, wz = (
                R[0] * wx + R[1] * wy + R[2] * wz,
                R[3] * wx + R[4] * wy + R[5] * wz,
                R[6] * wx + R[7] * wy + R[8] * wz,
            )
        column = AT[c]
        if shape != ORIENTATION:
            _put(column, line, ROW, scale, vx, vy, vz)
        if shape != POSITION:
            _put(column, line, ROW + angular, scale, wx, wy, wz)


@kernel
def _put(column, line, first, scale, a, b, c):
    if line[first] >= 0:
        column[line[first]] = scale * a
    if line[first + 1] >= 0:
        column[line[first + 1]] = scale * b
    if line[first + 2] >= 0:
        column[line[first + 2]] = scale * c


@kernel
def _law(line, par, goal, e, dt, lower, upper):
    """J v = ṡ* − (1 − exp(−λ dt)) e / dt, scaled by the root of the weight."""
    size = 6 if line[OP] == FRAME and line[SHAPE] == POSE else 3
    if line[OP] == GEAR:
        size = 1
    adaptive = par[ADAPTIVE + 2] >= 0.0
    common = 0.0
    if adaptive:
        norm2 = 0.0
        for i in range(size):
            norm2 += e[i] * e[i]
        near, far, slope = par[ADAPTIVE], par[ADAPTIVE + 1], par[ADAPTIVE + 2]
        rate = (near - far) * math.exp(-slope * math.sqrt(norm2)) + far
        common = -math.expm1(-rate * dt) / dt
    for i in range(size):
        row = line[ROW + i]
        if row >= 0:
            factor = common if adaptive else par[DECAY + i]
            speed = goal[VELOCITY + i] + 0.5 * dt * goal[ACCELERATION + i]
            value = par[SCALE] * (speed - factor * e[i])
            lower[row] = value
            upper[row] = value
