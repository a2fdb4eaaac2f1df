"""From a robot's shapes to its collision bodies and the pairs to watch, with everything worth knowing about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from sot.collision.bodies import Made, Progress, fit_part, make_bodies
from sot.collision.fit import CORNERS, Shapes
from sot.collision.pairs import MARGIN, SAMPLES, SMOOTH, Pair, Source, check_source, judge_pairs
from sot.collision.parts import parts_of, unseen
from sot.collision.shape import CollisionModel
from sot.description import Description


@dataclass(frozen=True, eq=False)
class Survey:
    """Bodies and pairs of a robot.

    Attributes:
        robot: The robot.
        bodies: Its bodies.
        inside: Shapes left out because they are inside a body, and that body's name.
        links: All links with a shape.
        pairs: Every pair, watched or not.
    """

    robot: Description
    bodies: tuple[Made, ...]
    inside: dict[str, str]
    links: frozenset[str]
    pairs: tuple[Pair, ...]

    @cached_property
    def unseen(self) -> list[str]:
        """Links that can be seen but have no shapes among the bodies."""
        return unseen(self.robot, self.links)

    @property
    def watched(self) -> list[Pair]:
        """Pairs to watch."""
        return [pair for pair in self.pairs if not pair.group]

    def names(self, pair: Pair) -> tuple[str, str]:
        """Names of the bodies of a pair."""
        return self.bodies[pair.first].body.name, self.bodies[pair.second].body.name

    def model(self) -> CollisionModel:
        """What a constraint works with."""
        pairs = tuple((pair.first, pair.second) for pair in self.watched)
        return CollisionModel(tuple(made.body for made in self.bodies), pairs)


def survey(
    robot: Description,
    *,
    shapes: Shapes = "auto",
    corners: int = CORNERS,
    pairs: Source = "sampled",
    samples: int = SAMPLES,
    seed: int = 0,
    margin: float = MARGIN,
    visual: Sequence[str] = (),
    merge: Sequence[str] = (),
    without: Sequence[str] = (),
    ignore: Sequence[str] = (),
    progress: Progress | None = None,
) -> Survey:
    """Make a robot's bodies and judge its pairs.

    Args:
        robot: The robot.
        shapes: What becomes of meshes and cylinders: `capsule`, `convex`, or `auto`, the simpler one that fits.
        corners: Most corners of a convex body. Bodies that only their approximation brings too close together at home
            may have twice as many.
        pairs: `sampled` or `srdf`, see `sot.collision.pairs.judge_pairs`.
        samples: Random configurations.
        seed: Of the random numbers.
        margin: Distance that is going to be kept, m.
        visual: Links whose visual geometry is taken, see `sot.collision.parts.parts_of`.
        merge: Shapes that become one.
        without: Links to leave out.
        ignore: Pairs not to watch, see `sot.collision.pairs.judge_pairs`.
        progress: Told what is done and how much of it.
    """
    check_source(robot, pairs)
    parts = parts_of(robot, visual, merge, without)
    forms = []
    for i, part in enumerate(parts):
        forms.append(fit_part(part, shapes, corners))
        if progress is not None:
            progress("bodies", (i + 1) / len(parts))
    made, inside = make_bodies(parts, forms)
    judged = judge_pairs(robot, made, pairs, samples, seed, margin, ignore, progress)
    coarse = _coarse(made, judged, margin) if shapes != "capsule" else set()
    if coarse:
        finer = [fit_part(p, shapes, 2 * corners) if id(p) in coarse else f for p, f in zip(parts, forms, strict=True)]
        made, inside = make_bodies(parts, finer)
        judged = judge_pairs(robot, made, pairs, samples, seed, margin, ignore, progress)
    links = frozenset(link for part in parts for link in part.links)
    return Survey(robot, tuple(made), inside, links, tuple(judged))


def _coarse(made: Sequence[Made], pairs: Sequence[Pair], margin: float) -> set[int]:
    """Parts whose bodies are too close to others at home though the meshes are not."""
    spoilt = [pair for pair in pairs if pair.group == "home" and pair.meshes > margin + SMOOTH]
    return {id(made[i].part) for pair in spoilt for i in (pair.first, pair.second)}
