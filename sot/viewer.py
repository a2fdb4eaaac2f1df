"""The robot in a browser: live, recorded, or as one HTML file. The door to meshcat."""

from __future__ import annotations

import math
import os
import sys
import webbrowser
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from sot import film, scene
from sot.checks import positive
from sot.controller import Controller
from sot.description import Description
from sot.entry import Entry
from sot.errors import ConfigError, RobotError, missing
from sot.model import Model
from sot.scene import Body, Colour
from sot.state import Command, State

PALETTE = ((0.10, 0.60, 0.35), (0.15, 0.50, 0.95), (0.75, 0.20, 0.80), (0.95, 0.45, 0.10), (0.80, 0.65, 0.05))
AXES: tuple[Colour, ...] = ((0.85, 0.15, 0.15, 1.0), (0.15, 0.65, 0.20, 1.0), (0.15, 0.35, 0.90, 1.0))
COM: Colour = (0.85, 0.10, 0.25, 1.0)
SUPPORT: Colour = (0.10, 0.75, 0.40, 0.4)
LIGHT: Colour = (0.93, 0.94, 0.95, 1.0)
DARK: Colour = (0.85, 0.87, 0.89, 1.0)
LIGHTS = {"AmbientLight": 0.5, "SpotLight": 0.5, "PointLightNegativeX": 0.12, "PointLightPositiveX": 0.12, "FillLight": 0.1}
ROOT = "/scene"
ANSWER = 30_000  # ms to wait for the server, which may have many megabytes of meshes to take in


class Viewer:
    """Shows a robot, and what its tasks want, in every browser that opens `url`.

        with sot.Viewer(robot) as viewer:
            sot.run(Kinematic(robot), controller, duration=5.0, viewer=viewer)
            viewer.save("run.html")

    Coloured balls are targets, axes are the frames of tasks. The red ball is the centre of mass; the disc below it
    should stay inside the green support polygon.

    Attributes:
        url: Address of the page.
    """

    def __init__(
        self, robot: Description, *, open_browser: bool = False, rate: float = 30.0, record: bool = False
    ) -> None:
        """
        Args:
            robot: What `sot.robots.load` gives.
            open_browser: Open the page, if this machine has a screen.
            rate: Pictures per second of the robot's time.
            record: Keep all pictures, so that `save` writes a film and not one picture.
        """
        self.robot, self.rate, self.record = robot, positive(rate, "rate"), record
        self._model = Model(robot)
        self._link = _Link()
        self.url = self._link.url
        self._marked: dict[str, tuple[bool, bool]] = {}
        self._corners = np.zeros((0, 3))
        self._last = self._next = -math.inf
        self._film = film.Film(self.rate)
        self._draw_stage()
        self._draw_robot()
        self.show(robot.home)
        print(f"viewer: {self.url}", flush=True)
        if open_browser and _has_screen():
            webbrowser.open(self.url)

    def show(self, q: np.ndarray) -> None:
        """Show a configuration, shape (nq,), and wait until the server has it."""
        self._model.update(np.asarray(q, dtype=float), np.zeros(self._model.nv))
        self._draw(self._model, ())
        self._link.flush()

    def observe(self, state: State, command: Command, controller: Controller) -> None:
        """Show a tick, if a picture is due and the server has taken in the last one. Never waits."""
        if state.time < self._last:  # another run, another clock
            self._next = -math.inf
        self._last = state.time
        if state.time < self._next or (self._link.busy() and not self.record):
            return
        self._next = (math.floor(state.time * self.rate + 1e-6) + 1) / self.rate
        self._draw(controller.model, [block.entry for block in controller.plan.blocks])

    def finish(self, controller: Controller) -> None:
        """Show the state that the controller's model is at, and wait until the server has it."""
        self._draw(controller.model, [block.entry for block in controller.plan.blocks])
        self._link.flush()

    def save(self, path: str | Path) -> Path:
        """Write what is shown, or the film of what was recorded, to one HTML file that needs no network."""
        target = Path(path)
        if self._film.frames:
            self._link.send("set_animation", "", animations=self._film.tracks(), options=film.OPTIONS)
        try:
            target.write_text(self._link.page(), encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"{target}: cannot be written: {error.strerror}") from None
        return target

    def close(self) -> None:
        """Stop the server. May be called twice; pages that are open keep their last picture."""
        self._link.close()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- what stands still ---------------------------------------------------------------------------

    def _draw_stage(self) -> None:
        """Floor, light, and a camera that sees the whole robot."""
        link, points = self._link, self._model.joint_placements[1:, 9:]  # (njoints - 1, 3)
        low, high = np.minimum(points.min(axis=0), [np.inf, np.inf, 0.0]), points.max(axis=0)
        size = max(float(np.linalg.norm(high - low)), 0.3)
        # The camera turns about the page's origin, so the scene is moved until the robot's middle is there.
        shift = scene.translation(-0.5 * (low + high))
        link.send("set_transform", ROOT, matrix=shift.T.ravel().tolist())
        link.draw(f"{ROOT}/floor/light", scene.tiles(0), LIGHT)
        link.draw(f"{ROOT}/floor/dark", scene.tiles(1), DARK)
        link.property("/Background", "top_color", [0.72, 0.80, 0.90])
        link.property("/Background", "bottom_color", [0.96, 0.97, 0.98])
        for node in ("/Axes", "/Grid"):
            link.property(node, "visible", False)
        link.property("/Lights/SpotLight", "visible", True)
        link.property("/Lights/SpotLight/<object>", "castShadow", True)
        for light, intensity in LIGHTS.items():
            link.property(f"/Lights/{light}/<object>", "intensity", intensity)
        # The camera's own axes: x, then up, then −y.
        eye = size * np.array([1.9, 0.45, -1.1])
        link.property("/Cameras/default/rotated/<object>", "position", eye.tolist())
        link.property("/Cameras/default/rotated/<object>", "zoom", 2.5)

    def _draw_robot(self) -> None:
        shapes = scene.robot_shapes(self.robot)
        self._joints = sorted({shape.joint for shape in shapes})
        for shape in shapes:
            self._link.draw(f"{ROOT}/robot/{shape.joint}/{shape.name}", shape.body, shape.colour, shape.placement)
        if self.robot.feet:
            self._link.draw(f"{ROOT}/balance/com", scene.Sphere(0.03), COM, on_top=True)
            self._link.draw(f"{ROOT}/balance/ground", scene.Cylinder(0.02, 0.004), COM, on_top=True)
            self._link.draw(f"{ROOT}/balance/line", scene.Cylinder(0.003, 1.0), COM, on_top=True)

    def _draw_marks(self, marks: dict[str, tuple[bool, bool]]) -> None:
        """A ball for a target, axes for a frame; drawn anew when the tasks change."""
        for name in self._marked:
            self._link.send("delete", f"{ROOT}/targets/{name}")
            self._link.send("delete", f"{ROOT}/frames/{name}")
        balls = 0
        for name, (goes, has_axes) in marks.items():
            if goes:
                colour = (*PALETTE[balls % len(PALETTE)], 0.65)
                self._link.draw(f"{ROOT}/targets/{name}/ball", scene.Sphere(0.045), colour, on_top=True)
                balls += 1
            if has_axes:
                self._link.axes(f"{ROOT}/frames/{name}", 0.12)
        self._marked = marks

    # -- what moves ----------------------------------------------------------------------------------

    def _draw(self, model: Model, entries: Iterable[Entry]) -> None:
        """One picture: path → pose of everything that moves."""
        picture = {f"{ROOT}/robot/{joint}": _pose(model.joint_placements[joint]) for joint in self._joints}
        marks = [mark for entry in entries if (mark := scene.mark(entry, model)) is not None]
        wanted = {mark.name: (mark.goes, mark.has_axes) for mark in marks}
        if wanted != self._marked:
            self._draw_marks(wanted)
        for mark in marks:
            if mark.goes:
                picture[f"{ROOT}/targets/{mark.name}"] = mark.target
            if mark.has_axes:
                picture[f"{ROOT}/frames/{mark.name}"] = mark.actual
        if self.robot.feet:
            picture |= self._balance(model)
        self._link.place(picture)
        if self.record:
            self._film.add(picture)

    def _balance(self, model: Model) -> dict[str, np.ndarray]:
        """Centre of mass, its projection, and the support polygon, which is drawn anew when it changes."""
        corners, com = scene.support(model), model.com
        ground = np.array([com[0], com[1], corners[0, 2] if len(corners) else 0.0])
        if corners.shape != self._corners.shape or np.abs(corners - self._corners).max(initial=0.0) > 1e-3:
            self._corners = corners
            fan = np.array([[0, i, i + 1] for i in range(1, len(corners) - 1)]).reshape(-1, 3)
            lifted = corners + [0.0, 0.0, 0.002]  # above the floor, or the two would flicker
            self._link.draw(f"{ROOT}/balance/support", scene.Triangles(lifted, fan), SUPPORT, on_top=True)
        line = scene.translation(0.5 * (com + ground))
        line[2, 2] = max(com[2] - ground[2], 1e-3)
        return {f"{ROOT}/balance/com": scene.translation(com), f"{ROOT}/balance/ground": scene.translation(ground), f"{ROOT}/balance/line": line}


class _Link:
    """A meshcat server, and a socket to it that does not wait for answers.

    meshcat's own client waits for an answer to every message, dozens of times per picture. The server answers in
    order, so it is enough to count.
    """

    def __init__(self) -> None:
        try:
            import meshcat.geometry
            import umsgpack
            import zmq
            from meshcat.servers.zmqserver import start_zmq_server_as_subprocess
        except ImportError:
            raise ConfigError(missing("meshcat", "the viewer", "meshcat")) from None
        self._three, self._pack, self._zmq = meshcat.geometry, umsgpack.packb, zmq
        self._server, address, self.url = start_zmq_server_as_subprocess()
        self._socket = zmq.Context.instance().socket(zmq.DEALER)
        self._socket.set(zmq.SNDHWM, 0)
        self._socket.connect(address)
        self._waiting = 0  # answers that are still to come
        self._heads: dict[str, bytes] = {}

    def send(self, kind: str, path: str, **fields: Any) -> None:
        """One of meshcat's messages."""
        self._post(kind, path, self._pack({"type": kind, "path": path, **fields}))

    def property(self, path: str, key: str, value: Any) -> None:
        """Set a property of a node of the scene."""
        self.send("set_property", path, property=key, value=value)

    def draw(
        self,
        path: str,
        body: Body,
        colour: Colour | None,
        placement: np.ndarray | None = None,
        *,
        on_top: bool = False,
    ) -> None:
        """Put a body into the scene: in the colours of its file if none is given; seen through others if on top."""
        pose = np.eye(4) if placement is None else placement
        if isinstance(body, scene.MeshFile) and colour is None:
            lowered = self._painted(body.path)
        else:
            red, green, blue, opacity = colour or scene.GREY
            paint = sum(round(255 * c) << shift for c, shift in ((red, 16), (green, 8), (blue, 0)))
            material = self._three.MeshPhongMaterial(
                color=paint, opacity=opacity, transparent=on_top or opacity < 1.0, depthTest=not on_top
            )
            lowered = self._three.Mesh(self._geometry(body), material).lower()
        if isinstance(body, scene.Cylinder):
            pose = pose @ np.array([[1, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])  # theirs is along y
        self.send("set_object", f"{path}/shape", object=lowered)
        self.send("set_transform", f"{path}/shape", matrix=pose.T.ravel().tolist())

    def axes(self, path: str, length: float) -> None:
        """Three sticks: x red, y green, z blue."""
        for i, colour in enumerate(AXES):
            stick = scene.between(np.zeros(3), length * np.eye(3)[i])
            self.draw(f"{path}/{'xyz'[i]}", scene.Cylinder(0.045 * length, length), colour, stick, on_top=True)

    def _geometry(self, body: Body) -> Any:
        three = self._three
        if isinstance(body, scene.Box):
            return three.Box(body.lengths)
        if isinstance(body, scene.Sphere):
            return three.Sphere(body.radius)
        if isinstance(body, scene.Cylinder):
            return three.Cylinder(body.length, body.radius)
        if isinstance(body, scene.Triangles):
            return three.TriangularMeshGeometry(body.vertices, body.faces)
        loaders = {".stl": three.StlMeshGeometry, ".obj": three.ObjMeshGeometry, ".dae": three.DaeMeshGeometry}
        return loaders[body.path.suffix.lower()].from_file(str(body.path))

    @staticmethod
    def _painted(path: Path) -> dict[str, Any]:
        """A Collada file with its own materials."""
        data = path.read_text(encoding="utf-8", errors="replace")
        mesh = {"type": "_meshfile_object", "uuid": str(path), "format": "dae", "data": data, "resources": {}}
        return {"metadata": {"version": 4.5, "type": "Object"}, "geometries": [], "materials": [], "object": mesh}

    def place(self, picture: dict[str, np.ndarray]) -> None:
        """Move nodes of the scene: path → pose, shape (4, 4)."""
        numbers = np.zeros((len(picture), 16), dtype=[("type", "u1"), ("value", ">f8")])
        numbers["type"] = 0xCB  # a double follows
        numbers["value"] = np.array(list(picture.values())).transpose(0, 2, 1).reshape(-1, 16)
        for path, row in zip(picture, numbers, strict=True):
            self._post("set_transform", path, self._head(path) + row.tobytes())

    def _head(self, path: str) -> bytes:
        """A set_transform message up to its 16 numbers; packing them one by one would take ten times as long."""
        if path not in self._heads:
            empty = self._pack({"type": "set_transform", "path": path, "matrix": []})
            self._heads[path] = empty[:-1] + b"\xdc\x00\x10"  # in place of an empty list: one of 16
        return self._heads[path]

    def _post(self, kind: str, path: str, message: bytes) -> None:
        self._socket.send_multipart([b"", kind.encode(), path.encode(), message])
        self._waiting += 1

    def busy(self) -> bool:
        """True while the server has not answered everything."""
        while self._waiting and self._socket.poll(0):
            self._socket.recv_multipart()
            self._waiting -= 1
        return self._waiting > 0

    def flush(self) -> None:
        """Wait until the server has answered everything."""
        while self.busy():
            if not self._socket.poll(ANSWER):
                raise RobotError("the viewer's server does not answer any more")

    def page(self) -> str:
        """The scene as a page of its own."""
        self.flush()
        self._socket.send_multipart([b"", b"get_scene"])
        if not self._socket.poll(ANSWER):
            raise RobotError("the viewer's server does not answer any more")
        return self._socket.recv_multipart()[1].decode()

    def close(self) -> None:
        """End the server."""
        if not self._socket.closed:
            self._socket.close(linger=0)
            self._server.kill()
            self._server.wait()


def _pose(row: np.ndarray) -> np.ndarray:
    """A row of `Model.joint_placements` (rotation by columns, translation) as a matrix, shape (4, 4)."""
    T = scene.translation(row[9:])
    T[:3, :3] = row[:9].reshape(3, 3).T
    return T


def _has_screen() -> bool:
    return sys.platform in ("darwin", "win32") or any(os.environ.get(key) for key in ("DISPLAY", "WAYLAND_DISPLAY"))
