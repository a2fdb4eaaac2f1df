"""The force of a region on a frame of a robot, as an entry of a stack; and the moment of an orientation beside it.

    torque level     A v̇ = N (Λ⁻¹ f − J̇v),   A = N J,   Λ⁻¹ = J M⁻¹ Jᵀ
    velocity level   A v = N C⁻¹ f

N are the axes along which the region holds. The force of a held axis asks for the acceleration that it would cause, so
that torques are Jᵀf + h there; a lower level cannot change it. Along free axes nothing is asked for, and lower levels
move as they like: what of the force does not lead back to the region (f*, or a stiffness that is askew) enters as a
load, Jᵀf on top of all torques.

An axis with one side is an inequality: at least the force's acceleration outside, and inside no more towards the
surface than a mirrored spring and damper would allow. So the bound is continuous at the surface, and far inside it
does not matter.

With an orientation all of this has six coordinates, f a force and a moment. The two do not know of each other but for
the damping: a frame that turns and moves by the same joints has modes of both, and 2ζ √(K Λ) damps each with ζ. The
part of it that couples acts along held axes only.
"""

from __future__ import annotations

import operator

import numpy as np

from sot.attractor.adjustable import Adjustable
from sot.attractor.law import NONE
from sot.attractor.parameters import LIGHTEST
from sot.attractor.region import Hold
from sot.entry import Load, Rows, Tick
from sot.errors import TaskError
from sot.force_task import arrow
from sot.impedance import inverse_inertia, within_reach
from sot.kernels import fixture as kernel
from sot.lie import exp3
from sot.model import ALIGNED, Model
from sot.sketch import ALARM, CALM, Drawing, Line

AXES = np.arange(6)
LABELS = ["x", "y", "z", "rx", "ry", "rz"]
SHOWN = 0.1  # m, of the axes of an orientation that is drawn


class Fixture(Adjustable, Load):
    """Rows and loads of a region's force at a frame."""

    kind = "fixture"

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
        own = (self.law.parameters, self.law.region, self.turning.parameters, self._facing)
        mark = (tick.previous, tick.previous_torque, *own)
        if tick.time == self._time and all(map(operator.is_, mark, self._mark)):
            return
        self._J = self._jacobian(model)
        B = inverse_inertia(model.mass_matrix, self._J, _contacts(model, tick))
        known = bool(self._mark) and all(map(operator.is_, own, self._mark[2:]))
        if not (known and (B == self._B).all()):  # a device's inertia never changes
            self._B = B
            self._K, self._C = self._matrices(self.region, self.parameters, self.rotational)
        self._holds = self._seen(model)
        self._hold = _beside(self._holds)
        accelerates = tick.contacts is not None
        if not self._mark and accelerates:
            self._dt = tick.dt
            self._admit(self.region, self.parameters, self.rotational)
        self._speed = self._J.dot(model.v) if accelerates else np.zeros(self.size)
        self._pull(self._hold, model.placement(self._frame).translation, tick.dt, self._fresh(tick))
        self._mark, self._time = mark, tick.time

    def _pull(self, hold: Hold, p: np.ndarray, dt: float, fresh: bool) -> None:
        """Force, and moment; what of it leads back to the region, and the rest."""
        C, V = self._C, self._speed
        if self._facing is None:
            force = self.law.step(p, V, dt, fresh=fresh, hold=hold, C=C)
        else:
            damped = hold.held @ V
            drag = hold.held @ np.concatenate([C[:3, 3:] @ damped[3:], C[3:, :3] @ damped[:3]])
            C_move, C_turn = _blocks(C)
            here, there = self._holds
            force = self.law.step(p, V[:3], dt, fresh=fresh, hold=here, C=C_move, drag=drag[:3])
            moment = self.turning.step(NONE, V[3:], dt, fresh=fresh, hold=there, C=C_turn, drag=drag[3:])
            force = np.concatenate([force, moment])
        self._back, self._rest = np.empty(self.size), np.empty(self.size)
        kernel.split(hold.axes, hold.lower, hold.upper, force, self._back, self._rest)

    def _fresh(self, tick: Tick) -> bool:
        if self._set and self._set_at == np.inf:
            self._set_at = tick.time
        expected = self._set and self.target_timeout is not None
        late = expected and not (tick.time - self._set_at <= self.target_timeout)  # type: ignore[operator]  # not None
        return tick.time > self._time and not late

    def _seen(self, model: Model) -> list[Hold]:
        """The region, and the orientation, as the frame sees them."""
        place = model.placement(self._frame)
        turned = [] if self._facing is None else [self._facing.at(place.rotation)]
        return [self.region.at(place.translation), *turned]

    def _jacobian(self, model: Model) -> np.ndarray:
        return np.ascontiguousarray(model.jacobian(self._frame, ALIGNED)[: self.size])

    # -- rows -----------------------------------------------------------------------------------------

    def dynamic_rows(self, model: Model, tick: Tick) -> Rows:
        """N J v̇ between what the force, and the slack inside of a region, allow."""
        hold = self._hold
        if hold is None:
            return self._nothing(model)
        fall = within_reach(self._B, AXES[: self.size], model.mass, -model.drift(self._frame, ALIGNED)[: self.size])
        rows = _room(self.size, model.nv)
        kernel.accelerate(
            hold.axes, hold.lower, hold.upper, self._J, self._back, fall, self._speed, self._K, self._C, self._B, *rows
        )
        return Rows(*rows)

    def rows(self, model: Model, tick: Tick) -> Rows:
        """N J v: the pace at which the damper lets the spring go, averaged over the tick.

        With C = F⁻ᵀ F⁻¹ and Fᵀ K F = V k Vᵀ, modes T = F V go as exp(−k t). What nothing pulls needs no damper.
        """
        hold = self._hold
        if hold is None:
            return self._nothing(model)
        c, U = np.linalg.eigh(self._C)
        damped = c > LIGHTEST**2 * c[-1]
        loose = U[:, ~damped]
        if np.abs(loose.T @ self._K).max(initial=0.0) > 1e-6 or np.abs(loose.T @ self._back).max(initial=0.0) > 1e-6:
            raise TaskError(f"{self.name}: damping: at velocity level the pace is C⁻¹ f, so it must be above zero")
        U, root = U[:, damped], np.sqrt(c[damped])
        k, V = np.linalg.eigh((U / root).T @ self._K @ (U / root))
        steps = np.maximum(k * tick.dt, 1e-12)
        T = (U / root) @ V
        along = hold.axes @ (T @ (-np.expm1(-steps) / steps * (T.T @ self._back)))
        pace = T * (-np.expm1(-steps) / tick.dt) @ ((U * root) @ V).T
        stiff = np.einsum("ij,jk,ik->i", hold.axes, pace, hold.axes)
        return self._bounded(hold, self._J, along, stiff)

    def _nothing(self, model: Model) -> Rows:
        """Before the first tick: rows of the right form, that ask for nothing."""
        zeros = np.zeros(self.size)
        return self._bounded(_beside(self._seen(model)), self._jacobian(model), zeros, zeros)

    def _bounded(self, hold: Hold, J: np.ndarray, along: np.ndarray, stiff: np.ndarray) -> Rows:
        rows = _room(*J.shape)
        kernel.bound(hold.axes, hold.lower, hold.upper, J, along, stiff, np.zeros(self.size), *rows)
        return Rows(*rows)

    def torques(self, model: Model, tick: Tick) -> np.ndarray:
        """−Jᵀ f along the free axes: torques make up for a load, so they gain Jᵀ f."""
        return np.zeros(model.nv) if self._hold is None else -self._rest.dot(self._J)

    # -- what there is to tell ------------------------------------------------------------------------

    def labels(self, count: int) -> list[str]:
        return LABELS[:count]

    def facts(self, model: Model, tick: Tick, v: np.ndarray) -> dict[str, float | str]:
        """Force, N, distance from the region, m, moment, N·m, and angle, rad; and whether input is missing."""
        place = model.placement(self._frame)
        away = float(np.linalg.norm(self.region.at(place.translation).point - place.translation))
        facts: dict[str, float | str] = {"force": float(np.linalg.norm(self.force)), "away": away}
        if self._facing is not None:
            facts["moment"] = float(np.linalg.norm(self.moment))
            facts["turned"] = float(np.linalg.norm(self._facing.at(place.rotation).point))
        return facts | ({"stale": f"no fresh input for {self.law.age:.3g} s"} if self.law.stale else {})

    def sketch(self, model: Model) -> list[Drawing]:
        """The region, the way to its nearest point, and the force; the axes of the nearest orientation."""
        place = model.placement(self._frame)
        p = np.array(place.translation)
        way = Line("way", p, self.region.at(p).point, ALARM if self.law.stale else CALM)
        drawn = [*self.region.sketch(), way, arrow(model, "force", p, self.force)]
        if self._facing is not None:
            nearest = SHOWN * exp3(self._facing.at(place.rotation).point) @ place.rotation
            shown = self._facing.free if len(self._facing.free) == 1 else "xyz"  # what spins is told by its axis
            drawn += [Line(f"axis {a}", p, p + nearest[:, "xyz".index(a)], CALM, arrow=True) for a in shown]
        return drawn


def _beside(holds: list[Hold]) -> Hold:
    return holds[0] if len(holds) == 1 else holds[0].beside(holds[1])


def _blocks(C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The damping of a force, and that of a moment."""
    move, turn = C[:3, :3].copy(), C[3:, 3:].copy()
    move.setflags(write=False)
    turn.setflags(write=False)
    return move, turn


def _room(size: int, nv: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.empty((size, nv)), np.empty(size), np.empty(size)


def _contacts(model: Model, tick: Tick) -> np.ndarray | None:
    """Jacobian of all contacts."""
    contacts = list(tick.contacts or ())
    return np.vstack([contact.jacobian(model) for contact in contacts]) if contacts else None

