"""Momentum of a robot that tumbles through the air: nothing but gravity and pushes changes it.

Solo12 is thrown with spin, its legs swing, its motors do nothing, and two pushes hit it off its centre of mass. The
impulses are measured from where its frames are, and compared with what pinocchio says of its momentum about its centre
of mass, h = A(q) v.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import trapezoid

from sot.robots import Simulated, load
from sot.simulation import Actuators, Push
from sot.state import Command

DURATION = 0.16  # s
PUSHES = (
    Push(at=0.0, frame="FL_FOOT", force=[2.0, -3.0, 4.0], duration=DURATION, point=[0.01, 0.02, 0.0]),
    Push(at=0.0, frame="base_link", force=[-6.0, 2.0, 1.0], duration=DURATION, point=[0.1, 0.0, 0.05]),
)


def thrown(dt: float) -> Simulated:
    """In the air, spinning, without losses: joints have neither friction nor damping, and nothing can be touched."""
    solo = load("solo12")
    v = np.random.default_rng(3).uniform(-1.0, 1.0, solo.pin_model.nv)
    v[:6] = [1.0, -0.5, 2.0, 3.0, -5.0, 4.0]  # m/s, rad/s
    motors = Actuators(friction=0.0, damping=0.0)
    options = {"ground": False, "bodies": False, "itself": False, "actuators": motors, "disturbances": PUSHES}
    return Simulated(solo, dt, v=v, **options)


@dataclass(frozen=True)
class Free:
    """What acts on a robot in the air, by pinocchio alone."""

    model: pin.Model

    def momentum(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Linear, and angular about the centre of mass, kg·m/s and kg·m²/s, shape (6,)."""
        return pin.computeCentroidalMomentum(self.model, self.model.createData(), q, v).vector.copy()

    def rate(self, q: np.ndarray) -> np.ndarray:
        """Its rate of change: weight and pushes, N and N·m, shape (6,)."""
        data = self.model.createData()
        centre = pin.centerOfMass(self.model, data, q).copy()
        pin.framesForwardKinematics(self.model, data, q)
        rate = np.r_[data.mass[0] * self.model.gravity.linear, np.zeros(3)]
        for push in PUSHES:
            arm = data.oMf[self.model.getFrameId(push.frame)].act(np.array(push.point)) - centre
            rate += np.r_[push.newtons, np.cross(arm, push.newtons)]
        return rate

    def drift(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Ȧ v, what turns of the axes alone change, shape (6,)."""
        data, nothing = self.model.createData(), np.zeros(self.model.nv)
        return pin.computeCentroidalMomentumTimeVariation(self.model, data, q, v, nothing).vector.copy()

    def acceleration(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """v̇ under weight and pushes."""
        data = self.model.createData()
        pin.computeJointJacobians(self.model, data, q)
        pin.updateFramePlacements(self.model, data)
        tau = np.zeros(self.model.nv)
        for push in PUSHES:
            frame = self.model.getFrameId(push.frame)
            J = pin.getFrameJacobian(self.model, data, frame, pin.LOCAL_WORLD_ALIGNED)
            arm = data.oMf[frame].rotation @ np.array(push.point)
            tau += J[:3].T @ push.newtons + J[3:].T @ np.cross(arm, push.newtons)
        return pin.aba(self.model, data, q, v, tau)


def states(robot: Simulated) -> list[tuple[np.ndarray, np.ndarray]]:
    """The true state before and after every step."""
    nothing = np.zeros(robot.robot.pin_model.nv)
    found = [(robot.truth().q, robot.truth().v)]
    for _ in range(round(DURATION / robot.dt)):
        robot.write(Command(robot.read().time, nothing, tau=nothing))
        found.append((robot.truth().q, robot.truth().v))
    return found


def test_within_a_step_the_change_is_the_impulse():
    """A(q) (v⁺ − v) + dt Ȧ v½ = dt (weight, pushes), to 1e-9, with v½ = v + dt/2 v̇ as the engine states it."""
    robot = thrown(1e-3)
    free, dt = Free(robot.robot.pin_model), robot.dt
    path = states(robot)
    for (q, v), (_, after) in itertools.pairwise(path):
        half = v + 0.5 * dt * free.acceleration(q, v)
        change = free.momentum(q, after) - free.momentum(q, v) + dt * free.drift(q, half)
        np.testing.assert_allclose(change, dt * free.rate(q), rtol=0.0, atol=1e-9)


@pytest.mark.parametrize(("shifted", "order"), [(False, 1.0), (True, 2.0)], ids=["as told", "at one time"])
def test_across_steps_the_error_shrinks_with_the_step(shifted: bool, order: float):
    """4, 2, 1 and 0.5 ms for 0.16 s, in which the impulses add up to 3.2 N·s and 0.25 N·m·s.

    The v that a robot tells is the one of half a step before its q. So the momentum of (q, v) is wrong by an error that
    goes with dt: 17 mN·s at 1 ms. With v taken on by dt/2 v̇ it goes with dt²: 0.33 mN·s.
    """
    steps, errors = 4e-3 / np.array([1, 2, 4, 8]), []
    for dt in steps:
        robot = thrown(dt)
        free, path = Free(robot.robot.pin_model), states(robot)
        ends = [(q, v + shifted * 0.5 * dt * free.acceleration(q, v)) for q, v in (path[0], path[-1])]
        impulse = trapezoid(np.array([free.rate(q) for q, _ in path]), dx=dt, axis=0)
        error = free.momentum(*ends[1]) - free.momentum(*ends[0]) - impulse
        errors.append([np.linalg.norm(error[:3]), np.linalg.norm(error[3:])])
    for found in np.array(errors).T:  # N·s, N·m·s
        slope = np.polyfit(np.log(steps), np.log(found), 1)[0]
        assert slope == pytest.approx(order, abs=0.1)
    assert errors[2][0] == pytest.approx(3.3e-4 if shifted else 1.66e-2, rel=0.05)
