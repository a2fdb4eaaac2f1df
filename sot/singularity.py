"""How far a frame is from a singular configuration, and how that changes with each joint.

    measure(model, "panda_hand_tcp").sigma_min

Looked at is the frame's Jacobian in the world's axes: velocity of its origin, then angular velocity. Linear rows are
divided by a length, so that metres and radians can be compared and singular values σ are plain numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sot.checks import positive
from sot.errors import TaskError
from sot.features.selection import Joints, driven, select
from sot.model import Joint, Model
from sot.task import Mask, pick

AXES = ["x", "y", "z", "rx", "ry", "rz"]
EPSILON = float(np.finfo(float).eps)
SAMPLES = 6  # configurations at which the rank that the Jacobian has in general is looked for
ZERO = 1e-9  # singular values that are smaller at all of them are zero everywhere; shorter lengths are none
SHOWN = 0.1  # part of a direction from which on its axis is named
# Joints with several degrees of freedom whose axes are fixed in the body that they carry.
BODY_FIXED = ("JointModelFreeFlyer", "JointModelPlanar", "JointModelSpherical", "JointModelTranslation")

# ω × x = (ω @ CROSS).reshape(3, 3) @ x
CROSS = np.zeros((3, 9))
CROSS[0, [5, 7]], CROSS[1, [2, 6]], CROSS[2, [1, 3]] = (-1.0, 1.0), (1.0, -1.0), (-1.0, 1.0)


@dataclass(frozen=True)
class Spectrum:
    """J = U diag(σ) Vᵀ, smallest singular value first.

    Attributes:
        U: Directions of the task, shape (m, k).
        sigma: Singular values, shape (k,).
        V: Directions of the joints, shape (c, k).
    """

    U: np.ndarray
    sigma: np.ndarray
    V: np.ndarray


@dataclass(frozen=True)
class Measure:
    """How well a frame can move at one configuration.

    Attributes:
        sigma: Singular values, smallest first, shape (k,).
        sigma_min: The smallest.
        condition: Largest over smallest, at most 1/ε = 4.5e15.
        manipulability: Their product, √det(J Jᵀ), or √det(Jᵀ J) with fewer joints than rows.
        direction: The twist (x y z rx ry rz, linear part over the length) that is hardest to make, of length 1. It
            points to where σ_min gets smaller.
        length: Metres that count as much as a radian.
    """

    sigma: np.ndarray
    sigma_min: float
    condition: float
    manipulability: float
    direction: np.ndarray
    length: float

    @property
    def words(self) -> str:
        """The direction in short, such as "0.98 x, 0.2 ry"."""
        order = np.argsort(-np.abs(self.direction), kind="stable")
        return ", ".join(f"{self.direction[i]:.2g} {AXES[i]}" for i in order if abs(self.direction[i]) >= SHOWN)


class Chain:
    """The Jacobian of a frame over the joints that carry it, its singular values and their gradients.

    Attributes:
        frame_id: Index of the frame.
        columns: Entries of v that move the frame, shape (n,).
        chosen: Which of these are columns of the Jacobian, shape (c,).
        rows: Which of x y z rx ry rz are its rows, shape (m,).
        length: Metres that count as much as a radian.
        count: Number k of singular values, min(m, c); directions in which the frame can never move are left out.
    """

    def __init__(
        self,
        model: Model,
        frame: str,
        mask: Mask | None = None,
        length: float | None = None,
        joints: Joints | None = None,
        where: str = "singularity",
    ) -> None:
        """
        Args:
            model: The robot.
            frame: Name of the frame.
            mask: Rows to keep, by label: x, y, z, rx, ry, rz; or a boolean per row.
            length: Metres that count as much as a radian. By default the root mean square, over the joints that
                turn, of the way along the links from the joint to the frame.
            joints: Names or patterns among the joints that carry the frame; by default all but the base and those
                that follow others.
            where: Who asks, for errors.
        """
        self.frame_id = model.frame(frame)
        self._joint, placement, columns = model.attachment(self.frame_id)
        self._offset = placement.translation.copy()
        carrying = [joint for joint in model.joints.values() if joint.v.start in columns]
        _refuse_unknown_kinds(model, carrying, where)
        moving = carrying if joints is not None else [joint for joint in driven(model) if joint in carrying]
        if not moving:
            raise TaskError(f"{where}: no joint of robot '{model.robot.name}' moves the frame '{frame}'")
        picked = select(model, joints, moving, where)
        self.columns = np.array(columns, dtype=int)
        self.chosen = np.flatnonzero([any(_has(joint, c) for joint in picked) for c in columns])
        self.rows = pick(mask, AXES, f"{where}: mask")
        self.length = _way_length(model, self.frame_id, picked)
        if length is not None:
            self.length = positive(length, f"{where}: length")
        self._prepare(carrying)
        self.count = self._general_rank(model)
        if self.count == 0:
            raise TaskError(f"{where}: the joints never move the frame '{frame}' along the rows of the mask")

    def _prepare(self, carrying: Sequence[Joint]) -> None:
        owner = np.array([next(joint.index for joint in carrying if _has(joint, c)) for c in self.columns])
        # [k, 0, j]: k turns the axis of j. All axes of one joint turn with the body that it carries.
        self._turns = (owner[:, None] <= owner[None, :])[:, None, :]
        self._turns_too = self._turns.astype(float)
        self._all_columns = self.chosen.size == self.columns.size
        self._all_rows = self.rows.size == len(AXES)
        self._scale = np.where(self.rows < 3, 1.0 / self.length, 1.0)[:, None]
        self.count = min(self.rows.size, self.chosen.size)

    def _general_rank(self, model: Model) -> int:
        """How many singular values are not zero everywhere."""
        q, v, rng, ranks = model.q, model.v, np.random.default_rng(0), []
        try:
            for _ in range(SAMPLES):
                model.update(model.random_configuration(rng), v)
                ranks.append(np.count_nonzero(self.spectrum(self.twists(model)).sigma > ZERO))
        finally:
            model.update(q, v)
        return int(max(ranks))

    # -- at the model's state ------------------------------------------------------------------------

    def twists(self, model: Model) -> np.ndarray:
        """Velocity of the frame per velocity of each joint, linear then angular, shape (6, n)."""
        place = model.joint_placements[self._joint]
        p = place[9:] + self._offset @ place[:9].reshape(3, 3)  # R Δ; the rotation is kept by columns
        T = model.world_jacobian[:, self.columns]
        T[:3] -= (p @ CROSS).reshape(3, 3) @ T[3:]  # the world's Jacobian is that of the point at its origin
        return T

    def jacobian(self, twists: np.ndarray) -> np.ndarray:
        """J: the rows and columns that count, linear rows divided by the length, shape (m, c)."""
        J = twists if self._all_rows else twists[self.rows]
        return self._scale * (J if self._all_columns else J[:, self.chosen])

    def spectrum(self, twists: np.ndarray) -> Spectrum:
        """Singular values and directions of J."""
        J, k = self.jacobian(twists), self.count
        try:
            U, sigma, Vt = np.linalg.svd(J, full_matrices=False)
        except np.linalg.LinAlgError:  # only if J is not finite: the controller will ask whose fault it was
            m, c = J.shape
            U, sigma, Vt = (np.full(shape, np.nan) for shape in ((m, k), k, (k, c)))
        return Spectrum(U[:, :k][:, ::-1], sigma[:k][::-1], Vt[:k][::-1].T)

    def slopes(self, twists: np.ndarray) -> np.ndarray:
        """∂T_j/∂q_k of every twist, shape (n, 6, n), indices k, row, j.

        With L_j and ω_j the linear and angular part of a twist: a joint k before j (or j itself) turns all of it,
        ∂L_j = ω_k × L_j and ∂ω_j = ω_k × ω_j; a joint k after j moves only the frame, ∂L_j = ω_j × L_k.
        """
        n = twists.shape[1]
        turned = (twists[3:].T @ CROSS).reshape(n, 3, 3) @ np.hstack([twists[:3], twists[3:]])
        linear, angular = turned[:, :, :n], turned[:, :, n:]
        slopes = np.empty((n, 6, n))
        slopes[:, :3] = np.where(self._turns, linear, linear.transpose(2, 1, 0))
        np.multiply(angular, self._turns_too, out=slopes[:, 3:])
        return slopes

    def gradients(self, twists: np.ndarray, spectrum: Spectrum) -> np.ndarray:
        """∂σ_i/∂q_k = u_iᵀ (∂J/∂q_k) v_i for all joints that move the frame, shape (k, n)."""
        slopes = self.slopes(twists)
        slopes = slopes if self._all_rows else slopes[:, self.rows]
        slopes = slopes if self._all_columns else slopes[:, :, self.chosen]
        return ((slopes @ spectrum.V) * (self._scale * spectrum.U)).sum(axis=1).T

    def measure(self, model: Model) -> Measure:
        """All measures at the model's state."""
        twists = self.twists(model)
        spectrum = self.spectrum(twists)
        return self.summary(spectrum, self.gradients(twists, spectrum)[0])

    def summary(self, spectrum: Spectrum, gradient: np.ndarray) -> Measure:
        """Measures of a spectrum whose smallest singular value has the given gradient, shape (n,)."""
        sigma, direction = spectrum.sigma, np.zeros(6)
        direction[self.rows] = spectrum.U[:, 0]
        # A singular vector has no sign. Moving along −∇σ it would get smaller; where that says nothing, positive.
        slope = float(gradient[self.chosen] @ spectrum.V[:, 0])
        largest = direction[np.argmax(np.abs(direction))]
        direction *= -np.sign(slope) if abs(slope) > ZERO else np.sign(largest)
        smallest = max(float(sigma[0]), EPSILON * float(sigma[-1]))
        condition = float(sigma[-1]) / smallest if smallest > 0.0 else 1.0 / EPSILON
        return Measure(sigma, float(sigma[0]), condition, float(np.prod(sigma)), direction, self.length)


class SoftOrder:
    """Singular values in order, made smooth where they meet.

    Ordered values have a kink where two of them cross, and their single gradients turn there without end. With

        F_i = −w log Σ_S exp(−Σ_{j∈S} σ_j / w)    over all sets S of i of them,    f_i = F_i − F_{i−1}

    f_1 ≤ f_2 ≤ … do not: they are smooth functions of J. Where values are a few w apart f_i is the i-th of them, where
    they meet its gradient is the mean of theirs. f_1 is never above the smallest, the sum of all f is that of all σ,
    and ∂f_i/∂σ_j ≥ 0 are weights whose rows and columns sum to 1.
    """

    def __init__(self, count: int, width: float) -> None:
        """
        Args:
            count: Number of values.
            width: w, how close two of them are when they begin to mix.
        """
        sets = [chosen for size in range(count + 1) for chosen in combinations(range(count), size)]
        self.width = width
        self._members = np.ones((len(sets), count + 1))  # the last column counts the sets
        self._members[:, :-1] = [[j in chosen for j in range(count)] for chosen in sets]
        smallest = [[j < len(chosen) for j in range(count)] for chosen in sets]
        # Sums relative to the smallest of the same size: their exponentials lie between 0 and 1.
        self._excess = (self._members[:, :-1] - np.array(smallest, dtype=float)) / -width
        self._sizes = np.array([[len(chosen) == size for chosen in sets] for size in range(count + 1)], dtype=float)

    def __call__(self, sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """f, shape (k,), and ∂f_i/∂σ_j, shape (k, k), of values that are sorted, smallest first."""
        likely = np.exp(self._excess @ sigma)
        sums = self._sizes @ (likely[:, None] * self._members)
        shares, logs = sums[:, :-1] / sums[:, -1:], np.log(sums[:, -1])
        return sigma - self.width * (logs[1:] - logs[:-1]), shares[1:] - shares[:-1]


def measure(
    model: Model,
    frame: str,
    mask: Mask | None = None,
    length: float | None = None,
    joints: Joints | None = None,
) -> Measure:
    """How well a frame can move at the model's state. For many states make a `Chain` once and ask it.

    Args:
        model: The robot.
        frame: Name of the frame.
        mask: Rows to keep, by label: x, y, z, rx, ry, rz; or a boolean per row.
        length: Metres that count as much as a radian; by default from the robot, see `Chain`.
        joints: Names or patterns among the joints that carry the frame; by default all but the base.
    """
    return Chain(model, frame, mask, length, joints, f"measure of '{frame}'").measure(model)


def _has(joint: Joint, column: int) -> bool:
    return joint.v.start <= column < joint.v.stop


def _refuse_unknown_kinds(model: Model, joints: Sequence[Joint], where: str) -> None:
    """The derivatives hold for joints whose axes do not move in the body that they carry."""
    for joint in joints:
        kind = model.pin.joints[joint.index].shortname()
        if joint.v.stop - joint.v.start > 1 and kind not in BODY_FIXED:
            known = ", ".join(("joints with one degree of freedom", *BODY_FIXED))
            raise TaskError(f"{where}: joint '{joint.name}' is a {kind}; possible are {known}")


def _way_length(model: Model, frame: int, joints: Sequence[Joint]) -> float:
    """Root mean square of the ways from the turning joints to the frame, m; it does not depend on the posture."""
    index, placement, _ = model.attachment(frame)
    ways, way = {}, float(np.linalg.norm(placement.translation))
    while index > 0:
        ways[index] = way
        way += float(np.linalg.norm(model.pin.jointPlacements[index].translation))
        index = model.pin.parents[index]
    turning = [joint for joint in joints if np.abs(model.world_jacobian[3:, joint.v]).max() > ZERO]
    length = float(np.sqrt(np.mean([ways[joint.index] ** 2 for joint in turning]))) if turning else 0.0
    return length if length > ZERO else 1.0
