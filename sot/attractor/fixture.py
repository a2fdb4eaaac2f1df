"""The force of a region on a frame of a robot, as an entry of a stack.

    torque level     A v̇ = N (Λ⁻¹ f − J̇v),   A = N J,   Λ⁻¹ = J M⁻¹ Jᵀ
    velocity level   A v = N C⁻¹ f

N are the axes along which the region holds. The force of a held axis asks for the acceleration that it would cause, so
that torques are Jᵀf + h there; a lower level cannot change it. Along free axes nothing is asked for, and lower levels
move as they like: what of the force does not lead back to the region (f*, or a stiffness that is askew) enters as a
load, Jᵀf on top of all torques.

An axis with one side is an inequality: at least the force's acceleration outside, and inside no more towards the
surface than a mirrored spring and damper would allow. So the bound is continuous at the surface, and far inside it
does not matter.
"""

from __future__ import annotations

import operator

import numpy as np

from sot.attractor.affine import Flat
from sot.attractor.law import Law
from sot.attractor.parameters import Parameters, check_sampling
from sot.attractor.region import Hold, Region
from sot.entry import Load, Rows, Tick
from sot.errors import TaskError
from sot.force_task import arrow
from sot.impedance import inverse_inertia, within_reach
from sot.model import ALIGNED, Model
from sot.sketch import ALARM, CALM, Drawing, Line

AXES = np.arange(3)
ORIGIN = np.zeros((1, 3))


class Fixture(Load):
    """Rows and loads of a region's force at a frame.

    Attributes:
        frame: Name of the frame.
        law: The region, its parameters and the last force.
        target_timeout: A region that was set while running must be set again within this time, s; None: need not.
    """

    kind = "fixture"

    def _attach(self, frame: str, region: Region, parameters: Parameters, target_timeout: float | None) -> None:
        self.frame, self.target_timeout = frame, target_timeout
        self.law = Law(region, parameters)
        self._forget()

    def _forget(self) -> None:
        self.law.reset()
        self._hold: Hold | None = None
        self._B = np.eye(3)
        self._mark: tuple[object, ...] = ()
        self._time = self._set_at = -np.inf
        self._set = False

    # -- what may change ------------------------------------------------------------------------------

    @property
    def region(self) -> Region:
        """What attracts, or keeps out. May be set at any time; it takes effect at the next tick."""
        return self.law.region

    @region.setter
    def region(self, region: Region) -> None:
        before, held = self.law.region, self._holds()
        self.law.region = region
        if self._holds() != held:
            self.force_changed(lambda: setattr(self.law, "region", before))
        self._set, self._set_at = True, np.inf  # the time is taken at the next tick

    @property
    def parameters(self) -> Parameters:
        """Stiffness, damping and bounds, changed as a whole; one that is wrong is refused when it is made."""
        return self.law.parameters

    @parameters.setter
    def parameters(self, parameters: Parameters) -> None:
        before = self.law.parameters
        self.law.parameters = parameters
        self.force_changed(lambda: setattr(self.law, "parameters", before))

    @property
    def force(self) -> np.ndarray:
        """The last force on the frame, in the axes of the world, N, shape (3,)."""
        return self.law.last

    def rendered(self) -> tuple[float, float]:
        """Largest stiffness (N/m) and largest damping (N·s/m) of the force, for stability bounds."""
        held = self.region.held(ORIGIN)[0] if isinstance(self.region, Flat) else np.eye(3)
        K, C = self.law.spring, self.law.damper(self._B)
        return float(np.linalg.norm(K @ held, 2)), float(np.linalg.norm(C @ held, 2))

    def _holds(self) -> tuple[bytes, object]:
        """What `rendered` takes from the region. Where the spring is the same all around, turning changes nothing."""
        K = self.law.spring
        if not isinstance(self.region, Flat):
            return K.tobytes(), None
        held = self.region.held(ORIGIN)
        even = K[0, 0] == K[1, 1] == K[2, 2] and not (K[0, 1] or K[0, 2] or K[1, 2])
        return K.tobytes(), round(float(np.vdot(held, held)), 9) if even else held.tobytes()

    # -- every tick -----------------------------------------------------------------------------------

    def setup(self, model: Model) -> None:
        self._frame = model.frame(self.frame)
        self._B = inverse_inertia(model.mass_matrix, self._jacobian(model))

    def reset(self) -> None:
        super().reset()
        self._forget()

    def begin(self, model: Model, tick: Tick) -> None:
        """One step of the law. A tick may begin twice: commands of before tell whether it is the same one."""
        super().begin(model, tick)
        mark = (tick.previous, tick.previous_torque, self.law.parameters, self.law.region)
        if tick.time == self._time and all(map(operator.is_, mark, self._mark)):
            return
        J = self._jacobian(model)
        self._B = inverse_inertia(model.mass_matrix, J, _held(model, tick))
        if not self._mark and tick.contacts is not None:
            C = self.law.damper(self._B)
            check_sampling(self.law.spring, C, self._B, self.region.spans(), tick.dt, self.name)
        p = model.placement(self._frame).translation
        v = J @ model.v if tick.contacts is not None else np.zeros(3)
        self._hold = self.region.at(p)
        self.law.step(p, v, tick.dt, fresh=self._fresh(tick), B=self._B)
        self._mark, self._time = mark, tick.time

    def _fresh(self, tick: Tick) -> bool:
        if self._set and self._set_at == np.inf:
            self._set_at = tick.time
        expected = self._set and self.target_timeout is not None
        late = expected and not (tick.time - self._set_at <= self.target_timeout)  # type: ignore[operator]  # not None
        return tick.time > self._time and not late

    def _jacobian(self, model: Model) -> np.ndarray:
        return model.jacobian(self._frame, ALIGNED)[:3]

    def _now(self, model: Model) -> Hold:
        p = model.placement(self._frame).translation
        return self.region.at(p) if self._hold is None else self._hold

    def dynamic_rows(self, model: Model, tick: Tick) -> Rows:
        """N J v̇ between what the force, and the slack inside of a region, allow."""
        hold, J = self._now(model), self._jacobian(model)
        if self._hold is None:
            return _bounded(hold, J, np.zeros(3), np.zeros(3), np.zeros(3))
        rest = within_reach(self._B, AXES, model.mass, -model.drift(self._frame, ALIGNED)[:3])
        along = hold.axes @ (self._B @ self._split(hold)[0] + rest)
        stiff, damped, light = (_along(hold, A) for A in (self.law.spring, self.law.damper(self._B), self._B))
        return _bounded(hold, J, along, stiff * light, damped * light * (hold.axes @ (J @ model.v)))

    def rows(self, model: Model, tick: Tick) -> Rows:
        """N J v: the pace at which the damper lets the spring go, averaged over the tick."""
        hold, J = self._now(model), self._jacobian(model)
        if self._hold is None:
            return _bounded(hold, J, np.zeros(3), np.zeros(3), np.zeros(3))
        c, U = np.linalg.eigh(self.law.damper(self._B))
        if not (c[0] > 0.0):
            raise TaskError(f"{self.name}: damping: at velocity level the pace is C⁻¹ f, so it must be above zero")
        F = U / np.sqrt(c)
        k, V = np.linalg.eigh(F.T @ self.law.spring @ F)
        steps = np.maximum(k * tick.dt, 1e-12)
        T = F @ V
        along = hold.axes @ (T @ (-np.expm1(-steps) / steps * (T.T @ self._split(hold)[0])))
        pace = _along(hold, T * (-np.expm1(-steps) / tick.dt) @ np.linalg.inv(T))
        return _bounded(hold, J, along, pace, np.zeros(3))

    def torques(self, model: Model, tick: Tick) -> np.ndarray:
        """−Jᵀ f along the free axes: torques make up for a load, so they gain Jᵀ f."""
        if self._hold is None:
            return np.zeros(model.nv)
        return -self._jacobian(model).T @ self._split(self._hold)[1]

    def _split(self, hold: Hold) -> tuple[np.ndarray, np.ndarray]:
        """The part of the force that rows ask for, back to the region along its axes, and the rest."""
        parts = hold.axes @ self.law.last
        back = hold.held_axes | ((hold.lower > 0.0) & (parts > 0.0)) | ((hold.upper < 0.0) & (parts < 0.0))
        return hold.axes.T @ np.where(back, parts, 0.0), hold.axes.T @ np.where(back, 0.0, parts)

    # -- what there is to tell ------------------------------------------------------------------------

    def labels(self, count: int) -> list[str]:
        return ["x", "y", "z"][:count]

    def facts(self, model: Model, tick: Tick, v: np.ndarray) -> dict[str, float | str]:
        """Force, N, distance from the region, m, and whether input is missing."""
        p = model.placement(self._frame).translation
        away = float(np.linalg.norm(self._now(model).point - p))
        facts: dict[str, float | str] = {"force": float(np.linalg.norm(self.force)), "away": away}
        return facts | ({"stale": f"no fresh input for {self.law.age:.3g} s"} if self.law.stale else {})

    def sketch(self, model: Model) -> list[Drawing]:
        """The region, the way to its nearest point, and the force."""
        p = model.placement(self._frame).translation
        way = Line("way", np.array(p), self.region.at(p).point, ALARM if self.law.stale else CALM)
        return [*self.region.sketch(), way, arrow(model, "force", p, self.force)]


def _along(hold: Hold, A: np.ndarray) -> np.ndarray:
    """nᵀ A n for every axis n of a region, shape (3,)."""
    return np.einsum("ij,jk,ik->i", hold.axes, A, hold.axes)


def _bounded(hold: Hold, J: np.ndarray, along: np.ndarray, stiff: np.ndarray, damped: np.ndarray) -> Rows:
    """Rows on the axes: equalities where held, 0 = 0 where free, and slack towards a surface that is not reached.

    Args:
        hold: The region.
        J: Jacobian of the frame, shape (3, nv).
        along: What the force asks for, shape (3,).
        stiff: Slack per metre from the surface.
        damped: What the speed along each axis takes of that if it leads to the surface.
    """
    A = np.where(hold.free[:, None], 0.0, hold.axes @ J)
    along = np.where(hold.free, 0.0, along)
    if (hold.free | hold.held_axes).all():
        return Rows(A, along, along)
    with np.errstate(invalid="ignore"):
        below = np.where(np.isinf(hold.lower), np.inf, np.maximum(-stiff * hold.lower + np.minimum(damped, 0.0), 0.0))
        above = np.where(np.isinf(hold.upper), np.inf, np.maximum(stiff * hold.upper - np.maximum(damped, 0.0), 0.0))
    tight = hold.held_axes | hold.free
    return Rows(A, along - np.where(tight, 0.0, below), along + np.where(tight, 0.0, above))


def _held(model: Model, tick: Tick) -> np.ndarray | None:
    """Jacobian of all contacts."""
    contacts = list(tick.contacts or ())
    return np.vstack([contact.jacobian(model) for contact in contacts]) if contacts else None
