"""What is on the line: bodies that slide, and walls."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sot.errors import RobotError, unknown

GRAVITY = 9.81  # m/s²
TOUCHING = 1e-12  # m: a smaller gap at the start is none
Restitution = float | Mapping[tuple[str, str], float]


@dataclass(frozen=True)
class Body:
    """A body that slides along the line: the finger or an object.

    m ẍ = forces − drag ẋ − friction. Dry friction holds a body at rest against anything up to `static_friction`, and
    pulls with `kinetic_friction` against the motion of one that slides.

    Attributes:
        name: Its name.
        mass: kg.
        position: Of its middle at the start, m.
        velocity: At the start, m/s.
        width: From face to face, m; 0 is a point.
        drag: Viscous friction, N·s/m.
        static_friction: Largest force that holds it at rest, N; by default as much as the kinetic one.
        kinetic_friction: Friction while it slides, N; by default as much as the static one.
        mu_static: Coefficient in place of the force: static friction is μ m g, g = 9.81 m/s².
        mu_kinetic: Coefficient in place of the force.
        hold: Static friction, N, however it was given.
        slide: Kinetic friction, N, however it was given.
    """

    name: str
    mass: float
    position: float = 0.0
    velocity: float = 0.0
    width: float = 0.0
    drag: float = 0.0
    static_friction: float | None = None
    kinetic_friction: float | None = None
    mu_static: float | None = None
    mu_kinetic: float | None = None
    hold: float = field(init=False, repr=False)
    slide: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        where = f"body {self.name!r}"
        if not isinstance(self.name, str) or not self.name:
            raise RobotError(f"body: name: expected a word, got {self.name!r}")
        number(self.mass, f"{where}: mass", above=0.0)
        for name in ("position", "velocity"):
            number(getattr(self, name), f"{where}: {name}")
        for name in ("width", "drag"):
            number(getattr(self, name), f"{where}: {name}", least=0.0)
        static, kinetic = (self._friction(kind, where) for kind in ("static", "kinetic"))
        hold = static if static is not None else kinetic if kinetic is not None else 0.0
        slide = kinetic if kinetic is not None else hold
        if not (slide <= hold):
            raise RobotError(f"{where}: kinetic friction ({slide:g} N) is more than static friction ({hold:g} N)")
        object.__setattr__(self, "hold", hold)
        object.__setattr__(self, "slide", slide)

    def _friction(self, kind: str, where: str) -> float | None:
        """A friction force, N, given as such or by its coefficient."""
        force, mu = getattr(self, f"{kind}_friction"), getattr(self, f"mu_{kind}")
        if force is not None and mu is not None:
            raise RobotError(f"{where}: give {kind}_friction (N) or mu_{kind}, not both")
        if mu is not None:
            return number(mu, f"{where}: mu_{kind}", least=0.0) * self.mass * GRAVITY
        return None if force is None else number(force, f"{where}: {kind}_friction", least=0.0)


@dataclass(frozen=True)
class Wall:
    """A place that no body passes.

    Attributes:
        position: m.
        name: Its name.
    """

    position: float
    name: str = "wall"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise RobotError(f"wall: name: expected a word, got {self.name!r}")
        number(self.position, f"{self.name}: position")


@dataclass(frozen=True, eq=False)
class Line:
    """Bodies and walls from left to right. Only neighbours can meet, and nobody ever changes places.

    Of those that start at the same place the finger is on the left, then objects in their order, then walls. Arrays
    have an entry per body or wall, n, or per pair of neighbours, n − 1.

    Attributes:
        names: Shape (n,).
        finger: Index of the finger.
        mass: kg, infinite for walls.
        drag: N·s/m.
        hold: Static friction, N, infinite for walls.
        slide: Kinetic friction, N.
        x: Positions at the start, m.
        v: Velocities at the start, m/s.
        width: m.
        gap: Free space between neighbours at the start, m.
        restitution: e of each pair of neighbours.
    """

    names: tuple[str, ...]
    finger: int
    mass: np.ndarray
    drag: np.ndarray
    hold: np.ndarray
    slide: np.ndarray
    x: np.ndarray
    v: np.ndarray
    width: np.ndarray
    gap: np.ndarray
    restitution: np.ndarray

    @property
    def walls(self) -> np.ndarray:
        """True where there is a wall, shape (n,)."""
        return np.isinf(self.mass)


def line(
    finger: Body, objects: Sequence[Body] = (), walls: Sequence[Wall | float] = (), restitution: Restitution = 0.0
) -> Line:
    """Put everything on the line.

    Args:
        finger: On which the applied force acts.
        objects: What it may push.
        walls: Walls, or their positions, m.
        restitution: e from 0 to 1 for all pairs; or by pair of names, and 0 for the others.
    """
    for given_as, kind in ((objects, "objects"), (walls, "walls")):
        if not isinstance(given_as, list | tuple):
            raise RobotError(f"{kind}: expected a list, got {given_as!r}")
    bodies = [_body(finger, "finger"), *(_body(item, f"objects[{i}]") for i, item in enumerate(objects))]
    given = [wall if isinstance(wall, Wall) else Wall(wall, _wall_name(walls, i)) for i, wall in enumerate(walls)]
    everything: list[Body | Wall] = [*bodies, *given]
    order = sorted(everything, key=lambda item: item.position)  # (stable)
    names = tuple(item.name for item in order)
    for name in names:
        if names.count(name) > 1:
            raise RobotError(f"two bodies or walls are named {name!r}; give each a name of its own")

    def column(attribute: str, of_walls: float) -> np.ndarray:
        return np.array([float(getattr(item, attribute, of_walls)) for item in order])

    x, width = column("position", 0.0), column("width", 0.0)
    return Line(
        names, names.index(finger.name),
        column("mass", np.inf), column("drag", 0.0), column("hold", np.inf), column("slide", 0.0),
        x, column("velocity", 0.0), width, _gaps(x, width, names), _restitution(restitution, names),
    )  # fmt: skip


def _body(item: object, where: str) -> Body:
    if not isinstance(item, Body):
        raise RobotError(f"{where}: expected a sot.finger.Body, got {item!r}")
    return item


def _wall_name(walls: Sequence[Wall | float], i: int) -> str:
    return "wall" if len(walls) == 1 else f"wall {i + 1}"


def _gaps(x: np.ndarray, width: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    gap = (x[1:] - 0.5 * width[1:]) - (x[:-1] + 0.5 * width[:-1])
    for k, space in enumerate(gap):
        if not (space >= -TOUCHING):
            raise RobotError(f"{names[k]!r} and {names[k + 1]!r} overlap by {-space:.4g} m at the start")
    return np.where(np.abs(gap) <= TOUCHING, 0.0, gap)


def _restitution(given: Restitution, names: tuple[str, ...]) -> np.ndarray:
    pairs = [frozenset(pair) for pair in itertools.pairwise(names)]
    if not isinstance(given, Mapping):
        return np.full(len(pairs), _share(given, "restitution"))
    e = np.zeros(len(pairs))
    for pair, value in given.items():
        for name in pair:
            if name not in names:
                raise RobotError(f"restitution: {unknown('body', name, names)}")
        if frozenset(pair) not in pairs:
            raise RobotError(f"restitution: {tuple(pair)} can never meet: they are no neighbours in {', '.join(names)}")
        e[pairs.index(frozenset(pair))] = _share(value, f"restitution of {tuple(pair)}")
    return e


def _share(value: object, where: str) -> float:
    e = number(value, where, least=0.0)
    if not (e <= 1.0):
        raise RobotError(f"{where}: expected a number from 0 to 1, got {e:g}")
    return e


def number(value: object, where: str, *, least: float = -math.inf, above: float = -math.inf) -> float:
    """A finite number of at least, or above, a bound."""
    try:
        result = float(value)  # type: ignore[arg-type]  # the except clause answers wrong types
    except (TypeError, ValueError):
        raise RobotError(f"{where}: expected a number, got {value!r}") from None
    if not math.isfinite(result):
        raise RobotError(f"{where}: expected a finite number, got {result}")
    if not (result >= least):
        raise RobotError(f"{where}: expected a number ≥ {least:g}, got {result:g}")
    if not (result > above):
        raise RobotError(f"{where}: expected a number > {above:g}, got {result:g}")
    return result
