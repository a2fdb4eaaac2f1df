"""The inverse direction: contact forces from torques, with accelerations, at rest, or from the momentum alone.

    Jᵀ y = M v̇ + h − τ
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sot.checks import positive, vector
from sot.closed_form.differentiators import checked_time
from sot.closed_form.notice import Tolerances
from sot.closed_form.pose import Numbers, as_model, read_pose, read_rate, read_torques
from sot.closed_form.projection import least_squares
from sot.closed_form.touching import Touches, Touching, read_contacts
from sot.description import Description
from sot.model import Model


@dataclass(frozen=True, eq=False)
class ContactForces:
    """Forces that explain torques.

    Attributes:
        wrenches: Force and torque on the robot by limb, in the world's axes about the origin of the limb's frame, N and
            N·m, each of shape (6,).
        rank: How many of the unknown forces the torques determine.
        unknowns: How many there are. What is not determined takes the smallest forces, as in `inverse_dynamics`.
        residual: Torques that no force at these contacts explains, N·m and N, shape (nv,).
    """

    wrenches: dict[str, np.ndarray]
    rank: int
    unknowns: int
    residual: np.ndarray

    @property
    def determined(self) -> bool:
        """True if there is only one answer."""
        return self.rank == self.unknowns


def forces_from_torques(
    robot: Description | Model,
    q: Numbers,
    v: Numbers | None,
    a: Numbers | None,
    torques: Numbers,
    contacts: Touches = None,
    *,
    load_share: Mapping[str, float] | None = None,
    tolerances: Tolerances = Tolerances(),  # noqa: B008  # frozen
) -> ContactForces:
    """Contact forces that a motion and its torques need; statics with v and a None.

    Args:
        robot: What `sot.robots.load` gives, or a `sot.Model` of it.
        q: Configuration, shape (nq,), or joints with their coordinates by name.
        v: Velocity, shape (nv,), or by name; None is at rest.
        a: Acceleration, likewise; None is 0.
        torques: Generalised torques, shape (nv,), zero at a floating base; or by name, where joints without a motor may
            be left out.
        contacts: Frames that touch or `Contact`s; or for every foot whether it touches; None is all feet.
        load_share: As for `inverse_dynamics`.
        tolerances: Only `rank` counts.
    """
    model = as_model(robot)
    tau, acceleration = read_torques(model, torques), read_rate(model, a, "a")
    model.update(read_pose(model, q), read_rate(model, v, "v"))
    touching = Touching(model, read_contacts(model, contacts), load_share)
    return _explained(touching, model.mass_matrix @ acceleration + model.bias - tau, tolerances)


def _explained(touching: Touching, external: np.ndarray, tolerances: Tolerances) -> ContactForces:
    """The smallest forces of those that explain generalised external torques best."""
    z, rank = least_squares(touching.F.T @ touching.scale, external, tolerances.rank)
    y = touching.scale @ z
    return ContactForces(touching.wrenches(y), rank, y.size, external - touching.F.T @ y)


class MomentumObserver:
    """External torques without accelerations, from the momentum p = M v.

    With Ṁ = C + Cᵀ it is ṗ = τ + Cᵀv − g + τ_ext: what the momentum gains beside the known part comes from outside. The
    estimate follows it as a first-order lag, ṙ = K (τ_ext − r), exactly so at any period if τ_ext is constant in it.

    Attributes:
        torques: r, the estimate, N·m and N, shape (nv,). Friction in the joints is part of it.
    """

    def __init__(self, robot: Description | Model, gain: float | Sequence[float] = 50.0) -> None:
        """
        Args:
            robot: What `sot.robots.load` gives, or its `sot.Model`, which the observer then moves.
            gain: K in 1/s: one, or one for each entry of v.
        """
        self.model = as_model(robot)
        self.gain = vector(gain, self.model.nv, "MomentumObserver: gain")
        for value in self.gain:
            positive(value, "MomentumObserver: gain")
        self.reset()

    def reset(self) -> None:
        """Begin anew: nothing acts from outside."""
        self.torques = np.zeros(self.model.nv)
        self._last: tuple[float, np.ndarray, np.ndarray] | None = None

    def push(self, time: float, q: Numbers, v: Numbers, torques: Numbers) -> np.ndarray:
        """The estimate at a new sample, shape (nv,).

        Args:
            time: s.
            q: Configuration, shape (nq,), or by name.
            v: Velocity, shape (nv,), or by name.
            torques: Generalised torques that have acted since the sample before, shape (nv,), or by name; those of the
                first sample mean nothing.
        """
        model, time = self.model, checked_time(time, self._last[0] if self._last else None, "MomentumObserver")
        tau = read_torques(model, torques)
        model.update(read_pose(model, q), read_rate(model, v, "v"))
        momentum, known = model.mass_matrix @ model.v, self._known()
        if self._last is not None:
            before, p, known_before = self._last
            dt = time - before
            external = (momentum - p) / dt - tau - 0.5 * (known + known_before)  # its mean over the period
            self.torques = self.torques - np.expm1(-self.gain * dt) * (external - self.torques)
        self._last = (time, momentum, known)
        return self.torques.copy()

    def _known(self) -> np.ndarray:
        """Cᵀv − g, with g = h − C v."""
        model, C = self.model, self.model.coriolis_matrix
        return C.T @ model.v + C @ model.v - model.bias

    def forces(
        self,
        contacts: Touches = None,
        *,
        load_share: Mapping[str, float] | None = None,
        tolerances: Tolerances = Tolerances(),  # noqa: B008  # frozen
    ) -> ContactForces:
        """Contact forces that explain the estimate, at the state of the last sample; arguments as before."""
        touching = Touching(self.model, read_contacts(self.model, contacts), load_share)
        return _explained(touching, self.torques, tolerances)
