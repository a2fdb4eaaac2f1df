"""What the unknown of a tick is. `Velocity`: x = v, the velocity of base and joints."""

from __future__ import annotations

import numpy as np

from sot.entry import Box, Entry, Rows, Tick
from sot.errors import SotError, TaskError
from sot.kernels.assembly import fill
from sot.model import Model
from sot.problem import Problem
from sot.state import Command
from sot.tables import Boxes, Lines, Postures


class Velocity:
    """x = v. Rows on the motion are rows on x as they are, and x is the command.

    Another formulation (accelerations and contact forces, say) offers the same five members; plans, solvers and
    tasks do not change with it.

    Attributes:
        size: Number of unknowns.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.size = model.nv

    def rows(self, entry: Entry, tick: Tick) -> Rows:
        """Rows of an entry on x, as the entry itself gives them."""
        try:
            rows = entry.rows(self.model, tick)
            A, lower, upper = rows.A, rows.lower, rows.upper
        except SotError:
            raise
        except Exception as error:  # a user's code: say whose it was
            raise TaskError(f"{entry.name}: raised {type(error).__name__}: {error}") from error
        fits = A.ndim == 2 and A.shape[1] == self.size and lower.shape == upper.shape == A.shape[:1]
        if not fits or A.dtype.kind not in "fiu":
            raise TaskError(
                f"{entry.name}: rows must be real numbers, A of shape (k, {self.size}) and bounds of shape (k,); "
                f"got A {A.shape} of {A.dtype}, lower {lower.shape}, upper {upper.shape}"
            )
        return rows

    def box(self, entry: Box, tick: Tick) -> tuple[np.ndarray, np.ndarray]:
        """Bounds on x of a box that keeps its Python method."""
        try:
            lower, upper = entry.box(self.model, tick)
        except SotError:
            raise
        except Exception as error:  # a user's code: say whose it was
            raise TaskError(f"{entry.name}: raised {type(error).__name__}: {error}") from error
        if np.shape(lower) != (self.size,) or np.shape(upper) != (self.size,):
            raise TaskError(
                f"{entry.name}: a box must have two bounds of shape ({self.size},); "
                f"got {np.shape(lower)} and {np.shape(upper)}"
            )
        return lower, upper

    def fill(self, problem: Problem, AT: np.ndarray, lines: Lines, postures: Postures, boxes: Boxes, tick: Tick) -> int:
        """Everything that is compiled, in one call. Returns the number of crossed bounds."""
        model = self.model
        if lines.needs_com:
            model.update_com()
        return fill(
            lines.table, lines.parameters, lines.targets, lines.support, tick.dt, model.world_jacobian,
            model.joint_placements, model.com_view, model.com_jacobian_view, AT, problem.lower, problem.upper,
            postures.picks, postures.goals, boxes.index, boxes.limits, model.q, tick.previous, problem.target,
            problem.x_lower, problem.x_upper,
        )  # fmt: skip

    def command(self, x: np.ndarray, tick: Tick) -> Command:
        """The command that x means."""
        return Command(tick.time, x)
