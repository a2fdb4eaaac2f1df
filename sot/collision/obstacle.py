"""Things around the robot that it must not touch: where they are, and how they move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from sot.checks import vector
from sot.collision import shape
from sot.collision.shape import Hull
from sot.errors import TaskError
from sot.lie import SE3, as_pose, as_rotation, exp3, log3

FORMS = ("ball", "capsule", "box", "convex", "plane")
SPEEDS = ("velocity", "angular_velocity")


@dataclass(eq=False)
class Obstacle:
    """A convex body, or a half-space, that stands or moves in the world.

        post = sot.Obstacle("post", box=[0.1, 0.1, 0.8], at=[0.4, 0.0, 0.4])
        floor = sot.Obstacle("floor", plane=[0.0, 0.0, 1.0], ignore=["*_sole_link"])
        post.pose = camera_pose           # at any time; it holds from the next tick on
        post.velocity = [0.0, 0.1, 0.0]   # and it moves on from there

    It has exactly one form. `pose` is where it is; the pose of a plane is that of a point on it.

    Attributes:
        name: Its name, one of a kind.
        ball: Radius, m.
        capsule: Length between the two centres, along z, and radius, m.
        box: Lengths along x, y and z, m.
        convex: Points whose convex hull it is, m.
        plane: Normal of a plane, out of the ground or wall.
        at: Where it is at the start: x y z, or x y z qx qy qz qw; m.
        rpy: Roll, pitch and yaw at the start, rad.
        velocity: Of its origin, m/s.
        angular_velocity: In the world's axes, rad/s.
        motion: A function of time that gives its pose, or its position alone, in place of a constant velocity.
        ignore: Names or patterns of links of the robot that need not keep away from it.
    """

    # Set beside the above: `hull`, its form in its own frame; `moving`, whether it will be elsewhere at the next tick;
    # `version`, a number that changes when the pose is set.

    name: str
    ball: float | None = None
    capsule: tuple[float, float] | None = None
    box: Sequence[float] | None = None
    convex: Sequence[Sequence[float]] | None = None
    plane: Sequence[float] | None = None
    at: Sequence[float] = (0.0, 0.0, 0.0)
    rpy: Sequence[float] | None = None
    velocity: Sequence[float] = (0.0, 0.0, 0.0)
    angular_velocity: Sequence[float] = (0.0, 0.0, 0.0)
    motion: Callable[[float], Any] | None = None
    ignore: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        given = [word for word in FORMS if getattr(self, word) is not None]
        if len(given) != 1:
            forms = " and ".join(given) or "none"
            raise TaskError(f"obstacle '{self.name}': needs exactly one of {', '.join(FORMS)}; got {forms}")
        if self.motion is not None and self._speed().any():
            raise TaskError(f"obstacle '{self.name}': has a motion, which says its velocity too; leave that out")
        self.hull, self._turn = self._form()
        self.version = 0  # goes up when the pose is set
        self._clock: tuple[float, float] | None = None  # times of `_pose` and of the last look at it
        self._start = self._pose = self._as_pose(self.at if self.motion is None else self.motion(0.0))

    def __setattr__(self, name: str, value: Any) -> None:
        if name in SPEEDS:
            value = vector(value, 3, f"obstacle '{self.name}': {name}", repeat=False)
            clock = vars(self).get("_clock")
            if clock is not None:  # from where it is now on with the new speed
                self._pose, self._clock = self._at(clock[1]), (clock[1], clock[1])
        super().__setattr__(name, value)
        if name in (*SPEEDS, "motion"):
            self.moving = any(np.any(vars(self).get(speed, 0.0)) for speed in SPEEDS) or self.motion is not None

    def _form(self) -> tuple[Hull, np.ndarray]:
        """Its hull, and how the hull is turned in its frame. A half-space has no points; its z axis is the normal."""
        where = f"obstacle '{self.name}'"
        try:
            if self.ball is not None:
                return shape.ball(self.ball), np.eye(3)
            if self.capsule is not None:
                length, radius = vector(self.capsule, 2, "capsule", repeat=False)
                return shape.capsule([0.0, 0.0, -0.5 * length], [0.0, 0.0, 0.5 * length], radius), np.eye(3)
            if self.box is not None:
                return shape.box(self.box), np.eye(3)
            if self.convex is not None:
                return shape.convex(self.convex), np.eye(3)
            return Hull(np.zeros((0, 3))), _upright(vector(self.plane, 3, "plane", repeat=False))
        except Exception as error:
            raise TaskError(f"{where}: {error}") from None

    # -- where it is ---------------------------------------------------------------------------------------

    @property
    def pose(self) -> SE3:
        """Where it is, as far as is known. May be set at any time: an SE3, a 4×4 matrix, 7 numbers or 3."""
        return self._pose if self._clock is None else self._at(self._clock[1])

    @pose.setter
    def pose(self, pose: Any) -> None:
        if self.motion is not None:
            raise TaskError(f"obstacle '{self.name}': pose: its motion says where it is")
        self._start = self._pose = self._as_pose(pose)
        self._clock = None
        self.version += 1

    def _as_pose(self, value: Any) -> SE3:
        """A pose; where only a position is given the orientation is that of the start."""
        where = f"obstacle '{self.name}': pose"
        if isinstance(value, SE3):
            value = value.homogeneous
        if np.shape(value) != (3,):
            if np.shape(value) == (7,) and self.rpy is not None:
                raise TaskError(f"{where}: the orientation is given twice, as rpy and as a quaternion")
            return as_pose(value, where)
        turned = np.eye(3) if self.rpy is None else as_rotation(vector(self.rpy, 3, f"{where}: rpy"), where)
        return SE3(turned, vector(value, 3, where))

    def _speed(self) -> np.ndarray:
        return np.concatenate([self.velocity, self.angular_velocity])

    def reset(self) -> None:
        """Go back to where it was put."""
        self._pose, self._clock = self._start, None

    def standing(self) -> Obstacle:
        """A copy that stays where this one is now."""
        twin, pose = copy(self), self.pose
        twin.motion, twin._clock = None, None
        twin.velocity = twin.angular_velocity = (0.0, 0.0, 0.0)
        twin._start = twin._pose = pose
        return twin

    def placed(self, time: float | None, dt: float) -> tuple[SE3, np.ndarray]:
        """Pose of its hull at a time, and its mean velocity in the coming tick: of its origin, and angular, shape (6,).

        Args:
            time: s. A pose that was set holds for the first time that is asked for; from there its velocity leads on.
                None asks for where it is now.
            dt: Length of the tick, s.
        """
        if time is None:
            return _turned(self.pose, self._turn), np.zeros(6)
        self._clock = (time if self._clock is None else self._clock[0], time)
        pose = self._at(time)
        if self.motion is None:
            return _turned(pose, self._turn), self._speed()
        after = self._at(time + dt)
        turning = log3(after.rotation @ pose.rotation.T)
        speed = np.concatenate([after.translation - pose.translation, turning]) / dt
        return _turned(pose, self._turn), speed

    def _at(self, time: float) -> SE3:
        if self.motion is not None:
            return self._as_pose(self.motion(time))
        passed = 0.0 if self._clock is None else time - self._clock[0]
        turned = exp3(passed * np.asarray(self.angular_velocity)) @ self._pose.rotation
        return SE3(turned, self._pose.translation + passed * np.asarray(self.velocity))


def _turned(pose: SE3, turn: np.ndarray) -> SE3:
    return SE3(pose.rotation @ turn, pose.translation)


def _upright(normal: np.ndarray) -> np.ndarray:
    """A rotation whose z axis is along a vector."""
    norm = float(np.linalg.norm(normal))
    if not (norm > 1e-9):
        raise TaskError(f"plane: expected a normal that is not zero, got {normal.tolist()}")
    z = normal / norm
    x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])
