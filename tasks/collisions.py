"""Keeps the robot away from itself and from what is around it."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np

from sot.checks import positive
from sot.collision import drawing
from sot.collision.barrier import Barrier
from sot.collision.distances import Damper, Distances, PairDistance
from sot.collision.obstacle import Obstacle
from sot.collision.plain import PlainDistances
from sot.collision.shape import Body, CollisionModel
from sot.collision.watch import Patterns, watched
from sot.description import Description
from sot.entry import Constraint, Rows, Tick
from sot.errors import TaskError
from sot.kernels.distance import CORNERS
from sot.model import Model
from sot.sketch import Drawing

TRUE = 1e-6  # m; smoothing with which distances are measured for reports
STEP = 0.3  # m; what a pair may come nearer, or be driven apart, in a step of inverse kinematics
ACTIVE = 1e-6  # m/s or m/s², within which a bound counts as reached


class Collisions(Constraint):
    """Keeps bodies apart: ḋ ≥ −φ(d), one row for each of the nearest pairs.

        post = sot.Obstacle("post", box=[0.1, 0.1, 0.8], at=[0.4, 0.0, 0.4])
        stack = sot.Stack([JointLimits(), Collisions(obstacles=[post])], [hand], [Posture()])

    With δ = d − m and Δ = influence − m a pair may come nearer by φ = λ δ / (1 − (δ/Δ)²): without limit where it comes
    within influence, and more and more slowly towards m. A pair that is closer is driven apart. Here d is the smooth
    distance, never more than the true one, and m is the margin and the smoothing together: what a tick of finite length
    loses is taken from there, and the margin itself is kept.

    At torque level a pair brakes in time: its speed stays below what its deceleration can stop; see
    `sot.collision.barrier`.
    """

    kind = "collisions"

    def __init__(
        self,
        margin: float = 0.01,
        influence: float = 0.10,
        rate: float = 20.0,
        pairs: int = 40,
        obstacles: Sequence[Obstacle] = (),
        self_collision: bool = True,
        smoothing: float = 1e-3,
        recovery: float = 0.1,
        deceleration: float = 5.0,
        only: str | Sequence[str] | None = None,
        ignore: Patterns | None = None,
        model: CollisionModel | None = None,
        *,
        name: str | None = None,
        weight: float = 1.0,
    ) -> None:
        """
        Args:
            margin: Distance to keep, m.
            influence: Distance from which on pairs are slowed down, m.
            rate: λ in 1/s, at which a pair may come near the margin; inf: the whole way in one tick.
            pairs: Number of pairs that can have a row at a time, the nearest ones.
            obstacles: What is around the robot.
            self_collision: Watch the robot's own pairs too.
            smoothing: τ, m: how far two bodies are rounded off towards each other, so that nothing jumps. A few times
                this is how much too near they may seem.
            recovery: Largest speed with which bodies that are too close are driven apart, m/s.
            deceleration: With which bodies brake in front of each other at torque level, m/s². Pairs that are fast have
                rows from where they have to brake, if that is farther away than influence.
            only: Names or patterns of links and obstacles; by default all. One of each pair must be among them.
            ignore: Names or patterns that are left out, or two of them to leave out the pairs between them.
            model: Bodies and pairs of the robot, in place of those it comes with.
            name: Name in reports and look-ups; by default `collisions`.
            weight: Importance against the other entries of the same level, where it is soft.
        """
        super().__init__(name=name, weight=weight)
        self.margin = positive(margin, f"{self.name}: margin", zero=True)
        self.influence = positive(influence, f"{self.name}: influence")
        self.smoothing = positive(smoothing, f"{self.name}: smoothing")
        if not (self.influence > self.margin + self.smoothing):
            raise TaskError(
                f"{self.name}: influence: expected more than margin and smoothing together, "
                f"{self.margin + self.smoothing:g} m, got {influence:g}"
            )
        self.rate = positive(rate, f"{self.name}: rate", infinite=True)
        self.pairs = int(positive(pairs, f"{self.name}: pairs"))
        self.recovery = positive(recovery, f"{self.name}: recovery", zero=True)
        self.deceleration = positive(deceleration, f"{self.name}: deceleration")
        self.self_collision, self.only, self.ignore, self.model = self_collision, only, ignore, model
        self.obstacles = _one_of_a_kind(obstacles, self.name)
        self._watch: Distances | None = None
        self._barrier: Barrier | None = None  # at torque level
        self._robot: Description | None = None
        self._stepwise: Collisions | None = None

    # -- the rows ------------------------------------------------------------------------------------------

    def setup(self, model: Model) -> None:
        kind = Distances if getattr(self.owner, "compiled", True) else PlainDistances
        if self._robot is model.robot and type(self._watch) is kind:
            return  # what earlier ticks found out stays
        bodies, pairs = self._pairs_of(model)
        hulls = [(obstacle.name, obstacle.hull) for obstacle in self.obstacles]
        slots = min(self.pairs, len(pairs))

        def watching(damper: Damper) -> Distances:
            options = {"slots": slots, "smoothing": self.smoothing, "damper": damper}
            return kind(model, bodies, pairs, obstacles=hulls, **options)

        self._watch = watching(Damper(self.margin + self.smoothing, self.influence, self.rate, self.recovery))
        self._watching, self._barrier = watching, None
        self._survey = kind(model, bodies, pairs, obstacles=hulls, smoothing=TRUE, exact=True)
        self._rows = Rows(self._watch.A, self._watch.lower, np.full(self._watch.lower.size, np.inf))
        self._robot = model.robot
        self._seen = [-1] * len(hulls)  # version of each obstacle's pose
        self._place(None, 1.0)

    def _pairs_of(self, model: Model) -> tuple[list[Body], list[tuple[int, int]]]:
        collision, options = self._collision_model(model), (self.self_collision, self.only, self.ignore)
        bodies, pairs = watched(collision, self.obstacles, *options)
        if not pairs:
            raise TaskError(f"{self.name}: there is no pair to watch on robot '{model.robot.name}'")
        return bodies, pairs

    def _collision_model(self, model: Model) -> CollisionModel:
        if self.model is not None:
            return self.model
        from sot.collision.robot import collision_model

        return collision_model(model.robot)

    def reset(self) -> None:
        for obstacle in self.obstacles:
            obstacle.reset()
        if self._watch is not None:
            self._watch.forget()
            self._survey.forget()
        if self._barrier is not None:
            self._barrier.watch.forget()
            self._seen = [-1] * len(self.obstacles)

    def for_steps(self) -> Collisions:
        """The same for inverse kinematics, where a tick is one long step: the whole way to the margin at once.

        Obstacles stand where they are now. It is made once: setting it up costs more than a search.
        """
        if self._stepwise is None:
            twin = self._stepwise = copy(self)
            twin.leave()
            twin.rate, twin.influence, twin.recovery = np.inf, max(self.influence, STEP), STEP
            twin.obstacles = [obstacle.standing() for obstacle in self.obstacles]
            twin._watch = twin._robot = twin._barrier = None
        for standing, obstacle in zip(self._stepwise.obstacles, self.obstacles, strict=True):
            standing.pose = obstacle.pose
        return self._stepwise

    def begin(self, model: Model, tick: Tick) -> None:
        self._place(tick.time, tick.dt)

    def _place(self, time: float | None, dt: float) -> None:
        """Put obstacles that moved where they are now."""
        for k, obstacle in enumerate(self.obstacles):
            if obstacle.moving or obstacle.version != self._seen[k]:
                pose, velocity = obstacle.placed(time, dt)
                self._distances.place(k, pose, velocity)
                self._survey.place(k, pose, velocity)
                if self._barrier is not None:
                    self._barrier.place(k, pose, velocity, dt)
                self._seen[k] = obstacle.version

    @property
    def _distances(self) -> Distances:
        if self._watch is None:
            raise TaskError(f"{self.name}: has not been set up by a controller yet")
        return self._watch

    def rows(self, model: Model, tick: Tick) -> Rows:
        self._distances.update(model, tick.dt)
        return self._rows

    def dynamic_rows(self, model: Model, tick: Tick) -> Rows:
        barrier = self._barrier or self._make_barrier(model, tick)
        barrier.update(model, tick.dt)
        return self._dynamic

    def _make_barrier(self, model: Model, tick: Tick) -> Barrier:
        """Where it turns out that this is torque level; before the first tick."""
        watch = self._watching(Damper(self.margin + self.smoothing, self.influence, 0.0, 0.0))
        barrier = self._barrier = Barrier(watch, model, self.deceleration, self.rate, self.recovery)
        self._dynamic = Rows(barrier.A, barrier.lower, np.full(barrier.lower.size, np.inf))
        self._seen = [-1] * len(self.obstacles)
        self._place(tick.time, tick.dt)
        return barrier

    # -- what there is to know -----------------------------------------------------------------------------

    def nearest(self, model: Model, count: int | None = None) -> list[PairDistance]:
        """The nearest pairs at the model's state, nearest first, with their true distances.

        Args:
            model: The robot.
            count: How many; by default those within influence.
        """
        self.setup(model)
        distances = self._survey.measure(model, self.influence if count is None else np.inf)
        order = [int(i) for i in np.argsort(distances) if distances[i] < np.inf]
        return [self._survey.pair(i) for i in order[:count]]

    def violation(self, model: Model, tick: Tick, v: np.ndarray) -> float:
        """How far the true distance of a pair is below the margin, m, whatever the rows allowed."""
        self._place(tick.time, tick.dt)
        nearest = float(np.min(self._survey.measure(model, self.margin), initial=np.inf))
        return nearest if np.isnan(nearest) else max(self.margin - nearest, 0.0)

    def labels(self, count: int) -> list[str]:
        """The pair of each row, with its smooth distance; further corners of those that lie flat on each other."""
        return [self._label(row) for row in range(count)]

    def _label(self, row: int) -> str:
        slot, corner = divmod(row, CORNERS)
        watch = self._distances if self._barrier is None else self._barrier.watch
        pair = int(watch.slots[slot])
        if pair < 0 or not watch.A[row].any():
            return f"free {row}"
        found = watch.pair(pair)
        place = f", corner {corner + 1}" if corner else ""
        return f"{' – '.join(found.names)} {1e3 * found.distance:.0f} mm{place}"

    def units(self, count: int) -> list[str]:
        return ["m"] * count

    def facts(self, model: Model, tick: Tick, v: np.ndarray) -> dict[str, float | str]:
        nearest = self.nearest(model, 1)
        if self._barrier is None:
            rows, watch, motion = self.rows(model, tick), self._distances, v
        else:
            rows, watch, motion = self.dynamic_rows(model, tick), self._barrier.watch, (v - model.v) / tick.dt
        bounded = np.isfinite(rows.lower)
        reached = np.flatnonzero(bounded)[(rows.A @ motion)[bounded] <= rows.lower[bounded] + ACTIVE]
        return {
            "nearest pair": " – ".join(nearest[0].names) if nearest else "none",
            "distance in m": nearest[0].distance if nearest else np.nan,
            "pairs within influence": float(watch.count),
            "pairs at their bound": float(len(set(reached // CORNERS))),
        }

    def sketch(self, model: Model) -> list[Drawing]:
        """Lines between the nearest points of near pairs, and the obstacles."""
        lines = [drawing.line(pair, self.margin, self.influence) for pair in self.nearest(model)[: self.pairs]]
        solids = [drawing.solid(obstacle, self._survey.placement(k)) for k, obstacle in enumerate(self.obstacles)]
        return [*lines, *solids]


def _one_of_a_kind(obstacles: Sequence[Obstacle], where: str) -> list[Obstacle]:
    """Obstacles whose names differ."""
    names: set[str] = set()
    for obstacle in obstacles:
        if not isinstance(obstacle, Obstacle):
            raise TaskError(f"{where}: obstacles: expected a list of sot.Obstacle, got {obstacle!r}")
        if obstacle.name in names:
            raise TaskError(f"{where}: obstacles: there are two of the name '{obstacle.name}'")
        names.add(obstacle.name)
    return list(obstacles)
