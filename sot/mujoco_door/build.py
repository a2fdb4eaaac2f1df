"""A robot as a MuJoCo model, made from its pinocchio model: no file is read again, and every number is the same.

Bodies have the robot's inertias, joints its axes, armature (rotor inertia times the gear ratio squared), damping,
friction and limits. It touches the world where the robot of `sot.simulation` does: with the balls and corners of its
feet, and with those of its collision bodies. The contacts are as hard as a time step h allows:

    discrete integrator    contacts, damping and the velocity after the step in one solve: v⁺ = v + h v̇, q⁺ = q ⊕ h v⁺
    solref h, 1            a critically damped spring, as stiff as a step resolves
    solimp 0.95, 0.99      1 to 5 % of the acceleration without contact remain; with less, the four corners of a sole,
                           which know nothing of each other, begin to chatter
    elliptic cone          Coulomb's law, not a pyramid; with impratio 10 a contact that sticks is ten times as hard
    Newton, 1e-10          on a dense Jacobian, which is faster at this size (and safe: MuJoCo 4.0.0 has a sparse one
                           that is wrong)
    no automatic reset     a state that diverges is an error
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from sot.collision.obstacle import Obstacle
from sot.description import Description, Mimic
from sot.errors import RobotError
from sot.model import Joint, Model
from sot.mujoco_door.corners import Corner

POINT = 1e-6  # m; radius of a corner: MuJoCo knows no points
FAR = 1e9  # what stands for "no limit" where a joint has one on its other side only
SOLIMP, IMPRATIO, TOLERANCE = (0.95, 0.99, 1e-3, 0.5, 2.0), 10.0, 1e-10
LARGE_PLANE = 100.0  # m; only drawn, a plane has no end
ROBOT, WORLD = "robot", "world"  # whose a geometry is
OLDEST, UPDATE = "3.13", "pip install --upgrade mujoco"


@dataclass(frozen=True)
class Settings:
    """What a model is made with.

    Attributes:
        step: Time step h, s.
        friction: Coefficient of all contacts.
        softness: Time constant of contacts, limits and mimic joints, in steps.
        dry: Part of the robot's dry joint friction that is there.
        viscous: Part of the robot's viscous joint friction that is there.
    """

    step: float
    friction: float
    softness: float = 1.0
    dry: float = 1.0
    viscous: float = 1.0


def build(model: Model, obstacles: Sequence[Obstacle], touching: list[Corner], settings: Settings) -> mujoco.MjModel:
    """The robot and what stands around it.

    Args:
        model: The robot.
        obstacles: Planes and boxes that stand still.
        touching: Where the robot can touch them.
        settings: Time step and contacts.
    """
    spec = _empty(model, settings)
    for thing in obstacles:
        _add_thing(spec, thing, settings)
    bodies: list[Any] = [spec.worldbody]
    for joint in model.joints.values():
        bodies.append(_add_body(bodies[model.pin.parents[joint.index]], model, joint, settings))
    for i, corner in enumerate(touching):
        _add_corner(bodies[corner.joint], i, corner, settings)
    for mimic in model.robot.mimics:
        _add_mimic(spec, mimic, settings)
    try:
        made = spec.compile()
    except ValueError as error:
        raise RobotError(f"robot '{model.robot.name}': MuJoCo cannot take it: {error}") from None
    _exact_inertias(made, model)
    return made


def _empty(model: Model, settings: Settings) -> mujoco.MjSpec:
    spec = mujoco.MjSpec()
    spec.modelname = model.robot.name
    spec.compiler.degree, spec.compiler.inertiafromgeom, spec.compiler.autolimits = False, 0, False
    option = spec.option
    option.timestep, option.gravity = settings.step, model.gravity
    try:
        option.integrator = mujoco.mjtIntegrator.mjINT_DISCRETE
    except AttributeError:
        raise RobotError(f"this needs MuJoCo {OLDEST} or newer, not {mujoco.__version__}: {UPDATE}") from None
    option.solver = mujoco.mjtSolver.mjSOL_NEWTON
    option.jacobian, option.cone = mujoco.mjtJacobian.mjJAC_DENSE, mujoco.mjtCone.mjCONE_ELLIPTIC
    option.tolerance, option.impratio = TOLERANCE, IMPRATIO
    option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET.value
    return spec


def _solref(settings: Settings) -> list[float]:
    return [settings.softness * settings.step, 1.0]


# -- the world ---------------------------------------------------------------------------------------------


def _add_thing(spec: mujoco.MjSpec, thing: Obstacle, settings: Settings) -> None:
    pose, _ = thing.placed(0.0, settings.step)
    if thing.plane is not None:
        kind, size = mujoco.mjtGeom.mjGEOM_PLANE, [LARGE_PLANE, LARGE_PLANE, 1.0]
    elif thing.box is not None:
        kind, size = mujoco.mjtGeom.mjGEOM_BOX, (0.5 * np.asarray(thing.box, dtype=float)).tolist()
    else:
        raise RobotError(f"obstacle '{thing.name}': a robot in MuJoCo can touch planes and boxes only")
    # Only what belongs to the world looks for contacts, and only with what belongs to the robot.
    spec.worldbody.add_geom(
        name=f"{WORLD}/{thing.name}", type=kind, size=size, pos=pose.translation, quat=_quaternion(pose.rotation),
        contype=1, conaffinity=0, **_contact(settings),
    )  # fmt: skip


def _contact(settings: Settings) -> dict[str, Any]:
    return {
        "condim": 3, "friction": [settings.friction, 0.0, 0.0], "solref": _solref(settings), "solimp": SOLIMP,
    }  # fmt: skip


def _add_corner(body: Any, index: int, corner: Corner, settings: Settings) -> None:
    body.add_geom(
        name=f"{ROBOT}/{index}", type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[max(corner.radius, POINT), 0.0, 0.0],
        pos=corner.center, contype=0, conaffinity=1, **_contact(settings),
    )  # fmt: skip


# -- the robot ---------------------------------------------------------------------------------------------


def _add_body(parent: Any, model: Model, joint: Joint, settings: Settings) -> Any:
    placement, inertia = model.pin.jointPlacements[joint.index], model.pin.inertias[joint.index]
    moments, axes = _principal(inertia.inertia)
    body = parent.add_body(
        name=joint.name, pos=placement.translation, quat=_quaternion(placement.rotation), explicitinertial=True,
        mass=max(inertia.mass, 1e-9), ipos=inertia.lever, iquat=_quaternion(axes), inertia=_allowed(moments),
    )  # fmt: skip
    if model.robot.root == "free_flyer" and joint.index == 1:
        _add_free(body, joint, placement, model.robot)
    elif model.robot.root == "planar" and joint.index == 1:
        _add_planar(body, model, joint, settings)
    else:
        _add_joint(body, model, joint, settings)
    return body


def _add_free(body: Any, joint: Joint, placement: Any, robot: Description) -> None:
    if not placement.isIdentity(1e-12):
        raise RobotError(f"robot '{robot.name}': joint '{joint.name}' of its base does not start from the world's axes")
    body.add_freejoint(name=joint.name, align=0)


def _add_planar(body: Any, model: Model, joint: Joint, settings: Settings) -> None:
    """Two sliding joints along the axes of the world and one that turns; the first has the name of the joint."""
    damping = settings.viscous * model.robot.joint_damping[joint.v]
    friction = settings.dry * model.robot.joint_friction[joint.v]
    if damping[0] != damping[1] or friction[:2].any():
        raise RobotError(
            f"robot '{model.robot.name}': MuJoCo takes a planar base only with equal damping along x and y and without "
            f"dry friction; got damping {damping.tolist()} and friction {friction.tolist()}"
        )
    kinds = (mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_HINGE)
    for i, (kind, suffix) in enumerate(zip(kinds, ("", "/y", "/angle"), strict=True)):
        made = body.add_joint(
            name=joint.name + suffix, type=kind, axis=np.eye(3)[i], armature=model.pin.armature[joint.v][i],
            frictionloss=friction[i], limited=0,
        )  # fmt: skip
        made.damping = _filled(made.damping, [damping[i]])


def _add_joint(body: Any, model: Model, joint: Joint, settings: Settings) -> None:
    kind, axis = _kind(model, joint)
    at = joint.v.start
    low, high = -FAR, FAR
    if joint.is_scalar:
        low, high = model.pin.lowerPositionLimit[joint.q][0], model.pin.upperPositionLimit[joint.q][0]
    made = body.add_joint(
        name=joint.name, type=kind, axis=axis, armature=model.pin.armature[at],
        frictionloss=settings.dry * model.robot.joint_friction[at],
        limited=int(joint.is_scalar and bool(np.isfinite([low, high]).any())), range=[max(low, -FAR), min(high, FAR)],
        solref_limit=_solref(settings), solimp_limit=SOLIMP, solref_friction=_solref(settings), solimp_friction=SOLIMP,
    )  # fmt: skip
    made.damping = _filled(made.damping, [settings.viscous * model.robot.joint_damping[at]])


def _kind(model: Model, joint: Joint) -> tuple[mujoco.mjtJoint, np.ndarray]:
    """What a joint is, and its axis, from the column that it has in the Jacobian."""
    if joint.v.stop - joint.v.start == 3 and joint.q.stop - joint.q.start == 4:
        if model.pin.joints[joint.index].shortname() == "JointModelSpherical":
            return mujoco.mjtJoint.mjJNT_BALL, np.array([0.0, 0.0, 1.0])
    if joint.v.stop - joint.v.start == 1:
        R, p = model.data.oMi[joint.index].rotation, model.data.oMi[joint.index].translation
        linear, angular = model.world_jacobian[:3, joint.v.start], model.world_jacobian[3:, joint.v.start]
        linear, angular = R.T @ (linear + np.cross(angular, p)), R.T @ angular
        if np.linalg.norm(linear) < 1e-9:
            return mujoco.mjtJoint.mjJNT_HINGE, angular
        if np.linalg.norm(angular) < 1e-9 and joint.is_scalar:
            return mujoco.mjtJoint.mjJNT_SLIDE, linear
    kind = model.pin.joints[joint.index].shortname()
    raise RobotError(f"robot '{model.robot.name}': joint '{joint.name}' is of a kind that MuJoCo has not: {kind}")


def _add_mimic(spec: mujoco.MjSpec, mimic: Mimic, settings: Settings) -> None:
    """q_joint = offset + ratio q_of."""
    made = spec.add_equality(
        name=f"{mimic.joint} follows", type=mujoco.mjtEq.mjEQ_JOINT, objtype=mujoco.mjtObj.mjOBJ_JOINT,
        name1=mimic.joint, name2=mimic.of, solref=_solref(settings), solimp=SOLIMP,
    )  # fmt: skip
    made.data = _filled(made.data, [mimic.offset, mimic.ratio])


def _filled(default: Any, values: Sequence[float]) -> Any:
    """Values at the start of a field, then zeros: MuJoCo's versions differ in how long its fields are."""
    if np.ndim(default) == 0:
        return values[0]
    return np.array([*values, *np.zeros(np.size(default) - len(values))])


# -- inertias ----------------------------------------------------------------------------------------------


def _principal(inertia: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Principal moments and axes (columns, right-handed) of an inertia."""
    moments, axes = np.linalg.eigh(inertia)
    axes[:, 2] *= np.sign(np.linalg.det(axes))
    return moments, axes


def _allowed(moments: np.ndarray) -> np.ndarray:
    """Moments that MuJoCo's compiler accepts; `_exact_inertias` puts back what files of robots really say."""
    smallest, middle, largest = np.maximum(moments, 1e-12)
    return np.array([smallest, middle, min(largest, smallest + middle)])


def _exact_inertias(made: mujoco.MjModel, model: Model) -> None:
    for joint in model.joints.values():
        body, inertia = made.body(joint.name).id, model.pin.inertias[joint.index]
        made.body_mass[body] = inertia.mass
        made.body_inertia[body] = _principal(inertia.inertia)[0]
    mujoco.mj_setConst(made, mujoco.MjData(made))


def _quaternion(R: np.ndarray) -> np.ndarray:
    """w x y z of a rotation."""
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(R).ravel())
    return quaternion
