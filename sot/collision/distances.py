"""Distances of many pairs at once: bodies and pairs packed into arrays once, one compiled call per tick."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sot.collision.shape import Body, Hull
from sot.kernels import collision as op
from sot.kernels import distance as at
from sot.lie import SE3
from sot.model import Model


@dataclass(frozen=True)
class PairDistance:
    """Two bodies and where they are nearest to each other.

    Attributes:
        names: Names of the two.
        distance: Distance of their surfaces, m; negative if they overlap.
        points: The nearest points of their surfaces in the world, m, shape (2, 3).
        normal: Unit vector from the first to the second, shape (3,).
    """

    names: tuple[str, str]
    distance: float
    points: np.ndarray
    normal: np.ndarray

    def __str__(self) -> str:
        return f"{self.names[0]} – {self.names[1]}: {1e3 * self.distance:.1f} mm"


@dataclass(frozen=True)
class Damper:
    """How fast two bodies may come near each other, see `sot.collision.definition.least_speed`.

    Attributes:
        margin: Distance to keep, m.
        influence: Distance from which on a pair is slowed down, m.
        rate: λ, 1/s.
        recovery: Largest speed with which bodies that are too close are driven apart, m/s.
    """

    margin: float = 0.0
    influence: float = np.inf
    rate: float = 1.0
    recovery: float = 1.0


class Distances:
    """Smooth distances of pairs of bodies, and rows for the nearest ones. `sot.collision.plain` is the readable form.

    Bodies are those of a robot, then obstacles. A body without points is a half-space, the part below the plane z = 0
    of its frame; it may only be the second of a pair, as obstacles are.

    Attributes:
        names: Of the bodies.
        A: Gradients n·(J_B(y) − J_A(x)) of the distances, four rows per slot, shape (4 slots, nv). Where two bodies
            lie flat on each other the four are those at the corners of the common face; else all but one are 0.
        lower: Bounds on A v, shape (4 slots,); −inf where a row is 0.
        slots: Which pair has each slot, −1 if none.
        reaches: Distance from which on each pair has rows, m; influence, unless `reach_out` says otherwise.
        count: Number of pairs within their reach; −1 if the robot's state is not finite.
    """

    def __init__(
        self,
        model: Model,
        bodies: Sequence[Body],
        pairs: Sequence[tuple[int, int]],
        *,
        obstacles: Sequence[tuple[str, Hull]] = (),
        slots: int = 0,
        smoothing: float = 1e-3,
        damper: Damper | None = None,
        exact: bool = False,
    ) -> None:
        """
        Args:
            model: The robot.
            bodies: Its bodies.
            pairs: Indices into bodies and obstacles, as if they were one list; the smaller first.
            obstacles: Name and hull of each; they stand at the world's origin until `place` moves them.
            slots: Number of pairs that can have rows.
            smoothing: τ, m.
            damper: The bounds of the rows.
            exact: Measure the points themselves along the smooth direction, in place of the smooth distance.
        """
        hulls = [body.hull for body in bodies] + [hull for _, hull in obstacles]
        carriers = [body.joint for body in bodies] + [-1 - k for k in range(len(obstacles))]
        self.names = [body.name for body in bodies] + [name for name, _ in obstacles]
        self.damper, self.smoothing, self.exact = damper or Damper(), smoothing, exact
        self._pack(model, hulls, carriers)
        self._pack_pairs(pairs, hulls)
        self.obstacles = np.zeros((len(obstacles), op.OBSTACLE))
        self.obstacles[:, [0, 4, 8]] = 1.0
        self.slots, self._order = np.full(slots, -1, dtype=np.int64), np.zeros(slots + 1, dtype=np.int64)
        self._AT, self.lower = np.zeros((model.nv, at.CORNERS * slots)), np.full(at.CORNERS * slots, -np.inf)
        self.A = self._AT.T  # as a problem has it: quick to copy
        self._settings, self.reaches = np.zeros(at.SETTINGS), np.zeros(len(pairs))
        self._twists = np.zeros((len(hulls), 10))
        self.set_dt(0.0)
        self.count = 0

    def _pack(self, model: Model, hulls: list[Hull], carriers: list[int]) -> None:
        """Tables of bodies, see `sot.kernels.distance` for their columns."""
        self._bodies = np.zeros((len(hulls), at.BODY), dtype=np.int64)
        self._geometry = np.zeros((len(hulls), at.GEOMETRY))
        support: list[int] = []
        end = 0
        for body, numbers, hull, carrier in zip(self._bodies, self._geometry, hulls, carriers, strict=True):
            columns = moving_columns(model, carrier) if carrier > 0 else []
            body[at.CARRIER], body[at.FIRST], body[at.END] = carrier, end, end + len(hull.points)
            body[at.SUPPORT], body[at.SUPPORT_END] = len(support), len(support) + len(columns)
            support += columns
            end += len(hull.points)
            numbers[at.CORE] = 1.0  # of a plane: so that it counts as moved when it turns
            if len(hull.points):
                center, numbers[at.CORE] = bounding_sphere(hull.points)
                numbers[at.CENTER : at.CENTER + 3] = center
                numbers[at.BALL], numbers[at.LOG] = hull.radius, np.log(len(hull.points))
        self._support = np.array(support or [0], dtype=np.int64)
        self._points = np.vstack([np.zeros((0, 3)), *(hull.points for hull in hulls)])
        self._world = np.zeros((len(self._points), 4))
        self._scratch = np.zeros((3, at.TRIAL))

    def _pack_pairs(self, pairs: Sequence[tuple[int, int]], hulls: list[Hull]) -> None:
        self._pairs = np.full((len(pairs), op.PAIR), -1, dtype=np.int64)
        self._pairs[:, : op.B_SIDE + 1] = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        self._axes = np.array([longest_axis(hulls[first].points) for first, _ in pairs]).reshape(-1, 3)
        self.memory = np.zeros((len(pairs), at.MEMORY))
        self.forget()

    def forget(self) -> None:
        """Drop what earlier ticks found out."""
        self.memory[:] = 0.0
        self.memory[:, at.DISTANCE], self.memory[:, at.CLEAR], self.memory[:, at.MOVED] = np.inf, -np.inf, -np.inf
        self.memory[:, at.AXIS : at.AXIS + 3] = self._axes
        self._pairs[:, op.SLOT] = -1
        if hasattr(self, "slots"):
            self.slots[:] = -1

    def place(self, obstacle: int, pose: SE3, velocity: np.ndarray) -> None:
        """Put an obstacle somewhere.

        Args:
            obstacle: Its index.
            pose: Where it is.
            velocity: Of its origin and its angular velocity, in the world's axes, m/s and rad/s, shape (6,).
        """
        numbers = self.obstacles[obstacle]
        numbers[:9], numbers[9 : op.TWIST] = pose.rotation.ravel(order="F"), pose.translation
        numbers[op.TWIST :] = velocity

    def placement(self, obstacle: int) -> SE3:
        """Where an obstacle was put."""
        numbers = self.obstacles[obstacle]
        return SE3(numbers[:9].reshape(3, 3).T.copy(), numbers[9 : op.TWIST].copy())

    def set_dt(self, dt: float) -> None:
        """Rates in discrete time: λ → (1 − exp(−λ dt))/dt."""
        law = self.damper
        rate = -np.expm1(-law.rate * dt) / dt if dt > 0.0 else law.rate
        self._settings[:] = (law.margin, law.influence, rate, law.recovery, self.smoothing, self.exact)
        self.reaches[:] = law.influence
        self.dt = dt

    def update(self, model: Model, dt: float) -> int:
        """Measure the pairs that are near, at the model's state; write the rows. Returns `count`."""
        if dt != self.dt:
            self.set_dt(dt)
        self.count = op.collision_rows(
            model.joint_placements, model.world_jacobian, self.obstacles, self._points, self._bodies, self._geometry,
            self._support, self._pairs, self.memory, self._world, self._scratch, self._settings, self.reaches,
            self._order, self.slots, self._AT, self.lower,
        )  # fmt: skip
        return self.count

    def brake(self, v: np.ndarray, dt: float, brakes: np.ndarray, lower: np.ndarray) -> None:
        """Bounds on A v̇ for the rows of the last update, see `sot.collision.barrier`; into `lower`.

        Args:
            v: Velocity of the robot, shape (nv,).
            dt: Length of a tick, s.
            brakes: See `sot.kernels.collision`.
            lower: Shape (4 slots,).
        """
        op.barrier_bounds(
            v, dt, brakes, self.memory, self._settings, self.reaches, self._order, self.slots, self.count, self._AT,
            self.lower, lower,
        )  # fmt: skip

    def reach_out(self, model: Model, v: np.ndarray, dt: float, brakes: np.ndarray) -> None:
        """Let pairs that are fast have rows from where they would have to brake; before `update`."""
        if dt != self.dt:
            self.set_dt(dt)
        op.reach_out(
            model.joint_placements, model.world_jacobian, self.obstacles, self._bodies, self._geometry, self._support,
            self._pairs, v, brakes, self._settings, self._twists, self.reaches,
        )  # fmt: skip

    def measure(self, model: Model, reach: float = np.inf) -> np.ndarray:
        """Distances of all pairs, m; infinite where they are beyond `reach`, NaN if the state is not finite."""
        self.damper = replace(self.damper, influence=reach)
        self.set_dt(self.dt)
        if self.update(model, self.dt) < 0:
            return np.full(len(self.memory), np.nan)
        return np.where(self.distances < reach, self.distances, np.inf)

    @property
    def distances(self) -> np.ndarray:
        """Distance of each pair at the last update, m; infinite where it is known to be beyond influence."""
        return self.memory[:, at.DISTANCE]

    def pair(self, index: int) -> PairDistance:
        """What the last update found out about a pair."""
        m, bodies = self.memory[index], self._pairs[index, : op.B_SIDE + 1]
        first, second = (int(body) for body in bodies)
        n = m[at.NORMAL : at.NORMAL + 3].copy()
        x = m[at.X : at.X + 3] + self._geometry[first, at.BALL] * n
        y = m[at.Y : at.Y + 3] - self._geometry[second, at.BALL] * n
        names = (self.names[first], self.names[second])
        return PairDistance(names, float(m[at.DISTANCE]), np.array([x, y]), n)


def moving_columns(model: Model, joint: int) -> list[int]:
    """Entries of v that move what a joint carries, from the base outwards."""
    slices = {known.index: known.v for known in model.joints.values()}
    return [i for index in model.pin.supports[joint] if index for i in range(slices[index].start, slices[index].stop)]


def longest_axis(points: np.ndarray) -> np.ndarray:
    """Unit vector along which points extend the most."""
    return np.linalg.svd(points - points.mean(axis=0))[2][0]


def bounding_sphere(points: np.ndarray) -> tuple[np.ndarray, float]:
    """Centre and radius of a sphere around points, small if not smallest: each step goes towards the farthest."""
    center = 0.5 * (points.min(axis=0) + points.max(axis=0))
    best, radius = center, np.inf
    for k in range(1, 200):
        distances = np.linalg.norm(points - center, axis=1)
        if distances.max() < radius:
            best, radius = center, float(distances.max())
        center = center + (points[distances.argmax()] - center) / (k + 1)
    return best, radius
