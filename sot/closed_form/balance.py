"""How a robot stands: masses, pressure, polygon, and how far everything is from its edge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sot.closed_form.touching import Touching
from sot.model import Model
from sot.support_polygon import Polygon, horizontal_axes, support_polygon

COPLANAR = 0.01  # m; points that miss a plane by no more than this lie in it
STEEP = 0.5  # cosine of the steepest plane that counts as ground, 60°


@dataclass(frozen=True, eq=False)
class Balance:
    """How a robot stands. Points are in the world, m; margins are distances to the edge of the support polygon, m.

    Ground is the plane of all contact points if they lie in one (it may slope), else the horizontal plane through their
    mean; `up` is against gravity. A point that does not exist (no contact, no force) is None.

    Attributes:
        mass: kg. What a fixed base carries, itself not included.
        com: Centre of mass.
        com_velocity: Its velocity, m/s.
        cops: Centre of pressure of each limb that pushes: the point of its plane about which its forces make no torque
            but along the normal.
        cop: Centre of pressure: the mean of those, weighted by the force at right angles to the ground.
        zmp: Zero-moment point: the point of the ground about which what the motion needs from outside (rate of momentum
            less gravity) has no torque but along the ground's normal. It is the cop wherever all contacts lie in one
            plane and nothing else acts.
        capture_point: Where to step so as to come to rest, c + ċ √(height/g), on the ground; height is that of the
            centre of mass over the ground, along gravity.
        polygon: Convex hull of all contact points, seen along gravity.
        margins: Signed distance of each point to the polygon's edge: positive inside, −inf without a polygon.
    """

    mass: float
    com: np.ndarray
    com_velocity: np.ndarray
    cops: dict[str, np.ndarray]
    cop: np.ndarray | None
    zmp: np.ndarray | None
    capture_point: np.ndarray | None
    polygon: Polygon
    margins: dict[str, float]

    def __str__(self) -> str:
        points = {name.replace("_", " "): getattr(self, name) for name in ("com", "cop", "zmp", "capture_point")}
        margins = {name.replace("_", " "): f"{margin:10.4f}" for name, margin in self.margins.items()}
        points |= {f"cop of {limb}": point for limb, point in self.cops.items()}
        width = max(map(len, points))
        head = f"mass {self.mass:.3f} kg, support polygon with {_counted(len(self.polygon.vertices))}"
        rows = [f"{name:<{width}}{_numbers(point)}{margins.get(name, '')}" for name, point in points.items()]
        return "\n".join([head, f"{'m':<{width}}{'x':>10}{'y':>10}{'z':>10}{'margin':>10}", *rows])


def _counted(vertices: int) -> str:
    return {0: "no vertex", 1: "1 vertex"}.get(vertices, f"{vertices} vertices")


def _numbers(point: np.ndarray | None) -> str:
    return f"{'none':>10}" if point is None else "".join(f"{x:10.4f}" for x in point)


@dataclass(frozen=True, eq=False)
class Plane:
    """A plane through a point, with its unit normal."""

    point: np.ndarray
    normal: np.ndarray

    def centre_of(self, wrench: np.ndarray, least: float) -> np.ndarray | None:
        """The point about which a wrench (about `point`) has no torque but along the normal: p + n × τ / (n · f)."""
        push = float(self.normal @ wrench[:3])
        if not (abs(push) > least):
            return None
        return self.point + np.cross(self.normal, wrench[3:]) / push

    def below(self, point: np.ndarray, up: np.ndarray) -> np.ndarray:
        """Where the vertical through a point meets the plane."""
        return point + up * (self.normal @ (self.point - point)) / (self.normal @ up)


def report(touching: Touching, y: np.ndarray, a: np.ndarray, least: float) -> Balance:
    """The balance of a robot with contact forces y and acceleration a; forces up to `least`, N, are none."""
    model, points, up = touching.model, touching.points(), _up(touching.model)
    ground = _ground(points, up) if len(points) else None
    cops = limb_cops(touching, y, least)
    cop = zmp = capture = None
    if ground is not None:
        cop = _cop(touching, y, cops, ground.normal, least)
        zmp = ground.centre_of(needed_wrench(model, a, ground.point), least)
        capture = _capture_point(model, ground, up)
    found = {"com": model.com, "cop": cop, "zmp": zmp, "capture_point": capture}
    polygon, axes = support_polygon(points, up), horizontal_axes(up)
    margins = {name: polygon.margin(axes @ point) for name, point in found.items() if point is not None}
    velocity = model.com_jacobian @ model.v
    return Balance(model.mass, model.com, velocity, cops, cop, zmp, capture, polygon, margins)


def limb_cops(touching: Touching, y: np.ndarray, least: float) -> dict[str, np.ndarray]:
    """Centre of pressure of each limb that pushes or pulls with more than `least`, N."""
    found = {}
    for limb, contact in touching.limbs.items():
        plane = Plane(contact.touching_points(touching.model).mean(axis=0), contact.normal_in_world(touching.model))
        wrench = contact.wrenches_in_world(touching.model, plane.point) @ y[touching.place(limb)]
        centre = plane.centre_of(wrench, least)
        if centre is not None:
            found[limb] = centre
    return found


def _up(model: Model) -> np.ndarray:
    """Against gravity; along z where there is none."""
    size = float(np.linalg.norm(model.gravity))
    return -model.gravity / size if size > 0.0 else np.array([0.0, 0.0, 1.0])


def _ground(points: np.ndarray, up: np.ndarray) -> Plane:
    """The plane of all points, if there is one that is not too steep; else a horizontal one through their mean."""
    middle = points.mean(axis=0)
    _, sizes, Vt = np.linalg.svd(points - middle)
    normal = Vt[2] * np.sign(Vt[2] @ up)
    # A single point or a line lies in many planes: the horizontal one is taken, if it is one of them.
    flat = len(points) >= 3 and sizes[1] > COPLANAR and np.abs((points - middle) @ normal).max() <= COPLANAR
    return Plane(middle, normal if flat and normal @ up > STEEP else up)


def needed_wrench(model: Model, a: np.ndarray, about: np.ndarray) -> np.ndarray:
    """What has to act on the robot from outside beside gravity, about a point, in the world, shape (6,)."""
    rate = model.momentum_rate(a)
    force = rate[:3] - model.mass * model.gravity
    return np.concatenate([force, rate[3:] + np.cross(model.com - about, force)])


def _cop(
    touching: Touching, y: np.ndarray, cops: dict[str, np.ndarray], normal: np.ndarray, least: float
) -> np.ndarray | None:
    wrenches = touching.wrenches(y)
    pushes = {limb: float(wrenches[limb][:3] @ normal) for limb in cops}
    total = sum(pushes.values())
    weighted = np.sum([pushes[limb] * cops[limb] for limb in cops], axis=0)
    return weighted / total if abs(total) > least else None


def _capture_point(model: Model, ground: Plane, up: np.ndarray) -> np.ndarray | None:
    height = float((model.com - ground.below(model.com, up)) @ up)
    g = float(np.linalg.norm(model.gravity))
    if not (height > 0.0 and g > 0.0):
        return None
    return ground.below(model.com + model.com_jacobian @ model.v * np.sqrt(height / g), up)
