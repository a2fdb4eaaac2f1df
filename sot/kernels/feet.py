"""What the feet of a robot feel of the contacts of a step."""

from __future__ import annotations

from sot.kernels.compiler import entry_kernel, kernel
from sot.kernels.touch import NAME, NORMAL, POINT, carried


@entry_kernel
def feel(count, who, contacts, axes, impulses, foot_of, carriers, places, oMi, share, wrenches):
    """Add the wrench of each contact, Σ (f, r × f), to that of its foot, in the axes of the foot's frame.

    Args:
        count: Contacts; of `who`, `contacts`, `axes` and `impulses` (3 numbers each, N·s) as the engine has them.
        foot_of: Foot of each name, −1 for none.
        carriers: Joint of each foot.
        places: Frame of each foot in its joint: rotation by columns, then translation; shape (feet, 12).
        oMi: Poses of the joints.
        share: Turns impulses into what they add to the mean force, 1/s.
        wrenches: Added to, shape (feet, 6).
    """
    for i in range(count):
        name = who[i, NAME]
        if name < foot_of.size and foot_of[name] >= 0:
            foot = foot_of[name]
            impulse, T = impulses[3 * i : 3 * i + 3], oMi[carriers[foot]]
            _add(contacts[i], axes[i], impulse, T, places[foot], share, wrenches[foot])


@kernel
def _add(contact, axes, impulse, T, place, share, wrench):
    ax, ay, az = share * impulse[0], share * impulse[1], share * impulse[2]
    fx = ax * axes[0] + ay * axes[3] + az * contact[NORMAL]
    fy = ax * axes[1] + ay * axes[4] + az * contact[NORMAL + 1]
    fz = ax * axes[2] + ay * axes[5] + az * contact[NORMAL + 2]
    ox, oy, oz = carried(T, place[9], place[10], place[11])
    rx, ry, rz = contact[POINT] - ox, contact[POINT + 1] - oy, contact[POINT + 2] - oz
    _turn_back(T, place, fx, fy, fz, wrench[:3])
    _turn_back(T, place, ry * fz - rz * fy, rz * fx - rx * fz, rx * fy - ry * fx, wrench[3:])


@kernel
def _turn_back(T, place, x, y, z, out):
    """Add a vector of the world in the axes of a frame: (R_joint R_frame)ᵀ."""
    u, v, w = T[0] * x + T[1] * y + T[2] * z, T[3] * x + T[4] * y + T[5] * z, T[6] * x + T[7] * y + T[8] * z
    for k in range(3):
        out[k] += place[3 * k] * u + place[3 * k + 1] * v + place[3 * k + 2] * w
