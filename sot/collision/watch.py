"""Which pairs are watched: those of the robot, and its moving bodies against obstacles."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from sot.collision.obstacle import Obstacle
from sot.collision.shape import Body, CollisionModel
from sot.errors import TaskError, unknown

Patterns = str | Sequence[str | tuple[str, str]]
Pair = tuple[int, int]


def watched(
    collision: CollisionModel,
    obstacles: Sequence[Obstacle],
    self_collision: bool = True,
    only: str | Sequence[str] | None = None,
    ignore: Patterns | None = None,
) -> tuple[list[Body], list[Pair]]:
    """Bodies of the robot that take part, and pairs of indices into them and, behind them, the obstacles.

    Args:
        collision: The robot's bodies and pairs.
        obstacles: What is around it.
        self_collision: Watch the robot's own pairs.
        only: Names or patterns; at least one body of a pair must be among them.
        ignore: Names or patterns of bodies that are left out, or two of them for the pairs between them.
    """
    bodies = collision.bodies
    names = [body.name for body in bodies] + [obstacle.name for obstacle in obstacles]
    pairs = [pair for pair in collision.pairs if self_collision and _can_change(bodies, pair)]
    for k, obstacle in enumerate(obstacles):
        spared = matching(obstacle.ignore, names[: len(bodies)], f"obstacle '{obstacle.name}': ignore")
        pairs += [(b, len(bodies) + k) for b, body in enumerate(bodies) if body.joint > 0 and body.name not in spared]
    chosen = matching(only, names, "only")
    dropped = _dropped(ignore, names)
    pairs = [
        (a, b)
        for a, b in pairs
        if (only is None or {names[a], names[b]} & chosen) and not _is_dropped(names[a], names[b], dropped)
    ]
    return _without_others(bodies, pairs)


def _can_change(bodies: Sequence[Body], pair: Pair) -> bool:
    return bodies[pair[0]].joint != bodies[pair[1]].joint


def matching(patterns: str | Sequence[str] | None, names: Sequence[str], where: str) -> set[str]:
    """Names that one of the patterns means; each must mean one."""
    found: set[str] = set()
    for pattern in [patterns] if isinstance(patterns, str) else patterns or []:
        some = {name for name in names if fnmatchcase(name, str(pattern))}
        if not some:
            raise TaskError(f"{where}: {unknown('body', pattern, names)}")
        found |= some
    return found


def _dropped(ignore: Patterns | None, names: Sequence[str]) -> list[tuple[set[str], set[str]]]:
    """Two sets of names for each pattern: no pair of one out of each is watched."""
    items = [ignore] if isinstance(ignore, str) else list(ignore or [])
    dropped = []
    for item in items:
        sides = [item, "*"] if isinstance(item, str) else list(item)
        if len(sides) != 2:
            raise TaskError(f"ignore: expected names or patterns, or two of them for a pair; got {item!r}")
        dropped.append((matching(sides[0], names, "ignore"), matching(sides[1], names, "ignore")))
    return dropped


def _is_dropped(a: str, b: str, dropped: list[tuple[set[str], set[str]]]) -> bool:
    return any((a in one and b in other) or (b in one and a in other) for one, other in dropped)


def _without_others(bodies: Sequence[Body], pairs: list[Pair]) -> tuple[list[Body], list[Pair]]:
    """Leave out bodies that are in no pair, and count anew."""
    used = sorted({side for pair in pairs for side in pair if side < len(bodies)})
    place = {old: new for new, old in enumerate(used)}

    def renamed(side: int) -> int:
        return place[side] if side in place else len(used) + side - len(bodies)

    return [bodies[b] for b in used], [(renamed(a), renamed(b)) for a, b in pairs]
