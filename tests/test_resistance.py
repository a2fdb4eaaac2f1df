"""What stops an arm is felt: how strongly, in which direction, and by which name."""

from __future__ import annotations

import numpy as np
import pytest

import sot
from sot.description.slider import stylus as three_slides
from sot.diagnosis.holding import Holding
from sot.errors import ConfigError, TaskError
from sot.haptic import Device, Hand, Record, Resistance, Teleoperation
from sot.robots import Haptic, Kinematic, load
from sot.state import State
from sot.tasks import Collisions, JointLimits, Orientation, Position, Posture

DT, S, LAMBDA, G, END = 1e-3, 2.0, 50.0, 4.0, 0.02  # s, –, 1/s, N per m/s, m
RATE = (1.0 - np.exp(-LAMBDA * DT)) / DT  # what λ is for a tick of finite length


def gantry() -> sot.Description:
    """An arm of three sliding joints, whose first one ends at 2 cm."""
    robot = three_slides("gantry", 1.0)
    robot.pin_model.upperPositionLimit[:] = [END, 1.0, 1.0]
    robot.pin_model.lowerPositionLimit[:] = -1.0
    return robot


def led(
    keep: str = "", output: str = "velocity", gain: float = G, pace: float = LAMBDA, energy: float = 1e-3, **options
) -> tuple[sot.Controller, Teleoperation, Resistance]:
    """A gantry that follows a stylus: its controller, what they tell each other, what is felt."""
    robot = gantry()
    lead = Teleoperation(robot, "gantry", **{"scale": S, "feedforward": False, "leash": 0.5, **options})
    hand = Position("gantry", name="hand", gain=pace, reference=sot.follow(lead.hand))
    before = [[Position("gantry", name="keep", mask=keep)]] if keep else []
    stack = sot.Stack([JointLimits()], *before, [hand])
    arm = sot.Controller(robot, stack, output=output, dt=DT)
    return arm, lead, Resistance(arm, "hand", lead, gain=gain, energy=energy)


def together(arm, lead, felt, hand: Hand, seconds: float, **device) -> tuple[Haptic, Record]:
    stylus = Haptic(Device(**{"damping": 3.0, "quantum": 0.0, **device}), hand=hand, dt=DT)
    touch = sot.Controller(stylus.robot, sot.Stack([felt]), output="torque", dt=DT)
    record, pairs = Record(stylus), [(Kinematic(arm.robot, dt=DT), arm), (stylus, touch)]
    sot.run_together(pairs, seconds, exchange=lead.exchange_arm_first, observers=[record])
    return stylus, record


def slow(target: list[float]) -> Hand:
    return Hand(sot.move(to=target, duration=1.0), stiffness=200.0, damping=10.0)


def test_a_joint_limit_is_felt_at_rest_by_the_closed_form_and_free_motion_is_not():
    """f = g λ d, d how far the target is behind the limit; the spring of the hand balances it."""
    arm, lead, felt = led()
    hand = Hand(sot.move(to=[0.03, 0.01, 0.0], duration=1.0), stiffness=200.0)
    stylus, record = together(arm, lead, felt, hand, 1.6)
    free = S * record.position[:, 0] < 0.9 * END
    assert np.abs(lead.error).max() > 0.005
    assert np.abs(record.force[free]).max() < 1e-12 and record.velocity[free].max() > 0.02  # it lags, and none is felt
    x, force = stylus.truth().q, stylus.force
    np.testing.assert_allclose(force, [-G * RATE * (S * x[0] - END), 0.0, 0.0], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(200.0 * (0.03 - x[0]), -force[0], rtol=1e-6)
    assert felt.causes() == {"joint_limits": pytest.approx(np.linalg.norm(force))}
    assert felt.why() == f"{-force[0]:.2f} N: joint_limits {-force[0]:.2f} N (joint_limits: upper position limit of x)"
    steps = np.abs(np.diff(record.force[:, 0]))
    assert steps.max() < 1.5 * felt.rendered()[0] * DT * np.abs(record.velocity).max()  # nothing jumps


@pytest.mark.parametrize("pace", [5.0, LAMBDA])
def test_the_loop_gives_out_no_energy_and_settles(pace):
    """A quick press and a release: the hand has never got back more than it gave, and in the end all is lost.

    A hand that lags far behind is stopped when the stylus is far beyond: what comes out of that is bounded too.
    """
    arm, lead, felt = led(pace=pace, gain=G * LAMBDA / pace)
    press = Hand(lambda t: [0.03 * min(t / 0.1, 1.0), 0.0, 0.0], stiffness=300.0, release=0.6)
    _, record = together(arm, lead, felt, press, 1.5)
    works = record.works
    assert np.abs(record.force).max() > (3.0 if pace == LAMBDA else 1.0)
    assert works["motor"].max() < 1e-3 + record.energy["made"].max() + 1e-6
    assert (works["hand"] - works["kinetic"]).min() > -1e-9
    assert (works["lost"] - works["motor"]).min() > -1e-9  # what comes out of the motors goes into the device's damping
    assert works["kinetic"][-1] < 1e-6
    assert np.ptp(record.position[-100:], axis=0).max() < 1e-3 and np.abs(record.force[-100:]).max() < 1e-9
    assert np.ptp(record.position[500:599, 0]) < 1e-5  # at rest in between


def test_a_task_before_the_hand_is_felt_by_its_name():
    """The gantry's y is kept by a task: the parts are along x and y, and sum up to the force."""
    arm, lead, felt = led(keep="y")
    stylus, _ = together(arm, lead, felt, slow([0.03, 0.01, 0.0]), 1.6)
    x, force = stylus.truth().q, stylus.force
    np.testing.assert_allclose(force[:2], [-G * RATE * (S * x[0] - END), -G * RATE * S * x[1]], rtol=1e-5)
    size = np.linalg.norm(force)
    expected = {"joint_limits": force[0] ** 2 / size, "keep": force[1] ** 2 / size}
    assert felt.causes() == {name: pytest.approx(newtons, rel=1e-6) for name, newtons in expected.items()}
    assert sum(felt.causes().values()) == pytest.approx(size)


def test_at_torque_level_the_law_has_a_stiffness():
    """f = g Kp d, g in kg."""
    arm, lead, felt = led(output="torque", gain=0.1)
    stylus, _ = together(arm, lead, felt, slow([0.03, 0.0, 0.0]), 1.6)
    x = stylus.truth().q[0]
    assert stylus.force[0] == pytest.approx(-0.1 * RATE**2 * (S * x - END), rel=1e-5)
    assert list(felt.causes()) == ["joint_limits"] and stylus.force[0] < -1.0


@pytest.fixture(scope="module")
def panda() -> sot.Description:
    return load("panda")


def test_a_wall_pushes_back_along_its_normal(panda):
    """The hand is led into a box, with a stylus on a path; the box's face is across x."""
    lead = Teleoperation(panda, "panda_hand_tcp", scale=3.0, feedforward=False)
    hand = Position("panda_hand_tcp", name="hand", gain=LAMBDA, reference=sot.follow(lead.hand))
    wall = sot.Obstacle("wall", box=[0.1, 0.8, 0.8], at=[0.60, 0.0, 0.4])  # m
    keep_off = Collisions(margin=0.02, obstacles=[wall], self_collision=False, only=["wall"])
    upright = Orientation("panda_hand_tcp", name="upright")
    stack = sot.Stack([JointLimits(), keep_off], [upright], [hand], [Posture()])
    arm = sot.Controller(panda, stack, dt=DT)
    felt, robot = Resistance(arm, "hand", lead, gain=G), Kinematic(panda, dt=DT)
    stylus = sot.Controller(three_slides("pen", 0.2), sot.Stack([felt]), output="torque", dt=DT)
    for k in range(1200):
        x = np.array([min(0.1 * k * DT, 0.08), 0.0, 0.0])
        state, pen = robot.read(), State(k * DT, x, np.zeros(3))
        lead.exchange([pen, state])
        robot.write(arm.step(state))
        stylus.step(pen)
        if k == 300:
            assert lead.error[0] < -0.004 and felt.causes() == {} and felt.why() == "nothing is in the way"
    np.testing.assert_allclose(felt.force, G * RATE * lead.error, atol=0.02)  # at rest
    along = felt.force / np.linalg.norm(felt.force)
    assert felt.force[0] < -2.0 and along[0] < -0.95
    causes = felt.causes()
    assert next(iter(causes)) == "collisions" and sum(causes.values()) == pytest.approx(np.linalg.norm(felt.force))
    assert "wall" in felt.why()


def test_parts_add_up_and_vanish_with_whom_they_blame(panda):
    """For random targets out of reach of slow joints: in both meanings, and without the one that is blamed."""
    random = np.random.default_rng(3)
    for solver in ("hierarchical", "weighted"):
        for _ in range(5):
            goal = random.uniform(-3.0, 3.0, 3)
            found = {}
            for bounded in (True, False):
                slow = [JointLimits()] if bounded else []
                hand = Position("panda_hand", name="hand", gain=10.0, reference=goal)
                rigid = Orientation("panda_hand", name="rigid")
                stack = sot.Stack(slow, [rigid], [hand], [Posture(weight=1e-4)])
                controller = sot.Controller(panda, stack, solver=solver, dt=DT)
                controller.step(State(0.0, panda.home, np.zeros(9)))
                holding = Holding(controller, "hand")
                found[bounded] = holding.residual(), holding.parts()
                assert "reach" not in found[bounded][1]  # the names alone add up
                np.testing.assert_allclose(sum(found[bounded][1].values()), found[bounded][0], atol=1e-7)
            assert np.linalg.norm(found[True][1]["joint_limits"]) > 0.1
            assert "joint_limits" not in found[False][1]
            if solver == "hierarchical":
                assert np.linalg.norm(found[False][0]) < 1e-8


@pytest.mark.parametrize("output", ["velocity", "torque"])
def test_of_two_limits_the_tighter_one_is_blamed(output):
    robot = gantry()
    hand = Position("gantry", name="hand", gain=20.0, reference=[0.1, 0.0, 0.0])
    limits = [JointLimits(name="wide"), JointLimits(name="narrow", margin=0.004)]
    for order in (limits, limits[::-1]):
        controller = sot.Controller(robot, sot.Stack(order, [hand]), output=output, dt=DT)
        controller.step(State(0.0, np.array([END - 0.004, 0.0, 0.0]), np.zeros(3)))
        holding = Holding(controller, "hand")
        assert holding.residual()[0] < -1.0
        assert {name: part.tolist() for name, part in holding.parts().items()} == {
            "narrow": pytest.approx(holding.residual().tolist())
        }


def test_what_no_joint_can_do_is_out_of_reach():
    """A pendulum in the y–z plane: nobody but its own make is in the way of x."""
    robot = load("double_pendulum")
    tip = robot.pin_model.frames[robot.pin_model.nframes - 1].name
    q = np.array([0.3, 0.8])
    model = sot.Model(robot)
    model.update(q, np.zeros(2))
    frame = model.frame(tip)
    place, J = np.array(model.placement(frame).translation), model.jacobian(frame, "aligned")[:3]
    across = np.linalg.svd(J)[0][:, 2]
    hand = Position(tip, name="hand", gain=1.0, reference=place + 0.1 * across)
    controller = sot.Controller(robot, sot.Stack([], [hand]), dt=DT)
    controller.step(State(0.0, q, np.zeros(2)))
    holding = Holding(controller, "hand")
    np.testing.assert_allclose(holding.residual(), -0.1 * across, rtol=1e-3, atol=1e-9)
    (name, part), = holding.parts().items()
    assert name == "reach"
    np.testing.assert_allclose(part, holding.residual())


@pytest.mark.parametrize("mode", ["position", "rate"])
@pytest.mark.parametrize("feedforward", [True, False])
def test_the_bound_counts_what_the_force_does(mode, feedforward):
    """Against differences of the force at a hand that stands at its limit."""
    options = {"mode": mode, "feedforward": feedforward, "dead_zone": 0.0, "rate": 4.0}
    pen = three_slides("pen", 0.2)

    def force(x: float, v: float) -> float:
        arm, lead, felt = led(energy=np.inf, **options)
        touch = sot.Controller(pen, sot.Stack([felt]), output="torque", dt=DT)
        for k, (place, speed) in enumerate([(0.0, 0.0), (0.03, 0.0), (x, v)]):
            now, at = State(k * DT, np.array([place, 0, 0]), np.array([speed, 0, 0])), np.array([END, 0, 0])
            lead.exchange([now, State(k * DT, at, np.zeros(3))])
            arm.step(State(k * DT, at, np.zeros(3)))
            tau = touch.step(now).tau
        return float(tau[0])

    h = 1e-4
    at_rest, rendered = force(0.03, 0.0), led(**options)[2].rendered()
    K, B = -(force(0.03 + h, 0.0) - at_rest) / h, -(force(0.03, h) - at_rest) / h
    if mode == "position" or feedforward:  # in rate mode the target itself moves on by r d dt in a tick
        assert K == pytest.approx(rendered[0] + (G * RATE * 4.0 * DT if mode == "rate" else 0.0), rel=1e-6)
    assert B == pytest.approx(rendered[1], abs=1e-6)
    assert rendered[0] > 0.0


def test_a_device_refuses_what_it_cannot_render():
    arm, lead, felt = led(feedforward=True)
    with pytest.raises(ConfigError, match=r"'resistance': K = 390.2 N/m with B = 8 N·s/m is past the passive bound"):
        together(arm, lead, felt, Hand([0.0, 0.0, 0.0]), 0.01)


def test_a_cap_keeps_the_direction_and_an_open_clutch_is_not_felt():
    arm, lead, felt = led(keep="y", clutch=lambda t: t < 0.8)
    felt.cap = 0.5
    _, record = together(arm, lead, felt, slow([0.03, 0.01, 0.0]), 1.0)
    before = record.force[780]
    assert np.linalg.norm(before) == pytest.approx(0.5)
    x = record.position[779]
    wanted = np.array([S * x[0] - END, S * x[1], 0.0])
    np.testing.assert_allclose(before / 0.5, -wanted / np.linalg.norm(wanted), atol=1e-3)
    assert not record.force[805:].any()
    assert felt.causes() == {}


def test_mistakes_are_told(panda):
    arm, lead, felt = led()
    with pytest.raises(TaskError, match=r"the arm has no command yet; run_together takes it before the stylus"):
        touch = sot.Controller(three_slides("pen", 0.2), sot.Stack([felt]), output="torque", dt=DT)
        touch.step(State(0.0, np.zeros(3), np.zeros(3)))
    with pytest.raises(TaskError, match=r"unknown task 'hnad'; did you mean 'hand'"):
        Resistance(arm, "hnad", lead, gain=1.0)
    with pytest.raises(TaskError, match=r"'joint_limits' is no task"):
        Resistance(arm, "joint_limits", lead, gain=1.0)
    with pytest.raises(TaskError, match=r"resistance: gain"):
        Resistance(arm, "hand", lead, gain=np.nan)
    tasks = [Position("panda_hand", relative_to="panda_link0", name="seen"), Posture(name="rest")]
    for solver, name, error in (
        ("nullspace", "seen", "'nullspace' has no multipliers"),
        ("hierarchical", "seen", "'seen': expected a Position or Pose in the axes of the world"),
        ("hierarchical", "rest", "'rest': expected a Position or Pose"),
    ):
        controller = sot.Controller(panda, sot.Stack([], *[[task] for task in tasks]), solver=solver, dt=DT)
        with pytest.raises((TaskError, ConfigError), match=error):
            Resistance(controller, name, lead, gain=1.0)


def test_where_the_hand_leaves_the_stack_nothing_is_felt():
    arm, lead, felt = led()
    stylus, _ = together(arm, lead, felt, Hand([0.05, 0.0, 0.0]), 0.2)
    assert np.linalg.norm(felt.force) > 0.1
    arm.stack.remove("hand")
    touch = sot.Controller(stylus.robot, sot.Stack([felt]), output="torque", dt=DT)
    pairs = [(Kinematic(arm.robot, dt=DT), arm), (stylus, touch)]
    sot.run_together(pairs, 0.01, exchange=lead.exchange_arm_first)
    assert not felt.force.any() and felt.why() == "nothing is in the way"


def test_a_gain_past_the_bound_is_refused_when_it_is_set():
    arm, lead, felt = led()
    stylus = Haptic(Device(damping=3.0), dt=DT)
    touch = sot.Controller(stylus.robot, sot.Stack([felt]), output="torque", dt=DT)
    sot.run_together([(Kinematic(arm.robot, dt=DT), arm), (stylus, touch)], 0.01, exchange=lead.exchange_arm_first)
    with pytest.raises(ConfigError, match="'resistance': K ="):
        felt.gain = 400.0
    assert felt.gain == G
