"""What the two inverse dynamics cases are, and how a tick is measured: shared by every peer's script.

A tick goes from "the state is (q, v), the target is r" to "the torques are τ":

    measured:      kinematics and dynamics at (q, v)  ->  target set, problem built  ->  QP solved, torques taken
    not measured:  r(t) computed, state handed over, acceleration integrated: v += a dt, q = integrate(q, v dt)

The target given at tick k is the one of time k dt with its speed and acceleration. Starts, targets and final errors
are computed here, in the same way for every tool.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import cos, pi, sin
from time import perf_counter_ns
from typing import Any, NamedTuple, Protocol

import cases
import numpy as np
import pinocchio as pin

DT = 0.001  # s, one tick; 300 + 2000 of them end at 2.3 s, where the sway is at 0.81 of its amplitude
FREQUENCY = 0.5  # Hz, of the sway

WEIGHTS = {"com": 1.0, "hand": 0.1, "posture": 1e-3}  # of the squared error in m/s² and rad/s²
RATES = {"com": 10.0, "hand": 10.0, "contact": 20.0, "posture": 5.0}  # λ, 1/s; kp = λ², kd = 2 λ
FRICTION = 0.3  # μ
NORMAL = np.array([0.0, 0.0, 1.0])
# All tools need a little cost for what the tasks leave open (how the feet share the weight). It is weak enough to
# change the final error by no more than 1 %; each tool has its own kind, of forces (TSID) or of torques (PlaCo).
REGULARIZATION = 1e-6


@dataclass(frozen=True)
class Problem:
    """A robot, what it stands on, and what it does.

    Attributes:
        urdf: In the `example-robot-data` package; so is the SRDF.
        posture: Start, a posture of the SRDF.
        feet: Frames that stand.
        sole: Length and width of the soles, m; None for feet that are points.
        hands: Frames that stay where they are.
        sway: Amplitude of the centre of mass, m, sideways.
        force: Smallest and largest normal force of a foot, N.
        rotor: Inertia of the rotors, kg m², and gear ratio.
        effort: Torque limit of all joints, N m, if not the URDF's.
        velocity: Velocity limit of all joints, rad/s, if not the URDF's.
    """

    urdf: str
    srdf: str
    posture: str
    feet: tuple[str, ...]
    sole: tuple[float, float] | None
    hands: tuple[str, ...]
    sway: float
    force: tuple[float, float]
    rotor: tuple[float, float]
    effort: float | None = None
    velocity: float | None = None

    def start(self, model: pin.Model) -> np.ndarray:
        """The configuration at the start; the robot is at rest."""
        pin.loadReferenceConfigurations(model, cases.robot_file(self.srdf), False)
        return model.referenceConfigurations[self.posture].copy()

    def rotors(self, joints: Iterable[str]) -> tuple[np.ndarray, np.ndarray]:
        """Rotor inertias and gear ratios; grippers have none, as in the SRDF."""
        held = np.array([joint.startswith("gripper") for joint in joints])
        inertia, ratio = self.rotor
        return np.where(held, 0.0, inertia), np.where(held, 1.0, ratio)


TALOS = Problem(
    cases.TALOS_URDF, cases.TALOS_SRDF, cases.TALOS_START,
    feet=cases.TALOS_SOLES, sole=(0.2, 0.138), hands=cases.TALOS_HANDS,
    sway=0.03, force=(5.0, 1e4), rotor=(1e-5, 100.0),
)  # fmt: skip
SOLO12 = Problem(
    "solo_description/robots/solo12.urdf", "solo_description/srdf/solo.srdf", "standing",
    feet=("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT"), sole=None, hands=(),
    sway=0.01, force=(0.1, 1e4), rotor=(4.5e-6, 9.0), effort=2.7, velocity=80.0,
)  # fmt: skip


class Target(NamedTuple):
    """Of the centre of mass in the world: m, m/s, m/s²."""

    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray


def target(problem: Problem, centre: np.ndarray, t: float) -> Target:
    """c + a sin(2πft), sideways, with its derivatives."""
    omega, sideways = 2.0 * pi * FREQUENCY, problem.sway * np.array([0.0, 1.0, 0.0])
    s, c = sin(omega * t), cos(omega * t)
    return Target(centre + s * sideways, omega * c * sideways, -omega * omega * s * sideways)


class Peer(Protocol):
    """One problem written for one tool."""

    model: pin.Model
    start: np.ndarray

    def state(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """Hand over the state of the next tick."""

    def tick(self, target: Target) -> None:
        """From state and target to torques: what is measured."""

    def acceleration(self) -> np.ndarray:
        """What the tick found; an error if it found nothing."""


def measure(peer: Peer, problem: Problem) -> dict[str, Any]:
    """Run one case; returns times in µs and the final error in m."""
    model, data, q, v = peer.model, peer.model.createData(), peer.start.copy(), np.zeros(peer.model.nv)
    centre = pin.centerOfMass(model, data, q).copy()
    count = cases.WARM_UP + cases.TICKS
    times = np.empty(count)
    with cases.no_collections():
        for k in range(count):
            goal = target(problem, centre, k * DT)
            peer.state(k * DT, q, v)
            begin = perf_counter_ns()
            peer.tick(goal)
            times[k] = perf_counter_ns() - begin
            v = v + DT * peer.acceleration()
            q = pin.integrate(model, q, DT * v)
    missed = pin.centerOfMass(model, data, q) - target(problem, centre, count * DT).position
    return cases.summary(times[cases.WARM_UP :] / 1e3, float(np.linalg.norm(missed)))
