"""The smallest of all robots: one body that slides along x, or along x, y and z."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from sot.description import Description
from sot.description.corrections import clean_limits

JOINT = "slide"  # name of the joint of a body on a line
AXES = {"x": pin.JointModelPX, "y": pin.JointModelPY, "z": pin.JointModelPZ}


def slider(name: str, mass: float, position: float = 0.0, friction: float = 0.0, damping: float = 0.0) -> Description:
    """Description of a body on a line, made without a file. Its frame has the name of the robot.

    Args:
        name: Name of the robot and of its frame.
        mass: kg.
        position: Home, m.
        friction: Coulomb friction, N.
        damping: Viscous friction, N·s/m.
    """
    return _sliding(name, {JOINT: "x"}, mass, [position], friction, damping)


def stylus(
    name: str, mass: float, position: Sequence[float] = (0.0, 0.0, 0.0), friction: float = 0.0, damping: float = 0.0
) -> Description:
    """Description of a body that slides along x, y and z without turning: a haptic device. It weighs nothing.

    Its joints are `x`, `y` and `z`, and its frame has the name of the robot. Devices make up for their own weight.

    Args:
        name: Name of the robot and of its frame.
        mass: Effective mass at the tip, kg.
        position: Home, m, shape (3,).
        friction: Coulomb friction of each axis, N.
        damping: Viscous friction of each axis, N·s/m.
    """
    robot = _sliding(name, {axis: axis for axis in AXES}, mass, position, friction, damping)
    robot.pin_model.gravity = pin.Motion.Zero()
    return robot


def _sliding(
    name: str, joints: dict[str, str], mass: float, position: Sequence[float], friction: float, damping: float
) -> Description:
    """A body at the end of a chain of sliding joints, {name: axis}."""
    model = pin.Model()
    model.name = name
    joint = 0
    for joint_name, axis in joints.items():
        joint = model.addJoint(joint, AXES[axis](), pin.SE3.Identity(), joint_name)
    model.appendBodyToJoint(joint, pin.Inertia(mass, np.zeros(3), np.zeros((3, 3))), pin.SE3.Identity())
    model.addFrame(pin.Frame(name, joint, 0, pin.SE3.Identity(), pin.FrameType.BODY), False)
    clean_limits(model)
    return Description(
        name=name,
        pin_model=model,
        home=np.array(position, dtype=float),
        root="fixed",
        hands=(name,),
        joint_friction=np.full(len(joints), friction),
        joint_damping=np.full(len(joints), damping),
    )
