"""How one frame moves as seen from another, and how a point moves as seen from a frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sot.checks import vector
from sot.lie import SE3, skew
from sot.model import ALIGNED, LOCAL, Model

ABSOLUTE = -1  # in place of a frame's index: the world itself


def placement(model: Model, frame: int, reference: int) -> SE3:
    """Pose of a frame seen from a reference frame, as a copy that stays when the model moves on."""
    T_world_frame = model.placement(frame)
    if reference == ABSOLUTE:
        return T_world_frame.copy()
    return model.placement(reference).actInv(T_world_frame)


def jacobian(model: Model, frame: int, reference: int, expressed: str) -> np.ndarray:
    """Jacobian of `placement`, shape (6, nv).

    Seen from a moving frame, in the frame's own axes, V = V_frame − X V_reference, X = Ad(T_frame_reference).
    """
    if reference == ABSOLUTE:
        return model.jacobian(frame, expressed)
    T_reference_frame = placement(model, frame, reference)
    X = T_reference_frame.actionInverse
    J = model.jacobian(frame, LOCAL) - X @ model.jacobian(reference, LOCAL)
    return axes(T_reference_frame, expressed) @ J


def drift(model: Model, frame: int, reference: int, expressed: str) -> np.ndarray:
    """J̇v of `jacobian`, shape (6,).

    With a, V as above and Ẋ = −ad(V) X:  a = a_frame − X a_reference + ad(V) X V_reference.
    """
    if reference == ABSOLUTE:
        return model.drift(frame, expressed)
    T_reference_frame = placement(model, frame, reference)
    X = T_reference_frame.actionInverse
    carried = X @ model.velocity(reference, LOCAL)
    V = model.velocity(frame, LOCAL) - carried
    a = model.drift(frame, LOCAL) - X @ model.drift(reference, LOCAL) + ad(V) @ carried
    if expressed == ALIGNED:
        # The velocity of the origin is R V_linear; its derivative has ω × V_linear in it.
        a[:3] += skew(V[3:]) @ V[:3]
    return axes(T_reference_frame, expressed) @ a


def axes(T_reference_frame: SE3, expressed: str) -> np.ndarray:
    """Matrix (6, 6) that takes a twist from a frame's own axes to those it should be expressed in."""
    if expressed == LOCAL:
        return np.eye(6)
    if expressed == ALIGNED:
        return np.kron(np.eye(2), T_reference_frame.rotation)
    return T_reference_frame.action


def ad(V: np.ndarray) -> np.ndarray:
    """ad(V) W = V × W for twists (linear, angular), shape (6, 6)."""
    matrix = np.zeros((6, 6))
    matrix[:3, :3] = matrix[3:, 3:] = skew(V[3:])
    matrix[:3, 3:] = skew(V[:3])
    return matrix


@dataclass(frozen=True)
class PointMotion:
    """A point and its Jacobian.

    Attributes:
        p: Coordinates, m, shape (3,).
        J: Jacobian, shape (3, nv).
    """

    p: np.ndarray
    J: np.ndarray


class Point:
    """A point fixed in the world, or attached to a frame."""

    def __init__(self, point: Sequence[float], frame: str | None, where: str) -> None:
        self.offset = vector(point, 3, f"{where}: point")
        self.frame = frame
        self.frame_id = ABSOLUTE

    def setup(self, model: Model) -> None:
        """Look up the frame."""
        self.frame_id = ABSOLUTE if self.frame is None else model.frame(self.frame)

    def at(self, model: Model) -> PointMotion:
        """Place and Jacobian in the world."""
        if self.frame_id == ABSOLUTE:
            return PointMotion(self.offset, np.zeros((3, model.nv)))
        T, J = model.placement(self.frame_id), model.jacobian(self.frame_id, ALIGNED)
        arm = T.rotation @ self.offset
        return PointMotion(T.translation + arm, J[:3] - skew(arm) @ J[3:])

    def acceleration(self, model: Model) -> np.ndarray:
        """J̇v in the world: p̈ + ω̇ × arm + ω × (ω × arm), shape (3,)."""
        if self.frame_id == ABSOLUTE:
            return np.zeros(3)
        a, w = model.drift(self.frame_id, ALIGNED), skew(model.velocity(self.frame_id, ALIGNED)[3:])
        arm = model.placement(self.frame_id).rotation @ self.offset
        return a[:3] + skew(a[3:]) @ arm + w @ w @ arm


class SeenPoint:
    """A point in the axes of a frame that looks at it: r = Rᵀ(p − p_frame)."""

    def __init__(self, frame: str, point: Sequence[float], attached_to: str | None, where: str) -> None:
        self.frame = frame
        self.frame_id = ABSOLUTE
        self.point = Point(point, attached_to, where)

    def setup(self, model: Model) -> None:
        """Look up the frames."""
        self.frame_id = model.frame(self.frame)
        self.point.setup(model)

    def at(self, model: Model) -> PointMotion:
        """r and its Jacobian:  ṙ = Rᵀṗ − V_linear + r × ω."""
        T, J, seen = model.placement(self.frame_id), model.jacobian(self.frame_id, LOCAL), self.point.at(model)
        r = T.actInv(seen.p)
        return PointMotion(r, T.rotation.T @ seen.J - J[:3] + skew(r) @ J[3:])

    def acceleration(self, model: Model) -> np.ndarray:
        """r̈ when v̇ = 0, with all in the frame's axes and w = Rᵀ(ṗ − ṗ_frame):

        r̈ = Rᵀ(p̈ − p̈_frame) − 2 ω × w + ω × (ω × r) − ω̇ × r = Rᵀ(p̈ − p̈_frame) − ω × (ω × r) − 2 ω × ṙ − ω̇ × r
        """
        R, a = model.placement(self.frame_id).rotation, model.drift(self.frame_id, ALIGNED)
        here, w = self.at(model), skew(model.velocity(self.frame_id, LOCAL)[3:])
        inertial = R.T @ (self.point.acceleration(model) - a[:3])
        return inertial - w @ w @ here.p - 2.0 * w @ (here.J @ model.v) - skew(R.T @ a[3:]) @ here.p
