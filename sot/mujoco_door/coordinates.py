"""From pinocchio's coordinates of a robot to MuJoCo's, and back, exactly.

| joint | pinocchio q, v | MuJoCo qpos, qvel |
|---|---|---|
| free base | x y z, quaternion x y z w; ẋ, ω in its own axes | x y z, quaternion w x y z; ẋ in the world, ω the same |
| planar base | x y cos θ sin θ; ẋ ẏ in the base's own axes, θ̇ | x y θ and their rates, in the world |
| ball | quaternion x y z w; ω in its own axes | quaternion w x y z; ω in its own axes |
| turns without end | cos θ, sin θ | θ |
| other | θ or a length | the same |

With v_mujoco = T v, where T turns the linear velocity of a base by its rotation R and leaves the rest, forces go the
other way, τ = Tᵀ τ_mujoco, and so M = Tᵀ M_mujoco T, h = Tᵀ (h_mujoco + M_mujoco Ṫ v), with Ṫ v = R (ω × ẋ).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sot.model import Joint, Model

WXYZ, XYZW = [3, 0, 1, 2], [1, 2, 3, 0]  # orders of a quaternion, each from the other


@dataclass(frozen=True)
class Place:
    """Where a joint, or a part of it, stands in MuJoCo's qpos and qvel."""

    q: int
    v: int


@dataclass
class Coordinates:
    """Where everything is; made by `coordinates`.

    Attributes:
        nq: Size of our q.
        nv: Size of our v, and of MuJoCo's.
        plain: Entries that are the same: of our q and of qpos, shape (2, k).
        rates: Entries of our v and of qvel that are the same, shape (2, k).
        turning: Joints that turn without end: first entry of our q, entry of qpos.
        balls: Ball joints: first entry of our q, first entry of qpos.
        base: "fixed", "planar" or "free_flyer".
        place: Where a moving base is in qpos and qvel; ours is first in q and v.
    """

    nq: int
    nv: int
    plain: np.ndarray
    rates: np.ndarray
    turning: list[tuple[int, int]] = field(default_factory=list)
    balls: list[tuple[int, int]] = field(default_factory=list)
    base: str = "fixed"
    place: Place = field(default_factory=lambda: Place(0, 0))

    # -- there -------------------------------------------------------------------------------------------

    def positions(self, q: np.ndarray) -> np.ndarray:
        """qpos of a configuration."""
        qpos = np.zeros(self._nqpos())
        qpos[self.plain[1]] = q[self.plain[0]]
        for ours, theirs in self.turning:
            qpos[theirs] = np.arctan2(q[ours + 1], q[ours])
        for ours, theirs in self.balls:
            qpos[theirs : theirs + 4] = q[ours : ours + 4][WXYZ]
        if self.base == "free_flyer":
            at = self.place.q
            qpos[at : at + 3], qpos[at + 3 : at + 7] = q[:3], q[3:7][WXYZ]
        elif self.base == "planar":
            at = self.place.q
            qpos[at : at + 3] = q[0], q[1], np.arctan2(q[3], q[2])
        return qpos

    def velocities(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """qvel of a velocity, at a configuration: T v."""
        qvel = np.zeros(self.nv)
        qvel[self.rates[1]] = v[self.rates[0]]
        if self.base != "fixed":
            n, at = self._linear(), self.place.v
            qvel[at : at + n] = self._rotation(q) @ v[:n]
        return qvel

    def forces(self, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Generalised forces on qvel of those on v: T⁻ᵀ τ, and T is orthogonal."""
        return self.velocities(q, tau)

    # -- and back ----------------------------------------------------------------------------------------

    def configuration(self, qpos: np.ndarray) -> np.ndarray:
        """q of qpos."""
        q = np.zeros(self.nq)
        q[self.plain[0]] = qpos[self.plain[1]]
        for ours, theirs in self.turning:
            q[ours : ours + 2] = np.cos(qpos[theirs]), np.sin(qpos[theirs])
        for ours, theirs in self.balls:
            q[ours : ours + 4] = qpos[theirs : theirs + 4][XYZW]
        if self.base == "free_flyer":
            at = self.place.q
            q[:3], q[3:7] = qpos[at : at + 3], qpos[at + 3 : at + 7][XYZW]
        elif self.base == "planar":
            x, y, angle = qpos[self.place.q : self.place.q + 3]
            q[:4] = x, y, np.cos(angle), np.sin(angle)
        return q

    def velocity(self, q: np.ndarray, qvel: np.ndarray) -> np.ndarray:
        """v of qvel, at a configuration: Tᵀ qvel."""
        v = np.zeros(self.nv)
        v[self.rates[0]] = qvel[self.rates[1]]
        if self.base != "fixed":
            n, at = self._linear(), self.place.v
            v[:n] = self._rotation(q).T @ qvel[at : at + n]
        return v

    def dynamics(self, q: np.ndarray, v: np.ndarray, M: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Our mass matrix and bias forces, from MuJoCo's."""
        T = np.column_stack([self.velocities(q, column) for column in np.eye(self.nv)])
        turning = np.zeros(self.nv)
        if self.base == "free_flyer":
            turning[:3] = np.cross(v[3:6], v[:3])
        elif self.base == "planar":
            turning[:2] = -v[2] * v[1], v[2] * v[0]
        return T.T @ M @ T, T.T @ (h + M @ (T @ turning))

    def columns(self) -> np.ndarray:
        """Where qvel has each entry of v, shape (nv,); of a base, the same directions of other axes."""
        where = np.arange(self.nv)
        where[self.rates[0]] = self.rates[1]
        if self.base != "fixed":
            where[: self._linear()] = self.place.v + np.arange(self._linear())
        return where

    def _linear(self) -> int:
        return 3 if self.base == "free_flyer" else 2

    def _rotation(self, q: np.ndarray) -> np.ndarray:
        """Of the base: what its linear velocity is turned by."""
        if self.base == "free_flyer":
            x, y, z, w = q[3:7].tolist()
            return np.array([
                [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
                [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
                [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
            ])  # fmt: skip
        return np.array([[q[2], -q[3]], [q[3], q[2]]])

    def _nqpos(self) -> int:
        moving = {"fixed": 0, "planar": 3, "free_flyer": 7}[self.base]
        return moving + self.plain.shape[1] + len(self.turning) + 4 * len(self.balls)


def coordinates(model: Model, find: Callable[[str], Place]) -> Coordinates:
    """The coordinates of a robot.

    Args:
        model: The robot.
        find: Where MuJoCo has a joint; of a planar base its first one.
    """
    found = Coordinates(model.nq, model.nv, np.zeros((2, 0), dtype=int), np.zeros((2, 0), dtype=int))
    plain: list[tuple[int, int]] = []
    rates: list[tuple[int, int]] = []
    for joint in model.joints.values():
        place = find(joint.name)
        if model.robot.root != "fixed" and joint.v.start == 0:
            found.base, found.place = model.robot.root, place
            angular = 3 if found.base == "free_flyer" else 2
            rates += [(i, place.v + i) for i in range(angular, joint.v.stop)]
            continue
        rates += [(i, place.v + i - joint.v.start) for i in range(joint.v.start, joint.v.stop)]
        _positions(joint, place, plain, found)
    found.plain = np.array(plain, dtype=int).reshape(-1, 2).T
    found.rates = np.array(rates, dtype=int).reshape(-1, 2).T
    return found


def _positions(joint: Joint, place: Place, plain: list[tuple[int, int]], found: Coordinates) -> None:
    if joint.is_scalar:
        plain.append((joint.q.start, place.q))
    elif joint.q.stop - joint.q.start == 2:
        found.turning.append((joint.q.start, place.q))
    else:
        found.balls.append((joint.q.start, place.q))
