"""What the viewer shows: the messages that reach the server, and the file that it exports."""

from __future__ import annotations

import base64
import re
import socket
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import urlopen

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import sot
from sot.entry import Constraint, Rows, Tick
from sot.errors import ConfigError
from sot.robots import Kinematic, load
from sot.sketch import ALARM, CALM, WARNING, Box, Drawing, Line, Solid, Sphere, Triangles
from sot.tasks import CenterOfMass, Orientation, Pose, Position, Posture
from sot.viewer import collada, scene, triangles
from sot.viewer.film import Film
from sot.viewer.page import Page

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
        drawn = {m["path"] for m in messages(viewer.save(tmp_path / "a.html").read_text()) if m["type"] == "set_object"}
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


# -- what entries sketch -----------------------------------------------------------------------------------------


class Sketched(Constraint):
    """Asks for nothing, and draws what a function of the time gives."""

    def __init__(self, draw: Callable[[float], list[Drawing]], name: str = "sketched") -> None:
        super().__init__(name=name)
        self.draw, self.time = draw, 0.0

    def begin(self, model: sot.Model, tick: Tick) -> None:
        self.time = tick.time

    def rows(self, model: sot.Model, tick: Tick) -> Rows:
        return Rows(np.zeros((0, model.nv)), np.zeros(0), np.zeros(0))

    def sketch(self, model: sot.Model) -> list[Drawing]:
        return self.draw(self.time)


def sketched(
    folder: Path, *draws: Callable[[float], list[Drawing]], record: bool = False, duration: float = 0.1
) -> str:
    """The page after a run with one entry per function: the first hard, the others on levels of their own."""
    pendulum = load("double_pendulum")
    levels = [[Sketched(draw, name=f"entry – {k}/a b")] for k, draw in enumerate(draws)]
    with sot.Viewer(pendulum, rate=20.0, record=record) as viewer:
        controller = sot.Controller(pendulum, sot.Stack(*levels, [Posture()]), dt=0.01)
        sot.run(Kinematic(pendulum, dt=0.01), controller, duration, viewer=viewer, realtime=False)
        return viewer.save(folder / "sketch.html").read_text(encoding="utf-8")


def nodes(html: str) -> dict[str, np.ndarray]:
    """Sketched nodes below the one that all have in common → pose; without the bodies inside them."""
    found = {path.removeprefix("/scene/sketches/"): pose for path, pose in placed(html).items() if "/sketches/" in path}
    return {path: pose for path, pose in found.items() if not path.endswith("/shape")}


def thickness(pose: np.ndarray) -> float:
    return float(np.linalg.norm(pose[:3, :2], axis=0).max())


def ends(pose: np.ndarray) -> np.ndarray:
    """Where the ends of a unit cylinder along z come to lie, shape (2, 3)."""
    return np.array([(pose @ [0.0, 0.0, z, 1.0])[:3] for z in (-0.5, 0.5)])


@pytest.mark.parametrize("end", [[0.3, 0.5, 0.7], [0.0, 2.0, 0.0], [0.0, 0.0, -1.0], [0.001, 0.0, 0.0]])
def test_lines_go_from_start_to_end_and_arrows_have_their_tip_there(tmp_path: Path, end: list[float]) -> None:
    start, goal = np.array([0.1, 0.0, 0.2]), np.array([0.1, 0.0, 0.2]) + end
    drawings = [Line("line", start, goal, CALM), Line("arrow", start, goal, ALARM, arrow=True)]
    poses = nodes(sketched(tmp_path, lambda time: drawings))
    line, tip, shaft = (poses[next(p for p in poses if p.endswith(w))] for w in ("calm/shaft", "tip", "alarm/shaft"))
    np.testing.assert_allclose(ends(line), [start, goal], atol=1e-12)
    np.testing.assert_allclose([ends(shaft)[0], ends(tip)[1]], [start, goal], atol=1e-12)
    np.testing.assert_allclose(ends(shaft)[1], ends(tip)[0], atol=1e-12)  # no gap
    assert 1e-4 < thickness(line) < 0.01  # on a robot that is half a metre tall
    for pose in (line, tip, shaft):
        np.testing.assert_allclose(pose[:3, :2].T @ pose[:3, 2], 0.0, atol=1e-12)  # straight, not sheared


def test_hard_and_soft_entries_are_drawn_under_names_of_their_own(tmp_path: Path) -> None:
    near = ["a b", "a/b", "a–b", "a_b", "", "ä"]  # all but the last two look alike when they are made safe
    draw = lambda time: [Solid(name, Sphere(0.1), np.eye(4), CALM) for name in near]  # noqa: E731
    html = sketched(tmp_path, draw, draw)
    paths = {m["path"] for m in messages(html) if m["type"] == "set_object" and "/sketches/" in m["path"]}
    assert len(paths) == 2 * len(near)
    assert all(re.fullmatch(r"/scene/sketches/\w+/\w+/shape", path, re.ASCII) for path in paths)


def test_what_is_not_sketched_any_more_is_hidden(tmp_path: Path) -> None:
    def draw(time: float) -> list[Drawing]:
        shift = scene.translation([time, 0.0, 0.0])
        always = Solid("always", Box((0.1, 0.1, 0.1)), shift, CALM)
        return [always] if time > 0.15 else [always, Line("early", np.zeros(3), np.ones(3), ALARM)]

    poses = nodes(sketched(tmp_path, draw, duration=0.3))
    early = next(pose for path, pose in poses.items() if "early" in path)
    always = next(pose for path, pose in poses.items() if "always" in path)
    assert thickness(early) < 1e-6 < thickness(always)
    assert always[0, 3] > 0.25


def test_show_hides_all_sketches(tmp_path: Path) -> None:
    pendulum = load("double_pendulum")
    entry = Sketched(lambda time: [Solid("ball", Sphere(0.1), np.eye(4), CALM)])
    with sot.Viewer(pendulum) as viewer:
        controller = sot.Controller(pendulum, sot.Stack([entry], [Posture()]))
        sot.run(Kinematic(pendulum), controller, 0.05, viewer=viewer, realtime=False)
        seen = nodes(viewer.save(tmp_path / "a.html").read_text())
        viewer.show(pendulum.home)
        hidden = nodes(viewer.save(tmp_path / "b.html").read_text())
    assert [thickness(pose) for pose in seen.values()] == [pytest.approx(1.0)]
    assert all(thickness(pose) < 1e-6 for pose in hidden.values()) and len(hidden) == 1


def test_a_film_shows_colours_change_and_drawings_come_and_go(tmp_path: Path) -> None:
    def draw(time: float) -> list[Drawing]:
        colour = CALM if time < 0.32 else WARNING if time < 0.62 else ALARM
        drawings: list[Drawing] = [Line("line", np.zeros(3), np.array([time, 0.0, 1.0]), colour)]
        if 0.32 < time < 0.42 or 0.72 < time < 0.77:
            drawings.append(Solid("ball", Sphere(0.1), scene.translation([time, 0.0, 0.0]), CALM))
        return drawings

    html = sketched(tmp_path, draw, record=True, duration=1.0)
    (animation,) = (m for m in messages(html) if m["type"] == "set_animation")
    clips = {a["path"]: {t["name"]: t["keys"] for t in a["clip"]["tracks"]} for a in animation["animations"]}
    last = {track["keys"][-1]["time"] for a in animation["animations"] for track in a["clip"]["tracks"]}
    assert last == {19}  # else the shorter ones would begin again on their own

    def width(word: str, frame: float) -> float:
        """Scale of a node at a time between frames, as browsers take it: linear, and constant before the first key."""
        (clip,) = (clip for path, clip in clips.items() if path.endswith(word))
        keys = clip[".scale"]
        return float(np.interp(frame, [key["time"] for key in keys], [key["value"][0] for key in keys]))

    for frame in range(20):
        time = 0.05 * frame
        colour = "calm" if time < 0.32 else "warning" if time < 0.62 else "alarm"
        seen = [word for word in ("calm", "warning", "alarm") if width(f"/{word}/shaft", frame) > 1e-6]
        assert seen == [colour], frame
        ball = next(path for path in clips if "/ball_" in path)
        assert (width(ball, frame) > 1e-6) == (frame in (7, 8, 15)), frame
    both = [width(f"/{word}/shaft", 6.5) for word in ("calm", "warning")]
    assert min(both) > 1e-4  # one colour turns into the other without a gap


def test_a_film_keeps_what_is_hidden_at_the_place_where_it_will_be_seen() -> None:
    film = Film(10.0)
    for frame in ({}, {}, {"/a": scene.translation([1, 0, 0])}, {}, {}, {}, {"/a": scene.translation([2, 0, 0])}, {}):
        film.add(frame)
    (track,) = film.tracks()
    keys = {t["name"]: {key["time"]: key["value"] for key in t["keys"]} for t in track["clip"]["tracks"]}
    assert {k: p[0] for k, p in keys[".position"].items()} == {1: 1.0, 2: 1.0, 3: 1.0, 5: 2.0, 6: 2.0, 7: 2.0}
    assert {k for k, s in keys[".scale"].items() if s[0] > 0.5} == {2, 6}


def test_a_sketch_that_fails_ends_no_run_and_is_named_once(tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    def broken(time: float) -> list[Drawing]:
        raise ZeroDivisionError("by nobody")

    def bad(time: float) -> list[Drawing]:
        good, lost = np.zeros(3), np.array([0.0, np.nan, 0.0])
        return [
            Line("fine", good, good + 1.0, CALM),
            Line("lost start", lost, good, CALM),
            Line("lost end", good, lost + np.inf, CALM),
            Line("blue", good, good + 1.0, (0.0, 0.0, 1.0, 1.0)),
            Line("flat", np.zeros(2), good, CALM),
            Line("point", good, good, CALM),  # nothing to be seen, nothing to complain of
            Solid("lost pose", Sphere(0.1), np.full((4, 4), np.nan), CALM),
            Solid("lost ball", Sphere(np.nan), np.eye(4), CALM),
            Solid("lost corner", Triangles(np.full((3, 3), np.nan), np.array([[0, 1, 2]])), np.eye(4), CALM),
            Solid("lost face", Triangles(np.eye(3), np.array([[0, 1, 3]])), np.eye(4), CALM),
            Solid("lost file", scene.MeshFile(tmp_path / "nowhere.stl"), np.eye(4), CALM),
        ]

    twins = [Solid("twin", Sphere(0.1), np.eye(4), CALM)] * 2
    html = sketched(tmp_path, broken, bad, lambda time: twins, lambda time: [None], duration=0.5)
    drawn = [m["path"] for m in messages(html) if m["type"] == "set_object" and "/sketches/" in m["path"]]
    assert sorted(path.split("/")[4].rsplit("_", 1)[0] for path in drawn) == ["fine", "twin"]
    assert all(np.isfinite(pose).all() for pose in nodes(html).values())
    said = [line for line in capfd.readouterr().err.splitlines() if line.startswith("viewer: ")]
    assert len(said) == 1 + 9 + 1 + 1, said
    assert "ZeroDivisionError: by nobody" in said[0] and "entry – 0/a b" in said[0]
    bodies = ("lost ball", "lost corner", "lost face", "lost file")
    for name in ("lost start", "lost end", "blue", "flat", "lost pose", *bodies, "twin"):
        assert sum(f"'{name}'" in line for line in said) == 1, name


def test_bodies_are_drawn_once_and_again_only_when_they_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    draw_body = Page.draw

    def draw(self: Page, path: str, *rest: object, **options: object) -> None:
        drawn.append(path)
        draw_body(self, path, *rest, **options)  # type: ignore[arg-type]

    def sketch(time: float) -> list[Drawing]:
        corner = Triangles(np.eye(3), np.array([[0, 1, 2]]))  # made anew every time, but the same
        grown = Sphere(0.1 if time < 0.5 else 0.2)
        return [
            Solid("corner", corner, np.eye(4), CALM),
            Solid("grown", grown, np.eye(4), CALM),
            Line("line", np.zeros(3), np.ones(3), CALM),
        ]

    monkeypatch.setattr(Page, "draw", draw)
    sketched(tmp_path, sketch, duration=1.0)
    counts = {word: sum(word in path for path in drawn) for word in ("corner", "grown", "line")}
    assert counts == {"corner": 1, "grown": 2, "line": 1}


def test_lines_are_seen_through_everything_and_solids_are_translucent(tmp_path: Path) -> None:
    def draw(time: float) -> list[Drawing]:
        return [Line("line", np.zeros(3), np.ones(3), WARNING), Solid("glass", Sphere(0.1), np.eye(4), (0, 0, 1, 0.3))]

    objects = {m["path"]: m["object"] for m in messages(sketched(tmp_path, draw)) if m["type"] == "set_object"}
    line, glass = (next(o for path, o in objects.items() if word in path) for word in ("/line_", "/glass_"))
    assert line["materials"][0]["depthTest"] is False and line["object"]["renderOrder"] == 1
    assert glass["materials"][0]["depthTest"] is True and glass["object"]["renderOrder"] == 0
    assert glass["materials"][0]["transparent"] and glass["materials"][0]["opacity"] == 0.3
    assert glass["materials"][0]["depthWrite"] is False


def shuffled(body: Triangles, seed: int = 0) -> Triangles:
    """The same surface with half of its triangles the other way round."""
    flip = np.random.default_rng(seed).random(len(body.faces)) < 0.5
    return Triangles(body.vertices, np.where(flip[:, None], body.faces[:, ::-1], body.faces))


def hull(points: np.ndarray) -> Triangles:
    return shuffled(Triangles(points, ConvexHull(points).simplices))


def volume(body: Triangles) -> float:
    corners = body.vertices[body.faces]
    return float(np.einsum("ki,ki->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0)


def test_edges_of_triangles_stay_edges_and_round_bodies_are_shaded_round() -> None:
    box = hull(np.array([[x, y, z] for x in (-1, 1) for y in (-2, 2) for z in (-3, 3)], dtype=float))
    corners, normals = triangles.shaded(box)
    np.testing.assert_allclose(np.sort(np.abs(normals), axis=1), np.tile([0.0, 0.0, 1.0], (36, 1)), atol=1e-12)
    sides = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(np.abs(np.sum(normals * corners, axis=1)), np.abs(normals) @ sides, atol=1e-12)
    points = np.random.default_rng(1).normal(size=(2000, 3))
    corners, normals = triangles.shaded(hull(points / np.linalg.norm(points, axis=1, keepdims=True)))
    np.testing.assert_allclose(np.abs(np.sum(normals * corners, axis=1)), 1.0, rtol=1e-9)
    assert len(triangles.shaded(Triangles(np.zeros((0, 3)), np.zeros((0, 3))))[0]) == 0


def test_normals_are_on_the_side_of_their_own_triangle() -> None:
    points = np.random.default_rng(2).normal(size=(2000, 3))
    body = hull(points / np.linalg.norm(points, axis=1, keepdims=True))
    corners, normals = triangles.shaded(body)
    own = np.cross(*np.moveaxis(np.diff(corners.reshape(-1, 3, 3), axis=1), 1, 0))
    assert (np.einsum("ki,kci->kc", own, normals.reshape(-1, 3, 3)) > 0.0).all()  # browsers turn both together


def test_convex_bodies_are_turned_outward_and_others_left_alone() -> None:
    points = np.random.default_rng(3).normal(size=(50, 3)) + np.array([5.0, 0.0, 0.0])
    body, size = hull(points), ConvexHull(points).volume

    assert volume(triangles.outward(body)) == pytest.approx(size)
    assert volume(body) != pytest.approx(size, rel=0.01)
    tetra = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    corners = np.vstack([np.zeros(3), np.eye(3)])
    closed = Triangles(np.vstack([corners, corners + 2.0]), np.vstack([tetra, tetra + 4]))  # two of them: not convex
    assert triangles.outward(closed) is closed


def test_many_sticks_at_once_lie_as_each_one_alone() -> None:
    points = np.random.default_rng(4).normal(size=(2, 30, 3))
    points[1, :3] = points[0, :3] + np.eye(3)
    for a, b, pose in zip(*points, scene.between(*points), strict=True):
        np.testing.assert_array_equal(scene.between(a, b), pose)
        np.testing.assert_allclose(pose[:3, 2], (b - a) / np.linalg.norm(b - a), atol=1e-12)
        np.testing.assert_allclose(pose[:3, :3].T @ pose[:3, :3], np.eye(3), atol=1e-12)
        assert np.linalg.det(pose[:3, :3]) > 0.0


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
    (tmp_path / "tetra.off").write_text("OFF\n4 4 6\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n")
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


MIXED = """<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema"><library_geometries>
<geometry id="a"><mesh><source id="p"><technique_common><accessor count="3" stride="3"/></technique_common></source>
<triangles><input semantic="VERTEX" source="#v" offset="1"/></triangles></mesh></geometry>
<geometry id="b"><mesh><triangles><input semantic="VERTEX" source="#w" offset="0"/>
<input semantic="TEXCOORD" source="#t" offset="1"/></triangles></mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene><node><instance_geometry url="#a"/></node>
<node><instance_geometry url="#b"/></node></visual_scene></library_visual_scenes></COLLADA>"""


def test_collada_surfaces_all_get_coordinates_of_a_picture_if_some_have_them(tmp_path: Path) -> None:
    (tmp_path / "mesh.dae").write_text(MIXED)
    text, _ = collada.read(tmp_path / "mesh.dae")
    root = ET.fromstring(text)
    inputs = [
        {item.get("semantic"): item for item in part.findall(f"{{{collada.NAMESPACE}}}input")}
        for part in root.iter(f"{{{collada.NAMESPACE}}}triangles")
    ]
    assert [set(item) for item in inputs] == [{"VERTEX", "TEXCOORD"}] * 2
    assert inputs[0]["TEXCOORD"].get("offset") == "1"  # of the vertices, which it has one pair of zeros for each
    name = inputs[0]["TEXCOORD"].get("source").removeprefix("#")
    (source,) = (item for item in root.iter() if item.get("id") == name)
    (numbers,) = (item for item in source if item.tag.endswith("float_array"))
    assert numbers.text.split() == ["0"] * 6
    assert inputs[1]["TEXCOORD"].get("source") == "#t"
    plain = MIXED.replace("TEXCOORD", "COLOR")
    (tmp_path / "plain.dae").write_text(plain)
    assert collada.read(tmp_path / "plain.dae")[0] == plain  # nothing to do


def test_collada_files_in_one_colour_are_complete_too(tmp_path: Path) -> None:
    (tmp_path / "mesh.dae").write_text(MIXED)
    html = sketched(tmp_path, lambda time: [Solid("mesh", scene.MeshFile(tmp_path / "mesh.dae"), np.eye(4), CALM)])
    (mesh,) = (m["object"] for m in messages(html) if m["type"] == "set_object" and "/sketches/" in m["path"])
    assert mesh["geometries"][0]["data"] == collada.read(tmp_path / "mesh.dae")[0] != MIXED


def test_a_black_material_does_not_cover_the_colours_of_a_collada_file(tmp_path: Path) -> None:
    black = '<material name="none"><color rgba="0 0 0 1"/></material>'
    grey = '<material name="grey"><color rgba="0.5 0.5 0.5 1"/></material>'
    box = '<box size="1 1 1"/>'
    assert {shape.colour for shape in scene.robot_shapes(load("icub"))} == {None}
    for material, colour in ((black, (0.0, 0.0, 0.0, 1.0)), (grey, (0.5, 0.5, 0.5, 1.0))):
        (shape,) = scene.robot_shapes(arm(tmp_path, f"{box}</geometry>{material}<geometry>"))
        assert shape.colour == colour  # a box has no colours of its own


def test_importing_sot_loads_nothing_heavy() -> None:
    heavy = ("meshcat", "yaml", "numba", "pinocchio", "numpy")
    code = f"import sys, sot; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_every_public_name_exists() -> None:
    for name in sot.__all__:
        assert getattr(sot, name) is not None
