"""Contacts over time: on something that moves, pushed away from their place, taken away and put back."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from torque_oracle import Look, centre_of_pressure, off_points, points_of, weight

import sot
from sot.robots import load
from sot.state import State
from sot.tasks import CenterOfMass, Contact, CopLimits, JointLimits, Pose, Posture, TorqueLimits

DT = 1e-3  # s


def at(robot, q, frame):
    data = robot.pin_model.createData()
    pin.framesForwardKinematics(robot.pin_model, data, q)
    return data.oMf[robot.pin_model.getFrameId(frame)]


def follow(controller, q, count, contacts=None):
    """Integrate the commands; yields what pinocchio sees of each tick."""
    state = State(0.0, q, np.zeros(controller.model.nv))
    for k in range(count):
        look = Look(controller, state, controller.step(state), contacts)
        yield look
        state = State(DT * (k + 1), look.command.q, look.command.v)


# -- on something that moves -----------------------------------------------------------------------------------

PLATFORMS = {
    "lift": [0.0, 0.0, 0.02, 0.0, 0.0, 0.0],
    "shaker": [0.02, 0.015, 0.0, 0.0, 0.0, 0.0],
    "pedals": [0.0, 0.0, 0.01, 0.0, 0.15, 0.0],
}


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("name", ["solo12", "talos", "g1"])
def test_a_foot_moves_with_what_it_stands_on(name, platform):
    """In closed loop: where the points of a foot are, and their acceleration, against the platform's.

    Accelerations are second differences of both, apart by half a percent where the fade of the sine begins.
    """
    robot = load(name)
    feet = [Contact(foot.frame, friction=0.7, min_force=0.5, reference=swing(platform)) for foot in robot.feet]
    base = Pose(base_of(robot), name="base", gain=10.0, reference=swing(platform, turning=False))
    stack = sot.Stack([JointLimits(), TorqueLimits(), *feet], [base], [Posture()])
    controller = sot.Controller(robot, stack, output="torque", dt=DT)
    wanted, found = [], []
    for look in follow(controller, robot.home, 800):
        assert look.residual() <= 1e-9
        points = [(foot, point) for foot in feet for point in points_of(robot, foot)]
        wanted.append([foot.target.value.act(point) for foot, point in points])
        found.append([look.placement(foot).act(point) for foot, point in points])
        for foot in feet:
            assert look.outside(foot) <= 1e-9
            if len(points_of(robot, foot)) > 1:
                assert off_points(centre_of_pressure(look, foot), points_of(robot, foot)) <= 1e-9
    there = np.diff(wanted, 2, axis=0) / DT**2
    assert np.abs(there).max() > 0.3
    assert np.abs(np.diff(found, 2, axis=0) / DT**2 - there).max() <= 0.005 * np.abs(there).max()
    assert np.abs(np.array(found) - wanted).max() <= 1e-5
    assert controller.counters.infeasible == 0 and controller.counters.capped == 0


def swing(platform, turning=True):
    amplitude = PLATFORMS[platform] if turning else [*PLATFORMS[platform][:3], 0.0, 0.0, 0.0]
    return sot.sine(amplitude=amplitude, frequency=1.0, fade=0.3)


def base_of(robot):
    return next(frame.name for frame in robot.pin_model.frames if frame.name in ("base_link", "pelvis", "base"))


def test_the_place_of_a_point_on_something_that_turns_moves_as_finite_differences_say():
    """Speed and acceleration of where a point foot should be: a turning platform has a centripetal part."""
    robot = load("solo12")
    foot = Contact("FL_FOOT", reference=swing("pedals"))
    controller = sot.Controller(robot, sot.Stack([foot], [Posture()]), output="torque", dt=DT)
    places, speeds, accelerations = [], [], []
    for k in range(700):
        controller.step(State(DT * k, robot.home, np.zeros(18)))
        velocity, acceleration = foot.target_motion(controller._tick)
        places.append(foot.target.value.act(np.array(robot.feet[0].points[0])))
        speeds.append(velocity)
        accelerations.append(acceleration)
    after = slice(301, -1)  # the fade has jumps in its third derivative
    speed, acceleration = np.gradient(places, DT, axis=0), np.gradient(np.gradient(places, DT, axis=0), DT, axis=0)
    assert np.abs(speeds - speed)[after].max() <= 1e-4 * np.abs(speed).max()
    assert np.abs(accelerations - acceleration)[302:-2].max() <= 1e-3 * np.abs(acceleration).max()


# -- drift -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "away"), [("solo12", [0.1, 0.0, 0.0]), ("talos", [0.06, 0.08, 0.0])])
def test_a_contact_far_from_its_place_comes_back_slowly(name, away):
    """10 cm away it is pulled as from `max_drift`, so no faster than Kp/Kd of that; and it gets there.

    Kp = ((1 − p)/dt)² and Kd = (1 − p²)/dt with p = exp(−λ dt), so Kp/Kd = (1 − p)/((1 + p) dt) ≈ λ/2.
    """
    robot, rate, bound = load(name), 10.0, 0.02
    p = np.exp(-rate * DT)
    pull, fastest = bound * ((1.0 - p) / DT) ** 2, bound * (1.0 - p) / ((1.0 + p) * DT)
    feet = []
    for foot in robot.feet:
        T = at(robot, robot.home, foot.frame)
        goal = pin.SE3(T.rotation, T.translation + away)
        feet.append(Contact(foot.frame, friction=0.9, gain=rate, max_drift=bound, reference=goal))
    stack = sot.Stack([*feet], [CenterOfMass(mask="z")], [Posture(weight=1e-3)])
    controller = sot.Controller(robot, stack, output="torque", dt=DT)
    left = []
    for k, look in enumerate(follow(controller, robot.home, 2000)):
        assert look.residual() <= 1e-9
        if k == 0:
            first = np.vstack([look.point_accelerations(foot) for foot in feet])
            np.testing.assert_allclose(first, np.tile(pull * np.array(away) / 0.1, (len(first), 1)), atol=1e-8)
        goals = [foot.target.value.translation for foot in feet]
        ways = [look.placement(foot).translation - goal for foot, goal in zip(feet, goals, strict=True)]
        left.append(np.linalg.norm(ways, axis=1).max())
    assert left[0] == pytest.approx(0.1) and (np.diff(left) <= 1e-9).all()
    assert 0.9 * fastest <= -np.diff(left).min() / DT <= 1.001 * fastest
    assert left[-1] <= 1e-5
    assert controller.counters.infeasible == 0


# -- taken away and put back -----------------------------------------------------------------------------------

RAMP, GONE, BACK, END = 0.3, 1.2, 1.7, 2.2  # s
MARGIN = 0.01  # m
AWAY = {"talos": [0.0, 0.085, 0.0], "g1": [0.0, 0.11, 0.0], "solo12": [0.05, 0.04, 0.0]}  # m, from the last foot


def standing(robot, frames):
    """The weight goes over to the feet that will stay; the last is also held where it is by a task."""
    surfaces = len(robot.feet[0].points) > 1
    contacts = [Contact(frame, friction=0.6) for frame in frames]
    com = CenterOfMass(name="com", gain=10.0, reference=sot.move(by=AWAY[robot.name], duration=1.0))
    hard = [JointLimits(), TorqueLimits(), *contacts, *[CopLimits(margin=MARGIN)] * surfaces]
    swing_foot = Pose(robot.feet[-1].frame, gain=20.0, mask=None if surfaces else "xyz")
    stack = sot.Stack(hard, [com, swing_foot], [Posture(gain=5.0)])
    return sot.Controller(robot, stack, output="torque", dt=DT)


def smooth(time):
    s = np.clip(time / RAMP, 0.0, 1.0)
    return s * s * (3.0 - 2.0 * s)


def shrunk(points):
    """Corners of the sole with the margin taken off on all sides, by clipping with each edge in turn."""
    flat, inside = np.asarray(points)[:, :2], np.asarray(points)[:, :2]
    middle = flat.mean(axis=0)
    for a, b in zip(flat, np.roll(flat, -1, axis=0), strict=True):
        out = np.array([b[1] - a[1], a[0] - b[0]]) / np.linalg.norm(b - a)
        out *= np.sign(out @ (a - middle))
        inside = clipped(inside, out, out @ a - MARGIN)
    return np.column_stack([inside, np.full(len(inside), points[0][2])])


def clipped(polygon, out, limit):
    """The part of a polygon with out · p ≤ limit."""
    found = []
    for a, b in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        da, db = out @ a - limit, out @ b - limit
        found += [a] if da <= 0.0 else []
        if da * db < 0.0:
            found.append(a + (b - a) * da / (da - db))
    return np.array(found)


@pytest.mark.parametrize("name", ["talos", "g1", "solo12"])
def test_a_contact_is_taken_away_and_put_back(name):
    """Twins that have the contact always, and never, say what the command changes between.

    It is (1 − s) of the one and s of the other with s = 3u² − 2u³, whose slope is 1.5/ramp at most: torques of one tick
    and the next differ by no more than 1.5 dt/ramp of the twins' difference, and what each of the twins does by itself.
    """
    robot = load(name)
    frames = [foot.frame for foot in robot.feet]
    controller, always, never = (standing(robot, some) for some in (frames, frames, frames[:-1]))
    contacts = [entry for entry in controller.stack if isinstance(entry, Contact)]
    start = {contact: at(robot, robot.home, contact.frame) for contact in contacts}
    state, taken = State(0.0, robot.home, np.zeros(controller.model.nv)), contacts[-1].name
    last = before = None
    largest = apart = carried = 0.0
    for k in range(round(END / DT)):
        if k == round(GONE / DT):
            carried = controller.contact_forces()[taken][2]
            controller.stack.remove(taken, ramp=RAMP)
        if k == round(BACK / DT):  # where it is now
            controller.stack.push(Contact(frames[-1], friction=0.6), level=0, ramp=RAMP)
            always.stack.remove(taken, ramp=0.0)
            always.stack.push(Contact(frames[-1], friction=0.6), level=0, ramp=0.0)
        look = Look(controller, state, controller.step(state), contacts)
        twins = np.array([always.step(state).tau, never.step(state).tau])
        share = smooth(DT * k - GONE) - smooth(DT * k - BACK)
        np.testing.assert_allclose(look.command.tau, [1.0 - share, share] @ twins, atol=1e-9 * weight(robot))
        assert look.residual() <= 1e-9
        if last is not None and abs(k * DT - BACK) > 1.5 * DT:
            step, own = np.abs(look.command.tau - last), np.abs(twins - before).max(axis=0)
            assert (step <= 1.5 * DT / RAMP * np.abs(twins[1] - twins[0]) + own + 1e-9 * weight(robot)).all()
            if 0.0 < share < 1.0:
                largest, apart = max(largest, step.max()), max(apart, np.abs(twins[1] - twins[0]).max())
        for contact in contacts[:-1]:
            T, points = look.placement(contact), points_of(robot, contact)
            assert max(np.linalg.norm(T.act(p) - start[contact].act(p)) for p in points) <= 1e-5  # no slip
            if len(points) > 1:
                assert off_points(centre_of_pressure(look, contact), shrunk(points)) <= 1e-9
        last, before = look.command.tau, twins
        state = State(DT * (k + 1), look.command.q, look.command.v)
    assert controller.counters.infeasible == 0 and controller.counters.capped == 0
    assert apart > 10.0 * largest  # without a ramp torques would have jumped by that
    assert controller.contact_forces()[taken][2] > 0.5 * carried > 0.0
