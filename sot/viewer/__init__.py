"""The robot in a browser: live, recorded, or as one HTML file."""

from __future__ import annotations

import math
import os
import sys
import threading
import webbrowser
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from sot.checks import positive, vector
from sot.controller import Controller
from sot.description import Description
from sot.entry import Entry
from sot.errors import ConfigError, RobotError
from sot.model import Model
from sot.state import Command, State
from sot.viewer import film, scene
from sot.viewer.page import Page
from sot.viewer.scene import Colour
from sot.viewer.sketches import Sketches, Sketching

TARGETS = ((0.10, 0.60, 0.35), (0.15, 0.50, 0.95), (0.75, 0.20, 0.80), (0.95, 0.45, 0.10), (0.80, 0.65, 0.05))
COM: Colour = (0.85, 0.10, 0.25, 1.0)
SUPPORT: Colour = (0.10, 0.75, 0.40, 0.4)
TILES: tuple[Colour, Colour] = ((0.93, 0.94, 0.95, 1.0), (0.85, 0.87, 0.89, 1.0))
FLOOR = -0.001  # m, so that it does not show through the underside of what stands on it
SKY = {"top_color": [0.72, 0.80, 0.90], "bottom_color": [0.96, 0.97, 0.98]}
LIGHTS = {
    "AmbientLight": 0.5,
    "SpotLight": 0.5,
    "PointLightNegativeX": 0.12,
    "PointLightPositiveX": 0.12,
    "FillLight": 0.1,
}
CAMERA = "/Cameras/default/rotated/<object>"
ROOT = "/scene"


class Viewer:
    """Shows a robot, and what its tasks want, in every browser that opens `url`.

        with sot.Viewer(robot) as viewer:
            sot.run(Kinematic(robot), controller, duration=5.0, viewer=viewer)
            viewer.save("run.html")

    Coloured balls are targets, axes are the frames of tasks. The red ball is the centre of mass; the disc below it
    should stay inside the green support polygon. Everything else is what entries sketch: lines are green when all is
    well, yellow where a limit acts, and red at it.

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
        if not isinstance(robot, Description):
            raise ConfigError(f"viewer: robot: expected a robot as sot.robots.load(name) gives it, got {robot!r}")
        self.robot, self.rate, self.record = robot, positive(rate, "rate"), record
        self._lock = threading.RLock()  # whoever closes the viewer may do so while another thread shows a tick
        self._said = False  # that it was closed
        self._model = Model(robot)
        self._marked: dict[str, tuple[bool, bool]] = {}
        self._corners = np.zeros((0, 3))
        self._last = self._next = -math.inf
        self._film = film.Film(self.rate)
        self._beside: Sequence[Sketching] = ()
        self._page = Page()
        self.url = self._page.url
        self._draw_stage()
        self._draw_robot()
        self._sketches = Sketches(self._page, f"{ROOT}/sketches", self._ball)
        self.show(robot.home)
        print(f"viewer: {self.url}", flush=True)
        if open_browser and _has_screen():
            webbrowser.open(self.url)

    def show(self, q: np.ndarray) -> None:
        """Show a configuration, shape (nq,), without targets, and wait until the server has it."""
        q = vector(q, self._model.nq, f"viewer of robot '{self.robot.name}': q", repeat=False)
        with self._lock:
            self._must_be_open("show")
            self._model.update(q, np.zeros(self._model.nv))
            self._move(self._picture(self._model, ()))
            self._page.flush()

    def watch(self, robot: object) -> None:
        """Show from now on what a robot sketches beside the tasks, as a simulated one does."""
        self._beside = [robot] if isinstance(robot, Sketching) else []
        span = getattr(robot, "span", None)  # of a robot that is a point, such as a stylus, with no floor to stand on
        with self._lock:
            if not self._is_closed():  # a slope is sketched, and a level floor would cut through it
                floor = span is None and not getattr(robot, "ground_slopes", False)
                self._page.property(f"{ROOT}/floor", "visible", floor)
                if span is not None:
                    self._look_at(span)
                    self._sketches.ball = self._ball

    def observe(self, state: State, command: Command, controller: Controller) -> None:
        """Show a tick, if a picture is due and the server has taken in the last one.

        Never waits for the server. A viewer that was closed says so once; the run goes on.
        """
        with self._lock:
            if not self._is_closed():
                self._observe(state, controller)

    def _observe(self, state: State, controller: Controller) -> None:
        if state.time < self._last:  # another run, another clock
            self._next = -math.inf
        self._last = state.time
        if state.time < self._next or (self._page.busy() and not self.record):
            return
        self._next = (math.floor(state.time * self.rate + 1e-6) + 1) / self.rate
        picture = self._picture(controller.model, _entries(controller))
        self._move(picture)
        if self.record:
            self._film.add(picture)

    def finish(self, controller: Controller) -> None:
        """Show the state that the controller's model is at, and wait until the server has it.

        A run that was done is not lost because a browser hangs: that is only said.
        """
        with self._lock:
            if self._is_closed():
                return
            self._move(self._picture(controller.model, _entries(controller)))
            try:
                self._page.flush()
            except RobotError as error:
                print(f"viewer: {error}", file=sys.stderr)

    def save(self, path: str | Path) -> Path:
        """Write what is shown, or the film of what was recorded, to one HTML file that needs no network."""
        target = Path(path)
        with self._lock:
            self._must_be_open("save")
            if self._film.frames:
                self._page.send("set_animation", "", animations=self._film.tracks(), options=film.OPTIONS)
            html = self._page.html()
        try:
            target.write_text(html, encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"{target}: cannot be written: {error.strerror}") from None
        return target

    def close(self) -> None:
        """Stop the server. May be called twice; pages that are open keep their last picture."""
        with self._lock:
            self._page.close()

    def check(self, robot: Description) -> None:
        """Refuse a robot with other joints than the one that is drawn."""
        if list(robot.pin_model.names) != list(self.robot.pin_model.names):
            raise ConfigError(f"the viewer shows robot '{self.robot.name}', but the controller's is '{robot.name}'")

    def _is_closed(self) -> bool:
        """True once it is closed. Said at the first time only."""
        if self._page.closed() and not self._said:
            self._said = True
            print("viewer: was closed; the run goes on without it", file=sys.stderr)
        return self._page.closed()

    def _must_be_open(self, action: str) -> None:
        if self._page.closed():
            raise RobotError(f"viewer: {action}: it was closed; {action} before close(), or open another one")

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- what stands still ---------------------------------------------------------------------------

    def _draw_stage(self) -> None:
        """Floor, light, and a camera that sees the whole robot."""
        page, model = self._page, self._model
        points = np.array([model.placement(frame).translation for frame in model.frames.values()])
        low, high = np.minimum(points.min(axis=0), [np.inf, np.inf, 0.0]), points.max(axis=0)
        size = max(float(np.linalg.norm(high - low)), 0.3)
        # The camera turns about the page's origin, so the scene is moved until the robot's middle is there.
        page.put(ROOT, scene.translation(-0.5 * (low + high)))
        for parity, colour in enumerate(TILES):
            page.draw(f"{ROOT}/floor/{parity}", scene.tiles(parity), colour)
        page.put(f"{ROOT}/floor", scene.translation([0.0, 0.0, FLOOR]))
        for node in ("/Axes", "/Grid"):
            page.property(node, "visible", False)
        for key, value in SKY.items():
            page.property("/Background", key, value)
        page.property("/Lights/SpotLight", "visible", True)
        page.property("/Lights/SpotLight/<object>", "castShadow", True)
        for light, intensity in LIGHTS.items():
            page.property(f"/Lights/{light}/<object>", "intensity", intensity)
        self._look_at(size)

    def _look_at(self, size: float) -> None:
        """Put the camera where it sees so many metres, and make balls and lines as large as goes with them."""
        self._ball = 0.02 * size  # m
        # The camera's own axes: x, then up, then −y.
        self._page.property(CAMERA, "position", [2.0 * size, 0.5 * size, -1.15 * size])
        self._page.property(CAMERA, "zoom", 3.0)

    def _draw_robot(self) -> None:
        shapes = scene.robot_shapes(self.robot)
        self._joints = sorted({shape.joint for shape in shapes})
        for shape in shapes:
            self._page.draw(f"{ROOT}/robot/{shape.joint}/{shape.name}", shape.body, shape.colour, shape.placement)
        if self.robot.feet:
            self._page.draw(f"{ROOT}/balance/com", scene.Sphere(0.8 * self._ball), COM, on_top=True)
            self._page.draw(f"{ROOT}/balance/ground", scene.Cylinder(0.6 * self._ball, 0.004), COM, on_top=True)
            self._page.draw(f"{ROOT}/balance/line", scene.Cylinder(0.1 * self._ball, 1.0), COM, on_top=True)

    def _draw_marks(self, marks: dict[str, tuple[bool, bool]]) -> None:
        """A ball for a target, axes for a frame; drawn anew when the tasks change."""
        for name in self._marked:
            self._page.send("delete", f"{ROOT}/targets/{name}")
            self._page.send("delete", f"{ROOT}/frames/{name}")
        balls = 0
        for name, (goes, has_axes) in marks.items():
            if goes:
                colour = (*TARGETS[balls % len(TARGETS)], 0.65)
                self._page.draw(f"{ROOT}/targets/{name}", scene.Sphere(1.2 * self._ball), colour, on_top=True)
                balls += 1
            if has_axes:
                self._page.axes(f"{ROOT}/frames/{name}", 3.5 * self._ball)
        self._marked = marks

    # -- what moves ----------------------------------------------------------------------------------

    def _move(self, picture: dict[str, np.ndarray]) -> None:
        """Place everything; what was sketched before and is not any more is hidden."""
        self._page.move(picture | self._sketches.gone)

    def _picture(self, model: Model, entries: Collection[Entry]) -> dict[str, np.ndarray]:
        """Where everything is that moves: path → pose, shape (4, 4)."""
        picture = {f"{ROOT}/robot/{joint}": _pose(model.joint_placements[joint]) for joint in self._joints}
        marks = [mark for entry in entries if (mark := scene.mark(entry, model)) is not None]
        wanted = {mark.name: (mark.goes, mark.has_axes) for mark in marks}
        if wanted != self._marked:
            self._draw_marks(wanted)
        picture |= {f"{ROOT}/targets/{mark.name}": mark.target for mark in marks if mark.goes}
        picture |= {f"{ROOT}/frames/{mark.name}": mark.actual for mark in marks if mark.has_axes}
        picture |= self._sketches.picture([*entries, *self._beside], model)
        return picture | self._balance(model) if self.robot.feet else picture

    def _balance(self, model: Model) -> dict[str, np.ndarray]:
        """Centre of mass and its projection. The support polygon is drawn anew when it changes."""
        corners, com = scene.support(model), model.com
        ground = np.array([com[0], com[1], corners[0, 2] if len(corners) else 0.0])
        if corners.shape != self._corners.shape or np.abs(corners - self._corners).max(initial=0.0) > 1e-3:
            self._corners = corners
            fan = np.array([[0, i, i + 1] for i in range(1, len(corners) - 1)]).reshape(-1, 3)
            self._page.draw(f"{ROOT}/balance/support", scene.Triangles(corners, fan), SUPPORT, on_top=True)
        line = scene.translation(0.5 * (com + ground))
        line[2, 2] = max(com[2] - ground[2], 1e-3)
        parts = {"com": scene.translation(com), "ground": scene.translation(ground), "line": line}
        return {f"{ROOT}/balance/{name}": pose for name, pose in parts.items()}


def _entries(controller: Controller) -> list[Entry]:
    return [entry for level in controller.plan.levels for entry in level]


def _pose(row: np.ndarray) -> np.ndarray:
    """A row of `Model.joint_placements` (rotation by columns, translation) as a matrix, shape (4, 4)."""
    pose = scene.translation(row[9:])
    pose[:3, :3] = row[:9].reshape(3, 3).T
    return pose


def _has_screen() -> bool:
    screens = ("DISPLAY", "WAYLAND_DISPLAY")
    return sys.platform in ("darwin", "win32") or any(os.environ.get(screen) for screen in screens)
