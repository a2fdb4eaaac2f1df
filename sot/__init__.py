"""A task-hierarchy whole-body controller: write a stack of tasks, get velocities.

    import sot
    from sot.robots import Kinematic, load
    from sot.tasks import JointLimits, Pose, Posture

    panda = load("panda")
    hand = Pose("panda_hand", reference=sot.move(by=[0.1, 0.0, -0.2], duration=2.0))
    stack = sot.Stack([JointLimits()], [hand], [Posture()])
    run = sot.run(Kinematic(panda), sot.Controller(panda, stack), duration=3.0)
    print(run.summary())

Robots are in `sot.robots`, tasks and constraints in `sot.tasks`. Modules are imported when a name is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for editors and type checkers; at run time `__getattr__` below finds the same names
    from sot import errors as errors
    from sot.closed_form.balance import Balance as Balance
    from sot.closed_form.differentiators import Difference as Difference
    from sot.closed_form.differentiators import Lag as Lag
    from sot.closed_form.differentiators import SavitzkyGolay as SavitzkyGolay
    from sot.closed_form.inverse import InverseDynamics as InverseDynamics
    from sot.closed_form.inverse import inverse_dynamics as inverse_dynamics
    from sot.closed_form.inverse import inverse_dynamics_along as inverse_dynamics_along
    from sot.closed_form.notice import Notice as Notice
    from sot.closed_form.notice import Tolerances as Tolerances
    from sot.closed_form.observer import ContactForces as ContactForces
    from sot.closed_form.observer import MomentumObserver as MomentumObserver
    from sot.closed_form.observer import forces_from_torques as forces_from_torques
    from sot.collision.obstacle import Obstacle as Obstacle
    from sot.config import load_run as load_run
    from sot.controller import Controller as Controller
    from sot.description import Description as Description
    from sot.entry import Box as Box
    from sot.entry import Constraint as Constraint
    from sot.entry import Load as Load
    from sot.entry import Rows as Rows
    from sot.entry import Shaper as Shaper
    from sot.entry import Tick as Tick
    from sot.feature import Feature as Feature
    from sot.gain import PD as PD
    from sot.gain import AdaptiveGain as AdaptiveGain
    from sot.ik import solve_ik as solve_ik
    from sot.ik import solve_ik_batch as solve_ik_batch
    from sot.joint_impedance import JointImpedance as JointImpedance
    from sot.lie import SE3 as SE3
    from sot.loop import Loop as Loop
    from sot.loop import run as run
    from sot.loop.recount import Run as Run
    from sot.loop.together import run_together as run_together
    from sot.model import Model as Model
    from sot.operational import operational_inertia as operational_inertia
    from sot.reference import Reference as Reference
    from sot.reference import circle as circle
    from sot.reference import follow as follow
    from sot.reference import function as function
    from sot.reference import hold as hold
    from sot.reference import move as move
    from sot.reference import sine as sine
    from sot.reference import spline as spline
    from sot.reference import trapezoid as trapezoid
    from sot.reference import waypoints as waypoints
    from sot.robot import Robot as Robot
    from sot.stack import Stack as Stack
    from sot.state import Command as Command
    from sot.state import State as State
    from sot.task import FeatureTask as FeatureTask
    from sot.task import Task as Task
    from sot.viewer import Viewer as Viewer

__version__ = "0.1.0"

# Module → names that users take from it.
_HOMES = {
    "closed_form.balance": ("Balance",),
    "closed_form.differentiators": ("Difference", "Lag", "SavitzkyGolay"),
    "closed_form.inverse": ("InverseDynamics", "inverse_dynamics", "inverse_dynamics_along"),
    "closed_form.notice": ("Notice", "Tolerances"),
    "closed_form.observer": ("ContactForces", "MomentumObserver", "forces_from_torques"),
    "collision.obstacle": ("Obstacle",),
    "config": ("load_run",),
    "controller": ("Controller",),
    "description": ("Description",),
    "entry": ("Box", "Constraint", "Load", "Rows", "Shaper", "Tick"),
    "feature": ("Feature",),
    "gain": ("PD", "AdaptiveGain"),
    "ik": ("solve_ik", "solve_ik_batch"),
    "joint_impedance": ("JointImpedance",),
    "lie": ("SE3",),
    "loop": ("Loop", "run"),
    "model": ("Model",),
    "loop.recount": ("Run",),
    "loop.together": ("run_together",),
    "operational": ("operational_inertia",),
    "reference": (
        "Reference", "circle", "follow", "function", "hold", "move", "sine", "spline", "trapezoid", "waypoints",
    ),
    "robot": ("Robot",),
    "stack": ("Stack",),
    "state": ("Command", "State"),
    "task": ("FeatureTask", "Task"),
    "viewer": ("Viewer",),
}  # fmt: skip
_MODULES = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ["__version__", "errors", *_MODULES]


def __getattr__(name: str) -> Any:
    if name == "errors":
        return importlib.import_module("sot.errors")
    if name not in _MODULES:
        raise AttributeError(f"module 'sot' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"sot.{_MODULES[name]}"), name)
    globals()[name] = value  # found at once the next time
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
