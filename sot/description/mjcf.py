"""Checks of an MJCF file before pinocchio sees it: much of what that cannot read it leaves out in silence."""

from __future__ import annotations

from pathlib import Path

from sot.description.xml_tree import Element, read_xml
from sot.errors import unknown

JOINT_TYPES = ("hinge", "slide", "ball", "free")
UNREAD = {
    "include": "pinocchio does not follow <include>; load the file that holds the robot itself",
    "frame": "pinocchio does not read bodies inside <frame>; write their poses out",
    "replicate": "pinocchio does not read <replicate>; write the copies out",
    "attach": "pinocchio does not read <attach>; write the bodies out",
    "composite": "pinocchio does not read <composite>; write the bodies out",
}
NUMBERS = {"pos": 3, "quat": 4, "axis": 3, "euler": 3, "axisangle": 4}
NUMBERS |= {"diaginertia": 3, "fullinertia": 6, "mass": 1}


def read_mjcf(path: Path) -> str:
    """Check an MJCF file and return the model's name.

    Raises:
        ModelError: Names file, line and element.
    """
    root = read_xml(path, "MJCF")
    if root.tag != "mujoco":
        hint = " (a URDF file: load it with urdf=...)" if root.tag == "robot" else ""
        raise root.error(f"expected <mujoco>, so this is not an MJCF file{hint}")
    bodies = [body for world in root.all("worldbody") for body in world.all("body")]
    for element in root.walk():
        if element.tag in UNREAD:
            raise element.error(UNREAD[element.tag])
    bodies = [body for body in bodies if body.attributes.get("mocap") != "true"]
    if not bodies:
        raise root.error("has no <body> in its <worldbody>")
    if len(bodies) > 1:
        names = ", ".join(body.label for body in bodies)
        raise bodies[1].error(f"one robot is one <body> in <worldbody>, this file has {len(bodies)}: {names}")
    classes = {element.attributes.get("class", "main") for element in root.walk() if element.tag == "default"}
    _check_bodies(bodies[0], classes)
    return root.attributes.get("model", "").strip() or path.stem


def _check_bodies(top: Element, classes: set[str]) -> None:
    seen: dict[tuple[str, str], Element] = {}
    for element in top.walk():
        tag = "joint" if element.tag == "freejoint" else element.tag
        if tag == "body":
            element.text("name")
        name = element.attributes.get("name")
        if name and tag in ("body", "joint"):
            if (tag, name) in seen:
                raise element.error(f"the name is used twice, first in line {seen[tag, name].line}")
            seen[tag, name] = element
        _check_element(element, tag, classes)


def _check_element(element: Element, tag: str, classes: set[str]) -> None:
    if tag not in ("body", "joint", "inertial", "geom", "site"):
        return
    for attribute, size in NUMBERS.items():
        element.numbers(attribute, size)
    for attribute in ("class", "childclass"):
        name = element.attributes.get(attribute)
        if name is not None and name not in classes:
            raise element.error(unknown("default class", name, sorted(classes)))
    if not (element.number("mass", 0.0) >= 0.0):
        raise element.error(f"the mass is negative: {element.attributes['mass']} kg")
    if tag == "joint":
        _check_joint(element)


def _check_joint(joint: Element) -> None:
    kind = joint.attributes.get("type", "hinge")
    if kind not in JOINT_TYPES:
        raise joint.error(unknown("joint type", kind, JOINT_TYPES))
    axis = joint.numbers("axis", 3)
    if axis is not None and not (sum(x * x for x in axis) > 1e-12):
        raise joint.error("the axis is zero")
    low_high = joint.numbers("range", 2)
    if low_high is not None and not (low_high[0] <= low_high[1]):
        raise joint.error(f"the lower limit {low_high[0]:g} is above the upper limit {low_high[1]:g}")
