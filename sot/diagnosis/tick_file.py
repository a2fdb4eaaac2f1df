"""A tick in a file: numbers as numpy arrays, names as JSON. Nothing in it is ever executed."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sot.diagnosis.clash import BoundNames, Clash
from sot.diagnosis.part import Part
from sot.diagnosis.saved_tick import SavedTick, capture
from sot.diagnosis.touch import Touch
from sot.errors import ConfigError
from sot.problem import Problem
from sot.solvers.choice import BACKENDS, MEANINGS
from sot.solvers.status import OUTCOMES

if TYPE_CHECKING:
    from sot.controller import Controller

FORMAT = "sot tick 1"
ARRAYS = ("A", "lower", "upper", "offsets", "x_lower", "x_upper", "metric", "target", "x", "status")


def save_tick(controller: Controller, path: str | Path) -> Path:
    """Save the last tick of a controller, for `load_tick`.

    While a change of the stack is blended in, that is the problem of its newest version, and `SavedTick.share` says
    how much of the command it made.

    Args:
        controller: After at least one step.
        path: File to write, such as `tick.npz`.
    """
    return write_tick(capture(controller), path)


def write_tick(tick: SavedTick, path: str | Path) -> Path:
    """Write a tick to a file; returns its path."""
    arrays = {name: getattr(tick.problem, name) for name in ARRAYS[:-2]}
    names = {
        field.name: getattr(tick, field.name)
        for field in dataclasses.fields(tick)
        if field.name not in ("problem", "x", "status")
    }
    text = json.dumps({"format": FORMAT, "hard": tick.problem.hard, **names}, default=dataclasses.asdict)
    try:
        with open(path, "wb") as file:
            np.savez(file, **arrays, x=tick.x, status=tick.status, names=np.array(text))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror or error}") from None
    return Path(path)


def load_tick(path: str | Path) -> SavedTick:
    """Read a tick that `save_tick` wrote.

    Raises:
        ConfigError: The file is missing, damaged, or something else.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in ARRAYS}
            names = json.loads(str(file["names"]))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from None
    except Exception:  # array readers raise many kinds of errors on a damaged file, with advice on other kinds of files
        raise ConfigError(f"{path}: is not a saved tick, or damaged") from None
    if not isinstance(names, dict) or names.pop("format", None) != FORMAT:
        raise ConfigError(f"{path}: is not a saved tick of the format '{FORMAT}'")
    try:
        tick = _tick(arrays, names)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ConfigError(f"{path}: is damaged: {error}") from None
    _check(tick, path)
    return tick


def _tick(arrays: dict[str, np.ndarray], names: dict[str, Any]) -> SavedTick:
    numbers = {name: np.asarray(array, dtype=float) for name, array in arrays.items()}
    offsets, status = (arrays[name].astype(kind) for name, kind in (("offsets", np.int64), ("status", np.int8)))
    problem = Problem(
        np.asfortranarray(numbers["A"]), numbers["lower"], numbers["upper"], offsets,
        numbers["x_lower"], numbers["x_upper"], numbers["metric"], numbers["target"], int(names.pop("hard", 1)),
    )  # fmt: skip
    for name in ("strict", "outcome", "iterations"):
        names[name] = int(names[name])
    for name in ("scaling", "time", "dt"):
        names[name] = float(names[name])
    names["share"] = float(names.get("share", 1.0))
    parts = tuple(_part(part) for part in names.pop("parts"))
    bound_names = BoundNames(**_tuples(names.pop("bound_names")))
    clashes = tuple(Clash(**_tuples(clash)) for clash in names.pop("limit_clashes"))
    return SavedTick(
        problem=problem, x=numbers["x"], status=status, parts=parts, bound_names=bound_names,
        limit_clashes=clashes, **_tuples(names),
    )  # fmt: skip


def _part(table: dict[str, Any]) -> Part:
    touch = table.pop("touch", None)
    return Part(**_tuples(table), touch=None if touch is None else Touch(**_tuples(touch)))


def _tuples(table: dict[str, Any]) -> dict[str, Any]:
    """JSON has no tuples."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


def _check(tick: SavedTick, path: str | Path) -> None:
    """Sizes that do not fit together are found here, not deep in a solver."""
    problem = tick.problem
    m, n = problem.A.shape if problem.A.ndim == 2 else (-1, -1)
    columns = (problem.x_lower, problem.x_upper, problem.metric, problem.target, tick.x)
    named = (tick.joints, tick.joint_units, tick.bound_names.lower, tick.bound_names.upper)
    fits = (
        problem.lower.shape == problem.upper.shape == (m,)
        and all(array.shape == (n,) for array in columns)
        and all(len(names) == n for names in named)
        and tick.status.shape == (m + n,)
        and _is_order(problem.offsets, m)
        and 0 <= tick.strict <= problem.n_levels
        and 1 <= problem.hard <= problem.n_levels
        and all(_part_fits(part, problem) for part in tick.parts)
        and tick.meaning in MEANINGS
        and tick.backend in BACKENDS
        and tick.outcome in OUTCOMES
        and 0.0 <= tick.share <= 1.0
    )
    if not fits:
        raise ConfigError(f"{path}: is damaged: its parts do not fit together")


def _is_order(offsets: np.ndarray, m: int) -> bool:
    if offsets.ndim != 1 or offsets.size < 2:
        return False
    return bool(offsets[0] == 0 and offsets[-1] == m and (np.diff(offsets) >= 0).all())


def _part_fits(part: Part, problem: Problem) -> bool:
    count = len(part.columns) or part.stop - part.start
    return (
        0 <= part.start <= part.stop <= problem.lower.size
        and 0 <= part.level < problem.n_levels
        and all(0 <= column < problem.n for column in part.columns)
        and (len(part.labels) == len(part.units) == count or (part.bounds and not part.labels))
        and part.scale > 0.0
        and part.factor > 0.0
        and len(part.shift) in (0, part.stop - part.start)
        and (part.touch is None or 0 <= part.touch.start < part.touch.stop <= problem.n)
    )
