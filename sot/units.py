"""Which unit a row has, by its label."""

from __future__ import annotations

METRES = ("x", "y", "z", "distance", "depth")
RADIANS = ("rx", "ry", "rz")


def unit(label: str) -> str:
    """"m", "rad", or nothing where the label does not say."""
    return "m" if label in METRES else "rad" if label in RADIANS else ""
