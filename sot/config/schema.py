"""A JSON schema of stack files, from the code: editors complete and check YAML with it.

    sot schema > sot.schema.json

and as first line of a file:  # yaml-language-server: $schema=sot.schema.json
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import numpy as np

from sot.config import RunFile, worlds
from sot.config.catalog import built_in
from sot.config.parts import EVENTS
from sot.config.signature import Parameter, choices, parameters, summary, takes_function
from sot.description.recipe import Recipe
from sot.reference import Reference
from sot.typed_yaml.node import Node

Schema = dict[str, Any]

_PLAIN = {
    float: "number",
    int: "integer",
    bool: "boolean",
    str: "string",
    Path: "string",
    type(None): "null",
    None: "null",
}


def schema() -> Schema:
    """The schema of a stack file."""
    words = built_in()
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "sot stack file",
        **_file(),
        # Kinds from plugins are not known here, so a file with plugins may use others.
        "if": {"required": ["plugins"]},
        "then": {"properties": {"stack": _levels("open_entry")}},
        "else": {"properties": {"stack": _levels("entry"), "events": {"items": _pushed("entry")}}},
        "definitions": {
            "entry": _words(words.entries),
            "open_entry": _or_others(_ref("entry"), list(words.entries)),
            "reference": _words(words.references),
            "target": _target(list(words.references)),
            "event": {"oneOf": [_event(what, keys) for what, keys in EVENTS.items()]},
            "robot": _robot(),
            **{f"{name}_world": {**_object(worlds.find(name), {}), "description": summary(worlds.find(name))}
               for name in worlds.names()},
        },
    }  # fmt: skip


def _file() -> Schema:
    """All keys: those of every file, and at most one world. A world that brings its robot stands in for `robot`."""
    keys, names = _object(RunFile, _top()), worlds.names()
    either = {name: {"anyOf": [{"const": True}, _ref(f"{name}_world")]} for name in names}
    alone = [{"required": [name]} for name in names if worlds.find(name).brings_robot]
    pairs = [{"required": list(pair)} for pair in itertools.combinations(names, 2)]
    return {
        **keys,
        "properties": {**keys["properties"], **either},
        "not": {"anyOf": pairs},
        "oneOf": [{"required": ["robot"]}, *alone],
    }


def _top() -> dict[str, Schema]:
    """Keys of a file that say more than their type hint."""
    return {
        "robot": {"anyOf": [{"enum": _robot_names()}, {"type": "string"}, _ref("robot")]},
        "stack": {"type": "array", "minItems": 1},
        "dt": {"exclusiveMinimum": 0},
        "duration": {"exclusiveMinimum": 0},
        "plugins": {"items": {"type": "string"}},
        "events": {"items": _ref("event")},
        "expect": {"additionalProperties": {"type": "number", "exclusiveMinimum": 0}},
    }


def _robot_names() -> list[str]:
    from sot.robots import names

    return names()


def _robot() -> Schema:
    schema = _object(Recipe, {})
    name = {"type": "string", "description": "The robot, or robot file, that is changed by the other keys."}
    return {**schema, "properties": {"name": name, **schema["properties"]}}


def _levels(entry: str) -> Schema:
    return {"items": {"if": {"type": "array"}, "then": {"items": _ref(entry)}, "else": _ref(entry)}}


def _pushed(entry: str) -> Schema:
    return {"properties": {"push": _ref(entry)}}


def _or_others(known: Schema, words: list[str]) -> Schema:
    """What is known, or one word that is not."""
    is_known = {"propertyNames": {"enum": words}} if words else {}
    other = {"type": ["object", "string"], "minProperties": 1, "maxProperties": 1}
    return {"if": {"type": "object", **is_known}, "then": known, "else": other}


def _words(kinds: Mapping[str, type]) -> Schema:
    """`word: {arguments}`, or the word alone where no argument is required."""
    short = [word for word, kind in kinds.items() if not any(p.required for p in parameters(kind).values())]
    bodies = {word: _body(kind, word in short) for word, kind in kinds.items()}
    return {
        "type": ["object", "string"],
        "minProperties": 1,
        "maxProperties": 1,
        "properties": bodies,
        "additionalProperties": False,
        "if": {"type": "string"},
        "then": {"enum": short},
    }


def _target(words: list[str]) -> Schema:
    """A reference, or a value; of these only a table of joints is a mapping, and never one of mappings."""
    table = {"propertyNames": {"not": {"enum": words}}, "additionalProperties": {"not": {"type": "object"}}}
    return {"if": {"type": "object", "not": table}, "then": _ref("reference")}


def _body(kind: type, may_be_empty: bool) -> Schema:
    body = {**_object(kind, {}), "description": summary(kind)}
    return {**body, "type": ["object", "null"]} if may_be_empty else body


def _event(what: str, keys: Sequence[str]) -> Schema:
    parts: dict[str, Schema] = {
        "at": {"type": "number", "minimum": 0, "description": "When, s."},
        "push": _ref("open_entry"),
        "level": {"type": ["integer", "null"], "minimum": 0},
        "insert": {"type": "boolean"},
        "remove": {"type": "string"},
        "swap": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2},
        "set": {"type": "string"},
        "reference": _ref("target"),
        "ramp": {"type": "number", "minimum": 0, "description": "Seconds in which the stack is blended."},
    }
    required = ["at", what, "reference"] if what == "set" else ["at", what]
    properties = {key: parts[key] for key in ("at", *keys)}
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _object(kind: type, known: Mapping[str, Schema]) -> Schema:
    """A mapping whose keys are the arguments of a class."""
    found = parameters(kind).values()
    schema: Schema = {
        "type": "object",
        "properties": {p.name: {**_typed(p), **known.get(p.name, {})} for p in found},
        "additionalProperties": False,
    }
    required = [p.name for p in found if p.required]
    return {**schema, "required": required} if required else schema


def _typed(parameter: Parameter) -> Schema:
    schema = _hint(parameter.hint)
    if "$ref" in schema:
        schema = {"allOf": [schema]}  # what stands beside a $ref is not looked at
    return {**schema, "description": parameter.text} if parameter.text else schema


def _hint(hint: Any) -> Schema:
    """What a type hint allows."""
    members = choices(hint)
    if any(member is Reference for member in members):
        return _ref("target")
    if any(member is Any or member is Node for member in members):
        return {}
    schemas: list[Schema] = []
    for member in members:
        schema = _one(member)
        if schema not in schemas:
            schemas.append(schema)
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _one(hint: Any) -> Schema:
    base, arguments = get_origin(hint) or hint, get_args(hint)
    if base in _PLAIN:
        return {"type": _PLAIN[base]}
    if base is Literal:
        return {"enum": list(arguments)}
    if takes_function(hint):
        return {"type": "string"}
    if base is np.ndarray:
        return {"type": "array"}
    if base is tuple and arguments and arguments[-1] is not Ellipsis:
        return {
            "type": "array",
            "items": _hint(arguments[0]),
            "minItems": len(arguments),
            "maxItems": len(arguments),
        }
    if base in (list, tuple, Sequence):
        return {"type": "array", "items": _hint(arguments[0])} if arguments else {"type": "array"}
    if base in (dict, Mapping):
        return (
            {"type": "object", "additionalProperties": _hint(arguments[1])}
            if arguments
            else {"type": "object"}
        )
    if hasattr(base, "variants"):
        return _words(base.variants())
    return _object(base, {}) if isinstance(base, type) and parameters(base) else {}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/definitions/{name}"}
