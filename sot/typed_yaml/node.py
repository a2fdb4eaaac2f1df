"""A tree of values that remember where they were written: what YAML files and keyword arguments become."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sot.errors import ConfigError

SHOWN = 60  # characters of a wrong value that an error message repeats


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """A mapping, a list or a single value, with its place.

    Attributes:
        value: `dict[str, Node]`, `list[Node]`, or a plain value (text, number, bool, None, or an object that
            a caller passed).
        source: File name, or what the values were passed to.
        line: Line in the file, counted from 1; 0 if there is no file.
        path: Where the value stands, such as `feet[0].frame`; empty at the top.
    """

    value: Any
    source: str
    line: int = 0
    path: str = ""

    def error(self, message: str) -> ConfigError:
        """The error to raise about this value: place first, then what is wrong."""
        place = f"{self.source}:{self.line}" if self.line else self.source
        return ConfigError(f"{place}: {self.path}: {message}" if self.path else f"{place}: {message}")

    @property
    def is_mapping(self) -> bool:
        """True for `key: value` pairs."""
        return isinstance(self.value, dict)

    @property
    def is_list(self) -> bool:
        """True for a list."""
        return isinstance(self.value, list)

    def mapping(self, expected: str = "a mapping (key: value)") -> dict[str, Node]:
        """The entries of a mapping."""
        if not self.is_mapping:
            raise self.error(f"expected {expected}, got {self.shown()}")
        return self.value

    def sequence(self, expected: str = "a list") -> list[Node]:
        """The items of a list."""
        if not self.is_list:
            raise self.error(f"expected {expected}, got {self.shown()}")
        return self.value

    def plain(self) -> Any:
        """The value without places: dicts, lists and plain values."""
        if self.is_mapping:
            return {key: child.plain() for key, child in self.value.items()}
        return [child.plain() for child in self.value] if self.is_list else self.value

    def shown(self) -> str:
        """The value as an error message repeats it."""
        if self.value is None:
            return "nothing (null)"
        if self.is_mapping:
            keys = ", ".join(self.value) or "no keys"
            return f"a mapping with {_short(keys)}"
        text = repr(self.plain())
        return _short(f"the list {text}" if self.is_list else text)


def wrap(value: object, source: str, path: str = "") -> Node:
    """Python values as a node, so that keyword arguments pass the same checks as a file.

    Dicts, lists, tuples and arrays become trees; anything else stays as it is.
    """
    if isinstance(value, Node):
        return value
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return Node(value.item(), source, 0, path)
    if isinstance(value, Mapping):
        items = {str(key): wrap(item, source, join(path, str(key))) for key, item in value.items()}
        return Node(items, source, 0, path)
    if isinstance(value, (list, tuple, np.ndarray)):
        return Node([wrap(item, source, f"{path}[{i}]") for i, item in enumerate(value)], source, 0, path)
    return Node(value, source, 0, path)


def join(path: str, key: str) -> str:
    """Path of an entry of a mapping."""
    return f"{path}.{key}" if path else key


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
