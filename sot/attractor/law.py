"""The force of an attractor.

    f = K (p_a − p) − C (I − P) v + f*

It is the same for orientations: there p_a − p is the rotation vector to the nearest orientation that attracts, v is the
angular velocity, and the force is a moment.

    >>> import numpy as np
    >>> law = Law(Plane(normal=[1, 0, 0]), Parameters(stiffness=2000.0, damping=0.0))
    >>> law.force([1.0, 0.3, 0.0], [0.0, 0.0, 0.0]).tolist()
    [-2000.0, 0.0, 0.0]
    >>> law.parameters = Parameters(stiffness=2000.0, damping=10.0)
    >>> law.force([1.0, 0.3, 0.0], [0.2, 0.1, 0.0]).tolist()  # a plane damps along its normal only
    [-2002.0, 0.0, 0.0]
    >>> law.region = Point([0.0, 0.3, 0.0])
    >>> law.force([1.0, 0.3, 0.0], [0.2, 0.1, 0.0]).tolist()  # a point in all directions
    [-2002.0, -1.0, 0.0]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sot.attractor.affine import Plane, Point
from sot.attractor.parameters import Parameters
from sot.attractor.region import Hold, Region
from sot.errors import TaskError
from sot.kernels.attraction import LEGACY, ONE_SIDED, TIMEOUT, attract, attract_once

__all__ = ["Law", "Plane", "Point"]
UNBOUNDED = np.array([np.inf, np.inf, 0.0, 1.0])
NONE = np.zeros(3)


class Law:
    """A region and parameters, and what was last.

    Attributes:
        last: The last force, N, shape (3,).
        age: For how long there was no fresh input, s.
    """

    def __init__(self, region: Region, parameters: Parameters | None = None, mass: float | None = None) -> None:
        """
        Args:
            region: What attracts.
            parameters: How.
            mass: Effective mass for a damping ratio, kg; a `B` that is passed on comes before it.
        """
        self.region = region
        self.parameters = Parameters() if parameters is None else parameters
        self._B = None if mass is None else np.eye(3) / mass
        self.reset()

    @property
    def region(self) -> Region:
        """What attracts. May be set at any time."""
        return self._region

    @region.setter
    def region(self, region: Region) -> None:
        if not isinstance(region, Region):
            raise TaskError(f"region: expected a region of sot.attractor, got {region!r}")
        self._region = region

    @property
    def parameters(self) -> Parameters:
        """How. Set as a whole, at any time: the next force has all of the new ones, or none."""
        return self._parameters

    @parameters.setter
    def parameters(self, parameters: Parameters) -> None:
        if not isinstance(parameters, Parameters):
            raise TaskError(f"parameters: expected Parameters, got {parameters!r}")
        self._parameters = parameters

    def reset(self) -> None:
        """Forget what was."""
        self._memory = np.zeros((3, 3))

    @property
    def last(self) -> np.ndarray:
        return self._memory[0].copy()

    @property
    def age(self) -> float:
        return float(self._memory[2, 0])

    @property
    def stale(self) -> bool:
        """True while the force fades, or is zero, for want of fresh input."""
        return self.age > self.parameters.bounds[TIMEOUT]

    @property
    def spring(self) -> np.ndarray:
        """Stiffness, that of the region if it says one; N/m, shape (3, 3)."""
        own = self.region.stiffness
        return self.parameters.K if own is None else own

    def damper(self, B: np.ndarray | None = None) -> np.ndarray:
        """Damping, N·s/m, shape (3, 3)."""
        return self.parameters.damper(self.spring, self._B if B is None else B)

    def force(self, p: Sequence[float], v: Sequence[float], B: np.ndarray | None = None) -> np.ndarray:
        """The force at a state, without cap, rate and memory; N, shape (3,)."""
        point, speed = np.array(p, dtype=float), np.array(v, dtype=float)
        return self._attract(
            point, speed, self.region.at(point), 1.0, True, self.damper(B), NONE, UNBOUNDED, np.zeros((3, 3))
        )

    def step(
        self,
        p: np.ndarray,
        v: np.ndarray,
        dt: float,
        *,
        fresh: bool = True,
        hold: Hold | None = None,
        C: np.ndarray | None = None,
        drag: np.ndarray = NONE,
    ) -> np.ndarray:
        """The force for the coming dt, within all bounds; N, shape (3,).

        Args:
            p: m, shape (3,). NaN and infinities count as no input.
            v: m/s, shape (3,).
            dt: Time since the last step, s.
            fresh: False if p and v are those of before.
            hold: The region seen from p; by default it is asked.
            C: Damping, N·s/m, shape (3, 3); by default that of the parameters.
            drag: Damping force of other motion, N, shape (3,).
        """
        if hold is None:
            fresh = fresh and bool(np.isfinite(p).all())
            hold = self.region.at(p if fresh else NONE)
        C = self.damper() if C is None else C
        return self._attract(p, v, hold, dt, fresh, C, drag, self.parameters.bounds, self._memory)

    def along(self, points: np.ndarray, speeds: np.ndarray, dt: float) -> np.ndarray:
        """Forces of many steps, one after the other, N, shape (n, 3)."""
        n = len(points)
        with np.errstate(invalid="ignore", over="ignore"):
            targets, held = self.region.nearest(points), self.region.held(points)
        forces, bounds = np.zeros((n, 3)), self.parameters.bounds
        attract(
            points, speeds, targets, held, self.spring, self.damper(), NONE, self.parameters.f, self._bits(), bounds,
            np.full(n, dt), np.ones(n, dtype=bool), self._memory, forces,
        )  # fmt: skip
        return forces

    def _attract(
        self, p: np.ndarray, v: np.ndarray, hold: Hold, dt: float, fresh: bool, C: np.ndarray, drag: np.ndarray,
        bounds: np.ndarray, memory: np.ndarray,
    ) -> np.ndarray:  # fmt: skip
        force = np.empty(3)
        attract_once(
            p, v, hold.point, hold.held, self.spring, C, drag, self.parameters.f, self._bits(), bounds, dt, fresh,
            memory, force,
        )  # fmt: skip
        return force

    def _bits(self) -> int:
        return LEGACY * self.parameters.legacy + ONE_SIDED * self.region.one_sided
