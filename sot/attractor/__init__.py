"""Regions that attract or keep out, and the force with which they do it; see docs/attractor.md."""

from sot.attractor.affine import Affine, Gaussian, Line, Plane, Point
from sot.attractor.law import Law
from sot.attractor.parameters import Parameters
from sot.attractor.path import Path
from sot.attractor.region import Hold, NearRank, Region
from sot.attractor.solids import Ball, Box, HalfSpace, Outside, Segment

__all__ = [
    "Affine", "Ball", "Box", "Gaussian", "HalfSpace", "Hold", "Law", "Line", "NearRank", "Outside", "Parameters",
    "Path", "Plane", "Point", "Region", "Segment",
]  # fmt: skip
