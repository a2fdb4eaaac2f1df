"""Keeps a frame away from singular configurations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sot.checks import positive
from sot.entry import Constraint, Rows, Tick
from sot.errors import TaskError
from sot.features.selection import Joints
from sot.model import Model
from sot.singularity import Chain, Measure, SoftOrder, Spectrum
from sot.sketch import ALARM, CALM, WARNING, Drawing, Line
from sot.task import Mask

Status = Literal["none", "slowing", "stopped", "leaving"]
COLOURS = {"leaving": CALM, "slowing": WARNING, "stopped": ALARM}

MIXING = 0.2  # of stop or half the way to slow: how close singular values are when their gradients begin to mix
CENTRE = 0.4  # of stop: so close to σ = 0 its gradient, which changes sign there, fades out
FLAT = 0.08  # of stop, per rad: gradients smaller than this have no direction to rely on
FREE = 1.0  # rad/s that are free where there is no gradient at all
NEAR = 0.02  # of slow − stop: so close to `stop` counts as stopped
MOVING = 0.01  # of rate (slow − stop): σ that grows faster is leaving
ARROW = 0.3  # length of the arrow in the picture, in characteristic lengths
SIDEWAYS = 0.2  # a bad direction with less of a linear part is drawn as its axis of rotation


@dataclass(frozen=True)
class SingularityReport(Measure):
    """What the guard sees and does.

    Attributes:
        status: `none` (far away), `slowing`, `stopped` (at `stop` or below), or `leaving` (σ_min grows).
    """

    status: Status


@dataclass(frozen=True)
class _Look:
    """What is guarded, at one state."""

    spectrum: Spectrum
    gradients: np.ndarray  # of σ, (k, n)
    values: np.ndarray  # σ in smooth order, (k,)
    slopes: np.ndarray  # gradients of these, (k, n)
    sure: np.ndarray  # (k,), 1, or less where σ is nearly zero


class SingularityGuard(Constraint):
    """Slows a frame down on its way to singular configurations, and stops it in front of them.

    For each singular value σ of the frame's Jacobian: ∇σ · v ≥ −φ(σ), with φ = k (σ − stop)(slow − stop)/(slow − σ)
    between `stop` and `slow`, 0 below and no limit above; k is the rate, a little less in long ticks. It never pushes,
    and every motion that makes σ larger is free. See docs/singularity_guard.md for what happens where values meet or
    vanish.

        guard = SingularityGuard("panda_hand_tcp")
        stack = sot.Stack([JointLimits(), guard], [Pose("panda_hand_tcp")], [Posture()])

    Give it the rows that the task of the frame has: `mask="xyz"` beside a position.
    """

    kind = "singularity_guard"

    def __init__(
        self,
        frame: str,
        slow: float = 0.15,
        stop: float = 0.03,
        rate: float = 10.0,
        length: float | None = None,
        joints: Joints | None = None,
        mask: Mask | None = None,
        *,
        name: str | None = None,
        weight: float = 1.0,
    ) -> None:
        """
        Args:
            frame: Name of the frame.
            slow: Singular value (linear rows over the length, so a plain number) below which it slows down.
            stop: Singular value at which it stops. Joint speeds are about 1/stop of task speeds at most.
            rate: 1/s, at which the distance to `stop` may decay.
            length: Metres that count as much as a radian. By default the root mean square, over the joints that
                turn, of the way along the links from the joint to the frame.
            joints: Names or patterns among the joints that carry the frame; by default all but the base.
            mask: Rows of the frame's Jacobian, by label: x, y, z, rx, ry, rz; or a boolean per row.
            name: Name in reports and look-ups; by default `singularity_guard_<frame>`.
            weight: Importance against the other entries of the same level, where the guard is soft.
        """
        self.frame = frame
        super().__init__(name=name, weight=weight)
        self.slow = positive(slow, f"{self.name}: slow")
        self.stop = positive(stop, f"{self.name}: stop")
        if not (self.stop < self.slow):
            raise TaskError(f"{self.name}: stop must be below slow, got {self.stop:g} and {self.slow:g}")
        self.rate = positive(rate, f"{self.name}: rate")
        self.length, self.joints, self.mask = length, joints, mask
        self._chain: Chain | None = None

    def default_name(self) -> str:
        return f"singularity_guard_{self.frame}"

    def setup(self, model: Model) -> None:
        chain = Chain(model, self.frame, self.mask, self.length, self.joints, self.name)
        self._chain, self._order = chain, SoftOrder(chain.count, self._width())
        self._beyond = self.slow + self._order.width * math.log(chain.count)  # from here on f₁ ≥ slow for sure
        self._parts = ["along", "across"] + (["self"] if chain.chosen.size > chain.count else [])
        self._place = np.eye(chain.columns.size)[chain.chosen]  # (c, n)
        self._chosen = self._place.sum(axis=0)
        rows = len(self._parts) * chain.count
        self._unbounded = np.full(rows, np.inf)
        self._free = Rows(np.zeros((rows, model.nv)), -self._unbounded, self._unbounded)

    def _width(self) -> float:
        return MIXING * min(self.stop, 0.5 * (self.slow - self.stop))

    @property
    def chain(self) -> Chain:
        """The frame's Jacobian. Known after `setup`."""
        if self._chain is None:
            raise TaskError(f"{self.name}: has not been set up by a controller yet")
        return self._chain

    # -- rows ----------------------------------------------------------------------------------------

    def rows(self, model: Model, tick: Tick) -> Rows:
        chain = self.chain
        twists = chain.twists(model)
        spectrum = chain.spectrum(twists)
        if spectrum.sigma[0] >= self._beyond:
            return self._free
        look = self._look(twists, spectrum)
        parts = self._split(look)
        A = np.zeros(self._free.A.shape)
        A[:, chain.columns] = parts.reshape(A.shape[0], -1)
        speeds = self.speed(look.values, tick.dt, parts.shape[0]) + self._opening(parts)
        return Rows(A, -speeds.ravel(), self._unbounded)

    def _look(self, twists: np.ndarray, spectrum: Spectrum) -> _Look:
        """Smoothly ordered singular values and their gradients, which fade out towards σ = 0."""
        gradients = self.chain.gradients(twists, spectrum)
        values, weights = self._order(spectrum.sigma)
        eighth = (spectrum.sigma / (CENTRE * self.stop)) ** 8
        sure = eighth / (eighth + 1.0)
        return _Look(spectrum, gradients, values, (weights * sure) @ gradients, sure)

    def _split(self, look: _Look) -> np.ndarray:
        """Each gradient in parts that are bounded one by one, shape (parts, k, n).

        Along the bad directions, along the others, and along self-motions, which do not move the frame. With one
        row for all of them a task could buy a little motion along a bad direction with a lot of the others, and at
        the end of that the command would flicker.
        """
        slopes, V = look.slopes, look.spectrum.V.T @ self._place  # (k, n): zero where a joint is not chosen
        coordinates = (slopes @ V.T) * look.sure
        parts = np.empty((len(self._parts), *slopes.shape))
        np.matmul(coordinates * self._badness(look.spectrum.sigma), V, out=parts[0])
        np.subtract(slopes, parts[0], out=parts[1])
        if len(self._parts) == 3:
            np.subtract(slopes * self._chosen, coordinates @ V, out=parts[2])
            parts[1] -= parts[2]
        return parts

    def _badness(self, sigma: np.ndarray) -> np.ndarray:
        """1 for directions up to `slow`, 0 from twice that on."""
        x = np.minimum(np.maximum(sigma / self.slow - 1.0, 0.0), 1.0)
        return 1.0 - x * x * (3.0 - 2.0 * x)

    def speed(self, values: np.ndarray, dt: float, parts: int = 1) -> np.ndarray:
        """φ, 1/s: how fast singular values may fall; where several parts may fall at once, what each of them gets.

        Near `stop` all of them together use 1 − exp(−parts · rate · dt) of the distance in a tick: never all of it.
        """
        k = -math.expm1(-parts * self.rate * dt) / (parts * dt)
        slow, stop = self.slow, self.stop
        factor = k * (slow - stop)
        return np.array([factor * max(x - stop, 0.0) / (slow - x) if x < slow else np.inf for x in values.tolist()])

    def _opening(self, parts: np.ndarray) -> np.ndarray:
        """What is free where a gradient has all but vanished, 1/s, shape (parts, k).

        There it has no direction, or a new one in the next tick. The bound opens before that, so that the command
        does not jump; what σ may lose by it is the little that such a gradient can do.
        """
        flat = FLAT * self.stop
        squares = (parts * parts).sum(axis=2)
        return FREE * flat * np.maximum(1.0 - squares / flat**2, 0.0) ** 2

    def labels(self, count: int) -> list[str]:
        return [f"sigma{i + 1} {part}" for part in self._parts for i in range(count // len(self._parts))]

    # -- reports -------------------------------------------------------------------------------------

    def report(self, model: Model, v: np.ndarray) -> SingularityReport:
        """Measures at the model's state, and the status when moving with a velocity.

        Args:
            model: The robot.
            v: Velocity, shape (nv,).
        """
        if self._chain is None:  # measures may be asked for before there is a controller
            self.setup(model)
        chain, twists = self.chain, self.chain.twists(model)
        look = self._look(twists, chain.spectrum(twists))
        measure = chain.summary(look.spectrum, look.gradients[0])
        return SingularityReport(**vars(measure), status=self._status(look, np.asarray(v)[chain.columns]))

    def _status(self, look: _Look, v: np.ndarray) -> Status:
        value, band = float(look.values[0]), self.slow - self.stop
        if value >= self.slow:
            return "none"
        if look.gradients[0] @ v > MOVING * self.rate * band:
            return "leaving"
        return "stopped" if value <= self.stop + NEAR * band else "slowing"

    def facts(self, model: Model, tick: Tick, v: np.ndarray) -> dict[str, float | str]:
        report = self.report(model, v)
        return {
            "sigma_min": report.sigma_min,
            "condition": report.condition,
            "manipulability": report.manipulability,
            "direction": report.words,
            "status": report.status,
        }

    def sketch(self, model: Model) -> list[Drawing]:
        report = self.report(model, model.v)
        if report.status == "none":
            return []
        linear, angular = report.direction[:3], report.direction[3:]
        way = linear if np.linalg.norm(linear) >= SIDEWAYS else angular
        start = model.placement(self.chain.frame_id).translation.copy()
        end = start + ARROW * report.length * way
        return [Line("bad direction", start, end, COLOURS[report.status], arrow=True)]
