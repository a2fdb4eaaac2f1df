"""From a recipe to a description: build the model, correct it, find home, lock joints, place the feet."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pinocchio as pin

from sot.description import Description, Foot, corrections, postures
from sot.description.mjcf import read_mjcf
from sot.description.quiet import quiet
from sot.description.recipe import FootRecipe, Recipe
from sot.description.srdf import Srdf, read_srdf
from sot.description.urdf import Mimic, Urdf, read_urdf
from sot.errors import ModelError, unknown

ROOTS = {"free_flyer": pin.JointModelFreeFlyer, "planar": pin.JointModelPlanar}
ROOT_NAMES = {"JointModelFreeFlyer": "free_flyer", "JointModelPlanar": "planar"}


def assemble(recipe: Recipe, where: str, name: str | None = None) -> Description:
    """The robot that a recipe describes. Its paths must be absolute.

    Args:
        recipe: What the description file says.
        where: What errors call the recipe: a file name or "load(...)".
        name: Name of the robot; default: the name in its URDF or MJCF.
    """
    urdf, srdf = _read_texts(recipe, where)
    full = _build(recipe, where)
    root = ROOT_NAMES.get(full.joints[1].shortname(), "fixed") if full.njoints > 1 else "fixed"
    if recipe.root is not None and recipe.root != root:
        raise ModelError(f"{where}: root: {recipe.urdf or recipe.mjcf} itself says '{root}', not '{recipe.root}'")
    corrections.clean_limits(full)
    acceleration = corrections.apply_limits(full, recipe, where)
    no_load, corner = corrections.apply_actuators(full, srdf, recipe, where)
    named = postures.named(full, srdf, where)
    mimics = [m for m in urdf.mimics if m.joint in full.names]
    home = postures.home(full, recipe.home, named, mimics, where)
    locked = _locked(full, recipe, mimics, root, where)
    model, kept_q, kept_v = _reduce(full, locked, home)
    home = home[kept_q]
    feet = _feet(model, recipe.feet, home, where)
    postures.stand(model, home, recipe.home, feet, root)
    _check_frames(model, recipe.hands, "hands", where)
    return Description(
        name=name or urdf.name,
        pin_model=model,
        home=home,
        root=root,  # type: ignore[arg-type]  # one of the three names above
        feet=feet,
        hands=recipe.hands,
        mimics=tuple(m for m in mimics if m.joint in model.names),
        passive=_passive(full, model, recipe, where),
        postures={key: q[kept_q] for key, q in named.items()},
        acceleration_limit=acceleration[kept_v],
        rotor_inertia=np.array(model.rotorInertia),
        gear_ratio=np.array(model.rotorGearRatio),
        joint_friction=np.array(model.upperDryFrictionLimit),
        joint_damping=np.array(model.damping),
        no_load_speed=no_load[kept_v],
        corner_speed=corner[kept_v],
        urdf=recipe.urdf,
        mjcf=recipe.mjcf,
        srdf=recipe.srdf,
        package_dirs=_package_dirs(recipe, urdf),
        collision_pairs=recipe.collision_pairs or ("srdf" if srdf.disabled_pairs else "adjacent"),
        collisions=recipe.collisions,
    )


def _read_texts(recipe: Recipe, where: str) -> tuple[Urdf, Srdf]:
    if (recipe.urdf is None) == (recipe.mjcf is None):
        raise ModelError(f"{where}: give either urdf or mjcf, the file that describes the robot")
    srdf = read_srdf(recipe.srdf) if recipe.srdf is not None else Srdf({}, {}, 0)
    if recipe.collision_pairs == "srdf" and recipe.srdf is None:
        raise ModelError(f"{where}: collision_pairs: 'srdf' needs an srdf file")
    if recipe.mjcf is not None:
        return Urdf(read_mjcf(recipe.mjcf), (), frozenset()), srdf
    return read_urdf(recipe.urdf), srdf  # type: ignore[arg-type]  # one of the two is given


def _build(recipe: Recipe, where: str) -> pin.Model:
    path = str(recipe.urdf or recipe.mjcf)
    with quiet(f"{path}: cannot be loaded"):
        if recipe.mjcf is not None:
            model = pin.buildModelFromMJCF(path)
        elif recipe.root in ROOTS:
            model = pin.buildModelFromUrdf(path, ROOTS[recipe.root]())
        else:
            model = pin.buildModelFromUrdf(path)
    if model.nv == 0:
        raise ModelError(f"{path}: has no joint that moves")
    if len(set(model.names)) != model.njoints:
        raise ModelError(
            f"{path}: has a joint named '{model.names[1]}', the name of the base joint; rename it"
        )
    if not all(np.isfinite(inertia.toDynamicParameters()).all() for inertia in model.inertias):
        raise ModelError(f"{path}: the masses and inertias are not all finite")
    return model


def _locked(model: pin.Model, recipe: Recipe, mimics: list[Mimic], root: str, where: str) -> list[int]:
    """Indices of joints to lock: those asked for, and the followers of joints that do not move."""
    ids = {
        joint.id
        for pattern in recipe.lock
        for joint in corrections.matching(model, pattern, f"{where}: lock")
    }
    if root != "fixed" and 1 in ids:
        raise ModelError(
            f"{where}: lock: the base joint '{model.names[1]}' cannot be locked; use root: fixed"
        )
    for mimic in mimics:
        follower = model.getJointId(mimic.joint)
        if mimic.of not in model.names or model.getJointId(mimic.of) in ids:
            ids.add(follower)
        elif follower in ids:
            raise ModelError(f"{where}: lock: joint '{mimic.joint}' follows '{mimic.of}'; lock that one too")
    return sorted(ids)


def _passive(full: pin.Model, model: pin.Model, recipe: Recipe, where: str) -> tuple[str, ...]:
    """Names of the joints without a motor that are left."""
    joints = (j for pattern in recipe.passive for j in corrections.matching(full, pattern, f"{where}: passive"))
    names = dict.fromkeys(full.names[joint.id] for joint in joints)
    return tuple(name for name in names if name in model.names)


def _reduce(
    model: pin.Model, locked: list[int], home: np.ndarray
) -> tuple[pin.Model, np.ndarray, np.ndarray]:
    """The model without its locked joints, and which entries of q and v are left."""
    kept = [joint for joint in list(model.joints)[1:] if joint.id not in locked]
    if not kept:
        raise ModelError(f"robot '{model.name}': all joints are locked")
    q = np.concatenate([np.arange(j.idx_q, j.idx_q + j.nq) for j in kept])
    v = np.concatenate([np.arange(j.idx_v, j.idx_v + j.nv) for j in kept])
    if not locked:
        return model, q, v
    reduced = pin.buildReducedModel(model, locked, home)
    for name in ("velocity", "effort"):  # pinocchio 4.1 loses the sign of the lower ones
        corrections.set_symmetric(reduced, name, np.array(getattr(reduced, f"{name}Limit")))
    return reduced, q, v


def _check_frames(model: pin.Model, frames: tuple[str, ...], what: str, where: str) -> None:
    for i, frame in enumerate(frames):
        if not model.existFrame(frame):
            names = [known.name for known in model.frames]
            raise ModelError(f"{where}: {what}[{i}]: {unknown('frame', frame, names)}")


def _feet(
    model: pin.Model, recipes: tuple[FootRecipe, ...], home: np.ndarray, where: str
) -> tuple[Foot, ...]:
    _check_frames(model, tuple(foot.frame for foot in recipes), "feet", where)
    feet = []
    for i, foot in enumerate(recipes):
        if foot.points.ndim != 2 or foot.points.shape[1] != 3 or not len(foot.points):
            shape = foot.points.shape
            raise ModelError(f"{where}: feet[{i}].points: expected a list of [x, y, z], got shape {shape}")
        if not (foot.radius >= 0.0):
            raise ModelError(f"{where}: feet[{i}].radius: expected a number ≥ 0, got {foot.radius}")
        # From the centre of a ball to its lowest point, seen in the foot's frame: −radius · Rᵀ z.
        down = -foot.radius * postures.placement(model, home, foot.frame).rotation[2]
        feet.append(Foot(foot.frame, foot.points + down, foot.radius, foot.points[0]))
    return tuple(feet)


def _package_dirs(recipe: Recipe, urdf: Urdf) -> tuple[Path, ...]:
    """Where meshes may be: the folders given, that of the URDF, and those above it that hold its packages."""
    file = recipe.urdf or recipe.mjcf
    assert file is not None  # one of the two was read
    found = [*recipe.packages, file.parent]
    for folder in file.parents:
        if any((folder / package).is_dir() for package in urdf.packages):
            found.append(folder)
    # Where ROS 1 and ROS 2 say that their packages are.
    for variable, below in (("ROS_PACKAGE_PATH", "."), ("AMENT_PREFIX_PATH", "share")):
        found += [Path(place) / below for place in os.environ.get(variable, "").split(os.pathsep) if place]
    return tuple(dict.fromkeys(found))
