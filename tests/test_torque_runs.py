"""What a run at torque level tells: contact forces, slip, normal force, torque ratio, falls."""

from __future__ import annotations

import json

import numpy as np
import pinocchio as pin
import pytest

import sot
from sot.cli import main
from sot.cli.commands import failures
from sot.entry import Tick
from sot.errors import ConfigError, SolveError, SotWarning
from sot.loop.physics import Fall, slips
from sot.robots import Kinematic, load
from sot.state import Command, State
from sot.tasks import (
    CenterOfMass,
    Contact,
    JointLimits,
    Pose,
    Posture,
    RollingContact,
    SlidingContact,
    TorqueLimits,
)

DT = 1e-3  # s
KEYS = {"max_foot_slip_m", "min_normal_force_n", "max_torque_ratio", "fell"}


def controller_of(robot, contacts=None, com=None, **options):
    contacts = [Contact(foot.frame, friction=0.5) for foot in robot.feet] if contacts is None else contacts
    com = CenterOfMass(name="com", gain=10.0) if com is None else com
    stack = sot.Stack([JointLimits(), TorqueLimits(), *contacts], [com], [Posture(gain=5.0)])
    return sot.Controller(robot, stack, output="torque", dt=DT, **options)


def weight(robot):
    return robot.mass * 9.81


# -- contact forces --------------------------------------------------------------------------------------------


def residual(controller, state, command):
    """M v̇ + h − τ − Σ Jᵀ w by pinocchio, relative to the weight."""
    model = controller.robot.pin_model
    data = model.createData()
    acceleration = (command.v - state.v) / DT
    left = pin.rnea(model, data, state.q, state.v, acceleration) - command.tau
    pin.computeJointJacobians(model, data, state.q)
    pin.updateFramePlacements(model, data)
    for name, wrench in controller.contact_forces().items():
        frame = model.getFrameId(name.removeprefix("contact_"))
        left -= pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED).T @ wrench
    return np.abs(left).max() / weight(controller.robot)


@pytest.mark.parametrize("robot", ["talos", "solo12", "g1"])
def test_forces_fit_the_command_while_a_contact_is_taken_away(robot):
    description = load(robot)
    controller = controller_of(description, com=CenterOfMass(name="com", gain=10.0, mask="z"))
    gone = f"contact_{description.feet[-1].frame}"
    state, carried, blended = State(0.0, description.home, np.zeros(controller.model.nv)), [], 0
    for tick in range(60):
        if tick == 10:
            controller.stack.remove(gone, ramp=0.04)
        command = controller.step(state)
        assert residual(controller, state, command) <= 1e-9
        blended += len(controller.phases) > 1
        carried.append(controller.contact_forces().get(gone, np.zeros(6))[2])
        state = State(DT * (tick + 1), command.q, command.v)
    assert blended >= 35
    carried = np.array(carried)
    assert carried[9] > 0.1 * weight(description)  # it carried its share, and gives it away little by little
    assert np.abs(np.diff(carried)).max() < 0.08 * weight(description)
    assert (carried[52:] == 0.0).all() and gone not in controller.contact_forces()


def test_forces_carry_the_weight_at_rest():
    talos = load("talos")
    controller = controller_of(talos)
    controller.step(State(0.0, talos.home, np.zeros(controller.model.nv)))
    forces = controller.contact_forces()
    assert sum(wrench[:3] for wrench in forces.values()) == pytest.approx([0.0, 0.0, weight(talos)], abs=1e-5)


def test_a_contact_that_replaces_another_of_its_name_adds_to_it():
    solo = load("solo12")
    controller = controller_of(solo)
    foot = solo.feet[0].frame
    state = State(0.0, solo.home, np.zeros(controller.model.nv))
    for tick in range(20):
        if tick == 5:
            controller.stack.remove(f"contact_{foot}", ramp=0.02)
            controller.stack.push(Contact(foot, friction=0.5), level=0, ramp=0.02)
        command = controller.step(state)
        assert len(controller.contact_forces()) == 4
        assert residual(controller, state, command) <= 1e-9
        state = State(DT * (tick + 1), command.q, command.v)


def test_there_are_no_forces_at_velocity_level_and_before_the_first_tick():
    solo = load("solo12")
    with pytest.raises(SolveError, match="no tick yet"):
        controller_of(solo).contact_forces()
    with pytest.raises(ConfigError, match="torque level"):
        sot.Controller(solo, sot.Stack([Contact("FL_FOOT")], [Posture()])).contact_forces()


# -- runs ------------------------------------------------------------------------------------------------------


def test_a_run_tells_slip_force_and_torque_as_its_observer_sees_them():
    """Against an observer that measures with pinocchio and the robot's own limits."""
    talos = load("talos")
    com = CenterOfMass(name="com", gain=10.0, reference=sot.sine([0.0, 0.02, 0.03], frequency=1.0, fade=0.2))
    controller = controller_of(talos, com=com)
    seen = {"slip": 0.0, "force": np.inf, "ratio": 0.0}
    data, start = talos.pin_model.createData(), {}

    def look(state, command, controller):
        pin.framesForwardKinematics(talos.pin_model, data, state.q)
        for foot in talos.feet:
            placement = data.oMf[talos.pin_model.getFrameId(foot.frame)]
            points = np.array([placement.act(point) for point in foot.points])
            slip = np.linalg.norm(points - start.setdefault(foot.frame, points), axis=1).max()
            force = placement.rotation.T @ controller.contact_forces()[f"contact_{foot.frame}"][:3]
            seen["slip"], seen["force"] = max(seen["slip"], slip), min(seen["force"], force[2])
        ratio = np.abs(command.tau[6:]) / talos.pin_model.effortLimit[6:]
        seen["ratio"] = max(seen["ratio"], ratio.max())

    run = sot.run(Kinematic(talos, dt=DT), controller, duration=0.4, observers=[look])
    assert run.physics.max_foot_slip_m == pytest.approx(seen["slip"], rel=0.05) and 1e-9 < seen["slip"] < 1e-4
    assert run.physics.min_normal_force_n == pytest.approx(seen["force"], rel=1e-9)
    assert run.physics.max_torque_ratio == pytest.approx(seen["ratio"], rel=1e-9)
    assert not run.fell and run.ok
    assert KEYS <= set(json.loads(json.dumps(run.to_json())))
    assert "did not fall" in run.summary() and "mm" in run.summary()


def test_slip_is_measured_against_a_reference_that_moves():
    """A foot on a lift does not slip; one that lags behind what it stands on does."""
    solo = load("solo12")
    lift = sot.move(by=[0.0, 0.0, 0.03, 0.0, 0.0, 0.0], duration=0.3)
    contacts = [Contact(foot.frame, friction=0.5, reference=lift) for foot in solo.feet]
    run = sot.run(Kinematic(solo, dt=DT), controller_of(solo, contacts, Pose("base_link", name="com")), duration=0.2)
    assert run.physics.max_foot_slip_m < 1e-4
    assert np.abs(run.state.q[2] - solo.home[2]) < 0.05


class Slippery(Kinematic):
    """A robot that is carried away sideways."""

    def read(self) -> State:
        state = super().read()
        state.q[1] += 0.1 * state.time  # m
        return state


def test_slip_is_what_the_robot_does_and_not_what_was_planned():
    solo = load("solo12")
    run = sot.run(Slippery(solo, dt=DT), controller_of(solo), duration=0.1)
    assert run.physics.max_foot_slip_m == pytest.approx(0.01, rel=0.3)


class Falling(Kinematic):
    """A robot that is taken down, or turned over, whatever it is told."""

    sinks, turns = 0.0, 0.0  # m/s, rad/s

    def read(self) -> State:
        state = super().read()
        q = pin.integrate(self.robot.pin_model, self.robot.home, np.r_[np.zeros(3), [self.turns * state.time, 0, 0],
                                                                        np.zeros(self.model.nv - 6)])  # fmt: skip
        q[2] -= self.sinks * state.time
        return State(state.time, q, np.zeros(self.model.nv))

    def write(self, command: Command) -> None:
        super().write(Command(command.time, np.zeros(self.model.nv)))


@pytest.mark.parametrize(
    ("sinks", "turns", "fell"),
    [(0.0, 0.0, False), (1.1, 0.0, False), (1.3, 0.0, True), (0.0, 10.0, False), (0.0, 11.0, True), (0.0, -11.0, True)],
)
def test_a_fall_is_noticed(sinks, turns, fell):
    """Solo12's base is 0.24 m above its feet: it may sink 0.12 m in 0.1 s. 60° are 1.047 rad."""
    solo = load("solo12")
    robot = Falling(solo, dt=DT)
    robot.sinks, robot.turns = sinks, turns
    run = sot.run(robot, controller_of(solo), duration=0.1)
    assert run.fell == fell == run.to_json()["fell"]
    assert ("FELL" in run.summary()) == fell
    assert ("the robot fell" in failures(run)) == fell
    assert not (run.ok and fell)


def test_turning_about_the_vertical_and_not_a_number():
    solo = load("solo12")
    model = sot.Model(solo)
    contact = Contact("FL_FOOT")
    contact.setup(model)
    fall = Fall(model, [contact])
    model.update(model.integrate(solo.home, np.r_[0, 0, 0, 0, 0, 3.0, np.zeros(12)]), np.zeros(model.nv))
    fall.look(model)
    assert not fall.fell
    q = solo.home.copy()
    q[2] = np.nan
    model.update(q, np.zeros(model.nv))
    fall.look(model)
    assert fall.fell


def test_a_contact_that_comes_or_goes_does_not_count_for_the_smallest_force():
    solo = load("solo12")
    contacts = [Contact(foot.frame, friction=0.5, min_force=0.5) for foot in solo.feet]
    controller = controller_of(solo, contacts)
    seen = []

    def step_down(state, command, controller):
        if abs(state.time - 0.01) < 1e-9:
            controller.stack.remove(contacts[0].name, ramp=0.03)
        seen.append(min(w[2] for w in controller.contact_forces().values()))

    run = sot.run(Kinematic(solo, dt=DT), controller, duration=0.06, observers=[step_down])
    assert min(seen) < 0.2 and run.physics.min_normal_force_n >= 0.5 - 1e-6


def test_an_arm_never_falls_and_velocity_level_tells_none_of_this():
    panda = load("panda")
    stack = sot.Stack([TorqueLimits()], [Posture()])
    run = sot.run(Kinematic(panda, dt=DT), sot.Controller(panda, stack, output="torque", dt=DT), duration=0.01)
    told = run.to_json()
    assert (told["fell"], told["max_foot_slip_m"], told["min_normal_force_n"]) == (None, None, None)
    assert not run.fell and "fall" not in run.summary()
    needed = pin.rnea(panda.pin_model, panda.pin_model.createData(), panda.home, np.zeros(9), np.zeros(9))
    ratio = np.abs(needed[:7] / panda.pin_model.effortLimit[:7]).max()
    assert told["max_torque_ratio"] == pytest.approx(ratio, rel=1e-6)
    run = sot.run(Kinematic(panda, dt=DT), sot.Controller(panda, sot.Stack([], [Posture()]), dt=DT), duration=0.01)
    assert run.physics is None and not run.fell and not KEYS & set(run.to_json())
    assert "fall" not in run.summary()


# -- warnings --------------------------------------------------------------------------------------------------


def test_a_free_base_without_contact_is_warned_of_and_answered():
    """The centre of mass falls freely, whatever the motors do."""
    talos = load("talos")
    with pytest.warns(SotWarning, match="no contact"):
        controller = controller_of(talos, contacts=[])
    state = State(0.0, talos.home, np.zeros(controller.model.nv))
    command = controller.step(state)
    assert residual(controller, state, command) <= 1e-9
    assert controller.model.com_jacobian @ command.v / DT == pytest.approx([0.0, 0.0, -9.81], abs=1e-6)
    assert [notice.kind for notice in controller.warnings] == ["no contact"]
    assert "warning: no contact" in str(controller.explain()) and "warning: no contact" in str(controller.report())
    with pytest.warns(SotWarning):
        run = sot.run(Kinematic(talos, dt=DT), controller_of(talos, contacts=[]), duration=0.01)
    assert "warning: no contact" in run.summary() and len(run.to_json()["warnings"]) == 1
    assert not controller.report().infeasible


@pytest.mark.filterwarnings("error")
def test_nobody_else_is_warned():
    solo = load("solo12")
    controller = controller_of(solo)
    run = sot.run(Kinematic(solo, dt=DT), controller, duration=0.01)
    assert controller.warnings == () and run.to_json()["warnings"] == [] and "warning" not in run.summary()
    assert sot.Controller(solo, sot.Stack([], [Posture()])).warnings == ()  # velocity level
    assert sot.Controller(load("panda"), sot.Stack([], [Posture()]), output="torque").warnings == ()


@pytest.mark.filterwarnings("error")
def test_a_robot_that_takes_off_is_no_surprise_but_is_told():
    solo = load("solo12")
    controller = controller_of(solo)

    def take_off(state, command, controller):
        if abs(state.time - 0.01) < 1e-9:
            for foot in solo.feet:
                controller.stack.remove(f"contact_{foot.frame}", ramp=0.005)

    run = sot.run(Kinematic(solo, dt=DT), controller, duration=0.03, observers=[take_off])
    assert run.to_json()["warnings"] == [controller.warnings[0].text] and run.ok


def test_check_tells_warnings(tmp_path, capsys, recwarn):
    file = tmp_path / "fly.yaml"
    file.write_text("robot: solo12\noutput: torque\nstack: [torque_limits, posture]\n")
    assert main(["check", str(file)]) == 0
    assert "warning: no contact" in capsys.readouterr().out
    assert main(["check", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == [
        "no contact: robot: nothing touches, and the base is free"
    ]
    assert not [warning for warning in recwarn if issubclass(warning.category, SotWarning)]


@pytest.mark.parametrize("compiled", [True, False])
def test_a_robot_with_gears_can_touch_something(compiled):
    """Panda's fingers follow each other while its hand leans on a wall: as many unknowns as joints and forces."""
    panda = load("panda")
    stack = sot.Stack([Contact("panda_hand_tcp", normal=[0.0, 0.0, 1.0])], [Posture()])
    controller = sot.Controller(panda, stack, output="torque", dt=DT, compiled=compiled)
    state = State(0.0, panda.home, np.zeros(9))
    command = controller.step(state)
    force = controller.contact_forces()["contact_panda_hand_tcp"]
    assert force.shape == (6,) and not controller.report().infeasible
    needed = pin.rnea(panda.pin_model, panda.pin_model.createData(), state.q, state.v, command.v / DT)
    assert command.tau[:7] == pytest.approx(needed[:7] - controller.model.jacobian(
        controller.model.frame("panda_hand_tcp"), "aligned").T[:7] @ force, abs=1e-9)  # fmt: skip


@pytest.mark.parametrize("kind", [Contact, SlidingContact, RollingContact])
def test_slip_is_what_a_contact_does_not_allow(kind):
    """A robot that is moved along the ground slips on contacts that hold, not on those that slide or roll."""
    solo = load("solo12")
    model, contact = sot.Model(solo), kind("FL_FOOT")
    contact.setup(model)
    contact.begin(model, Tick(0.0, DT, np.zeros(model.nv)))
    for along, off in ((0.01, 0.0), (0.01, 0.002)):
        q = solo.home.copy()
        q[:3] += [along, 0.0, off]
        model.update(q, np.zeros(model.nv))
        assert slips(contact, model) == pytest.approx([np.hypot(along, off) if kind is Contact else off], abs=1e-12)
