"""Compliant motion by virtual forward dynamics: a force at the tool moves a virtual mass, and the robot follows it.

    H v̇ = Jᵀ f − …,   f = K (x* ⊖ x) + f* + f_measured

`CartesianMotion` has the spring, `CartesianForce` the forces, `CartesianCompliance` both. `sot.virtual_mass` derives
the law. It starts at each tick from `tick.previous`, the velocity that was really commanded after all limits, so
nothing winds up where a limit stops the robot.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sot import features
from sot.entry import Entry, Rows, Tick
from sot.feature import Value
from sot.features.selection import Joints
from sot.model import Model
from sot.reference import Reference
from sot.sketch import WARNING, Drawing
from sot.task import FeatureTask, Mask, pick
from sot.virtual_mass import Stiffness, VirtualMass
from sot.virtual_tool import VirtualTool
from sot.wrench import Measured, Measurement, Wrenches

LABELS = ["x", "y", "z", "rx", "ry", "rz"]
NO_FORCE = np.zeros(6)


class CartesianMotion(FeatureTask):
    """Draws a frame to a pose with a spring: f = K (x* ⊖ x). One row per joint that carries the frame.

        hand = CartesianMotion("panda_hand_tcp", stiffness=900.0)
        hand.reference = sot.move(by=[0.1, 0.0, 0.2], duration=2.0)

    Joint speeds stay bounded through singularities, and a moving target is followed without lag.
    """

    kind = "cartesian_motion"
    mode = "motion"

    def __init__(
        self,
        frame: str,
        stiffness: Stiffness = 400.0,
        axes: str = "world",
        *,
        reference: Reference | Value | None = None,
        damping: float | None = None,
        mass: float = 1.0,
        inertia: float = 0.1,
        joint_inertia: float = 0.003,
        joints: Joints | None = None,
        name: str | None = None,
        weight: float = 1.0,
    ) -> None:
        """
        Args:
            frame: Name of the frame.
            stiffness: K: six numbers (x y z in N/m, rx ry rz in N·m/rad), a 6×6 matrix, or one number k for k N/m and
                k · inertia/mass N·m/rad.
            axes: Axes of the stiffness: `world`, `local` (the frame's own) or the name of any frame.
            reference: An SE3, a 4×4 matrix, 7 numbers (x y z qx qy qz qw), or a reference such as
                `sot.move(...)`. By default the pose at the start.
            damping: Rate at which speed is lost, 1/s. By default each axis is damped critically.
            mass: Virtual mass of the tool, kg.
            inertia: Virtual rotational inertia of the tool, kg m².
            joint_inertia: Virtual inertia of each joint, kg m²: more makes singularities calmer, and the rest slower.
            joints: Names or patterns of the joints that move; by default all with a motor that carry the frame, but
                not the base.
            name: Name in reports and look-ups; by default `motion_<frame>`.
            weight: Importance against the other tasks of the same level.
        """
        self.frame = frame
        super().__init__(features.FramePose(frame), reference=reference, name=name, weight=weight)
        body = VirtualMass(mass, inertia, joint_inertia, damping, stiffness, self.name)
        self.tool = VirtualTool(frame, axes, joints, body, self.name)
        self.axes, self.joints, self.damping = axes, joints, damping
        self.mass, self.inertia, self.joint_inertia = mass, inertia, joint_inertia
        self._given = stiffness

    @property
    def stiffness(self) -> Stiffness:
        """K as it was given. May be set at any time; the velocity stays continuous."""
        return self._given

    @stiffness.setter
    def stiffness(self, stiffness: Stiffness) -> None:
        self.tool.body.stiffen(stiffness, self.name)
        self._given = stiffness

    def default_name(self) -> str:
        return f"{self.mode}_{self.frame}"

    def setup(self, model: Model) -> None:
        self.feature.setup(model)
        self.tool.setup(model)

    def rows(self, model: Model, tick: Tick) -> Rows:
        push = self._push(model)
        if self.target is None or push is None:  # (rows are counted before there is a target)
            return self.tool.rows(model, tick, NO_FORCE)
        spring = -self.tool.body.stiffness.dot(self.tool.turned(model, self.error(model)))
        return self.tool.rows(model, tick, spring + push, self._speeds(tick) if self.moving else None)

    def _push(self, model: Model) -> np.ndarray | None:
        """Forces beside that of the spring, in the axes of the stiffness; None: let no force act at all."""
        return NO_FORCE

    def _speeds(self, tick: Tick) -> np.ndarray:
        """Mean speed of the target over the last and over the coming tick: V* ∓ ½ dt V̇*, shape (6, 2)."""
        target = self.current()
        change = 0.5 * tick.dt * target.acceleration
        return np.array([target.velocity - change, target.velocity + change]).T

    def labels(self, count: int) -> list[str]:
        return self.tool.names

    def facts(self, model: Model, tick: Tick, v: np.ndarray) -> dict[str, float | str]:
        return _facts(self.mode, self.tool, model, v)

    def sketch(self, model: Model) -> list[Drawing]:
        return [self.tool.pull(model)]


class CartesianCompliance(Wrenches, CartesianMotion):
    """A spring that yields to what is measured: f = K (x* ⊖ x) + f* + f_measured. One row per joint.

        hand = CartesianCompliance("panda_hand_tcp", stiffness=[400, 400, 100, 20, 20, 20], measured_in="sensor")
        hand.measured = sensor.read()  # before each tick

    At rest the frame is displaced by K⁻¹ (f_measured + f*). Where a stiffness is 0, f_measured becomes −f*: the tool
    pushes with f* there, and holds its pose elsewhere.
    """

    kind = "cartesian_compliance"
    mode = "compliance"

    def __init__(
        self,
        frame: str,
        stiffness: Stiffness = 400.0,
        axes: str = "world",
        *,
        reference: Reference | Value | None = None,
        measured: Measurement | None = None,
        measured_in: str = "world",
        wrench: Sequence[float] | None = None,
        damping: float | None = None,
        mass: float = 1.0,
        inertia: float = 0.1,
        joint_inertia: float = 0.003,
        joints: Joints | None = None,
        name: str | None = None,
        weight: float = 1.0,
    ) -> None:
        """
        Args:
            frame: Name of the frame.
            stiffness: K: six numbers (x y z in N/m, rx ry rz in N·m/rad), a 6×6 matrix, or one number k for k N/m and
                k · inertia/mass N·m/rad.
            axes: Axes of stiffness and wrench: `world`, `local` (the frame's own) or the name of any frame.
            reference: An SE3, a 4×4 matrix, 7 numbers (x y z qx qy qz qw), or a reference such as
                `sot.move(...)`. By default the pose at the start.
            measured: What the environment exerts on the tool, fx fy fz tx ty tz in N and N·m; or a function of
                (model, tick) that gives it. May be set before each tick.
            measured_in: Where that was measured: `world` (its axes, at the frame's origin), `local` (the same in the
                frame's own axes), or the name of a sensor's frame (in its axes, about its origin).
            wrench: f*, what the tool should exert on the environment, in N and N·m.
            damping: Rate at which speed is lost, 1/s. By default each axis is damped critically.
            mass: Virtual mass of the tool, kg.
            inertia: Virtual rotational inertia of the tool, kg m².
            joint_inertia: Virtual inertia of each joint, kg m²: more makes singularities calmer, and the rest slower.
            joints: Names or patterns of the joints that move; by default all with a motor that carry the frame, but
                not the base.
            name: Name in reports and look-ups; by default `compliance_<frame>`.
            weight: Importance against the other tasks of the same level.
        """
        super().__init__(
            frame, stiffness, axes, reference=reference, damping=damping, mass=mass, inertia=inertia,
            joint_inertia=joint_inertia, joints=joints, name=name, weight=weight,
        )  # fmt: skip
        self._take_wrenches(measured, measured_in, wrench)

    def setup(self, model: Model) -> None:
        super().setup(model)
        self._measured.setup(model, self.tool.frame_id)

    def reset(self) -> None:
        super().reset()
        self._measured.reset()

    def begin(self, model: Model, tick: Tick) -> None:
        super().begin(model, tick)
        self._measured.begin(model, tick)

    def _push(self, model: Model) -> np.ndarray | None:
        if not self._measured.usable:
            return None
        return self.wrench + self.tool.turned(model, self._measured.in_world(model))

    def facts(self, model: Model, tick: Tick, v: np.ndarray) -> dict[str, float | str]:
        return {**_facts(self.mode, self.tool, model, v), **_measurement(self._measured, model)}

    def sketch(self, model: Model) -> list[Drawing]:
        return [self.tool.pull(model), self.tool.arrow(model, "measured", self._measured.in_world(model), WARNING)]


class CartesianForce(Wrenches, Entry):
    """Pushes with a force: f = f* + f_measured. One row per joint that carries the frame.

        finger = CartesianForce("panda_hand_tcp", wrench=[0, 0, -10, 0, 0, 0], mask="z", measured_in="sensor")
        finger.measured = sensor.read()  # before each tick

    In the air it moves at f*/(mass · damping), in contact it comes to rest where f_measured = −f*: the tool then exerts
    f* on the environment. To push along one axis and hold a pose in the others take `CartesianCompliance` with
    a stiffness of 0 along that axis.
    """

    kind = "cartesian_force"
    mode = "force"

    def __init__(
        self,
        frame: str,
        wrench: Sequence[float] | None = None,
        axes: str = "world",
        *,
        measured: Measurement | None = None,
        measured_in: str = "world",
        mask: Mask | None = None,
        damping: float = 40.0,
        mass: float = 1.0,
        inertia: float = 0.1,
        joint_inertia: float = 0.003,
        joints: Joints | None = None,
        name: str | None = None,
        weight: float = 1.0,
    ) -> None:
        """
        Args:
            frame: Name of the frame.
            wrench: f*, what the tool should exert on the environment, fx fy fz tx ty tz in N and N·m; by default 0:
                the tool follows the hand that leads it.
            axes: Axes of wrench and mask: `world`, `local` (the frame's own) or the name of any frame.
            measured: What the environment exerts on the tool, fx fy fz tx ty tz in N and N·m; or a function of
                (model, tick) that gives it. May be set before each tick.
            measured_in: Where that was measured: `world` (its axes, at the frame's origin), `local` (the same in the
                frame's own axes), or the name of a sensor's frame (in its axes, about its origin).
            mask: Axes along which forces act, by label: x, y, z, rx, ry, rz; or a boolean for each. By default all.
            damping: Rate at which speed is lost, 1/s. A stiff environment needs much: see the page on forward dynamics.
            mass: Virtual mass of the tool, kg.
            inertia: Virtual rotational inertia of the tool, kg m².
            joint_inertia: Virtual inertia of each joint, kg m²: more makes singularities calmer, and the rest slower.
            joints: Names or patterns of the joints that move; by default all with a motor that carry the frame, but
                not the base.
            name: Name in reports and look-ups; by default `force_<frame>`.
            weight: Importance against the other tasks of the same level.
        """
        self.frame = frame
        super().__init__(name=name, weight=weight)
        body = VirtualMass(mass, inertia, joint_inertia, damping, 0.0, self.name)
        self.tool = VirtualTool(frame, axes, joints, body, self.name)
        self.axes, self.joints, self.damping = axes, joints, damping
        self.mass, self.inertia, self.joint_inertia = mass, inertia, joint_inertia
        self._take_wrenches(measured, measured_in, wrench)
        self.mask = mask

    @property
    def mask(self) -> Mask | None:
        """Axes along which forces act. May be set at any time; the velocity stays continuous."""
        return self._mask

    @mask.setter
    def mask(self, mask: Mask | None) -> None:
        self._selected = np.isin(np.arange(6), pick(mask, LABELS, f"{self.name}: mask"))
        self._mask = mask

    def default_name(self) -> str:
        return f"{self.mode}_{self.frame}"

    def setup(self, model: Model) -> None:
        self.tool.setup(model)
        self._measured.setup(model, self.tool.frame_id)

    def reset(self) -> None:
        self._measured.reset()

    def begin(self, model: Model, tick: Tick) -> None:
        self._measured.begin(model, tick)

    def rows(self, model: Model, tick: Tick) -> Rows:
        if not self._measured.usable:
            return self.tool.rows(model, tick, NO_FORCE)
        force = self.wrench + self.tool.turned(model, self._measured.in_world(model))
        return self.tool.rows(model, tick, self._selected * force)

    def labels(self, count: int) -> list[str]:
        return self.tool.names

    def facts(self, model: Model, tick: Tick, v: np.ndarray) -> dict[str, float | str]:
        return {**_facts(self.mode, self.tool, model, v), **_measurement(self._measured, model)}

    def sketch(self, model: Model) -> list[Drawing]:
        return [self.tool.pull(model), self.tool.arrow(model, "measured", self._measured.in_world(model), WARNING)]


def _facts(mode: str, tool: VirtualTool, model: Model, v: np.ndarray) -> dict[str, float | str]:
    """What drives the tool, N and N·m, and the kinetic energy of the virtual mass, J."""
    force, torque = (float(np.linalg.norm(part)) for part in (tool.force[:3], tool.force[3:]))
    return {"mode": mode, "force": force, "torque": torque, "kinetic energy": tool.energy(model, v)}


def _measurement(measured: Measured, model: Model) -> dict[str, float | str]:
    """The measured force, N, or why there is none."""
    facts: dict[str, float | str] = {"measured force": float(np.linalg.norm(measured.in_world(model)[:3]))}
    if measured.rejected:
        facts["rejected measurements"] = float(measured.rejected)
    return facts if measured.usable else {**facts, "no measurement": measured.reason}
