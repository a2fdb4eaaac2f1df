"""The schema says what the loader does: it takes every file that is right, and finds every misspelt word."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import plugins
import pytest
from stack_files import FILES, REFERENCES, yaml_arguments

from sot.cli.commands import schema_text
from sot.config import parse_run
from sot.config.schema import schema
from sot.errors import ConfigError
from sot.typed_yaml import dump, read

KEPT = Path(__file__).parent.parent / "docs" / "sot.schema.json"
CHECK = jsonschema.Draft7Validator(schema())


def test_the_kept_schema_is_up_to_date():
    assert KEPT.read_text(encoding="utf-8") == schema_text(), (
        "write it anew: sot schema > docs/sot.schema.json"
    )


def test_it_is_a_schema():
    jsonschema.Draft7Validator.check_schema(schema())


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_examples_are_right(file: Path):
    CHECK.validate(read(file).plain())


@pytest.mark.parametrize("kind", plugins.task_classes())
def test_all_arguments_of_every_task_are_right(kind: type):
    arguments = (
        yaml_arguments(kind, plugins.model_of(plugins.a_robot_for(kind)))
        if kind.kind != "generic"
        else {"value": "a.b", "jacobian": "a.c"}
    )
    CHECK.validate({"robot": "panda", "stack": [[{kind.kind: arguments}]]})


@pytest.mark.parametrize("kind", REFERENCES)
def test_all_arguments_of_every_reference_are_right(kind: str):
    CHECK.validate(
        {"robot": "ur5", "stack": [{"position": {"frame": "tool0", "reference": {kind: REFERENCES[kind]}}}]}
    )


def keys(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every key."""
    for key, child in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        if isinstance(value, dict):
            yield (*path, key)
        yield from keys(child, (*path, key))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_misspelt_key_is_found_by_schema_and_loader(file: Path):
    good = read(file).plain()
    for path in keys(good):
        bad = copy.deepcopy(good)
        place = bad
        for key in path[:-1]:
            place = place[key]
        place[f"{path[-1]}_"] = place.pop(path[-1])
        # The schema knows neither the names that a file gives nor the tasks of its plugins.
        if path[0] != "expect" and not ("plugins" in good and path[0] in ("stack", "plugins")):
            assert not CHECK.is_valid(bad), path
        with pytest.raises(ConfigError):
            parse_run(dump(bad), folder=file.parent)
