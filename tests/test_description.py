"""Robots and their files: laws that hold for every description, and errors for every broken one."""

from __future__ import annotations

import importlib.metadata
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from robot_files import GOOD, JOINT, MJCF, write

from sot.description.postures import angle
from sot.errors import ConfigError, ModelError
from sot.model import Model
from sot.robots import load, loader, names

ROBOTS = names()
LEGGED = [name for name in ROBOTS if load(name).feet]
REQUIRED = {
    "panda",
    "ur5",
    "xarm7",
    "double_pendulum",
    "tiago",
    "solo12",
    "go2",
    "anymal",
    "bolt",
    "talos",
    "g1",
}


@pytest.fixture(scope="module")
def robots():
    return {name: load(name) for name in ROBOTS}


# -- laws over all robots --------------------------------------------------------------------------------


def test_the_promised_robots_are_there():
    assert set(ROBOTS) >= REQUIRED and len(LEGGED) >= 10


@pytest.mark.parametrize("name", ROBOTS)
def test_home_is_inside_the_limits(robots, name: str):
    robot, model = robots[name], robots[name].pin_model
    assert robot.home.shape == (model.nq,)
    assert (model.lowerPositionLimit <= robot.home).all() and (robot.home <= model.upperPositionLimit).all()
    assert pin.isNormalized(model, robot.home, 1e-12)
    assert (model.lowerPositionLimit < model.upperPositionLimit).all()


@pytest.mark.parametrize("name", LEGGED)
def test_feet_stand_on_the_ground(robots, name: str):
    model = Model(robots[name])
    heights = [
        model.placement(model.frame(foot.frame)).act(point)[2]
        for foot in robots[name].feet
        for point in foot.points
    ]
    assert abs(min(heights)) <= 1e-9 and max(heights) <= 1e-3
    assert model.com[2] > 0.1 and robots[name].root == "free_flyer"


@pytest.mark.parametrize("name", ["solo12", "go2", "anymal", "anymal_c", "a1", "hyq", "talos", "g1"])
def test_the_shape_of_the_feet_touches_the_ground(robots, name: str):
    """The contact points agree with the collision geometry: its lowest point at home is at z = 0 within 2 mm."""
    robot = robots[name]
    shapes, data = robot.geometry("collision"), robot.pin_model.createData()
    pin.forwardKinematics(robot.pin_model, data, robot.home)
    lowest = np.inf
    for shape in shapes.geometryObjects:
        pose = data.oMi[shape.parentJoint] * shape.placement
        if hasattr(shape.geometry, "vertices"):
            points = np.asarray(shape.geometry.vertices()) @ pose.rotation.T + pose.translation
            lowest = min(lowest, points[:, 2].min())
        elif hasattr(shape.geometry, "radius") and not hasattr(shape.geometry, "halfLength"):
            lowest = min(lowest, pose.translation[2] - shape.geometry.radius)
    assert abs(lowest) <= 2e-3


@pytest.mark.parametrize("name", ROBOTS)
def test_mass_is_the_sum_over_the_links(robots, name: str):
    """Against a sum over the file; links that are part of a fixed base do not count."""
    robot = robots[name]
    tree = ElementTree.parse(robot.urdf).getroot()
    mass = {link.get("name"): float(m.get("value")) for link in tree.iter("link") for m in link.iter("mass")}
    joints = [j for j in tree.findall("joint") if j.find("child") is not None]
    up = {j.find("child").get("link"): (j.find("parent").get("link"), j.get("type")) for j in joints}

    def moves(link: str) -> bool:
        parent, kind = up.get(link, (None, "root"))
        if kind in ("fixed", "root"):
            return moves(parent) if parent else robot.root != "fixed"
        return True

    assert robot.mass == pytest.approx(sum(m for link, m in mass.items() if moves(link)), rel=1e-9)
    assert 0.1 < robot.mass < 300.0


@pytest.mark.parametrize("name", ROBOTS)
def test_names_and_vectors_fit_the_model(robots, name: str):
    robot, model = robots[name], robots[name].pin_model
    assert robot.name == name and len(set(model.names)) == model.njoints
    for frame in (*robot.hands, *(foot.frame for foot in robot.feet)):
        assert model.existFrame(frame)
    for vector in (robot.acceleration_limit, robot.rotor_inertia, robot.gear_ratio, robot.joint_friction):
        assert vector.shape == (model.nv,) and (vector >= 0.0).all()
    np.testing.assert_allclose(model.armature, robot.rotor_inertia * robot.gear_ratio**2)
    assert all(q.shape == (model.nq,) for q in robot.postures.values())
    assert robot.hands or robot.feet


@pytest.mark.parametrize("name", ROBOTS)
def test_no_placeholder_is_left_for_a_limit(robots, name: str):
    """What a motor of such a robot cannot do, no limit should allow; infinity says that it is not known."""
    model, known = robots[name].pin_model, robots[name].root != "fixed"
    joints = slice(model.joints[1].nv if known else 0, None)
    velocity, effort = model.velocityLimit[joints], model.effortLimit[joints]
    assert (velocity[np.isfinite(velocity)] <= 80.0).all() and (velocity > 0.0).all()
    assert (effort[np.isfinite(effort)] <= 2000.0).all() and (effort > 0.0).all()
    np.testing.assert_array_equal(model.lowerVelocityLimit, -model.upperVelocityLimit)
    np.testing.assert_array_equal(model.lowerEffortLimit, -model.upperEffortLimit)


@pytest.mark.parametrize("name", ROBOTS)
def test_followers_are_where_their_leaders_put_them(robots, name: str):
    robot, model = robots[name], robots[name].pin_model
    for mimic in robot.mimics:
        expected = mimic.ratio * angle(model, robot.home, mimic.of) + mimic.offset
        assert angle(model, robot.home, mimic.joint) == pytest.approx(expected, abs=1e-12)
        assert mimic.joint in model.names and mimic.of in model.names
    assert robot.actuated.sum() == model.nv - 6 * (robot.root == "free_flyer") - len(robot.mimics)


def test_mimic_tags_are_found(robots):
    finger = robots["panda"].mimics[0]
    assert (finger.joint, finger.of, finger.ratio) == ("panda_finger_joint2", "panda_finger_joint1", 1.0)
    assert len(robots["tiago_pro"].mimics) == 10 and len(robots["romeo"].mimics) == 22
    assert not robots["talos"].mimics  # its tags are on fixed joints


# -- single robots ---------------------------------------------------------------------------------------


def test_talos_loads_quickly_and_without_meshes():
    load("talos")
    start = time.perf_counter()
    robot = load("talos")
    assert time.perf_counter() - start < 0.3
    assert not robot._geometry
    assert robot.geometry("visual") is robot.geometry("visual")


def test_talos_half_sitting_is_as_its_file_says(robots):
    talos = robots["talos"]
    np.testing.assert_allclose(talos.postures["half_sitting"][7:], talos.home[7:])
    assert talos.home[2] == pytest.approx(1.01927, abs=1e-3)
    assert angle(talos.pin_model, talos.home, "leg_left_4_joint") == 0.859395


def test_locked_joints_leave_the_model_and_nothing_else(robots):
    full, reduced = load("tiago", lock=[]), robots["tiago"]
    assert full.pin_model.nv == reduced.pin_model.nv + 38 and full.mass == pytest.approx(reduced.mass)
    hand, same = reduced.hands[0], np.testing.assert_array_equal
    models = [Model(full), Model(reduced)]
    hands = [model.placement(model.frame(hand)).homogeneous for model in models]
    np.testing.assert_allclose(hands[0], hands[1], atol=1e-12)
    for name in list(reduced.pin_model.names)[1:]:
        a, b = (model.joint(name) for model in models)
        for limit in ("velocityLimit", "effortLimit", "damping", "upperDryFrictionLimit"):
            same(getattr(full.pin_model, limit)[a.v], getattr(reduced.pin_model, limit)[b.v])
        same(full.acceleration_limit[a.v], reduced.acceleration_limit[b.v])
        same(full.pin_model.upperPositionLimit[a.q], reduced.pin_model.upperPositionLimit[b.q])


def test_tiago_drives_but_not_sideways(robots):
    model = robots["tiago"].pin_model
    assert robots["tiago"].root == "planar" and model.nq == model.nv + 1
    np.testing.assert_array_equal(model.velocityLimit[:3], [1.0, 0.0, 4.9])


def test_a_known_robot_can_be_changed():
    assert load("talos", root="fixed").pin_model.nv == 32
    held = load("talos", lock=["arm_*", "head_*"], hands=[])
    assert held.pin_model.nv == 38 - 16 and not held.hands
    assert load("ur5", limits={"elbow_joint": {"position": [-2, 2]}}).pin_model.upperPositionLimit[2] == 2.0


def test_pairs_of_neighbours_are_not_watched(robots):
    shapes, parents = robots["ur10"].geometry("collision"), robots["ur10"].pin_model.parents
    joints = [
        [shapes.geometryObjects[i].parentJoint for i in (pair.first, pair.second)]
        for pair in shapes.collisionPairs
    ]
    assert joints and all(parents[a] != b and parents[b] != a for a, b in joints)
    assert 0 < len(robots["talos"].geometry("collision").collisionPairs) < 52 * 51 / 2 - 300


# -- a user's own robots ---------------------------------------------------------------------------------


def test_a_urdf_by_one_call(tmp_path: Path):
    path = write(tmp_path, "arm.urdf", GOOD)
    robot = load(path, hands=["d"], home={"joints": {"j1": 0.4, "j2": np.pi / 2}})
    assert (robot.name, robot.root, robot.pin_model.nq, robot.pin_model.nv) == ("arm", "fixed", 4, 3)
    np.testing.assert_allclose(robot.home, [0.4, 0.0, 1.0, 0.3], atol=1e-12)  # the follower: 0.5 · 0.4 + 0.1
    assert np.isinf(robot.pin_model.upperPositionLimit[1:3]).all()
    free = load(urdf=path, root="free_flyer", feet=[{"frame": "a", "radius": 0.2}])
    assert free.pin_model.nv == 9 and free.home[2] == pytest.approx(0.2)
    np.testing.assert_allclose(free.feet[0].points, [[0.0, 0.0, -0.2]], atol=1e-12)


def test_an_mjcf_by_one_call(tmp_path: Path):
    path = write(tmp_path, "hopper.xml", MJCF)
    robot = load(path)
    assert (robot.name, robot.root, robot.mass) == ("hopper", "free_flyer", pytest.approx(2.0))
    assert robot.home[2] == 1.0 and robot.home[7] == pytest.approx(
        0.6
    )  # zero is outside: middle of the range
    assert load(mjcf=path, home="stand").home[7] == 0.3
    assert robot.pin_model.armature[6] == 0.01 and robot.geometry("collision").ngeoms == 2
    with pytest.raises(ModelError, match="itself says 'free_flyer', not 'fixed'"):
        load(mjcf=path, root="fixed")


def test_a_file_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write(tmp_path, "arm.urdf", GOOD)
    limits = "limits: {'j*': {velocity: 1.5, acceleration: 4}}"
    path = write(tmp_path, "mine.yaml", f"urdf: arm.urdf\nhands: [d]\n{limits}\n")
    robot = load(str(path))
    assert robot.name == "mine" and (robot.pin_model.velocityLimit == 1.5).all()
    np.testing.assert_array_equal(robot.acceleration_limit, [4.0, 4.0, 4.0])
    assert "mine" not in names() and "mine" in names(tmp_path)
    assert load("mine", folder=tmp_path).name == "mine"
    monkeypatch.setenv("SOT_ROBOTS", str(tmp_path))
    assert "mine" in names() and "talos" in names() and load("mine").hands == ("d",)


def test_chains_of_followers_lead_to_the_first(tmp_path: Path):
    text = GOOD.replace(
        JOINT.format("j2", "continuous", "b", "c", ""),
        JOINT.format("j2", "revolute", "b", "c", '<mimic joint="j1" multiplier="2" offset="1"/>'),
    ).replace('<mimic joint="j1" multiplier="0.5"', '<mimic joint="j2" multiplier="0.5"')
    robot = load(write(tmp_path, "arm.urdf", text), home={"joints": {"j1": 0.1}})
    chain = {mimic.joint: (mimic.of, mimic.ratio, mimic.offset) for mimic in robot.mimics}
    assert chain == {"j2": ("j1", 2.0, 1.0), "j3": ("j1", 1.0, pytest.approx(0.6))}
    with pytest.raises(ModelError, match="all joints are locked"):  # the two others follow the first
        load(tmp_path / "arm.urdf", lock=["j1"], home={"joints": {"j1": 0.1}})


def test_followers_of_a_locked_joint_are_locked(tmp_path: Path):
    path = write(tmp_path, "arm.urdf", GOOD)
    robot = load(path, lock=["j1"], home={"joints": {"j1": 1.0}})
    assert list(robot.pin_model.names)[1:] == ["j2"] and not robot.mimics
    end = Model(robot).placement(Model(robot).frame("d")).translation
    full = load(path, home={"joints": {"j1": 1.0}})
    np.testing.assert_allclose(end, Model(full).placement(Model(full).frame("d")).translation, atol=1e-12)


def test_meshes_are_looked_up_when_asked_for(tmp_path: Path):
    mesh = '<visual><geometry><mesh filename="package://nowhere/x.stl"/></geometry></visual></link>'
    robot = load(write(tmp_path, "arm.urdf", GOOD.replace("</link>", mesh, 1)))
    with pytest.raises(ModelError, match=r"arm\.urdf.*nowhere/x\.stl"):
        robot.geometry("visual")
    assert robot.geometry("collision").ngeoms == 0
    with pytest.raises(ConfigError, match="visual, collision"):
        robot.geometry("visuals")


def test_the_data_package_may_be_missing(monkeypatch: pytest.MonkeyPatch):
    def absent(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", absent)
    loader.data_folder.cache_clear()
    with pytest.raises(ModelError, match=r"talos\.yaml.*pip install 'sot\[robots\]'"):
        load("talos")
    loader.data_folder.cache_clear()
