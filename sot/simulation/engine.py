"""One step of a simulation: semi-implicit, contacts, friction and joint limits solved together.

    v_free = v + dt M⁻¹ (τ − h)
    v⁺ = v_free + M⁻¹ Jᵀ λ,      q⁺ = q ⊕ dt v⁺

λ are the impulses of contacts (inside their friction cones), of joint limits (≥ 0) and of friction in joints (in its
interval), such that after the step nothing goes on approaching: n·v⁺ ≥ −gap/dt. A contact that is not closed yet may
close within the step; one that is too deep is pushed out slowly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sot.description import Description
from sot.errors import RobotError
from sot.kernels import touch as op
from sot.model import Model
from sot.simulation.candidates import candidates
from sot.simulation.impulses import Impulses
from sot.simulation.scene import Scene

ROOM = 64  # contacts at a time
REACH = 0.005  # m; gaps up to this are part of a step, and those that could close in it
OUT = 0.1  # part of a penetration that is taken back in a step,
OUT_SPEED = 0.1  # m/s; at most so fast
NEAR = 0.02  # rad or m; joints this close to a limit are part of a step


@dataclass(frozen=True)
class Touch:
    """A contact in the last step.

    Attributes:
        name: Frame of the foot, or body.
        thing: What it touches.
        point: Where, in the world, m.
        normal: Out of what it touches.
        gap: Distance before the step, m.
        force: Mean force on the robot over the step, in the world, N.
    """

    name: str
    thing: str
    point: np.ndarray
    normal: np.ndarray
    gap: float
    force: np.ndarray


class Engine:
    """The physics of one robot.

    Attributes:
        q: Configuration.
        v: Velocity.
        impulses: λ of the last step, contacts first.
        count: Number of contacts in the last step.
    """

    def __init__(
        self,
        robot: Description,
        scene: Scene,
        *,
        bodies: bool = True,
        restitution: float = 0.0,
        friction: np.ndarray | None = None,
        damping: np.ndarray | None = None,
        tolerance: float = 1e-9,
    ) -> None:
        """
        Args:
            robot: The robot.
            scene: What it can touch.
            bodies: Let its collision bodies touch, not only its feet.
            restitution: Part of the speed with which contacts part again, 0 to 1.
            friction: Coulomb friction of the joints, N·m or N, shape (nv,); by default the robot's.
            damping: Viscous friction of the joints, shape (nv,); by default the robot's.
            tolerance: Of the contact solver.
        """
        self.robot, self.scene, self.restitution = robot, scene, restitution
        self.model = Model(robot)
        self.model.dynamic = True
        self.damping = np.array(robot.joint_damping if damping is None else damping)
        self.friction = np.array(robot.joint_friction if friction is None else friction)
        self.candidates = candidates(self.model, bodies=bodies)
        self.solver = Impulses(tolerance)
        self._limits = _Limits(self.model)
        self._dry = np.flatnonzero(self.friction > 0.0)
        self._memory: dict[tuple[int, int], np.ndarray] = {}
        self._allocate()
        self.q, self.v = robot.home.copy(), np.zeros(self.model.nv)
        self.impulses, self.count = np.zeros(0), 0

    def _allocate(self) -> None:
        nv, size = self.model.nv, 3 * ROOM + 2 * self.model.nv
        self._who, self._contacts = np.zeros((ROOM, 4), dtype=np.int64), np.zeros((ROOM, op.CONTACT))
        self._axes = np.zeros((ROOM, 6))
        self._L, self._JT, self._Y = np.zeros((nv, nv)), np.zeros((size, nv)), np.zeros((size, nv))
        self._G, self._g, self._offsets = np.zeros((size, size)), np.zeros(size), np.zeros(size)
        self._free = np.zeros(nv)
        self._support, self._starts = _supports(self.model)
        _, _, _, _, self._M, self._nle = self.model.views_of_dynamics()

    def step(self, tau: np.ndarray, dt: float) -> None:
        """Go on by dt with generalised forces tau, N·m, N and, on a free base, a wrench in its own axes."""
        self.model.update(self.q, self.v)
        margin = REACH + dt * 2.0 * float(np.abs(self.v).max(initial=0.0))
        self.count = op.detect(
            self.candidates.joints, self.candidates.balls, self.candidates.groups, self.scene.shapes,
            self.model.joint_placements, margin, self._who, self._contacts,
        )  # fmt: skip
        rows, signs, gaps = self._limits.near(self.q, NEAR + dt * np.abs(self.v))
        all_rows, all_signs = np.concatenate([rows, self._dry]), np.concatenate([signs, np.ones(self._dry.size)])
        size = op.prepare(
            self.count, self._who, self._contacts, self._axes, self._support, self._starts, self.model.world_jacobian,
            all_rows, all_signs, self._M, self.damping, tau, self._nle, self.v, dt, self._L, self._JT, self._Y,
            self._G, self._free,
        )  # fmt: skip
        self._allow(gaps, dt)
        op.free_velocities(size, self._JT, self._free, self._offsets, self._g)
        self.impulses = self._solve(size, rows, dt) if size else np.zeros(0)
        v = np.empty_like(self.v)
        op.push(size, self._Y, self._L, self.impulses, self._free, v)
        q = self.model.integrate(self.q, dt * v)
        if not (np.abs(v).max(initial=0.0) < 1e6 and np.isfinite(q).all()):
            raise RobotError(f"robot '{self.robot.name}': the simulation diverged, at speeds of {np.abs(v).max():.3g}")
        self.q, self.v = q, v

    def _allow(self, gaps: np.ndarray, dt: float) -> None:
        """Offsets of the rows: with which velocity gaps may close, and penetrations must."""
        n, k = self.count, gaps.size
        self._offsets[:] = 0.0
        self._offsets[2 : 3 * n : 3] = _closing(self._contacts[:n, op.GAP], dt)
        self._offsets[3 * n : 3 * n + k] = _closing(gaps, dt)
        if self.restitution > 0.0:
            before = self._JT[2 : 3 * n : 3] @ self.v
            hits = (before < -1e-3) & (self._contacts[:n, op.GAP] + dt * before <= 0.0)
            self._offsets[2 : 3 * n : 3] = np.where(hits, self.restitution * before, self._offsets[2 : 3 * n : 3])

    def _solve(self, size: int, rows: np.ndarray, dt: float) -> np.ndarray:
        n = self.count
        keys = [(int(c), int(s)) for c, s in self._who[:n, op.CANDIDATE :]]
        guess = np.zeros(size)
        for i, key in enumerate(keys):
            known = self._memory.get(key)
            if known is not None:
                guess[3 * i : 3 * i + 3] = known
        mu, dry = self._contacts[:n, op.MU], dt * self.friction[self._dry]
        found = self.solver.solve(self._G[:size, :size], self._g[:size], mu, rows.size, dry, guess)
        self._memory = {key: found[3 * i : 3 * i + 3] for i, key in enumerate(keys)}
        return found

    def touches(self, dt: float) -> list[Touch]:
        """Contacts of the last step that push."""
        found = []
        for i in range(self.count):
            impulse = self.impulses[3 * i : 3 * i + 3]
            if not impulse.any():
                continue
            contact, axes = self._contacts[i], self._axes[i]
            normal = contact[op.NORMAL :].copy()
            force = (impulse[0] * axes[:3] + impulse[1] * axes[3:] + impulse[2] * normal) / dt
            _, _, candidate, shape = self._who[i]
            found.append(Touch(
                self.candidates.names[candidate], self.scene.obstacles[shape].name,
                contact[op.POINT : op.NORMAL].copy(), normal, float(contact[op.GAP]), force,
            ))  # fmt: skip
        return found


class _Limits:
    """Joints with limits."""

    def __init__(self, model: Model) -> None:
        joints = [joint for joint in model.joints.values() if joint.is_scalar]
        self._v = np.array([joint.v.start for joint in joints], dtype=np.int64)
        self._q = np.array([joint.q.start for joint in joints], dtype=np.int64)
        self._low, self._high = model.pin.lowerPositionLimit[self._q], model.pin.upperPositionLimit[self._q]

    def near(self, q: np.ndarray, reach: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Columns, signs and distances of joints that are close to a limit."""
        below, above = q[self._q] - self._low, self._high - q[self._q]
        low, high = below < reach[self._v], above < reach[self._v]
        columns = np.concatenate([self._v[low], self._v[high]])
        return columns, np.repeat([1.0, -1.0], [low.sum(), high.sum()]), np.concatenate([below[low], above[high]])


def _closing(gaps: np.ndarray, dt: float) -> np.ndarray:
    return np.where(gaps >= 0.0, gaps / dt, np.maximum(OUT * gaps / dt, -OUT_SPEED))


def _supports(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Columns that move each joint, one after the other, and where those of a joint begin."""
    columns: list[int] = []
    starts = [0, 0]
    for joint in range(1, model.pin.njoints):
        for index in model.pin.supports[joint]:
            if index > 0:
                moved = model.pin.joints[index]
                columns += range(moved.idx_v, moved.idx_v + moved.nv)
        starts.append(len(columns))
    return np.array(columns, dtype=np.int64), np.array(starts, dtype=np.int64)
