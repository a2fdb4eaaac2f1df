"""Bodies of a robot made from its shapes: one around each, what is inside another left out, each with a name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sot.collision.cloud import Cloud, Inflation, inflation
from sot.collision.fit import DIGITS, Shapes, fit, round_up
from sot.collision.form import Form
from sot.collision.parts import Part
from sot.collision.polytope import Polytope
from sot.collision.shape import Body, Hull
from sot.description import Description
from sot.lie import SE3, as_rotation, log3

INSIDE = 1e-6  # m; what sticks out less is inside
ANGLE_DIGITS = 5

Progress = Callable[[str, float], None]


@dataclass(frozen=True, eq=False)
class Made:
    """A body and how it came about.

    Attributes:
        body: The body.
        form: What a file says about it, in the frame of its link.
        part: What it was made around.
        inflation: How much larger it is than the hull of that.
    """

    body: Body
    form: Form
    part: Part
    inflation: Inflation


def fit_part(part: Part, shapes: Shapes, corners: int) -> Form:
    """A form around a part; a box stays a box."""
    return _box(part.cloud) if part.box else fit(part.cloud, shapes, corners)


def make_bodies(parts: Sequence[Part], forms: Sequence[Form]) -> tuple[list[Made], dict[str, str]]:
    """Bodies with names; and parts that were left out, with the body that holds them."""
    hulls = [form.hull.moved(part.placement) for form, part in zip(forms, parts, strict=True)]
    inside = _inside(parts, hulls)
    kept = [i for i in range(len(parts)) if i not in inside]
    names = body_names([parts[i].link for i in kept])
    made = [
        Made(Body(name, parts[i].joint, hulls[i]), forms[i], parts[i], inflation(forms[i].hull, parts[i].cloud))
        for i, name in zip(kept, names, strict=True)
    ]
    holders = dict(zip(kept, names, strict=True))
    return made, {_label(parts, i): holders[outer] for i, outer in inside.items()}


def body_names(links: Sequence[str]) -> list[str]:
    """A name for each body: that of its link, then link_1, link_2, … unless another link has that name."""
    names: list[str] = []
    for link in links:
        name, i = link, 0
        while name in names or (i > 0 and name in links):
            i += 1
            name = f"{link}_{i}"
        names.append(name)
    return names


def place(robot: Description, bodies: Mapping[str, Sequence[Form]]) -> list[Body]:
    """Bodies by link as bodies on joints. The links must be the robot's."""
    model, placed = robot.pin_model, []
    links = [link for link, forms in bodies.items() for _ in forms]
    forms = [form for several in bodies.values() for form in several]
    for name, link, form in zip(body_names(links), links, forms, strict=True):
        frame = model.frames[robot.frames[link]]
        placed.append(Body(name, frame.parentJoint, form.hull.moved(frame.placement)))
    return placed


def _inside(parts: Sequence[Part], hulls: Sequence[Hull]) -> dict[int, int]:
    """Parts that lie inside the body of a larger one on the same joint: index → index of that one."""
    inside: dict[int, int] = {}
    kept: list[int] = []
    for i in sorted(range(len(parts)), key=lambda i: -Polytope(hulls[i].points).volume(hulls[i].radius)):
        outer = parts[i].cloud.outer
        cloud = Cloud(Hull(outer.points).moved(parts[i].placement).points, outer.radii)
        holders = (k for k in kept if parts[k].joint == parts[i].joint and cloud.reach(hulls[k]) <= INSIDE)
        holder = next(holders, None)
        if holder is None:
            kept.append(i)
        else:
            inside[i] = holder
    return inside


def _label(parts: Sequence[Part], index: int) -> str:
    same = [i for i, part in enumerate(parts) if part.link == parts[index].link]
    return parts[index].link if len(same) == 1 else f"{parts[index].link} (shape {same.index(index)})"


def _box(cloud: Cloud) -> Form:
    """A box from its corners (−−−, −−+, −+−, …), its pose rounded and its lengths rounded up."""
    corners = cloud.points
    center = corners.mean(axis=0)
    axes = np.column_stack([corners[4] - corners[0], corners[2] - corners[0], corners[1] - corners[0]])
    rpy = _rpy(axes / np.linalg.norm(axes, axis=0)).round(ANGLE_DIGITS) + 0.0
    position = center.round(DIGITS) + 0.0
    inside = SE3(as_rotation(rpy), position)
    reach = np.abs(np.array([inside.actInv(corner) for corner in corners])).max(axis=0)
    numbers: dict[str, Any] = {"lengths": [max(round_up(2.0 * length), 1e-4) for length in reach]}
    if position.any():
        numbers["position"] = position.tolist()
    if rpy.any():
        numbers["rpy"] = rpy.tolist()
    return Form("box", numbers)


def _rpy(R: np.ndarray) -> np.ndarray:
    """Roll, pitch, yaw of a rotation."""
    pitch = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    yaw = np.arctan2(R[1, 0], R[0, 0])
    level = as_rotation(np.array([0.0, pitch, yaw])).T @ R  # what is left is the roll, also at pitch ± π/2
    return np.array([log3(level)[0], pitch, yaw])
