"""The smallest of all robots: one body that slides along x."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from sot.description import Description
from sot.description.corrections import clean_limits

JOINT = "slide"  # name of its joint


def slider(name: str, mass: float, position: float = 0.0, friction: float = 0.0, damping: float = 0.0) -> Description:
    """Description of a body on a line, made without a file. Its frame has the name of the robot.

    Args:
        name: Name of the robot and of its frame.
        mass: kg.
        position: Home, m.
        friction: Coulomb friction, N.
        damping: Viscous friction, N·s/m.
    """
    model = pin.Model()
    model.name = name
    joint = model.addJoint(0, pin.JointModelPX(), pin.SE3.Identity(), JOINT)
    model.appendBodyToJoint(joint, pin.Inertia(mass, np.zeros(3), np.zeros((3, 3))), pin.SE3.Identity())
    model.addFrame(pin.Frame(name, joint, 0, pin.SE3.Identity(), pin.FrameType.BODY), False)
    clean_limits(model)
    return Description(
        name=name,
        pin_model=model,
        home=np.array([position]),
        root="fixed",
        hands=(name,),
        joint_friction=np.array([friction]),
        joint_damping=np.array([damping]),
    )
