"""The door to pinocchio's constraint solvers: impulses of contacts with friction, of limits and friction of joints.

Find λ in K with  u = G λ + g  in the dual of K, across from each other: λ·u = 0. K is a product of circular cones,
‖λ_t‖ ≤ μ λ_n, of numbers ≥ 0 for joint limits, and of intervals for friction in joints. With the De Saxcé term, which
the solvers add, that is Coulomb's law and not the associated one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

Models = tuple[pin.StdVec_ConstraintModel, pin.StdVec_ConstraintData]
KEPT = 256  # combinations of contacts whose cones are remembered
SWEEPS = 20  # of PGS; it is done after a few, or not for a long time
PAUSE = 50  # solves without PGS after it was not
LOOSE = 10.0  # times the tolerance is what ADMM has to reach: the last digits would take most of its time
BACK = 5  # steps of ADMM that its acceleration looks back on


class Impulses:
    """Solves one problem after the other.

    Projected Gauss–Seidel (PGS) is quick where contacts hardly act on each other, as under feet. Where it does not come
    to an end soon, ADMM solves the same problem, and the next ones: robots that lie on the ground. Either keeps λ in K
    at every iteration, also at its cap.

    Attributes:
        iterations: Of the last solve.
        converged: Whether it reached the tolerance.
        residual: How far it was from a solution in the end: the largest of what it has a tolerance for.
    """

    def __init__(self, tolerance: float = 1e-8, max_iterations: int = 200) -> None:
        """
        Args:
            tolerance: On u and on λ·u, for numbers of about 1.
            max_iterations: Cap of ADMM.
        """
        self._pgs, self._pgs_result = pin.PGSConstraintSolver(), pin.PGSSolverResult()
        self._pgs_settings = _settings(pin.PGSSolverSettings(), tolerance, SWEEPS)
        self._admm, self._admm_result = pin.ADMMConstraintSolver(), pin.ADMMSolverResult()
        self._admm_settings = _settings(pin.ADMMSolverSettings(), LOOSE * tolerance, max_iterations)
        self._admm_settings.anderson_capacity = BACK
        self._admm_settings.warmstart_rho_with_previous_result = True
        self._known: dict[tuple[bytes, int, bytes], Models] = {}
        self._pause = 0
        self.iterations, self.converged, self.residual = 0, True, 0.0

    def solve(
        self, G: np.ndarray, g: np.ndarray, mu: np.ndarray, limits: int, dry: np.ndarray, guess: np.ndarray
    ) -> np.ndarray:
        """λ, shape (n,), in units in which the numbers of the problem are about 1; see `sot.kernels.stepping.scale`.

        Args:
            G: Delassus matrix J M⁻¹ Jᵀ, shape (n, n).
            g: Velocities without impulses, shape (n,).
            mu: Friction coefficient of each contact; contacts come first, three rows each, the normal last.
            limits: Number of rows ≥ 0, joint limits, after the contacts.
            dry: Largest impulse of each row after that, of friction in joints.
            guess: Where to start, shape (n,).
        """
        self.iterations = 0
        if self._pause == 0:
            found = self._run(self._pgs, self._pgs_settings, self._pgs_result, G, g, mu, limits, dry, guess)
            if self.converged:
                return found
            self._pause = PAUSE
        self._pause -= 1
        # From the guess, and not from where PGS is: there ADMM takes much longer.
        return self._run(self._admm, self._admm_settings, self._admm_result, G, g, mu, limits, dry, guess)

    def _run(
        self, solver: Any, settings: Any, result: Any, G: np.ndarray, g: np.ndarray, mu: np.ndarray, limits: int,
        dry: np.ndarray, guess: np.ndarray,
    ) -> np.ndarray:  # fmt: skip
        models, datas = self._cones(mu, limits, dry)
        result.setConstraintImpulseGuess(guess)
        self.converged = bool(solver.solve(pin.DelassusOperatorDense(G), g, models, datas, settings, result))
        self.iterations += result.iterations
        self.residual = max(result.primal_feasibility, result.dual_feasibility, result.complementarity)
        return np.asarray(result.retrieveConstraintImpulses())

    def _cones(self, mu: np.ndarray, limits: int, dry: np.ndarray) -> Models:
        key = (mu.tobytes(), limits, dry.tobytes())
        if key not in self._known:
            if len(self._known) >= KEPT:
                self._known.clear()
            self._known[key] = _cones(mu, limits, dry)
        return self._known[key]


def _settings(settings: Any, tolerance: float, cap: int) -> Any:
    settings.absolute_feasibility_tol = settings.relative_feasibility_tol = tolerance
    settings.absolute_complementarity_tol = settings.relative_complementarity_tol = tolerance
    settings.max_iterations = cap
    return settings


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
