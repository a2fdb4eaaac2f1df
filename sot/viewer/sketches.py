"""What entries sketch, on a page: drawn when it first appears, from then on only moved."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import Protocol, runtime_checkable

import numpy as np

from sot.errors import ConfigError
from sot.model import Model
from sot.sketch import ALARM, CALM, WARNING, Body, Box, Colour, Cylinder, Drawing, Line, Solid, Sphere, Triangles
from sot.viewer import scene, triangles
from sot.viewer.page import Page

COLOURS = {CALM: "calm", WARNING: "warning", ALARM: "alarm"}
SHAFT = Cylinder(1.0, 1.0)
TIP = scene.Cone(1.0, 1.0)
RADIUS, TIP_RADIUS, TIP_LENGTH = 0.13, 0.45, 1.6  # of lines and the tips of arrows; 1 is the radius of a ball
TIP_SHARE = 0.6  # of an arrow's length, at most

Stick = tuple[np.ndarray, np.ndarray, float]  # start, end, radius, m


@runtime_checkable
class Sketching(Protocol):
    """An entry of a stack, or anything else that has something drawn."""

    name: str

    def sketch(self, model: Model) -> Iterable[Drawing]:
        """What to draw at the model's state."""


class Sketches:
    """Nodes for the lines and bodies that entries sketch.

    A line has one node per colour, and only the one of its present colour is seen. So a change of colour is a
    change of poses, which a film can show.
    """

    def __init__(self, page: Page, root: str, ball: float) -> None:
        """
        Args:
            page: Where to draw.
            root: Node above all that is drawn.
            ball: Radius that goes with the size of the robot, m.
        """
        self._page, self._root, self.ball = page, root, ball
        self._paths: dict[tuple[str, str], str] = {}
        self._drawn: dict[str, tuple[Body | scene.Cone, Colour]] = {}
        self._seen: dict[str, np.ndarray] = {}
        self._said: set[tuple[str, str]] = set()
        self.gone: dict[str, np.ndarray] = {}  # poses that hide what was in the picture before and is not in the last

    def picture(self, entries: Iterable[Sketching], model: Model) -> dict[str, np.ndarray]:
        """Where everything is that is to be seen: path → pose times scale, shape (4, 4)."""
        solids: dict[str, np.ndarray] = {}
        sticks: dict[str, Stick] = {}
        for entry in entries:
            for drawing in self._ask(entry, model):
                self._take(entry.name, drawing, solids, sticks)
        picture = solids | _poses(sticks)
        self.gone = {path: scene.hidden(pose) for path, pose in self._seen.items() if path not in picture}
        self._seen = picture
        return picture

    def _ask(self, entry: Sketching, model: Model) -> Iterable[Drawing]:
        named: dict[str, Drawing] = {}
        try:
            for drawing in entry.sketch(model):
                if drawing.name in named:
                    self._say(entry.name, drawing.name, ConfigError("an earlier one has the same name"))
                named.setdefault(drawing.name, drawing)
        except Exception as error:  # a user's code: a run does not end because of a picture
            self._say(entry.name, "", error)
        return named.values()

    def _take(self, entry: str, drawing: Drawing, solids: dict[str, np.ndarray], sticks: dict[str, Stick]) -> None:
        """Sort a drawing in, or say why it is not shown."""
        try:
            if isinstance(drawing, Line):
                sticks |= self._sticks(entry, drawing)
            elif isinstance(drawing, Solid):
                solids |= self._solid(entry, drawing)
            else:
                raise ConfigError(f"expected a Line or a Solid, got {drawing!r}")
        except Exception as error:  # a user's numbers
            self._say(entry, str(drawing.name), error)

    def _sticks(self, entry: str, line: Line) -> dict[str, Stick]:
        """A line's shaft and, as it does not grow with the length, its tip."""
        if line.colour not in COLOURS:
            raise ConfigError(f"colour: expected CALM, WARNING or ALARM of sot.sketch, got {line.colour}")
        start, end = _numbers(line.start, (3,), "start"), _numbers(line.end, (3,), "end")
        length = float(np.linalg.norm(end - start))
        if length < 1e-3 * self.ball:
            return {}  # nothing to be seen, and no direction
        path, radius = f"{self._path(entry, line.name)}/{COLOURS[line.colour]}", RADIUS * self.ball
        self._draw(f"{path}/shaft", SHAFT, line.colour, on_top=True)
        if not line.arrow:
            return {f"{path}/shaft": (start, end, radius)}
        self._draw(f"{path}/tip", TIP, line.colour, on_top=True)
        tip = min(TIP_LENGTH * self.ball, TIP_SHARE * length)
        neck = end - tip / length * (end - start)
        return {f"{path}/shaft": (start, neck, radius), f"{path}/tip": (neck, end, TIP_RADIUS / TIP_LENGTH * tip)}

    def _solid(self, entry: str, solid: Solid) -> dict[str, np.ndarray]:
        pose, path = _numbers(solid.pose, (4, 4), "pose"), self._path(entry, solid.name)
        self._draw(path, solid.body, solid.colour)
        return {path: pose}

    def _draw(self, path: str, body: Body | scene.Cone, colour: Colour, *, on_top: bool = False) -> None:
        """Draw what is new. A body that looks otherwise than before is drawn anew, as if it had always been so."""
        old = self._drawn.get(path)
        if old is not None and old[1] == colour and _alike(old[0], body):
            return
        _check(body)
        if old is None:
            self._page.put(path, scene.hidden(np.eye(4)))  # no glimpse of it at the origin
        shape = triangles.outward(body) if isinstance(body, Triangles) else body
        self._page.draw(path, shape, colour, on_top=on_top)
        self._drawn[path] = (body, colour)

    def _path(self, entry: str, name: str) -> str:
        """A node of one's own. Names may have any characters, but a page takes slashes as steps of its tree."""
        if (entry, name) not in self._paths:
            self._paths[entry, name] = f"{self._root}/{_safe(entry)}/{_safe(name)}_{len(self._paths)}"
        return self._paths[entry, name]

    def _say(self, entry: str, name: str, error: Exception) -> None:
        """Tell why something is not shown, once for each drawing."""
        if (entry, name) in self._said:
            return
        self._said.add((entry, name))
        what = f"drawing '{name}' of '{entry}'" if name else f"sketch of '{entry}'"
        kind = "" if isinstance(error, ConfigError) else f"{type(error).__name__}: "
        print(f"viewer: {what} is not shown: {kind}{error}", file=sys.stderr)


def _poses(sticks: dict[str, Stick]) -> dict[str, np.ndarray]:
    """Poses that make unit cylinders and cones the sticks."""
    if not sticks:
        return {}
    starts, ends = (np.array([stick[k] for stick in sticks.values()]) for k in (0, 1))
    radii = np.array([stick[2] for stick in sticks.values()])
    poses = scene.between(starts, ends)
    poses[:, :3, 2] = ends - starts
    poses[:, :3, :2] *= radii[:, None, None]
    return dict(zip(sticks, poses, strict=True))


def _numbers(values: np.ndarray, shape: tuple[int, ...], what: str) -> np.ndarray:
    numbers = np.asarray(values, dtype=float)
    if numbers.shape != shape or not np.isfinite(numbers).all():
        got = numbers.tolist() if numbers.size < 20 else f"shape {numbers.shape}"
        raise ConfigError(f"{what}: expected finite numbers of shape {shape}, got {got}")
    return numbers


def _check(body: Body | scene.Cone) -> None:
    """Refuse a body that a browser could make nothing of."""
    if isinstance(body, Box):
        _numbers(np.array(body.lengths), (3,), "lengths")
    elif isinstance(body, Sphere):
        _numbers(np.array(body.radius), (), "radius")
    elif isinstance(body, Cylinder):
        _numbers(np.array([body.radius, body.length]), (2,), "radius and length")
    elif isinstance(body, Triangles):
        _numbers(body.vertices, (len(body.vertices), 3), "vertices")
        if not ((body.faces >= 0) & (body.faces < len(body.vertices))).all():
            raise ConfigError(f"faces: expected indices of the {len(body.vertices)} vertices")


def _alike(a: Body | scene.Cone, b: Body | scene.Cone) -> bool:
    if not isinstance(a, Triangles) or not isinstance(b, Triangles):
        return a == b
    return a is b or (np.array_equal(a.vertices, b.vertices) and np.array_equal(a.faces, b.faces))


def _safe(name: str) -> str:
    return re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "x"
