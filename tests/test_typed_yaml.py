"""YAML becomes typed objects, and every mistake in it an error that names its place."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Optional

import numpy as np
import pytest

from sot.description.recipe import Recipe
from sot.errors import ConfigError, SotError, TaskError
from sot.typed_yaml import Node, arguments, build, dump, parse, read, wrap


@dataclass
class Point:
    name: str
    at: np.ndarray
    gain: float = 1.0


@dataclass
class Config:
    points: tuple[Point, ...] = ()
    kind: Literal["fixed", "free"] = "fixed"
    count: int = 0
    on: bool = False
    file: Path | None = None
    pair: tuple[float, str] = (0.0, "")
    table: dict[str, float] = field(default_factory=dict)
    gain: float | np.ndarray | None = None
    anything: Any = None
    old_style: Optional[int] = None  # noqa: UP045 - users still write it


TEXT = """\
# a comment
points:
  - name: tip
    at: [0.1, -2, 3e-3]
  - {name: base, at: [1, 2, 3], gain: 2}
kind: free
count: 3
on: true
file: a/b.yaml
pair: [1, one]
table: {x: 1, y: 2.5}
gain: [1.0, 2.0]
anything: {a: [1, x]}
"""


def test_a_file_becomes_typed_objects():
    config = build(parse(TEXT), Config)
    assert [point.name for point in config.points] == ["tip", "base"]
    np.testing.assert_array_equal(config.points[0].at, [0.1, -2.0, 0.003])
    assert (config.points[1].gain, type(config.points[1].gain)) == (2.0, float)
    assert (config.kind, config.count, config.on, config.file) == ("free", 3, True, Path("a/b.yaml"))
    assert config.pair == (1.0, "one") and config.table == {"x": 1.0, "y": 2.5}
    np.testing.assert_array_equal(config.gain, [1.0, 2.0])
    assert config.anything == {"a": [1, "x"]} and config.old_style is None


def test_nodes_know_their_place():
    node = parse(TEXT, "file.yaml")
    at = node.value["points"].value[0].value["at"]
    assert (at.source, at.line, at.path) == ("file.yaml", 4, "points[0].at")
    assert at.plain() == [0.1, -2, 0.003]
    assert str(at.error("no")) == "file.yaml:4: points[0].at: no"


@pytest.mark.parametrize(
    ("text", "value"),
    {
        **{"1e-3": 0.001, "1.": 1.0, ".5": 0.5, "-1E+2": -100.0, "+7": 7, "0x10": 16, "007": 7, "TRUE": True},
        **{
            word: word
            for word in ("on", "no", "1:30", "2020-01-01", "1_000", ".", "e3", "1.2.3", "--1", "0x")
        },
        **{"~": None, "": None, "'1'": "1", "-": [None]},
    }.items(),
)
def test_plain_values_are_those_of_yaml_1_2(text: str, value: object):
    got = parse(f"key: {text}" if text != "-" else "key:\n-").value["key"].plain()
    assert got == value and type(got) is type(value)


def test_what_is_dumped_can_be_read_back():
    config = build(parse(TEXT), Config)
    again = build(parse(dump(config)), Config)
    assert dump(again) == dump(config)
    np.testing.assert_array_equal(again.points[0].at, config.points[0].at)
    assert "old_style" not in dump(config)  # at its default


def test_text_that_looks_like_something_else_survives(tmp_path: Path):
    words = [
        "1e3",
        "true",
        "no",
        "null",
        "",
        "~",
        "1:30",
        "0x1F",
        "- a",
        "a: b",
        "#",
        "ü\n",
        "1_0",
        ".5",
        "=",
        "%",
    ]
    table = {word: word for word in words}
    assert parse(dump(table)).plain() == table
    (tmp_path / "x.yaml").write_text(dump(table), encoding="utf-8")
    assert read(tmp_path / "x.yaml").plain() == table


def test_random_numbers_survive_exactly():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((50, 3)) * 10.0 ** rng.integers(-12, 12, (50, 3))
    np.testing.assert_array_equal(build(parse(dump(values)), np.ndarray), values)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {"a": np.array([np.inf])}])
def test_what_could_not_be_read_back_is_not_dumped(value: object):
    with pytest.raises(ConfigError):
        dump(value)


# text, what the message must hold: the place first
MISTAKES = {
    "unknown key": (
        "points:\n- nmae: a\n  at: [1]\n",
        "f.yaml:2: points[0].nmae: unknown key 'nmae'; did you mean 'name'",
    ),
    "valid keys": ("points:\n- frobnicate: a\n", "Available: name, at, gain"),
    "unknown key on top": ("kind: free\nkinds: 1\n", "f.yaml:2: kinds: unknown key"),
    "missing key": ("points:\n\n  - name: a\n", "f.yaml:3: points[0]: the key 'at' is missing"),
    "literal": ("kind: fre\n", "f.yaml:1: kind: unknown value 'fre'; did you mean 'free'"),
    "number for text": (
        "points: [{name: 3, at: [1]}]",
        "f.yaml:1: points[0].name: expected text, got 3 (put it in quotes)",
    ),
    "text for number": ("count: 1\ntable:\n  x: one\n", "f.yaml:3: table.x: expected a number, got 'one'"),
    "text for list": (
        "points:\n- name: a\n  at: 1\n",
        "f.yaml:3: points[0].at: expected a list of numbers, got 1",
    ),
    "word in array": ("points: [{name: a, at: [1, x]}]", "points[0].at[1]: expected a number"),
    "ragged array": ("points: [{name: a, at: [[1, 2], [3]]}]", "points[0].at[1]: expected shape (2,)"),
    "bool in array": ("points: [{name: a, at: [true]}]", "points[0].at[0]: expected a number, got True"),
    "float for int": ("count: 1.5", "count: expected an integer, got 1.5"),
    "bool for int": ("count: true", "count: expected an integer, got True"),
    "yes for bool": ("on: yes", "on: expected true or false, got 'yes'"),
    "int for bool": ("on: 1", "on: expected true or false, got 1"),
    "nan": ("table: {x: .nan}", "table.x: expected a finite number, got nan"),
    "inf": ("table: {x: -.inf}", "table.x: expected a finite number, got -inf"),
    "too large": ("table: {x: 1e400}", "table.x: expected a finite number"),
    "too large integer": (f"table: {{x: {10**400}}}", "table.x: expected a finite number"),
    "too many digits": (f"table: {{x: {'9' * 6000}}}", "f.yaml:1: table.x: '9999"),
    "nan in array": ("points: [{name: a, at: [.nan]}]", "points[0].at[0]: expected a finite number"),
    "list for mapping": ("table: [1]", "table: expected a mapping"),
    "mapping for list": ("points: {a: 1}", "points: expected a list, got a mapping with a"),
    "null for list": ("points:\n", "points: expected a list, got nothing"),
    "pair too long": ("pair: [1, a, 2]", "pair: expected 2 values, got 3"),
    "union": ("gain: fast", "gain: expected a number or a list of numbers or null, got 'fast'"),
    "union, inside": ("gain: [1, fast]", "gain[1]: expected a number, got 'fast'"),
    "path": ("file: 3", "file: expected a path or null, got 3"),
    "top is a list": ("[1, 2]", "f.yaml:1: expected a mapping with keys points, kind"),
    "top is a word": ("hello", "f.yaml:1: expected a mapping"),
    "duplicate key": (
        "kind: free\ncount: 1\nkind: fixed\n",
        "f.yaml:3: kind: the key 'kind' is given twice, first in line 1",
    ),
    "duplicate, inside": ("table: {x: 1, x: 2}", "table.x: the key 'x' is given twice"),
    "empty": ("", "f.yaml: is empty"),
    "only a comment": ("# nothing\n", "f.yaml: is empty"),
    "syntax": ("points: [1, 2\nkind: free\n", "f.yaml:2: column"),
    "tab": ("table:\n\tx: 1\n", "f.yaml:2: column 1: is not valid YAML"),
    "unclosed quote": ("kind: 'free\n", "f.yaml:2:"),
    "bad indent": ("a:\n  b: 1\n c: 2\n", "f.yaml:3:"),
    "two documents": ("kind: free\n---\nkind: fixed\n", "f.yaml:2:"),
    "unknown alias": ("kind: *nothing\n", "f.yaml:1:"),
    "code": (
        "anything: !!python/object/apply:os.system ['true']",
        "anything: the tag 'tag:yaml.org,2002:python/object",
    ),
    "own tag": ("count: !three 3", "count: the tag '!three' is not supported"),
    "wrong tag": ("count: !!int three", "count: 'three' is not a number"),
    "list as key": ("? [a, b]\n: 1\n", "f.yaml:1: a key must be plain text"),
    "control character": ("kind: \x01\n", "f.yaml:1: the character U+0001"),
    "recursion": ("anything: &a [*a]", "nested deeper than 50 levels"),
    "recursion in keys": ("anything: &a {b: *a}", "nested deeper than 50 levels"),
    "deep": ("anything: " + "[" * 5000 + "]" * 5000, "f.yaml:1: column"),
    "deep blocks": ("".join("  " * i + "a:\n" for i in range(200)), "nested deeper than 50 levels"),
    "bomb": (
        "anything:\n- &a0 [x, x]\n" + "".join(f"- &a{i + 1} [*a{i}, *a{i}, *a{i}]\n" for i in range(30)),
        "more than 100000 values",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_named_with_their_place(name: str):
    text, message = MISTAKES[name]
    with pytest.raises(ConfigError) as caught:
        build(parse(text, "f.yaml"), Config)
    assert str(caught.value).startswith("f.yaml")
    assert message in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path):
    (tmp_path / "latin.yaml").write_bytes(b"a: 1\nname: caf\xe9\n")
    for path, message in {
        "none.yaml": "no such file",
        ".": "cannot be read",
        "latin.yaml": "latin.yaml:2: is not UTF-8 text (byte 0xe9)",
        "a\0b": "cannot be read",
    }.items():
        with pytest.raises(ConfigError) as caught:
            read(tmp_path / path)
        assert message in str(caught.value) and str(tmp_path) in str(caught.value)


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path):
    (tmp_path / "bom.yaml").write_bytes("count: 1".encode("utf-8-sig"))
    assert build(read(tmp_path / "bom.yaml"), Config).count == 1


def test_damaged_files_give_a_value_or_our_error():
    """600 random damages to a good file: never anything but a ConfigError that starts with the file's name."""
    rng = np.random.default_rng(1)
    scrap = list(":-[]{}&*!|>'\"%@`#,?\t\n \0~<.e9é\ufeff\x85")
    wrong = 0
    for _ in range(600):
        letters = list(TEXT)
        for _ in range(rng.integers(1, 4)):
            at = rng.integers(len(letters))
            letters[at : at + rng.integers(0, 3)] = rng.choice(scrap)
        try:
            build(parse("".join(letters), "f.yaml"), Config)
        except ConfigError as error:
            wrong += 1
            assert str(error).startswith("f.yaml")
    assert wrong > 200  # the damage was real


def test_python_values_pass_the_same_checks():
    config = build(
        wrap({"points": [{"name": "a", "at": np.arange(3)}], "count": np.int64(2)}, "call()"), Config
    )
    assert config.count == 2
    np.testing.assert_array_equal(config.points[0].at, [0.0, 1.0, 2.0])
    point = Point("b", np.zeros(3))
    assert build(wrap({"points": [point]}, "call()"), Config).points[0] is point
    with pytest.raises(ConfigError, match=r"call\(\): points\[0\]\.nmae: unknown key 'nmae'"):
        build(wrap({"points": [{"nmae": "a", "at": [1]}]}, "call()"), Config)


class Plain:
    """Any class with an annotated constructor can be built, and may check what it is given."""

    def __init__(self, size: float, label: str = "x") -> None:
        if not (size > 0.0):
            raise TaskError("size: must be above 0")
        self.size, self.label = size, label


class Own:
    """A class may read its node itself."""

    @classmethod
    def from_node(cls, node: Node) -> int:
        return len(node.sequence())


def test_plain_classes_and_own_readers():
    assert build(parse("{size: 2}"), Plain).size == 2.0
    with pytest.raises(ConfigError, match=r"f\.yaml:2: a: size: must be above 0"):
        build(parse("\na: {size: -1}", "f.yaml"), dict[str, Plain])
    assert build(parse("[1, 2]"), Own) == 2
    assert build(parse("a: [1, 2]"), dict[str, Own | None]) == {"a": 2}
    assert arguments(parse("{size: 2, label: y}"), Plain) == {"size": 2.0, "label": "y"}


def test_a_type_that_cannot_be_read_is_our_error():
    class Hidden:
        def __init__(self, x: NoSuchName) -> None:  # noqa: F821 - the point of the test
            pass

    for kind in (Hidden, dict.fromkeys, complex):
        with pytest.raises(SotError):
            build(parse("{x: 1}"), kind)


def test_a_robot_file_round_trip():
    text = "urdf: a.urdf\nroot: planar\nhome: {joints: {a: 1.0}, height: 0.5}\nlimits: {a: {position: [-1, 1]}}\n"
    recipe = build(parse(text), Recipe)
    assert recipe.home.joints == {"a": 1.0} and recipe.limits["a"].position == (-1.0, 1.0)
    assert dump(build(parse(dump(recipe)), Recipe)) == dump(recipe)
