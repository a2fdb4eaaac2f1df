"""What a constructor may be given: names, type hints, defaults and the sentences of its docstring.

One reading of the code serves YAML files, their schema, and `sot show`.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from sot.errors import ConfigError
from sot.typed_yaml.typed import describe

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_PLAIN = (float, int, bool, str, Path, np.ndarray)
_ITEM = re.compile(r"(\w+): (.*)")


@dataclass(frozen=True)
class Parameter:
    """One argument of a constructor.

    Attributes:
        name: Its name, and its key in YAML.
        hint: Its type hint; `Any` if it has none.
        default: Its default, or `inspect.Parameter.empty`.
        text: What the docstring says about it.
    """

    name: str
    hint: Any
    default: Any
    text: str

    @property
    def required(self) -> bool:
        """True if there is no default."""
        return self.default is inspect.Parameter.empty


def parameters(kind: type) -> dict[str, Parameter]:
    """Arguments of a class by name. Where a constructor passes `**options` on, those of the base class follow."""
    found: dict[str, Parameter] = {}
    for owner in kind.__mro__:
        if "__init__" not in vars(owner) or owner is object:
            continue
        hints, texts = _hints(owner), _texts(owner)
        signature = list(inspect.signature(vars(owner)["__init__"]).parameters.values())[1:]
        for p in signature:
            if p.kind in _NAMED and p.name not in found:
                found[p.name] = Parameter(p.name, hints.get(p.name, Any), p.default, texts.get(p.name, ""))
        if all(p.kind is not p.VAR_KEYWORD for p in signature):
            break
    return found


def choices(hint: Any) -> tuple[Any, ...]:
    """The members of a union, or the hint alone."""
    if (get_origin(hint) or hint) in (Union, types.UnionType):
        return tuple(choice for part in get_args(hint) for choice in choices(part))
    return (hint,)


def accepts(hint: Any, kind: Any) -> bool:
    """Whether a union names a kind, or a hint is one."""
    return any((get_origin(choice) or choice) is kind for choice in choices(hint))


def takes_function(hint: Any) -> bool:
    """Whether an argument may be a Python function."""
    return accepts(hint, Callable) or accepts(hint, get_origin(Callable[[], Any]))


def in_words(hint: Any) -> str:
    """What may be given, for people."""
    words: list[str] = []
    for choice in choices(hint):
        if choice is Any:
            word = "a value"
        elif takes_function(choice):
            word = "a function"
        elif isinstance(choice, type) and choice not in _PLAIN:
            word = f"{choice.__name__} {{...}}"
        else:
            word = describe(choice)
        words += [] if word in words or choice is type(None) else [word]
    return " or ".join(words)


def summary(kind: type) -> str:
    """First sentence of a class's docstring."""
    paragraph = (inspect.getdoc(kind) or "").split("\n\n")[0]
    return " ".join(paragraph.split())


def _hints(owner: type) -> dict[str, Any]:
    try:
        return get_type_hints(vars(owner)["__init__"])
    except NameError as error:
        raise ConfigError(f"the type hints of {owner.__qualname__} cannot be read: {error}") from error


def _texts(owner: type) -> dict[str, str]:
    """Sentences under `Args:` of the constructor, or under `Attributes:` of a dataclass."""
    doc = (
        inspect.getdoc(owner) if dataclasses.is_dataclass(owner) else inspect.getdoc(vars(owner)["__init__"])
    )
    texts: dict[str, str] = {}
    name = ""
    for line in re.split(r"(?:Args|Attributes):\n", doc or "")[-1].splitlines():
        item = _ITEM.fullmatch(line.strip())
        indent = len(line) - len(line.lstrip())
        if item and indent == 4:
            name = item[1]
            texts[name] = item[2]
        elif name and indent > 4:
            texts[name] += " " + line.strip()
        elif line.strip():
            name = ""
    return texts
