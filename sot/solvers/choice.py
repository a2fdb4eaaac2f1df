"""Which solver stands behind which word."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from sot.errors import ConfigError, unknown
from sot.problem import Problem
from sot.solvers.lexicographic import Lexicographic
from sot.solvers.nullspace import NullSpace

MEANINGS = ("nullspace", "hierarchical", "weighted")
BACKENDS = ("sot", "daqp", "quadprog")


class Solver(Protocol):
    """What a controller asks of a solver."""

    x: np.ndarray
    status: np.ndarray
    iterations: int
    outcome: int

    def solve(self, cap: int, budget: float | None = None) -> int:
        """Solve the problem as it is now; returns the outcome."""

    def hard_residual(self) -> float:
        """Norm of the violation of level 0 at x."""

    def forget(self) -> None:
        """Drop the warm start."""


def make_solver(
    meaning: str, problem: Problem, strict: int, backend: str, compiled: bool, *, scaling: bool = True
) -> Solver:
    """A solver for a problem of which `strict` levels are strictly ordered.

    Args:
        meaning: One of MEANINGS.
        problem: The problem.
        strict: How many levels are strictly ordered.
        backend: One of BACKENDS.
        compiled: Use the compiled kernels.
        scaling: x may be scaled down for the sake of inequalities: true for velocities, not where x = 0 is no answer.
    """
    if meaning not in MEANINGS:
        raise ConfigError(unknown("solver", meaning, MEANINGS))
    if backend not in BACKENDS:
        raise ConfigError(unknown("backend", backend, BACKENDS))
    if backend != "sot" and meaning != "weighted":
        raise ConfigError(f"backend '{backend}' solves only the weighted meaning, not '{meaning}'")
    if meaning == "nullspace":
        return NullSpace(problem, strict, compiled=compiled, may_scale=scaling)
    if meaning == "weighted" and backend != "sot":
        from sot.solvers.quadratic import Quadratic

        return Quadratic(problem, backend)
    return Lexicographic(problem, strict, compiled=compiled)
