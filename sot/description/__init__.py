"""A robot as it is known before it moves: model, home, feet, hands, limits, motors, geometry."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import pinocchio as pin

from sot.description.quiet import quiet
from sot.description.urdf import Mimic
from sot.errors import ConfigError, ModelError, unknown

__all__ = ["Description", "Foot", "Mimic"]

LEFT_OUT = {
    "acceleration_limit": np.inf,
    "rotor_inertia": 0.0,
    "gear_ratio": 1.0,
    "joint_friction": 0.0,
    "joint_damping": 0.0,
    "no_load_speed": np.inf,
    "corner_speed": 0.0,
}
GEOMETRY = {"visual": pin.GeometryType.VISUAL, "collision": pin.GeometryType.COLLISION}


@dataclass(frozen=True, eq=False)
class Foot:
    """A frame that touches the ground.

    Attributes:
        frame: Frame of the foot.
        points: Contact points in that frame, shape (k, 3), m. One point is a point foot.
        radius: Radius of a ball foot, m, else 0. Its point is the lowest one at home.
        center: Centre of a ball foot in that frame, m.
    """

    frame: str
    points: np.ndarray
    radius: float = 0.0
    center: np.ndarray = field(default_factory=lambda: np.zeros(3))


@dataclass(frozen=True, eq=False)
class Description:
    """A robot's model and everything about it that does not change.

    Limits of position, velocity and effort are those of `pin_model`, infinite where there is none. Joints
    that follow others (`mimics`) are ordinary joints of the model: a constraint has to hold them.

    Attributes:
        name: Name of the robot.
        pin_model: Pinocchio model, base joint included.
        home: Home configuration, shape (nq,).
        root: How the base is attached: "fixed", "free_flyer" or "planar".
        feet: Feet with their contact points.
        hands: Tool frames.
        mimics: Joints that follow others.
        passive: Names of joints without a motor.
        postures: Named configurations of the SRDF or MJCF file, as it gives them, each of shape (nq,).
        acceleration_limit: rad/s² or m/s², shape (nv,), infinite where unknown.
        rotor_inertia: Inertia of the rotors, kg·m², shape (nv,).
        gear_ratio: Turns of the rotor per turn of the joint, shape (nv,).
        joint_friction: Coulomb friction, N·m or N, shape (nv,).
        joint_damping: Viscous friction, N·m·s/rad or N·s/m, shape (nv,).
        no_load_speed: At which a motor has no torque left, rad/s or m/s, shape (nv,), infinite where unknown.
        corner_speed: Up to which a motor has all of its torque, rad/s or m/s, shape (nv,).
        urdf: URDF file, if the robot has one.
        mjcf: MJCF file, if the robot has one.
        srdf: SRDF file, if the robot has one.
        package_dirs: Folders in which meshes are looked up.
        collision_pairs: Which pairs `geometry("collision")` holds: "srdf", "adjacent" (all others) or "all".
        collisions: File with its collision bodies, if it has one.
    """

    name: str
    pin_model: pin.Model
    home: np.ndarray
    root: Literal["fixed", "free_flyer", "planar"]
    feet: tuple[Foot, ...] = ()
    hands: tuple[str, ...] = ()
    mimics: tuple[Mimic, ...] = ()
    passive: tuple[str, ...] = ()
    postures: dict[str, np.ndarray] = field(default_factory=dict)
    acceleration_limit: np.ndarray = field(default_factory=lambda: np.zeros(0))
    rotor_inertia: np.ndarray = field(default_factory=lambda: np.zeros(0))
    gear_ratio: np.ndarray = field(default_factory=lambda: np.zeros(0))
    joint_friction: np.ndarray = field(default_factory=lambda: np.zeros(0))
    joint_damping: np.ndarray = field(default_factory=lambda: np.zeros(0))
    no_load_speed: np.ndarray = field(default_factory=lambda: np.zeros(0))
    corner_speed: np.ndarray = field(default_factory=lambda: np.zeros(0))
    urdf: Path | None = None
    mjcf: Path | None = None
    srdf: Path | None = None
    package_dirs: tuple[Path, ...] = ()
    collision_pairs: Literal["srdf", "adjacent", "all"] = "adjacent"
    collisions: Path | None = None
    _geometry: dict[str, pin.GeometryModel] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        """Vectors that were left out: no acceleration limit, direct drive, no friction, torque at any speed."""
        nv = self.pin_model.nv
        for name, value in LEFT_OUT.items():
            if getattr(self, name).shape != (nv,):
                object.__setattr__(self, name, np.full(nv, value))

    @property
    def mass(self) -> float:
        """Total mass of what moves, kg. A fixed base does not count."""
        return float(pin.computeTotalMass(self.pin_model))

    @cached_property
    def frames(self) -> dict[str, int]:
        """Index of each frame by its name."""
        return {frame.name: i for i, frame in enumerate(self.pin_model.frames)}

    @property
    def actuated(self) -> np.ndarray:
        """True where a motor acts: not on a free base, not on joints that are passive or follow others. Shape (nv,)."""
        model, free = self.pin_model, np.ones(self.pin_model.nv, dtype=bool)
        if self.root == "free_flyer":
            free[:6] = False
        for name in (*self.passive, *(mimic.joint for mimic in self.mimics)):
            joint = model.joints[model.getJointId(name)]
            free[joint.idx_v : joint.idx_v + joint.nv] = False
        return free

    def geometry(self, kind: Literal["visual", "collision"]) -> pin.GeometryModel:
        """Shapes of the links, read from their meshes at the first call; `collision` holds its pairs too."""
        if kind not in GEOMETRY:
            raise ConfigError(unknown("geometry", kind, GEOMETRY))
        if kind not in self._geometry:
            shapes = self._load_geometry(GEOMETRY[kind])
            if kind == "collision":
                self._add_pairs(shapes)
            self._geometry[kind] = shapes
        return self._geometry[kind]

    def _load_geometry(self, kind: pin.GeometryType) -> pin.GeometryModel:
        with quiet(f"the geometry of robot '{self.name}' ({self.urdf or self.mjcf}) cannot be loaded"):
            if self.mjcf is not None:
                return pin.buildGeomFromMJCF(self.pin_model, str(self.mjcf), kind)
            if self.urdf is not None:
                folders = [str(folder) for folder in self.package_dirs]
                return pin.buildGeomFromUrdf(self.pin_model, str(self.urdf), kind, package_dirs=folders)
        raise ModelError(f"robot '{self.name}' has no file that could hold its geometry")

    def _add_pairs(self, shapes: pin.GeometryModel) -> None:
        shapes.addAllCollisionPairs()  # leaves out pairs on the same joint
        if self.collision_pairs == "srdf":
            with quiet(f"{self.srdf}: the collision pairs cannot be read"):
                pin.removeCollisionPairs(self.pin_model, shapes, str(self.srdf))
        elif self.collision_pairs == "adjacent":
            for pair in list(shapes.collisionPairs):
                if self._adjacent(shapes, pair):
                    shapes.removeCollisionPair(pair)

    def _adjacent(self, shapes: pin.GeometryModel, pair: pin.CollisionPair) -> bool:
        first, second = (shapes.geometryObjects[i].parentJoint for i in (pair.first, pair.second))
        parents = self.pin_model.parents
        return parents[first] == second or parents[second] == first
