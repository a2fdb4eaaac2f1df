"""The tick at torque level in two compiled calls: everything before the solve, and torques after it.

    τ = [M, −u Jcᵀ] x + h,     x = (v̇, y/u)

is kept as TT = [M, −u Jcᵀ]ᵀ, so that a row on the torque of one joint is a column of it. See `sot.dynamics`.
"""

from __future__ import annotations

import math

from sot.kernels.acceleration import accelerate
from sot.kernels.cholesky import backward, forward
from sot.kernels.compiler import entry_kernel, kernel
from sot.kernels.limits import joint_accelerations, joint_bounds

MASS, UNIT, GRAVITY = 0, 1, 2  # constants: total mass, N per unit of force, gravity (3)
COM_DRIFT = 5  # then, found anew at every tick, the acceleration of the centre of mass at v̇ = 0 (3)
CONSTANTS = 8
# Of a motor: torques at rest, root of the weight, how torques fall with speed (see `sot.motors`).
LOWER, UPPER, SCALE, CORNER, SLOPE = range(5)
MOTOR = 5


@entry_kernel
def fill_dynamics(
    table, parameters, targets, support, constants, roots, dt, q, v, J, oMi, twists, falls, forces, com, Ag, M, nle,
    load, motors, torques, AT, lower, upper, TT, bias, picks, goals, box_index, box_limits, target, x_lower, x_upper,
):  # fmt: skip
    """Rows, metric and bounds of a tick. Returns the number of crossed bounds."""
    _com_drift(roots, oMi, forces, constants)
    _equation_of_motion(M, nle, load, TT, bias)
    accelerate(
        table, parameters, targets, support, dt, q, v, J, oMi, twists, falls, com, Ag, constants[MASS],
        constants[COM_DRIFT:], constants[GRAVITY:COM_DRIFT], AT, lower, upper, TT, constants[UNIT],
    )  # fmt: skip
    _torque_rows(motors, torques, v, TT, bias, constants[UNIT], AT, lower, upper)
    joint_accelerations(picks, goals, q, v, dt, target)
    nv = v.size
    crossed = joint_bounds(box_index, box_limits, q, v, dt, x_lower[:nv], x_upper[:nv])
    for c in range(nv):
        x_lower[c] = (x_lower[c] - v[c]) / dt
        x_upper[c] = (x_upper[c] - v[c]) / dt
    return crossed


@kernel
def _com_drift(roots, oMi, forces, constants):
    """m c̈ = Σ forces through the joints at the root + m g, at v̇ = 0."""
    for i in range(3):
        total = 0.0
        for k in range(roots.size):
            R, f = oMi[roots[k]], forces[roots[k]]
            total += R[i] * f[0] + R[3 + i] * f[1] + R[6 + i] * f[2]
        constants[COM_DRIFT + i] = total / constants[MASS] + constants[GRAVITY + i]


@kernel
def _equation_of_motion(M, nle, load, TT, bias):
    """M, of which pinocchio fills the upper half, and h less what is known to push."""
    for c in range(nle.size):
        bias[c] = nle[c] - load[c]
        for r in range(c + 1):
            TT[c, r] = M[r, c]
            TT[r, c] = M[r, c]


@kernel
def _torque_rows(motors, torques, v, TT, bias, unit, AT, lower, upper):
    """Bounds on the torques of single joints. A line of motors is (row, joint)."""
    for k in range(motors.shape[0]):
        row, joint, motor = motors[k, 0], motors[k, 1], torques[k]
        scale = motor[SCALE] / unit
        lower[row] = scale * (motor[LOWER] * _left(motor, -v[joint]) - bias[joint])
        upper[row] = scale * (motor[UPPER] * _left(motor, v[joint]) - bias[joint])
    for c in range(TT.shape[0]):
        source, goal = TT[c], AT[c]
        for k in range(motors.shape[0]):
            goal[motors[k, 0]] = torques[k, SCALE] / unit * source[motors[k, 1]]


@kernel
def _left(motor, speed):
    """Part of the torque that is left in a direction, at a speed in that direction; see `sot.motors`."""
    return min(max(1.0 - (speed - motor[CORNER]) * motor[SLOPE], 0.0), 1.0)


@entry_kernel
def accelerations_and_torques(TT, bias, x, free, L, out):
    """out = (v̇, τ). What is left of a torque where no motor is (`free`) becomes acceleration: M_ff Δv̇ = −τ_f."""
    nv = bias.size
    for c in range(nv):
        out[c] = x[c]
    _torques(TT, bias, x, out)
    _cholesky(TT, free, L)
    step = L[free.size]
    for i in range(free.size):
        step[i] = -out[nv + free[i]]
    forward(L, step, free.size)
    backward(L, step, free.size)
    for i in range(free.size):
        out[free[i]] += step[i]
    _shift(TT, free, step, out)
    for i in range(free.size):
        out[nv + free[i]] = 0.0


@kernel
def _cholesky(TT, free, L):
    """M_ff = L Lᵀ."""
    for i in range(free.size):
        for j in range(i + 1):
            value = TT[free[i], free[j]]
            for c in range(j):
                value -= L[i, c] * L[j, c]
            L[i, j] = math.sqrt(value) if i == j else value / L[j, j]


@kernel
def _torques(TT, bias, x, out):
    """τ = TTᵀ x + h, behind the accelerations."""
    nv = bias.size
    for c in range(nv):
        out[nv + c] = bias[c]
    for r in range(x.size):
        row, value = TT[r], x[r]
        for c in range(nv):
            out[nv + c] += row[c] * value


@kernel
def _shift(TT, free, step, out):
    """τ += M Δv̇."""
    nv = TT.shape[1]
    for i in range(free.size):
        row = TT[free[i]]
        for c in range(nv):
            out[nv + c] += row[c] * step[i]
