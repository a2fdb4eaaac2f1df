"""YAML text to nodes that know their lines, and typed objects to YAML text. The door to yaml.

    node = read("robot.yaml")          # or parse(text, source)
    robot = build(node, Recipe)        # typed object; every error names file, line, path and valid keys
    text = dump(robot)                 # and back

Numbers and booleans follow YAML 1.2: `1e-3` is a number, `on` and `no` are text, only `true` and `false` are
booleans.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import yaml

from sot.errors import ConfigError
from sot.typed_yaml.node import Node, join, wrap
from sot.typed_yaml.typed import arguments, build

__all__ = ["Node", "arguments", "build", "dump", "parse", "read", "wrap"]

MAX_DEPTH = 50  # levels of nesting
MAX_NODES = 100_000  # values after aliases are followed: a few lines of anchors can stand for billions

_TAGS = {
    "bool": (r"true|True|TRUE|false|False|FALSE", "tTfF"),
    "null": (r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    "int": (r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    "float": (
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        "-+.0123456789",
    ),
}


class _Loader(yaml.SafeLoader):
    """Reads one document into yaml's own nodes; values are made below, so no tag can run code."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}
    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            mark = self.peek_event().start_mark
            raise yaml.MarkedYAMLError(problem=f"nested deeper than {MAX_DEPTH} levels", problem_mark=mark)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


class _Dumper(yaml.SafeDumper):
    """Quotes what this reader, or a YAML 1.1 reader, would take for a number or a boolean."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


for _name, (_pattern, _first) in _TAGS.items():
    for _class in (_Loader, _Dumper):
        _class.add_implicit_resolver(
            f"tag:yaml.org,2002:{_name}", re.compile(f"(?:{_pattern})$"), list(_first)
        )


def read(path: str | Path) -> Node:
    """The content of a YAML file."""
    source = str(path)
    try:
        data = Path(path).expanduser().read_bytes()
    except FileNotFoundError:
        raise ConfigError(f"{source}: no such file") from None
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"{source}: cannot be read: {reason}") from None
    try:
        return parse(data.decode("utf-8-sig"), source)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{source}:{line}: is not UTF-8 text (byte 0x{data[error.start]:02x})") from None


def parse(text: str, source: str = "<text>") -> Node:
    """The content of YAML text; `source` is what errors call it."""
    try:
        document = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error, source) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        code = f"U+{error.character:04X}"
        raise ConfigError(f"{source}:{line}: the character {code} is not allowed in YAML") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{source}: is not YAML: {error}") from None
    if document is None:
        raise ConfigError(f"{source}: is empty")
    return _Tree(source).convert(document, document.start_mark.line + 1, "", 1)


def _syntax_error(error: yaml.MarkedYAMLError, source: str) -> ConfigError:
    mark = error.problem_mark or error.context_mark
    where = f"{source}:{mark.line + 1}: column {mark.column + 1}" if mark else source
    words = " ".join(part for part in (error.problem, error.context) if part)
    return ConfigError(f"{where}: is not valid YAML: {words}")


class _Tree:
    """Turns yaml's nodes into ours, counting them."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.count = 0

    def convert(self, node: Any, line: int, path: str, depth: int) -> Node:
        self.count += 1
        place = Node(None, self.source, line, path)
        if depth > MAX_DEPTH:
            raise place.error(f"nested deeper than {MAX_DEPTH} levels (an alias that contains itself?)")
        if self.count > MAX_NODES:
            raise place.error(f"more than {MAX_NODES} values after following aliases")
        if isinstance(node, yaml.MappingNode):
            return Node(self._mapping(node, place, depth), self.source, line, path)
        if isinstance(node, yaml.SequenceNode):
            _plain_tag(node, place, "seq")
            items = [
                self.convert(item, item.start_mark.line + 1, f"{path}[{i}]", depth + 1)
                for i, item in enumerate(node.value)
            ]
            return Node(items, self.source, line, path)
        return Node(_scalar(node, place), self.source, line, path)

    def _mapping(self, node: Any, place: Node, depth: int) -> dict[str, Node]:
        _plain_tag(node, place, "map")
        entries: dict[str, Node] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise Node(None, self.source, line, place.path).error("a key must be plain text")
            child = self.convert(value, line, join(place.path, key.value), depth + 1)
            if key.value in entries:
                first = entries[key.value].line
                raise child.error(f"the key {key.value!r} is given twice, first in line {first}")
            entries[key.value] = child
        return entries


def _plain_tag(node: Any, place: Node, *allowed: str) -> str:
    tag = node.tag.removeprefix("tag:yaml.org,2002:")
    if tag not in allowed:
        raise place.error(f"the tag {node.tag!r} is not supported")
    return tag


def _scalar(node: Any, place: Node) -> Any:
    tag, text = _plain_tag(node, place, "str", *_TAGS), node.value
    try:
        if tag == "int":
            return int(text, 0) if text.startswith(("0x", "0o")) else int(text)
        if tag == "float":
            return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    except ValueError:
        raise place.error(f"{text[:40]!r} is not a number that can be used") from None
    if tag == "bool":
        return text.lower() == "true"
    return None if tag == "null" else text


def dump(value: object) -> str:
    """YAML text of dataclasses, dicts, lists, arrays, plain values. Fields at their default are left out."""
    plain = _plain(value)
    return yaml.dump(plain, Dumper=_Dumper, sort_keys=False, default_flow_style=None, allow_unicode=True)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [field for field in dataclasses.fields(value) if not _is_default(value, field)]
        return {field.name: _plain(getattr(value, field.name)) for field in fields}
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"cannot write {value} to YAML: it could not be read back")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise ConfigError(f"cannot write a {type(value).__name__} to YAML")


def _is_default(value: Any, field: dataclasses.Field[Any]) -> bool:
    if not field.init:
        return True
    default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
    given = getattr(value, field.name)
    return type(given) is type(default) and _plain(given) == _plain(default)
