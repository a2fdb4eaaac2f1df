"""What an SRDF file says beside a URDF: named postures, rotor data, link pairs that never collide."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sot.description.xml_tree import Element, read_xml


@dataclass(frozen=True)
class Srdf:
    """Named postures, rotor data (inertia in kg·m², gear ratio) and how many link pairs never collide."""

    postures: dict[str, dict[str, list[float]]]
    rotors: dict[str, tuple[float, float]]
    disabled_pairs: int


def read_srdf(path: Path) -> Srdf:
    """What an SRDF file says. Joints that the robot does not have are the caller's to skip."""
    robot = read_xml(path, "SRDF")
    if robot.tag != "robot":
        raise robot.error("expected <robot>, so this is not an SRDF file")
    postures: dict[str, dict[str, list[float]]] = {}
    for state in robot.all("group_state"):
        postures.setdefault(state.text("name"), {}).update(
            {joint.text("name"): _values(joint) for joint in state.all("joint")}
        )
    rotors = {
        joint.text("name"): (joint.number("mass", 0.0), joint.number("gear_ratio", 1.0))
        for group in robot.all("rotor_params")
        for joint in group.all("joint")
    }
    return Srdf(postures, rotors, len(robot.all("disable_collisions")))


def _values(joint: Element) -> list[float]:
    joint.text("value")
    return joint.numbers("value") or []
