"""How bodies brake in front of each other at torque level, where speeds cannot change at once.

Rows are made where the robot will be after the tick if it keeps its velocity, q ⊕ dt v: there the distances and their
gradients A hold what the bend of the path adds, to the second order of dt. With u = −ḋ the speed at which two bodies
come nearer, and δ the distance above the margin there, the tick ends at δ⁺ = δ₀ − dt u⁺ with δ₀ = δ + dt u.

    u⁺ ≤ φ(δ₀)                             φ: the curve of `sot.viability`, from which a deceleration a is enough
    φ(δ₀) − u⁺ ≥ exp(−λ dt) (φ(δ₀ + dt u) − u)    and it is not run into, but approached at the rate of the damper

The second implies the first, asks for a at most, and is what a row bounds −A v̇ by. A pair that is faster than φ
already, because it was pushed, brakes with 2a and what it takes to stop in time; one that is too close is driven apart
with 2a, up to the recovery speed.

A pair has rows from its influence distance on, or farther away if its bodies are so fast that they would have to brake
there. Near the end of this zone Δ it is given a (δ/Δ)⁸ / (1 − (δ/Δ)⁸) more: a pair that comes into its zone, or gives
its rows to another, changes nothing.
"""

from __future__ import annotations

import numpy as np

from sot.collision.distances import Distances
from sot.lie import SE3, exp3
from sot.model import Model

ROOM = 1.3  # width of the zone in which a pair has rows, against the way in which it can stop
END = 8.0  # power with which bounds go away towards the end of the zone


class Barrier:
    """Rows on v̇ of all pairs that are near. `A` and `lower` are written anew by `update`."""

    def __init__(self, watch: Distances, model: Model, deceleration: float, rate: float, recovery: float) -> None:
        """
        Args:
            watch: Measures the pairs. The rate and recovery of its damper are 0: it tells obstacles' speeds alone.
            model: The robot.
            deceleration: a, m/s².
            rate: λ, 1/s.
            recovery: Largest speed with which bodies that are too close are driven apart, m/s.
        """
        self.watch = watch
        self.A, self.lower = watch.A, np.full(watch.lower.size, -np.inf)
        self._brakes = np.array([deceleration, rate, recovery, END, ROOM])
        self._ahead = Model(model.robot)

    def place(self, obstacle: int, pose: SE3, velocity: np.ndarray, dt: float) -> None:
        """Put an obstacle where it will be after the tick."""
        turned = exp3(dt * velocity[3:]) @ pose.rotation
        self.watch.place(obstacle, SE3(turned, pose.translation + dt * velocity[:3]), velocity)

    def update(self, model: Model, dt: float) -> None:
        """Rows at the model's state."""
        self._ahead.update(model.integrate(model.q, dt * model.v), model.v)
        self.watch.reach_out(self._ahead, model.v, dt, self._brakes)
        if self.watch.update(self._ahead, dt) < 0:
            self.lower[:] = np.nan
        else:
            self.watch.brake(model.v, dt, self._brakes, self.lower)
