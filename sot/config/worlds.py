"""The keys of a stack file that say what its robot is run on; see `sot.world`."""

from __future__ import annotations

import dataclasses

from sot.config.parts import placed
from sot.description import Description
from sot.errors import ConfigError, unknown
from sot.typed_yaml import build
from sot.typed_yaml.node import Node
from sot.world import World

DEFAULT = "kinematic"


def names() -> list[str]:
    """Keys of all worlds."""
    from sot.robots import worlds

    return worlds()


def find(name: str) -> type[World]:
    """The world of a key."""
    from sot.robots import world

    return world(name)


def engines() -> list[str]:
    """Worlds that any robot can be in."""
    return [name for name in names() if not find(name).brings_robot]


def split(node: Node, keys: list[str]) -> tuple[Node, str, Node]:
    """A file without its world, the world's key, and its options.

    Args:
        node: The file.
        keys: The other keys that a file may have.
    """
    known, given = names(), node.mapping(f"a mapping with keys {', '.join(keys)}")
    for key, child in given.items():
        if key not in (*keys, *known):
            raise child.error(unknown("key", key, (*keys, *known)))
    worlds = [key for key in given if key in known]
    if len(worlds) > 1:
        first = given[worlds[0]]
        raise given[worlds[1]].error(f"a robot is in one world, and line {first.line} says {worlds[0]!r} already")
    word = worlds[0] if worlds else DEFAULT
    rest = {key: child for key, child in given.items() if key not in known}
    body = given.get(word, Node({}, node.source, node.line, word))
    if "robot" in rest and find(word).brings_robot:
        raise rest["robot"].error(f"{word!r} in line {body.line} brings its own robot; leave this key out")
    if "robot" not in rest and not find(word).brings_robot:
        raise node.error(f"the key 'robot' is missing. Keys: {', '.join((*keys, *known))}")
    return dataclasses.replace(node, value=rest), word, body


def options(word: str, node: Node) -> World:
    """A world from its options: `true` for all defaults, or a mapping."""
    body = dataclasses.replace(node, value={}) if node.value is True else node
    if not body.is_mapping:
        raise node.error(f"expected true or a mapping (key: value), got {node.shown()}")
    with placed(body):
        made: World = build(body, find(word))
        if made.brings_robot:
            made.description()
    return made


def in_another(world: World, engine: str, robot: Description) -> World:
    """The same robot in another engine, with the same options.

    Raises:
        ConfigError: There is no such engine, or it has not all options that are set.
    """
    if engine not in engines():
        raise ConfigError(unknown("engine", engine, engines()))
    if world.brings_robot:
        raise ConfigError(f"the robot is a {world.kind}, which is in no engine but its own")
    kind, given = find(engine), world.set_options()
    known = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]  # worlds are dataclasses
    for name in given:
        if name not in known:
            listing = ", ".join(known)
            raise ConfigError(f"the file sets {world.kind}.{name}, which {engine} does not have. It has: {listing}")
    made = kind(**given)
    made.check(robot)
    return made
