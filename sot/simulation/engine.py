"""One step of a simulation: semi-implicit, contacts, friction and joint limits solved together.

    v_free = v + dt M⁻¹ (τ − h(q, v_half)),      v_half = v + dt/2 (M⁻¹ (τ − h(q, v)) + v̇ by contacts in the last step)
    v⁺ = v_free + M⁻¹ Jᵀ λ,      q⁺ = q ⊕ dt v⁺

With h at the velocity half-way this is the leap-frog: v belongs to the middle between two positions, and without
contacts the error of a motion goes with dt² and its energy does not drift.

λ are the impulses of contacts (inside their friction cones), of joint limits (≥ 0) and of friction in joints (in its
interval), such that nothing overlaps after the step: n·v⁺ ≥ −gap/dt, or n·v⁺ ≥ 0 where it does already. So no impulse
adds energy: λ·J v⁺ ≤ 0, and what it changes is λ·J v⁺ − ½ λᵀ J M⁻¹ Jᵀ λ. What overlaps all the same is taken back by a
displacement that adds nothing to v⁺. Contacts that stay follow the turns of their bodies: their gaps at the end of the
step are right to second order, gap + dt n·v⁺ + dt²/2 n·J̇v.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sot.checks import positive, vector
from sot.description import Description
from sot.errors import ConfigError, RobotError
from sot.kernels import soles, stepping
from sot.kernels import touch as op
from sot.model import Model
from sot.simulation.candidates import candidates
from sot.simulation.impulses import Impulses
from sot.simulation.meetings import Meetings
from sot.simulation.reports import Counters, Mark, Touch
from sot.simulation.scene import Scene
from sot.simulation.tables import limits, not_negative, supports

ROOM = 64  # contacts at a time
REACH = 0.002  # m; gaps that could be less than this at the end of a step are part of it
NEAR = 0.005  # rad or m; the same for joint limits
SLOW = 0.02  # m/s; slower contacts do not part again, whatever the restitution
FASTEST = 1e6  # rad/s or m/s; what is faster has diverged


class Engine:
    """The physics of one robot.

    Attributes:
        q: Configuration.
        v: Velocity.
        damping: Viscous friction of the joints, N·m·s/rad or N·s/m, shape (nv,); may be changed between steps.
        impulses: λ of the last step, contacts first.
        count: Number of contacts in the last step.
        counters: What happened so far.
    """

    def __init__(
        self,
        robot: Description,
        scene: Scene,
        *,
        bodies: bool = True,
        itself: bool = True,
        restitution: float = 0.0,
        friction: np.ndarray | None = None,
        damping: np.ndarray | None = None,
        tolerance: float = 1e-8,
    ) -> None:
        """
        Args:
            robot: The robot.
            scene: What it can touch.
            bodies: Let its collision bodies touch things, not only its feet.
            itself: Let its collision bodies touch each other.
            restitution: Part of the speed with which contacts part again, 0 to 1.
            friction: Coulomb friction of the joints, N·m or N, shape (nv,); by default the robot's.
            damping: Viscous friction of the joints, shape (nv,); by default the robot's.
            tolerance: Of the contact solver, as part of the velocities that contacts have to change.
        """
        self.robot, self.scene = robot, scene
        self.restitution = positive(restitution, "restitution", zero=True)
        if not self.restitution <= 1.0:
            raise ConfigError(f"restitution: expected a number from 0 to 1, got {restitution}")
        self.model = Model(robot)
        self.model.dynamic = True
        nv = self.model.nv
        self.damping = not_negative(robot.joint_damping if damping is None else damping, nv, "damping")
        self.friction = not_negative(robot.joint_friction if friction is None else friction, nv, "friction")
        self.tolerance = positive(tolerance, "tolerance")
        self.candidates = candidates(self.model, bodies=bodies)
        self._name(bodies, itself)
        self._limits, self._dry = limits(self.model), np.flatnonzero(self.friction > 0.0)
        self._support, self._starts = supports(self.model)
        self._allocate()
        self.model.update(robot.home, np.zeros(nv))
        self._dry_scales = 1.0 / np.sqrt(np.diag(np.linalg.inv(self.model.mass_matrix)))[self._dry]
        self.reset()

    def _name(self, bodies: bool, itself: bool) -> None:
        """Numbers for all that can touch or be touched; behind feet and obstacles, bodies that meet each other."""
        feet, obstacles = self.candidates.names, [thing.name for thing in self.scene.obstacles]
        if not feet and obstacles and self.robot.root == "free_flyer":
            words = "it has no feet, and its bodies are left out (bodies=False)"
            raise ConfigError(f"robot '{self.robot.name}' would fall through everything: {words}")
        first = max(len(feet), len(obstacles))
        joints = {int(group[op.CARRIER]) for group in self.candidates.groups if group[op.SOLE]}
        self._meetings = Meetings(self.model, self.scene, first, joints, bodies=bodies, itself=itself)
        self._names = [*feet, *[""] * (first - len(feet)), *self._meetings.names]
        self._things = [*obstacles, *[""] * (first - len(obstacles)), *self._meetings.names]

    def _allocate(self) -> None:
        nv, size = self.model.nv, 3 * ROOM + 3 * self.model.nv
        self._who, self._contacts = np.zeros((ROOM, op.WHO), dtype=np.int64), np.zeros((ROOM, op.CONTACT))
        self._axes = np.zeros((ROOM, 6))
        self._columns, self._signs = np.zeros(3 * nv, dtype=np.int64), np.zeros(3 * nv)
        self._left = np.zeros(3 * nv)
        self._L, self._JT, self._Y = np.zeros((nv, nv)), np.zeros((size, nv)), np.zeros((size, nv))
        self._G, self._N = np.zeros((size, size)), np.zeros((stepping.LINES, size))
        self._S = np.zeros(size * size)
        self._free, self._middle = np.zeros(nv), np.zeros(nv)
        self._has_boxes = any(thing.box is not None for thing in self.scene.obstacles)
        self._scratch = np.zeros((2, soles.CORNERS, soles.CORNER))
        self._twists, self._turns, _, _, self._M, self._nle = self.model.views_of_dynamics()
        self._gravity = self.model.gravity

    def reset(self, q: np.ndarray | None = None, v: np.ndarray | None = None) -> None:
        """Begin anew at a state, by default at rest at home: from here on the same forces give the same bits."""
        nv = self.model.nv
        where = f"robot '{self.robot.name}'"
        self.q = self.robot.home.copy() if q is None else vector(q, self.model.nq, f"{where}: q", repeat=False)
        self.v = np.zeros(nv) if v is None else vector(v, nv, f"{where}: v", repeat=False)
        self.counters = Counters()
        self._meetings.forget()
        self.solver = Impulses(self.tolerance)
        self.impulses, self.count = np.zeros(0), 0
        self._met, self._memory = np.full((ROOM, 2), -1, dtype=np.int64), np.zeros((ROOM, stepping.MEMORY))
        self._joint_memory, self._rate = np.zeros((nv, 3)), np.zeros(nv)
        self._before = 0.0  # kinetic energy one step ago, J

    def mark(self) -> Mark:
        """Where it is now, to come `back_to` before a step is tried again with other torques."""
        memories = tuple(memory.copy() for memory in (self._met, self._memory, self._joint_memory, self._rate))
        return Mark(self.q, self.v, self._before, replace(self.counters), memories)

    def back_to(self, mark: Mark) -> None:
        """Forget the steps since a mark: what they counted, and what they touched."""
        self.q, self.v, self._before, self.counters = mark.q, mark.v, mark.before, replace(mark.counters)
        for memory, then in zip((self._met, self._memory, self._joint_memory, self._rate), mark.memories, strict=True):
            memory[:] = then

    def step(self, tau: np.ndarray, dt: float) -> None:
        """Go on by dt with generalised forces tau, N·m, N and, on a free base, a wrench in its own axes.

        Where obstacles move, `scene.place(time, dt)` comes before.
        """
        self._check(tau, dt)
        self.model.update(self.q, self.v)
        stepping.fall(self._M, self.damping, tau, self._nle, self.v, dt, self._rate, self._L, self._free, self._middle)
        self.model.update_bias(self._middle)
        self._touch(dt)
        near = stepping.joint_rows(
            self._limits, self.q, self._middle, dt, NEAR, self._dry, self._columns, self._signs, self._left
        )
        joints = near + self._dry.size
        size = stepping.prepare(
            self.count, near, joints, self._who, self._contacts, self._axes, self._support, self._starts,
            self.model.world_jacobian, self._columns, self._signs, self._left, self.damping, tau, self._nle, self.v,
            dt, self.restitution, SLOW, self._met, self._memory, self._joint_memory, self._free, self._L, self._JT,
            self._Y, self._G, self._N,
        )  # fmt: skip
        self._solve(size, near, dt)
        v, moved = np.empty_like(self.v), np.empty_like(self.v)
        stepping.push(
            self.count, near, joints, self._who, self._columns, self._signs, dt, SLOW, self._met, self._memory,
            self._joint_memory, self._free, self._middle, self._rate, self._L, self._Y, self._G, self._N, v, moved,
        )  # fmt: skip
        if self.restitution > 0.0:
            share = self._share_without_gain(v)
            v, moved = self._free + share * (v - self._free), moved - (1.0 - share) * (v - self._free)
            self.impulses *= share
        self._go(v, moved, dt)

    def _share_without_gain(self, v: np.ndarray) -> float:
        """Part of the impulses that leaves no more energy than there was before the hit.

        Newton's law speaks of each contact by itself: several of them, with friction, may part with more than they came
        with. T(s) = ½ (f + s d)ᵀ M (f + s d), with f the velocity without impulses and d what they add.
        """
        M, f, d = self.model.mass_matrix, self._free, v - self._free
        now, a, b, c = 0.5 * self.v @ M @ self.v, 0.5 * d @ M @ d, f @ M @ d, 0.5 * f @ M @ f
        allowed, self._before = max(self._before, now, c), now
        if a + b + c <= allowed:
            return 1.0
        return float((-b + np.sqrt(max(b * b - 4.0 * a * (c - allowed), 0.0))) / (2.0 * a))

    def _touch(self, dt: float) -> None:
        """Contacts that could close in this step."""
        found = op.detect(
            self.candidates.balls, self.candidates.groups, self.scene.shapes, self.model.joint_placements,
            self._twists, self._turns, self._gravity, dt, REACH, self._who, self._contacts,
        )  # fmt: skip
        if self._has_boxes:
            found = soles.stand_across(
                self.candidates.balls, self.candidates.groups, self.scene.shapes, self.model.joint_placements,
                self._twists, dt, REACH, self._who, self._contacts, found, self._scratch,
            )  # fmt: skip
        found = self._meetings.add(self.model, self._twists, self.scene, dt, REACH, self._who, self._contacts, found)
        self.count = min(found, ROOM)
        self.counters.crowded += found > ROOM

    def _solve(self, size: int, near: int, dt: float) -> None:
        lines = self._N[:, :size]
        if size:
            S, mu = self._S[: size * size].reshape(size, size), self._contacts[: self.count, op.MU]
            c = stepping.scale(self.count, size, self._dry_scales, self._G, self._N, S)
            dry = dt / c * self.friction[self._dry] / self._dry_scales
            g, guess = lines[stepping.SCALED], lines[stepping.SCALED_GUESS]
            lines[stepping.FOUND] = c * lines[stepping.SCALE] * self.solver.solve(S, g, mu, near, dry, guess)
            self.counters.unconverged += not self.solver.converged
        self.impulses = lines[stepping.FOUND].copy()

    def _go(self, v: np.ndarray, moved: np.ndarray, dt: float) -> None:
        q = self.model.integrate(self.q, dt * moved)
        if not (np.abs(v).max(initial=0.0) < FASTEST and np.isfinite(q).all()):
            raise RobotError(f"robot '{self.robot.name}': the simulation diverged, at speeds of {np.abs(v).max():.3g}")
        self.q, self.v = q, v
        self.counters.steps += 1

    def _check(self, tau: np.ndarray, dt: float) -> None:
        if not 0.0 < dt < np.inf:
            raise RobotError(f"robot '{self.robot.name}': dt: expected a time > 0, got {dt}")
        if tau.shape != (self.model.nv,):
            raise RobotError(f"robot '{self.robot.name}': expected {self.model.nv} torques, got shape {tau.shape}")
        if not np.isfinite(tau).all():
            names = self.model.velocity_names()
            bad = ", ".join(f"{names[i]} = {tau[i]}" for i in np.flatnonzero(~np.isfinite(tau)))
            raise RobotError(f"robot '{self.robot.name}': torques that are not finite: {bad}")

    def touched(self) -> tuple[int, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Contacts of the last step as kernels have them: how many, who, where, axes across the normals, impulses."""
        return self.count, self._who, self._contacts, self._axes, self.impulses

    def touches(self, dt: float) -> list[Touch]:
        """Contacts of the last step that push."""
        found = []
        for i in range(self.count):
            impulse = self.impulses[3 * i : 3 * i + 3]
            if not impulse.any():
                continue
            contact, axes, who = self._contacts[i], self._axes[i], self._who[i]
            normal = contact[op.NORMAL : op.SURFACE].copy()
            force = (impulse[0] * axes[:3] + impulse[1] * axes[3:] + impulse[2] * normal) / dt
            found.append(Touch(
                self._names[who[op.NAME]], self._things[who[op.THING]],
                contact[op.POINT : op.NORMAL].copy(), normal, float(contact[op.GAP]), force,
            ))  # fmt: skip
        return found
