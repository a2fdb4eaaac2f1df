"""What a robot's description file may say. The same words are the keyword arguments of `sot.robots.load`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

Root = Literal["fixed", "free_flyer", "planar"]
Pairs = Literal["srdf", "adjacent", "all"]


@dataclass(frozen=True, eq=False)
class FootRecipe:
    """A foot.

    Attributes:
        frame: Frame of the foot.
        points: Contact points in that frame, shape (k, 3), m. Default: the frame's origin.
        radius: Radius of a ball foot, m. The contact point is then the lowest point of the ball at home.
    """

    frame: str
    points: np.ndarray = field(default_factory=lambda: np.zeros((1, 3)))
    radius: float = 0.0


@dataclass(frozen=True, eq=False)
class Home:
    """The posture a robot starts from. Without it: zero, or the middle of the range where zero is outside.

    Attributes:
        posture: A named posture of the SRDF, or a keyframe of the MJCF.
        joints: Values by joint name or pattern (`*_knee_joint`), rad or m; they win over the posture.
        height: Height of the base, m. Default for robots with feet: the lowest contact point is at z = 0.
    """

    posture: str | None = None
    joints: dict[str, float | np.ndarray] = field(default_factory=dict)
    height: float | None = None


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits of the joints a pattern matches; what is not given stays as the robot's file says.

    A joint with several degrees of freedom takes one number for all or a list.

    Attributes:
        position: Lower and upper, rad or m.
        velocity: rad/s or m/s.
        effort: N·m or N.
        acceleration: rad/s² or m/s².
    """

    position: tuple[float, float] | None = None
    velocity: float | np.ndarray | None = None
    effort: float | np.ndarray | None = None
    acceleration: float | np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Actuator:
    """Motor data of the joints a pattern matches; what is not given stays as the robot's file says.

    Attributes:
        rotor_inertia: Inertia of the rotor, kg·m². The joint feels gear_ratio² times as much.
        gear_ratio: Turns of the rotor per turn of the joint.
        friction: Coulomb friction at the joint, N·m or N.
        damping: Viscous friction at the joint, N·m·s/rad or N·s/m.
        no_load_speed: Speed of the joint at which its motor has no torque left along the motion, rad/s or m/s.
        corner_speed: Speed up to which it has all of its torque, rad/s or m/s; 0 if not given. In between the torque
            falls along a straight line.
    """

    rotor_inertia: float | None = None
    gear_ratio: float | None = None
    friction: float | None = None
    damping: float | None = None
    no_load_speed: float | None = None
    corner_speed: float | None = None


@dataclass(frozen=True, eq=False)
class Recipe:
    """A robot, as its description file says it.

    Attributes:
        urdf: URDF file. Paths are relative to the description file, or to `data`.
        mjcf: MJCF file, instead of `urdf`.
        srdf: SRDF file: postures, rotor data, link pairs that never collide.
        data: Installed data package the paths are relative to, such as `example-robot-data`.
        packages: Folders in which `package://name/` is looked up, beside the folders above the URDF.
        root: How the base is attached. An MJCF file says so itself.
        home: Home posture, or the name of a posture.
        lock: Names or patterns of joints to hold at their home value; they leave the model.
        feet: Feet and their contact points.
        hands: Tool frames.
        limits: Corrections by joint name or pattern; later ones win.
        actuators: Motor data by joint name or pattern; later ones win.
        passive: Names or patterns of joints without a motor, such as those that close a loop.
        collision_pairs: Link pairs to watch: all but those the `srdf` disables, all but `adjacent` ones, or
            `all`. Default: `srdf` if the SRDF disables any, else `adjacent`.
        collisions: Collision file, see `sot collisions`; relative to the description file also with `data`. Default:
            `collisions/<robot>.yaml` beside the description file, if there is one.
    """

    urdf: Path | None = None
    mjcf: Path | None = None
    srdf: Path | None = None
    data: str | None = None
    packages: tuple[Path, ...] = ()
    root: Root | None = None
    home: str | Home = field(default_factory=Home)
    lock: tuple[str, ...] = ()
    feet: tuple[FootRecipe, ...] = ()
    hands: tuple[str, ...] = ()
    limits: dict[str, Limits] = field(default_factory=dict)
    actuators: dict[str, Actuator] = field(default_factory=dict)
    passive: tuple[str, ...] = ()
    collision_pairs: Pairs | None = None
    collisions: Path | None = None
