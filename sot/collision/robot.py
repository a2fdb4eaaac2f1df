"""The collision bodies of a robot: from its file, or made on the spot."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from weakref import WeakKeyDictionary

from sot.collision.shape import CollisionModel
from sot.description import Description

SAMPLES = 1000  # configurations for bodies made on the spot

_made: WeakKeyDictionary[Description, CollisionModel] = WeakKeyDictionary()  # a robot's bodies are made, or read, once


def collision_model(robot: Description, file: str | Path | None = None) -> CollisionModel:
    """Bodies of a robot and the pairs that must not touch.

    Args:
        robot: The robot.
        file: A collision file; by default the robot's own (`collisions` in its description). A robot without one gets
            capsules around its shapes, and pairs from samples, which takes a second or so; stderr says so.
    """
    from sot.collision.file import read_collisions

    if file is not None:
        return read_collisions(file, robot)
    if robot not in _made:
        _made[robot] = _make(robot) if robot.collisions is None else read_collisions(robot.collisions, robot)
    return _made[robot]


def _make(robot: Description) -> CollisionModel:
    from sot.collision.survey import survey

    start = time.perf_counter()
    found = survey(robot, shapes="capsule", samples=SAMPLES)
    words = f"{len(found.bodies)} capsules were made, {len(found.watched)} pairs are watched"
    seconds = time.perf_counter() - start
    print(
        f"sot: robot '{robot.name}' has no collision file: {words} ({seconds:.1f} s). "
        "Make a better one once, and keep it: sot collisions ROBOT",
        file=sys.stderr,
    )
    return found.model()
