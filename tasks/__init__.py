"""Tasks and constraints. Every public `Entry` in a module of this folder can be imported from here by its name.

A new one costs one file and no registration:

    from sot.tasks import Pose, Posture

Modules are read at the first look-up, not at import.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # only for editors and type checkers; what is not listed here works all the same
    from sot.entry import Entry
    from sot.tasks.attractor import Attractor as Attractor
    from sot.tasks.base_orientation import BaseOrientation as BaseOrientation
    from sot.tasks.capture_point import CapturePoint as CapturePoint
    from sot.tasks.closed_loop import ClosedLoop as ClosedLoop
    from sot.tasks.collisions import Collisions as Collisions
    from sot.tasks.com import CenterOfMass as CenterOfMass
    from sot.tasks.contact import Contact as Contact
    from sot.tasks.contact_force import ContactForce as ContactForce
    from sot.tasks.cop import CenterOfPressure as CenterOfPressure
    from sot.tasks.cop_limits import CopLimits as CopLimits
    from sot.tasks.damping import Damping as Damping
    from sot.tasks.direction import Direction as Direction
    from sot.tasks.direction import Gaze as Gaze
    from sot.tasks.external_wrench import ExternalWrench as ExternalWrench
    from sot.tasks.fixtures import Repulsor as Repulsor
    from sot.tasks.fixtures import Tube as Tube
    from sot.tasks.fixtures import Wall as Wall
    from sot.tasks.forward_dynamics import CartesianCompliance as CartesianCompliance
    from sot.tasks.forward_dynamics import CartesianForce as CartesianForce
    from sot.tasks.forward_dynamics import CartesianMotion as CartesianMotion
    from sot.tasks.gears import Gears as Gears
    from sot.tasks.gears import Locked as Locked
    from sot.tasks.gears import Mimic as Mimic
    from sot.tasks.generic import Generic as Generic
    from sot.tasks.image_point import ImagePoint as ImagePoint
    from sot.tasks.impedance import Impedance as Impedance
    from sot.tasks.joint_friction import JointFriction as JointFriction
    from sot.tasks.joint_limit_distance import JointLimitDistance as JointLimitDistance
    from sot.tasks.joint_limits import JointAccelerationLimits as JointAccelerationLimits
    from sot.tasks.joint_limits import JointLimits as JointLimits
    from sot.tasks.joint_limits import JointPositionLimits as JointPositionLimits
    from sot.tasks.joint_limits import JointVelocityLimits as JointVelocityLimits
    from sot.tasks.line_distance import LineDistance as LineDistance
    from sot.tasks.manipulability import Manipulability as Manipulability
    from sot.tasks.momentum import CentroidalMomentum as CentroidalMomentum
    from sot.tasks.orientation import Orientation as Orientation
    from sot.tasks.point_distance import PointDistance as PointDistance
    from sot.tasks.pose import Pose as Pose
    from sot.tasks.position import Position as Position
    from sot.tasks.posture import Posture as Posture
    from sot.tasks.singularity_guard import SingularityGuard as SingularityGuard
    from sot.tasks.support import SupportPolygon as SupportPolygon
    from sot.tasks.torque_limits import TorqueLimits as TorqueLimits
    from sot.tasks.torque_rate import TorqueRate as TorqueRate
    from sot.tasks.torques import JointEffort as JointEffort
    from sot.tasks.torques import TorqueRegularisation as TorqueRegularisation


@lru_cache(maxsize=1)
def classes() -> dict[str, type[Entry]]:
    """All tasks and constraints by class name."""
    from sot.entry import Entry

    found: dict[str, type[Entry]] = {}
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        offered = getattr(module, "__all__", ())
        for name, kind in vars(module).items():
            if not (inspect.isclass(kind) and issubclass(kind, Entry)) or inspect.isabstract(kind):
                continue
            # Its own public classes; what it imports only if it says so.
            if name in offered or (kind.__module__ == module.__name__ and not name.startswith("_")):
                found[name] = kind
    return dict(sorted(found.items()))


def names() -> list[str]:
    """Class names of all tasks and constraints."""
    return list(classes())


def kinds() -> dict[str, type[Entry]]:
    """All tasks and constraints by `kind`, the key that YAML files use."""
    return {entry.kind: entry for entry in classes().values()}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return names()
    if name.startswith("__"):  # the import system asks for these; they are never tasks
        raise AttributeError(name)
    try:
        return classes()[name]
    except KeyError:
        from sot.errors import unknown

        raise AttributeError(f"sot.tasks: {unknown('task', name, names())}") from None


def __dir__() -> list[str]:
    return [*globals(), *names()]
