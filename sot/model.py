"""The robot at one state: every kinematic quantity, computed at most once. The door to pinocchio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from sot.description import Description
from sot.errors import ModelError, unknown
from sot.lie import SE3

LOCAL, WORLD, ALIGNED = "local", "world", "aligned"
_REFERENCE = {LOCAL: pin.LOCAL, WORLD: pin.WORLD, ALIGNED: pin.LOCAL_WORLD_ALIGNED}


@dataclass(frozen=True)
class Joint:
    """Where a joint stands in q and v."""

    name: str
    index: int
    q: slice
    v: slice

    @property
    def is_scalar(self) -> bool:
        """True if the joint has one coordinate and one velocity (revolute, prismatic)."""
        return self.q.stop - self.q.start == 1 and self.v.stop - self.v.start == 1


class Model:
    """A robot's kinematics at the state given to the last `update`.

    Jacobians map v to the velocity of a frame: rows are linear (m/s), then angular (rad/s). They are
    expressed in one of three frames: `local` (the frame's own axes), `world` (velocity of the point that
    passes the world's origin) or `aligned` (the frame's origin, the world's axes).
    """

    def __init__(self, robot: Description) -> None:
        self.robot = robot
        self.pin = robot.pin_model
        self.data = self.pin.createData()
        self.nq, self.nv = self.pin.nq, self.pin.nv
        self.joints = {name: self._joint(i, name) for i, name in enumerate(self.pin.names) if i > 0}
        self.frames = robot.frames
        self.q = robot.home.copy()
        self.v = np.zeros(self.nv)
        self.dynamic = False  # set to True where every state needs the mass matrix
        self._momentum_data: Any = None  # made when it is first asked for
        self._views()
        self.update(self.q, self.v)

    def _joint(self, index: int, name: str) -> Joint:
        joint = self.pin.joints[index]
        q, v = slice(joint.idx_q, joint.idx_q + joint.nq), slice(joint.idx_v, joint.idx_v + joint.nv)
        return Joint(name, index, q, v)

    def _views(self) -> None:
        """Live views of pinocchio's memory: no copy per tick."""
        data = self.data
        # (A matrix with one column comes as a plain vector.)
        self.world_jacobian = data.J.reshape((6, self.nv), order="F")
        self.com_jacobian_view = data.Jcom.reshape((3, self.nv), order="F")
        self.com_view = data.com[0]  # (3,)
        self._upper = np.triu_indices(self.nv, 1)
        # An SE3 is 12 numbers in a row: the rotation by columns, then the translation.
        self.joint_placements = _table(data.oMi, data.oMi[0].rotation, self.pin.njoints, 12)  # (njoints, 12)

    def update(self, q: np.ndarray, v: np.ndarray) -> None:
        """Move to the state (q, v). Placements and joint Jacobians are ready, the rest comes on demand."""
        self.q, self.v = q, v
        self._has_frames = self._has_com = self._has_drift = self._has_dynamics = self._has_momentum = False
        if self.dynamic:
            self._dynamics()
        else:
            pin.computeJointJacobians(self.pin, self.data, q)

    # -- names ---------------------------------------------------------------------------------------

    def frame(self, name: str) -> int:
        """Index of a frame."""
        try:
            return self.frames[name]
        except (KeyError, TypeError):
            raise ModelError(f"robot '{self.robot.name}': {unknown('frame', name, self.frames)}") from None

    def joint(self, name: str) -> Joint:
        """A joint by name."""
        try:
            return self.joints[name]
        except (KeyError, TypeError):
            raise ModelError(f"robot '{self.robot.name}': {unknown('joint', name, self.joints)}") from None

    def velocity_names(self) -> list[str]:
        """A name for each entry of v."""
        names = []
        for joint in self.joints.values():
            size = joint.v.stop - joint.v.start
            names += [joint.name] if size == 1 else [f"{joint.name}[{i}]" for i in range(size)]
        return names

    # -- frames --------------------------------------------------------------------------------------

    def placement(self, frame: int) -> SE3:
        """Pose of a frame in the world."""
        if not self._has_frames:
            pin.updateFramePlacements(self.pin, self.data)
            self._has_frames = True
        return self.data.oMf[frame]

    def jacobian(self, frame: int, expressed: str = LOCAL) -> np.ndarray:
        """Jacobian of a frame, shape (6, nv)."""
        self.placement(frame)
        return pin.getFrameJacobian(self.pin, self.data, frame, _REFERENCE[expressed]).reshape(6, self.nv)

    def attachment(self, frame: int) -> tuple[int, SE3, list[int]]:
        """What carries a frame: joint index, placement in that joint, and the entries of v that move it."""
        joint = self.pin.frames[frame].parentJoint
        columns: list[int] = []
        for index in self.pin.supports[joint]:
            if index > 0:
                v = self._joint(index, self.pin.names[index]).v
                columns.extend(range(v.start, v.stop))
        return joint, self.pin.frames[frame].placement, columns

    def velocity(self, frame: int, expressed: str = LOCAL) -> np.ndarray:
        """Velocity of a frame, shape (6,)."""
        self._second_order()
        return pin.getFrameVelocity(self.pin, self.data, frame, _REFERENCE[expressed]).vector

    def drift(self, frame: int, expressed: str = LOCAL) -> np.ndarray:
        """J̇ v of a frame: its acceleration when v̇ = 0, shape (6,)."""
        self._second_order()
        # In the aligned frame the axes do not turn, so J̇v is the acceleration of the point itself.
        acceleration = pin.getFrameClassicalAcceleration if expressed == ALIGNED else pin.getFrameAcceleration
        return acceleration(self.pin, self.data, frame, _REFERENCE[expressed]).vector

    def _second_order(self) -> None:
        if not self._has_drift:
            pin.forwardKinematics(self.pin, self.data, self.q, self.v, np.zeros(self.nv))
            pin.centerOfMass(self.pin, self.data, pin.KinematicLevel.ACCELERATION, False)
            self._has_drift = True

    # -- centre of mass ------------------------------------------------------------------------------

    def update_com(self) -> None:
        """Centre of mass and its Jacobian, once per state."""
        if not self._has_com:
            pin.jacobianCenterOfMass(self.pin, self.data, False)
            self._has_com = True

    @property
    def mass(self) -> float:
        """Total mass, kg."""
        return float(pin.computeTotalMass(self.pin))

    @property
    def com(self) -> np.ndarray:
        """Centre of mass in the world, shape (3,)."""
        self.update_com()
        return self.com_view.copy()

    @property
    def com_jacobian(self) -> np.ndarray:
        """Jacobian of the centre of mass, shape (3, nv)."""
        self.update_com()
        return self.com_jacobian_view.copy()

    @property
    def com_drift(self) -> np.ndarray:
        """J̇ v of the centre of mass, shape (3,)."""
        self._second_order()
        return self.data.acom[0].copy()

    # -- dynamics ------------------------------------------------------------------------------------

    def _dynamics(self) -> None:
        """M and h, placements and joint Jacobians, in two passes."""
        if not self._has_dynamics:
            pin.crba(self.pin, self.data, self.q, pin.Convention.WORLD)
            pin.nonLinearEffects(self.pin, self.data, self.q, self.v)
            self._has_dynamics = True

    def update_bias(self, v: np.ndarray) -> None:
        """h at another velocity, in its view; the rest of the state stays."""
        pin.nonLinearEffects(self.pin, self.data, self.q, v)

    def views_of_dynamics(self) -> tuple[np.ndarray, ...]:
        """Live views of what a dynamic model finds at every state.

        Twists of the joints and their accelerations at v̇ = 0 less gravity, forces through them at v̇ = 0, each in the
        joint's own axes and of shape (njoints, 6); momentum matrix, shape (6, nv); M, of which only the upper half is
        filled; h.
        """
        data, count = self.data, self.pin.njoints
        twists = _table(data.v, data.v[0].linear, count, 6)
        falls = _table(data.a_gf, data.a_gf[0].linear, count, 6)
        forces = _table(data.f, data.f[0].linear, count, 6)
        Ag, M = data.Ag.reshape((6, self.nv), order="F"), data.M.reshape((self.nv, self.nv), order="F")
        return twists, falls, forces, Ag, M, data.nle

    @property
    def gravity(self) -> np.ndarray:
        """Acceleration of a falling body, m/s², shape (3,)."""
        return self.pin.gravity.linear.copy()

    def root_joints(self) -> np.ndarray:
        """Indices of the joints that the world carries."""
        return np.array([i for i in range(1, self.pin.njoints) if self.pin.parents[i] == 0], dtype=np.int64)

    @property
    def mass_matrix(self) -> np.ndarray:
        """M, with the rotors' inertia, shape (nv, nv)."""
        self._dynamics()
        M = self.data.M.reshape((self.nv, self.nv), order="F").copy()
        M.T[self._upper] = M[self._upper]  # only the upper half is filled
        return M

    @property
    def bias(self) -> np.ndarray:
        """h: Coriolis, centrifugal and gravity torques, shape (nv,)."""
        self._dynamics()
        return self.data.nle.copy()

    @property
    def coriolis_matrix(self) -> np.ndarray:
        """C, with h = C v + g(q) and Ṁ = C + Cᵀ, shape (nv, nv)."""
        return np.array(pin.computeCoriolisMatrix(self.pin, self.data, self.q, self.v)).reshape(self.nv, self.nv)

    @property
    def base_origin(self) -> np.ndarray:
        """Where the base is: a floating or planar one at its joint, a fixed one at the world's origin, m, (3,)."""
        return self.data.oMi[1].translation.copy() if self.robot.root != "fixed" else np.zeros(3)

    def momentum_rate(self, a: np.ndarray) -> np.ndarray:
        """Rates of linear momentum, N, and of angular momentum about the centre of mass, N·m, in the world, (6,)."""
        rate = pin.computeCentroidalMomentumTimeVariation(self.pin, self.data, self.q, self.v, a).vector.copy()
        self._has_drift = False  # the accelerations that `drift` reads are now those of a
        return rate

    # -- configuration space -------------------------------------------------------------------------

    def integrate(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """q ⊕ step, with `step` in the tangent space."""
        return pin.integrate(self.pin, q, step)

    def difference(self, q: np.ndarray, reference: np.ndarray) -> np.ndarray:
        """q ⊖ reference: the step that leads from `reference` to q."""
        return pin.difference(self.pin, reference, q)

    def normalized(self, q: np.ndarray) -> np.ndarray:
        """q with quaternions, and sines and cosines of unbounded joints, of norm 1."""
        return pin.normalize(self.pin, q)

    def random_configuration(self, rng: np.random.Generator, spread: float = 1.0) -> np.ndarray:
        """A configuration near home, inside the joint limits."""
        q = self.integrate(self.robot.home, spread * rng.uniform(-1.0, 1.0, self.nv))
        for joint in self.joints.values():
            if joint.is_scalar:
                low, high = self.pin.lowerPositionLimit[joint.q], self.pin.upperPositionLimit[joint.q]
                q[joint.q] = np.clip(q[joint.q], low, high)
        return q

    # -- momentum ------------------------------------------------------------------------------------

    def _centroidal(self) -> None:
        """Momentum, its matrix and its drift, in memory of their own: others read what pinocchio would overwrite."""
        if not self._has_momentum:
            if self._momentum_data is None:
                self._momentum_data = self.pin.createData()
            data = self._momentum_data
            pin.computeCentroidalMomentumTimeVariation(self.pin, data, self.q, self.v, np.zeros(self.nv))
            pin.ccrba(self.pin, data, self.q, self.v)
            self._has_momentum = True

    @property
    def momentum(self) -> np.ndarray:
        """Linear momentum, kg·m/s, and angular momentum about the centre of mass, kg·m²/s, in the world, shape (6,)."""
        self._centroidal()
        return self._momentum_data.hg.vector.copy()

    @property
    def momentum_jacobian(self) -> np.ndarray:
        """A: momentum is A v, shape (6, nv)."""
        self._centroidal()
        return np.array(self._momentum_data.Ag).reshape(6, self.nv)

    @property
    def momentum_drift(self) -> np.ndarray:
        """Ȧ v: rate of the momentum when v̇ = 0, N and N·m, shape (6,)."""
        self._centroidal()
        return self._momentum_data.dhg.vector.copy()

    @property
    def centroidal_inertia(self) -> np.ndarray:
        """Inertia of the whole robot about its centre of mass, as if its joints were locked, kg·m², shape (3, 3)."""
        self._centroidal()
        return np.array(self._momentum_data.Ig.inertia)


def _table(items: Any, first: np.ndarray, count: int, size: int) -> np.ndarray:
    """View of a vector of poses, twists or forces as an array, from where the first one begins, shape (count, size)."""
    address = first.__array_interface__["data"][0]
    spread = {"data": (address, False), "shape": (count, size), "typestr": "<f8", "version": 3}
    return np.asarray(type("_View", (), {"__array_interface__": spread, "owner": items})())
