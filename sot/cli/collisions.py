"""`sot collisions`: the collision bodies of a robot and the pairs to watch, as a file and as a report."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from sot.cli.show import table
from sot.errors import ConfigError

if TYPE_CHECKING:
    from sot.collision.bodies import Made as Body
    from sot.collision.pairs import Pair
    from sot.collision.survey import Survey

BAR = 30  # characters
EXAMPLES = 4  # pairs shown for each reason not to watch them
WIDTH = 110


@dataclass(frozen=True, eq=False)
class Made:
    """A file that was written, what is in it, and how long it took (s)."""

    file: Path
    found: Survey
    seconds: float


def make(robot: str, output: str | None, options: Mapping[str, Any]) -> Made:
    """Make bodies, choose pairs and write them to a file.

    Args:
        robot: Name or file of a robot.
        output: File to write; by default one named after the robot, which must not be there yet.
        options: Of `sot.collision.survey.survey`; what is not given has its default.
    """
    from sot.collision.file import write_collisions
    from sot.collision.survey import survey
    from sot.robots import load

    _check(options)
    description = load(robot)
    file = Path(output or f"{description.name}.collisions.yaml")
    if output is None and file.exists():
        raise ConfigError(f"{file}: there is such a file already; to write over it: --output {file}")
    start = time.perf_counter()
    with Progress() as progress:
        found = survey(description, **options, progress=progress)
    _write(file, write_collisions(found, command(robot, options)))
    return Made(file, found, time.perf_counter() - start)


def _check(options: Mapping[str, Any]) -> None:
    for name, low, high in (
        ("corners", 4, 200), ("samples", 1, 1_000_000), ("margin", 0.0, 1.0), ("seed", 0, 2**32),
    ):  # fmt: skip
        if name in options and not (low <= options[name] <= high):
            raise ConfigError(f"--{name}: expected a number from {low:g} to {high:g}, got {options[name]:g}")


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{file}: cannot be written: {error.strerror or error}") from None


def command(robot: str, options: Mapping[str, Any]) -> str:
    """The command that gives this again."""
    words = ["sot", "collisions", robot]
    for key, value in options.items():
        for one in value if isinstance(value, list) else [value]:
            words += [f"--{key}", str(one)]
    return shlex.join(words)


# -- the report --------------------------------------------------------------------------------------


def report(made: Made) -> str:
    """Bodies, pairs that are watched, and why the others are not, for people."""
    found = made.found
    lines = [f"{found.robot.name}: {len(found.bodies)} bodies\n", table([_body(one) for one in found.bodies])]
    lines.append("(how far a body reaches beyond the hull of its shapes, and its volume in volumes of that hull)")
    if found.inside:
        lines += ["", *_paragraph("inside another body, left out: ", _held(found.inside))]
    if found.unseen:
        lines += ["", *_paragraph("seen, but without collision geometry (see --visual): ", found.unseen)]
    lines += ["", f"{len(found.watched)} of {len(found.pairs)} pairs are watched", *_watched(found)]
    lines += ["", f"{len(found.pairs) - len(found.watched)} are not", *_dropped(found)]
    return "\n".join([*lines, "", f"written to {made.file} ({made.seconds:.1f} s)"])


def _body(made: Body) -> dict[str, Any]:
    return {
        "body": made.body.name,
        "kind": made.form.kind,
        "size": made.form.size,
        "inflation": f"{1e3 * made.inflation.distance:.1f} mm",
        "volume": f"{made.inflation.volume:.2f}",
        "shapes": _shapes(made.part.links, len(made.part.sources)),
    }


def _shapes(links: Sequence[str], count: int) -> str:
    if count == 1:
        return ""
    others = f", also of {', '.join(links[1:3])}{', …' if len(links) > 3 else ''}" if len(links) > 1 else ""
    return f"{count} in one{others}"


def _held(inside: dict[str, str]) -> list[str]:
    """Shapes by the body that holds them."""
    holders: dict[str, list[str]] = {}
    for shape, holder in inside.items():
        holders.setdefault(holder, []).append(shape)
    return [f"{', '.join(shapes)} (in {holder})" for holder, shapes in holders.items()]


def _watched(found: Survey) -> list[str]:
    """Whom each body must not touch, the pairs one after the other."""
    others: dict[str, list[str]] = {}
    for pair in found.watched:
        first, second = found.names(pair)
        others.setdefault(first, []).append(second)
    return [line for name, names in others.items() for line in _paragraph(f"{name} – ", names)]


def _dropped(found: Survey) -> list[str]:
    from sot.collision.pairs import REASONS, THOUGHT

    lines = []
    for group, words in REASONS.items():
        pairs = [pair for pair in found.pairs if pair.group == group]
        if not pairs:
            continue
        shown = pairs if group in THOUGHT else pairs[:EXAMPLES]
        lines.append(f"  {len(pairs)} {words}")
        lines += [f"    {' – '.join(found.names(pair))}: {pair.reason}" for pair in shown]
        lines += [f"    … and {len(pairs) - len(shown)} more"] if len(pairs) > len(shown) else []
    return lines


def _paragraph(title: str, words: Sequence[str]) -> list[str]:
    """Words in lines that are not too long."""
    text = title + ", ".join(words)
    return wrap(text, WIDTH, initial_indent="  ", subsequent_indent="      ", break_on_hyphens=False)


def facts(made: Made) -> dict[str, Any]:
    """The report as data; lengths in m."""
    found = made.found
    return {
        "robot": found.robot.name,
        "file": str(made.file),
        "seconds": made.seconds,
        "bodies": [
            {
                "name": one.body.name, "links": list(one.part.links), "kind": one.form.kind, **one.form.numbers,
                "inflation": one.inflation.distance, "volume_ratio": one.inflation.volume,
            }
            for one in found.bodies
        ],
        "inside": found.inside,
        "unseen": found.unseen,
        "pairs": [_pair(found, pair) for pair in found.watched],
        "dropped": [
            {**_pair(found, pair), "group": pair.group, "reason": pair.reason} for pair in found.pairs if pair.group
        ],
    }  # fmt: skip


def _pair(found: Survey, pair: Pair) -> dict[str, Any]:
    return {"bodies": list(found.names(pair)), "home": pair.home, "nearest": pair.nearest, "close": pair.close}


# -- progress ----------------------------------------------------------------------------------------


class Progress:
    """A bar on stderr, if that is a terminal."""

    def __init__(self) -> None:
        self._shows = sys.stderr.isatty()
        self._last = ""

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._last:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def __call__(self, what: str, done: float) -> None:
        """Show how much of something is done, from 0 to 1."""
        text = f"{what:8}{'█' * round(BAR * done):·<{BAR}} {100.0 * done:3.0f} %"
        if self._shows and text != self._last:
            print(f"\r{text}", end="", file=sys.stderr, flush=True)
            self._last = text
