"""Contact forces that give what no motor gives: the rows of the equation of motion that belong to a floating base.

    (Jᵀ y)_u = (M v̇ + h)_u        u: entries of v without a motor, and without a gear to one
"""

from __future__ import annotations

import numpy as np

from sot.closed_form.projection import least_squares
from sot.closed_form.touching import Touching
from sot.dynamics import GRAVITY
from sot.errors import ConfigError, unknown
from sot.model import Model
from sot.problem import Problem
from sot.solvers.lexicographic import Lexicographic

CHOICES = ("minimum_norm", "cones")
CAP = 1000  # iterations


def share_load(touching: Touching, needed: np.ndarray, how: str, tolerance: float) -> np.ndarray:
    """y of all contacts, N and N·m.

    Args:
        touching: The contacts.
        needed: M v̇ + h, shape (nv,).
        how: "minimum_norm", or "cones" for the smallest forces of those inside their friction cones. Where the cones
            cannot carry it, they are left by as little as possible.
        tolerance: Singular values up to this part of the largest one count as zero.
    """
    if how not in CHOICES:
        raise ConfigError(f"forces: {unknown('choice', how, CHOICES)}")
    free = unactuated(touching.model)
    A, wanted = touching.F.T[free], needed[free]
    y = np.zeros(A.shape[1])
    if how == "cones" and y.size:
        y = _inside_cones(touching, A, wanted)
    # Everything without cones; with them, what rounding has left.
    return y + touching.scale @ least_squares(A @ touching.scale, wanted - A @ y, tolerance)[0]


def unactuated(model: Model) -> np.ndarray:
    """Entries of v that no motor acts on, not even through a gear."""
    free = ~model.robot.actuated
    for mimic in model.robot.mimics:
        free[model.joint(mimic.joint).v] = False
    return np.flatnonzero(free)


def _inside_cones(touching: Touching, A: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """lex-min  ‖A y − wanted‖,  how far y is outside the cones,  ‖z‖  with y = scale · z."""
    unit = max(touching.model.mass * GRAVITY, 1.0)  # so that all numbers are of a size
    cones, lower, upper = _cone_rows(touching)
    rows = np.vstack([A @ touching.scale, cones])
    base = wanted / unit
    offsets = np.array([0, base.size, len(rows)])
    n, open_ended = rows.shape[1], np.full(rows.shape[1], np.inf)
    problem = Problem(
        rows, np.append(base, lower / unit), np.append(base, upper / unit), offsets, -open_ended, open_ended,
        np.ones(n), np.zeros(n),
    )  # fmt: skip
    solver = Lexicographic(problem, strict=2)
    solver.solve(CAP)
    return unit * touching.scale @ solver.x


def _cone_rows(touching: Touching) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Friction cones and bounds of the normal forces, as rows of length 1 on z."""
    A, lower, upper = [], [], []
    for limb, contact in touching.limbs.items():
        cone, place = contact.force_rows(), touching.place(limb)
        rows = cone.A @ touching.scale[place]
        norms = np.linalg.norm(rows, axis=1)
        A.append(rows / norms[:, None])
        lower.append(cone.lower / norms)
        upper.append(cone.upper / norms)
    return np.vstack(A), np.concatenate(lower), np.concatenate(upper)
