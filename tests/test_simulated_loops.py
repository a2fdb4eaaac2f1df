"""Controllers in the simulator: they stand, squat, sway and take pushes, and falls are seen."""

from __future__ import annotations

import numpy as np
import pytest

import sot
from sot.model import Model
from sot.robots import Simulated, load
from sot.simulation import Push, Sensors
from sot.tasks import BaseOrientation, CenterOfMass, Contact, JointLimits, Pose, Posture, RollingContact, TorqueLimits

G = 9.81


@pytest.fixture(scope="module")
def solo():
    return load("solo12")


def standing(robot, amplitude=(0.0, 0.0, 0.0), gain=10.0, contact_gain=20.0, move=None, contact=Contact):
    """Contacts, the centre of mass, an upright base, a posture."""
    weight = robot.mass * G
    feet = [contact(foot.frame, friction=0.6, min_force=0.02 * weight, gain=contact_gain) for foot in robot.feet]
    reference = sot.move(by=move, duration=0.8) if move else sot.sine(amplitude=amplitude, frequency=0.5, fade=1.0)
    com = CenterOfMass(name="com", gain=gain, reference=reference)
    return sot.Stack([JointLimits(), TorqueLimits(), *feet], [com], [BaseOrientation(gain=10.0), Posture(gain=5.0)])


@pytest.mark.parametrize(("name", "amplitude"), [("talos", (0.0, 0.02, 0.03)), ("solo12", (0.0, 0.01, 0.02))])
def test_squat_and_sway(name, amplitude):
    """10 s at 1 kHz: feet move by less than 1 mm, the centre of mass is within 2 mm rms, forces carry the weight."""
    robot = load(name)
    stack, body, errors, slips = standing(robot, amplitude), Simulated(robot), [], []
    controller, model = sot.Controller(robot, stack, output="torque", dt=1e-3), Model(robot)
    frames = [model.frame(foot.frame) for foot in robot.feet]
    start = [np.array(model.placement(frame).translation) for frame in frames]

    def watch(state, command, controller):
        errors.append(np.linalg.norm(stack["com"].error(controller.model)))
        if len(errors) % 50 == 0 and all(foot.radius == 0.0 for foot in robot.feet):  # (balls roll)
            model.update(state.q, state.v)
            slips.extend(np.linalg.norm(model.placement(f).translation - p) for f, p in zip(frames, start, strict=True))

    run = sot.run(body, controller, 10.0, observers=[watch])
    assert run.ok
    assert run.physics.max_foot_slip_m < 1e-3
    assert max(slips, default=0.0) < 1e-3
    assert np.sqrt(np.mean(np.square(errors))) < 2e-3
    assert len(body.touches()) == (8 if name == "talos" else 4)
    weight = sum(touch.force[2] for touch in body.touches())
    np.testing.assert_allclose(weight, robot.mass * G, rtol=0.05)  # it accelerates


@pytest.mark.parametrize(
    ("name", "frame", "move"), [("talos", "torso_2_link", (-0.014, 0, 0)), ("solo12", "base_link", None)]
)
def test_a_push_is_survived_without_a_step(name, frame, move):
    """300 N for 0.1 s, forward, on Talos, and as much for its weight on Solo12."""
    robot = load(name)
    stack = standing(robot, gain=[5.0, 5.0, 10.0], contact_gain=50.0, move=move)
    impulse = 30.0 * robot.mass / load("talos").mass
    body = Simulated(robot, disturbances=[Push(at=0.9, frame=frame, impulse=[impulse, 0.0, 0.0])])
    controller, moved = sot.Controller(robot, stack, output="torque", dt=1e-3), []
    run = sot.run(body, controller, 3.5, observers=[lambda s, c, k: moved.append(k.model.com[0])])
    assert not run.fell
    assert run.physics.max_foot_slip_m < 2e-3
    assert np.abs(run.state.v).max() < 0.1
    assert max(moved) - moved[890] > 5e-3  # it did push


def test_a_ball_foot_rolls(solo):
    """A contact that knows it follows a squat ten times as well, at least, as one that takes it for a point."""
    worst = []
    for contact in (Contact, RollingContact):
        stack = standing(solo, (0.0, 0.0, 0.02), contact=contact)
        errors = []
        sot.run(
            Simulated(solo),
            sot.Controller(solo, stack, output="torque", dt=1e-3),
            2.0,
            observers=[lambda s, c, k, com=stack["com"], e=errors: e.append(np.linalg.norm(com.error(k.model)))],
        )
        worst.append(max(errors))
    assert worst[1] < 2e-5
    assert worst[1] < 0.1 * worst[0]


def test_a_push_that_is_too_much_is_a_fall(solo):
    body = Simulated(solo, disturbances=[Push(at=0.1, frame="base_link", impulse=[0.0, 8.0, 2.0])])
    run = sot.run(body, sot.Controller(solo, standing(solo), output="torque", dt=1e-3), 1.5)
    assert run.fell
    assert not run.ok


def test_velocity_stacks_run_in_it_too():
    """Talos squats at 200 Hz by velocities, with five steps of the simulation each; falls are seen there too."""
    talos = load("talos")
    feet = [Pose(foot.frame, gain=20.0) for foot in talos.feet]
    com = CenterOfMass(name="com", gain=10.0, reference=sot.sine(amplitude=[0.0, 0.02, 0.03], frequency=0.5, fade=1.0))
    stack = sot.Stack([JointLimits()], feet, [com], [BaseOrientation(gain=5.0)], [Posture(gain=1.0)])
    errors = []
    run = sot.run(
        Simulated(talos, dt=5e-3, substeps=5),
        sot.Controller(talos, stack, dt=5e-3),
        3.0,
        observers=[lambda s, c, k: errors.append(np.linalg.norm(com.error(k.model)))],
    )
    assert run.physics is not None
    assert not run.fell
    assert np.sqrt(np.mean(np.square(errors))) < 3e-3


def test_a_velocity_stack_may_fall(solo):
    body = Simulated(solo, dt=5e-3, substeps=5, disturbances=[Push(0.1, "base_link", impulse=[0.0, 8.0, 2.0])])
    run = sot.run(body, sot.Controller(solo, sot.Stack([JointLimits()], [Posture()]), dt=5e-3), 1.5)
    assert run.fell


def test_equal_runs_are_equal_to_the_bit(solo):
    """With noise, pushes and a controller."""
    push, noise = Push(0.05, "base_link", force=[3.0, 0.0, 0.0]), Sensors(encoder_noise=1e-4, velocity_noise=1e-3)
    runs = []
    for _ in range(2):
        robot = Simulated(solo, sensors=noise, disturbances=[push], seed=5)
        runs.append(sot.run(robot, sot.Controller(solo, standing(solo), output="torque", dt=1e-3), 0.2).state)
    assert runs[0].q.tobytes() == runs[1].q.tobytes()
    assert runs[0].v.tobytes() == runs[1].v.tobytes()
