"""Where bodies of a robot touch each other, or lie across the edge of a box: from the distances of convex bodies.

Corners of bodies against planes and boxes are found by `sot.kernels.touch`. Two bodies touch at their nearest points.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sot.collision.distances import Damper, Distances
from sot.collision.robot import collision_model
from sot.collision.shape import Body
from sot.kernels import meeting
from sot.kernels import touch as op
from sot.model import Model
from sot.simulation.scene import Scene

FRICTION = 0.5  # between bodies of a robot
FAST = 20.0  # m/s; bodies that come nearer faster than this are found late
KEYS = 1 << 20  # keys of pairs begin here


class Meetings:
    """Contacts of pairs of bodies.

    Attributes:
        names: Of the bodies.
    """

    def __init__(
        self, model: Model, scene: Scene, first_name: int, feet: set[int], *, bodies: bool, itself: bool
    ) -> None:
        """
        Args:
            model: The robot.
            scene: What is around it.
            first_name: The number that stands for the first of `names`, also among things.
            feet: Joints of feet, which touch boxes by themselves.
            bodies: Look at bodies against boxes.
            itself: Look at bodies against each other.
        """
        found = collision_model(model.robot) if bodies or itself else None
        own: Sequence[Body] = found.bodies if found is not None else ()
        boxes = [k for k, thing in enumerate(scene.obstacles) if thing.box is not None] if bodies else []
        pairs = [pair for pair in (found.pairs if found and itself else ()) if own[pair[0]].joint != own[pair[1]].joint]
        free = [b for b, body in enumerate(own) if body.joint > 0 and body.joint not in feet]
        with_boxes = [(b, len(own) + k) for b in free for k in range(len(boxes))]
        obstacles = [(scene.obstacles[k].name, scene.obstacles[k].hull) for k in boxes]
        self.names = tuple(body.name for body in own)
        self._distances = Distances(model, own, pairs + with_boxes, obstacles=obstacles, exact=True)
        self._boxes, self._dt = np.array(boxes, dtype=np.int64), 0.0
        hulls = [body.hull for body in own] + [hull for _, hull in obstacles]
        self._balls = np.array([[hulls[a].radius, hulls[b].radius] for a, b in pairs + with_boxes]).reshape(-1, 2)
        lines = [[own[a].joint, own[b].joint, first_name + a, first_name + b] for a, b in pairs]
        lines += [[own[a].joint, -1, first_name + a, boxes[b - len(own)]] for a, b in with_boxes]
        numbered = [[*line, KEYS + p] for p, line in enumerate(lines)]
        self._pairs = np.array(numbered, dtype=np.int64).reshape(-1, meeting.PAIR)

    def forget(self) -> None:
        """Drop what earlier steps found out."""
        self._distances.forget()

    def add(
        self, model: Model, twists: np.ndarray, scene: Scene, dt: float, reach: float, who: np.ndarray,
        contacts: np.ndarray, count: int,
    ) -> int:  # fmt: skip
        """Write contacts behind those that are there; see `sot.kernels.touch.detect`. Returns how many there are."""
        if not len(self._pairs):
            return count
        if dt != self._dt:
            self._dt, self._distances.damper = dt, Damper(influence=reach + FAST * dt)
            self._distances.set_dt(dt)
        if self._boxes.size:
            self._distances.obstacles[:, :12] = scene.shapes[self._boxes, op.ROTATION : op.HALF]
        self._distances.update(model, dt)
        return int(meeting.meet(
            self._pairs, self._balls, self._distances.memory, scene.shapes, FRICTION, model.joint_placements, twists,
            dt, reach, who, contacts, count,
        ))  # fmt: skip
