"""The finger as a robot: commands, stacks of tasks that push and press, and wrong input."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sot
from sot.errors import RobotError
from sot.finger import Body, Simulation, Wall, function, line, pulse, ramps, steps
from sot.robot import Robot
from sot.robots import Finger
from sot.state import Command
from sot.tasks import Generic, Impedance, JointEffort, JointFriction, Position, Posture

CUP = Body("cup", 0.2, position=0.1, width=0.04, mu_static=0.4, mu_kinetic=0.3)


def command(tau: float | None = None, v: float | None = 0.0, **parts: float) -> Command:
    arrays = {name: np.array([value]) for name, value in parts.items()}
    tau_array = None if tau is None else np.array([tau])
    return Command(0.0, None if v is None else np.array([v]), tau=tau_array, **arrays)  # type: ignore[arg-type]


# -- a robot -----------------------------------------------------------------------------------------


def test_it_reads_writes_and_closes():
    finger = Finger(Body("finger", 0.5, drag=0.2), [Body("cup", 0.2, position=1.0)], dt=2e-3)
    assert isinstance(finger, Robot)
    for _ in range(500):
        finger.write(command(tau=0.1))
    state = finger.read()
    assert state.time == 1.0 and state.q.shape == state.v.shape == (1,)
    v = 0.1 / 0.2 * (1.0 - math.exp(-0.2 / 0.5))
    assert state.v[0] == pytest.approx(v, abs=1e-9)
    assert finger.positions() == {"finger": state.q[0], "cup": 1.0}
    assert finger.velocities() == {"finger": state.v[0], "cup": 0.0}
    finger.close()
    finger.close()
    assert finger.read().time == 1.0
    with pytest.raises(RobotError, match="closed"):
        finger.write(command(tau=0.1))
    with pytest.raises(RobotError, match="closed"):
        finger.step(0.1)


def test_time_does_not_drift():
    finger = Finger()
    for _ in range(1000):  # a thousand times 1e-3 added up is not 1
        finger.write(command(tau=0.0))
    assert finger.read().time == 1.0


def test_its_model_is_the_finger_alone():
    finger = Finger(Body("tip", 0.3, position=0.2, drag=0.7, kinetic_friction=0.4), [Body("cup", 5.0, position=1.0)])
    model = sot.Model(finger.robot)
    assert model.nv == 1 and model.mass_matrix[0, 0] == pytest.approx(0.3) and finger.robot.hands == ("tip",)
    robot = finger.robot
    assert (robot.home[0], robot.joint_damping[0], robot.joint_friction[0]) == (0.2, 0.7, 0.4)
    model.update(np.array([0.5]), np.zeros(1))
    np.testing.assert_allclose(model.placement(model.frame("tip")).translation, [0.5, 0.0, 0.0])
    assert np.isinf(finger.robot.pin_model.effortLimit[0])


def test_a_joint_impedance_command_is_a_force():
    """τ + kp (q − q_meas) + kd (v − v_meas), held for the period."""
    finger = Finger(Body("finger", 0.5, position=0.1, velocity=0.2), dt=1e-2)
    finger.write(command(tau=0.3, v=0.5, q=0.4, kp=7.0, kd=2.0))
    force = 0.3 + 7.0 * (0.4 - 0.1) + 2.0 * (0.5 - 0.2)
    assert finger.read().v[0] == pytest.approx(0.2 + force / 0.5 * 1e-2, abs=1e-12)
    assert finger.record().force[0] == pytest.approx(force, abs=1e-12)


def test_a_velocity_command_drives_a_servo():
    """F = servo (v* − v), held: the error shrinks by 1 − servo dt/m = 0.8 in each period."""
    finger = Finger(Body("finger", 0.5), dt=1e-3)
    assert finger.servo == pytest.approx(100.0)
    for _ in range(10):
        finger.write(command(v=0.3))
    assert finger.read().v[0] == pytest.approx(0.3 * (1.0 - 0.8**10), abs=1e-12)


def test_what_is_read_belongs_to_the_reader():
    finger = Finger()
    finger.read().q[:] = np.nan
    finger.read().v[:] = np.nan
    assert finger.read().q[0] == 0.0 and finger.read().v[0] == 0.0


# -- stacks of tasks ---------------------------------------------------------------------------------


def test_a_position_task_pushes_an_object():
    """To 30 cm, with the cup in the way from 8 cm on. What is missing at rest is what friction holds against it."""
    finger = Finger(Body("finger", 0.1, drag=0.5), [CUP])
    task = Posture(gain=60.0, reference=sot.move(to=[0.3], duration=1.5))
    controller = sot.Controller(finger.robot, sot.Stack([JointFriction()], [task]), output="torque", dt=1e-3)
    run = sot.run(finger, controller, duration=2.5)
    record, hold = finger.record(), 0.4 * 0.2 * 9.81
    assert run.ok and (record.v[-1] == 0.0).all()
    kp = ((1.0 - math.exp(-60.0 * 1e-3)) / 1e-3) ** 2
    assert run.final_error["posture"] == pytest.approx(record.force[-1] / (0.1 * kp), abs=1e-9)
    assert record.force[-1] <= hold and run.final_error["posture"] <= hold / (0.1 * kp)
    assert finger.positions()["cup"] == pytest.approx(finger.read().q[0] + 0.02, abs=1e-12)
    assert finger.force() == pytest.approx(record.force[-1]) and record.epochs[-1].stuck == ("finger", "cup")


@pytest.mark.parametrize("kind", ["position", "posture", "generic"])
def test_a_free_finger_follows_position_tasks(kind: str):
    """Both poles at −λ: e = e0 (1 + λ t) e^(−λ t)."""
    finger = Finger(Body("finger", 0.3))
    task: sot.Task = {
        "position": lambda: Position("finger", reference=[0.1, 0.0, 0.0], mask=["x"], gain=10.0),
        "posture": lambda: Posture(reference=[0.1], gain=10.0),
        "generic": lambda: Generic(lambda model: model.q.copy(), lambda model: np.eye(1), reference=[0.1], gain=10.0),
    }[kind]()
    controller = sot.Controller(finger.robot, sot.Stack([task]), output="torque", dt=1e-3)
    sot.run(finger, controller, duration=0.3)
    assert 0.1 - finger.read().q[0] == pytest.approx(0.1 * (1.0 + 3.0) * math.exp(-3.0), rel=0.01)
    sot.run(finger, controller, duration=1.3)
    assert finger.read().q[0] == pytest.approx(0.1, abs=1e-6)


def test_an_effort_task_holds_a_force_against_a_wall():
    finger = Finger(Body("finger", 0.1, drag=0.5), walls=[0.05], restitution=0.3)
    press = JointEffort("slide", 3.0)
    sot.run(finger, sot.Controller(finger.robot, sot.Stack([press]), output="torque"), duration=1.0)
    assert finger.force() == pytest.approx(3.0, abs=1e-12) and finger.read().q[0] == pytest.approx(0.05, abs=1e-12)
    np.testing.assert_allclose(finger.read().forces["finger"], [-3.0, 0, 0, 0, 0, 0], atol=1e-12)


def test_force_control_by_the_sensor_makes_up_for_friction_in_the_finger():
    """Friction keeps 0.6 N from the wall. τ* += k (f* − f) dt, by an observer of the run."""
    finger = Finger(Body("finger", 0.1, static_friction=0.6), walls=[0.02])
    press = JointEffort("slide", 2.0)
    controller = sot.Controller(finger.robot, sot.Stack([press]), output="torque")
    sot.run(finger, controller, duration=0.5)
    assert finger.force() == pytest.approx(1.4, abs=1e-9)
    wanted = [2.0]

    def correct(*_: object) -> None:
        wanted[0] += 20.0 * (2.0 - finger.force()) * 1e-3
        press.reference = wanted[0]

    sot.run(finger, controller, duration=1.0, observers=[correct])
    assert finger.force() == pytest.approx(2.0, abs=1e-6) and wanted[0] == pytest.approx(2.6, abs=1e-6)


def test_an_impedance_presses_with_its_spring():
    """A reference 2 cm behind the wall: K times 2 cm."""
    finger = Finger(Body("finger", 0.1), walls=[0.05])
    spring = Impedance("finger", stiffness=300.0, mask=["x"])
    spring.reference = sot.move(by=[0.07, 0.0, 0.0], duration=0.5)
    sot.run(finger, sot.Controller(finger.robot, sot.Stack([spring]), output="torque"), duration=1.5)
    assert finger.force() == pytest.approx(300.0 * 0.02, rel=1e-3)


def test_an_impedance_with_a_wanted_mass_uses_the_sensor():
    """With the measured force the finger and the cup it pushes behave as 1 kg and the cup's own mass."""
    cup = Body("cup", 0.4, position=0.0)
    finger = Finger(Body("finger", 0.1), [cup], dt=1e-4)
    heavy = Impedance("finger", stiffness=0.0, damping=1e-3, mass=1.0, mask=["x"], wrench=[2.0, 0, 0, 0, 0, 0])
    heavy.measured = lambda model, tick: finger.wrench()
    sot.run(finger, sot.Controller(finger.robot, sot.Stack([heavy]), output="torque", dt=1e-4), duration=0.1)
    assert finger.read().v[0] == pytest.approx(2.0 / 1.4 * 0.1, rel=5e-3)
    assert finger.force() == pytest.approx(0.4 * 2.0 / 1.4, rel=5e-3)


def test_a_velocity_stack_runs_on_it():
    finger = Finger(Body("finger", 0.1), [CUP])
    task = Posture(gain=16.0, reference=sot.move(to=[0.05], duration=0.5))
    run = sot.run(finger, sot.Controller(finger.robot, sot.Stack([task])), duration=1.2)
    assert run.ok and run.final_error["posture"] <= 1e-6


def test_the_rate_of_the_agent_does_not_matter_to_the_physics():
    """The same forces, held for 5 ms, at 200 Hz and at 1 kHz."""
    ends = []
    for dt, repeat in ((5e-3, 1), (1e-3, 5)):
        finger = Finger(Body("finger", 0.1, kinetic_friction=0.05), [CUP], [0.3], restitution=0.5, dt=dt)
        for k in range(200):
            for _ in range(repeat):
                finger.write(command(tau=math.sin(0.05 * k)))
        ends.append(finger.simulation.x)
    np.testing.assert_allclose(ends[0], ends[1], rtol=0.0, atol=1e-9)


# -- wrong input -------------------------------------------------------------------------------------

BAD = [math.nan, math.inf, None, "much", 1j, np.zeros(2), [], {}]


@pytest.mark.parametrize("value", BAD, ids=range(len(BAD)))
def test_a_bad_command_is_refused_and_changes_nothing(value: object):
    finger = Finger(Body("finger", 0.1, velocity=0.5))
    finger.write(command(tau=0.2))
    before = finger.read()
    one = np.zeros(1)
    for bad in (Command(0.0, None, tau=value), Command(0.0, value), Command(0.0, one, tau=one, kd=value)):
        if value is None and bad.tau is not None:
            continue  # no damping is no mistake
        with pytest.raises(RobotError):
            finger.write(bad)  # type: ignore[arg-type]
    if not isinstance(value, np.ndarray):
        with pytest.raises(RobotError):
            finger.step(value)  # type: ignore[arg-type]
    assert finger.read().time == before.time
    np.testing.assert_array_equal(finger.read().q, before.q)
    finger.write(command(tau=0.0))
    assert finger.read().time == pytest.approx(2e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mass": -1.0}, "body 'b': mass: expected a number > 0, got -1"),
        ({"mass": 0.0}, "mass"),
        ({"mass": math.nan}, "mass: expected a finite number"),
        ({"drag": -0.1}, "drag: expected a number ≥ 0"),
        ({"width": -0.1}, "width"),
        ({"position": math.inf}, "position"),
        ({"velocity": "fast"}, "velocity: expected a number, got 'fast'"),
        ({"static_friction": -1.0}, "static_friction"),
        ({"mu_kinetic": math.nan}, "mu_kinetic"),
        ({"static_friction": 1.0, "mu_static": 0.5}, "not both"),
        ({"static_friction": 1.0, "kinetic_friction": 2.0}, r"kinetic friction \(2 N\) is more than static"),
    ],
)
def test_bad_bodies_are_refused(options: dict, message: str):
    with pytest.raises(RobotError, match=message):
        Body(**{"name": "b", "mass": 1.0, **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objects": [Body("cup", 1.0, position=0.1, width=0.3)]}, "'finger' and 'cup' overlap by 0.05 m"),
        ({"objects": [Body("finger", 1.0, position=0.1)]}, "two bodies or walls are named 'finger'"),
        ({"objects": ["cup"]}, r"objects\[0\]: expected a sot.finger.Body"),
        ({"objects": CUP}, r"objects: expected a list, got Body\(name='cup'"),
        ({"walls": 0.3}, "walls: expected a list, got 0.3"),
        ({"walls": [math.nan]}, "wall: position"),
        ({"walls": [Wall(0.1), Wall(0.2)]}, "two bodies or walls are named 'wall'"),
        ({"restitution": 1.1}, "restitution: expected a number from 0 to 1, got 1.1"),
        ({"restitution": -0.1}, "restitution"),
        ({"restitution": math.nan}, "restitution"),
        ({"restitution": {("finger", "cap"): 0.5}}, "unknown body 'cap'"),
        ({"objects": [CUP], "walls": [1.0], "restitution": {("finger", "wall"): 0.5}}, "can never meet"),
        ({"dt": 0.0}, "dt"),
        ({"servo": -1.0}, "servo"),
        ({"rest_speed": 0.0}, "rest_speed"),
        ({"max_events": 0}, "max_events"),
    ],
)
def test_bad_scenes_are_refused(options: dict, message: str):
    with pytest.raises(RobotError, match=message):
        Finger(Body("finger", 0.1), **options)


def test_bad_forces_are_refused():
    simulation = Simulation(line(Body("finger", 0.1)))
    for bad in (math.nan, math.inf, "push", None, [1.0, 2.0]):
        with pytest.raises(RobotError, match="applied force"):
            simulation.run(bad, 1.0)
    for dt in (0.0, -1.0, math.nan):
        with pytest.raises(RobotError, match="dt"):
            simulation.step(1.0, dt)
    with pytest.raises(RobotError, match=r"applied force at t = 0\.\d+ s: expected a finite number, got nan"):
        simulation.run(function(lambda t: math.nan if t > 0.5 else 1.0), 1.0)
    for points in ([], [(0.0,)], [(0.0, math.nan)], [(1.0, 2.0), (1.0, 3.0)], "up"):
        with pytest.raises(RobotError, match="steps"):
            steps(points)  # type: ignore[arg-type]
    with pytest.raises(RobotError, match="not go back"):
        ramps([(1.0, 0.0), (0.5, 0.0)])
    with pytest.raises(RobotError, match="must grow"):
        pulse(1.0, 2.0, 1.0)


def test_a_motion_that_overflows_is_a_fault():
    simulation = Simulation(line(Body("finger", 1e-300)))
    with pytest.raises(RobotError, match=r"cannot be followed|not finite"), np.errstate(all="ignore"):
        simulation.run(1e300, 1e10)


def test_without_a_record_there_are_events_and_balances():
    simulation = Simulation(line(Body("finger", 0.1), [CUP]), record=False)
    with pytest.raises(RobotError, match="record=True"):
        simulation.record()
    simulation.step(1.0, 1.0)
    assert simulation.events[0].kind == "contact" and abs(simulation.balance.energy.residual) <= 1e-12
    with pytest.raises(RobotError, match="record=True"):
        simulation.record()
