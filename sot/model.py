"""The robot at one state: every kinematic quantity, computed at most once. The door to pinocchio."""

from __future__ import annotations

from dataclasses import dataclass

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
        # An SE3 is 12 numbers in a row: the rotation by columns, then the translation.
        self.joint_placements = _se3_table(data.oMi, self.pin.njoints)  # (njoints, 12)

    def update(self, q: np.ndarray, v: np.ndarray) -> None:
        """Move to the state (q, v). Placements and joint Jacobians are ready, the rest comes on demand."""
        self.q, self.v = q, v
        pin.computeJointJacobians(self.pin, self.data, q)
        self._has_frames = self._has_com = self._has_drift = self._has_dynamics = False

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
        if not self._has_dynamics:
            M = pin.crba(self.pin, self.data, self.q, pin.Convention.WORLD)
            self._mass_matrix = np.triu(M) + np.triu(M, 1).T  # only the upper half is filled
            self._bias = pin.nonLinearEffects(self.pin, self.data, self.q, self.v).copy()
            self._has_dynamics = True

    @property
    def mass_matrix(self) -> np.ndarray:
        """M, with the rotors' inertia, shape (nv, nv)."""
        self._dynamics()
        return self._mass_matrix

    @property
    def bias(self) -> np.ndarray:
        """h: Coriolis, centrifugal and gravity torques, shape (nv,)."""
        self._dynamics()
        return self._bias

    # -- configuration space -------------------------------------------------------------------------

    def integrate(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """q ⊕ step, with `step` in the tangent space."""
        return pin.integrate(self.pin, q, step)

    def difference(self, q: np.ndarray, reference: np.ndarray) -> np.ndarray:
        """q ⊖ reference: the step that leads from `reference` to q."""
        return pin.difference(self.pin, reference, q)

    def random_configuration(self, rng: np.random.Generator, spread: float = 1.0) -> np.ndarray:
        """A configuration near home, inside the joint limits."""
        q = self.integrate(self.robot.home, spread * rng.uniform(-1.0, 1.0, self.nv))
        for joint in self.joints.values():
            if joint.is_scalar:
                low, high = self.pin.lowerPositionLimit[joint.q], self.pin.upperPositionLimit[joint.q]
                q[joint.q] = np.clip(q[joint.q], low, high)
        return q


def _se3_table(placements: pin.StdVec_SE3, size: int) -> np.ndarray:
    """View of a vector of SE3 as an array, shape (size, 12)."""
    first = placements[0].rotation
    address = first.__array_interface__["data"][0]
    spread = {"data": (address, False), "shape": (size, 12), "typestr": "<f8", "version": 3}
    return np.asarray(type("_View", (), {"__array_interface__": spread, "owner": placements})())
