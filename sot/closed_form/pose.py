"""Poses, velocities and torques as users have them: an array, or a number by the name of each joint."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sot.checks import vector
from sot.description import Description
from sot.errors import TaskError
from sot.model import Joint, Model

NORM = 1e-3  # by which a quaternion may miss norm 1

Numbers = np.ndarray | Mapping[str, object]


def as_model(robot: Description | Model) -> Model:
    """The model of a robot; one that is there already is used, which saves its making."""
    if isinstance(robot, Model):
        return robot
    if isinstance(robot, Description):
        return Model(robot)
    raise TaskError(f"robot: expected what `sot.robots.load` gives, or a `sot.Model`; got {robot!r}")


def read_pose(model: Model, value: Numbers, where: str = "q") -> np.ndarray:
    """A configuration, shape (nq,), with quaternions of norm 1.

    Args:
        model: The robot.
        value: Array of shape (nq,), or a mapping from joints to their coordinates: a number, or (x y z qx qy qz qw) of
            a floating base. What is no joint of the robot is ignored; a joint that follows another may be left out.
        where: What errors call it.
    """
    q = _read(model, value, where, configuration=True)
    unit = model.normalized(q)
    for joint in model.joints.values():
        if not (np.abs(unit[joint.q] - q[joint.q]).max(initial=0.0) <= NORM):
            raise TaskError(f"{where}: joint '{joint.name}': {q[joint.q].tolist()} has a part that should have norm 1")
    return unit


def read_rate(model: Model, value: Numbers | None, where: str) -> np.ndarray:
    """A velocity or acceleration, shape (nv,); zero for None. Mappings are read as those of `read_pose`."""
    return np.zeros(model.nv) if value is None else _read(model, value, where, configuration=False)


def read_torques(model: Model, value: Numbers, where: str = "torques") -> np.ndarray:
    """Generalised torques, shape (nv,); in a mapping, joints without a motor may be left out: they have none."""
    if isinstance(value, Mapping):
        idle = (joint for joint in model.joints.values() if not model.robot.actuated[joint.v].any())
        value = {**{joint.name: np.zeros(joint.v.stop - joint.v.start) for joint in idle}, **value}
    return _read(model, value, where, configuration=False)


def _read(model: Model, value: Numbers, where: str, *, configuration: bool) -> np.ndarray:
    array = _gathered(model, value, where, configuration) if isinstance(value, Mapping) else _array(value, where)
    size = model.nq if configuration else model.nv
    if array.shape != (size,):
        raise TaskError(f"{where}: robot '{model.robot.name}' has {size} numbers, got shape {array.shape}")
    for joint in model.joints.values():
        part = array[joint.q if configuration else joint.v]
        if not np.isfinite(part).all():
            raise TaskError(f"{where}: joint '{joint.name}' has a value that is not finite: {part.tolist()}")
    return array


def _gathered(model: Model, values: Mapping[str, object], where: str, configuration: bool) -> np.ndarray:
    """The numbers of a mapping in the order of the model."""
    values = _with_followers(model, values, where, configuration)
    missing = [name for name in model.joints if name not in values]
    if missing:
        raise TaskError(f"{where}: is incomplete: no value for {', '.join(map(repr, missing))}")
    parts = [_part(joint, values[joint.name], where, configuration) for joint in model.joints.values()]
    return np.concatenate(parts) if parts else np.zeros(0)


def _with_followers(
    model: Model, values: Mapping[str, object], where: str, configuration: bool
) -> Mapping[str, object]:
    """With joints that follow others, q = ratio · q_of + offset, where they are left out."""
    found = dict(values)
    for mimic in model.robot.mimics:
        if mimic.joint not in found and mimic.of in found:
            moved = mimic.ratio * vector(found[mimic.of], 1, f"{where}: joint '{mimic.of}'")
            found[mimic.joint] = moved + mimic.offset * configuration
    return found


def _part(joint: Joint, value: object, where: str, configuration: bool) -> np.ndarray:
    place = joint.q if configuration else joint.v
    size = place.stop - place.start
    numbers = np.atleast_1d(_array(value, f"{where}: joint '{joint.name}'"))
    unbounded = configuration and size == 2 and joint.v.stop - joint.v.start == 1
    if unbounded and numbers.shape == (1,):  # pinocchio keeps the cosine and sine of the angle
        numbers = np.array([np.cos(numbers[0]), np.sin(numbers[0])])
    if numbers.shape != (size,):
        raise TaskError(f"{where}: joint '{joint.name}': expected numbers of shape ({size},), got {value!r}")
    return numbers


def _array(value: object, where: str) -> np.ndarray:
    try:
        return np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise TaskError(f"{where}: expected numbers, got {value!r}") from None
