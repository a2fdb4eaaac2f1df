"""Arguments that several constructors share, written down once: the fields of a dataclass."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar, get_type_hints

F = TypeVar("F", bound=Callable[..., None])


def with_options_of(owner: type[Any]) -> Callable[[F], F]:
    """A constructor that ends in `**options` is shown with the fields of a dataclass in place of them.

    So `help`, stack files and their schema know names, types, defaults and sentences, which stand in the dataclass.
    """

    def join(init: F) -> F:
        own = [p for p in inspect.signature(init).parameters.values() if p.kind is not p.VAR_KEYWORD]
        known, hints = {p.name for p in own}, get_type_hints(owner)
        shared = [
            inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=hints[f.name])
            for f in dataclasses.fields(owner)
            if f.init and f.name not in known
        ]
        first = next(i for i, p in enumerate(own) if p.kind is p.KEYWORD_ONLY)
        signature = inspect.Signature([*own[:first], *shared, *own[first:]], return_annotation=None)
        init.__signature__ = signature  # type: ignore[attr-defined]  # what `inspect` looks at first
        del init.__annotations__["options"]
        init.__annotations__.update({p.name: p.annotation for p in shared})
        texts = _texts(owner)
        init.__doc__ = (init.__doc__ or "").rstrip() + "".join(texts[p.name] for p in shared)
        return init

    return join


def _texts(owner: type[Any]) -> dict[str, str]:
    """Lines on each field in the docstring of a dataclass, as they stand under `Args:` of a constructor."""
    lines = inspect.cleandoc(owner.__doc__ or "").partition("Attributes:\n")[2]
    items = re.findall(r"^    (\w+)(: .*(?:\n {5,}.*)*)", lines, re.MULTILINE)
    return {name: "\n            " + (name + text).replace("\n", "\n        ") for name, text in items}
