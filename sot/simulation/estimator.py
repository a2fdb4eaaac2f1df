"""Where a free base is, from an inertial sensor, joint encoders and the feet that carry weight: leg odometry.

Feet that push do not move. Each keeps an anchor, the place in the world where its points touched when it came down.
Encoders tell where these points are in the base, so the anchors tell where the base is: a pose that fits points to
anchors, without drift as long as feet stay. Between readings gyroscope and accelerometer lead on:

    R ← R exp(dt (ω − b + k_a δ_a + k_g δ_g)),    ḃ = −k_b (k_a δ_a + k_g δ_g)
    v ← v + dt (R f + g) + dt k_v (v_feet − v),   p ← p + dt v + dt k_p (p_feet − p)

δ_a turns the base so that points fit their anchors, as far as they can tell; δ_g so that the felt acceleration f points
up, the less the more it differs from gravity. Without feet on the ground only the inertial sensor is left.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sot.description import Description, Foot
from sot.lie import exp3, log3, skew
from sot.model import ALIGNED, Model
from sot.state import Imu

ANCHOR_RATE = 20.0  # k_a, 1/s
GRAVITY_RATE = 0.2  # k_g, 1/s
BIAS_RATE = 0.2  # k_b, 1/s
SPEED_RATE = 100.0  # k_v, 1/s
PLACE_RATE = 20.0  # k_p, 1/s
QUIET = 0.1  # part of gravity by which the felt acceleration may differ before it says nothing about "up"
CARRIES = 0.1  # part of its share of the weight from which on a foot is on the ground
SLIPPED = 0.02  # m between points and anchor from which on a foot gets a new one


class Odometry:
    """Pose and velocity of a free base, reading by reading."""

    def __init__(self, robot: Description, q: np.ndarray, v: np.ndarray, dt: float) -> None:
        """
        Args:
            robot: The robot, with feet.
            q: Configuration at the start, base included.
            v: Velocity at the start.
            dt: Time between readings, s.
        """
        self._model = Model(robot)
        self._dt, self._least = dt, CARRIES * self._model.mass * 9.81 / max(len(robot.feet), 1)
        self._model.update(q, v)
        self._R = self._model.joint_placements[1, :9].reshape(3, 3).T.copy()
        self._p, self._v = q[:3].copy(), self._R @ v[:3]
        self._bias = np.zeros(3)
        self._balls = {foot.frame: _centre(self._model, foot) for foot in robot.feet}
        self._standing: dict[str, np.ndarray] = {}

    def step(
        self, q: np.ndarray, v: np.ndarray, imu: Imu, forces: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """q and v with the base as estimated.

        Args:
            q: Configuration with measured joints; its base is not looked at.
            v: Velocity with measured joints; its base is not looked at.
            imu: Reading of the inertial sensor.
            forces: Wrench of each foot.
        """
        q, v, dt = q.copy(), v.copy(), self._dt
        turning = imu.gyro - self._bias
        # Lead on by what the inertial sensor says.
        self._R = self._R @ exp3(dt * turning)
        self._v = self._v + dt * (self._R @ imu.accelerometer + self._model.gravity)
        self._p = self._p + dt * self._v
        self._write(q, v, turning)
        self._model.update(q, v)
        feet = [foot for foot in self._model.robot.feet if np.linalg.norm(forces[foot.frame][:3]) > self._least]
        self._correct(feet, imu.accelerometer)
        self._write(q, v, imu.gyro - self._bias)
        return q, v

    def _correct(self, feet: list[Foot], felt: np.ndarray) -> None:
        dt = self._dt
        self._standing = {f.frame: self._standing[f.frame] for f in feet if f.frame in self._standing}
        points, speeds = self._points(feet)
        anchors = self._anchors(points)
        turn = GRAVITY_RATE * self._tilt(felt)
        if feet:
            here, there = np.vstack(list(points.values())), np.vstack(list(anchors.values()))
            turn = turn + ANCHOR_RATE * _turn(here, there)
            self._v = self._v - min(dt * SPEED_RATE, 1.0) * np.vstack(list(speeds.values())).mean(axis=0)
            self._p = self._p + dt * PLACE_RATE * (there - here).mean(axis=0)
            # A turn about the base's origin moves the points; keep their middle where it is.
            self._p = self._p - skew(dt * turn) @ (here.mean(axis=0) - self._p)
        self._R = exp3(dt * turn) @ self._R
        self._bias = self._bias - dt * BIAS_RATE * (self._R.T @ turn)

    def _points(self, feet: list[Foot]) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Where the feet's points are and how fast they move, in the world, by what is known of the base."""
        points, speeds, model = {}, {}, self._model
        for foot in feet:
            frame = model.frame(foot.frame)
            T, twist = model.placement(frame), model.velocity(frame, ALIGNED)
            arms, spin = self._balls[foot.frame] @ T.rotation.T, skew(twist[3:])
            points[foot.frame] = T.translation + arms
            touching = arms - [0.0, 0.0, foot.radius]  # of a ball it is the lowest point that stands still
            speeds[foot.frame] = twist[:3] + touching @ spin.T
            if foot.radius > 0.0 and foot.frame in self._standing:  # its centre rolls on: ω × (0, 0, r)
                self._standing[foot.frame] = self._standing[foot.frame] + self._dt * foot.radius * spin[:, 2]
        return points, speeds

    def _anchors(self, points: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Anchors of feet that stand, new ones for those that came down or slipped."""
        for name, here in points.items():
            known = self._standing.get(name)
            if known is None or not (np.abs(known - here).max() < SLIPPED):
                self._standing[name] = here
        return {name: self._standing[name] for name in points}

    def _tilt(self, felt: np.ndarray) -> np.ndarray:
        """δ_g in the world: from where "up" is felt to where it is believed to be."""
        size = float(np.linalg.norm(felt))
        trust = max(1.0 - abs(size / 9.81 - 1.0) / QUIET, 0.0)
        x, y, _ = self._R @ felt / max(size, 1e-9)
        return trust * np.array([y, -x, 0.0])  # f × z

    def _write(self, q: np.ndarray, v: np.ndarray, turning: np.ndarray) -> None:
        q[:3], q[3:7] = self._p, _quaternion(self._R)
        v[:3], v[3:6] = self._R.T @ self._v, turning


def _turn(here: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Small rotation about their middle that brings points to their anchors, least squares; 0 where they do not tell.

    Σ [a]×ᵀ[a]× δ = Σ a × (b − a), with a and b counted from their middles. Of points on a line the turn about it is 0.
    """
    a, b = here - here.mean(axis=0), there - there.mean(axis=0)
    spread = np.einsum("ij,ij->", a, a) * np.eye(3) - a.T @ a
    S = a.T @ b  # Σ a × b is its axial part
    moment = np.array([S[1, 2] - S[2, 1], S[2, 0] - S[0, 2], S[0, 1] - S[1, 0]])
    sizes, axes = np.linalg.eigh(spread)
    share = axes.T @ moment
    return axes @ np.where(sizes > 1e-3 * sizes[2], share / np.maximum(sizes, 1e-12), 0.0)


def _centre(model: Model, foot: Foot) -> np.ndarray:
    """Points of a foot in its frame; of a ball foot its centre."""
    points = np.asarray(foot.points, dtype=float)
    if foot.radius == 0.0:
        return points
    home = Model(model.robot)
    return points + foot.radius * home.placement(home.frame(foot.frame)).rotation[2]


def _quaternion(R: np.ndarray) -> np.ndarray:
    """(x, y, z, w)."""
    turn = log3(R)
    angle = float(np.linalg.norm(turn))
    return np.append(0.5 * np.sinc(0.5 * angle / np.pi) * turn, np.cos(0.5 * angle))
