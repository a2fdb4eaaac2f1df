"""Feel why the arm stopped: what limits, obstacles and higher tasks take from the hand of an arm, as a force.

The hand asks for v*. Whatever comes before it in the stack leaves ρ = J v − v*, and the stylus that leads it feels

    f = g Rᵀ ρ

which points away from what is in the way. By the balance of the multipliers ρ is the sum of one part for each limit,
obstacle and task that is in the way (`sot.diagnosis.holding`), so the force has names. In free motion ρ, and the force,
are zero, however far the hand lags behind. A hand that is stopped d before its target is felt with

    g λ d      at velocity level, g in N per m/s,          g Kp d      at torque level, g in N per m/s², that is kg

A hand that lags may be stopped when the stylus is far beyond: a force would then be there at once that nobody has
worked against, and pushing the stylus back it would give that energy out. So what the stylus has put in since the force
began, E, bounds it by |f| ≤ √(2 K (E + E₀)), the force of a spring K with that energy: no more than E₀ comes out of it.
"""

from __future__ import annotations

import numpy as np

from sot.checks import positive
from sot.controller import Controller
from sot.diagnosis.holding import Holding
from sot.entry import Load, Tick
from sot.errors import TaskError
from sot.features import FramePose, FramePosition
from sot.force_task import arrow
from sot.gain import AdaptiveGain, decay, stiffness_and_damping
from sot.haptic.teleoperation import Teleoperation
from sot.model import ALIGNED, LOCAL, Model
from sot.sketch import WARNING, Drawing
from sot.task import FeatureTask

FELT = 1e-6  # N, below which there is nothing to ask about
NAMED = 0.01  # of the force, below which a cause is left out


class Resistance(Load):
    """What holds the hand of an arm up, as a force on the stylus that leads it.

        felt = Resistance(arm, "hand", lead, gain=3.0)
        touch = sot.Controller(stylus.robot, sot.Stack([felt]), output="torque", dt=1e-3)
        sot.run_together([(panda, arm), (stylus, touch)], 5.0, exchange=lead.exchange_arm_first)
        print(felt.why())

    The arm comes first, so that the stylus feels the tick that has just been solved.
    """

    kind = "resistance"

    def __init__(
        self,
        arm: Controller,
        task: str,
        lead: Teleoperation,
        gain: float,
        *,
        cap: float | None = None,
        energy: float = 1e-3,
        frame: str | None = None,
        name: str | None = None,
    ) -> None:
        """
        Args:
            arm: The arm's controller; `hierarchical` or `weighted`.
            task: Name of the task in its stack that follows `lead.hand`, a Position or Pose in the world.
            lead: What stylus and arm tell each other.
            gain: g, N per m/s that is missing, at velocity level; N per m/s², so kg, at torque level.
            cap: Greatest force, N; it keeps its direction.
            energy: E₀, what may come out of the force more than was put in, from when it begins until it is zero, J.
            frame: Frame of the stylus; by default its first hand.
            name: Name in reports and look-ups; by default `resistance`.
        """
        super().__init__(name=name)
        self._holding, self.arm, self.lead = Holding(arm, task), arm, lead
        self.task = _hand(arm, task)
        self._gain = positive(gain, f"{self.name}: gain")
        self.cap = np.inf if cap is None else positive(cap, f"{self.name}: cap")
        self.energy = positive(energy, f"{self.name}: energy", infinite=True)
        self.frame = frame
        self.reset()

    @property
    def gain(self) -> float:
        """g. May be set at any time; the device is asked whether it allows that."""
        return self._gain

    @gain.setter
    def gain(self, gain: float) -> None:
        before, self._gain = self._gain, positive(gain, f"{self.name}: gain")
        self.force_changed(lambda: setattr(self, "_gain", before))

    def reset(self) -> None:
        self.force = np.zeros(3)  # on the stylus, in its axes, N
        self._time, self._seen = -np.inf, 0
        self._stored, self._place = 0.0, np.zeros(3)  # E, J, and where the stylus was, m

    def setup(self, model: Model) -> None:
        self._frame = model.frame(self.frame or model.robot.hands[0])

    def rendered(self) -> tuple[float, float]:
        """Largest stiffness (N/m) and damping (N·s/m) of the force, for the bound of the device.

        A millimetre of the stylus is s millimetres of the hand's target, which the law turns into a velocity (or
        acceleration) that is missing if the hand is held; in rate mode it is the target's speed.
        """
        k, d = self._law()
        if self.lead.mode == "rate":
            return self.gain * self.lead.rate * d, 0.0
        return self.gain * self.lead.scale * k, self.gain * self.lead.scale * d * self.lead.feedforward

    def _law(self) -> tuple[float, float]:
        """What the hand asks for per metre and per m/s that it is behind."""
        gain, dt, one = self.task.gain, self.arm.dt, np.ones(3)
        if isinstance(gain, AdaptiveGain):
            gain = max(gain.near, gain.far)
        if isinstance(gain, np.ndarray):
            gain = float(gain.max())
        if self.arm.output == "velocity":
            return float(np.max(-decay(gain, -one, dt))), 1.0
        k, d = stiffness_and_damping(gain, one, dt)
        return float(np.max(k)), float(np.max(d))

    # -- every tick -------------------------------------------------------------------------------------

    def begin(self, model: Model, tick: Tick) -> None:
        if tick.time == self._time:  # while a change of the stack is blended a tick begins twice
            return
        ticks = self.arm.counters.ticks
        if ticks == 0:
            raise TaskError(
                f"{self.name}: the arm has no command yet; run_together takes it before the stylus, with "
                "exchange=lead.exchange_arm_first"
            )
        fresh = ticks != self._seen and self.lead.engaged
        place = model.placement(self._frame).translation
        self._stored -= float(self.force @ (place - self._place))
        if fresh:
            self.force = self._felt()
        else:  # what was put in does not outlast an open clutch
            self.force, self._stored = np.zeros(3), min(self._stored, 0.0)
        self._time, self._seen, self._place = tick.time, ticks, np.array(place)

    def _felt(self) -> np.ndarray:
        """The force, shortened to its bounds."""
        force = self.gain * self.lead.axes.T @ self._in_world(self._holding.residual())
        size = float(np.linalg.norm(force))
        if size < FELT:
            self._stored = 0.0
            return np.zeros(3)
        spring = np.sqrt(2.0 * self.rendered()[0] * max(self._stored + self.energy, 0.0))
        return force * min(1.0, self.cap / size, spring / size)

    def _in_world(self, rows: np.ndarray) -> np.ndarray:
        """Rows of the task along x, y and z; none for those that its mask drops."""
        vector = np.zeros(3)
        for label, value in zip(self.task.labels(rows.size) if rows.size else (), rows, strict=True):
            if label in ("x", "y", "z"):
                vector["xyz".index(label)] = value
        return vector

    def torques(self, model: Model, tick: Tick) -> np.ndarray:
        """−Jᵀ f: torques make up for a load, so they gain Jᵀ f."""
        return -model.jacobian(self._frame, ALIGNED)[:3].T @ self.force

    # -- what there is to tell --------------------------------------------------------------------------

    def causes(self) -> dict[str, float]:
        """What the force comes from, N, by the name of the entry: its part along the force. Largest first."""
        size = float(np.linalg.norm(self.force))
        if size < FELT:
            return {}
        along = self.lead.axes @ self.force / size  # in the world
        parts = {name: float(self._in_world(part) @ along) for name, part in self._holding.parts().items()}
        total = sum(parts.values())
        named = {name: size * part / total for name, part in parts.items() if abs(part) > NAMED * abs(total)}
        return dict(sorted(named.items(), key=lambda item: -abs(item[1])))

    def why(self) -> str:
        """The same in words, with rows and joints by name."""
        causes = self.causes()
        if not causes:
            return "nothing is in the way"
        said = ", ".join(f"{name} {newtons:.2f} N" for name, newtons in causes.items())
        rows = "; ".join(str(blocker) for blocker in self.arm.explain().entry(self.task.name).blockers)
        return f"{np.linalg.norm(self.force):.2f} N: {said} ({rows})"

    def facts(self, model: Model, tick: Tick, v: np.ndarray) -> dict[str, float | str]:
        """The force and its causes, N."""
        return {"force": float(np.linalg.norm(self.force)), **self.causes()}

    def sketch(self, model: Model) -> list[Drawing]:
        """The force where it acts."""
        return [arrow(model, "force", model.placement(self._frame).translation, self.force, WARNING)]


def _hand(arm: Controller, name: str) -> FeatureTask:
    """The task, if its rows are velocities of a point in the axes of the world."""
    task = arm.stack[name]
    feature = task.feature if isinstance(task, FeatureTask) else None
    fits = isinstance(feature, FramePose | FramePosition) and feature.relative_to is None and feature.expressed != LOCAL
    if not isinstance(task, FeatureTask) or not fits:
        raise TaskError(f"'{name}': expected a Position or Pose in the axes of the world, got {task!r}")
    return task
