"""Limits and motor data of a model: cleaned of placeholders, then corrected by the recipe."""

from __future__ import annotations

import fnmatch
from typing import Any

import numpy as np
import pinocchio as pin

from sot.description.recipe import Recipe
from sot.description.srdf import Srdf
from sot.errors import ModelError, unknown

HUGE = 1e300  # what files and libraries write for "no limit"
ROOT_JOINT = "root_joint"  # name of the joint between the world and a moving base


def clean_limits(model: pin.Model) -> None:
    """One way to say "no limit": infinity. Zero speed, zero effort and an empty range mean "not given"."""
    lower, upper = np.array(model.lowerPositionLimit), np.array(model.upperPositionLimit)
    for joint in list(model.joints)[1:]:
        q = slice(joint.idx_q, joint.idx_q + joint.nq)
        if joint.nq != joint.nv or (joint.nq == 1 and not (lower[q] < upper[q])):
            lower[q], upper[q] = -np.inf, np.inf
    lower[lower < -HUGE], upper[upper > HUGE] = -np.inf, np.inf
    model.lowerPositionLimit, model.upperPositionLimit = lower, upper
    for name in ("velocity", "effort"):
        limit = np.abs(getattr(model, f"{name}Limit"))
        set_symmetric(model, name, np.where((limit == 0.0) | (limit > HUGE), np.inf, limit))


def set_symmetric(model: pin.Model, name: str, limit: np.ndarray) -> None:
    """Set a limit in both directions: `name` is velocity or effort."""
    setattr(model, f"upper{name.capitalize()}Limit", limit)
    setattr(model, f"lower{name.capitalize()}Limit", -limit)


def apply_limits(model: pin.Model, recipe: Recipe, where: str) -> np.ndarray:
    """Corrections of the recipe; returns the acceleration limits, shape (nv,)."""
    limits = {
        "velocity": np.array(model.velocityLimit),
        "effort": np.array(model.effortLimit),
        "acceleration": np.full(model.nv, np.inf),
    }
    lower, upper = np.array(model.lowerPositionLimit), np.array(model.upperPositionLimit)
    for pattern, given in recipe.limits.items():
        if pattern == ROOT_JOINT and ROOT_JOINT not in model.names:
            continue  # a description for a moving base may be loaded with a fixed one
        place = f"{where}: limits.{pattern}"
        for joint in matching(model, pattern, place):
            for name, array in limits.items():
                _fill(array, joint, getattr(given, name), f"{place}.{name}")
            if given.position is not None:
                low, high = given.position
                if joint.nq != 1 or not (low < high):
                    raise ModelError(
                        f"{place}.position: expected lower < upper for a joint with one coordinate"
                    )
                lower[joint.idx_q], upper[joint.idx_q] = low, high
    model.lowerPositionLimit, model.upperPositionLimit = lower, upper
    set_symmetric(model, "velocity", limits["velocity"])
    set_symmetric(model, "effort", limits["effort"])
    return limits["acceleration"]


def apply_actuators(model: pin.Model, srdf: Srdf, recipe: Recipe, where: str) -> tuple[np.ndarray, np.ndarray]:
    """Motor data; returns the no-load and the corner speeds, each of shape (nv,)."""
    arrays = {
        "rotor_inertia": np.array(model.rotorInertia),
        "gear_ratio": np.array(model.rotorGearRatio),
        "friction": np.array(model.upperDryFrictionLimit),
        "damping": np.array(model.damping),
        "no_load_speed": np.full(model.nv, np.inf),
        "corner_speed": np.zeros(model.nv),
    }
    for name, (inertia, ratio) in srdf.rotors.items():
        if name in model.names:
            joint = model.joints[model.getJointId(name)]
            _fill(arrays["rotor_inertia"], joint, inertia, f"{recipe.srdf}: rotor of '{name}'")
            _fill(arrays["gear_ratio"], joint, abs(ratio) or 1.0, f"{recipe.srdf}: rotor of '{name}'")
    for pattern, given in recipe.actuators.items():
        for joint in matching(model, pattern, f"{where}: actuators.{pattern}"):
            for name, array in arrays.items():
                _fill(array, joint, getattr(given, name), f"{where}: actuators.{pattern}.{name}")
    model.rotorInertia, model.rotorGearRatio = arrays["rotor_inertia"], arrays["gear_ratio"]
    # The joint feels the rotor's inertia n² times; an MJCF gives that product ("armature") itself.
    reflected = arrays["rotor_inertia"] * arrays["gear_ratio"] ** 2
    model.armature = np.where(reflected > 0.0, reflected, model.armature)
    model.upperDryFrictionLimit, model.lowerDryFrictionLimit = arrays["friction"], -arrays["friction"]
    model.damping = arrays["damping"]
    _check_speeds(model, arrays["no_load_speed"], arrays["corner_speed"], where)
    return arrays["no_load_speed"], arrays["corner_speed"]


def _check_speeds(model: pin.Model, no_load: np.ndarray, corner: np.ndarray, where: str) -> None:
    for joint in list(model.joints)[1:]:
        for i in range(joint.idx_v, joint.idx_v + joint.nv):
            if not (corner[i] < no_load[i]):
                raise ModelError(
                    f"{where}: actuators: no_load_speed of joint '{model.names[joint.id]}', {no_load[i]:g}, is not "
                    f"above its corner_speed, {corner[i]:g}"
                )


def _fill(array: np.ndarray, joint: Any, value: float | np.ndarray | None, where: str) -> None:
    if value is None:
        return
    if np.ndim(value) and np.shape(value) != (joint.nv,):
        raise ModelError(f"{where}: expected one number or {joint.nv}, got shape {np.shape(value)}")
    if not np.all(np.asarray(value) >= 0.0):
        raise ModelError(f"{where}: expected numbers ≥ 0, got {value}")
    array[joint.idx_v : joint.idx_v + joint.nv] = value


def matching(model: pin.Model, pattern: str, where: str) -> list[Any]:
    """The joints whose names match a pattern (`arm_*_joint`, or a plain name)."""
    found = [
        model.joints[i] for i, name in enumerate(model.names) if i and fnmatch.fnmatchcase(name, pattern)
    ]
    if not found:
        raise ModelError(f"{where}: {unknown('joint', pattern, list(model.names)[1:])}")
    return found
