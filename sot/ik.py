"""Inverse kinematics in one call: a configuration that meets one or several targets.

    result = sot.solve_ik(panda, Pose("panda_hand", reference=T_world_hand))

Levenberg–Marquardt on the manifold with joint limits as exact bounds of every step: with the errors e and Jacobians J
of all targets,

    min ‖J δ + e‖² + μ ‖δ‖²   subject to   q_min ≤ q ⊕ δ ≤ q_max,   q ← q ⊕ δ,   μ ∝ ‖e‖².

μ vanishes with the error, so convergence is quadratic at the end; where a target cannot be met it stays, and the
steps with it small. A search that stalls starts again from a random configuration. Constraints such as collisions are
kept to first order by every step, d + ∇d·δ ≥ margin, and looked at again before an answer is given.
"""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Protocol, runtime_checkable

import numpy as np

from sot import limits
from sot.checks import positive, vector
from sot.description import Description
from sot.entry import Constraint, Entry, Tick
from sot.errors import TaskError
from sot.formulation import Velocity
from sot.gears import Gears
from sot.model import Model
from sot.plan import Plan
from sot.reference import Hold
from sot.solvers.lexicographic import Lexicographic
from sot.task import FeatureTask, is_plain

DAMPING = 1e-2  # μ / ‖e‖²
FLOOR = 1e-12  # smallest μ
LARGEST_STEP = 1.0  # rad or m that a joint moves in one iteration
STALLED = 15  # iterations without getting nearer by a tenth after which a search is given up


@runtime_checkable
class Stepwise(Protocol):
    """A constraint that can also bound a single long step."""

    def for_steps(self) -> Constraint:
        """A copy whose rows bound what is done in one step and not what is done in a second."""


@dataclass(frozen=True)
class IkResult:
    """What a search found.

    Attributes:
        success: True if all targets are met within the tolerance and all constraints are kept.
        q: The best configuration that was found, inside the joint limits, shape (nq,).
        error: Norm of each target's error at q (`gears`: of joints that follow others), and by how much each constraint
            is broken, m and rad.
        iterations: Iterations in all.
        restarts: How often the search began anew.
        seconds: Time it took, s.
        reason: In words, why it ended.
    """

    success: bool
    q: np.ndarray
    error: dict[str, float]
    iterations: int
    restarts: int
    seconds: float
    reason: str

    def __bool__(self) -> bool:
        return self.success


def solve_ik(
    robot: Description,
    targets: FeatureTask | Sequence[FeatureTask],
    *,
    constraints: Constraint | Sequence[Constraint] = (),
    q0: np.ndarray | None = None,
    tolerance: float = 1e-6,
    restarts: int = 50,
    iterations: int = 100,
    seed: int = 0,
) -> IkResult:
    """Find a configuration inside the joint limits that meets all targets.

    Args:
        robot: What `sot.robots.load` gives.
        targets: Tasks with fixed references: `Pose("panda_hand", reference=T)`, or with none, to stay where they are at
            the beginning. Masks and weights count, gains do not. Several targets are met together.
        constraints: What must hold at the configuration, beside joint limits: `Collisions(obstacles=[…])`.
        q0: Where to begin, shape (nq,); the robot's home by default. The nearest solution is likely, not certain.
        tolerance: Largest error of a target, m and rad.
        restarts: How often to begin anew from a random configuration.
        iterations: Iterations of one search.
        seed: Of the random configurations; the same seed gives the same answer.
    """
    begin = perf_counter()
    restarts = int(positive(restarts, "solve_ik: restarts", zero=True))
    iterations = int(positive(iterations, "solve_ik: iterations"))
    search = _Search(robot, _as_list(targets, "targets"), _as_list(constraints, "constraints"), tolerance)
    start = robot.home if q0 is None else vector(q0, search.model.nq, "solve_ik: q0", repeat=False)
    q, used, attempts = search.run(start, restarts, iterations, np.random.default_rng(seed))
    return search.result(q, used, attempts, perf_counter() - begin)


def solve_ik_batch(
    robot: Description,
    targets: Iterable[FeatureTask | Sequence[FeatureTask]],
    *,
    q0: np.ndarray | None = None,
    progress: bool = False,
    **options: Any,
) -> list[IkResult]:
    """`solve_ik` for many targets, each beginning where the last success ended.

    Args:
        robot: What `sot.robots.load` gives.
        targets: One task, or one list of tasks, per problem.
        q0: Where the first begins, shape (nq,); the robot's home by default.
        progress: Show on the terminal how far it is.
        **options: As for `solve_ik`.
    """
    problems, results = _as_list(targets, "targets"), []
    for k, problem in enumerate(problems):
        result = solve_ik(robot, problem, q0=q0, **options)
        q0 = result.q if result else q0
        results.append(result)
        if progress:
            _show_progress(k + 1, len(problems), sum(map(bool, results)))
    return results


def _as_list(given: Any, what: str) -> list[Any]:
    """One thing, or several of them."""
    if isinstance(given, Entry):
        return [given]
    if not isinstance(given, Iterable):
        raise TaskError(f"solve_ik: {what}: expected a list, got {given!r}")
    return list(given)


def _show_progress(done: int, total: int, solved: int) -> None:
    bar = "█" * (30 * done // total)
    end = "\n" if done == total else ""
    print(f"\r{bar:<30} {done}/{total}, {solved} solved", end=end, file=sys.stderr, flush=True)


class _Search:
    """One problem: the rows of its targets, laid out once."""

    def __init__(
        self, robot: Description, targets: list[FeatureTask], constraints: list[Constraint], tolerance: float
    ) -> None:
        _check_targets(targets)
        self.model = Model(robot)
        self.tolerance = positive(tolerance, "solve_ik: tolerance")
        # With dt = 1 s and the whole error asked for at once, a velocity is a step.
        self._tick = Tick(0.0, 1.0, np.zeros(self.model.nv))
        # The empty last level keeps postures among the rows: here the metric is the damping.
        gears = (Gears(gain=np.inf),) if robot.mimics else ()
        self._gears = gears
        self._constraints = tuple(_for_steps(constraint) for constraint in constraints)
        levels = ((*gears, *self._constraints), tuple(_whole_error(target) for target in targets), ())
        self._plan = Plan(levels, Velocity(self.model), weighted=False)
        self._solver = Lexicographic(self._plan.problem, strict=1)
        self._index, self._low, self._high = limits.positions(self.model, None, 0.0, "solve_ik")

    def run(
        self, q0: np.ndarray, restarts: int, iterations: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, int, int]:
        """Search from q0, then from random configurations. Returns the best q, iterations and restarts used."""
        used, best_q, best = 0, q0, math.inf
        q = self._inside(np.array(q0, dtype=float))
        for attempt in range(restarts + 1):
            for constraint in self._constraints:
                constraint.reset()
            q, worst, count = self._descend(q, iterations)
            used += count
            if worst < best or attempt == 0:
                best_q, best = q, worst
            if best <= self.tolerance:
                return best_q, used, attempt
            q = self._random(q0, rng)
        return best_q, used, restarts

    def _descend(self, q: np.ndarray, iterations: int) -> tuple[np.ndarray, float, int]:
        """Iterate until the targets are met or nothing gets better; returns q, the largest error, and the count."""
        best_q, best, since = q, math.inf, 0
        for count in range(iterations):
            worst = self._look(q)
            if worst <= self.tolerance:  # looked at only now: it costs more than an iteration
                worst = max(worst, self._violation())
            if worst < best:
                since = 0 if worst < 0.9 * best else since + 1
                best_q, best = q, worst
            else:
                since += 1
            if best <= self.tolerance or since > STALLED:
                return best_q, best, count
            q = self._inside(self.model.integrate(q, self._step(q)))
        return best_q, best, iterations

    def _look(self, q: np.ndarray) -> float:
        """Rows at q; returns the largest error of a target."""
        self.model.update(q, self._tick.previous)
        self._plan.write(self._tick)
        return max(self._errors().values())

    def _errors(self) -> dict[str, float]:
        """Norm of the error of each target (and of the gears), from the rows that ask for its opposite."""
        wanted = self._plan.problem.lower
        return {
            block.entry.name: float(np.linalg.norm(wanted[block.rows])) / block.scale
            for block in self._plan.blocks
            if block.entry not in self._constraints
        }

    def _violation(self) -> float:
        """By how much the worst constraint is broken at the model's state."""
        still = self._tick.previous
        return max((c.violation(self.model, self._tick, still) for c in self._constraints), default=0.0)

    def _step(self, q: np.ndarray) -> np.ndarray:
        problem = self._plan.problem
        wanted = problem.lower[problem.rows(1)]
        size = float(wanted @ wanted)
        problem.metric[:] = math.sqrt(DAMPING * size + FLOOR)
        limited = self._index >= 0
        problem.x_lower[:], problem.x_upper[:] = -LARGEST_STEP, LARGEST_STEP
        position = q[self._index[limited]]
        problem.x_lower[limited] = np.maximum(self._low[limited] - position, -LARGEST_STEP)
        problem.x_upper[limited] = np.minimum(self._high[limited] - position, LARGEST_STEP)
        problem.target[:] = 0.0
        self._solver.solve(cap=100)
        return self._solver.x

    def _inside(self, q: np.ndarray) -> np.ndarray:
        """q with every joint inside its limits, and those that follow others where they belong."""
        for gears in self._gears:
            for joint, of, ratio, offset in gears.pairs:
                q[joint] = ratio * q[of] + offset
        limited = self._index >= 0
        places = self._index[limited]
        q[places] = np.clip(q[places], self._low[limited], self._high[limited])
        return q

    def _random(self, q0: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Joints anywhere between their limits, endless ones anywhere; the base where it began."""
        step = rng.uniform(-math.pi, math.pi, self.model.nv)
        if self.model.robot.root != "fixed":
            step[self.model.joints["root_joint"].v] = 0.0
        q = self.model.integrate(np.array(q0, dtype=float), step)
        bounded = (self._index >= 0) & np.isfinite(self._low) & np.isfinite(self._high)
        q[self._index[bounded]] = rng.uniform(self._low[bounded], self._high[bounded])
        return self._inside(q)

    def result(self, q: np.ndarray, iterations: int, restarts: int, seconds: float) -> IkResult:
        """What is to be said of a configuration."""
        worst = self._look(q)
        errors = self._errors()
        broken = {c.name: c.violation(self.model, self._tick, self._tick.previous) for c in self._constraints}
        success = max(worst, *broken.values(), 0.0) <= self.tolerance
        words = self._reason(errors, broken, iterations, restarts)
        return IkResult(success, q, errors | broken, iterations, restarts, seconds, words)

    def _reason(self, errors: dict[str, float], broken: dict[str, float], iterations: int, restarts: int) -> str:
        furthest = max(errors, key=errors.__getitem__)
        worst = max(broken, key=broken.__getitem__, default="")
        searches = f"after {restarts + 1} searches"
        if errors[furthest] > self.tolerance:
            others = "joint limits, other targets" + (f" or {', '.join(broken)}" if broken else "")
            return (
                f"{furthest} misses by {errors[furthest]:.3g} at best, {searches}: probably out of reach, or in "
                f"conflict with {others}"
            )
        if worst and broken[worst] > self.tolerance:
            return f"{worst} is broken by {broken[worst]:.3g} wherever the targets were met, {searches}"
        return f"all targets met after {iterations} iterations"


def _check_targets(targets: list[Any]) -> None:
    """What cannot be a target, or would be looked at only in part, is refused."""
    if not targets or not all(isinstance(target, FeatureTask) and is_plain(target) for target in targets):
        raise TaskError(f"solve_ik: expected tasks such as Pose(…, reference=…), got {targets!r}")
    names = [target.name for target in targets]
    for target in targets:
        if names.count(target.name) > 1:
            raise TaskError(f"solve_ik: two targets are named {target.name!r}; give one of them another name=")
        if not isinstance(target.reference, Hold):
            raise TaskError(
                f"solve_ik: {target.name}: expected a place as reference, got one that moves: {target.reference!r}"
            )


def _for_steps(constraint: Constraint) -> Constraint:
    """A copy of a constraint that bounds a step; the user's own may be at work in a controller."""
    if not isinstance(constraint, Stepwise):
        raise TaskError(
            f"solve_ik: constraints: {constraint!r} cannot bound a single step; joint limits are kept anyway"
        )
    return constraint.for_steps()


def _whole_error(target: FeatureTask) -> FeatureTask:
    """A copy of a task that asks for its whole error at once; the user's own may be at work in a controller."""
    twin = copy.copy(target)
    twin.feature = copy.copy(target.feature)
    twin.leave()
    twin.reset()
    twin.gain = np.inf
    return twin
