"""`Distances` in plain numpy: every pair in every tick, and sorted. Much slower, but easy to follow."""

from __future__ import annotations

import numpy as np

from sot.collision import definition
from sot.collision.definition import Nearest
from sot.collision.distances import Distances
from sot.kernels import collision as op
from sot.kernels import distance as at
from sot.kernels.corners import WIDE, WIDEST
from sot.model import Model


class PlainDistances(Distances):
    """The same numbers as `Distances`, without compiled code."""

    _left_out: float  # distance of the first pair without rows in the last update, m
    _seen: dict[int, np.ndarray]  # where the bodies of each pair were when they were last measured

    def forget(self) -> None:
        super().forget()
        self._seen = {}

    def update(self, model: Model, dt: float) -> int:
        if dt != self.dt:
            self.set_dt(dt)
        self.count = self._tick(model)
        return self.count

    def _tick(self, model: Model) -> int:
        if not (np.isfinite(model.joint_placements).all() and np.isfinite(self.obstacles).all()):
            self.lower[:] = np.nan
            return -1
        for pair in range(len(self.memory)):
            self._measure(model, pair)
        distances, size = self.distances, self.slots.size
        order = [int(p) for p in np.argsort(distances, kind="stable") if distances[p] < self.reaches[p]]
        self._fill_slots(order[:size])
        self._left_out = float(distances[order[size]]) if len(order) > size else np.inf
        self._write_rows(model)
        return len(order)

    # -- distances -----------------------------------------------------------------------------------------

    def _measure(self, model: Model, pair: int) -> None:
        """Distance, direction, points and corners of a pair, into its memory."""
        m, (a, b) = self.memory[pair], self._pairs[pair, : op.B_SIDE + 1]
        first, second = self._world_points(model, a), self._world_points(model, b)
        if self._are_known(pair, a, b, model):
            return
        if len(second):
            known = np.isfinite(m[at.MOVED])
            found = definition.between(first, second, self.smoothing, m[:3].copy() if known else None)
        else:
            T = self.obstacles[-1 - self._bodies[b, at.CARRIER]]
            found = definition.to_plane(first, T[9:12], T[6:9], self.smoothing)
        if self.exact:
            found = definition.exact(found, first, second if len(second) else found.y[None])
        balls = self._geometry[[a, b], at.BALL].sum()
        m[:9] = np.concatenate([found.normal, found.x, found.y])
        m[at.DISTANCE], m[at.MOVED] = found.gap - balls, 0.0
        R = self._placement(model, a)[:9].reshape(3, 3).T
        corners, axis = self._corners(found, first, second, R @ m[at.AXIS : at.AXIS + 3])
        m[at.AXIS : at.AXIS + 3] = R.T @ axis
        m[at.CORNER :] = (corners - [0.0, 0.0, 0.0, balls]).ravel()

    def _are_known(self, pair: int, a: int, b: int, model: Model) -> bool:
        """True if two bodies are where they were when they were last measured."""
        now = np.concatenate([self._placement(model, side)[:12] for side in (a, b)])
        before = self._seen.get(pair)
        self._seen[pair] = now
        return before is not None and np.array_equal(now, before)

    def _corners(
        self, found: Nearest, first: np.ndarray, second: np.ndarray, axis: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        n = found.normal
        axis = axis - (axis @ n) * n
        if np.linalg.norm(axis) <= 0.1:
            axis = np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
        wide = min(WIDE * self.damper.influence, WIDEST)
        return definition.corners(found, first, second, axis / np.linalg.norm(axis), wide)

    def _placement(self, model: Model, body: int) -> np.ndarray:
        carrier = self._bodies[body, at.CARRIER]
        return model.joint_placements[carrier] if carrier >= 0 else self.obstacles[-1 - carrier]

    def _world_points(self, model: Model, body: int) -> np.ndarray:
        T = self._placement(model, body)
        first, end = self._bodies[body, [at.FIRST, at.END]]
        return self._points[first:end] @ T[:9].reshape(3, 3) + T[9:12]

    # -- the nearest, and their rows -----------------------------------------------------------------------

    def _fill_slots(self, chosen: list[int]) -> None:
        """A pair keeps its slot for as long as it is among the nearest."""
        self.slots[~np.isin(self.slots, chosen)] = -1
        for pair in chosen:
            if pair not in self.slots:
                self.slots[np.flatnonzero(self.slots < 0)[0]] = pair

    def _zone(self, pair: int) -> float:
        """Width of the zone in which a pair slows down; it ends where the first pair without a slot is."""
        zone = float(self.reaches[pair]) - self.damper.margin
        return min(zone, max(self._left_out - self.damper.margin, op.LEAST_ZONE * zone))

    def _write_rows(self, model: Model) -> None:
        self.A[:], self.lower[:] = 0.0, -np.inf
        for slot in np.flatnonzero(self.slots >= 0):
            pair = int(self.slots[slot])
            for row, corner in enumerate(self.memory[pair, at.CORNER :].reshape(-1, 4), at.CORNERS * int(slot)):
                if corner[3] < np.inf:
                    self.A[row], self.lower[row] = self._row(model, pair, corner, self._zone(pair))

    def _row(self, model: Model, pair: int, corner: np.ndarray, zone: float) -> tuple[np.ndarray, float]:
        """ḋ = n·(J_B(y) − J_A(x)) v + n·v_obstacle ≥ −φ(d), at a corner."""
        m, (a, b) = self.memory[pair], self._pairs[pair, : op.B_SIDE + 1]
        n, x, y = m[:3], m[at.X : at.X + 3] + corner[:3], m[at.Y : at.Y + 3] + corner[:3]
        row = n @ (self._point_jacobian(model, b, y) - self._point_jacobian(model, a, x))
        rate, recovery = self._settings[[at.RATE, at.RECOVERY]]
        bound = definition.least_speed(corner[3] - self.damper.margin, zone, rate, recovery)
        if self._bodies[b, at.CARRIER] < 0:
            T = self._placement(model, b)
            bound -= n @ (T[12:15] + np.cross(T[15:18], y - T[9:12]))
        return row, bound

    def brake(self, v: np.ndarray, dt: float, brakes: np.ndarray, lower: np.ndarray) -> None:
        lower[:] = -np.inf
        for row in np.flatnonzero(self.lower > -np.inf):
            slot, corner = divmod(int(row), at.CORNERS)
            pair = int(self.slots[slot])
            delta = self.memory[pair, at.CORNER + 4 * corner + 3] - self.damper.margin
            speed = float(self.lower[row] - self.A[row] @ v)
            end = (max(delta, 0.0) / self._zone(pair)) ** brakes[op.END]
            spare = brakes[op.BRAKES] * end / max(1.0 - end, 1e-12)
            lower[row] = -definition.most_change(delta, speed, dt, *brakes[: op.END]) - spare

    def reach_out(self, model: Model, v: np.ndarray, dt: float, brakes: np.ndarray) -> None:
        if dt != self.dt:
            self.set_dt(dt)
        for pair, (a, b) in enumerate(self._pairs[:, : op.B_SIDE + 1]):
            speed = min(self._fastest(model, a, b, side, v) for side in (a, b) if self._has_points(side))
            way = definition.braking_way(speed, brakes[op.BRAKES], brakes[op.DAMPER])
            self.reaches[pair] = max(self.damper.influence, self.damper.margin + brakes[op.ROOM] * way)

    def _has_points(self, body: int) -> bool:
        return bool(self._bodies[body, at.END] > self._bodies[body, at.FIRST])

    def _fastest(self, model: Model, a: int, b: int, side: int, v: np.ndarray) -> float:
        """Largest speed of the points of one of two bodies in their motion against each other, m/s."""
        T = self._placement(model, side)
        centre = T[9:12] + T[:9].reshape(3, 3).T @ self._geometry[side, :3]
        (linear, turning), (other, turning_b) = self._motion(model, a, centre, v), self._motion(model, b, centre, v)
        radius = self._geometry[side, [at.CORE, at.BALL]].sum()
        return float(np.linalg.norm(other - linear) + radius * np.linalg.norm(turning_b - turning))

    def _motion(self, model: Model, body: int, point: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Velocity of a body's material at a point, and its angular velocity."""
        if self._bodies[body, at.CARRIER] < 0:
            T = self._placement(model, body)
            return T[12:15] + np.cross(T[15:18], point - T[9:12]), T[15:18]
        first, end = self._bodies[body, [at.SUPPORT, at.SUPPORT_END]]
        columns = self._support[first:end]
        turning = model.world_jacobian[3:, columns] @ v[columns]
        return self._point_jacobian(model, body, point) @ v, turning

    def _point_jacobian(self, model: Model, body: int, point: np.ndarray) -> np.ndarray:
        """Velocity of a point of a body: v + ω × p, shape (3, nv)."""
        first, end = self._bodies[body, [at.SUPPORT, at.SUPPORT_END]]
        columns, J = self._support[first:end], np.zeros((3, model.nv))
        linear, angular = model.world_jacobian[:3, columns], model.world_jacobian[3:, columns]
        J[:, columns] = linear + np.cross(angular, point, axis=0)
        return J
