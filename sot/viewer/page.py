"""A page that browsers can open, with a scene on it. The door to meshcat."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sot.errors import ConfigError, RobotError, missing
from sot.viewer import collada, scene, triangles
from sot.viewer.scene import Body, Colour

AXES: tuple[Colour, ...] = ((0.85, 0.15, 0.15, 1.0), (0.15, 0.65, 0.20, 1.0), (0.15, 0.35, 0.90, 1.0))
BACK = 1  # sides that face away cast the shadows; else surfaces cast speckles on themselves
UPRIGHT = np.array([[1, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])  # their cylinders are along y
GLOW = 0.5  # share of its colour that a body on top has without any light
ANSWER = 30_000  # ms to wait for the server, which may have many megabytes of meshes to take in


class Page:
    """A meshcat server, and a socket to it that does not wait for answers.

    meshcat's own client waits for an answer to every message, dozens of times per picture. The server answers in
    order, so it is enough to count.

    Attributes:
        url: Address of the page.
    """

    def __init__(self) -> None:
        try:
            import meshcat.geometry
            import umsgpack
            import zmq
            from meshcat.servers.zmqserver import start_zmq_server_as_subprocess
        except ImportError:
            raise ConfigError(missing("meshcat", "the viewer", "meshcat")) from None
        self._three, self._pack = meshcat.geometry, umsgpack.packb
        self._server, address, self.url = start_zmq_server_as_subprocess()
        self._socket: Any = zmq.Context.instance().socket(zmq.DEALER)
        self._socket.set(zmq.SNDHWM, 0)
        self._socket.connect(address)
        self._waiting = 0  # answers that are still to come
        self._heads: dict[str, bytes] = {}

    def send(self, kind: str, path: str, **fields: Any) -> None:
        """One of meshcat's messages."""
        self._post(kind, path, self._pack({"type": kind, "path": path, **fields}))

    def put(self, path: str, pose: np.ndarray) -> None:
        """Place a node of the scene, once. For many nodes again and again see `move`."""
        self.send("set_transform", path, matrix=pose.T.ravel().tolist())

    def property(self, path: str, key: str, value: Any) -> None:
        """Set a property of a node of the scene."""
        self.send("set_property", path, property=key, value=value)

    # -- bodies --------------------------------------------------------------------------------------

    def draw(
        self,
        path: str,
        body: Body | scene.Cone,
        colour: Colour | None,
        pose: np.ndarray | None = None,
        *,
        on_top: bool = False,
    ) -> None:
        """Put a body into the scene.

        Args:
            path: Node of the scene.
            body: Its form.
            colour: None: the colours that its file has.
            pose: Where, within the node.
            on_top: Seen through everything that is in front of it.
        """
        if isinstance(body, scene.MeshFile) and colour is None:
            lowered = self._painted(body.path)
        else:
            material = self._material(colour or scene.GREY, on_top)
            lowered = self._lowered(body, material)
            lowered["object"]["renderOrder"] = int(on_top)  # after all that is translucent, which would tint it
        pose = np.eye(4) if pose is None else pose
        self.send("set_object", f"{path}/shape", object=lowered)
        self.put(f"{path}/shape", pose @ UPRIGHT if isinstance(body, (scene.Cylinder, scene.Cone)) else pose)

    def axes(self, path: str, length: float) -> None:
        """Three sticks: x red, y green, z blue."""
        for i, colour in enumerate(AXES):
            stick = scene.between(np.zeros(3), length * np.eye(3)[i])
            self.draw(f"{path}/{'xyz'[i]}", scene.Cylinder(0.045 * length, length), colour, stick, on_top=True)

    def _material(self, colour: Colour, on_top: bool) -> Any:
        """What is on top glows a little: it is often inside a body, where no light would reach it."""
        return self._three.MeshPhongMaterial(
            color=_hex(colour, 1.0 - GLOW if on_top else 1.0),
            emissive=_hex(colour, GLOW if on_top else 0.0),
            opacity=colour[3],
            transparent=on_top or colour[3] < 1.0,
            depthTest=not on_top,
            depthWrite=colour[3] >= 1.0,  # else the far sides of a translucent body are seen in patches
            shadowSide=BACK,
        )

    def _lowered(self, body: Body | scene.Cone, material: Any) -> dict[str, Any]:
        """A body in the form of meshcat's messages."""
        if not isinstance(body, scene.Triangles):
            return self._three.Mesh(self._geometry(body), material).lower()
        corners, normals = triangles.shaded(body)
        geometry = self._three.TriangularMeshGeometry(corners, np.arange(len(corners)).reshape(-1, 3))
        lowered = self._three.Mesh(geometry, material).lower()
        packed = self._three.pack_numpy_array(normals.T.astype(np.float32))
        lowered["geometries"][0]["data"]["attributes"]["normal"] = packed
        return lowered

    def _geometry(self, body: scene.Box | scene.Sphere | scene.Cylinder | scene.Cone | scene.MeshFile) -> Any:
        three = self._three
        if isinstance(body, scene.Box):
            return three.Box(body.lengths)
        if isinstance(body, scene.Sphere):
            return three.Sphere(body.radius)
        if isinstance(body, scene.Cylinder):
            return three.Cylinder(body.length, body.radius)
        if isinstance(body, scene.Cone):
            return three.Cylinder(body.length, radiusTop=0.0, radiusBottom=body.radius)
        if body.path.suffix.lower() == ".dae":
            return three.MeshGeometry(collada.read(body.path)[0], "dae")
        loaders = {".stl": three.StlMeshGeometry, ".obj": three.ObjMeshGeometry}
        return loaders[body.path.suffix.lower()].from_file(str(body.path))

    @staticmethod
    def _painted(path: Path) -> dict[str, Any]:
        """A Collada file with its own materials."""
        data, pictures = collada.read(path)
        mesh = {"type": "_meshfile_object", "format": "dae", "uuid": str(path), "data": data}
        metadata = {"version": 4.5, "type": "Object"}
        return {"metadata": metadata, "geometries": [], "materials": [], "object": {**mesh, "resources": pictures}}

    # -- motion --------------------------------------------------------------------------------------

    def move(self, picture: dict[str, np.ndarray]) -> None:
        """Place many nodes of the scene: path → pose, shape (4, 4)."""
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

    # -- the server ----------------------------------------------------------------------------------

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
            self._await_answer()

    def html(self) -> str:
        """The scene as a file of its own."""
        self.flush()
        self._socket.send_multipart([b"", b"get_scene"])
        self._await_answer()
        return self._socket.recv_multipart()[1].decode()

    def _await_answer(self) -> None:
        if not self._socket.poll(ANSWER):
            raise RobotError(f"the server of the viewer does not answer; it was at {self.url}")

    def closed(self) -> bool:
        """True after `close`."""
        return bool(self._socket.closed)

    def close(self) -> None:
        """End the server. May be called twice."""
        if not self.closed():
            self._socket.close(linger=0)
            self._server.kill()
            self._server.communicate()  # closes its pipes, too


def _hex(colour: Colour, share: float) -> int:
    red, green, blue = (round(255 * share * c) for c in colour[:3])
    return (red << 16) + (green << 8) + blue
