"""Stacks and runs as YAML text: what `sot.config` reads."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from sot.config import RunConfig, RunFile
from sot.config.catalog import Catalog, built_in
from sot.config.events import Event, Push, Remove, SetReference, Swap
from sot.config.signature import Parameter, accepts, parameters
from sot.config.worlds import DEFAULT
from sot.entry import Entry
from sot.errors import ConfigError
from sot.lie import SE3
from sot.reference import Hold, Reference, as_reference
from sot.stack import Stack
from sot.typed_yaml import dump as to_text

ABSENT = inspect.Parameter.empty
CHANGING = ("name", "gain", "weight", "mask", "reference")  # what a task may be given anew after it was made


def dump(config: RunConfig | Stack, words: Catalog | None = None) -> str:
    """YAML text of a run, or of a stack (the value of the key `stack`). What has its default is left out.

    Raises:
        ConfigError: Something has no words in YAML, such as a function that is in no plugin.
    """
    if isinstance(config, Stack):
        return to_text({"stack": plain_stack(config, words or built_in())})
    defaults = {f.name: f.default for f in dataclasses.fields(RunFile)}
    result: dict[str, Any] = {} if config.world.brings_robot else {"robot": config.given_robot or config.robot.name}
    for key in ("solver", "backend", "output", "dt", "duration"):
        if getattr(config, key) != defaults[key]:
            result[key] = getattr(config, key)
    if config.impedance is not None:
        result["impedance"] = _plain(config.impedance, config.words)
    if (options := config.world.plain()) or config.world.kind != DEFAULT:
        result[config.world.kind] = options or True
    if config.plugins:
        result["plugins"] = list(config.plugins)
    result["stack"] = plain_stack(config.stack, config.words)
    if config.events:
        result["events"] = [plain_event(event, config.words) for event in config.events]
    if config.expect:
        result["expect"] = config.expect
    return to_text(result)


def plain_stack(stack: Stack, words: Catalog) -> list[Any]:
    """A stack as lists and dicts."""
    return [[plain_entry(entry, words) for entry in level] for level in stack.levels]


def plain_entry(entry: Entry, words: Catalog) -> Any:
    """An entry as {kind: {arguments}}, or as its kind if all arguments have their defaults."""
    if words.entries.get(entry.kind) is not type(entry):
        raise ConfigError(f"{entry!r}: YAML files do not know the class {type(entry).__name__}; see plugins")
    return _with_arguments(entry, entry.kind, words)


def plain_reference(reference: Reference, words: Catalog) -> Any:
    """A reference as {kind: {arguments}}; a value to hold as the value."""
    if isinstance(reference, Hold) and reference.value is not None:
        return _plain(reference.value, words)
    return _with_arguments(reference, reference.kind, words)


def plain_event(event: Event, words: Catalog) -> dict[str, Any]:
    """An event as a dict."""
    result: dict[str, Any] = {"at": event.at}
    if isinstance(event, Push):
        result["push"] = plain_entry(event.entry, words)
        result.update({key: value for key in ("level", "insert") if (value := getattr(event, key))})
    elif isinstance(event, Remove):
        result["remove"] = event.name
    elif isinstance(event, Swap):
        result["swap"] = [event.first, event.second]
    elif isinstance(event, SetReference):
        return {**result, "set": event.name, "reference": plain_reference(event.reference, words)}
    return {**result, "ramp": event.ramp}  # type: ignore[attr-defined]  # the three above have one


def _with_arguments(thing: Any, kind: str, words: Catalog) -> Any:
    arguments: dict[str, Any] = {}
    for parameter in parameters(type(thing)).values():
        value = _argument(thing, parameter, words)
        if value is not ABSENT:
            arguments[parameter.name] = value
    return {kind: arguments} if arguments or isinstance(thing, Reference) else kind


def _argument(thing: Any, parameter: Parameter, words: Catalog) -> Any:
    """The plain value of an argument, or ABSENT if it has its default."""
    value = _current(thing, parameter)
    if value is ABSENT or (parameter.name == "name" and value == thing.default_name()):
        return ABSENT
    default = parameter.default
    if accepts(parameter.hint, Reference):
        default = as_reference(default)
    plain = _plain(value, words)
    return ABSENT if not parameter.required and plain == _plain(default, words) else plain


def _current(thing: Any, parameter: Parameter) -> Any:
    """An argument as it is now: what may change from its attribute, the rest as it was given or is kept."""
    given, name = getattr(thing, "given", None), parameter.name
    if given is not None and name not in CHANGING:
        return given.get(name, ABSENT)
    for owner in (thing, getattr(thing, "feature", None)):
        if hasattr(owner, name):
            return getattr(owner, name)
    raise ConfigError(
        f"{thing!r} cannot be written to YAML: it has no attribute {name!r}, as its argument is called"
    )


def _plain(value: Any, words: Catalog) -> Any:
    """A value as YAML can hold it."""
    if isinstance(value, Reference):
        return plain_reference(value, words)
    if hasattr(value, "plain") and hasattr(value, "variants"):  # one of several kinds, with its word
        return _plain(value.plain(), words)
    if isinstance(value, SE3):
        return value.homogeneous.tolist()
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(item, words) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item, words) for key, item in value.items()}
    if callable(value):
        name = words.function_name(value)
        if name is None:
            shown = getattr(value, "__qualname__", value)
            raise ConfigError(f"the function {shown!r} is in no plugin, so YAML has no name for it")
        return name
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name), words) for f in dataclasses.fields(value)}
    return value
