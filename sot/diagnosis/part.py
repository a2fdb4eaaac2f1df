"""What one task or constraint became in a tick, with names and units for each of its rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from sot.contact import Contact
from sot.contact_forces import grips
from sot.diagnosis.clash import velocity_units
from sot.diagnosis.touch import Touch
from sot.dynamics import Dynamics
from sot.entry import Entry, Shaper, Tick
from sot.formulation import Formulation, Measure
from sot.laws import Friction, Unactuated
from sot.model import Model

if TYPE_CHECKING:
    from sot.phase import Phase
    from sot.plan import Block

EFFORT = {"m": "N", "rad": "N·m"}  # what moves or turns something


@dataclass(frozen=True)
class Part:
    """What one task or constraint of the stack became.

    Attributes:
        name: Name of the entry.
        level: Level on which it stands.
        start: First of its rows.
        stop: End of its rows; equal to `start` for bounds and for a posture in the metric.
        scale: Root of the weight, by which its rows are multiplied.
        columns: Entries of x that it wants, for a posture in the metric; else empty.
        labels: Name of each row (or column).
        units: Unit of each row, such as "m/s"; empty where not known.
        bounds: True for limits that became bounds on x.
        facts: What the entry says of itself, by name.
        shaper: True for what only changes what others ask for.
        damping: How strongly it did, λ.
        factor: What a row of one counts in its unit: torques and forces are counted in weights of the robot.
        shift: What each row counts at 0, in its unit; empty for 0.
        touch: The contact whose forces it keeps inside the friction cone, if it does.
        motors: True for what keeps torques inside what motors can do.
    """

    name: str
    level: int
    start: int
    stop: int
    scale: float
    columns: tuple[int, ...]
    labels: tuple[str, ...]
    units: tuple[str, ...]
    bounds: bool
    facts: dict[str, float | str] = field(default_factory=dict)
    shaper: bool = False
    damping: float = 0.0
    factor: float = 1.0
    shift: tuple[float, ...] = ()
    touch: Touch | None = None
    motors: bool = False

    @property
    def rows(self) -> slice:
        """Its rows in the problem."""
        return slice(self.start, self.stop)

    @property
    def size(self) -> int:
        """Number of rows or columns."""
        return len(self.labels)

    def value(self, row: int, y: float) -> float:
        """What y = A x of one of its rows in the problem is in the row's unit."""
        shift = self.shift[row - self.start] if self.shift else 0.0
        return self.factor * y / self.scale + shift


def parts_of(phase: Phase, tick: Tick) -> tuple[Part, ...]:
    """The entries of a version of the stack, in its order."""
    plan = phase.plan
    v = plan.formulation.velocity(phase.solver.x, tick)
    forces = plan.formulation.y(phase.solver.x) if isinstance(plan.formulation, Dynamics) else None
    solved = replace(tick, forces=forces)
    joint_units = dict(zip(plan.model.velocity_names(), velocity_units(plan.model), strict=True))
    strengths = {} if phase.shaping is None else phase.shaping.strength
    parts = []
    for block in plan.blocks:
        entry, rows = block.entry, block.rows
        columns = () if block.columns is None else tuple(int(c) for c in block.columns)
        count = len(columns) or rows.stop - rows.start
        labels = tuple(entry.labels(count)) if count else ()
        measure = plan.formulation.measure(entry, tick) if rows.stop > rows.start else Measure()
        parts.append(Part(
            entry.name, block.level, rows.start, rows.stop, block.scale, columns, labels,
            units=tuple(_units(entry, labels, joint_units, plan.formulation.rate, measure.on)) if labels else (),
            bounds=entry in plan.boxes,
            facts=entry.facts(plan.model, solved, v),
            shaper=isinstance(entry, Shaper),
            damping=strengths[entry] if isinstance(entry, Shaper) else 0.0,
            factor=measure.factor,
            shift=() if measure.shift is None else tuple(measure.shift.tolist()),
            touch=_touch(block, plan.formulation),
            motors=entry.limits_motors and not isinstance(entry, Unactuated),
        ))  # fmt: skip
    return tuple(parts)


def _units(entry: Entry, labels: tuple[str, ...], joint_units: dict[str, str], rate: str, on: str) -> Iterator[str]:
    """Unit of each row; rows that are named after a joint have the unit of that joint."""
    for label, unit in zip(labels, entry.units(len(labels)), strict=True):
        known = unit or joint_units.get(label, "")
        if on != "motion":
            yield EFFORT.get(known, known)
        else:
            yield f"{known}{rate}" if known else ""


def _touch(block: Block, formulation: Formulation) -> Touch | None:
    """The contact behind a friction cone."""
    if not isinstance(block.entry, Friction) or not isinstance(formulation, Dynamics):
        return None
    contact, nv = block.entry.contact, formulation.model.nv
    place = formulation.contacts.place(contact)
    return Touch(
        contact.name, nv + place.start, nv + place.stop, formulation.unit,
        points=_rows(_points(contact, formulation.model)),
        normal=tuple(contact.normal.tolist()),
        push=_rows(contact.push),
        cone=_rows(contact.cone.facets),
        edges=contact.facets if grips(contact) else 0,
        friction=contact.friction,
        min_force=contact.min_force,
        max_force=contact.max_force,
    )  # fmt: skip


def _rows(array: np.ndarray) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in array.tolist())


def _points(contact: Contact, model: Model) -> np.ndarray:
    """Where a contact touches, in the axes in which its wrench is written: its frame's, or 0 for a single point."""
    if contact.point is not None:
        return np.zeros((1, 3))
    frame = model.placement(model.frame(contact.frame))
    return (contact.touching_points(model) - frame.translation) @ frame.rotation
