"""A body as a file says it: one word for its form, and numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sot.checks import vector
from sot.collision.shape import Hull, ball, box, capsule, convex
from sot.errors import SotError, unknown
from sot.lie import SE3, as_rotation
from sot.typed_yaml import Node, arguments


def placed_box(
    lengths: Sequence[float], position: Sequence[float] = (0.0, 0.0, 0.0), rpy: Sequence[float] = (0.0, 0.0, 0.0)
) -> Hull:
    """A box with its centre at `position` (m), turned by roll, pitch and yaw (rad)."""
    rotation = as_rotation(vector(rpy, 3, "rpy", repeat=False), "rpy")
    return box(lengths).moved(SE3(rotation, vector(position, 3, "position", repeat=False)))


KINDS: Mapping[str, Callable[..., Hull]] = {"ball": ball, "capsule": capsule, "box": placed_box, "convex": convex}


@dataclass(frozen=True, eq=False)
class Form:
    """A body in its link's frame.

    Attributes:
        kind: One of `KINDS`.
        numbers: Arguments of that kind: lengths and places in m, angles in rad.
    """

    kind: str
    numbers: Mapping[str, Any]

    @cached_property
    def hull(self) -> Hull:
        """Points and radius in the link's frame."""
        return KINDS[self.kind](**self.numbers)

    @classmethod
    def from_node(cls, node: Node) -> Form:
        """A form from `{capsule: {start: …, end: …, radius: …}}`."""
        entries = node.mapping(f"one of {', '.join(KINDS)} with its numbers")
        if len(entries) != 1:
            raise node.error(f"expected exactly one of {', '.join(KINDS)}, got {node.shown()}")
        ((kind, child),) = entries.items()
        if kind not in KINDS:
            raise child.error(unknown("form", kind, KINDS))
        form = cls(kind, arguments(child, KINDS[kind]))
        try:
            _ = form.hull
        except SotError as error:
            raise child.error(str(error)) from None
        return form

    @property
    def size(self) -> str:
        """The numbers that matter, in words."""
        hull = self.hull
        if self.kind == "box":
            return " × ".join(f"{1e3 * length:.0f}" for length in self.numbers["lengths"]) + " mm"
        if self.kind == "convex":
            return f"{len(hull.points)} corners, radius {1e3 * hull.radius:.1f} mm"
        length = np.linalg.norm(hull.points[-1] - hull.points[0])
        between = f"length {1e3 * length:.0f} mm, " if self.kind == "capsule" else ""
        return f"{between}radius {1e3 * hull.radius:.0f} mm"
