"""Collision bodies of robots: they hold what they stand for, and say how much more."""

from __future__ import annotations

from pathlib import Path

import coal
import numpy as np
import pinocchio as pin
import pytest
from collision_oracle import corners_of, distances_at, found, outside
from robot_files import GOOD, write

from sot.collision.cloud import Cloud, inflation
from sot.collision.coal_door import Gauge, Solid
from sot.collision.file import read_collisions, write_collisions
from sot.collision.fit import capsule_around, convex_around, fit
from sot.collision.parts import parts_of
from sot.collision.polytope import Polytope
from sot.collision.robot import collision_model
from sot.collision.shape import Hull
from sot.errors import ConfigError, ModelError
from sot.robots import load

SHIPPED = ("panda", "ur5", "xarm7", "kinova", "talos", "g1", "tiago", "solo12", "go2", "anymal")
ROOT = Path(__file__).parents[1]


def meshes(name: str):
    """Vertices of the meshes of a robot, in their own frames."""
    for shape in load(name).geometry("collision").geometryObjects:
        if hasattr(shape.geometry, "vertices"):
            yield shape.name, np.array(shape.geometry.vertices())


# -- hulls of points -----------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 3, 4, 30])
def test_distance_from_a_hull_is_that_of_coal(count: int):
    rng = np.random.default_rng(count)
    corners, points = rng.normal(size=(count, 3)), 3.0 * rng.normal(size=(200, 3))
    ours = Polytope(corners).signed_distance(points)
    gauge = Gauge(Solid(Hull(corners, 0.1)), Solid(Hull(np.zeros((1, 3)), 0.1)))
    (here,) = Solid(Hull(corners, 0.1)).transforms(np.eye(3)[None], np.zeros((1, 3)))
    theirs = np.array([gauge(here, coal.Transform3s(np.eye(3), p)) for p in points]) + 0.2
    apart = theirs > 0.2  # where two balls overlap coal measures something else
    np.testing.assert_allclose(ours[apart], theirs[apart], atol=1e-6)
    assert apart.sum() > 100


def test_inside_a_box_the_distance_is_that_of_the_nearest_face():
    box = Polytope(np.array([[x, y, z] for x in (0, 1) for y in (0, 2) for z in (0, 3)], dtype=float))
    inside = np.random.default_rng(0).uniform(0, 1, (100, 3)) * [1, 2, 3]
    nearest = np.minimum(inside, np.array([1, 2, 3]) - inside).min(axis=1)
    np.testing.assert_allclose(box.signed_distance(inside), -nearest, atol=1e-12)


def test_volume_with_a_ball_swept_over_it():
    a, b, c, r = 1.0, 2.0, 3.0, 0.3
    box = np.array([[x, y, z] for x in (0, a) for y in (0, b) for z in (0, c)])
    ball = 4 / 3 * np.pi * r**3
    solid = a * b * c + 2 * (a * b + b * c + c * a) * r + np.pi * (a + b + c) * r**2 + ball
    assert Polytope(box).volume(r) == pytest.approx(solid)
    flat = box[box[:, 2] == 0.0]
    assert Polytope(flat).volume(r) == pytest.approx(2 * a * b * r + np.pi * (a + b) * r**2 + ball)
    assert Polytope(box[[0, -1]]).volume(r) == pytest.approx(np.pi * r**2 * np.sqrt(14) + ball)
    assert Polytope(box[:1]).volume(r) == pytest.approx(ball)


# -- bodies around meshes ------------------------------------------------------------------------------


@pytest.mark.parametrize("shapes", ["capsule", "convex", "auto"])
@pytest.mark.parametrize("name", ["panda", "tiago"])
def test_bodies_hold_all_vertices(name: str, shapes):
    for mesh, points in meshes(name):
        assert outside(fit(Cloud(points), shapes).hull, points) <= 1e-6, mesh


def test_the_smallest_capsule_is_found():
    """Around points of a capsule, whatever its place: its own volume, at most one rounding larger."""
    rng = np.random.default_rng(1)
    for length in (0.02, 0.2, 1.0):
        R, start, radius = pin.exp3(rng.normal(size=3)), rng.normal(size=3), 0.07
        n = rng.normal(size=(4000, 3))
        n *= radius / np.linalg.norm(n, axis=1)[:, None]
        points = (n + np.outer(n[:, 2] > 0, [0, 0, length])) @ R.T + start
        hull = capsule_around(Cloud(points)).hull
        own = Polytope(np.array([[0, 0, 0], [0, 0, length]])).volume(radius)
        assert Polytope(hull.points).volume(hull.radius) <= 1.02 * own


@pytest.mark.parametrize("corners", [6, 16])
def test_more_corners_inflate_less_and_never_exceed_the_number(corners: int):
    for _, points in list(meshes("panda"))[:3]:
        cloud = Cloud(points)
        coarse, fine = convex_around(cloud, corners), convex_around(cloud, 2 * corners)
        assert len(coarse.hull.points) <= corners
        assert inflation(fine.hull, cloud).distance < inflation(coarse.hull, cloud).distance


def test_rounded_edges_come_back():
    """A box with rounded edges is a smaller box with a ball swept over it: eight corners are enough."""
    box = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * [0.05, 0.08, 0.1]
    n = np.random.default_rng(0).normal(size=(3000, 3))
    n /= np.linalg.norm(n, axis=1)[:, None]
    points = np.repeat(box, 3000, axis=0) + 0.02 * np.tile(n, (8, 1))
    form = convex_around(Cloud(points), 16)
    assert inflation(form.hull, Cloud(points)).distance < 0.003


@pytest.mark.parametrize("fitted", [capsule_around, convex_around])
def test_inflation_is_what_samples_of_the_surface_say(fitted):
    """Points of the body's surface against the hull of the mesh, by coal; volumes by counting points of a box."""
    rng = np.random.default_rng(0)
    n = rng.normal(size=(600, 3))
    n /= np.linalg.norm(n, axis=1)[:, None]
    for _, points in list(meshes("panda"))[4:6]:
        cloud = Cloud(points)
        hull = fitted(cloud).hull
        said = inflation(hull, cloud)
        surface = (hull.points[:, None] + hull.radius * n).reshape(-1, 3)
        assert 0.9 * said.distance <= outside(Hull(points), surface) <= said.distance + 1e-6
        low, high = surface.min(axis=0), surface.max(axis=0)
        filling = rng.uniform(low, high, (10000, 3))
        count = [(Polytope(h.points).signed_distance(filling) <= h.radius).mean() for h in (hull, Hull(points))]
        assert said.volume == pytest.approx(count[0] / count[1], rel=0.05)


def test_primitives_stay_what_they_are():
    bodies = {made.body.name: made for made in found("anymal").bodies}
    foot, trunk, adapter = bodies["LF_FOOT"], bodies["base"], bodies["LF_ADAPTER"]
    assert foot.form.kind == "ball" and foot.form.numbers["radius"] == pytest.approx(0.031, abs=1.1e-4)
    assert trunk.form.kind == "box" and trunk.form.numbers["lengths"] == [0.531, 0.27, 0.24]
    assert adapter.form.kind == "capsule" and adapter.form.numbers["radius"] == pytest.approx(0.015, abs=3e-4)
    assert "imu_link" in found("anymal").inside


def test_shapes_without_size_have_bodies():
    for points in (np.zeros((1, 3)), np.array([[0, 0, 0], [0, 0, 1.0]]), np.eye(3)):
        for shapes in ("capsule", "convex", "auto"):
            cloud = Cloud(np.asarray(points, dtype=float))
            assert cloud.reach(fit(cloud, shapes).hull) <= 1e-6  # type: ignore[arg-type]


def test_fingers_are_inside_the_hand_wherever_they_are():
    """Merged over the range of their joints: sliding ones (panda) and turning ones (talos' gripper)."""
    for name, hand, joint, shape_names in (
        ("panda", "panda_hand", "panda_finger_joint1", "panda_leftfinger_*"),
        ("talos", "gripper_left_base_link", "gripper_left_joint", "gripper_left_motor_double_link_0"),
    ):
        robot = load(name)
        (body,) = [body for body in collision_model(robot).bodies if body.name == hand]
        model, data = robot.pin_model, robot.pin_model.createData()
        at = model.joints[model.getJointId(joint)].idx_q
        shapes = [s for s in robot.geometry("collision").geometryObjects if Path(s.name).match(shape_names)]
        assert shapes
        for value in np.linspace(model.lowerPositionLimit[at], model.upperPositionLimit[at], 7):
            q = robot.home.copy()
            q[at] = value
            pin.forwardKinematics(model, data, q)
            for shape in shapes:
                inside = data.oMi[body.joint].actInv(data.oMi[shape.parentJoint] * shape.placement)
                assert outside(body.hull, corners_of(shape) @ inside.rotation.T + inside.translation) <= 1e-6


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_what_is_merged_is_held_at_all_angles(kind: str, tmp_path: Path):
    """A pointer of one metre that turns or slides on a small base: its tip is inside, also between sampled angles."""
    shape = '<collision><origin xyz="{} 0 0"/><geometry><box size="{} 0.02 0.02"/></geometry></collision>'
    text = f"""<robot name="clock"><link name="base">{shape.format(0, 0.1)}</link>
<link name="arm"/><link name="hand">{shape.format(0.5, 1.0)}</link>
<joint name="move" type="{kind}"><parent link="base"/><child link="arm"/><origin xyz="0 0.1 0" rpy="0.3 0 0"/>
<axis xyz="0 0 1"/><limit lower="-0.4" upper="1.3" effort="1" velocity="1"/></joint>
<joint name="still" type="fixed"><parent link="arm"/><child link="hand"/><origin xyz="0.1 0 0" rpy="0 0 0.5"/></joint>
</robot>"""
    robot = load(write(tmp_path, "clock.urdf", text))
    (part,) = parts_of(robot, merge=["base=hand"])
    assert part.links == ("base", "hand") and len(part.sources) == 2
    hull = fit(part.cloud, "convex", 32).hull
    (shape,) = [s for s in robot.geometry("collision").geometryObjects if s.name.startswith("hand")]
    data = robot.pin_model.createData()
    for q in np.linspace(-0.4, 1.3, 61):
        pin.forwardKinematics(robot.pin_model, data, np.array([q]))
        T = data.oMi[1] * shape.placement
        points = corners_of(shape) @ T.rotation.T + T.translation
        assert outside(hull, points) <= 1e-6
        covered = Polytope(part.cloud.points).signed_distance(points).max() - part.cloud.radii.max()
        assert covered <= 1e-6


def test_a_robot_that_is_only_seen_or_not_even_that(tmp_path: Path):
    shape = '<visual><geometry><sphere radius="0.1"/></geometry></visual>'
    seen = GOOD.replace('<link name="c">', f'<link name="c">{shape}')
    assert [part.link for part in parts_of(load(write(tmp_path, "seen.urdf", seen)))] == ["c"]
    with pytest.raises(ModelError, match="robot 'arm' has no shapes"):
        parts_of(load(write(tmp_path, "unseen.urdf", GOOD)))


# -- files ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["anymal", "ur5"])
def test_a_file_says_what_was_found(name: str, tmp_path: Path):
    result = found(name)
    path = write(tmp_path, "bodies.yaml", write_collisions(result, "sot collisions " + name))
    made, read = result.model(), read_collisions(path, result.robot)
    assert {b.name for b in made.bodies} == {b.name for b in read.bodies}
    again = {b.name: b for b in read.bodies}
    for body in made.bodies:
        assert body.joint == again[body.name].joint and body.hull.radius == again[body.name].hull.radius
        np.testing.assert_array_equal(body.hull.points, again[body.name].hull.points)
    pairs = [{frozenset((m.bodies[i].name, m.bodies[k].name)) for i, k in m.pairs} for m in (made, read)]
    assert pairs[0] == pairs[1] and len(made.pairs) == len(read.pairs)


def test_a_file_by_hand(tmp_path: Path):
    text = """
bodies:
  shoulder_link: [{ball: {radius: 0.1}}, {ball: {radius: 0.1, center: [0, 0, 0.1]}}]
  forearm_link: [{box: {lengths: [0.1, 0.2, 0.3], position: [1, 0, 0], rpy: [0, 0, 1.5707963267948966]}}]
  wrist_3_link: [{convex: {points: [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], radius: 0.02}}]
pairs:
  shoulder_link*: ["*_link"]
"""
    robot = load("ur5", collisions=write(tmp_path, "ur5.yaml", text))
    model = collision_model(robot)
    assert [b.name for b in model.bodies] == ["shoulder_link", "shoulder_link_1", "forearm_link", "wrist_3_link"]
    assert model.pairs == ((0, 2), (0, 3), (1, 2), (1, 3))
    box = model.bodies[2].hull.points
    np.testing.assert_allclose([box.min(axis=0), box.max(axis=0)], [[0.9, -0.05, -0.15], [1.1, 0.05, 0.15]], atol=1e-9)


HEAD = "bodies:\n  forearm_link: [{ball: {radius: 0.1}}]\n"
MISTAKES = {
    "bodys: {}": ("1: bodys: unknown key 'bodys'", "did you mean 'bodies'"),
    "pairs: {}": ("the key 'bodies' is missing",),
    "bodies:\n  forearm: [{ball: {radius: 0.1}}]": ("2: bodies.forearm: ", "unknown link 'forearm'", "forearm_link"),
    "bodies:\n  forearm_link: {ball: {radius: 0.1}}": ("2: bodies.forearm_link: ", "expected a list"),
    "bodies:\n  forearm_link: [{bal: {radius: 0.1}}]": ("[0].bal: unknown form 'bal'", "capsule, box, convex"),
    "bodies:\n  forearm_link: [{ball: {radius: 1}, box: {lengths: [1, 1, 1]}}]": ("exactly one of ball, capsule",),
    "bodies:\n  forearm_link: [{ball: {radius: -1}}]": ("radius: expected a number > 0, got -1",),
    "bodies:\n  forearm_link: [{ball: {radius: .nan}}]": ("expected a finite number",),
    "bodies:\n  forearm_link: [{ball: {raduis: 1}}]": ("unknown key 'raduis'", "did you mean 'radius'"),
    "bodies:\n  forearm_link: [{capsule: {start: [0, 0, 0], radius: 1}}]": ("the key 'end' is missing",),
    "bodies:\n  forearm_link: [{box: {lengths: [1, 1]}}]": ("lengths: expected 3 numbers",),
    "bodies:\n  forearm_link: [{convex: {points: []}}]": ("points: expected a list of points",),
    HEAD + "pairs:\n  forearm: [forearm_link]": ("4: pairs.forearm: unknown body 'forearm'",),
    HEAD + "pairs:\n  forearm_link: [base_link]": ("[0]: unknown body 'base_link'. Available: forearm_link",),
    HEAD + "pairs:\n  forearm_link: base_link": ("expected a list of bodies",),
    HEAD + "pairs: [[a, b]]": ("pairs: expected a mapping",),
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_in_a_file_are_named(text: str, tmp_path: Path):
    path = write(tmp_path, "wrong.yaml", text)
    with pytest.raises(ConfigError) as error:
        read_collisions(path, load("ur5"))
    assert str(error.value).startswith(f"{path}:")
    for words in MISTAKES[text]:
        assert words in str(error.value)


def test_a_file_that_is_not_there(tmp_path: Path):
    with pytest.raises(ConfigError, match="no such file"):
        collision_model(load("ur5", collisions=tmp_path / "missing.yaml"))


# -- the robots that come along ------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_bodies_are_apart_at_home_and_hold_the_robot(name: str):
    robot = load(name)
    assert robot.collisions == ROOT / "robots" / "collisions" / f"{name}.yaml"
    model = collision_model(robot)
    names = [body.name for body in model.bodies]
    assert len(set(names)) == len(names) and len(set(model.pairs)) == len(model.pairs) > 10
    home = distances_at(robot, model.bodies, robot.home)
    for i, k in model.pairs:
        assert i < k and model.bodies[i].joint != model.bodies[k].joint
        assert home[frozenset((names[i], names[k]))] > 0.012, (names[i], names[k])
    for shape in robot.geometry("collision").geometryObjects:
        if "ankle_pitch" in shape.name or (name == "g1" and "ankle_roll" in shape.name):
            continue  # left out on purpose; taken from the visual geometry
        assert _held(robot, model, shape) <= 1e-6, shape.name


def _held(robot, model, shape) -> float:
    """How far a shape sticks out, at home, of the body that holds it best."""
    data = robot.pin_model.createData()
    pin.forwardKinematics(robot.pin_model, data, robot.home)
    T = data.oMi[shape.parentJoint] * shape.placement
    points = corners_of(shape) @ T.rotation.T + T.translation
    best = np.inf
    for body in model.bodies:
        mine = np.array([data.oMi[body.joint].actInv(p) for p in points[:: max(1, len(points) // 200)]])
        if outside(body.hull, mine) <= 1e-6:
            mine = np.array([data.oMi[body.joint].actInv(p) for p in points])
            best = min(best, outside(body.hull, mine))
            if best <= 1e-6:
                break
    return best


IMPORTANT = {
    "talos": [
        ("gripper_left_base_link", other)
        for other in ("torso_2_link", "base_link", "leg_left_3_link", "leg_right_3_link", "head_2_link",
                      "gripper_right_base_link", "arm_right_4_link", "arm_right_5_link")
    ] + [("leg_left_4_link", "leg_right_4_link"), ("leg_left_6_link", "leg_right_6_link")],
    "panda": [(a, f"panda_link{i}") for a in ("panda_hand", "panda_link5") for i in (0, 1, 2)],
    "g1": [
        ("left_wrist_yaw_link", other)
        for other in ("torso_link", "pelvis_contour_link", "left_hip_yaw_link", "right_hip_yaw_link", "head_link",
                      "right_wrist_yaw_link", "right_elbow_link", "right_shoulder_yaw_link")
    ] + [("left_elbow_link", "torso_link"), ("left_shoulder_yaw_link", "torso_link"),
         ("left_knee_link", "right_knee_link"), ("left_ankle_roll_link", "right_ankle_roll_link")],
    "tiago": [("hand_safety_box", other) for other in ("base_link", "torso_lift_link", "head_2_link")],
    "anymal": [("LF_FOOT", "RF_FOOT"), ("LF_ADAPTER", "LH_ADAPTER"), ("base", "LF_FOOT")],
}  # fmt: skip


@pytest.mark.parametrize("name", IMPORTANT)
def test_shipped_pairs_that_matter_are_watched(name: str):
    model = collision_model(load(name))
    watched = {frozenset((model.bodies[i].name, model.bodies[k].name)) for i, k in model.pairs}
    assert {frozenset(pair) for pair in IMPORTANT[name]} <= watched


def test_left_and_right_are_watched_alike():
    """Talos' hands: the same pairs on both sides."""
    model = collision_model(load("talos"))
    watched = {frozenset((model.bodies[i].name, model.bodies[k].name)) for i, k in model.pairs}

    def mirrored(name: str) -> str:
        return name.replace("left", "?").replace("right", "left").replace("?", "right")

    hands = {pair for pair in watched if any("gripper" in name for name in pair)}
    assert hands == {frozenset(map(mirrored, pair)) for pair in hands} and len(hands) > 30


def test_locked_joints_and_other_roots():
    """Bodies follow their links; what cannot move any more is in no pair."""
    free, fixed = collision_model(load("talos")), collision_model(load("talos", root="fixed"))
    assert len(free.pairs) == len(fixed.pairs)
    assert {b.joint for b in fixed.bodies if b.name == "base_link"} == {0}
    robot = load("panda", lock=["panda_joint[567]", "panda_finger_joint1"])
    model = collision_model(robot)
    names = [body.name for body in model.bodies]
    assert len(names) == 9 and all(model.bodies[i].joint != model.bodies[k].joint for i, k in model.pairs)
    assert ("panda_link5", "panda_hand") not in {(names[i], names[k]) for i, k in model.pairs}
    # Locked at home, the bodies stand where they stand at home.
    full = load("panda")
    before = distances_at(full, collision_model(full).bodies, full.home)
    after = distances_at(robot, model.bodies, robot.home)
    assert before == pytest.approx(after, abs=1e-9)


def test_another_urdf_does_not_get_the_shipped_bodies():
    robot = load("ur5", urdf=load("ur3").urdf)
    assert robot.collisions is None and load("ur5").collisions is not None


def test_a_description_file_may_name_its_bodies(tmp_path: Path):
    ur5 = "data: example-robot-data\nurdf: ur_description/urdf/ur5_robot.urdf\n"
    write(tmp_path, "mine.yaml", f"{ur5}collisions: b.yaml\n")
    assert load(tmp_path / "mine.yaml").collisions == tmp_path / "b.yaml"
    write(tmp_path, "other.yaml", ur5)
    assert load(tmp_path / "other.yaml").collisions is None
    (tmp_path / "collisions").mkdir()
    write(tmp_path, "collisions/other.yaml", HEAD)
    assert load(tmp_path / "other.yaml").collisions == tmp_path / "collisions" / "other.yaml"
