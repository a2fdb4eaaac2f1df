"""The door to pinocchio's constraint solver: impulses of contacts with friction, of joint limits and of joint friction.

Find λ in K with  u = G λ + g  in the dual of K, across from each other: λ·u = 0. K is a product of circular cones,
‖λ_t‖ ≤ μ λ_n, of numbers ≥ 0 for joint limits, and of intervals for friction in joints. With the De Saxcé term, which
the solver adds, that is Coulomb's law and not the associated one.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

Models = tuple[pin.StdVec_ConstraintModel, pin.StdVec_ConstraintData]
KEPT = 256  # combinations of contacts whose cones are remembered


class Impulses:
    """Solves one problem after the other.

    Attributes:
        iterations: Of the last solve.
        converged: Whether it reached the tolerance.
    """

    def __init__(self, tolerance: float = 1e-9, max_iterations: int = 500) -> None:
        """
        Args:
            tolerance: On velocities and on λ·u, m/s and N·s m/s.
            max_iterations: Cap.
        """
        self._solver, self._result = pin.ADMMConstraintSolver(), pin.ADMMSolverResult()
        settings = self._settings = pin.ADMMSolverSettings()
        settings.absolute_feasibility_tol = settings.relative_feasibility_tol = tolerance
        settings.absolute_complementarity_tol = settings.relative_complementarity_tol = tolerance
        settings.max_iterations = max_iterations
        self._known: dict[tuple[bytes, int, bytes], Models] = {}
        self.iterations, self.converged = 0, True

    def solve(
        self, G: np.ndarray, g: np.ndarray, mu: np.ndarray, limits: int, dry: np.ndarray, guess: np.ndarray
    ) -> np.ndarray:
        """λ, N·s or N·m·s, shape (n,).

        Args:
            G: Delassus matrix J M⁻¹ Jᵀ, shape (n, n).
            g: Velocities without impulses, shape (n,).
            mu: Friction coefficient of each contact; contacts come first, three rows each, the normal last.
            limits: Number of rows ≥ 0, joint limits, after the contacts.
            dry: Largest impulse of each row after that, of friction in joints.
            guess: Where to start, shape (n,).
        """
        models, datas = self._cones(mu, limits, dry)
        self._result.setConstraintImpulseGuess(guess)
        delassus = pin.DelassusOperatorDense(G)
        self.converged = self._solver.solve(delassus, g, models, datas, self._settings, self._result)
        self.iterations = self._result.iterations
        return self._result.retrieveConstraintImpulses()

    def _cones(self, mu: np.ndarray, limits: int, dry: np.ndarray) -> Models:
        key = (mu.tobytes(), limits, dry.tobytes())
        if key not in self._known:
            if len(self._known) >= KEPT:
                self._known.clear()
            self._known[key] = _cones(mu, limits, dry)
        return self._known[key]


def _cones(mu: np.ndarray, limits: int, dry: np.ndarray) -> Models:
    """Constraints with the right kinds, sizes and friction, on a stand-in: the solver looks at nothing else of them."""
    stand_in = pin.Model()
    for i in range(max(limits, dry.size, 1)):
        stand_in.addJoint(i, pin.JointModelPZ(), pin.SE3.Identity(), str(i))
    models = pin.StdVec_ConstraintModel()
    for coefficient in mu:
        contact = pin.PointContactConstraintModel(stand_in, 1)
        contact.setFriction(float(coefficient))
        models.append(pin.ConstraintModel(contact))
    if limits:
        none = np.full(stand_in.nq, np.inf)
        limit = pin.JointLimitConstraintModel(stand_in, _first(limits), 0.0 * _ones(stand_in), none, _ones(stand_in))
        limit.makeSelectionMaximal()
        models.append(pin.ConstraintModel(limit))
    if dry.size:
        friction = pin.JointFrictionConstraintModel(stand_in, _first(dry.size))
        friction.setFrictionLowerLimit(-dry)
        friction.setFrictionUpperLimit(dry)
        models.append(pin.ConstraintModel(friction))
    datas = pin.StdVec_ConstraintData()
    for model in models:
        datas.append(model.createData())
    return models, datas


def _first(count: int) -> pin.StdVec_Index:
    joints = pin.StdVec_Index()
    for joint in range(1, count + 1):
        joints.append(joint)
    return joints


def _ones(model: pin.Model) -> np.ndarray:
    return np.ones(model.nq)
