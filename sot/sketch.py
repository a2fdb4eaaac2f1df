"""What entries of a stack may have drawn: bodies, lines between points. Knows no viewer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

Colour = tuple[float, float, float, float]  # red, green, blue, opacity, each 0 to 1

CALM: Colour = (0.20, 0.70, 0.35, 0.9)  # nothing to be seen to
WARNING: Colour = (0.95, 0.65, 0.10, 0.9)  # a limit acts
ALARM: Colour = (0.90, 0.15, 0.15, 0.9)  # at the limit, or beyond it


@dataclass(frozen=True)
class MeshFile:
    """A mesh in a file that browsers can read."""

    path: Path


@dataclass(frozen=True)
class Triangles:
    """A mesh given by its corners."""

    vertices: np.ndarray  # (n, 3), m
    faces: np.ndarray  # (k, 3), indices


@dataclass(frozen=True)
class Box:
    """A box."""

    lengths: tuple[float, float, float]  # m


@dataclass(frozen=True)
class Sphere:
    """A ball."""

    radius: float  # m


@dataclass(frozen=True)
class Cylinder:
    """A cylinder along z."""

    radius: float  # m
    length: float  # m


Body = MeshFile | Triangles | Box | Sphere | Cylinder


@dataclass(frozen=True)
class Line:
    """A line between two points of the world.

    Attributes:
        name: One of a kind within its entry, and the same from tick to tick.
        start: m, shape (3,).
        end: m, shape (3,).
        colour: One of CALM, WARNING and ALARM, so that a film can show it change.
        arrow: Draw a tip at the end.
    """

    name: str
    start: np.ndarray
    end: np.ndarray
    colour: Colour
    arrow: bool = False


@dataclass(frozen=True)
class Solid:
    """A body somewhere in the world.

    Attributes:
        name: One of a kind within its entry, and the same from tick to tick.
        body: Its form, which does not change.
        pose: Where it is, shape (4, 4).
        colour: Its colour, which does not change.
    """

    name: str
    body: Body
    pose: np.ndarray
    colour: Colour


Drawing = Line | Solid
