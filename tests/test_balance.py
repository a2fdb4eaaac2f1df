"""Support polygon and balance report: brute force, closed forms, and a world that is turned."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial import ConvexHull

import sot
from sot.errors import TaskError
from sot.robots import load
from sot.support_polygon import horizontal_axes, support_polygon
from sot.tasks import Contact

# -- the polygon -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_the_polygon_is_the_convex_hull(seed):
    points = np.random.default_rng(seed).normal(size=(3 + 2 * seed, 2)).round(2)  # rounded: some are equal or in line
    polygon, hull = support_polygon(points), ConvexHull(points)
    assert {tuple(p) for p in polygon.vertices} == {tuple(p) for p in points[hull.vertices]}
    edges = np.roll(polygon.vertices, -1, axis=0) - polygon.vertices
    after = np.roll(edges, -1, axis=0)
    assert (edges[:, 0] * after[:, 1] - edges[:, 1] * after[:, 0] > 0.0).all()  # counter-clockwise
    np.testing.assert_allclose((polygon.normals * polygon.vertices).sum(axis=1), polygon.offsets, atol=1e-12)
    assert (points @ polygon.normals.T <= polygon.offsets + 1e-12).all()


def brute_margin(vertices, point):
    """Distance to 20,000 points of the edge, with the sign of a winding number."""
    t = np.linspace(0.0, 1.0, 20_000)[:, None]
    ends = np.roll(vertices, -1, axis=0)
    distance = min(np.linalg.norm(a + t * (b - a) - point, axis=1).min() for a, b in zip(vertices, ends, strict=True))
    angles = np.unwrap([np.arctan2(*(v - point)[::-1]) for v in (*vertices, vertices[0])])
    return distance if abs(angles[-1] - angles[0]) > 1.0 else -distance


def test_margins_are_signed_distances():
    rng = np.random.default_rng(0)
    polygon = support_polygon(rng.normal(size=(12, 2)))
    points = rng.uniform(-4.0, 4.0, size=(60, 2))
    expected = [brute_margin(polygon.vertices, p) for p in points]
    assert min(expected) < -0.5 and max(expected) > 0.2
    np.testing.assert_allclose([polygon.margin(p) for p in points], expected, atol=1e-6)
    assert [polygon.contains(p) for p in points] == [m > 0.0 for m in expected]


@pytest.mark.parametrize("by", [0.05, 0.3, 0.8])
def test_a_shrunk_polygon_has_all_points_with_that_margin(by):
    rng = np.random.default_rng(1)
    polygon = support_polygon(rng.normal(size=(8, 2)))
    smaller = polygon.shrunk(by)
    np.testing.assert_array_equal(smaller.normals, polygon.normals)
    np.testing.assert_allclose(smaller.offsets, polygon.offsets - by)
    points = rng.uniform(-2.0, 2.0, size=(2000, 2))
    inside = np.array([polygon.margin(p) >= by for p in points])
    assert (inside == [smaller.margin(p) >= 0.0 for p in points]).all()
    assert inside.any() == (by < 0.8)
    if by < 0.8:
        outside = [p for p in points if smaller.margin(p) < 0.0][:20]
        np.testing.assert_allclose(
            [smaller.margin(p) for p in outside], [brute_margin(smaller.vertices, p) for p in outside], atol=1e-6
        )


def test_a_segment_a_point_and_nothing():
    segment = support_polygon([[0.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.4, 0.4, 3.0], [0.2, 0.2, 0.0]])
    assert len(segment.vertices) == 2
    assert segment.margin(np.array([0.5, 0.5])) == pytest.approx(0.0, abs=1e-15)
    assert segment.margin(np.array([1.0, 0.0])) == pytest.approx(-np.sqrt(0.5))
    assert segment.margin(np.array([2.0, 1.0])) == pytest.approx(-1.0)  # beyond its end
    # The half-planes bound it on all sides.
    for p, inside in (([0.5, 0.5], True), ([1.1, 1.1], False), ([-0.1, -0.1], False), ([0.5, 0.6], False)):
        assert (segment.normals @ p <= segment.offsets + 1e-12).all() == inside
    point = support_polygon([[0.3, 0.1]] * 4)
    assert len(point.vertices) == 1 and point.margin(np.array([0.3, 0.1])) == 0.0
    assert point.margin(np.array([0.6, 0.5])) == pytest.approx(-0.5)
    assert (point.normals @ [0.3, 0.2] > point.offsets).any()
    empty = support_polygon(np.zeros((0, 3)))
    assert empty.margin(np.zeros(2)) == -np.inf and not empty.contains(np.zeros(2))
    assert segment.shrunk(0.01).margin(np.array([0.5, 0.5])) == -np.inf


def test_gravity_may_point_anywhere():
    rng = np.random.default_rng(3)
    points, R = rng.normal(size=(9, 3)), pin.exp3(np.array([0.3, -0.4, 0.2]))
    up = R @ [0.0, 0.0, 1.0]
    tilted, upright = support_polygon(points @ R.T, up), support_polygon(points)
    com = rng.normal(size=3) * 0.2
    assert tilted.margin(horizontal_axes(up) @ R @ com) == pytest.approx(upright.margin(com[:2]), abs=1e-12)
    np.testing.assert_array_equal(horizontal_axes(), np.eye(3)[:2])


def test_bad_points_are_refused():
    with pytest.raises(TaskError, match="finite points"):
        support_polygon([[0.0, np.nan]])
    with pytest.raises(TaskError, match="shape"):
        support_polygon([[0.0, 1.0, 2.0, 3.0]])
    with pytest.raises(TaskError, match="up: is zero"):
        support_polygon([[0.0, 1.0, 2.0]], up=(0.0, 0.0, 0.0))
    with pytest.raises(TaskError, match="by: expected a number"):
        support_polygon([[0.0, 1.0]]).shrunk(-0.1)


# -- the report ------------------------------------------------------------------------------------------------


def moving(robot, seed=0, size=0.5):
    """A state and an acceleration that the feet allow."""
    rng, model = np.random.default_rng(seed), sot.Model(robot)
    v = size * rng.uniform(-1.0, 1.0, model.nv)
    model.update(robot.home, v)
    contacts = [Contact(foot.frame) for foot in robot.feet]
    for contact in contacts:
        contact.setup(model)
    J = np.vstack([contact.jacobian(model) for contact in contacts])
    return v - np.linalg.pinv(J) @ (J @ v), size * rng.uniform(-1.0, 1.0, model.nv)


@pytest.mark.parametrize("name", ["solo12", "go2", "anymal", "talos", "g1"])
def test_at_rest_everything_is_below_the_centre_of_mass(name):
    robot = load(name)
    balance = sot.inverse_dynamics(robot, robot.home).balance
    com = pin.centerOfMass(robot.pin_model, robot.pin_model.createData(), robot.home)
    np.testing.assert_allclose(balance.com, com, atol=1e-12)
    assert balance.mass == pytest.approx(pin.computeTotalMass(robot.pin_model), rel=1e-12)
    for point in (balance.cop, balance.zmp, balance.capture_point):
        np.testing.assert_allclose(point[:2], com[:2], atol=1e-4)  # soles may be a tenth of a millimetre off level
    points = np.vstack([_points(robot, foot) for foot in robot.feet])
    assert balance.margins["com"] == pytest.approx(brute_margin(_corners(points), com[:2]), abs=1e-6)
    assert set(balance.margins) == {"com", "cop", "zmp", "capture_point"}


def _points(robot, foot, q=None):
    data = robot.pin_model.createData()
    pin.framesForwardKinematics(robot.pin_model, data, robot.home if q is None else q)
    T = data.oMf[robot.pin_model.getFrameId(foot.frame)]
    return np.array([T.act(np.asarray(p)) for p in foot.points])


def _corners(points):
    return points[ConvexHull(points[:, :2]).vertices][:, :2]


@pytest.mark.parametrize("forces", ["minimum_norm", "cones"])
@pytest.mark.parametrize("name", ["solo12", "go2", "anymal", "talos", "g1"])
def test_the_centre_of_pressure_is_the_zero_moment_point(name, forces):
    """The one from contact forces, the other from the momentum: on one plane they are the same."""
    robot = load(name)
    v, a = moving(robot)
    result = sot.inverse_dynamics(robot, robot.home, v, a, forces=forces)
    balance, ground = result.balance, np.vstack([_points(robot, foot) for foot in robot.feet])[:, 2]
    np.testing.assert_allclose(balance.cop, balance.zmp, atol=1e-9 + np.ptp(ground))
    assert np.linalg.norm(balance.zmp[:2] - balance.com[:2]) > 0.002  # it moves: this is not the trivial case
    # By the textbook, from the rate of the momentum about the point itself: no horizontal torque.
    model, data = robot.pin_model, robot.pin_model.createData()
    rate = pin.computeCentroidalMomentumTimeVariation(model, data, robot.home, v, result.acceleration)
    force = rate.linear + balance.mass * np.array([0.0, 0.0, 9.81])
    torque = rate.angular + np.cross(balance.com - balance.zmp, force)
    np.testing.assert_allclose(torque[:2], 0.0, atol=1e-9 * balance.mass * 9.81 + np.ptp(ground) * 100.0)


@pytest.mark.parametrize(("name", "angle"), [("solo12", 0.3), ("talos", 0.06)])
def test_on_a_slope(name, angle):
    """The whole world turned, gravity not: at rest everything is vertically below the centre of mass."""
    robot, tilt = load(name), pin.SE3(pin.exp3(np.array([angle, 0.1 * angle, 0.0])), np.array([0.2, -0.1, 0.5]))
    q = robot.home.copy()
    q[:7] = pin.SE3ToXYZQUAT(tilt * pin.XYZQUATToSE3(q[:7]))
    normal = tilt.rotation @ [0.0, 0.0, 1.0]
    contacts = [
        Contact(foot.frame, normal=normal if len(foot.points) == 1 else (0, 0, 1), friction=0.8) for foot in robot.feet
    ]
    result = sot.inverse_dynamics(robot, q, contacts=contacts, forces="cones")
    balance, points = result.balance, np.vstack([_points(robot, foot, q) for foot in robot.feet])
    assert np.ptp(points[:, 2]) > 0.01
    level = np.ptp((points - points.mean(axis=0)) @ normal)  # the soles of a half-sitting Talos are 0.1 mm off
    for point in (balance.cop, balance.zmp, balance.capture_point):
        np.testing.assert_allclose(point[:2], balance.com[:2], atol=1e-9 + 10 * level)
        assert (point - points[0]) @ normal == pytest.approx(0.0, abs=1e-9 + 2 * level)  # on the slope
    for name_ in ("com", "cop", "zmp", "capture_point"):
        expected = brute_margin(_corners(points), getattr(balance, name_)[:2])
        assert balance.margins[name_] == pytest.approx(expected, abs=1e-6)
    assert not result.warnings


def test_turning_gravity_is_turning_the_world():
    """The same slope by a tilted gravity: margins, torques and forces are those of the turned robot."""
    robot, R = load("talos"), pin.exp3(np.array([0.2, -0.1, 0.0]))
    turned, q = load("talos"), robot.home.copy()
    robot.pin_model.gravity.linear = R.T @ [0.0, 0.0, -9.81]
    q[:7] = pin.SE3ToXYZQUAT(pin.SE3(R, np.zeros(3)) * pin.XYZQUATToSE3(q[:7]))
    a, b = sot.inverse_dynamics(robot, robot.home), sot.inverse_dynamics(turned, q)
    np.testing.assert_allclose(a.torques, b.torques, atol=1e-9)
    for key in ("com", "cop", "zmp", "capture_point"):
        assert a.balance.margins[key] == pytest.approx(b.balance.margins[key], abs=1e-9)
    np.testing.assert_allclose(R @ a.balance.zmp, b.balance.zmp, atol=1e-9)


def test_on_stairs_points_at_all_heights_count():
    robot = load("talos")
    step = Contact("gripper_left_base_link", points=[[0.0, 0.0, 0.0]])
    result = sot.inverse_dynamics(robot, robot.home, contacts=["left_sole_link", "right_sole_link", step])
    feet = np.vstack([_points(robot, foot) for foot in robot.feet])
    data = robot.pin_model.createData()
    pin.framesForwardKinematics(robot.pin_model, data, robot.home)
    hand = data.oMf[robot.pin_model.getFrameId("gripper_left_base_link")].translation
    assert hand[2] > 0.5
    expected = _corners(np.vstack([feet, hand]))
    assert {tuple(p.round(9)) for p in result.balance.polygon.vertices} == {tuple(p.round(9)) for p in expected}
    # No plane holds all points, so the ground is level, through their mean.
    assert result.balance.zmp[2] == pytest.approx(np.vstack([feet, hand])[:, 2].mean(), abs=1e-12)


def test_the_capture_point_is_that_of_a_pendulum():
    robot = load("talos")
    v = moving(robot, seed=4, size=1.0)[0]
    balance = sot.inverse_dynamics(robot, robot.home, v).balance
    model, data = robot.pin_model, robot.pin_model.createData()
    pin.centerOfMass(model, data, robot.home, v)
    np.testing.assert_allclose(balance.com_velocity, data.vcom[0], atol=1e-12)
    height = data.com[0][2] - balance.zmp[2]
    expected = data.com[0][:2] + data.vcom[0][:2] * np.sqrt(height / 9.81)
    assert np.linalg.norm(expected - data.com[0][:2]) > 0.02
    np.testing.assert_allclose(balance.capture_point[:2], expected, atol=1e-4)


def test_standing_on_little_or_nothing():
    robot = load("bolt")
    line = sot.inverse_dynamics(robot, robot.home).balance
    assert len(line.polygon.vertices) == 2 and line.margins["com"] < 0.0
    point = sot.inverse_dynamics(robot, robot.home, contacts=["FL_FOOT"]).balance
    foot = _points(robot, robot.feet[0])[0]
    assert point.margins["com"] == pytest.approx(-np.linalg.norm(foot[:2] - point.com[:2]), abs=1e-9)
    nothing = sot.inverse_dynamics(robot, robot.home, contacts=[]).balance
    assert nothing.margins == {"com": -np.inf}
    assert nothing.cop is None and nothing.zmp is None and nothing.capture_point is None
    falling = np.zeros(robot.pin_model.nv)
    falling[2] = -9.81
    air = sot.inverse_dynamics(robot, robot.home, None, falling, projection=None).balance
    assert air.zmp is None and air.cop is None and air.cops == {}  # points touch, nothing pushes


def test_hanging_has_no_capture_point():
    robot = load("talos")
    q = robot.home.copy()
    q[:7] = pin.SE3ToXYZQUAT(pin.SE3(pin.exp3(np.array([np.pi, 0.0, 0.0])), np.zeros(3)) * pin.XYZQUATToSE3(q[:7]))
    balance = sot.inverse_dynamics(robot, q).balance  # the soles above the head
    assert balance.zmp[2] > balance.com[2] and balance.capture_point is None and "capture_point" not in balance.margins


def test_the_page_shows_what_its_code_prints(capsys):
    text, names = (Path(__file__).parents[1] / "docs" / "inverse_dynamics.md").read_text(encoding="utf-8"), {}
    blocks = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", text, re.S)
    assert sum(bool(shown) for _, shown in blocks) == 3
    for code, shown in blocks:
        exec(compile(code, "inverse_dynamics.md", "exec"), names)
        printed = capsys.readouterr().out
        assert not shown or printed == shown


def test_the_report_can_be_read():
    robot = load("talos")
    lines = str(sot.inverse_dynamics(robot, robot.home).balance).splitlines()
    assert lines[0] == "mass 90.272 kg, support polygon with 4 vertices"
    assert lines[1].split() == ["m", "x", "y", "z", "margin"]
    assert lines[2].split()[0] == "com" and len(lines[2].split()) == 5
    assert lines[5].startswith("capture point") and lines[6].startswith("cop of left_sole_link")
    air = str(sot.inverse_dynamics(robot, robot.home, contacts=[]).balance)
    assert "no vertex" in air and "none" in air
