"""What a run did to the robot and asked of its motors: slip, forces, torques, a fall."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sot import limits
from sot.contact import Contact
from sot.contact_forces import blended, grips
from sot.controller import Controller
from sot.dynamics import Dynamics
from sot.model import Model
from sot.state import Command, State

SLID = 0.02  # m: a contact that was further than this from where it holds its frame has slid
HEIGHT = 0.5  # part of its height at the start below which a base has fallen
UPRIGHT = np.cos(np.deg2rad(60.0))  # cosine of the tilt from which on it has


@dataclass(frozen=True)
class Physics:
    """A run in physical terms.

    Attributes:
        foot_slips_m: Largest distance of any of a contact's points from where the contact holds it, m, by the contact's
            name. Of a contact that may slide, along its normal only.
        min_normal_force_n: Smallest normal force that was asked of any contact, N; None without contacts. Contacts that
            are just being added or removed do not count: their force comes from 0 or goes there.
        max_torque_ratio: Largest |τ| as part of the robot's own torque limit; None if it has no limits.
        fell: The base tilted by more than 60°, or sank below half of its height over the ground, against the start of
            the run. None for robots without a free base.
        warnings: What `Controller.warnings` said in some tick, in words.
    """

    foot_slips_m: Mapping[str, float]
    min_normal_force_n: float | None
    max_torque_ratio: float | None
    fell: bool | None
    warnings: tuple[str, ...] = ()

    @property
    def max_foot_slip_m(self) -> float | None:
        """Largest slip of all contacts, m; None without any."""
        return float(np.max(list(self.foot_slips_m.values()))) if self.foot_slips_m else None

    @property
    def slid(self) -> tuple[str, ...]:
        """Names of the contacts that slid, by more than 2 cm."""
        return tuple(name for name, slip in self.foot_slips_m.items() if not (slip <= SLID))

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and words."""
        plain = {"foot_slips_m": dict(self.foot_slips_m), "warnings": list(self.warnings)}
        return {"max_foot_slip_m": self.max_foot_slip_m, **vars(self), **plain}

    def summary(self) -> str:
        """A line for people, and one for each warning; empty if there is nothing to tell."""
        parts = []
        if self.max_foot_slip_m is not None:
            parts.append(f"foot slip {1e3 * self.max_foot_slip_m:.2g} mm")
        if self.min_normal_force_n is not None:
            parts.append(f"normal force from {self.min_normal_force_n:.3g} N on")
        if self.max_torque_ratio is not None:
            parts.append(f"torque up to {100.0 * self.max_torque_ratio:.0f} % of its limit")
        parts += [f"{name} SLID by {100.0 * self.foot_slips_m[name]:.2g} cm" for name in self.slid]
        if self.fell is not None:
            parts.append("FELL" if self.fell else "did not fall")
        told = [", ".join(parts)] if parts else []
        return "\n".join([*told, *(f"       warning: {text}" for text in self.warnings)])


class Watch:
    """Looks at every tick of a controller at torque level, or of one whose robot can fall."""

    def __init__(self, controller: Controller, state: State) -> None:
        """
        Args:
            controller: Whose robot is watched.
            state: State before the first tick.
        """
        self._controller = controller
        model = controller.model
        model.update(state.q, state.v)
        self._slips: dict[str, float] = {}
        self._ratio = -np.inf
        self._force = np.inf
        self._warnings: dict[str, None] = {}  # in the order in which they came
        self._fall = Fall(model, _contacts(controller)) if controller.robot.root == "free_flyer" else None
        limit = limits.efforts(model, None, None, "torque limits")
        self._limited = np.flatnonzero(controller.robot.actuated & np.isfinite(limit))
        self._limit = limit[self._limited]

    def add(self, command: Command) -> None:
        """Take note of a tick, with the controller's model still at its state."""
        self._look()
        self._warnings |= {notice.text: None for notice in self._controller.warnings}
        if command.tau is not None and self._limited.size:
            self._ratio = _worst(np.max, self._ratio, np.abs(command.tau[self._limited]) / self._limit)
        if self._controller.output != "torque":
            return
        settled = set.intersection(*(set(_contacts_of(phase.plan.formulation)) for phase in self._controller.phases))
        forces = blended(self._controller)
        for contact in settled:
            self._force = _worst(np.min, self._force, np.atleast_1d(contact.cone.normal @ forces[contact]))

    def _look(self) -> None:
        """What the state alone tells."""
        model = self._controller.model
        for contact in _contacts(self._controller):
            if contact.target is not None:
                known = self._slips.get(contact.name, 0.0)
                self._slips[contact.name] = _worst(np.max, known, slips(contact, model))
        if self._fall is not None:
            self._fall.look(model)

    def result(self, state: State) -> Physics:
        """The outcome, with the robot in its last state and the contacts' targets at that time."""
        self._controller.model.update(state.q, state.v)
        self._look()
        force, ratio = (None if np.isinf(value) else value for value in (self._force, self._ratio))
        fell = None if self._fall is None else self._fall.fell
        return Physics(self._slips, force, ratio, fell, tuple(self._warnings))


class Fall:
    """Whether a free base has fallen. The ground is where the lowest contact was at the start, else at height 0."""

    def __init__(self, model: Model, contacts: Iterable[Contact]) -> None:
        self._ground = min((contact.touching_points(model)[:, 2].min() for contact in contacts), default=0.0)
        self._height = self._base(model)[2] - self._ground
        self._up = self._rotation(model)[2].copy()  # which way the base saw "up", in its own axes
        self.fell = False

    def look(self, model: Model) -> None:
        """Once down, always down. Written so that NaN is a fall; a base that starts on the ground can only tilt."""
        standing = self._base(model)[2] - self._ground >= HEIGHT * self._height or self._height <= 0.0
        if not (standing and self._rotation(model)[2] @ self._up >= UPRIGHT):
            self.fell = True

    @staticmethod
    def _base(model: Model) -> np.ndarray:
        return model.joint_placements[1, 9:]

    @staticmethod
    def _rotation(model: Model) -> np.ndarray:
        return model.joint_placements[1, :9].reshape(3, 3).T


def slips(contact: Contact, model: Model) -> np.ndarray:
    """How far each of a contact's points is from where the contact holds it, along what it holds, m, shape (k,)."""
    if type(contact).error is not Contact.error:  # it holds something else than the points of its frame
        held_along = [label.startswith("f") for label in contact.cone.labels]
        return np.atleast_1d(np.linalg.norm(contact.error(model)[held_along]))
    now, held = contact.touching_points(model), contact.current().value
    frame = model.placement(model.frame(contact.frame))
    points = (now - frame.translation) @ frame.rotation  # in the frame
    away = now - (points @ held.rotation.T + held.translation)
    if not grips(contact):  # it slides: only the normal is held
        away = away @ contact.normal_in_world(model)[:, None]
    return np.linalg.norm(away, axis=1)


def _contacts(controller: Controller) -> list[Contact]:
    """Contacts that the robot stands on; at velocity level those on level 0, where they are more than a wish."""
    if controller.output == "torque":
        return _contacts_of(controller.formulation)
    plan = controller.plan
    hard = [block.entry for block in plan.blocks if plan.stack_level(block) == 0]
    return [entry for entry in hard if isinstance(entry, Contact)]


def _contacts_of(formulation: object) -> list[Contact]:
    return list(formulation.contacts) if isinstance(formulation, Dynamics) else []


def _worst(of: Any, known: float, values: np.ndarray) -> float:
    """The worst of what is known and new values; NaN is the worst of all, and stays."""
    return float(of([known, of(values)]))
