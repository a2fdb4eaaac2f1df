"""Malformed inputs by the hundred: valid files with one thing wrong, from a fixed seed.

Each mutation is wrong for sure (no valid file among them), and knows in which line it is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from robot_files import GOOD
from stack_files import FILES

COUNTABLE = (
    "gain",
    "dt",
    "duration",
    "ramp",
    "at",
    "radius",
    "frequency",
    "fade",
    "acceleration",
    "weight",
    "hand",
    "com",
)
NAMES = ("robot", "frame", "swap", "set", "axis", "mask")


@dataclass(frozen=True)
class Mutation:
    """A malformed file.

    Attributes:
        name: What was done to which file.
        content: The file.
        lines: Lines in which the error may be found; None: anywhere.
        folder: Where the file would stand.
    """

    name: str
    content: bytes
    lines: range | None
    folder: Path


@dataclass(frozen=True)
class Part:
    """A value of a YAML file and its text: `text[start:end]`."""

    path: tuple[Any, ...]
    node: Any
    start: int
    end: int
    line: int
    entry: int  # line in which the task, event or mapping around it begins

    @property
    def key(self) -> Any:
        return self.path[-1] if self.path else None

    @property
    def is_number(self) -> bool:
        return isinstance(self.node, yaml.ScalarNode) and self.node.tag.rpartition(":")[2] in ("int", "float")

    @property
    def is_text(self) -> bool:
        return isinstance(self.node, yaml.ScalarNode) and self.node.tag.endswith(":str")


def parts(text: str) -> Iterator[Part]:
    """All values of a YAML document."""

    def walk(node: Any, path: tuple[Any, ...], entry: int) -> Iterator[Part]:
        line = node.start_mark.line + 1
        yield Part(path, node, node.start_mark.index, node.end_mark.index, line, entry)
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                yield from walk(
                    value, (*path, key.value), key.start_mark.line + 1 if len(path) < 5 else entry
                )
        elif isinstance(node, yaml.SequenceNode):
            for i, item in enumerate(node.value):
                yield from walk(item, (*path, i), item.start_mark.line + 1 if len(path) < 3 else entry)

    yield from walk(yaml.compose(text, Loader=yaml.SafeLoader), (), 1)


NAMED = [file for file in FILES if "\nrobot: " in file.read_text()]  # worlds that bring their robot have own tests


def stack_files(count: int, seed: int = 0) -> list[Mutation]:
    """`count` malformed stack files, evenly spread over the examples and over what can be wrong."""
    rng = np.random.default_rng(seed)
    found: dict[bytes, Mutation] = {}
    while len(found) < count:
        for kind in KINDS:
            file = NAMED[rng.integers(len(NAMED))]
            text = re.sub(r"^# yaml-.*\n", "", file.read_text())
            mutated = KINDS[kind](text, rng)
            if mutated is not None:
                content, lines = mutated
                content = content.encode() if isinstance(content, str) else content
                found.setdefault(content, Mutation(f"{kind} {file.stem}", content, lines, file.parent))
    return list(found.values())[:count]


def _pick(choices: list[Part], rng: np.random.Generator) -> Part | None:
    return choices[rng.integers(len(choices))] if choices else None


def _replaced(text: str, part: Part, by: str) -> tuple[str, range]:
    return text[: part.start] + by + text[part.end :], range(part.entry, part.line + 1 + by.count("\n"))


def _unknown_key(text: str, rng: np.random.Generator) -> Any:
    keys = [
        (key, part)
        for part in parts(text)
        if isinstance(part.node, yaml.MappingNode)
        for key, _ in part.node.value
    ]
    key, part = keys[rng.integers(len(keys))]
    line = key.start_mark.line + 1
    at = rng.integers(key.start_mark.index, key.end_mark.index + 1)
    return text[:at] + "q" + text[at:], range(min(part.entry, line), line + 1)


def _wrong_type(text: str, rng: np.random.Generator) -> Any:
    part = _pick([p for p in parts(text) if p.is_number or (p.is_text and p.key in (*NAMES, "name"))], rng)
    if part is None:
        return None
    wrong = (
        ["{wrong: 1}", "[[a], b]", "true", "null"]
        if part.is_number
        else ["{wrong: 1}", "7", "1.5", "true", "[[1]]"]
    )
    if part.key == "acceleration":  # true takes the robot's own
        wrong.remove("true")
        wrong.remove("null")
    if part.key == "mask":
        wrong = ["{wrong: 1}", "7", "1.5", "true"]
    return _replaced(text, part, wrong[rng.integers(len(wrong))])


def _missing(text: str, rng: np.random.Generator) -> Any:
    """A required key is gone."""
    needed = (
        "robot",
        "stack",
        "frame",
        "at",
        "amplitude",
        "frequency",
        "radius",
        "speed",
        "set",
        "swap",
        "by",
    )
    part = _pick([p for p in parts(text) if p.key in needed and "obstacles" not in p.path], rng)  # those have defaults
    if part is None:
        return None
    begin = text.rindex(f"{part.key}:", 0, part.start)
    end = part.end
    if text[end : end + 2] == ", ":
        end += 2
    elif text[begin - 2 : begin] == ", ":
        begin -= 2
    return text[:begin] + text[end:], None


def _not_finite(text: str, rng: np.random.Generator) -> Any:
    part = _pick([p for p in parts(text) if p.is_number], rng)
    return (
        None if part is None else _replaced(text, part, [".nan", ".inf", "-.inf", "1e999"][rng.integers(4)])
    )


def _twice(text: str, rng: np.random.Generator) -> Any:
    """A key of a flow mapping or of the top is given twice."""
    mappings = [p for p in parts(text) if isinstance(p.node, yaml.MappingNode) and p.node.flow_style]
    part = _pick([p for p in mappings if p.node.value], rng)
    if part is None:
        key = ("robot", "dt", "duration", "stack")[rng.integers(4)]
        return text + f"{key}: 1\n", None
    key, value = part.node.value[rng.integers(len(part.node.value))]
    again = text[key.start_mark.index : value.end_mark.index]
    return text[: part.start + 1] + again + ", " + text[part.start + 1 :], range(part.line, part.line + 1)


def _nesting(text: str, rng: np.random.Generator) -> Any:
    """Lists and mappings where they should not be."""
    whole = [p for p in parts(text) if p.path in (("stack",), ("events",))]
    flow = [p for p in parts(text) if p.is_number or (p.is_text and p.key in NAMES and p.key != "mask")]
    if rng.integers(4) == 0:
        part = _pick(whole, rng)
        wrong = [
            "7",
            "text",
            "{}",
            "{a: 1}",
            "[[[joint_limits]]]",
            "[7]",
            "[{}]",
            "[[joint_limits, [posture]]]",
        ]
        body = wrong[rng.integers(len(wrong))] + "\n"
        return text[: part.start] + body + text[part.end :], range(part.entry, part.line + 1)
    part = _pick(flow, rng)
    if part is None:
        return None
    old = text[part.start : part.end]
    return _replaced(text, part, (f"[[[{old}]]]", f"{{{old}: {old}}}", f"[{{a: {old}}}]")[rng.integers(3)])


def _truncated(text: str, rng: np.random.Generator) -> Any:
    """The file ends inside a bracket."""
    inside = [p for p in parts(text) if getattr(p.node, "flow_style", None) is True and p.end - p.start > 2]
    part = _pick(inside, rng)
    return None if part is None else (text[: rng.integers(part.start + 1, part.end)], None)


def _binary(text: str, rng: np.random.Generator) -> Any:
    junk = [b"\xff", b"\x80\x81", b"\x00", b"\xc3\x28", b"\x07", b"\xfe\xff"][rng.integers(6)]
    data = text.encode()
    at = int(rng.integers(len(data)))
    return data[:at] + junk + data[at:], None


def _size(text: str, rng: np.random.Generator) -> Any:
    """A list of numbers or names has one too many, or one too few."""
    lists = [
        p
        for p in parts(text)
        if p.key in ("by", "amplitude", "normal", "swap")
        or (p.key == "reference" and p.node.tag.endswith("seq"))
    ]
    part = _pick(lists, rng)
    if part is None:
        return None
    items = [text[item.start_mark.index : item.end_mark.index] for item in part.node.value]
    return _replaced(text, part, "[" + ", ".join(items[:-1] if rng.integers(2) else [*items, items[0]]) + "]")


def _unknown_name(text: str, rng: np.random.Generator) -> Any:
    names = [
        p
        for p in parts(text)
        if (p.is_text and (p.key in NAMES or "swap" in p.path)) or (p.path[:1] == ("plugins",) and p.is_text)
    ]
    part = _pick(names, rng)
    old = text[part.start : part.end]
    at = int(rng.integers(len(old) + 1))
    return _replaced(text, part, old[:at] + "Q" + old[at:])


def _unknown_kind(text: str, rng: np.random.Generator) -> Any:
    part = _pick(
        [
            p
            for p in parts(text)
            if p.is_text and len(p.path) in (2, 3) and p.path[0] == "stack" and isinstance(p.key, int)
        ],
        rng,
    )
    return (
        None
        if part is None
        else _replaced(text, part, text[part.start : part.end] + "s" * int(rng.integers(1, 4)))
    )


def _negative(text: str, rng: np.random.Generator) -> Any:
    part = _pick(
        [p for p in parts(text) if p.is_number and p.key in COUNTABLE and float(p.node.value) > 0], rng
    )
    return None if part is None else _replaced(text, part, "-" + text[part.start : part.end])


KINDS = {
    "unknown key": _unknown_key, "wrong type": _wrong_type, "missing": _missing, "not finite": _not_finite,
    "twice": _twice, "nesting": _nesting, "truncated": _truncated, "binary": _binary, "size": _size,
    "unknown name": _unknown_name, "unknown kind": _unknown_kind, "negative": _negative,
}  # fmt: skip


def urdf_files(count: int, seed: int = 1) -> list[Mutation]:
    """`count` malformed URDF files."""
    rng = np.random.default_rng(seed)
    found: dict[bytes, Mutation] = {}
    while len(found) < count:
        for kind, mutate in URDF_KINDS.items():
            content = mutate(rng)
            if content != GOOD.encode():
                found.setdefault(content, Mutation(kind, content, None, Path()))
    return list(found.values())[:count]


def _substituted(pattern: str, by: list[str], rng: np.random.Generator) -> bytes:
    """One match of a pattern replaced; \\g<1> is its group."""
    matches = list(re.finditer(pattern, GOOD))
    match = matches[rng.integers(len(matches))]
    return (GOOD[: match.start()] + match.expand(by[rng.integers(len(by))]) + GOOD[match.end() :]).encode()


_NUMBER = r'(xyz|value|ixx|iyy|izz|lower|upper|effort|velocity|multiplier|offset)="([^"]*)"'
URDF_KINDS = {
    "not a number": lambda rng: _substituted(
        _NUMBER, [r'\1="nan"', r'\1="1,2"', r'\1=""', r'\1="\2 x"', r'\1="inf"', r'\1="0x1"'], rng
    ),
    "unknown link": lambda rng: _substituted(r'link="(\w+)"', [r'link="\1\1"', 'link=""', 'link="Q"'], rng),
    "name twice": lambda rng: _substituted(r'<link name="[bcd]"', ['<link name="a"', "<link"], rng),
    "joint type": lambda rng: _substituted(r'type="(\w+)"', [r'type="\1x"', 'type=""', ""], rng),
    "size": lambda rng: _substituted(r'xyz="([^"]*)"', [r'xyz="\1 1"', 'xyz="1"', 'xyz="0 1"'], rng),
    "negative": lambda rng: _substituted(r'(effort|velocity|value)="', [r'\1="-'], rng),
    "truncated": lambda rng: GOOD[: rng.integers(len(GOOD) - 1)].encode(),
    "lost character": lambda rng: _substituted(r'[>"=/]', [""], rng),
    "binary": lambda rng: _substituted(r"<", ["\x00<", "\x07<"], rng),
}
