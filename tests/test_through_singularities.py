"""Arms and legs that are led through singular postures: no jerks, no speeding, and nothing is left of the error.

A path in joint space that crosses a singular posture in a random direction is followed by the tool, in Cartesian
space, without knowing the joint path. Jitter is the mean of |v₊ − 2v + v₋| over joints and ticks, rad/s at 500 Hz.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.optimize import minimize

import sot
from sot.model import Model
from sot.robots import load
from sot.state import State
from sot.tasks import Damping, JointLimits, Pose, Posture

DT = 2e-3
JITTER = 3e-4  # rad/s, the bound
ARMS = {
    "ur5": ("tool0", ()),  # 6 joints
    "panda": ("panda_hand_tcp", ("panda_finger_joint*",)),  # 7
    "xarm7": ("link_eef", ()),  # 7
    "so101": ("gripper_frame_link", ("gripper",)),  # 5
}


@cache
def arm(name):
    return load(name, lock=ARMS[name][1])


def smallest(model, frame, q):
    """Smallest singular value that is not zero everywhere."""
    model.update(q, np.zeros(model.nv))
    sigma = np.linalg.svd(model.jacobian(model.frame(frame), "aligned"), compute_uv=False)
    return sigma[min(6, model.nv) - 1]


def inside(model, *postures):
    low, high = model.pin.lowerPositionLimit, model.pin.upperPositionLimit
    return all((q > low + 0.02).all() and (q < high - 0.02).all() for q in postures)


@cache
def crossings(name, count=3, seed=3):
    """Singular postures and ways through them that begin and end away from it."""
    model, rng, found = Model(arm(name)), np.random.default_rng(seed), []
    frame = ARMS[name][0]
    low = np.maximum(model.pin.lowerPositionLimit, -3.0)
    high = np.minimum(model.pin.upperPositionLimit, 3.0)
    options = {"xatol": 1e-9, "fatol": 1e-9, "maxiter": 2000}
    while len(found) < count:
        start = low + rng.uniform(0.3, 0.7, model.nv) * (high - low)
        answer = minimize(lambda q: smallest(model, frame, np.clip(q, low, high)), start,
                          method="Nelder-Mead", options=options)  # fmt: skip
        step = rng.normal(size=model.nv)
        step *= 0.7 / np.abs(step).max()
        ends = (answer.x - step, answer.x + step)
        leaves = min(smallest(model, frame, end) for end in ends) > (0.05 if model.nv > 5 else 0.02)
        if answer.fun < 1e-5 and leaves and inside(model, answer.x, *ends):
            found.append((answer.x, step))
    return tuple(found)


# Postures of a UR5 by the name of what is singular: shoulder (wrist centre above axis 1), elbow, wrist.
def shoulder_angle(model):
    """Angle of joint 2 at which det J changes its sign, everything else being regular."""

    def determinant(angle):
        model.update(np.array([0.3, angle, 1.2, -0.4, 0.9, 0.2]), np.zeros(6))
        return np.linalg.det(model.jacobian(model.frame("tool0"), "aligned"))

    angles = np.linspace(-3.0, 0.0, 600)
    signs = np.sign([determinant(angle) for angle in angles])
    low = angles[np.flatnonzero(np.diff(signs))[0]]
    high = low + angles[1] - angles[0]
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.sign(determinant(middle)) == np.sign(determinant(low)) else (low, middle)
    return low


def named_posture(which):
    if which == "shoulder":
        return np.array([0.3, shoulder_angle(Model(arm("ur5"))), 1.2, -0.4, 0.9, 0.2])
    return {
        "elbow": np.array([0.3, -1.0, 0.0, -0.7, 0.9, 0.2]),
        "wrist": np.array([0.3, -1.2, 1.5, -0.7, 0.0, 0.2]),
    }[which]


def follow(name, middle, step, extra=(), *, solver="hierarchical", duration=4.0, hold=2.0, dt=DT):
    """Follow the tool's way along `middle ± step` and back to rest; returns speeds, errors and the last posture."""
    robot, frame = arm(name), ARMS[name][0]
    leader = Model(robot)

    def joints(t):
        s = min(max(t / duration, 0.0), 1.0)
        return middle + (2.0 * (10 * s**3 - 15 * s**4 + 6 * s**5) - 1.0) * step

    def tool(t):
        leader.update(joints(t), np.zeros(leader.nv))
        return leader.placement(leader.frame(frame)).copy()

    hand = Pose(frame, gain=10.0, reference=sot.function(tool))
    stack = sot.Stack([JointLimits()], [hand, *extra], [Posture(gain=1.0, weight=1e-3)])
    controller = sot.Controller(robot, stack, solver=solver, dt=dt)
    q, v = joints(0.0), np.zeros(controller.model.nv)
    speeds, errors = [], []
    for k in range(round((duration + hold) / dt)):
        v = controller.step(State(k * dt, q, v)).v
        errors.append(np.linalg.norm(hand.error(controller.model)))
        q = controller.model.integrate(q, dt * v)
        speeds.append(v)
    return np.array(speeds), np.array(errors), q


def jitter(speeds):
    return np.abs(np.diff(speeds, 2, axis=0)).mean()


def within_limits(name, speeds):
    return (np.abs(speeds) <= arm(name).pin_model.velocityLimit + 1e-9).all()


@pytest.mark.parametrize("mode", ["selective", "adaptive"])
@pytest.mark.parametrize("which", ["shoulder", "elbow", "wrist"])
def test_named_singularities_of_a_six_joint_arm(which, mode):
    middle, rng = named_posture(which), np.random.default_rng(7)
    assert smallest(Model(arm("ur5")), "tool0", middle) < 1e-6
    step = rng.uniform(-0.4, 0.4, 6)
    speeds, errors, _ = follow("ur5", middle, step, [Damping(mode)])
    assert within_limits("ur5", speeds)
    assert jitter(speeds) < JITTER
    assert errors.max() < 0.03
    assert errors[-1] < 1e-4  # it comes out, and nothing is left


@pytest.mark.parametrize("index", range(3))
@pytest.mark.parametrize("name", ARMS)
def test_random_crossings(name, index):
    """5, 6 and 7 joints: it comes out of the singularity, and the error goes."""
    middle, step = crossings(name)[index]
    speeds, errors, q = follow(name, middle, step, [Damping(length=0.3 if name == "so101" else 1.0)])
    assert within_limits(name, speeds)
    assert jitter(speeds) < JITTER
    assert errors.max() < 0.03
    assert errors[-1] < 1e-4
    assert inside(Model(arm(name)), q)


@pytest.mark.parametrize("name", ["xarm7", "so101"])
def test_without_damping_it_jerks(name):
    speeds, _, _ = follow(name, *crossings(name)[0])
    assert jitter(speeds) > 3.0 * JITTER
    assert np.abs(np.diff(speeds, axis=0)).max() > 3.0  # rad/s from one tick to the next


@pytest.mark.parametrize("solver", ["nullspace", "weighted"])
@pytest.mark.parametrize("which", ["elbow", "wrist"])
def test_the_other_solvers(which, solver):
    step = np.random.default_rng(7).uniform(-0.4, 0.4, 6)
    speeds, errors, _ = follow("ur5", named_posture(which), step, [Damping()], solver=solver)
    assert within_limits("ur5", speeds)
    assert jitter(speeds) < JITTER
    assert errors[-1] < (1e-4 if solver == "nullspace" else 5e-3)  # weighted: the posture pulls along


def test_two_sampling_rates_give_the_same_motion():
    """200 Hz and 1 kHz: what is left is the arc of a speed that is held for 5 ms, and shrinks with it."""
    step = np.random.default_rng(7).uniform(-0.4, 0.4, 6)
    ways, ends = {}, {}
    for dt in (5e-4, 1e-3, 5e-3):
        speeds, _, ends[dt] = follow("ur5", named_posture("elbow"), step, [Damping()], dt=dt)
        every = round(5e-3 / dt)
        ways[dt] = np.cumsum(speeds * dt, axis=0)[every - 1 :: every]
    apart = np.abs(ways[5e-3] - ways[1e-3]).max()
    assert apart < 0.03  # rad, while the elbow turns at 2.5 rad/s
    assert np.abs(ways[1e-3] - ways[5e-4]).max() < 0.2 * apart
    np.testing.assert_allclose(ends[1e-3], ends[5e-3], atol=1e-4)


def test_a_straight_cartesian_line_to_the_border_and_back():
    """The hand is asked 20 cm beyond its reach, in a straight line, and back again."""
    name, bound = "ur5", {}
    for label, extra in (("damped", [Damping()]), ("bare", [])):
        hand = Pose("tool0", gain=10.0, reference=sot.sine(amplitude=[0.5, 0.0, 0.0, 0.0, 0.0, 0.0], frequency=0.25))
        stack = sot.Stack([JointLimits()], [hand, *extra], [Posture()])
        controller = sot.Controller(arm(name), stack, dt=DT)
        q, v, speeds = arm(name).home.copy(), np.zeros(6), []
        errors = []
        for k in range(2000):
            v = controller.step(State(k * DT, q, v)).v
            q = controller.model.integrate(q, DT * v)
            speeds.append(v)
            errors.append(np.linalg.norm(hand.error(controller.model)))
        bound[label] = jitter(np.array(speeds))
        assert max(errors) > 0.1  # it was out of reach
        assert min(errors[-100:]) < 0.01
    assert bound["damped"] < 2.0 * JITTER  # it gets there with an elbow at its speed limit, 3.15 rad/s
    assert bound["bare"] > 1000.0 * JITTER  # that elbow goes to and fro between its limits at every tick


@pytest.mark.parametrize("solver", ["nullspace", "hierarchical", "weighted"])
def test_stretched_knees(solver):
    """Talos raises its pelvis 15 cm, more than its legs can give, and comes down again."""
    robot, found = load("talos"), {}
    for label, extra in (("damped", [Damping()]), ("bare", [])):
        feet = [Pose(f"{side}_sole_link", gain=20.0) for side in ("left", "right")]
        raised = sot.sine(amplitude=[0.0, 0.0, 0.15, 0.0, 0.0, 0.0], frequency=0.2)
        pelvis = Pose("base_link", name="pelvis", gain=10.0, reference=raised)
        stack = sot.Stack([JointLimits(), *feet], [pelvis, *extra], [Posture(gain=1.0, weight=1e-4)])
        controller = sot.Controller(robot, stack, solver=solver, dt=DT)
        q, v, speeds = robot.home.copy(), np.zeros(controller.model.nv), []
        for k in range(1600):
            v = controller.step(State(k * DT, q, v)).v
            q = controller.model.integrate(q, DT * v)
            speeds.append(v)
        found[label] = np.abs(np.diff(speeds, axis=0)).max()
        assert (np.abs(np.array(speeds)[:, 6:]) <= robot.pin_model.velocityLimit[6:] + 1e-9).all()
        assert np.linalg.norm(pelvis.error(controller.model)) < 0.02  # back from above
        assert max(np.abs(foot.error(controller.model)).max() for foot in feet) < 1e-4
    assert found["damped"] < 0.25  # rad/s from tick to tick
    assert found["bare"] > (1.0 if solver != "weighted" else found["damped"])
