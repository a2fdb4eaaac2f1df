"""What a controller does with odd states, odd tasks and changes while it runs."""

from __future__ import annotations

import numpy as np
import pytest

import sot
from sot import AdaptiveGain, Controller, Stack, State, hold, move
from sot.errors import ConfigError, ModelError, RobotError, TaskError
from sot.robots import Kinematic, load
from sot.tasks import (
    CenterOfMass,
    JointAccelerationLimits,
    JointLimits,
    JointVelocityLimits,
    Pose,
    Position,
    Posture,
)

PANDA = load("panda")
HAND = "panda_hand"


def start(time=0.0, **joints):
    q = PANDA.home.copy()
    for name, value in joints.items():
        q[int(name[1:])] = value
    return State(time, q, np.zeros(9))


# -- gains, weights and masks at run time ------------------------------------------------------------


@pytest.mark.parametrize("gain", [1.0, [1.0] * 8, AdaptiveGain(near=1.0, far=1.0, slope=0.0)])
@pytest.mark.parametrize("compiled", [True, False])
def test_a_new_gain_takes_effect_at_the_next_tick(compiled, gain):
    """v = −λ e for small λ dt: one fifth of the gain, one fifth of the speed."""
    posture = Posture(gain=5.0, reference={"panda_joint1": 0.05})
    controller = Controller(PANDA, Stack([JointLimits()], [posture]), compiled=compiled, dt=1e-5)
    before = controller.step(start()).v[0]
    posture.gain = gain
    after = controller.step(start(1e-5)).v[0]
    assert before == pytest.approx(0.25, rel=1e-3)
    assert after == pytest.approx(0.05, rel=1e-3)


def test_a_gain_that_does_not_fit_is_refused_where_it_is_set():
    hand = Position(HAND)
    Controller(PANDA, Stack([], [hand]))
    for wrong in (-3.0, [1.0, 2.0], np.nan, "fast"):
        with pytest.raises(TaskError, match="gain"):
            hand.gain = wrong
    assert hand.gain == 5.0


@pytest.mark.parametrize(("what", "value"), [("weight", 2.0), ("mask", "x")])
def test_what_would_make_the_command_jump_is_refused_while_running(what, value):
    hand = Position(HAND)
    setattr(hand, what, value)  # before a controller uses it, it may change
    controller = Controller(PANDA, Stack([], [hand]))
    with pytest.raises(TaskError, match=f"{what} cannot change"):
        setattr(hand, what, value)
    del controller


# -- who owns a task ---------------------------------------------------------------------------------


def test_a_task_serves_one_controller_at_a_time():
    """The newer controller takes it over; the older one says so instead of mixing two robots' targets."""
    hand = Position(HAND)
    first = Controller(PANDA, Stack([], [hand]))
    first.step(start())
    second = Controller(PANDA, Stack([], [hand]))
    second.step(start())
    with pytest.raises(TaskError, match=r"position_panda_hand.*another controller"):
        first.step(start(1e-3))


# -- states ------------------------------------------------------------------------------------------

BAD_STATES = {
    "short q": State(0.0, np.zeros(3), np.zeros(9)),
    "short v": State(0.0, PANDA.home, np.zeros(3)),
    "NaN in q": State(0.0, np.full(9, np.nan), np.zeros(9)),
    "NaN in v": State(0.0, PANDA.home, np.full(9, np.nan)),
    "infinite q": State(0.0, np.full(9, np.inf), np.zeros(9)),
    "NaN time": State(np.nan, PANDA.home, np.zeros(9)),
}


@pytest.mark.parametrize("what", BAD_STATES)
def test_a_state_that_cannot_be_is_refused_on_the_first_tick(what):
    controller = Controller(PANDA, Stack([JointLimits(acceleration=5.0)], [Pose(HAND)], [Posture()]))
    with pytest.raises(RobotError, match="panda"):
        controller.step(BAD_STATES[what])


@pytest.mark.parametrize("what", ["short q", "NaN in q", "infinite q", "NaN time"])
def test_a_state_that_cannot_be_is_refused_on_later_ticks(what):
    controller = Controller(PANDA, Stack([JointLimits()], [Pose(HAND)], [Posture()]))
    controller.step(start())
    with pytest.raises(RobotError, match="panda"):
        controller.step(BAD_STATES[what])
    assert np.isfinite(controller.step(start(1e-3)).v).all()  # and it goes on with the next good one


@pytest.mark.parametrize("dt", [0.0, -1e-3, np.nan, np.inf, "soon"])
def test_a_period_that_cannot_be_is_refused(dt):
    controller = Controller(PANDA, Stack([], [Posture()]))
    with pytest.raises(TaskError, match="dt"):
        controller.step(start(), dt=dt)
    with pytest.raises(TaskError, match="dt"):
        Controller(PANDA, Stack([], [Posture()]), dt=dt)


def test_arguments_of_a_controller_are_checked():
    stack = Stack([], [Posture()])
    for arguments in ({"solver": "magic"}, {"output": "torques"}, {"backend": "magic"}):
        with pytest.raises(ConfigError, match="Available"):
            Controller(PANDA, stack, **arguments)
    for arguments in ({"max_iterations": 0}, {"budget": -1.0}, {"budget": np.nan}, {"max_iterations": "a"}):
        with pytest.raises(TaskError, match=next(iter(arguments))):
            Controller(PANDA, stack, **arguments)
    with pytest.raises(ConfigError, match="description"):
        Controller("panda", stack)
    with pytest.raises(ConfigError, match="Stack"):
        Controller(PANDA, [[Posture()]])


# -- a user's code -----------------------------------------------------------------------------------


class Own(sot.Task):
    """A task whose error is whatever the test wants."""

    kind = "own"

    def __init__(self, result, matrix=None):
        super().__init__()
        self.result, self.matrix = result, np.eye(9)[:1] if matrix is None else matrix

    def setup(self, model):
        self._fit(1)

    def error(self, model):
        if isinstance(self.result, Exception):
            raise self.result
        return self.result

    def jacobian(self, model):
        return self.matrix


@pytest.mark.parametrize(
    "task",
    [
        Own(ValueError("no camera")),
        Own(None),
        Own("far"),
        Own(np.zeros(2)),
        Own(np.zeros(1), np.eye(3)),
        Own(np.zeros(1), 1j * np.eye(9)[:1]),
    ],
    ids=["raises", "None", "text", "too long", "too narrow", "complex"],
)
def test_the_fault_of_a_users_task_is_named(task):
    controller = Controller(PANDA, Stack([JointLimits()], [task], [Posture()]))
    with pytest.raises(TaskError, match="own"):
        controller.step(start())


def test_a_users_task_without_fault_runs():
    controller = Controller(PANDA, Stack([JointLimits()], [Own(np.array([0.1]))], [Posture()]), dt=1e-5)
    assert controller.step(start()).v[0] == pytest.approx(-0.5, rel=1e-3)  # −λ e


def test_a_reference_that_does_not_fit_is_refused_where_it_is_set():
    hand = Position(HAND, name="hand")
    controller = Controller(PANDA, Stack([], [hand]))
    controller.step(start())
    for wrong in (hold([1.0, 2.0]), move(to=[0.1], duration=1.0)):
        with pytest.raises(TaskError, match=r"^hand"):
            hand.reference = wrong
    assert np.allclose(controller.step(start(1e-3)).v, 0.0, atol=1e-12)  # still holds


def test_a_push_that_cannot_be_leaves_everything_as_it_was():
    stack = Stack([JointLimits()], [Posture()])
    controller = Controller(PANDA, stack)
    controller.step(start())
    stack.push(Pose("nowhere"))
    with pytest.raises(ModelError, match=r"pose_nowhere.*nowhere"):
        controller.step(start(1e-3))
    assert stack.names() == ["joint_limits", "posture"]
    controller.step(start(2e-3))
    stack.push(Pose(HAND))
    controller.step(start(3e-3))
    assert "pose_panda_hand" in stack.names()


# -- limits that contradict each other ---------------------------------------------------------------


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("order", [1, -1])
def test_what_a_motor_cannot_do_comes_first_in_any_order(order, compiled):
    """Moving at 1 rad/s, with limits of 0.1 rad/s and 1 rad/s²: it slows down at 1 rad/s²."""
    limits = [JointVelocityLimits(limit=0.1), JointAccelerationLimits(limit=1.0)][::order]
    controller = Controller(PANDA, Stack(limits, [Posture()]), dt=1e-3, compiled=compiled)
    v = np.zeros(9)
    v[0] = 1.0
    command = controller.step(State(0.0, PANDA.home, v))
    assert command.v[0] == pytest.approx(0.999)
    assert controller.counters.infeasible == 1


@pytest.mark.parametrize("compiled", [True, False])
def test_a_joint_outside_its_limits_counts_as_infeasible_until_it_is_back(compiled):
    controller = Controller(PANDA, Stack([JointLimits()], [Posture()]), dt=1e-3, compiled=compiled)
    controller.step(start(q0=3.2))
    assert controller.counters.infeasible == 1
    assert controller.report().infeasible
    controller.step(start(1e-3))
    assert controller.counters.infeasible == 1
    assert not controller.report().infeasible


# -- robots and back ends ----------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["sot", "daqp", "quadprog"])
def test_a_stack_without_limits_runs_with_every_back_end(backend):
    ur5 = load("ur5")
    stack = Stack([], [Position("tool0", reference=move(by=[0.0, 0.1, 0.0], duration=0.5))], [Posture(weight=1e-3)])
    controller = Controller(ur5, stack, solver="weighted", backend=backend, dt=5e-3)
    run = sot.run(Kinematic(ur5, dt=5e-3), controller, duration=1.0)
    assert run.final_error["position_tool0"] < 1e-3


def test_a_robot_without_mass_runs(tmp_path):
    """Kinematics need no inertia; the centre of mass does, and says so."""
    urdf = tmp_path / "ghost.urdf"
    urdf.write_text(
        '<robot name="ghost"><link name="base"/><link name="tip"/><joint name="j" type="revolute"><parent link="base"/>'
        '<child link="tip"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>'
    )
    ghost = load(urdf)
    controller = Controller(ghost, Stack([JointLimits()], [Posture(reference={"j": 0.3})]), dt=5e-3)
    run = sot.run(Kinematic(ghost, dt=5e-3), controller, duration=2.0)
    assert run.final_error["posture"] < 1e-4
    with pytest.raises(ModelError, match="no mass"):
        Controller(ghost, Stack([], [CenterOfMass()]))
