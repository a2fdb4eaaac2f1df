"""Typed objects from nodes, by their type hints: what a signature says is what a file may contain."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from sot.errors import ConfigError, SotError, unknown
from sot.typed_yaml.node import Node

T = TypeVar("T")
_UNIONS = (Union, types.UnionType)
_LISTS = (list, tuple, Sequence, np.ndarray)
_DICTS = (dict, Mapping)
_WORDS = {float: "a number", int: "an integer", bool: "true or false", str: "text", Path: "a path"}


def build(node: Node, kind: Any) -> Any:
    """The value of a node as `kind`: a class, or any type hint made of the types below.

    float, int, bool, str, Path, None, np.ndarray (nested lists of finite numbers), list, tuple, dict,
    Literal, Optional/Union, Any, Node, and classes: dataclasses or anything with an annotated constructor.
    A class may take over with a classmethod `from_node(node)`.

    Raises:
        ConfigError: The value does not fit; names file, line and path, and what would fit.
    """
    base = get_origin(kind) or kind
    if base is Annotated:
        return build(node, get_args(kind)[0])
    if kind is Any or kind is inspect.Parameter.empty:
        return node.plain()
    if kind is Node:
        return node
    if base in _UNIONS:
        return _union(node, get_args(kind))
    if base is Literal:
        return _literal(node, get_args(kind))
    if base in _LISTS:
        return _list(node, base, get_args(kind))
    if base in _DICTS:
        _, item = get_args(kind) or (str, Any)
        return {key: build(child, item) for key, child in node.mapping().items()}
    return _scalar(node, kind) if _is_scalar(kind) else _object(node, base)


def arguments(node: Node, function: Callable[..., Any]) -> dict[str, Any]:
    """Keyword arguments for a function or class, from a mapping whose keys are its parameters."""
    children = node.mapping(f"a mapping with keys {', '.join(_parameters(function))}")
    parameters = _parameters(function)
    for key, child in children.items():
        if key not in parameters:
            raise child.error(unknown("key", key, parameters))
    for name, (_, required) in parameters.items():
        if required and name not in children:
            raise node.error(f"the key {name!r} is missing. Keys: {', '.join(parameters)}")
    return {key: build(child, parameters[key][0]) for key, child in children.items()}


@functools.cache
def _parameters(function: Callable[..., Any]) -> dict[str, tuple[Any, bool]]:
    """Type hint and 'is required' of each parameter."""
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    source = function
    if isinstance(function, type) and not dataclasses.is_dataclass(function):
        source = function.__init__  # type: ignore[misc]  # read for its hints only
    try:
        hints = get_type_hints(source)
        parameters = inspect.signature(function).parameters
    except (AttributeError, NameError, TypeError, ValueError) as error:
        raise ConfigError(f"the type hints of {function!r} cannot be read: {error}") from error
    return {
        name: (hints.get(name, Any), p.default is p.empty)
        for name, p in parameters.items()
        if p.kind in named
    }


def _object(node: Node, kind: Any) -> Any:
    if not isinstance(kind, type):
        raise ConfigError(f"values of type {kind} cannot be read from a file")
    if isinstance(node.value, kind):
        return node.value
    if hasattr(kind, "from_node"):
        return kind.from_node(node)
    given = arguments(node, kind)
    try:
        return kind(**given)
    except ConfigError:
        raise
    except (SotError, TypeError, ValueError) as error:
        raise node.error(str(error)) from error


def _union(node: Node, kinds: tuple[Any, ...]) -> Any:
    fitting = [kind for kind in kinds if _fits(node, kind)]
    if not fitting:
        raise node.error(f"expected {_one_of(kinds)}, got {node.shown()}")
    errors: list[ConfigError] = []
    for kind in sorted(fitting, key=lambda kind: -_known_keys(node, kind)):
        try:
            return build(node, kind)
        except ConfigError as error:
            errors.append(error)
    raise errors[0]


def _known_keys(node: Node, kind: Any) -> int:
    """How many keys of a mapping a class knows: the one that knows most is meant."""
    if not node.is_mapping or not isinstance(kind, type) or _is_scalar(kind) or kind in (*_LISTS, *_DICTS):
        return 0
    return len(node.mapping().keys() & _parameters(kind).keys())


def _fits(node: Node, kind: Any) -> bool:
    """Whether a value has the outward shape of a kind, so that errors speak about the one that was meant."""
    base, value = get_origin(kind) or kind, node.value
    if kind is Any or kind is Node:
        return True
    if base in _UNIONS:
        return any(_fits(node, choice) for choice in get_args(kind))
    if base is Literal:
        return any(_same(value, choice) for choice in get_args(kind))
    if base in _LISTS:
        return node.is_list
    if base in _DICTS:
        return node.is_mapping
    if _is_scalar(kind):
        return _is(value, kind)
    if isinstance(base, type) and isinstance(value, base):
        return True
    return node.is_mapping or hasattr(base, "from_node")


def _literal(node: Node, choices: tuple[Any, ...]) -> Any:
    for choice in choices:
        if _same(node.value, choice):
            return choice
    raise node.error(unknown("value", node.plain(), map(str, choices)))


def _same(value: Any, choice: Any) -> bool:
    return type(value) is type(choice) and value == choice


def _list(node: Node, base: Any, kinds: tuple[Any, ...]) -> Any:
    if base is np.ndarray:
        return _array(node)
    items = node.sequence()
    if base is tuple and kinds and kinds[-1] is not Ellipsis:
        if len(items) != len(kinds):
            plural = "" if len(kinds) == 1 else "s"
            raise node.error(f"expected {len(kinds)} value{plural}, got {len(items)}")
        return tuple(build(item, kind) for item, kind in zip(items, kinds, strict=True))
    values = [build(item, kinds[0] if kinds else Any) for item in items]
    return tuple(values) if base is tuple else values


def _array(node: Node) -> np.ndarray:
    return np.array(_numbers(node, top=True), dtype=float)


def _numbers(node: Node, top: bool = False) -> Any:
    if not node.is_list:
        if top:
            raise node.error(f"expected a list of numbers, got {node.shown()}")
        return _scalar(node, float)
    rows = [_numbers(item) for item in node.value]
    for row, item in zip(rows, node.value, strict=True):
        if np.shape(row) != np.shape(rows[0]):
            raise item.error(f"expected shape {np.shape(rows[0])} as before it, got {np.shape(row)}")
    return rows


def _is_scalar(kind: Any) -> bool:
    return kind in (float, int, bool, str, Path, None, type(None))


def _is(value: Any, kind: Any) -> bool:
    if kind is Path:
        return isinstance(value, (str, Path))
    if kind in (None, type(None)):
        return value is None
    if kind in (float, int):
        return isinstance(value, (int, float) if kind is float else int) and not isinstance(value, bool)
    return isinstance(value, kind)


def _scalar(node: Node, kind: Any) -> Any:
    value = node.value
    if not _is(value, kind):
        hint = " (put it in quotes)" if kind is str and isinstance(value, (bool, int, float)) else ""
        raise node.error(f"expected {describe(kind)}, got {node.shown()}{hint}")
    if kind is not float:
        return Path(value) if kind is Path else value
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise node.error(f"expected a finite number, got {node.shown()}")
    return number


def describe(kind: Any) -> str:
    """A type hint in words."""
    base = get_origin(kind) or kind
    if base in _UNIONS:
        return _one_of(get_args(kind))
    if base is Literal:
        return "one of " + ", ".join(map(repr, get_args(kind)))
    if base is np.ndarray or (base in _LISTS and get_args(kind)[:1] == (float,)):
        return "a list of numbers"
    if base in _LISTS:
        return "a list"
    if base in _DICTS:
        return "a mapping"
    if _is_scalar(kind):
        return _WORDS.get(kind, "null")
    return f"a mapping for {getattr(base, '__name__', base)}"


def _one_of(kinds: tuple[Any, ...]) -> str:
    """Type hints in words; kinds that look the same in a file are named once."""
    return " or ".join(dict.fromkeys(map(describe, kinds)))
