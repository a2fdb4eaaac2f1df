"""The parts of a stack file: entries, references, levels, events."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from sot.config.catalog import Catalog
from sot.config.events import Event, Push, Remove, SetReference, Swap
from sot.config.signature import accepts, parameters, takes_function
from sot.entry import Entry
from sot.errors import ConfigError, SotError, unknown
from sot.reference import Reference, as_reference
from sot.stack import Stack
from sot.typed_yaml import build
from sot.typed_yaml.node import Node

EVENTS = {
    "push": ("push", "level", "insert", "ramp"),
    "remove": ("remove", "ramp"),
    "swap": ("swap", "ramp"),
    "set": ("set", "reference"),
}


@contextmanager
def placed(node: Node) -> Iterator[None]:
    """Errors inside speak about a place in the file, whatever raised them."""
    try:
        yield
    except ConfigError as error:
        if str(error).startswith(f"{node.source}:"):
            raise
        raise blamed(node, str(error)).error(str(error)) from error
    except SotError as error:
        raise blamed(node, str(error)).error(str(error)) from error
    except Exception as error:  # a user's own task may raise anything
        raise node.error(f"{type(error).__name__}: {error}") from error


def blamed(node: Node, message: str) -> Node:
    """The value inside a mapping that a message such as `hand: gain: expected …` speaks about, or the mapping."""
    for key, child in node.value.items() if node.is_mapping else ():
        for i, item in enumerate(child.value if child.is_list else ()):
            if f"{key}[{i}]: " in message:
                return blamed(item, message)
        deeper = blamed(child, message)
        named = re.search(rf"(?:^|: ){re.escape(key)}: ", message)
        quoted = isinstance(child.value, str) and repr(child.value) in message
        if deeper is not child or named or quoted:
            return deeper
    return node


class Parts:
    """Makes the parts, and remembers where each was written.

    Attributes:
        places: Where each entry stands.
        event_places: Where each event stands, in the order of the file.
    """

    def __init__(self, words: Catalog) -> None:
        self.words = words
        self.places: dict[Entry, Node] = {}
        self.event_places: list[Node] = []

    def stack(self, node: Node) -> Stack:
        """All levels."""
        levels = [self.level(level) for level in node.sequence("a list of levels")]
        with placed(node):
            return Stack(*levels)

    def level(self, node: Node) -> list[Entry]:
        """A level: a list of entries, or one entry."""
        if not node.is_list:
            return [self.entry(node)]
        return [self.entry(item) for item in node.value]

    def entry(self, node: Node) -> Entry:
        """A task or constraint: `kind: {arguments}`, or the kind alone."""
        word, body = _one_word(node, "task", self.words.entries)
        kind = self.words.entries[word]
        entry = self.make(kind, body)
        for other, place in self.places.items():
            if other.name == entry.name:
                taken = f"the name {entry.name!r} is taken by the {other.kind} in line {place.line}"
                raise body.error(f"{taken}; give this one a name:")
        self.places[entry] = body
        return entry

    def make(self, kind: type[Any], body: Node) -> Any:
        """An object of a class whose arguments are the keys of a mapping."""
        with placed(body):
            known = parameters(kind)
        given = body.mapping(f"the arguments of {kind.kind}")
        for key, child in given.items():
            if key not in known:
                raise child.error(unknown(f"key of {kind.kind}", key, known))
        for name, parameter in known.items():
            if parameter.required and name not in given:
                raise body.error(f"{kind.kind} needs the key {name!r}. Keys: {', '.join(known)}")
        arguments = {key: self.argument(child, known[key].hint) for key, child in given.items()}
        with placed(body):
            made = kind(**arguments)
        if isinstance(made, Entry):
            made.given = arguments  # type: ignore[attr-defined]  # for writing it again; tasks need not keep them
        return made

    def argument(self, node: Node, hint: Any) -> Any:
        """One argument. References and functions have words of their own, the rest follows the type hint."""
        if accepts(hint, Reference):
            return self.reference(node)
        if takes_function(hint) and isinstance(node.value, str):
            return self.words.function(node)
        return _value(node) if hint is not Any and accepts(hint, Any) else build(node, hint)

    def reference(self, node: Node) -> Any:
        """A reference `kind: {arguments}`, or a value that the task understands."""
        if not node.is_mapping:
            return _value(node)
        # A table of joint values is a mapping too, but never of mappings.
        if not any(key in self.words.references or child.is_mapping for key, child in node.value.items()):
            return node.plain()
        word, body = _one_word(node, "reference", self.words.references)
        return self.make(self.words.references[word], body)

    def event(self, node: Node) -> Event:
        """A change of the stack: `at` and one of push, remove, swap, set."""
        entries = node.mapping("an event such as {at: 2.0, remove: hand}")
        what = [key for key in entries if key in EVENTS]
        if len(what) != 1:
            got = " and ".join(what) or f"keys {', '.join(entries) or '(none)'}"
            raise node.error(f"an event is one of {', '.join(EVENTS)}; got {got}")
        for key, child in entries.items():
            if key not in ("at", *EVENTS[what[0]]):
                raise child.error(unknown("key", key, ("at", *EVENTS[what[0]])))
        for key in ("at", "reference") if what[0] == "set" else ("at",):
            if key not in entries:
                raise node.error(f"the key {key!r} is missing. Keys: at, {', '.join(EVENTS[what[0]])}")
        with placed(node):
            event = self._event(what[0], entries)
        self.event_places.append(node)
        return event

    def _event(self, what: str, given: dict[str, Node]) -> Event:
        at = build(given["at"], float)
        ramp = {"ramp": build(given["ramp"], float)} if "ramp" in given else {}
        if what == "push":
            level = build(given["level"], int | None) if "level" in given else None
            insert = "insert" in given and build(given["insert"], bool)
            return Push(at, self.entry(given["push"]), level, insert, **ramp)
        if what == "remove":
            return Remove(at, build(given["remove"], str), **ramp)
        if what == "swap":
            first, second = build(given["swap"], tuple[str, str])
            return Swap(at, first, second, **ramp)
        return SetReference(at, build(given["set"], str), as_reference(self.reference(given["reference"])))


def _value(node: Node) -> Any:
    """A value that only the task can judge; but what looks like numbers must be numbers."""
    if node.is_list and node.value and not _has_words(node):
        return build(node, np.ndarray).tolist()
    return node.plain()


def _has_words(node: Node) -> bool:
    if node.is_list:
        return any(_has_words(item) for item in node.value)
    return node.is_mapping or isinstance(node.value, str)


def _one_word(node: Node, what: str, known: dict[str, Any]) -> tuple[str, Node]:
    """The word and the arguments of `word: {arguments}` or of `word`."""
    if isinstance(node.value, str):
        word, body = node.value, Node({}, node.source, node.line, node.path)
    elif node.is_mapping and len(node.value) == 1:
        ((word, body),) = node.value.items()
        body = Node({}, body.source, body.line, body.path) if body.value is None else body
    elif node.is_mapping and node.value:
        hint = "its kind, with the arguments inside (indented deeper)"
        raise node.error(f"a {what} has one key, {hint}; got {', '.join(node.value)}")
    else:
        raise node.error(f"expected a {what} such as '{next(iter(known))}: {{...}}', got {node.shown()}")
    if word not in known:
        raise body.error(unknown(what, word, known))
    return word, body
