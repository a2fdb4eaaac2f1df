"""What stack files can say, for tests: the examples, and arguments for every task and every reference."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import plugins

import sot

EXAMPLES = Path(__file__).parent.parent / "examples"
FILES = sorted(EXAMPLES.glob("*.yaml"))

REFERENCES = {
    "hold": {"value": [0.4, 0.1, 0.5]},
    "move": {"to": [0.4, 0.1, 0.5], "duration": 2.0, "delay": 0.5},
    "trapezoid": {"by": [0.1, 0.0, 0.1], "velocity": 0.2, "acceleration": [1.0, 2.0, 3.0], "delay": 0.1},
    "waypoints": {"points": [[0.4, 0.1, 0.5], [0.4, 0.2, 0.5]], "durations": [1.0, 2.0]},
    "sine": {
        "amplitude": [0.0, 0.1, 0.0],
        "frequency": 0.5,
        "phase": 1.0,
        "around": [0.4, 0.1, 0.5],
        "fade": 1.0,
    },
    "circle": {"radius": 0.1, "speed": -1.0, "axes": [[1, 0, 0], [0, 0, 1]], "fade": 0.3},
    "spline": {"points": [[0.4, 0.1, 0.5], [0.4, 0.2, 0.5]], "times": [1.0, 2.5]},
    "function": {"f": "mine.wave", "step": 1e-3},
    "follow": {"source": "mine.wave", "keep_offset": True},
}


def yaml_arguments(kind: type, model: sot.Model) -> dict[str, Any]:
    """Arguments for a task, as many as `tests/plugins.py` knows, and not at their defaults."""
    known, signature = plugins.parameters(model), inspect.signature(kind).parameters
    given: dict[str, Any] = {"gain": 2.5, "weight": 2.0, "name": "other"}
    for name in signature:
        special = plugins.SPECIAL.get((kind.__name__, name))
        values = special(model) if special else known.get(name, [])
        values = [value for value in values if not isinstance(value, dict)]
        if values and (values[-1] is not None or signature[name].default is inspect.Parameter.empty):
            last = values[-1].plain() if hasattr(values[-1], "plain") else values[-1]
            given[name] = last if isinstance(last, str | dict) else np.asarray(last).tolist()
    given = {name: value for name, value in given.items() if name in signature}
    if "reference" in signature:
        task = kind(**given)
        task.setup(model)
        given["reference"] = {"sine": {"amplitude": [0.01] * task.feature.dim, "frequency": 0.5}}
    return given
