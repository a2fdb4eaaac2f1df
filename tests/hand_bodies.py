"""Collision bodies made by hand, for tests that must not depend on a robot's files."""

from __future__ import annotations

import functools
import itertools

import numpy as np

from sot.collision.distances import Distances
from sot.collision.shape import Body, CollisionModel, ball, capsule
from sot.description import Description
from sot.model import Model


@functools.cache
def stick_figure(robot: Description, radius: float = 0.05, apart: float = 0.02) -> CollisionModel:
    """A capsule from each joint to the next, a ball at each end, and all pairs that are apart at home."""
    pin = robot.pin_model
    bodies = []
    for joint in range(2, pin.njoints):
        parent, offset = pin.parents[joint], pin.jointPlacements[joint].translation
        if parent > 0 and np.linalg.norm(offset) > 0.03:
            name = f"{pin.names[parent]}>{pin.names[joint]}"
            bodies.append(Body(name, parent, capsule([0.0, 0.0, 0.0], offset, radius)))
    ends = [joint for joint in range(1, pin.njoints) if not list(pin.children[joint])]
    bodies += [Body(f"{pin.names[joint]}>", joint, ball(radius)) for joint in ends]
    indices = itertools.combinations(range(len(bodies)), 2)
    pairs = [(a, b) for a, b in indices if bodies[a].joint != bodies[b].joint]
    distances = Distances(Model(robot), bodies, pairs).measure(Model(robot))
    kept = tuple(pair for pair, distance in zip(pairs, distances, strict=True) if distance > apart)
    return CollisionModel(tuple(bodies), kept)
