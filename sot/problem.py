"""One tick in numbers: all that a solver knows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class Problem:
    """Lexicographic least squares with two-sided rows and simple bounds.

        lex-min over levels k   ½ ‖violation of  lower ≤ A x ≤ upper  on the rows of level k‖²
        subject to              x_lower ≤ x ≤ x_upper          (always hard)
        and last                min ½ ‖metric · (x − target)‖²

    Columns with metric 0 are left out of the last line; freedom that is still left takes minimum norm.

    Attributes:
        A: Rows of all levels, each scaled by the square root of its weight, shape (m, n).
        lower: Lower bounds of the rows, −inf where there is none, shape (m,).
        upper: Upper bounds of the rows; equal to `lower` for an equality.
        offsets: Rows of level k are `offsets[k]:offsets[k + 1]`; level 0 holds the hard rows.
        x_lower: Lower bounds on the unknown, shape (n,).
        x_upper: Upper bounds on the unknown.
        metric: Weights of the last line, shape (n,), not negative.
        target: Target of the last line, shape (n,).
        hard: How many levels are hard. At torque level there are two: the laws of physics come first.
    """

    A: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    offsets: np.ndarray
    x_lower: np.ndarray
    x_upper: np.ndarray
    metric: np.ndarray
    target: np.ndarray
    hard: int = 1

    @property
    def hard_rows(self) -> slice:
        """Rows of the hard levels."""
        return slice(0, int(self.offsets[self.hard]))

    @property
    def n(self) -> int:
        """Number of unknowns."""
        return self.x_lower.size

    @property
    def n_levels(self) -> int:
        """Number of levels, the hard one included."""
        return self.offsets.size - 1

    def rows(self, level: int) -> slice:
        """Rows of one level."""
        return slice(int(self.offsets[level]), int(self.offsets[level + 1]))

    def violation(self, x: np.ndarray) -> np.ndarray:
        """How far each row is outside its bounds, signed: positive above, negative below, shape (m,)."""
        y = self.A @ x
        return np.maximum(y - self.upper, 0.0) + np.minimum(y - self.lower, 0.0)

    def level_residuals(self, x: np.ndarray) -> np.ndarray:
        """Norm of the violation per level, shape (levels,)."""
        violation = self.violation(x)
        return np.array([np.linalg.norm(violation[self.rows(k)]) for k in range(self.n_levels)])
