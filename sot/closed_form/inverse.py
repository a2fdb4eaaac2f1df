"""Torques of a motion, in closed form.

    v̇ = a, projected on the contacts       J v̇ + J̇v = 0
    y from the rows without a motor          (Jᵀ y)_u = (M v̇ + h)_u
    τ = M v̇ + h − Jᵀ y
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sot.closed_form.balance import Balance, needed_wrench, report
from sot.closed_form.differentiators import Differentiator, SavitzkyGolay
from sot.closed_form.forces import share_load
from sot.closed_form.notice import Notice, Tolerances, notices
from sot.closed_form.pose import Numbers, as_model, read_pose, read_rate
from sot.closed_form.projection import project
from sot.closed_form.touching import FRICTION, Touches, Touching, read_contacts
from sot.description import Description
from sot.model import Model


@dataclass(frozen=True, eq=False)
class InverseDynamics:
    """What a motion needs.

    Attributes:
        torques: Generalised torques, N·m and N, shape (nv,). Those of a floating base are what the contacts could not
            give, zero if all is well; those of joints that follow others reach a motor through their gear.
        acceleration: v̇ after the projection on the contacts, shape (nv,).
        wrenches: Force and torque on the robot by limb, in the world's axes about the origin of the limb's frame, N and
            N·m, each of shape (6,).
        base_wrench: What acts on the base beside the contacts, in the world's axes about the base's origin, shape (6,):
            the hold of a fixed base; nothing on a floating one if all is well.
        balance: How the robot stands.
        warnings: What is wrong, if anything.
    """

    torques: np.ndarray
    acceleration: np.ndarray
    wrenches: dict[str, np.ndarray]
    base_wrench: np.ndarray
    balance: Balance
    warnings: tuple[Notice, ...]


def inverse_dynamics(
    robot: Description | Model,
    q: Numbers,
    v: Numbers | None = None,
    a: Numbers | None = None,
    contacts: Touches = None,
    *,
    projection: str | None = "mass",
    forces: str = "minimum_norm",
    friction: float | Mapping[str, float] = FRICTION,
    load_share: Mapping[str, float] | None = None,
    tolerances: Tolerances = Tolerances(),  # noqa: B008  # frozen
) -> InverseDynamics:
    """Torques and contact forces of a motion.

    Args:
        robot: What `sot.robots.load` gives; or a `sot.Model` of it, which is then moved to this state: faster if there
            are many calls.
        q: Configuration, shape (nq,), or joints with their coordinates by name. What is no joint is ignored.
        v: Velocity, shape (nv,), or by name; None is at rest.
        a: Acceleration, likewise; None is 0. See `sot.SavitzkyGolay` for one from poses alone.
        contacts: Frames that touch or `Contact`s; or for every foot whether it touches; None is all feet.
        projection: Metric in which the acceleration is changed to one that the contacts allow: "mass" (as physics
            would), "plain", or None, not at all.
        forces: "minimum_norm", or "cones" for those inside the friction cones. Where neither the motion nor a cone
            decides, forces at the points are small: Σ kₗ/sₗ ‖fᵢ‖², with kₗ points and the share sₗ of limb l.
        friction: Friction coefficient of contacts that are given by their frames: one, or one by frame.
        load_share: Part of the load that a limb should take against the others, by frame; 1 where none is given.
        tolerances: What counts as zero, and what is worth a warning.
    """
    model = as_model(robot)
    acceleration = read_rate(model, a, "a")
    model.update(read_pose(model, q), read_rate(model, v, "v"))
    touching = Touching(model, read_contacts(model, contacts, friction), load_share)
    acceleration = project(touching, acceleration, projection, tolerances.rank)
    needed = model.mass_matrix @ acceleration + model.bias
    y = share_load(touching, needed, forces, tolerances.rank)
    tau = needed - touching.F.T @ y
    balance = report(touching, y, acceleration, tolerances.force)
    found = tuple(notices(touching, acceleration, y, tau, balance, tolerances))
    return InverseDynamics(tau, acceleration, touching.wrenches(y), _on_base(touching, acceleration, y), balance, found)


def _on_base(touching: Touching, a: np.ndarray, y: np.ndarray) -> np.ndarray:
    """What the motion needs from outside, less what the contacts give."""
    model = touching.model
    origin = model.base_origin
    return needed_wrench(model, a, origin) - touching.wrench(y, origin)


def inverse_dynamics_along(
    robot: Description | Model,
    times: Iterable[float],
    poses: Iterable[Numbers],
    contacts: Touches | Callable[[float], Touches] = None,
    estimator: Differentiator | None = None,
    **options: Any,
) -> Iterator[InverseDynamics]:
    """The same for a recorded motion, sample after sample: velocities and accelerations are estimated.

    Args:
        robot: As for `inverse_dynamics`.
        times: Time of each pose, s, increasing.
        poses: Configurations.
        contacts: As for `inverse_dynamics`; or a function of time that gives them.
        estimator: By default a `SavitzkyGolay` of 11 samples.
        options: Those of `inverse_dynamics`.
    """
    model = as_model(robot)
    estimator = SavitzkyGolay(model) if estimator is None else estimator
    for time, pose in zip(times, poses, strict=True):
        q = read_pose(model, pose)
        v, a = estimator.push(time, q)
        yield inverse_dynamics(model, q, v, a, contacts(time) if callable(contacts) else contacts, **options)
