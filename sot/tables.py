"""What the compiled assembly reads: tables made once from tasks, refreshed where targets move.

Each table takes the entries it knows and says no to the others, which then keep their Python methods:
`Lines` everyday tasks, `Postures` postures of plain joints, `Boxes` joint limits.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from sot.contact import Contact
from sot.contacts import Contacts
from sot.entry import Entry, Tick
from sot.features.com import CenterOfMass
from sot.features.frame import FrameOrientation, FramePose, FramePosition
from sot.features.joints import JointPosture
from sot.gain import AdaptiveGain, Gain, decay, stiffness_and_damping
from sot.gears import Following
from sot.kernels import assembly as op
from sot.kernels.limits import ROWS as LIMIT_ROWS
from sot.model import Model
from sot.rolling_contact import RollingContact
from sot.task import FeatureTask, Task
from sot.viability import JointBox, braked

Framed = FramePose | FramePosition | FrameOrientation
SHAPES: dict[type, int] = {FramePose: op.POSE, FramePosition: op.POSITION, FrameOrientation: op.ORIENTATION}
AXES = {"local": op.LOCAL, "world": op.WORLD, "aligned": op.ALIGNED}
SCRATCH = 30  # numbers at the end of the parameters that the kernel uses for itself
# What a subclass may have a law of its own in: such a task must be asked, not compiled.
LAWS = ("begin", "rows", "rows_of_all", "error", "jacobian", "feedforward", "bounded")
LAWS_OF_ACCELERATION = (*LAWS, "dynamic_rows", "dynamic_rows_of_all", "drift", "target_motion")


@runtime_checkable
class LimitsJoints(Protocol):
    """A box made of joint limits, which the compiled assembly knows."""

    def joint_box(self, model: Model) -> JointBox:
        """The limits."""


class Lines:
    """Poses, positions, orientations, centre of mass and gears: one line each (gears: one per pair of joints).

    At torque level, where `contacts` are given, contacts too.
    """

    def __init__(self, model: Model, contacts: Contacts | None = None) -> None:
        self.model, self.contacts = model, contacts
        self.tasks: list[FeatureTask] = []
        self._gains: list[tuple[int, Task]] = []  # line, task
        self._lines: list[np.ndarray] = []
        self._parameters: list[np.ndarray] = []
        self._support: list[int] = []
        self._fresh = True  # no target is in the table yet

    def takes(self, entry: Entry) -> bool:
        """True if the kernel knows the task, and the task has no law of its own."""
        if isinstance(entry, Following):
            return self._is_plain(entry, Following)
        if isinstance(entry, Contact):
            base = RollingContact if isinstance(entry, RollingContact) else Contact
            return self.contacts is not None and self._is_plain(entry, base)
        if not isinstance(entry, FeatureTask) or not self._is_plain(entry, FeatureTask):
            return False
        feature = entry.feature
        return type(feature) is CenterOfMass or (isinstance(feature, Framed) and feature.reference_id < 0)

    def _is_plain(self, entry: Entry, base: type) -> bool:
        return _is_plain(type(entry), base, LAWS if self.contacts is None else LAWS_OF_ACCELERATION)

    def add(self, entry: Entry, rows: slice, scale: float, AT: np.ndarray) -> None:
        """Give an entry its line. Rows that never change are written into Aᵀ right away."""
        if isinstance(entry, Following):
            self._add_gears(entry, rows, scale, AT)
        elif isinstance(entry, FeatureTask):
            self._add_feature(entry, rows, scale)

    def _add_feature(self, task: FeatureTask, rows: slice, scale: float) -> None:
        line, parameters = self._new_line(task, scale)
        line[op.ROW + task.kept] = np.arange(rows.start, rows.stop)
        line[op.TARGET] = len(self.tasks) * op.TARGETS
        self.tasks.append(task)
        if isinstance(task.feature, CenterOfMass):
            line[op.OP] = op.COM
        elif isinstance(task.feature, Framed):
            self._attach(task.feature, line, parameters)
        if isinstance(task, Contact) and self.contacts is not None:
            self._put_contact(task, self.contacts.place(task), line, parameters)

    def _put_contact(self, contact: Contact, place: slice, line: np.ndarray, parameters: np.ndarray) -> None:
        """A single point is held by its position, everything else by the pose of its frame."""
        line[op.OP], line[op.FORCES], line[op.SIZE] = op.CONTACT, place.start, contact.cone.size
        parameters[op.LARGEST] = contact.max_drift
        basis = contact.cone.basis.T.copy()
        if contact.point is not None:
            line[op.SHAPE], line[op.AXES] = op.POSITION, op.ALIGNED
            R = parameters[:9].reshape(3, 3).T
            parameters[9:12] += R @ contact.point
        if isinstance(contact, RollingContact):
            line[op.AXES] = op.ROLLING
            parameters[op.TO_GROUND :] = contact.to_ground
        parameters[op.BASIS : op.BASIS + basis.size] = basis.ravel()

    def _attach(self, feature: Framed, line: np.ndarray, parameters: np.ndarray) -> None:
        joint, T_joint_frame, columns = self.model.attachment(feature.frame_id)
        line[op.OP], line[op.SHAPE], line[op.AXES] = op.FRAME, SHAPES[type(feature)], AXES[feature.expressed]
        line[op.JOINT] = joint
        line[op.SUPPORT], line[op.SUPPORT_END] = len(self._support), len(self._support) + len(columns)
        self._support.extend(columns)
        parameters[:9], parameters[9:12] = T_joint_frame.rotation.ravel(order="F"), T_joint_frame.translation

    def _add_gears(self, gears: Following, rows: slice, scale: float, AT: np.ndarray) -> None:
        AT[: self.model.nv, rows] = scale * gears.jacobian(self.model).T
        names = [(joint, of) for joint, of, *_ in gears.followers(self.model)]
        for row, (joint, of, ratio, offset) in enumerate(gears.pairs):
            line, parameters = self._new_line(gears, scale)
            line[op.OP], line[op.JOINT], line[op.AXES] = op.GEAR, joint, of
            line[op.FORCES], line[op.SIZE] = (self.model.joint(name).v.start for name in names[row])
            line[op.ROW] = rows.start + row
            parameters[:2] = ratio, offset

    def _new_line(self, task: Task, scale: float) -> tuple[np.ndarray, np.ndarray]:
        line, parameters = np.zeros(op.LINE, dtype=np.int64), np.zeros(op.PARAMETERS)
        line[op.PARAMETER] = len(self._lines) * op.PARAMETERS
        line[op.ROW :] = -1
        parameters[op.SCALE] = scale
        parameters[op.ADAPTIVE + 2] = -1.0  # the slope of an adaptive gain is never negative
        if isinstance(task.gain, AdaptiveGain):
            parameters[op.ADAPTIVE : op.ADAPTIVE + 3] = task.gain.near, task.gain.far, task.gain.slope
        self._gains.append((len(self._lines), task))
        self._lines.append(line)
        self._parameters.append(parameters)
        return line, parameters

    def finish(self) -> None:
        """Pack the lines into arrays."""
        self.table = np.array(self._lines, dtype=np.int64).reshape(-1, op.LINE)
        self.parameters = np.concatenate([*self._parameters, np.zeros(SCRATCH)])
        self.targets = np.zeros((len(self.tasks) + 1) * op.TARGETS)  # the last one, all zeros, is that of gears
        self.table[self.table[:, op.OP] == op.GEAR, op.TARGET] = len(self.tasks) * op.TARGETS
        self.support = np.array(self._support or [0], dtype=np.int64)
        self.needs_com = bool((self.table[:, op.OP] == op.COM).any())

    def set_dt(self, dt: float) -> None:
        """Constant gains become factors, which depend on dt alone."""
        for k, task in self._gains:
            if not isinstance(task.gain, AdaptiveGain):
                parameters = self.parameters[k * op.PARAMETERS :]
                size = task.gain.size if isinstance(task.gain, np.ndarray) else 6
                first, second = _factors(task.gain, size, dt, self.contacts is not None)
                parameters[op.DECAY : op.DECAY + size] = first
                parameters[op.DAMPING : op.DAMPING + size] = second

    def refresh(self, tick: Tick) -> None:
        """Copy targets that moved."""
        at, fresh = 0, self._fresh
        for task in self.tasks:
            if fresh or task.moving:
                task.begin(self.model, tick)
                _put_target(task, self.targets[at : at + op.TARGETS], tick)
            at += op.TARGETS
        self._fresh = False


class Postures:
    """Postures of joints with one coordinate each: columns of the metric."""

    def __init__(self, model: Model, *, accelerations: bool = False) -> None:
        """
        Args:
            model: The robot.
            accelerations: At torque level.
        """
        self.model, self.accelerations = model, accelerations
        self.tasks: list[tuple[FeatureTask, slice]] = []
        self._picks: list[np.ndarray] = []
        self._fresh = True

    def takes(self, entry: Entry) -> bool:
        """True for plain joints, a constant gain and no law of its own."""
        laws = LAWS_OF_ACCELERATION if self.accelerations else LAWS
        if not isinstance(entry, FeatureTask) or not _is_plain(type(entry), FeatureTask, laws):
            return False
        feature = entry.feature
        if not isinstance(feature, JointPosture) or isinstance(entry.gain, AdaptiveGain):
            return False
        return feature.q_index.size == feature.columns.size

    def add(self, task: Entry, columns: np.ndarray) -> None:
        """Give a posture its lines."""
        if not (isinstance(task, FeatureTask) and isinstance(task.feature, JointPosture)):
            raise TypeError(f"{task!r} is no posture; ask `takes` first")
        start = sum(pick.shape[0] for pick in self._picks)
        self._picks.append(np.column_stack([columns, task.feature.q_index[task.kept]]))
        self.tasks.append((task, slice(start, start + columns.size)))

    def finish(self) -> None:
        """Pack the lines into arrays."""
        self.picks = np.concatenate([np.zeros((0, 2), dtype=np.int64), *self._picks])
        self.goals = np.zeros((self.picks.shape[0], 5))

    def set_dt(self, dt: float) -> None:
        """Gains become factors."""
        for task, rows in self.tasks:
            first, second = _factors(task.gain, task.feature.dim, dt, self.accelerations)
            self.goals[rows, 1], self.goals[rows, 3] = first[task.kept], second[task.kept]

    def refresh(self, tick: Tick) -> None:
        """Copy targets that moved."""
        for task, rows in self.tasks:
            if self._fresh or task.moving:
                task.begin(self.model, tick)
                self.goals[rows, 0] = task.current().value[task.kept]
                if self.accelerations:
                    velocity, acceleration = task.target_motion(tick)
                    self.goals[rows, 2], self.goals[rows, 4] = velocity[task.kept], acceleration[task.kept]
                else:
                    self.goals[rows, 2] = task.feedforward(tick)[task.kept]
        self._fresh = False


class Boxes:
    """Hard joint limits."""

    def __init__(self, model: Model, braking: np.ndarray | None = None) -> None:
        """
        Args:
            model: The robot.
            braking: With which joints brake that have no acceleration limit, shape (nv,); None: they stop at once.
        """
        self.model, self._braking = model, braking
        self._boxes: list[JointBox] = []

    def add(self, box: LimitsJoints) -> None:
        """Give a box its table."""
        self._boxes.append(box.joint_box(self.model))

    def finish(self) -> None:
        """Pack the limits into arrays."""
        n, boxes = self.model.nv, self._boxes
        self.index = np.array([box.q_index for box in boxes], dtype=np.int64).reshape(-1, n)
        self.limits = np.array([_limit_rows(braked(box, self._braking)) for box in boxes]).reshape(-1, LIMIT_ROWS, n)
        self._rates = self.limits[:, -1].copy()

    def set_dt(self, dt: float) -> None:
        """The dampers' rates in discrete time."""
        self.limits[:, -1] = -np.expm1(-self._rates * dt) / dt


def _limit_rows(box: JointBox) -> list[np.ndarray]:
    """What the kernel knows of a box."""
    braking = box.a_max if box.braking is None else box.braking
    hardest = np.full(box.size, np.inf) if box.hardest is None else box.hardest
    return [box.q_lower, box.q_upper, box.v_max, box.a_max, braking, hardest, box.rate]


def _is_plain(kind: type, base: type, laws: tuple[str, ...]) -> bool:
    """A subclass with a law of its own must be asked, not compiled."""
    return all(getattr(kind, law) is getattr(base, law) for law in laws)


def _factors(gain: Gain, size: int, dt: float, accelerations: bool) -> tuple[np.ndarray, np.ndarray]:
    """What errors and their rates are multiplied with: Kp and Kd, or the decay in one tick and nothing."""
    one = np.ones(size)
    if not accelerations:
        return decay(gain, one, dt) * one, 0.0 * one
    kp, kd = stiffness_and_damping(gain, one, dt)
    return kp * one, kd * one


def _put_target(task: FeatureTask, target: np.ndarray, tick: Tick) -> None:
    """Copy a task's target into its line of the table."""
    goal, feature = task.current(), task.feature
    matrix = target[:12].reshape(3, 4)
    if type(feature) is FramePose:
        matrix[:] = goal.value.homogeneous[:3]
    elif type(feature) is FrameOrientation:
        matrix[:, :3] = goal.value
    else:
        matrix[:, 3] = goal.value
    velocity, acceleration = goal.velocity, goal.acceleration
    if isinstance(task, Contact):
        velocity, acceleration = task.target_motion(tick)
        if task.point is not None:
            matrix[:, 3] = goal.value.act(task.point)
    target[op.VELOCITY : op.VELOCITY + velocity.size] = velocity
    target[op.ACCELERATION : op.ACCELERATION + acceleration.size] = acceleration
