"""What may change about the force of a region, and the moment of an orientation, while a controller runs."""

from __future__ import annotations

import operator
from dataclasses import fields

import numpy as np

from sot.attractor.affine import Flat, Point
from sot.attractor.facing import Facing
from sot.attractor.law import Law
from sot.attractor.parameters import Parameters, check_sampling, pose_damper
from sot.attractor.region import Hold, Region, both
from sot.entry import Entry

ORIGIN = np.zeros((1, 3))


class Adjustable(Entry):
    """Regions and parameters of a force and a moment; each change is taken over as a whole, or refused.

    Attributes:
        frame: Name of the frame.
        law: The region, its parameters and the last force.
        turning: The same for orientations, whose forces are moments; it rests where any orientation will do.
        size: Three coordinates, or six with an orientation.
        target_timeout: A region that was set while running must be set again within this time, s; None: need not.
    """

    _holds: list[Hold]

    def _attach(
        self,
        frame: str,
        region: Region,
        parameters: Parameters,
        target_timeout: float | None,
        facing: Facing | None = None,
        rotational: Parameters | None = None,
    ) -> None:
        self.frame, self.target_timeout, self._facing = frame, target_timeout, facing
        self.law = Law(region, parameters)
        self.turning = Law(Point(), rotational)  # no rotation vector at all attracts
        self.size = 3 if facing is None else 6
        self._forget()

    def _forget(self) -> None:
        self.law.reset()
        self.turning.reset()
        self._hold: Hold | None = None
        self._B = np.eye(self.size)
        self._dt: float | None = None  # period, s, once torques are asked for
        self._mark: tuple[object, ...] = ()
        self._time = self._set_at = -np.inf
        self._set = False

    @property
    def region(self) -> Region:
        """What attracts, or keeps out. May be set at any time; it takes effect at the next tick."""
        return self.law.region

    @region.setter
    def region(self, region: Region) -> None:
        self._admit(region, self.parameters, self.rotational)
        before, held = self.law.region, self._holding()
        self.law.region = region
        if self._holding() != held:
            self.force_changed(lambda: setattr(self.law, "region", before))
        self._fed()

    def _fed(self) -> None:
        self._set, self._set_at = True, np.inf  # the time is taken at the next tick

    @property
    def parameters(self) -> Parameters:
        """Stiffness, damping and bounds, changed as a whole.

        One that is wrong is refused when it is made; one that is unstable at this period, or past the bound of a
        device, when it is set.
        """
        return self.law.parameters

    @parameters.setter
    def parameters(self, parameters: Parameters) -> None:
        self._admit(self.region, parameters, self.rotational)
        before = self.law.parameters
        self.law.parameters = parameters
        self.force_changed(lambda: setattr(self.law, "parameters", before))

    @property
    def rotational(self) -> Parameters:
        """The same for the moment: N·m/rad, N·m·s/rad, N·m."""
        return self.turning.parameters

    @rotational.setter
    def rotational(self, parameters: Parameters) -> None:
        self._admit(self.region, self.parameters, parameters)
        self.turning.parameters = parameters

    @property
    def force(self) -> np.ndarray:
        """The last force on the frame, in the axes of the world, N, shape (3,)."""
        return self.law.last

    @property
    def moment(self) -> np.ndarray:
        """The last moment on the frame, in the axes of the world, N·m, shape (3,)."""
        return self.turning.last

    def rendered(self) -> tuple[float, float]:
        """Largest stiffness (N/m) and largest damping (N·s/m) of the force, for stability bounds."""
        held = self.region.held(ORIGIN)[0] if isinstance(self.region, Flat) else np.eye(3)
        K, C = (A[:3, :3] @ held for A in self._matrices(self.region, self.parameters, self.rotational))
        return float(np.linalg.norm(K, 2)), float(np.linalg.norm(C, 2))

    def _holding(self) -> tuple[bytes, object]:
        """What `rendered` takes from the region. Where the spring is the same all around, turning changes nothing."""
        K = self.law.spring
        if not isinstance(self.region, Flat):
            return K.tobytes(), None
        held = self.region.held(ORIGIN)
        even = K[0, 0] == K[1, 1] == K[2, 2] and not (K[0, 1] or K[0, 2] or K[1, 2])
        return K.tobytes(), round(float(np.vdot(held, held)), 9) if even else held.tobytes()

    @property
    def conservative(self) -> bool:
        """Whether spring and damper give out no more energy than they took, whatever way the frame goes."""
        K, C = (A[:3, :3] for A in self._matrices(self.region, self.parameters, self.rotational))
        return self.region.keeps(K) and self.region.keeps(C)

    def rendered_turning(self) -> tuple[float, float]:
        """The same of the moment: N·m/rad and N·m·s/rad; 0 without an orientation."""
        if self._facing is None:
            return 0.0, 0.0
        K, C = (A[3:, 3:] for A in self._matrices(self.region, self.parameters, self.rotational))
        return float(np.linalg.norm(K, 2)), float(np.linalg.norm(C, 2))

    def _matrices(self, region: Region, move: Parameters, turn: Parameters) -> tuple[np.ndarray, np.ndarray]:
        """K, N/m and N·m/rad, and C, N·s/m and N·m·s/rad, each of shape (size, size)."""
        K = move.K if region.stiffness is None else region.stiffness
        if self._facing is None:
            return K, move.damper(K, self._B)
        K = both(K, turn.K)
        K.setflags(write=False)
        return K, pose_damper(K, self._B, move, turn)

    def _admit(self, region: Region, move: Parameters, turn: Parameters) -> None:
        """Refuse what would be unstable, before it takes effect; what was given before the first tick in that.

        Each part is checked by itself, for a message that says which, and then all together.
        """
        right = isinstance(region, Region) and isinstance(move, Parameters) and isinstance(turn, Parameters)
        if self._dt is None or not right:  # (the law says what is wrong)
            return
        (K, C), B, dt, spans = self._matrices(region, move, turn), self._B, self._dt, region.spans()
        check_sampling(K[:3, :3], C[:3, :3], B[:3, :3], spans, dt, self.name)
        for there in self._holds[1:]:
            turns = there.axes[there.held_axes]
            check_sampling(K[3:, 3:], C[3:, 3:], B[3:, 3:], turns, dt, self.name, "N·m·s/rad")
            whole = np.block([[spans, np.zeros_like(spans)], [np.zeros_like(turns), turns]])
            check_sampling(K, C, B, whole, dt, self.name, "N·s/m or N·m·s/rad")


for _field in fields(Parameters):  # `task.stiffness` and all the others, as they are now
    if _field.init:
        setattr(Adjustable, _field.name, property(operator.attrgetter(f"parameters.{_field.name}")))
