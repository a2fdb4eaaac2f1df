"""What the words of a YAML file stand for: tasks, references, functions; built in, or from a user's files."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from sot.entry import Entry
from sot.errors import SotError, unknown
from sot.reference import KINDS, Reference
from sot.typed_yaml.node import Node


@dataclass
class Catalog:
    """Words and their meanings.

    Attributes:
        entries: Tasks and constraints by kind.
        references: References by kind.
        functions: Functions of the user's files, by `file.function`.
    """

    entries: dict[str, type[Entry]]
    references: dict[str, type[Reference]]
    functions: dict[str, Callable[..., Any]] = field(default_factory=dict)

    def add_plugin(self, node: Node, folder: Path) -> None:
        """Take over what a Python file (`my_tasks.py`, beside the YAML file) or an installed module defines."""
        module = _load(node, folder)
        for name, thing in list(vars(module).items()):
            if name.startswith("_") or getattr(thing, "__module__", None) != module.__name__:
                continue
            if inspect.isclass(thing) and issubclass(thing, Entry) and not inspect.isabstract(thing):
                self._add(node, self.entries, thing)
            elif inspect.isclass(thing) and issubclass(thing, Reference) and not inspect.isabstract(thing):
                self._add(node, self.references, thing)
            elif inspect.isfunction(thing):
                self.functions[f"{module.__name__.rpartition('.')[2]}.{name}"] = thing

    def _add(self, node: Node, known: dict[str, Any], kind: Any) -> None:
        if "kind" not in vars(kind):
            raise node.error(f'class {kind.__name__} needs a name for YAML files: give it kind = "..."')
        if known.get(kind.kind, kind) is not kind:
            raise node.error(
                f"class {kind.__name__}: the kind {kind.kind!r} is taken by {known[kind.kind].__name__}"
            )
        known[kind.kind] = kind

    def function(self, node: Node) -> Callable[..., Any]:
        """The function that a text names."""
        if node.value not in self.functions:
            hint = "" if self.functions else " (functions come from the Python files listed under plugins)"
            raise node.error(unknown("function", node.plain(), self.functions) + hint)
        return self.functions[node.value]

    def function_name(self, function: object) -> str | None:
        """The name of a function, if it has one here."""
        return next((name for name, known in self.functions.items() if known is function), None)


def built_in() -> Catalog:
    """What there is without plugins."""
    from sot import tasks  # the framework knows no task until it is asked for one

    return Catalog(tasks.kinds(), dict(KINDS))


def _load(node: Node, folder: Path) -> ModuleType:
    if not isinstance(node.value, str) or not node.value:
        raise node.error(f"expected a Python file or a module, got {node.shown()}")
    try:
        return _from_file(node, folder) if node.value.endswith(".py") else importlib.import_module(node.value)
    except SotError:
        raise
    except (Exception, SystemExit) as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f" ({place.filename}:{place.lineno})" if place.filename.endswith(".py") else ""
        raise node.error(f"cannot be imported: {type(error).__name__}: {error}{where}") from error


def _from_file(node: Node, folder: Path) -> ModuleType:
    path = (folder / Path(node.value).expanduser()).resolve()
    if not path.is_file():
        raise node.error(f"no such file: {path}")
    name = f"sot_plugin.{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise node.error(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # before it runs: dataclasses and type hints look their module up
    sys.path.insert(0, str(path.parent))  # as for a script: the files beside it can be imported
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module
