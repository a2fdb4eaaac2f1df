"""Finds every feature and every task, and makes examples of them from the names of their parameters.

A new plug-in is covered by existing, as long as its constructor asks for things that `parameters` knows.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import sot.features
import sot.tasks
from sot.attractor import Plane
from sot.errors import TaskError
from sot.feature import Feature
from sot.model import Model
from sot.robots import load

TURNED = [0.3, -0.5, 2.0]
ROBOTS = ("panda", "ur5", "tiago", "solo12", "talos", "g1")


@functools.cache
def model_of(robot: str) -> Model:
    return Model(load(robot))


def feature_classes() -> list[type[Feature]]:
    """Every public concrete Feature in a module of sot.features."""
    found = []
    for info in pkgutil.iter_modules(sot.features.__path__):
        module = importlib.import_module(f"sot.features.{info.name}")
        for name, kind in vars(module).items():
            own = inspect.isclass(kind) and issubclass(kind, Feature) and kind.__module__ == module.__name__
            if own and not name.startswith("_") and not inspect.isabstract(kind):
                found.append(kind)
    return found


def task_classes() -> list[type]:
    return list(sot.tasks.classes().values())


def frames_of(model: Model) -> tuple[str, str]:
    """Two frames of a robot, far from each other."""
    robot = model.robot
    ends = [*robot.hands, *(foot.frame for foot in robot.feet)]
    middle = model.pin.frames[model.pin.nframes // 2].name
    return ends[0] if ends else model.pin.frames[-1].name, ends[1] if len(ends) > 1 else middle


def parameters(model: Model) -> dict[str, list[Any]]:
    """What to pass for a parameter of a given name; further choices are tried one at a time.

    A dictionary stands for several parameters that go together.
    """
    frame, other = frames_of(model)
    model.update(model.robot.home, np.zeros(model.nv))
    seen = model.placement(model.frame(frame)).act(np.array([0.1, -0.2, 1.0]))
    scalar = [joint.name for joint in model.joints.values() if joint.is_scalar]
    return {
        "frame": [frame],
        "relative_to": [None, other],
        "expressed": ["aligned", "local", "world"],
        "axis": ["z", [1.0, -2.0, 0.5]],
        "other": [other, None],
        "other_axis": ["x", [0.3, 1.0, 0.2]],
        "point": [seen],
        "other_point": [[0.1, 0.2, 0.3]],
        "attached_to": [None, {"attached_to": other, "point": model.placement(model.frame(other)).actInv(seen)}],
        "depth": [False, True],
        "joints": [scalar[-3:], "*"],
        "joint": [scalar[0]],
        "of": [scalar[1]],
        "value": [lambda m: m.com[:2] ** 2],
        "jacobian": [lambda m: 2.0 * m.com[:2, None] * m.com_jacobian[:2]],
        "limit": [3.0],
        "acceleration": [None, 5.0],
        "contacts": [[frame, other]],
        "contact": [frame],
        "wrench": [[1.0, -2.0, 3.0, 0.1, 0.2, -0.3]],
        "radius": [0.05],
        "region": [Plane(point=[0.1, 0.2, 0.3], normal=[1.0, 2.0, -1.0])],
        "center": [[0.1, 0.2, 0.3]],
    }


# Parameters that mean less in one class than elsewhere.
SPECIAL: dict[tuple[str, str], Callable[[Model], list[Any]]] = {
    ("FramePosition", "expressed"): lambda model: ["aligned"],
    ("JointLimitDistance", "joints"): lambda model: [_bounded(model)[-2:]],
    ("JointPositionLimits", "joints"): lambda model: [_bounded(model)[-2:]],
    ("JointVelocityLimits", "limit"): lambda model: [None, 3.0],
    ("CartesianMotion", "joints"): lambda model: [_carrying(model)[-2:], "*"],
    ("CartesianCompliance", "joints"): lambda model: [_carrying(model)[-2:], "*"],
    ("CartesianForce", "joints"): lambda model: [_carrying(model)[-2:], "*"],
    ("Manipulability", "joints"): lambda model: [None, _carrying(model)[1:6], "*"],
    ("SingularityGuard", "joints"): lambda model: [None, _carrying(model)[1:6], "*"],
    ("ClosedLoop", "other"): lambda model: [_on_another_link(model)],
    ("ClosedLoop", "joined"): lambda model: ["fixed", "ball"],
    ("Attractor", "orientation"): lambda model: [None, {"orientation": TURNED, "free": "z"}, TURNED],
    ("Tube", "points"): lambda model: [[[0.1, 0.2, 0.3], [0.4, 0.2, 0.3], [0.4, 0.5, 0.6]]],
    ("Damping", "mode"): lambda model: ["selective", "constant", "adaptive"],
    ("Damping", "per"): lambda model: ["level", "task"],
    ("ContactForce", "reference"): lambda model: [[0.0, 0.0, 20.0]],
    ("CenterOfPressure", "contact"): lambda model: [None, frames_of(model)[0]],
    ("TorqueRegularisation", "joints"): lambda model: [None, _driven(model)[-2:], "*"],
    ("JointEffort", "joints"): lambda model: [_driven(model)[-2:], "*"],
    ("JointEffort", "reference"): lambda model: [2.0],
    ("PointDistance", "point"): lambda model: [[0.1, 0.0, 0.2]],
    ("LineDistance", "point"): lambda model: [[0.1, 0.0, 0.2]],
}


def fits(kind: type, robot: str) -> bool:
    """False for what a robot cannot have: gears where none follows, a base that is fixed."""
    described = model_of(robot).robot
    if kind.__name__ == "Gears":
        return bool(described.mimics)
    return kind.__name__ != "BaseOrientation" or described.root != "fixed"


def a_robot_for(kind: type) -> str:
    """The first robot that can have it."""
    return next(robot for robot in ROBOTS if fits(kind, robot))


def _driven(model: Model) -> list[str]:
    from sot.features.selection import driven

    return [joint.name for joint in driven(model)]


def _bounded(model: Model) -> list[str]:
    from sot.features.selection import bounded

    return [joint.name for joint in bounded(model)]


def _on_another_link(model: Model) -> str:
    frame, *others = (*frames_of(model), model.pin.frames[0].name)
    joint = model.attachment(model.frame(frame))[0]
    return next(other for other in others if model.attachment(model.frame(other))[0] != joint)


def _carrying(model: Model) -> list[str]:
    columns = model.attachment(model.frame(frames_of(model)[0]))[2]
    return [joint.name for joint in model.joints.values() if joint.v.start in columns]


def examples(kind: type, model: Model) -> Iterator[tuple[str, Any]]:
    """Instances of a class: with what it needs, and with each known choice of each parameter."""
    known = parameters(model)
    choices = {}
    for name, parameter in inspect.signature(kind).parameters.items():
        special = SPECIAL.get((kind.__name__, name))
        if special or name in known:
            choices[name] = special(model) if special else known[name]
        elif parameter.default is parameter.empty:
            raise AssertionError(f"{kind.__name__}: plugins.parameters has nothing to pass for '{name}'")
    signature = inspect.signature(kind).parameters
    needed = {name: values[0] for name, values in choices.items() if _passed(signature[name], name)}
    yield kind.__name__, kind(**needed)
    for name, values in choices.items():
        for value in values:
            if name not in needed or value is not needed[name]:
                label = value if isinstance(value, (str, bool)) else "…"
                changed = value if isinstance(value, dict) else {name: value}
                yield f"{kind.__name__}({name}={label})", kind(**{**needed, **changed})


def _passed(parameter: inspect.Parameter, name: str) -> bool:
    return parameter.default is parameter.empty or name in ("point", "limit", "contacts", "radius")


def random_state(model: Model, rng: np.random.Generator, usable: Callable[[Model], Any]) -> None:
    """Move the model to a random state at which `usable` can be evaluated (a camera may look the other way)."""
    for _ in range(100):
        v = rng.normal(size=model.nv)
        model.update(model.random_configuration(rng, 0.4), v / np.linalg.norm(v))
        try:
            if np.abs(np.asarray(usable(model))).max(initial=0.0) < 10.0:
                return
        except TaskError:
            continue
    raise AssertionError("no usable state found")


def derivative(function: Callable[[float], np.ndarray], h: float = 1e-3) -> np.ndarray:
    """f'(0) to fourth order: (8 (f(h) − f(−h)) − (f(2h) − f(−2h))) / 12h."""
    near, far = function(h) - function(-h), function(2 * h) - function(-2 * h)
    return (8.0 * near - far) / (12.0 * h)


def along(model: Model, direction: np.ndarray, measure: Callable[[Model], np.ndarray]) -> np.ndarray:
    """Derivative of a measure when the model moves with a constant velocity; the model is left where it was."""
    q, v = model.q, model.v

    def at(step: float) -> np.ndarray:
        model.update(model.integrate(q, step * direction), v)
        return np.array(measure(model))

    result = derivative(at)
    model.update(q, v)
    return result


def scale(array: np.ndarray) -> float:
    """What an error of 1 means: 1, or the size of what is compared."""
    return max(1.0, float(np.abs(array).max(initial=0.0)))
