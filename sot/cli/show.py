"""Tables of what there is: robots, tasks, features, references, solvers, and the facts of one of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sot.config.catalog import built_in
from sot.config.signature import in_words, parameters, summary
from sot.controller import Controller
from sot.description import Description
from sot.errors import ConfigError, SotError, unknown
from sot.model import Model

Line = Mapping[str, Any]
FILES = (".yaml", ".yml", ".urdf", ".xml")


def table(lines: Sequence[Line]) -> str:
    """Lines with the same keys as a table under these keys."""
    if not lines:
        return "(none)"
    rows = [list(lines[0])] + [[_cell(value) for value in line.values()] for line in lines]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_cell, value))
    return "" if value is None else str(value)


def configuration(robot: Description, q: np.ndarray) -> str:
    """A configuration as a table of joints."""
    model = Model(robot)
    return table([{"joint": name, "q": q[joint.q].tolist()} for name, joint in model.joints.items()])


# -- lists -------------------------------------------------------------------------------------------


def robots() -> list[Line]:
    """All robots; one that cannot be loaded says why."""
    from sot.robots import load, names

    lines: list[Line] = []
    for name in names():
        try:
            robot = load(name)
            lines.append({
                "name": name, "base": robot.root, "dof": robot.pin_model.nv, "mass/kg": round(robot.mass, 2),
                "feet": len(robot.feet), "hands": list(robot.hands),
            })  # fmt: skip
        except SotError as error:
            lines.append(
                {"name": name, "base": "", "dof": "", "mass/kg": "", "feet": "", "hands": str(error)}
            )
    return lines


def tasks() -> list[Line]:
    """Tasks and constraints by the word that YAML files use."""
    return _documented(built_in().entries)


def references() -> list[Line]:
    """References by the word that YAML files use."""
    return _documented(built_in().references)


def features() -> list[Line]:
    """Features, for tasks of one's own."""
    from sot import features as module

    return [{"name": name, "what": summary(getattr(module, name))} for name in module.__all__]


def solvers() -> list[Line]:
    """Solvers and what they mean by the order of a stack."""
    return [
        {
            "name": "nullspace",
            "what": "strict order, equalities only: each level acts in the null space of those above",
        },
        {"name": "hierarchical", "what": "strict order, equalities and inequalities on every level"},
        {
            "name": "weighted",
            "what": "one cost Σ w‖e‖² under the hard level 0; back ends sot, daqp, quadprog",
        },
    ]


LISTS: dict[str, Callable[[], list[Line]]] = {
    "robots": robots, "tasks": tasks, "features": features, "references": references, "solvers": solvers,
}  # fmt: skip


def _documented(kinds: Mapping[str, type]) -> list[Line]:
    return [{"name": word, "class": kind.__name__, "what": summary(kind)} for word, kind in kinds.items()]


# -- one thing ---------------------------------------------------------------------------------------


def facts(name: str) -> dict[str, Any]:
    """What is known about a robot, a task or a reference."""
    from sot.robots import load, names

    words = built_in()
    if Path(name).suffix.lower() in FILES or name in names():
        return robot_facts(load(name))
    kind = words.entries.get(name) or words.references.get(name)
    if kind is None:
        known = [*names(), *words.entries, *words.references]
        raise ConfigError(unknown("robot, task or reference", name, known, shown=len(known)))
    return {"kind": name, "class": kind.__name__, "what": summary(kind), "keys": _keys(kind)}


def _keys(kind: type) -> list[Line]:
    return [
        {"key": p.name, "type": in_words(p.hint), "default": _default(p.default), "what": p.text}
        for p in parameters(kind).values()
    ]


def _default(value: Any) -> str:
    return "(required)" if value is inspect.Parameter.empty else "" if value is None else str(value)


def robot_facts(robot: Description) -> dict[str, Any]:
    """Joints with their limits, frames, mass, feet, hands."""
    model = Model(robot)
    return {
        "robot": robot.name,
        "base": robot.root,
        "nq": model.nq,
        "nv": model.nv,
        "mass": robot.mass,
        "file": str(robot.urdf or robot.mjcf),
        "hands": list(robot.hands),
        "feet": [
            {"frame": foot.frame, "points": foot.points.tolist(), "radius": foot.radius}
            for foot in robot.feet
        ],
        "postures": ["home", *robot.postures],
        "joints": [line for joint in model.joints.values() for line in _joint(model, joint.name)],
        "follow": [
            {"joint": m.joint, "of": m.of, "ratio": m.ratio, "offset": m.offset} for m in robot.mimics
        ],
        "frames": list(model.frames),
    }


def _joint(model: Model, name: str) -> list[Line]:
    """One line per degree of freedom. Position limits only where q has one coordinate for it."""
    joint, pin = model.joint(name), model.pin
    names = model.velocity_names()
    lines: list[Line] = []
    for i in range(joint.v.start, joint.v.stop):
        position = slice(joint.q.start, joint.q.stop) if joint.is_scalar else slice(0, 0)
        lines.append({
            "joint": names[i],
            "home": _first(model.robot.home[position]),
            "lower": _first(pin.lowerPositionLimit[position]),
            "upper": _first(pin.upperPositionLimit[position]),
            "velocity": float(_velocity_limit(pin)[i]),
            "acceleration": float(model.robot.acceleration_limit[i]),
            "effort": float(_effort_limit(pin)[i]),
        })  # fmt: skip
    return lines


def _first(values: Any) -> float | None:
    return float(values[0]) if len(values) else None


def _velocity_limit(pin: Any) -> Any:
    return pin.upperVelocityLimit if hasattr(pin, "upperVelocityLimit") else pin.velocityLimit


def _effort_limit(pin: Any) -> Any:
    return pin.upperEffortLimit if hasattr(pin, "upperEffortLimit") else pin.effortLimit


def page(facts: Mapping[str, Any]) -> str:
    """Facts for people."""
    if "kind" in facts:
        return f"{facts['kind']} ({facts['class']})\n{facts['what']}\n\n{table(facts['keys'])}"
    feet = [f"{foot['frame']} ({len(foot['points'])} points)" for foot in facts["feet"]]
    lines = [
        f"{facts['robot']}: {facts['base']} base, {facts['nv']} degrees of freedom, {facts['mass']:.2f} kg",
        f"file      {facts['file']}",
        f"hands     {', '.join(facts['hands']) or '(none)'}",
        f"feet      {', '.join(feet) or '(none)'}",
        f"postures  {', '.join(facts['postures'])}",
        f"\n{table(facts['joints'])}\n(rad, rad/s, rad/s², N·m; m, m/s, m/s², N for sliding joints)",
    ]
    if facts["follow"]:
        lines.append(f"\njoints that follow others\n{table(facts['follow'])}")
    return "\n".join([*lines, f"\nframes\n{', '.join(facts['frames'])}"])


def levels(controller: Controller) -> list[Line]:
    """Who stands on which level of a controller's stack."""
    return [
        {
            "level": block.level + 1 - controller.plan.hard, "name": block.entry.name, "kind": block.entry.kind,
            "rows": _size(controller, block), "weight": block.entry.weight,
        }
        for block in controller.plan.blocks
    ]  # fmt: skip


def _size(controller: Controller, block: Any) -> int:
    from sot.entry import Box, Shaper

    if isinstance(block.entry, Shaper):  # asks for nothing itself
        return 0
    if block.columns is not None:
        return len(block.columns)
    rows = block.rows.stop - block.rows.start
    return controller.model.nv if isinstance(block.entry, Box) and not rows else rows
