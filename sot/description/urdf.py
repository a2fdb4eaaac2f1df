"""What a URDF file says, checked before any library sees it, so that errors name the place."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from sot.description.xml_tree import Element, read_xml
from sot.errors import unknown

MOVING = ("revolute", "continuous", "prismatic", "planar", "floating")
JOINT_TYPES = (*MOVING, "fixed")
INERTIA = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


@dataclass(frozen=True)
class Mimic:
    """A joint that follows another: q_joint = ratio · q_of + offset (rad or m)."""

    joint: str
    of: str
    ratio: float
    offset: float


@dataclass(frozen=True)
class Urdf:
    """The parts of a URDF that pinocchio does not keep."""

    name: str
    mimics: tuple[Mimic, ...]
    packages: frozenset[str]


def read_urdf(path: Path) -> Urdf:
    """Check a URDF file and return what it says beyond the kinematic tree.

    Raises:
        ModelError: Names file, line and element.
    """
    robot = read_xml(path, "URDF")
    _check_root(robot)
    links, joints = _named(robot, "link"), _named(robot, "joint")
    if not links:
        raise robot.error("has no links")
    for link in links.values():
        _check_inertial(link)
    for joint in joints.values():
        _check_joint(joint, links)
    _check_tree(robot, links, joints)
    name = robot.attributes.get("name", "").strip() or path.stem
    return Urdf(name, _mimics(joints), _packages(robot))


def _check_root(robot: Element) -> None:
    if robot.tag != "robot":
        other = {"mujoco": " (an MJCF file: load it with mjcf=...)", "sdf": " (SDF files are not supported)"}
        raise robot.error(f"expected <robot>, so this is not a URDF file{other.get(robot.tag, '')}")
    for element in robot.walk():
        if element.tag.startswith("xacro:"):
            raise element.error(
                "contains xacro macros; expand them first: xacro robot.urdf.xacro > robot.urdf"
            )


def _named(robot: Element, tag: str) -> dict[str, Element]:
    found: dict[str, Element] = {}
    for element in robot.all(tag):
        name = element.text("name")
        if name in found:
            raise element.error(f"the name is used twice, first in line {found[name].line}")
        found[name] = element
    return found


def _check_origin(element: Element) -> None:
    origin = element.first("origin")
    if origin is not None:
        origin.numbers("xyz", 3)
        origin.numbers("rpy", 3)


def _check_inertial(link: Element) -> None:
    inertial = link.first("inertial")
    if inertial is None:
        return
    _check_origin(inertial)
    mass, inertia = inertial.first("mass"), inertial.first("inertia")
    if mass is None or inertia is None:
        raise link.error(f"<inertial> has no <{'mass' if mass is None else 'inertia'}>")
    mass.text("value")
    if not (mass.number("value", 0.0) >= 0.0):
        raise link.error(f"the mass is negative: {mass.attributes['value']} kg")
    for attribute in INERTIA:
        inertia.text(attribute)
        value = inertia.number(attribute, 0.0)
        if attribute in ("ixx", "iyy", "izz") and not (value >= -1e-12):  # exported files round
            raise link.error(f"the inertia {attribute} is negative: {value:g} kg·m²")


def _check_joint(joint: Element, links: dict[str, Element]) -> None:
    kind = joint.text("type")
    if kind not in JOINT_TYPES:
        raise joint.error(unknown("joint type", kind, JOINT_TYPES))
    for role in ("parent", "child"):
        if _end(joint, role) not in links:
            raise joint.error(f"{role}: {unknown('link', _end(joint, role), links)}")
    _check_origin(joint)
    axis = joint.first("axis")
    if axis is not None and kind in ("revolute", "continuous", "prismatic", "planar"):
        axis.text("xyz")
        if not (sum(x * x for x in axis.numbers("xyz", 3) or ()) > 1e-12):
            raise joint.error(f"the axis is zero: xyz={axis.attributes['xyz']!r}")
    _check_limit(joint, kind)
    dynamics = joint.first("dynamics")
    if dynamics is not None:
        dynamics.numbers("damping", 1)
        dynamics.numbers("friction", 1)


def _end(joint: Element, role: str) -> str:
    """Name of a joint's parent or child link."""
    end = joint.first(role)
    if end is None:
        raise joint.error(f"has no <{role} link=...>")
    return end.text("link")


def _check_limit(joint: Element, kind: str) -> None:
    limit = joint.first("limit")
    if limit is None:
        if kind in ("revolute", "prismatic"):
            raise joint.error(f"a {kind} joint needs <limit lower= upper= effort= velocity=>")
        return
    lower, upper = limit.number("lower", 0.0, infinite=True), limit.number("upper", 0.0, infinite=True)
    if kind in ("revolute", "prismatic") and not (lower <= upper):
        raise joint.error(f"the lower limit {lower:g} is above the upper limit {upper:g}")
    for attribute in ("effort", "velocity"):
        if kind in ("revolute", "prismatic"):
            limit.text(attribute)
        if not (limit.number(attribute, 0.0, infinite=True) >= 0.0):
            raise joint.error(f"the {attribute} limit is negative: {limit.attributes[attribute]}")


def _check_tree(robot: Element, links: dict[str, Element], joints: dict[str, Element]) -> None:
    """Every link but one hangs on exactly one joint, and all of them on that one."""
    children: dict[str, list[str]] = {}
    parents: Counter[str] = Counter()
    for joint in joints.values():
        parent, child = _end(joint, "parent"), _end(joint, "child")
        children.setdefault(parent, []).append(child)
        parents[child] += 1
        if parents[child] > 1:
            raise joint.error(
                f"the link '{child}' already hangs on another joint (a closed loop is not a tree)"
            )
    roots = [name for name in links if not parents[name]]
    if len(roots) > 1:
        starts = ", ".join(map(repr, roots))
        raise robot.error(f"has {len(roots)} separate trees, which start at the links {starts}")
    reached, pending = set(roots), list(roots)
    while pending:
        new = children.get(pending.pop(), [])
        reached.update(new)
        pending += new
    lost = [name for name in links if name not in reached]
    if lost:
        raise links[lost[0]].error("hangs on itself through its joints: they form a circle")


def _mimics(joints: dict[str, Element]) -> tuple[Mimic, ...]:
    """The <mimic> tags of joints that move. A chain of followers is traced to the joint that leads."""
    tags = {
        name: joint.first("mimic")
        for name, joint in joints.items()
        if joint.first("mimic") is not None and joint.attributes["type"] != "fixed"
    }
    direct = {name: _mimic(joints[name], tag, joints) for name, tag in tags.items() if tag is not None}
    for name in direct:
        ratio, offset, leader, seen = 1.0, 0.0, name, {name}
        while leader in direct:
            step = direct[leader]
            offset, ratio, leader = offset + ratio * step.offset, ratio * step.ratio, step.of
            if leader in seen:
                raise joints[name].error("follows itself through its <mimic> tags")
            seen.add(leader)
        direct[name] = Mimic(name, leader, ratio, offset)
    return tuple(direct.values())


def _mimic(joint: Element, tag: Element, joints: dict[str, Element]) -> Mimic:
    of = tag.text("joint")
    if of not in joints:
        raise joint.error(f"<mimic>: {unknown('joint', of, joints)}")
    return Mimic(joint.attributes["name"], of, tag.number("multiplier", 1.0), tag.number("offset", 0.0))


def _packages(robot: Element) -> frozenset[str]:
    """Names of the packages in which the meshes are, from `package://name/...`."""
    files = (element.attributes.get("filename", "") for element in robot.walk() if element.tag == "mesh")
    schemes = ("package://", "model://")
    return frozenset(name.split("://")[1].split("/")[0] for name in files if name.startswith(schemes))
