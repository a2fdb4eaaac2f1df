"""Which joints a task or constraint is about: all that are driven, or some by name or pattern."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

import numpy as np

from sot.errors import ModelError, TaskError, unknown
from sot.model import Joint, Model

Joints = str | Sequence[str]
UNLIMITED = 1e15  # models say "no limit" with an infinite or with the largest number there is


def select(model: Model, joints: Joints | None, among: Iterable[Joint], where: str = "") -> list[Joint]:
    """Joints in the model's order.

    Args:
        model: The robot.
        joints: Names or patterns such as `arm_left_*`; None takes all of `among`.
        among: The joints that can be chosen.
        where: Who asks, for errors. Features leave it out: the task that has them says its name.
    """
    place, choices = f"{where}: " if where else "", list(among)
    if joints is None:
        if not choices:
            raise TaskError(f"{place}robot '{model.robot.name}' has no such joint")
        return choices
    names = [joints] if isinstance(joints, str) else list(joints)
    if not names:
        raise TaskError(f"{place}joints: the list is empty")
    chosen = set().union(*(_matching(model, name, choices, place) for name in names))
    return [joint for joint in choices if joint.name in chosen]


def _matching(model: Model, name: str, choices: list[Joint], place: str) -> set[str]:
    """Names of the joints that a name or pattern means; there must be one."""
    available = [joint.name for joint in choices]
    found = {known for known in available if fnmatchcase(known, str(name))}
    if not found:
        raise ModelError(f"{place}robot '{model.robot.name}': {unknown('joint', name, available)}")
    return found


def driven(model: Model) -> list[Joint]:
    """Joints with a motor; neither the base, however it moves, nor joints that follow others."""
    actuated = model.robot.actuated
    return [joint for joint in all_joints(model) if actuated[joint.v].all() and not is_base(model, joint)]


def bounded(model: Model) -> list[Joint]:
    """Joints with one coordinate and with both position limits."""
    lower, upper = model.pin.lowerPositionLimit, model.pin.upperPositionLimit
    limited = (lower > -UNLIMITED) & (upper < UNLIMITED)
    return [joint for joint in all_joints(model) if joint.is_scalar and limited[joint.q].all()]


def all_joints(model: Model) -> list[Joint]:
    """Every joint, the base included."""
    return list(model.joints.values())


def is_base(model: Model, joint: Joint) -> bool:
    """True for the joint by which a free or driving base is attached to the world."""
    return joint.index == 1 and model.robot.root != "fixed"


def indices(parts: Iterable[slice]) -> np.ndarray:
    """Slices of q or v as one array of indices."""
    return np.array([i for part in parts for i in range(part.start, part.stop)], dtype=int)
