"""Which pairs of a robot's bodies to watch, and why not the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from sot.collision.bodies import Made, Progress
from sot.collision.coal_door import Meshes
from sot.collision.parts import matching
from sot.collision.sampling import Distances, Nearness, Samples
from sot.description import Description
from sot.description.xml_tree import read_xml
from sot.errors import ConfigError
from sot.model import Model

Source = Literal["srdf", "sampled"]

SAMPLES = 5000
MARGIN = 0.01  # m; what the constraint keeps
SMOOTH = 0.002  # m; what smooth distances are usually short of exact ones
FAR = 0.04  # m above the margin; pairs that never come closer are not watched
ALWAYS = 0.95  # share of samples: more is almost always
NEAR = 3  # joints between two bodies that are near neighbours
LOOKS = 300  # samples at which the meshes of near neighbours are compared …
FEW = 30  # … and with how few close ones nothing can be said
FALSE_ALARMS = 0.1  # share of samples in which near neighbours may be held apart for nothing …
TRUE_ALARMS = 0.25  # … unless so many of the alarms are true

# Why a pair is not watched, in the order in which it is asked.
REASONS = {
    "neighbours": "on the same joint or on neighbouring ones",
    "asked": "left out on request",
    "srdf": "disabled by the SRDF",
    "home": "too close at home in the approximation",
    "always": "(almost) always too close",
    "far": "never come close",
    "meshes": "near neighbours that come close in the approximation, their meshes rarely or never",
}
THOUGHT = ("asked", "home", "always", "meshes")  # those a user may want to think about: reports name every pair


@dataclass(frozen=True)
class Pair:
    """Two bodies, and whether to watch them.

    Attributes:
        first: Index of one.
        second: Index of the other, larger than the first.
        group: Key of `REASONS` if the pair is not watched, else empty.
        reason: Why not, in words.
        home: Distance at home, m; NaN if nobody asked.
        nearest: Smallest distance found, m; NaN if nobody asked.
        close: Share of the samples in which they are closer than the margin.
        meshes: Distance of the meshes at home, m; NaN if nobody asked.
    """

    first: int
    second: int
    group: str = ""
    reason: str = ""
    home: float = np.nan
    nearest: float = np.nan
    close: float = np.nan
    meshes: float = np.nan


def judge_pairs(
    robot: Description,
    made: Sequence[Made],
    source: Source = "sampled",
    samples: int = SAMPLES,
    seed: int = 0,
    margin: float = MARGIN,
    ignore: Sequence[str] = (),
    progress: Progress | None = None,
) -> list[Pair]:
    """Every pair of bodies, watched or not.

    Args:
        robot: The robot.
        made: Its bodies.
        source: `sampled`: what comes close in random configurations; `srdf`: all that the SRDF does not disable.
        samples: How many configurations.
        seed: Of the random numbers.
        margin: Distance that is going to be kept, m.
        ignore: Pairs not to watch: `body=body,body`, names or patterns.
        progress: Told what is done and how much of it.
    """
    check_source(robot, source)
    disabled = srdf_disabled(robot)
    moved = Samples(Model(robot), samples if source == "sampled" else 0, seed)
    judge = _Judge(robot, made, disabled, moved, margin, _ignored(ignore, [one.body.name for one in made]))
    pairs = list(combinations(range(len(made)), 2))
    verdicts = []
    for i, (first, second) in enumerate(pairs):
        verdicts.append(judge.verdict(first, second))
        if progress is not None:
            progress("pairs", (i + 1) / len(pairs))
    return verdicts


def check_source(robot: Description, source: Source) -> None:
    """Refuse to ask an SRDF that is not there, or says nothing."""
    if source == "srdf" and not srdf_disabled(robot):
        raise ConfigError(f"robot '{robot.name}' has no SRDF that disables pairs of links; take sampled pairs")


def srdf_disabled(robot: Description) -> dict[frozenset[str], str]:
    """Pairs of links that the robot's SRDF disables, with its reasons."""
    if robot.srdf is None or robot.collision_pairs != "srdf":
        return {}
    entries = read_xml(robot.srdf, "SRDF").all("disable_collisions")
    return {frozenset((e.text("link1"), e.text("link2"))): e.attributes.get("reason", "") for e in entries}


def _ignored(texts: Sequence[str], names: Sequence[str]) -> set[frozenset[str]]:
    """Pairs of names that `body=body,body` means."""
    pairs: set[frozenset[str]] = set()
    for text in texts:
        first, _, rest = text.partition("=")
        if not rest:
            raise ConfigError(f"ignore: expected body=body, or body=body,body, got {text!r}")
        one, other = (matching(names, part.split(","), "body") for part in (first, rest))
        pairs |= {frozenset((a, b)) for a in one for b in other}
    return pairs


class _Judge:
    """Asks the questions of `REASONS` about each pair."""

    def __init__(
        self,
        robot: Description,
        made: Sequence[Made],
        disabled: Mapping[frozenset[str], str],
        samples: Samples,
        margin: float,
        ignored: set[frozenset[str]],
    ) -> None:
        self.ignored = ignored
        self.made, self.disabled, self.samples, self.margin = made, disabled, samples, margin
        self.distances = Distances(samples, [one.body for one in made])
        self.count = len(samples.q) - 1
        self.above = _carriers_above(robot, {one.body.joint for one in made} | {0})

    def verdict(self, first: int, second: int) -> Pair:
        a, b = (self.made[i].body.joint for i in (first, second))
        if a == b or self.above[a] == b or self.above[b] == a:
            words = "on the same joint" if a == b else "on neighbouring joints"
            return Pair(first, second, "neighbours", words)
        if frozenset(self.made[i].body.name for i in (first, second)) in self.ignored:
            return Pair(first, second, "asked", "as asked")
        reason = self._disabled(first, second)
        if reason is not None:
            return Pair(first, second, "srdf", f"disabled by the SRDF{f' ({reason})' if reason else ''}")
        is_near = len(self.samples.between(a, b)) <= NEAR
        far = self.margin + (0.0 if is_near else FAR)
        near = self.distances.nearness(first, second, self.margin, far if self.count else np.inf)
        share = len(near.close) / max(1, self.count)
        numbers = near.home, near.nearest, share
        if not (near.home > self.margin + SMOOTH):
            apart = self._meshes(first, second).distance(self.samples.poses[0])
            return Pair(first, second, "home", _home_words(near.home, apart), *numbers, apart)
        if share >= ALWAYS:
            return Pair(first, second, "always", f"{self._close(share)} of the samples", *numbers)
        if self.count and near.nearest > far:
            return Pair(first, second, "far", f"never closer than {1e3 * near.nearest:.0f} mm", *numbers)
        words = self._false_alarm(first, second, near, share) if is_near else ""
        return Pair(first, second, "meshes" if words else "", words, *numbers)

    def _disabled(self, first: int, second: int) -> str | None:
        """The SRDF's reason, if it disables the pair: for all links in the two bodies."""
        links = [(x, y) for x in self.made[first].part.links for y in self.made[second].part.links]
        if not all(frozenset(pair) in self.disabled for pair in links):
            return None
        return self.disabled[frozenset(links[0])]

    def _false_alarm(self, first: int, second: int, near: Nearness, share: float) -> str:
        """Why near neighbours need not be watched: they are too close where their meshes do not touch.

        Joint limits keep most of them from touching, and few joints lie between them, so that the samples tell.
        Bodies farther apart on the tree can touch in too many ways to be sure, and are watched.
        """
        if len(near.close) < FEW:
            return ""
        meshes = self._meshes(first, second)
        looks = near.close[np.linspace(0, len(near.close) - 1, min(LOOKS, len(near.close))).astype(int)]
        true = sum(meshes.touch(self.samples.poses[i]) for i in looks) / len(looks)
        if not true:
            never = "never touch" if len(looks) == len(near.close) else f"touch in none of {len(looks)} of these"
            return f"{self._close(share)} of the samples, the meshes {never}"
        if (1.0 - true) * share > FALSE_ALARMS and true < TRUE_ALARMS:
            return f"{self._close(share)} of the samples, the meshes touch in {_percent(true * share)}"
        return ""

    def _close(self, share: float) -> str:
        return f"closer than {1e3 * self.margin:g} mm in {_percent(share)}"

    def _meshes(self, first: int, second: int) -> Meshes:
        return Meshes(self.made[first].part.sources, self.made[second].part.sources)


def _home_words(home: float, meshes: float) -> str:
    gap = f"overlaps at home by {-1e3 * home:.1f} mm" if home <= 0.0 else f"{1e3 * home:.1f} mm apart at home"
    own = f"are {1e3 * meshes:.0f} mm apart" if meshes > 0.0 else "touch as well"
    return f"{gap} in the approximation, the meshes {own}"


def _carriers_above(robot: Description, carriers: set[int]) -> dict[int, int]:
    """For each joint that carries bodies the next one towards the base that does, or the base; −1 for the base."""
    parents, above = robot.pin_model.parents, {0: -1}
    for joint in carriers - {0}:
        up = parents[joint]
        while up not in carriers:
            up = parents[up]
        above[joint] = int(up)
    return above


def _percent(share: float) -> str:
    return f"{100.0 * share:.0f} %" if share >= 0.01 else f"{100.0 * share:.2g} %"
