"""What the viewer shows: the messages that reach the server, and the file that it exports."""

from __future__ import annotations

import base64
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import urlopen

import numpy as np
import pytest

import sot
from sot.errors import ConfigError
from sot.robots import Kinematic, load
from sot.tasks import CenterOfMass, Orientation, Pose, Position, Posture
from sot.viewer import collada, scene
from sot.viewer.film import Film

pytest.importorskip("meshcat")
umsgpack = pytest.importorskip("umsgpack")


def messages(html: str) -> list[dict]:
    """The commands with which an exported file builds its scene."""
    found = re.findall(r'fetch\("data:application/octet-binary;base64,([^"]*)"\)', html)
    return [umsgpack.unpackb(base64.b64decode(data)) for data in found]


def placed(html: str) -> dict[str, np.ndarray]:
    """Path → pose of the nodes of an exported scene."""
    moves = [m for m in messages(html) if m["type"] == "set_transform"]
    return {m["path"]: np.array(m["matrix"]).reshape(4, 4).T for m in moves}


@pytest.fixture(scope="module")
def talos() -> sot.Description:
    return load("talos")


@pytest.fixture(scope="module")
def shown(talos: sot.Description, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[sot.Run, str, str]]:
    """A run with a viewer: its outcome, the exported page, and the address."""
    hand = Pose("gripper_left_base_link", name="hand", reference=sot.move(by=[0.1, 0.0, 0.1], duration=0.3))
    com = CenterOfMass(reference=sot.sine([0.0, 0.03, 0.0], frequency=0.5))
    feet = [Pose("left_sole_link", name="left"), Pose("right_sole_link", name="right")]
    stack = sot.Stack([], feet, [com], [hand], [Posture()])
    with sot.Viewer(talos) as viewer:
        controller = sot.Controller(talos, stack, dt=5e-3)
        run = sot.run(Kinematic(talos, dt=5e-3), controller, 0.5, viewer=viewer, realtime=False)
        path = viewer.save(tmp_path_factory.mktemp("pages") / "run.html")
        with urlopen(viewer.url) as answer:
            assert answer.status == 200
        yield run, path.read_text(encoding="utf-8"), viewer.url


def test_the_page_holds_every_visual_shape_of_the_robot(talos: sot.Description, shown: tuple) -> None:
    drawn = [m["path"] for m in messages(shown[1]) if m["type"] == "set_object"]
    for item in talos.geometry("visual").geometryObjects:
        assert any(item.name in path.split("/") for path in drawn), item.name


def test_the_page_needs_no_network(shown: tuple) -> None:
    assert not re.search(r'<script[^>]+src=|<link[^>]+href="http', shown[1])


def test_everything_is_where_the_run_ended(talos: sot.Description, shown: tuple) -> None:
    run, html, _ = shown
    model, poses = sot.Model(talos), placed(html)
    model.update(run.state.q, run.state.v)
    wrist = model.attachment(model.frame("gripper_left_base_link"))[0]
    np.testing.assert_allclose(poses[f"/scene/robot/{wrist}"], model.data.oMi[wrist].homogeneous, atol=1e-12)
    hand = model.placement(model.frame("gripper_left_base_link")).homogeneous
    np.testing.assert_allclose(poses["/scene/frames/hand"], hand, atol=1e-12)
    np.testing.assert_allclose(poses["/scene/targets/hand"], hand, atol=1e-3)  # it has arrived
    np.testing.assert_allclose(poses["/scene/balance/com"][:3, 3], model.com, atol=1e-12)
    np.testing.assert_allclose(poses["/scene/balance/ground"][:2, 3], model.com[:2], atol=1e-12)


def test_targets_are_balls_and_frames_are_axes(shown: tuple) -> None:
    drawn = {m["path"] for m in messages(shown[1]) if m["type"] == "set_object"}
    balls = {path for path in drawn if path.startswith("/scene/targets/")}
    assert balls == {"/scene/targets/hand/shape", "/scene/targets/com/shape"}  # feet only stay where they are
    assert {f"/scene/frames/{name}/{axis}/shape" for name in ("left", "right", "hand") for axis in "xyz"} <= drawn
    assert "/scene/balance/support/shape" in drawn


def test_a_closed_viewer_has_stopped_its_server() -> None:
    viewer = sot.Viewer(load("double_pendulum"))
    address = urlparse(viewer.url)
    viewer.close()
    viewer.close()
    with pytest.raises(OSError), socket.create_connection((address.hostname, address.port), timeout=1.0):
        pass


def test_tasks_that_come_and_go_are_drawn_and_deleted(tmp_path: Path) -> None:
    panda = load("panda")
    stack = sot.Stack([], [Position("panda_hand", name="first", reference=[0.5, 0.0, 0.5])], [Posture()])
    controller, robot = sot.Controller(panda, stack), Kinematic(panda)
    with sot.Viewer(panda) as viewer:
        sot.run(robot, controller, 0.05, viewer=viewer, realtime=False)
        stack.remove("first", ramp=0.0)
        stack.push(Orientation("panda_hand", name="second"), ramp=0.0)
        sot.run(robot, controller, 0.05, viewer=viewer, realtime=False)
        drawn = {
            m["path"] for m in messages(viewer.save(tmp_path / "a.html").read_text()) if m["type"] == "set_object"
        }
    assert not any("first" in path for path in drawn)
    assert "/scene/frames/second/x/shape" in drawn


def test_pictures_come_at_the_rate_that_was_asked_for_and_make_a_film(tmp_path: Path) -> None:
    panda = load("panda")
    hand = Pose("panda_hand", reference=sot.move(by=[0.0, 0.0, -0.2], duration=1.0), gain=20.0)
    controller = sot.Controller(panda, sot.Stack([], [hand], [Posture()]))
    with sot.Viewer(panda, rate=25.0, record=True) as viewer:
        run = sot.run(Kinematic(panda), controller, 1.0, viewer=viewer, realtime=False)
        html = viewer.save(tmp_path / "film.html").read_text()
    (animation,) = (m for m in messages(html) if m["type"] == "set_animation")
    tracks = {a["path"]: {t["name"]: t["keys"] for t in a["clip"]["tracks"]} for a in animation["animations"]}
    heights = [key["value"][2] for key in tracks["/scene/frames/pose_panda_hand"][".position"]]
    assert len(heights) == 25 and animation["animations"][0]["clip"]["fps"] == 25.0
    assert heights[-1] - heights[0] == pytest.approx(-0.2, abs=0.01)
    assert run.ok


def test_a_film_turns_the_short_way_and_keeps_scales() -> None:
    film = Film(30.0)
    for angle in np.linspace(0.0, 2.5 * np.pi, 60):
        pose = np.diag([2.0, 2.0, 3.0, 1.0])
        c, s = np.cos(angle), np.sin(angle)
        pose[:2, :2] = 2.0 * np.array([[c, -s], [s, c]])
        film.add({"/a": pose})
    (track,) = film.tracks()
    keys = {t["name"]: np.array([key["value"] for key in t["keys"]]) for t in track["clip"]["tracks"]}
    steps = np.sum(keys[".quaternion"][1:] * keys[".quaternion"][:-1], axis=1)
    assert steps.min() > 0.99  # never to the other side of the sphere
    np.testing.assert_allclose(keys[".scale"], np.tile([2.0, 2.0, 3.0], (60, 1)))


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with sot.Viewer(load("double_pendulum")) as viewer, pytest.raises(ConfigError, match="nowhere"):
        viewer.save(tmp_path / "nowhere" / "page.html")


# -- the scene ---------------------------------------------------------------------------------------------------

INERTIA = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
LIMIT = '<limit lower="-3" upper="3" velocity="1" effort="1"/>'
ARM = f"""<robot name="arm">
  <link name="base"/>
  <link name="upper">{INERTIA}<visual><geometry>VISUAL</geometry></visual></link>
  <link name="lower">{INERTIA}</link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    {LIMIT}</joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><axis xyz="0 1 0"/>
    <origin xyz="0 0 0.4"/>{LIMIT}</joint>
</robot>"""
CAPSULE = """<mujoco><worldbody><body name="pole"><joint name="hinge" type="hinge" axis="0 1 0" range="-1 1"/>
  <inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
  <geom type="capsule" size="0.1 0.2"/></body></worldbody></mujoco>"""


def arm(folder: Path, visual: str) -> sot.Description:
    (folder / "arm.urdf").write_text(ARM.replace("VISUAL", visual))
    return load(folder / "arm.urdf")


@pytest.mark.parametrize(
    ("visual", "bodies"),
    [
        ('<box size="0.1 0.2 0.3"/>', [scene.Box((0.1, 0.2, 0.3))]),
        ('<sphere radius="0.1"/>', [scene.Sphere(0.1)]),
        ('<cylinder radius="0.1" length="0.4"/>', [scene.Cylinder(0.1, 0.4)]),
    ],
)
def test_primitives_are_shapes_of_their_own(tmp_path: Path, visual: str, bodies: list[scene.Body]) -> None:
    assert [shape.body for shape in scene.robot_shapes(arm(tmp_path, visual))] == bodies


def test_a_capsule_is_a_cylinder_with_two_balls(tmp_path: Path) -> None:
    (tmp_path / "capsule.xml").write_text(CAPSULE)
    shapes = scene.robot_shapes(load(tmp_path / "capsule.xml"))
    assert [shape.body for shape in shapes] == [scene.Cylinder(0.1, 0.4), scene.Sphere(0.1), scene.Sphere(0.1)]
    assert sorted(shape.placement[2, 3] for shape in shapes) == pytest.approx([-0.2, 0.0, 0.2])


def test_without_meshes_there_are_balls_and_sticks(tmp_path: Path) -> None:
    robot = arm(tmp_path, '<mesh filename="lost.stl"/>')
    shapes = {shape.name: shape for shape in scene.robot_shapes(robot)}
    assert set(shapes) == {"shoulder_ball", "elbow_ball", "elbow_stick"}
    stick = shapes["elbow_stick"]
    ends = [stick.placement @ np.array([0, 0, z, 1]) for z in (-0.2, 0.2)]
    np.testing.assert_allclose(ends, [[0, 0, 0, 1], [0, 0, 0.4, 1]], atol=1e-12)
    with sot.Viewer(robot) as viewer:
        viewer.show(np.array([0.3, 0.3]))


def test_a_mesh_that_browsers_cannot_read_is_sent_as_triangles(tmp_path: Path) -> None:
    (tmp_path / "tetra.off").write_text(
        "OFF\n4 4 6\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n"
    )
    (shape,) = scene.robot_shapes(arm(tmp_path, '<mesh filename="tetra.off"/>'))
    assert isinstance(shape.body, scene.Triangles)
    corners = shape.body.vertices[shape.body.faces]  # (4, 3, 3)
    volume = np.einsum("ki,ki->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0
    assert abs(volume) == pytest.approx(1.0 / 6.0)


def test_the_support_polygon_is_the_hull_of_the_points_on_the_ground() -> None:
    model = sot.Model(load("solo12"))
    corners = scene.support(model)
    assert len(corners) == 4
    x, y = corners[:, 0], corners[:, 1]
    area = 0.5 * np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))  # positive: counter-clockwise
    assert 0.01 < area < 0.3
    q = model.q.copy()
    q[7 + 1] += 0.3  # one leg is lifted
    model.update(q, model.v)
    assert len(scene.support(model)) == 3
    assert len(scene.support(sot.Model(load("panda")))) == 0


def test_marks_follow_the_frame_they_are_seen_from() -> None:
    robot = load("talos")
    stack = sot.Stack([], [Position("gripper_left_base_link", relative_to="torso_2_link", name="hand")])
    controller = sot.Controller(robot, stack)
    controller.step(Kinematic(robot).read())
    mark = scene.mark(stack["hand"], controller.model)
    assert mark is not None and not mark.has_axes and not mark.goes
    np.testing.assert_allclose(mark.target, mark.actual, atol=1e-12)


COLLADA = """<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema">
<library_images><image><init_from>skin.png</init_from></image></library_images><library_geometries>
<geometry id="a"><mesh><source id="s"/><triangles material="m1"/><triangles material="m2"/></mesh></geometry>
<geometry id="b"><mesh><triangles material="m3"/></mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene><node><instance_geometry url="#a"/></node>
<node><instance_geometry url="#b"/></node></visual_scene></library_visual_scenes></COLLADA>"""


def test_collada_geometries_get_one_material_each_and_bring_their_pictures(tmp_path: Path) -> None:
    (tmp_path / "skin.png").write_bytes(b"picture")
    (tmp_path / "mesh.dae").write_text(COLLADA)
    text, pictures = collada.read(tmp_path / "mesh.dae")
    assert pictures == {"skin.png": "data:image/png;base64," + base64.b64encode(b"picture").decode()}
    geometries = re.findall(r'<geometry id="([^"]*)">(.*?)</geometry>', text, re.DOTALL)
    materials = {name: re.findall(r'material="(\w+)"', body) for name, body in geometries}
    assert materials == {"a": ["m1"], "b": ["m3"], "a-part1": ["m2"]}
    assert re.findall(r'instance_geometry url="#([^"]*)"', text) == ["a", "a-part1", "b"]


def test_importing_sot_loads_nothing_heavy() -> None:
    heavy = ("meshcat", "yaml", "numba", "pinocchio", "numpy")
    code = f"import sys, sot; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_every_public_name_exists() -> None:
    for name in sot.__all__:
        assert getattr(sot, name) is not None
