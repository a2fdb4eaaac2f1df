"""Impedance at a frame: a spring and a damper, with the robot's own mass or a wanted one."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np

from sot import features
from sot.checks import positive
from sot.entry import Load, Rows, Tick
from sot.feature import Value
from sot.force_task import arrow
from sot.impedance import Spring, inverse_inertia, within_reach
from sot.model import ALIGNED, Model
from sot.reference import Reference
from sot.sketch import WARNING, Drawing
from sot.task import FeatureTask, Mask
from sot.virtual_mass import Stiffness
from sot.wrench import NONE, Measurement, Wrenches, axes_id


class Impedance(Wrenches, Load, FeatureTask):
    """Lets a frame give way like a spring with a damper: M ë + D ė + K e = f, e = x ⊖ x*. Six rows, m and rad.

        hand = Impedance("panda_hand_tcp", stiffness=[400, 400, 100, 20, 20, 20], damping_ratio=0.8)

    At torque level M is by default that of the robot at the frame, Λ = (J M⁻¹ Jᵀ)⁻¹, with its contacts held: nothing
    has to be measured, since a force on the frame accelerates it by Λ⁻¹ f by itself. With a `mass` the frame feels as
    heavy as that, and the force has to be measured: torques then make up for f_measured, as `ExternalWrench` does (do
    not give it twice), and ë = M⁻¹ (f_measured + f* − K e − D ė). At rest the frame is displaced by K⁻¹ (f + f*).

    At velocity level there is no inertia: D ė = f_measured + f* − K e, the same displacement at rest, reached at the
    pace of spring and damper. `sot.impedance` has the formulas, and what becomes of modes that are too fast for a tick.

    A function that measures nothing usable leaves the last force as it was.
    """

    kind = "impedance"

    def __init__(
        self,
        frame: str,
        stiffness: Stiffness = 400.0,
        axes: str = "world",
        *,
        reference: Reference | Value | None = None,
        damping: Stiffness | None = None,
        damping_ratio: float = 1.0,
        mass: Stiffness | None = None,
        measured: Measurement | None = None,
        measured_in: str = "world",
        wrench: Sequence[float] | None = None,
        name: str | None = None,
        weight: float = 1.0,
        mask: Mask | None = None,
    ) -> None:
        """
        Args:
            frame: Name of the frame.
            stiffness: K: six numbers (x y z in N/m, rx ry rz in N·m/rad), a 6×6 matrix, or one number k for k N/m and
                k · 0.1 N·m/rad.
            axes: Axes of stiffness, damping, mass, wrench and rows: `world`, `local` (the frame's own) or the name of
                any frame.
            reference: An SE3, a 4×4 matrix, 7 numbers (x y z qx qy qz qw), or a reference such as
                `sot.move(...)`. By default the pose at the start.
            damping: D, in N·s/m and N·m·s/rad, written like the stiffness; in place of the ratio.
            damping_ratio: ζ of every principal axis of mass and stiffness: 1 does not overshoot. Axes without a spring
                are damped like the stiffest.
            mass: M, in kg and kg·m², written like the stiffness; by default the robot's own at the frame.
            measured: What the environment exerts on the frame, fx fy fz tx ty tz in N and N·m; or a function of
                (model, tick) that gives it. May be set before each tick. Only with a `mass`, and at velocity level.
            measured_in: Where that was measured: `world` (its axes, at the frame's origin), `local` (the same in the
                frame's own axes), or the name of a sensor's frame (in its axes, about its origin).
            wrench: f*, what the frame should exert on the environment, in N and N·m.
            name: Name in reports and look-ups; by default `impedance_<frame>`.
            weight: Importance against the other tasks of the same level.
            mask: Rows to keep, by label: x, y, z, rx, ry, rz; or a boolean per row.
        """
        self.frame = frame
        super().__init__(features.FramePose(frame), reference=reference, name=name, weight=weight, mask=mask)
        self.damping_ratio = positive(damping_ratio, f"{self.name}: damping_ratio", zero=True)
        self.spring = Spring(stiffness, damping, self.damping_ratio, mass, self.name)
        self.axes, self.damping, self.mass = axes, damping, mass
        self._given = stiffness
        self._take_wrenches(measured, measured_in, wrench)

    @property
    def stiffness(self) -> Stiffness:
        """K as it was given. May be set at any time; the force of the spring then changes at once."""
        return self._given

    @stiffness.setter
    def stiffness(self, stiffness: Stiffness) -> None:
        before = copy(self.spring)
        self.spring.stiffen(stiffness)
        self.force_changed(lambda: setattr(self, "spring", before))
        self._given = stiffness

    def default_name(self) -> str:
        return f"impedance_{self.frame}"

    def setup(self, model: Model) -> None:
        super().setup(model)
        self._frame = model.frame(self.frame)
        self._axes = axes_id(model, self.axes, self._frame)
        self._measured.setup(model, self._frame)
        mass = self.spring.mass
        self._inverse = None if mass is None else np.linalg.inv(mass[np.ix_(self.kept, self.kept)])
        self._own = inverse_inertia(model.mass_matrix, self._turned(model, self.jacobian(model)))

    def reset(self) -> None:
        super().reset()
        self._measured.reset()

    def begin(self, model: Model, tick: Tick) -> None:
        super().begin(model, tick)
        self._measured.begin(model, tick)

    # -- rows ----------------------------------------------------------------------------------------

    def rows(self, model: Model, tick: Tick) -> Rows:
        """J v = V* + D⁻¹ (f − K e)."""
        J = self._turned(model, self.jacobian(model))
        if self.target is None:  # (rows are counted before there is a target)
            return Rows(J, np.zeros(len(J)), np.zeros(len(J)))
        push = self.wrench[self.kept] + self._turned(model, self._measured.in_world(model))
        B = inverse_inertia(model.mass_matrix, J) if self._inverse is None else self._inverse
        yielding = self.spring.velocity(B, self.kept, self._turned(model, self.error(model)), push, tick.dt)
        wanted = yielding + self._turned(model, self.feedforward(tick))
        return Rows(J, wanted, wanted)

    def dynamic_rows(self, model: Model, tick: Tick) -> Rows:
        """J v̇ = V̇* + M⁻¹ (f − K e − D ė) − J̇v."""
        full = self.jacobian(model)
        J = self._turned(model, full)
        if self.target is None:
            return Rows(J, np.zeros(len(J)), np.zeros(len(J)))
        velocity, acceleration = self.target_motion(tick)
        # v is what led here in the last period, so it is compared with the target's speed in the middle of that.
        rate = full @ model.v - (velocity - 0.5 * tick.dt * acceleration)
        own = inverse_inertia(model.mass_matrix, J, _held(model, tick))
        B, push = own, self.wrench[self.kept]
        if self._inverse is not None:
            B, push = self._inverse, push + self._turned(model, self._measured.in_world(model))
        error, rate = self._turned(model, self.error(model)), self._turned(model, rate)
        asked = self.spring.acceleration(B, self.kept, error, rate, push, tick.dt)
        rest = self._turned(model, acceleration - self.drift(model))
        if self._inverse is None:  # what a force does to the robot it can do
            wanted = asked + within_reach(own, self.kept, model.mass, rest)
        else:
            wanted = within_reach(own, self.kept, model.mass, asked + rest)
        return Rows(J, wanted, wanted)

    def torques(self, model: Model, tick: Tick) -> np.ndarray:
        """Jᵀ f_measured, which a wanted mass has to know; with the robot's own mass the force acts by itself."""
        if self._inverse is None:
            return np.zeros(model.nv)
        return model.jacobian(self._frame, ALIGNED).T @ self._measured.in_world(model)

    def _turned(self, model: Model, rows: np.ndarray) -> np.ndarray:
        """Six numbers, or six rows, from the axes of the world to those of the stiffness; those that the mask keeps."""
        if self._axes != NONE:
            rows = np.matmul(model.placement(self._axes).rotation.T, rows.reshape(2, 3, -1)).reshape(rows.shape)
        return rows[self.kept]

    # -- what there is to tell -----------------------------------------------------------------------

    def rendered(self) -> tuple[float, float]:
        """Largest stiffness (N/m) and largest damping (N·s/m) of its force along kept translations, for bounds.

        As the robot was at the start; a controller must have taken the task before.
        """
        way = np.flatnonzero(self.kept < 3)
        if not len(way):
            return 0.0, 0.0
        K, D = (A[np.ix_(way, way)] for A in self.spring.rendered(self._own, self.kept))
        return float(np.linalg.norm(K, 2)), float(np.linalg.norm(D, 2))

    def _pull(self, model: Model) -> np.ndarray:
        """Force of the spring along the axes that are kept, in the axes of the world, N and N·m, shape (6,)."""
        pull = np.zeros(6)
        spring = self.spring.stiffness[np.ix_(self.kept, self.kept)]
        pull[self.kept] = -spring @ self._turned(model, self.error(model))
        R = np.eye(3) if self._axes == NONE else model.placement(self._axes).rotation
        return np.concatenate([R @ pull[:3], R @ pull[3:]])

    def facts(self, model: Model, tick: Tick, v: np.ndarray) -> dict[str, float | str]:
        """Force of the spring, N and N·m, its energy, J, and how far the frame is displaced, m and rad."""
        if self.target is None:
            return {}
        pull, error = self._pull(model), self.error(model)
        force, torque, way, turn = (float(np.linalg.norm(x)) for x in (pull[:3], pull[3:], error[:3], error[3:]))
        facts: dict[str, float | str] = {"force": force, "torque": torque, "displaced": way, "turned": turn}
        return {**facts, "energy": float(-0.5 * pull @ error)} | (
            {} if self._measured.usable else {"no measurement": self._measured.reason}
        )

    def sketch(self, model: Model) -> list[Drawing]:
        """The force of the spring, and that which is measured."""
        if self.target is None:
            return []
        start = model.placement(self._frame).translation
        pull, measured = self._pull(model)[:3], self._measured.in_world(model)[:3]
        return [arrow(model, "spring", start, pull), arrow(model, "measured", start, measured, WARNING)]


def _held(model: Model, tick: Tick) -> np.ndarray | None:
    """Jacobian of all contacts."""
    contacts = list(tick.contacts or ())
    return np.vstack([contact.jacobian(model) for contact in contacts]) if contacts else None
