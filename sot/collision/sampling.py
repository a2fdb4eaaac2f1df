"""Random configurations of a robot, and how close its bodies come in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sot.collision.coal_door import Gauge, Solid
from sot.collision.shape import Body
from sot.model import Joint, Model

STEPS = 150  # tries to bring a pair closer than the samples did
ALL_AROUND = 2.0 * np.pi
SLIDE = 1.0  # m, either way, for a sliding joint without limits


class Samples:
    """Poses of all joints, at home and at random configurations inside the joint limits. The base stays at home.

    Attributes:
        model: The robot.
        q: Configurations, shape (n + 1, nq); the first is home.
        poses: Poses of the joints there, shape (n + 1, njoints, 12): rotation by columns, translation.
    """

    def __init__(self, model: Model, count: int, seed: int) -> None:
        self.model = model
        self._joints = [joint for joint in model.joints.values() if joint.index > 1 or model.robot.root == "fixed"]
        self._ranges = {joint.name: _range(model, joint) for joint in self._joints}
        rng = np.random.default_rng(seed)
        self.q = np.vstack([model.robot.home, *(self._random(rng) for _ in range(count))])
        self.poses = np.array([self.at(q) for q in self.q])

    def _random(self, rng: np.random.Generator) -> np.ndarray:
        return self._moved(self.model.robot.home, self._joints, rng, 1.0)

    def _moved(self, q: np.ndarray, joints: Sequence[Joint], rng: np.random.Generator, spread: float) -> np.ndarray:
        """q with some joints at random places, as far from q as `spread` times their range."""
        step, model = np.zeros(self.model.nv), self.model
        for joint in joints:
            low, high = self._ranges[joint.name]
            if joint.is_scalar:
                here = q[joint.q.start]
                half = spread * (high - low)
                low, high = max(low, here - half) - here, min(high, here + half) - here
            else:
                low, high = spread * low, spread * high
            step[joint.v] = rng.uniform(low, high, joint.v.stop - joint.v.start)
        moved = model.integrate(q, step)
        for mimic in model.robot.mimics:
            follower, leader = model.joint(mimic.joint), model.joint(mimic.of)
            if follower.is_scalar and leader.is_scalar:
                moved[follower.q] = mimic.ratio * moved[leader.q] + mimic.offset
        return moved

    def at(self, q: np.ndarray) -> np.ndarray:
        """Poses of the joints at a configuration, shape (njoints, 12)."""
        self.model.update(q, self.model.v)
        return self.model.joint_placements.copy()

    def between(self, first: int, second: int) -> list[Joint]:
        """Joints that move one body against another, by the indices of the joints that carry them."""
        one, other = set(self.model.pin.supports[first]), set(self.model.pin.supports[second])
        return [joint for joint in self._joints if joint.index in one ^ other]

    def closer(self, joints: Sequence[Joint], q: np.ndarray, distance: Any, best: float) -> float:
        """The smallest distance that a search from q finds: random steps that become smaller.

        Args:
            joints: Joints to move.
            q: Where to start.
            distance: Distance at joint poses.
            best: Distance at q, m.
        """
        rng = np.random.default_rng(0)
        for i in range(STEPS):
            if best <= 0.0 or not joints:
                break
            new = self._moved(q, joints, rng, 0.3 * (1.0 - i / STEPS) ** 2 + 0.003)
            found = distance(self.at(new))
            if found < best:
                q, best = new, found
        return best


def _range(model: Model, joint: Joint) -> tuple[float, float]:
    """Where to look for a joint: inside its limits, once around where there are none or more than that."""
    if not joint.is_scalar:
        return -np.pi, np.pi
    low, high = (float(v[joint.q][0]) for v in (model.pin.lowerPositionLimit, model.pin.upperPositionLimit))
    slides = model.pin.joints[joint.index].shortname().startswith("JointModelP")
    most = 2.0 * SLIDE if slides else ALL_AROUND
    if not (high - low <= most):
        home = float(model.robot.home[joint.q][0])
        middle = 0.5 * (low + high) if np.isfinite(high - low) else home
        low, high = max(low, middle - 0.5 * most), min(high, middle + 0.5 * most)
    return low, high


@dataclass(frozen=True, eq=False)
class Nearness:
    """How close two bodies come.

    Attributes:
        home: Distance at home, m; negative: overlap.
        nearest: Smallest distance at any sample or found near them, m.
        close: Indices of the samples where they are too close, the closest first. Home, sample 0, does not count.
    """

    home: float
    nearest: float
    close: np.ndarray


class Distances:
    """Distances between bodies at samples. A ball around each body tells which samples need a closer look."""

    def __init__(self, samples: Samples, bodies: Sequence[Body]) -> None:
        self.samples, self.bodies = samples, bodies
        self.solids = [Solid(body.hull) for body in bodies]
        self._centers, self._transforms = [], []
        for body, solid in zip(bodies, self.solids, strict=True):
            rotations, translations = _split(samples.poses[:, body.joint])
            self._centers.append(rotations @ solid.center + translations)
            self._transforms.append(solid.transforms(rotations, translations))

    def nearness(self, first: int, second: int, margin: float, far: float) -> Nearness:
        """How close two bodies come.

        Args:
            first: Index of one.
            second: Index of the other.
            margin: What is closer than this is too close, m.
            far: Pairs that stay farther apart than this are searched for closer configurations, m.
        """
        gauge = Gauge(self.solids[first], self.solids[second])
        one, other = self._transforms[first], self._transforms[second]
        gaps = np.linalg.norm(self._centers[first] - self._centers[second], axis=1)
        gaps -= self.solids[first].reach + self.solids[second].reach  # no sample is closer than this
        home = nearest = gauge(one[0], other[0])
        best, close = 0, {}
        for i in np.argsort(gaps).tolist():
            if gaps[i] > max(margin, nearest):
                break
            found = gauge(one[i], other[i])
            if found < nearest:
                nearest, best = found, i
            if found <= margin and i > 0:
                close[i] = found
        if nearest > far:
            nearest = self._closer(first, second, gauge, best, nearest)
        return Nearness(home, nearest, np.array(sorted(close, key=lambda i: close[i]), dtype=int))

    def _closer(self, first: int, second: int, gauge: Gauge, best: int, nearest: float) -> float:
        pair = [(self.bodies[i].joint, self.solids[i]) for i in (first, second)]

        def distance(poses: np.ndarray) -> float:
            one, other = (solid.transforms(*_split(poses[None, joint]))[0] for joint, solid in pair)
            return gauge(one, other)

        joints = self.samples.between(pair[0][0], pair[1][0])
        return self.samples.closer(joints, self.samples.q[best], distance, nearest)


def _split(poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotations (n, 3, 3) and translations (n, 3) of poses (n, 12)."""
    return poses[:, :9].reshape(-1, 3, 3).transpose(0, 2, 1), poses[:, 9:]
