"""Arguments that several constructors share, written down once: the fields of a dataclass."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar, cast, get_type_hints

from sot.errors import unknown

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

        @functools.wraps(init)
        def checked(self: object, *args: Any, **options: Any) -> None:
            for name in options:
                if name not in signature.parameters:
                    known = [name for name in signature.parameters if name != "self"]
                    raise TypeError(f"{type(self).__name__}: {unknown('argument', name, known)}")
            init(self, *args, **options)

        texts = _texts(owner)
        checked.__signature__ = signature  # type: ignore[attr-defined]  # what `inspect` looks at first
        checked.__annotations__ = {k: v for k, v in init.__annotations__.items() if k != "options"}
        checked.__annotations__.update({p.name: p.annotation for p in shared})
        checked.__doc__ = (init.__doc__ or "").rstrip() + "".join(texts[p.name] for p in shared)
        return cast(F, checked)

    return join


def _texts(owner: type[Any]) -> dict[str, str]:
    """Lines on each field in the docstring of a dataclass, as they stand under `Args:` of a constructor."""
    lines = inspect.cleandoc(owner.__doc__ or "").partition("Attributes:\n")[2]
    items = re.findall(r"^    (\w+)(: .*(?:\n {5,}.*)*)", lines, re.MULTILINE)
    return {name: "\n            " + (name + text).replace("\n", "\n        ") for name, text in items}
