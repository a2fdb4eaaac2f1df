"""Configurations by name: postures of an SRDF, keyframes of an MJCF, and the home posture of a robot."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pinocchio as pin

from sot.description import Foot
from sot.description.recipe import Home
from sot.description.srdf import Srdf
from sot.description.urdf import Mimic
from sot.errors import ModelError, unknown

SLACK = 1e-4  # rad or m: how far a rounded posture may be outside its limits before it is an error


def named(model: pin.Model, srdf: Srdf, where: str) -> dict[str, np.ndarray]:
    """Every named posture as a configuration. Joints it does not mention are at their default."""
    found = {entry.key(): np.array(entry.data()) for entry in model.referenceConfigurations}
    for name, values in srdf.postures.items():
        q = default(model)
        for joint, numbers in values.items():
            # One SRDF serves several variants of a robot: joints of the others, or of other bases, are skipped.
            if model.existJointName(joint) and not _of_other_base(model, joint, numbers):
                put(model, q, joint, numbers, f"{where}: posture '{name}'")
        found[name] = q
    return found


def _of_other_base(model: pin.Model, name: str, numbers: Sequence[float]) -> bool:
    base = model.joints[1]
    return name == model.names[1] and base.nq > base.nv and len(numbers) not in (base.nq, base.nv)


def default(model: pin.Model) -> np.ndarray:
    """Zero, or the reference posture of an MJCF; the middle of the range where that is outside it."""
    found = {entry.key(): np.array(entry.data()) for entry in model.referenceConfigurations}
    q = found.get("qpos0", pin.neutral(model))
    for joint in list(model.joints)[1:]:
        low, high = model.lowerPositionLimit[joint.idx_q], model.upperPositionLimit[joint.idx_q]
        if joint.nq == 1 and not (low <= q[joint.idx_q] <= high):
            q[joint.idx_q] = 0.5 * (low + high) if np.isfinite(low + high) else np.clip(0.0, low, high)
    return q


def put(model: pin.Model, q: np.ndarray, name: str, values: Sequence[float], where: str) -> None:
    """Write a joint's value: its coordinates, or angles for joints that keep (cos, sin) instead."""
    joint = model.joints[model.getJointId(name)]
    numbers = [float(value) for value in values]
    if joint.nq == joint.nv + 1 and joint.nq in (2, 4) and len(numbers) == joint.nv and _is_turning(joint):
        numbers[-1:] = [math.cos(numbers[-1]), math.sin(numbers[-1])]
    if len(numbers) != joint.nq:
        raise ModelError(f"{where}: joint '{name}' takes {joint.nq} values, got {len(numbers)}")
    q[joint.idx_q : joint.idx_q + joint.nq] = numbers
    q[:] = normalized(model, q, f"{where}: joint '{name}'")


def normalized(model: pin.Model, q: np.ndarray, where: str) -> np.ndarray:
    """q with its quaternions and (cos, sin) pairs of norm 1. Rounding is put right, more is an error."""
    if not pin.isNormalized(model, q, 1e-2):
        raise ModelError(f"{where}: a quaternion or a (cos, sin) pair is not of norm 1")
    return pin.normalize(model, q)


def _is_turning(joint: Any) -> bool:
    """True for joints that keep an angle as (cos, sin): unbounded and planar ones."""
    kind = joint.shortname()
    return "RUB" in kind or "Unbounded" in kind or kind == "JointModelPlanar"


def home(
    model: pin.Model, recipe: str | Home, postures: dict[str, np.ndarray], mimics: Sequence[Mimic], where: str
) -> np.ndarray:
    """The home configuration, inside the joint limits, followers where their leaders put them."""
    wanted = Home(posture=recipe) if isinstance(recipe, str) else recipe
    q = default(model)
    if wanted.posture is not None:
        if wanted.posture not in postures:
            raise ModelError(f"{where}: home: {unknown('posture', wanted.posture, postures)}")
        q = postures[wanted.posture].copy()
    for pattern, value in wanted.joints.items():
        names = [name for name in list(model.names)[1:] if fnmatch.fnmatchcase(name, pattern)]
        if not names:
            raise ModelError(f"{where}: home.joints: {unknown('joint', pattern, list(model.names)[1:])}")
        for name in names:
            put(model, q, name, np.atleast_1d(value).tolist(), f"{where}: home.joints")
    for mimic in mimics:
        put(
            model,
            q,
            mimic.joint,
            [mimic.ratio * angle(model, q, mimic.of) + mimic.offset],
            f"{where}: <mimic>",
        )
    return _inside(model, q, where)


def angle(model: pin.Model, q: np.ndarray, name: str) -> float:
    """Value of a joint with one degree of freedom, rad or m; 0 for one that does not move."""
    if not model.existJointName(name):
        return 0.0
    joint = model.joints[model.getJointId(name)]
    if joint.nq == 2 and joint.nv == 1:
        return math.atan2(q[joint.idx_q + 1], q[joint.idx_q])
    return float(q[joint.idx_q])


def _inside(model: pin.Model, q: np.ndarray, where: str) -> np.ndarray:
    low, high = np.array(model.lowerPositionLimit), np.array(model.upperPositionLimit)
    for i in np.flatnonzero(~((low - SLACK <= q) & (q <= high + SLACK))):
        joint = next(j for j in list(model.joints)[1:] if j.idx_q <= i < j.idx_q + j.nq)
        limits = f"[{low[i]:.4g}, {high[i]:.4g}]"
        raise ModelError(f"{where}: home: joint '{model.names[joint.id]}' is at {q[i]:.4g}, outside {limits}")
    return np.clip(q, low, high)


def placement(model: pin.Model, q: np.ndarray, frame: str) -> pin.SE3:
    """Pose of a frame in the world at q."""
    data = model.createData()
    pin.forwardKinematics(model, data, q)
    return pin.updateFramePlacement(model, data, model.getFrameId(frame)).copy()


def stand(model: pin.Model, q: np.ndarray, recipe: str | Home, feet: Sequence[Foot], root: str) -> None:
    """Set the height of a free base in q: as given, or so that the lowest contact point is at z = 0."""
    if root != "free_flyer":
        return
    if isinstance(recipe, Home) and recipe.height is not None:
        q[2] = recipe.height
    elif feet:
        q[2] -= min(placement(model, q, foot.frame).act(point)[2] for foot in feet for point in foot.points)
