"""A stylus that leads the hand of a robot, and feels where the hand cannot follow.

    position    hand* = hand₀ + s R (x − x₀)              s: scale, R: from the axes of the stylus to the world
    rate        d/dt hand* = r R dead(x − x₀)             r: speed per displacement, 1/s

x₀ and hand₀ are where the clutch closed. A spring pulls the stylus to

    x + Rᵀ (hand − hand*) / s   in position mode,     x₀ + Rᵀ (hand − hand*) / s   in rate mode:

nothing is felt in free motion, and what holds the hand up, a limit, an obstacle or another task, holds the stylus too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from sot.checks import positive, vector
from sot.description import Description
from sot.errors import ConfigError, unknown
from sot.model import Model
from sot.simulation.checked import yes_or_no
from sot.state import State

MODES = ("position", "rate")


class Teleoperation:
    """What a stylus and a robot tell each other.

        lead = Teleoperation(panda, "panda_hand_tcp", scale=2.0)
        hand.reference = sot.follow(lead.hand)          # a Position task of the robot
        feel.reference = sot.follow(lead.stylus)        # an Impedance task of the stylus
        sot.run_together([(stylus, feeling), (arm, moving)], 5.0, exchange=lead.exchange)

    Attributes:
        mode, scale, rate, axes, feedforward: As they were given.
        engaged: The clutch is closed.
        error: What the hand is away from its target, in the world, m, shape (3,).
    """

    def __init__(
        self,
        robot: Description,
        frame: str,
        mode: Literal["position", "rate"] = "position",
        *,
        scale: float = 1.0,
        rate: float = 5.0,
        dead_zone: float = 0.005,
        leash: float = 0.05,
        clutch: Callable[[float], bool] | None = None,
        axes: Sequence[Sequence[float]] | None = None,
        feedforward: bool = True,
    ) -> None:
        """
        Args:
            robot: The robot that is led.
            frame: Its hand.
            mode: What a displacement of the stylus means: a displacement of the hand, or a velocity.
            scale: Metres of the hand per metre of the stylus.
            rate: Speed of the hand per displacement of the stylus, 1/s, in rate mode.
            dead_zone: Displacement that means no speed yet, m.
            leash: How far the target may run ahead of the hand, m: it does not wind up where the hand is blocked.
            clutch: Whether the clutch is closed at a time, s; by default always. A button of the device, say.
            axes: R, shape (3, 3); by default the stylus has the axes of the world.
            feedforward: Tell the hand how fast its target moves. Without, the hand lags by v/λ, and a `Resistance` has
                no damper that the bound of the device would count.
        """
        if mode not in MODES:
            raise ConfigError(f"teleoperation: {unknown('mode', mode, MODES)}")
        self._model, self._clutch = Model(robot), clutch
        self.mode, self.feedforward = mode, yes_or_no(feedforward, "feedforward")
        self._frame = self._model.frame(frame)
        self.scale, self.rate = positive(scale, "scale"), positive(rate, "rate")
        self._dead, self._leash = positive(dead_zone, "dead_zone", zero=True), positive(leash, "leash")
        self.axes = np.eye(3) if axes is None else _rotation(axes)
        self._target, self._velocity = self._placed(robot.home), np.zeros(3)
        self._felt = np.zeros(3)
        self._time: float | None = None
        self.engaged, self.error = False, np.zeros(3)

    def _placed(self, q: np.ndarray) -> np.ndarray:
        self._model.update(q, np.zeros(self._model.nv))
        return np.array(self._model.placement(self._frame).translation)

    def exchange(self, states: Sequence[State]) -> None:
        """Take the states of one tick: of the stylus, and of the robot."""
        stylus, robot = states
        hand = self._placed(robot.q)
        closed = self._clutch is None or bool(self._clutch(stylus.time))
        if self._time is None:
            self._target = hand  # wherever the robot is; at home or not
        if closed and not self.engaged:
            self._start, self._hand = stylus.q.copy(), self._target
        self.engaged = closed
        dt = 0.0 if self._time is None else stylus.time - self._time
        self._time = stylus.time
        self._lead(stylus, hand, dt)
        self.error = hand - self._target
        self._feel(stylus.q)

    def exchange_arm_first(self, states: Sequence[State]) -> None:
        """The same for `run_together` with the arm before the stylus, as a `Resistance` wants it."""
        self.exchange(states[::-1])

    def _lead(self, stylus: State, hand: np.ndarray, dt: float) -> None:
        """Where the hand should go, no further from where it is than the leash."""
        self._velocity = np.zeros(3)
        if not self.engaged:
            return
        away = stylus.q - self._start
        if self.mode == "position":
            wanted, self._velocity = self._hand + self.scale * self.axes @ away, self.scale * self.axes @ stylus.v
        else:
            length = float(np.linalg.norm(away))
            beyond = max(length - self._dead, 0.0) / max(length, 1e-12)
            self._velocity = self.rate * beyond * self.axes @ away
            wanted = self._target + dt * self._velocity
        ahead = wanted - hand
        length = float(np.linalg.norm(ahead))
        if length > self._leash:
            wanted, self._velocity = hand + self._leash / length * ahead, np.zeros(3)
        self._target = wanted

    def _feel(self, x: np.ndarray) -> None:
        """Where the spring pulls the stylus to; with an open clutch it does not."""
        self._felt = x.copy()
        if self.engaged:
            rest = x if self.mode == "position" else self._start
            self._felt = rest + self.axes.T @ self.error / self.scale

    def hand(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Target of the hand in the world: position, m, and velocity, m/s."""
        return self._target, self._velocity if self.feedforward else np.zeros(3)

    def stylus(self, time: float) -> np.ndarray:
        """Pose to which a spring pulls the stylus: x y z, m, and a quaternion that does not turn."""
        return np.r_[self._felt, 0.0, 0.0, 0.0, 1.0]


def _rotation(axes: Sequence[Sequence[float]]) -> np.ndarray:
    R = np.array([vector(row, 3, "axes: row") for row in axes])
    if R.shape != (3, 3) or not (np.abs(R @ R.T - np.eye(3)).max() < 1e-6):
        raise ConfigError(f"teleoperation: axes: expected a rotation of shape (3, 3), got {R.tolist()}")
    return R
