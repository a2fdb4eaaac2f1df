"""A robot's collision file: bodies by link, and pairs of bodies to watch.

    bodies:
      forearm: [{capsule: {start: [0, 0, 0], end: [0, 0, 0.3], radius: 0.06}}]
      hand: [{box: {lengths: [0.1, 0.2, 0.04], position: [0, 0, 0.05]}}, {ball: {radius: 0.05}}]
    pairs:
      base: [forearm, hand*]

Places are in the link's frame. The bodies of a link are called after it: hand, hand_1, …; pairs may use patterns.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from textwrap import wrap

from sot.collision.bodies import place
from sot.collision.form import Form
from sot.collision.pairs import REASONS, THOUGHT
from sot.collision.shape import Body, CollisionModel
from sot.collision.survey import Survey
from sot.description import Description
from sot.errors import unknown
from sot.typed_yaml import Node, build, read

WIDTH = 116  # characters of a line, comments included
GLUE = "\0"  # a space at which no line is broken


@dataclass(frozen=True, eq=False)
class Contents:
    """What a collision file says.

    Attributes:
        bodies: For each link a list of bodies: {ball: …}, {capsule: …}, {box: …} or {convex: …}.
        pairs: For each body, or pattern, the bodies or patterns it must not touch.
    """

    bodies: dict[str, Node]
    pairs: dict[str, Node] = field(default_factory=dict)


def read_collisions(path: str | Path, robot: Description) -> CollisionModel:
    """Bodies and pairs of a robot from its collision file.

    Pairs of bodies that cannot move against each other, because joints between them are locked, are left out.

    Raises:
        ConfigError: A mistake in the file; names file, line and path, and what would be right.
    """
    contents = build(read(path), Contents)
    bodies = place(robot, {link: _forms(node, link, robot) for link, node in contents.bodies.items()})
    names = [body.name for body in bodies]
    pairs: set[tuple[int, int]] = set()
    for name, node in contents.pairs.items():
        first = _meant(name, node, names)
        for other in node.sequence("a list of bodies"):
            pairs |= _crossed(first, _meant(build(other, str), other, names), bodies)
    return CollisionModel(tuple(bodies), tuple(sorted(pairs)))


def _forms(node: Node, link: str, robot: Description) -> Sequence[Form]:
    if link not in robot.frames:
        raise node.error(f"robot '{robot.name}': {unknown('link', link, robot.frames)}")
    return build(node, tuple[Form, ...])


def _meant(pattern: str, node: Node, names: Sequence[str]) -> list[int]:
    found = [i for i, name in enumerate(names) if name == pattern or fnmatchcase(name, pattern)]
    if not found:
        raise node.error(unknown("body", pattern, names))
    return found


def _crossed(first: Iterable[int], second: Iterable[int], bodies: Sequence[Body]) -> set[tuple[int, int]]:
    return {(min(i, k), max(i, k)) for i in first for k in second if bodies[i].joint != bodies[k].joint}


# -- writing -----------------------------------------------------------------------------------------


def write_collisions(found: Survey, command: str = "") -> str:
    """Text of a collision file.

    Args:
        found: Bodies and pairs.
        command: The command that made them, for the comment at the top.
    """
    bodies: dict[str, list[Form]] = {}
    for made in found.bodies:
        bodies.setdefault(made.part.link, []).append(made.form)
    pairs: dict[str, list[str]] = {}
    for pair in found.watched:
        first, second = found.names(pair)
        pairs.setdefault(first, []).append(second)
    lines = [*_comments(found, command), "bodies:", *_body_lines(bodies), "pairs:" if pairs else "pairs: {}"]
    for name, others in pairs.items():
        lines += _wrapped(f"{_word(name)}: [{', '.join(map(_word, others))}]", "  ")
    return "\n".join(lines) + "\n"


def _body_lines(bodies: Mapping[str, Sequence[Form]]) -> list[str]:
    lines = []
    for link, forms in bodies.items():
        lines.append(f"  {_word(link)}:")
        for form in forms:
            lines += _wrapped(f"- {{{form.kind}: {_flow(form.numbers)}}}", "    ")
    return lines


def _wrapped(text: str, indent: str) -> list[str]:
    """Text in lines; GLUE holds together what should stay on one."""
    lines = wrap(text, WIDTH, initial_indent=indent, subsequent_indent=f"{indent}    ", break_on_hyphens=False)
    return [line.replace(GLUE, " ") for line in lines]


def _comments(found: Survey, command: str) -> list[str]:
    """What the file holds and how it came about, in words."""
    widest = max(found.bodies, key=lambda made: made.inflation.distance)
    most = f"{1e3 * widest.inflation.distance:.0f} mm ({widest.body.name})"
    lines = [f"Collision bodies of {found.robot.name}{', made by:' if command else '.'}"]
    steps = wrap(command, WIDTH - 8, break_on_hyphens=False, break_long_words=False)
    lines += [f"  {step}" for step in " \\\n    ".join(steps).splitlines()]
    lines += wrap(
        "Bodies stand in the frames of their links, in m and rad. Each holds the shapes it stands for, and reaches "
        f"beyond their hull by at most {most}.",
        WIDTH - 2,
    )
    lines.append(f"Watched: {len(found.watched)} of {len(found.pairs)} pairs. The others:")
    counts = Counter(pair.group for pair in found.pairs)
    for group in filter(counts.__getitem__, REASONS):
        lines.append(f"  {counts[group]} {REASONS[group]}")
        named = [pair for pair in found.pairs if pair.group == group and group in THOUGHT]
        lines += [f"    {' – '.join(found.names(pair))}: {pair.reason}" for pair in named]
    return [f"# {line}" for line in lines]


def _flow(value: object) -> str:
    """Numbers and lists of them on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        nested = any(isinstance(item, (list, tuple)) for item in value)
        return "[" + ("," + (" " if nested else GLUE)).join(map(_flow, value)) + "]"
    return f"{value:.10g}"


def _word(name: str) -> str:
    """A name, in quotes where YAML would take it for something else."""
    plain = re.fullmatch(r"[A-Za-z_][\w./-]*", name) and name.lower() not in ("null", "true", "false", "yes", "no")
    return name if plain else json.dumps(name, ensure_ascii=False)
