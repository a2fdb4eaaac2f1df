"""What there is to see: the robot's bodies, targets, centre of mass, support. Knows no viewer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sot.description import Description
from sot.entry import Entry
from sot.errors import ModelError
from sot.features import CenterOfMass, FrameOrientation, FramePose, FramePosition
from sot.lie import SE3
from sot.model import Model
from sot.reference import Hold
from sot.sketch import Body, Box, Colour, Cylinder, MeshFile, Sphere, Triangles
from sot.task import FeatureTask

GREY: Colour = (0.62, 0.65, 0.70, 1.0)
MESHES = (".dae", ".obj", ".stl")  # files that browsers can read
TOUCHING = 0.01  # m above the lowest foot point up to which others count as touching the ground


@dataclass(frozen=True)
class Cone:
    """A cone along z with its tip up, about the middle of its height."""

    radius: float  # m
    length: float  # m


@dataclass(frozen=True)
class Shape:
    """A body that moves with a joint.

    Attributes:
        name: Its name, one of a kind.
        joint: Index of the joint that carries it; 0 is the world.
        body: Its form.
        placement: Pose in the joint's frame, times a scale, shape (4, 4).
        colour: None: the colours that the mesh file has.
    """

    name: str
    joint: int
    body: Body
    placement: np.ndarray
    colour: Colour | None


# -- the robot ---------------------------------------------------------------------------------------------------


def robot_shapes(robot: Description) -> list[Shape]:
    """The robot's visual shapes; without meshes its collision shapes; without those balls and sticks."""
    for kind in ("visual", "collision"):
        try:
            geometry = robot.geometry(kind)  # type: ignore[arg-type]  # mypy widens the two words to str
        except ModelError:
            continue
        shapes = [shape for item in geometry.geometryObjects for shape in _shapes(item)]
        if shapes:
            return shapes
    return list(_sticks(robot))


def _shapes(item: Any) -> Iterator[Shape]:
    """A geometry object as shapes: none for what cannot be drawn, three for a capsule."""
    red, green, blue, opacity = item.meshColor.tolist()
    colour: Colour | None = (red, green, blue, opacity)
    path = Path(item.meshPath)
    if path.suffix.lower() in MESHES and path.is_file():
        parts: list[tuple[Body, np.ndarray]] = [(MeshFile(path), np.diag([*item.meshScale, 1.0]))]
        is_painted = path.suffix.lower() == ".dae"
        if not item.overrideMaterial or (is_painted and not item.meshColor[:3].any()):  # black: nobody chose a colour
            colour = None if is_painted else GREY
    else:
        parts = _parts(item.geometry)
    for i, (body, offset) in enumerate(parts):
        name = item.name if i == 0 else f"{item.name}_{i}"
        yield Shape(name, item.parentJoint, body, item.placement.homogeneous @ offset, colour)


def _parts(geometry: Any) -> list[tuple[Body, np.ndarray]]:
    """Bodies of one of coal's shapes, told apart by the names of their classes."""
    one, kind = np.eye(4), type(geometry).__name__
    if kind == "Box":
        x, y, z = (2.0 * geometry.halfSide).tolist()
        return [(Box((x, y, z)), one)]
    if kind == "Sphere":
        return [(Sphere(geometry.radius), one)]
    if kind == "Ellipsoid":
        return [(Sphere(1.0), np.diag([*geometry.radii, 1.0]))]
    if kind in ("Cylinder", "Capsule"):
        parts: list[tuple[Body, np.ndarray]] = [(Cylinder(geometry.radius, 2.0 * geometry.halfLength), one)]
        for end in (-geometry.halfLength, geometry.halfLength) if kind == "Capsule" else ():
            parts.append((Sphere(geometry.radius), translation([0.0, 0.0, end])))
        return parts
    if kind.startswith("BVHModel"):
        triangles = map(geometry.tri_indices, range(geometry.num_tris))
        faces = np.array([(triangle[0], triangle[1], triangle[2]) for triangle in triangles])
        return [(Triangles(np.array(geometry.vertices()), faces), one)] if len(faces) else []
    return []


def _sticks(robot: Description) -> Iterator[Shape]:
    """A ball at every joint and a stick to the joint before; a small ball alone for a body that only slides."""
    model = robot.pin_model
    offsets = [placement.translation for placement in model.jointPlacements]
    lengths = [float(np.linalg.norm(offset)) for offset in offsets]
    size = 0.1 * float(np.median([length for length in lengths if length > 1e-3] or [0.05]))
    slides = not any(length > 1e-3 for length in lengths)
    for i in range(1, model.njoints):
        if slides and model.inertias[i].mass == 0.0:  # it only makes way for the next one
            continue
        yield Shape(f"{model.names[i]}_ball", i, Sphere(size), np.eye(4), GREY)
        if model.parents[i] > 0 and lengths[i] > 1e-3:
            stick = Cylinder(0.5 * size, lengths[i])
            yield Shape(f"{model.names[i]}_stick", model.parents[i], stick, between(np.zeros(3), offsets[i]), GREY)


# -- what tasks want ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mark:
    """Where a task is and where it should be.

    Attributes:
        name: Name of the task.
        goes: False if the task was only told to stay where it is.
        has_axes: False for a point without orientation.
        actual: Pose in the world, shape (4, 4).
        target: Wanted pose in the world, shape (4, 4).
    """

    name: str
    goes: bool
    has_axes: bool
    actual: np.ndarray
    target: np.ndarray


def mark(entry: Entry, model: Model) -> Mark | None:
    """A task's mark at the model's state; None for entries that have no place in space."""
    if not isinstance(entry, FeatureTask) or entry.target is None:
        return None
    feature, value = entry.feature, entry.target.value
    goes = not (isinstance(entry.reference, Hold) and entry.reference.value is None)
    if isinstance(feature, CenterOfMass):
        return Mark(entry.name, goes, False, translation(model.com), translation(value))
    if not isinstance(feature, (FramePose, FramePosition, FrameOrientation)):
        return None
    base = model.placement(feature.reference_id) if feature.reference_id >= 0 else SE3.Identity()
    actual = model.placement(feature.frame_id)
    goal = base.actInv(actual)  # what the task says nothing about stays as it is
    if isinstance(feature, FramePose):
        goal = value
    elif isinstance(feature, FramePosition):
        goal = SE3(goal.rotation, value)
    else:
        goal = SE3(value, goal.translation)
    has_axes = not isinstance(feature, FramePosition)
    return Mark(entry.name, goes, has_axes, actual.homogeneous, (base * goal).homogeneous)


# -- support -----------------------------------------------------------------------------------------------------


def support(model: Model) -> np.ndarray:
    """Corners of the support polygon, in order, shape (k, 3); empty if less than three points touch the ground."""
    points = [
        model.placement(model.frame(foot.frame)).act(point) for foot in model.robot.feet for point in foot.points
    ]
    if not points:
        return np.zeros((0, 3))
    lowest = min(point[2] for point in points)
    return _hull(np.array([point for point in points if point[2] <= lowest + TOUCHING]))


def _hull(points: np.ndarray) -> np.ndarray:
    """Convex hull seen from above, counter-clockwise (monotone chain); empty if it has no area."""
    ordered = sorted(map(tuple, points.tolist()))
    halves = []
    for side in (ordered, ordered[::-1]):
        half: list[tuple[float, ...]] = []
        for p in side:
            while len(half) > 1 and _turn(half[-2], half[-1], p) <= 1e-9:
                half.pop()
            half.append(p)
        halves += half[:-1]
    return np.array(halves) if len(halves) > 2 else np.zeros((0, 3))


def _turn(a: tuple[float, ...], b: tuple[float, ...], c: tuple[float, ...]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


# -- small geometry ----------------------------------------------------------------------------------------------


def translation(p: Any) -> np.ndarray:
    """A shift as a matrix, shape (4, 4)."""
    T = np.eye(4)
    T[:3, 3] = p
    return T


def tiles(parity: int, size: float = 0.5, count: int = 40) -> Triangles:
    """Every other tile of a floor around the origin, as on a chess board; `parity` 0 or 1 says which ones."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=float)
    places = [(i, j, 0) for i in range(count) for j in range(count) if (i + j) % 2 == parity]
    vertices = size * (np.array(places)[:, None, :] + corners - [count / 2, count / 2, 0])  # (n, 4, 3)
    faces = 4 * np.arange(len(places))[:, None, None] + np.array([[0, 1, 2], [0, 2, 3]])
    return Triangles(vertices.reshape(-1, 3), faces.reshape(-1, 3))


def between(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Pose of a stick from a to b: its middle, with z along it, shape (..., 4, 4) for points of shape (..., 3)."""
    z = (b - a) / np.linalg.norm(b - a, axis=-1, keepdims=True)
    x = np.cross(np.where(np.abs(z[..., 1:2]) < 0.9, [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]), z)
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    T = np.zeros((*z.shape[:-1], 4, 4))
    T[..., :3, 0], T[..., :3, 1], T[..., :3, 2], T[..., :3, 3] = x, np.cross(z, x), z, 0.5 * (a + b)
    T[..., 3, 3] = 1.0
    return T


def hidden(pose: np.ndarray) -> np.ndarray:
    """The pose with next to no thickness: nothing is seen, but place and direction stay what they were."""
    thin = pose.copy()
    thin[:3, :2] *= 1e-9
    return thin
