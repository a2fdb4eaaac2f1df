"""Bounds by name: which limit set each of them, and which limits contradict each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sot.entry import Box, Tick
from sot.model import Model
from sot.nonfinite import HUGE
from sot.viability import KINDS, OUTSIDE, POSITION, ROUNDING, JointBox, approach, braked, explain_bounds


@dataclass(frozen=True)
class Clash:
    """Something that was asked for and cannot be had.

    Attributes:
        entry: Name of the task or constraint that misses.
        parts: The joint, or the rows, in which it misses.
        amount: By how much, in `unit`.
        unit: Such as "rad/s"; empty if not known.
        blockers: Names of what stands in the way.
        text: All of this in words.
        needs: At torque level: what contacts and motors would have to do for it and cannot, in words.
    """

    entry: str
    parts: tuple[str, ...]
    amount: float
    unit: str
    blockers: tuple[str, ...]
    text: str
    needs: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class BoundNames:
    """For each entry of x, in words, what set its lower and its upper bound."""

    lower: tuple[str, ...]
    upper: tuple[str, ...]


class Limits:
    """The boxes of one tick, each by itself: what the solver's bounds were made of."""

    def __init__(self, boxes: list[Box], model: Model, tick: Tick, braking: np.ndarray | None = None) -> None:
        """
        Args:
            boxes: The boxes.
            model: The robot, at the tick's state.
            tick: The tick.
            braking: With which joints brake that have no acceleration limit, shape (nv,), if that is known.
        """
        self.boxes, self.model, self.tick = boxes, model, tick
        self._tables = {box: _table(box, model, braking) for box in boxes}
        self.joints, self.units = model.velocity_names(), velocity_units(model)
        n, count = model.nv, len(boxes)
        self.lower, self.upper = np.full((count, n), -np.inf), np.full((count, n), np.inf)
        self.lower_kind, self.upper_kind = np.zeros((2, count, n), dtype=int)
        for k, box in enumerate(boxes):
            table = self._tables[box]
            if table is None:
                self.lower[k], self.upper[k] = box.box(model, tick)
            else:
                e = explain_bounds(table, model.q, tick.previous, tick.dt)
                self.lower[k], self.upper[k] = e.lower, e.upper
                self.lower_kind[k], self.upper_kind[k] = e.lower_kind, e.upper_kind

        # A joint for which one box gave no number stands still, whatever the others say.
        usable: np.ndarray = (self.lower <= HUGE) & (self.upper >= -HUGE)
        self.standing: np.ndarray = np.logical_not(np.logical_and.reduce(usable, axis=0))

    def names(self) -> BoundNames:
        """What set each bound. The tightest box wins; of equal ones the first."""
        if not self.boxes:
            nothing = ("no bound",) * self.model.nv
            return BoundNames(nothing, nothing)
        low, high = np.argmax(self.lower, axis=0), np.argmin(self.upper, axis=0)
        columns = range(self.model.nv)
        return BoundNames(
            tuple(self._name(int(low[c]), "lower", c) for c in columns),
            tuple(self._name(int(high[c]), "upper", c) for c in columns),
        )

    def _name(self, k: int, side: str, column: int) -> str:
        if self.standing[column]:
            return f"standstill of {self.joints[column]}"
        kind = (self.lower_kind if side == "lower" else self.upper_kind)[k, column]
        return f"{self.boxes[k].name}: {side} {KINDS[kind] if kind else 'bound'} of {self.joints[column]}"

    def clashes(self) -> list[Clash]:
        """Joints outside their limits, limits of one box that contradict each other, and boxes that do."""
        found: list[Clash] = []
        for k, box in enumerate(self.boxes):
            table = self._tables[box]
            found += self._crossed_in(k) if table is None else self._broken_limits(box.name, table)
        return found + self._crossed_between()

    # -- one box -------------------------------------------------------------------------------------

    def _broken_limits(self, name: str, table: JointBox) -> list[Clash]:
        q = self.model.q
        position = np.where(table.q_index >= 0, q[table.q_index], 0.0)
        room_below = np.where(table.q_index >= 0, position - table.q_lower, np.inf)
        room_above = np.where(table.q_index >= 0, table.q_upper - position, np.inf)
        repaired = explain_bounds(table, q, self.tick.previous, self.tick.dt).repaired
        found: list[Clash] = []
        for side, room, sign in (("lower", room_below, -1.0), ("upper", room_above, 1.0)):
            gap = self._gap(table, room, sign)
            for c in np.flatnonzero((room < -OUTSIDE) | (repaired & (gap > 0.0))):
                brake = KINDS[3] if np.isfinite(table.a_max[c]) else "motor"
                found.append(self._limit_clash(name, int(c), side, float(room[c]), float(gap[c]), brake))
        return found

    def _gap(self, table: JointBox, room: np.ndarray, sign: float) -> np.ndarray:
        """How much faster than it should a joint must still go towards a limit that is `room` away, rad/s or m/s.

        It should obey v ≤ curve(room), but its acceleration limit forces v ≥ v_before − a dt.
        """
        deceleration = table.a_max if table.braking is None else table.braking
        curve = np.maximum(approach(room, deceleration, table.rate, self.tick.dt), -table.v_max)
        allowed = np.minimum(curve, table.v_max)
        hardest = table.a_max if table.hardest is None else np.minimum(table.a_max, table.hardest)
        return sign * self.tick.previous - hardest * self.tick.dt - allowed

    def _limit_clash(self, name: str, c: int, side: str, room: float, gap: float, what: str) -> Clash:
        """A joint that its brake, `what`, cannot stop in time."""
        joint, unit = self.joints[c], self.units[c]
        brake = f"{name}: {what} of {joint}"
        rounding = ROUNDING * (1.0 + abs(float(self.tick.previous[c])))
        if room < -OUTSIDE:
            text = f"{name}: {joint} is {-room:.3g} {unit} outside its {side} {KINDS[POSITION]}"
            if gap <= rounding:
                return Clash(name, (joint,), -room, unit, (), text)
            text += f", and its {what} keeps it {gap:.3g} {unit}/s from the speed of its way back"
            return Clash(name, (joint,), -room, unit, (brake,), text)
        text = (
            f"{name}: {joint} is {gap:.3g} {unit}/s too fast for its {side} limit, "
            f"and its {what} lets it brake no harder"
        )
        return Clash(name, (joint,), gap, f"{unit}/s", (brake,), text)

    def _crossed_in(self, k: int) -> list[Clash]:
        """A box of the user's own whose bounds contradict each other."""
        gap = self.lower[k] - self.upper[k]
        found: list[Clash] = []
        for c in np.flatnonzero(gap > 0.0):
            low, high = self._name(k, "lower", int(c)), self._name(k, "upper", int(c))
            found.append(self._contradiction(k, int(c), low, high, float(gap[c])))
        return found

    # -- two boxes -----------------------------------------------------------------------------------

    def _crossed_between(self) -> list[Clash]:
        if len(self.boxes) < 2:
            return []
        low, high = np.argmax(self.lower, axis=0), np.argmin(self.upper, axis=0)
        columns = np.arange(self.model.nv)
        gap = self.lower[low, columns] - self.upper[high, columns]
        found: list[Clash] = []
        for c in np.flatnonzero((gap > ROUNDING * (1.0 + np.abs(self.tick.previous))) & (low != high)):
            names = self._name(int(low[c]), "lower", int(c)), self._name(int(high[c]), "upper", int(c))
            found.append(self._contradiction(int(low[c]), int(c), *names, float(gap[c])))
        return found

    def _contradiction(self, k: int, c: int, low: str, high: str, gap: float) -> Clash:
        unit = f"{self.units[c]}/s"
        text = f"{low} and {high} contradict each other by {gap:.3g} {unit}"
        return Clash(self.boxes[k].name, (self.joints[c],), gap, unit, (high,), text)


def _table(box: Box, model: Model, braking: np.ndarray | None) -> JointBox | None:
    """The limits behind a box, if it is made of joint limits."""
    joint_box = getattr(box, "joint_box", None)
    if joint_box is None:
        return None
    table: JointBox = joint_box(model)
    return braked(table, braking)


def velocity_units(model: Model) -> list[str]:
    """rad or m for each entry of v: a joint that turns nothing slides."""
    turns = np.abs(model.world_jacobian[3:]).max(axis=0) > 0.0
    return ["rad" if turn else "m" for turn in turns]
