"""Robots, and independent answers, for the tests of collision bodies."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import coal
import numpy as np
import pinocchio as pin

from sot.collision.coal_door import Gauge, Solid
from sot.collision.shape import Hull
from sot.collision.survey import Survey, survey
from sot.robots import load

# Two upright cylinders, each 100 mm wide, 22 mm apart, that can turn about their own axes; and a lid above.
POSTS = """<robot name="posts"><link name="base"/>
<link name="a">{cylinder}</link><link name="b">{cylinder}</link>
<link name="lid"><collision><origin xyz="0 0 0.5"/><geometry><box size="0.4 0.2 0.1"/></geometry></collision></link>
<joint name="ja" type="continuous"><parent link="base"/><child link="a"/>
<origin xyz="0 0.111 0"/><axis xyz="0 0 1"/></joint>
<joint name="jb" type="continuous"><parent link="base"/><child link="b"/>
<origin xyz="0 -0.111 0"/><axis xyz="0 0 1"/></joint>
<joint name="jl" type="prismatic"><parent link="base"/><child link="lid"/><axis xyz="0 0 1"/>
<limit lower="0" upper="0.1" effort="1" velocity="1"/></joint></robot>"""
CYLINDER = '<collision><geometry><cylinder radius="0.1" length="0.4"/></geometry></collision>'


@cache
def found(name: str) -> Survey:
    """Bodies and pairs with the defaults, but fewer samples."""
    return survey(load(name), samples=1000)


def outside(hull: Hull, points: np.ndarray) -> float:
    """How far the points stick out of a hull at most, m: coal's distance of a tiny ball at each."""
    dot = 1e-4
    gauge = Gauge(Solid(hull), Solid(Hull(np.zeros((1, 3)), dot)))
    solid, still = Solid(hull), np.eye(3)[None]
    (here,) = solid.transforms(still, np.zeros((1, 3)))
    return max(gauge(here, coal.Transform3s(np.eye(3), p)) for p in points) + dot


def corners_of(shape) -> np.ndarray:
    """Points whose hull is a shape, or a little less for round ones; in the shape's frame."""
    form = shape.geometry
    if isinstance(form, coal.Box):
        return np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * form.halfSide
    if isinstance(form, (coal.Cylinder, coal.Capsule)):
        turn = np.linspace(0, 2 * np.pi, 25)
        end = np.array([0, 0, form.halfLength])
        ring = form.radius * np.column_stack([np.cos(turn), np.sin(turn), 0 * turn])
        return np.vstack([ring + end, ring - end])
    if isinstance(form, coal.Sphere):
        return form.radius * np.vstack([np.eye(3), -np.eye(3)])
    return np.array(form.vertices())


def distances_at(robot, bodies, q: np.ndarray) -> dict[frozenset[str], float]:
    """Distance of each pair of bodies at q: pinocchio and coal, without our sampling."""
    model, data = robot.pin_model, robot.pin_model.createData()
    pin.forwardKinematics(model, data, q)
    placed = {}
    for body in bodies:
        corners = np.array([data.oMi[body.joint].act(p) for p in body.hull.points])
        placed[body.name] = Solid(Hull(corners, body.hull.radius))
    still = np.eye(3)[None], np.zeros((1, 3))
    return {
        frozenset((a, b)): Gauge(placed[a], placed[b])(placed[a].transforms(*still)[0], placed[b].transforms(*still)[0])
        for a, b in combinations(placed, 2)
    }
