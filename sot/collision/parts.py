"""A robot's shapes, link by link, as clouds of points: what collision bodies are made around."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sot.collision.cloud import Cloud
from sot.collision.coal_door import cloud_of, is_box
from sot.description import Description
from sot.errors import ConfigError, ModelError, unknown
from sot.lie import SE3
from sot.model import Model

STEP = np.deg2rad(10.0)  # of a joint that is swept over its range


@dataclass(frozen=True, eq=False)
class Part:
    """A shape, or several in one.

    Attributes:
        links: Links whose shapes are in it; it is named after the first and stands in its frame.
        joint: Index of the joint that carries the first link.
        placement: Of that link in that joint.
        cloud: Points that span it, in the frame of the first link.
        box: True if the eight points are those of a box.
        sources: The shapes themselves: shape, joint that carries it, placement in that joint.
    """

    links: tuple[str, ...]
    joint: int
    placement: SE3
    cloud: Cloud
    box: bool
    sources: list[tuple[Any, int, SE3]]

    @property
    def link(self) -> str:
        """The link it is named after."""
        return self.links[0]


def parts_of(
    robot: Description, visual: Sequence[str] = (), merge: Sequence[str] = (), without: Sequence[str] = ()
) -> list[Part]:
    """The shapes of a robot: its collision geometry, or what is seen of it where there is none at all.

    Args:
        robot: The robot.
        visual: Links, or patterns (`*_hand`), whose visual geometry is taken instead.
        merge: What becomes one part: `link` or `pattern`, all shapes of each link; `link=pattern,pattern`, those of the
            links that match as well, over the whole range of the joints between.
        without: Links, or patterns, to leave out.
    """
    collision = _read(robot, "collision")
    seen = _read(robot, "visual") if visual or not collision else []
    links = {part.link for part in seen}
    chosen = matching(links, visual, "link with visual geometry") if collision else links
    parts = [part for part in collision if part.link not in chosen] + [part for part in seen if part.link in chosen]
    left_out = matching({part.link for part in parts}, without, "link with a shape")
    parts = [part for part in parts if part.link not in left_out]
    if not parts:
        raise ModelError(f"robot '{robot.name}' has no shapes that could collide")
    for text in merge:
        parts = _merged(robot, parts, text)
    return parts


def unseen(robot: Description, links: Iterable[str]) -> list[str]:
    """Links that can be seen but are not among `links`: what a robot's collision geometry leaves out."""
    frames = robot.pin_model.frames
    seen = {frames[shape.parentFrame].name for shape in robot.geometry("visual").geometryObjects}
    return sorted(seen - set(links))


def _read(robot: Description, kind: Any) -> list[Part]:
    model, parts = robot.pin_model, []
    for shape in robot.geometry(kind).geometryObjects:
        frame = model.frames[shape.parentFrame]
        inside = frame.placement.actInv(shape.placement)  # of the shape in its link
        cloud = cloud_of(shape.geometry, f"robot '{robot.name}': {kind} geometry '{shape.name}'")
        cloud = Cloud(_move(cloud.points, inside), cloud.radii)
        source = (shape.geometry, shape.parentJoint, shape.placement)
        parts.append(
            Part((frame.name,), shape.parentJoint, frame.placement, cloud, is_box(shape.geometry), [source])
        )
    return parts


def matching(names: Iterable[str], patterns: Iterable[str], kind: str) -> set[str]:
    """Names that one of the patterns means; each must mean one."""
    names, found = sorted(names), set()
    for pattern in patterns:
        matches = [name for name in names if fnmatch.fnmatchcase(name, pattern)]
        if not matches:
            raise ConfigError(unknown(kind, pattern, names))
        found.update(matches)
    return found


def _move(points: np.ndarray, placement: SE3) -> np.ndarray:
    return points @ placement.rotation.T + placement.translation


# -- several shapes in one ---------------------------------------------------------------------------


def _merged(robot: Description, parts: list[Part], text: str) -> list[Part]:
    """The parts with some of them in one, in the place of the first."""
    link, _, rest = text.partition("=")
    names = {part.link for part in parts}
    targets = matching(names, [link], "link with a shape")
    if rest and len(targets) > 1:
        raise ConfigError(f"merge: {link!r} means {len(targets)} links, expected one before '='")
    others = matching(names, [pattern for pattern in rest.split(",") if pattern], "link with a shape") - targets
    for target in sorted(targets):
        taken = sorted((p for p in parts if p.link in {target, *others}), key=lambda part: part.link != target)
        one, first = _one(robot, taken), parts.index(taken[0])
        parts = [one if i == first else part for i, part in enumerate(parts) if i == first or part not in taken]
    return parts


def _one(robot: Description, parts: list[Part]) -> Part:
    target = parts[0]
    clouds = [_seen_from(robot, target, part) for part in parts]
    cloud = Cloud(np.vstack([c.points for c in clouds]), np.concatenate([c.radii for c in clouds])).outer
    links = tuple(dict.fromkeys(link for part in parts for link in part.links))
    sources = [source for part in parts for source in part.sources]
    return replace(target, links=links, cloud=cloud, box=target.box and len(parts) == 1, sources=sources)


def _seen_from(robot: Description, target: Part, part: Part) -> Cloud:
    """The cloud of a part in the frame of the target's link, wherever the joints between may stand."""
    model = Model(robot)
    supports = list(model.pin.supports[part.joint])
    if target.joint not in supports:
        raise ConfigError(f"merge: the link '{part.link}' does not hang on '{target.link}'")
    cloud = Cloud(_move(part.cloud.points, part.placement), part.cloud.radii)
    for joint in reversed(supports[supports.index(target.joint) + 1 :]):
        cloud = _swept(model, cloud, joint).outer
    return Cloud(_move(cloud.points, target.placement.inverse()), cloud.radii)


def _swept(model: Model, cloud: Cloud, joint: int) -> Cloud:
    """A cloud of a joint's frame in the frame of its parent, at all positions of the joint.

    Between two angles δ apart a point at distance ρ from the axis leaves their chord by ρ (1 − cos δ/2): the balls
    grow by this.
    """
    poses = [_local(model, joint, q) for q in _positions(model, joint)]
    turns = any(np.abs(pose.rotation - poses[0].rotation).max() > 1e-9 for pose in poses)
    if not turns:
        poses = [poses[0], poses[-1]]
    size = np.linalg.norm(cloud.points, axis=1) + cloud.radii
    radii = cloud.radii + size * (1.0 - np.cos(0.5 * STEP) if turns else 0.0)
    return Cloud(np.vstack([_move(cloud.points, pose) for pose in poses]), np.tile(radii, len(poses)))


def _positions(model: Model, joint: int) -> Iterable[np.ndarray]:
    """Configurations that differ in one joint, from end to end of its range."""
    known = model.joint(model.pin.names[joint])
    home = model.robot.home
    if known.v.stop - known.v.start != 1:
        raise ConfigError(f"merge: the joint '{known.name}' has more than one degree of freedom")
    low, high = -np.pi, np.pi
    if known.is_scalar:
        low, high = float(model.pin.lowerPositionLimit[known.q][0]), float(model.pin.upperPositionLimit[known.q][0])
        if not (high - low <= 4.0 * np.pi):
            raise ConfigError(f"merge: the joint '{known.name}' has no limits")
        low, high = low - home[known.q][0], high - home[known.q][0]
    for value in np.linspace(low, high, 1 + int(np.ceil((high - low) / STEP)) if high > low else 1):
        step = np.zeros(model.nv)
        step[known.v] = value
        yield model.integrate(home, step)


def _local(model: Model, joint: int, q: np.ndarray) -> SE3:
    """Placement of a joint in its parent."""
    model.update(q, np.zeros(model.nv))
    return model.data.oMi[model.pin.parents[joint]].actInv(model.data.oMi[joint])
