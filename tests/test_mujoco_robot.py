"""`sot.robots.Mujoco`: commands, motors, contacts, mistakes, and stacks that run in it."""

from __future__ import annotations

import functools
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import sot
from sot.errors import ConfigError, RobotError
from sot.lie import as_rotation
from sot.model import Model
from sot.robot import Robot
from sot.robots import load
from sot.simulation.actuators import Actuators
from sot.simulation.disturbances import ExtraMass, FrictionChange, Push
from sot.state import Command
from sot.tasks import CenterOfMass, Contact, JointLimits, Orientation, Pose, Posture, TorqueLimits

pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'sot[mujoco]'")
from sot.robots.mujoco import Mujoco

GRAVITY = 9.81
BLOCK = """<robot name="block"><link name="block"><inertial><mass value="2"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""


@pytest.fixture(scope="module")
def block(tmp_path_factory):
    """A flat block on four corners."""
    path = tmp_path_factory.mktemp("block") / "block.urdf"
    path.write_text(BLOCK)
    corners = [[x, y, 0.0] for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    return load(path, root="free_flyer", feet=[{"frame": "block", "points": corners}])


def nothing(robot):
    return Command(0.0, np.zeros(robot.pin_model.nv), tau=np.zeros(robot.pin_model.nv))


def run(robot, command, seconds):
    for _ in range(round(seconds / robot.dt)):
        robot.write(command)
    return robot.read()


# -- commands and motors -------------------------------------------------------------------------------------


def test_it_is_a_robot():
    robot = Mujoco(load("solo12"))
    assert isinstance(robot, Robot)
    first, again = robot.read(), robot.read()
    assert first.time == 0.0 and (first.q == again.q).all() and first.q is not again.q
    robot.write(nothing(robot.robot))
    assert robot.read().time == robot.dt and not (robot.read().q == first.q).all()
    robot.close()
    robot.close()
    assert robot.read().time == robot.dt
    with pytest.raises(RobotError, match="closed"):
        robot.write(nothing(robot.robot))


def test_same_run_twice():
    """To the bit."""
    ends = [run(Mujoco(load("solo12")), nothing(load("solo12")), 0.3) for _ in range(2)]
    assert (ends[0].q == ends[1].q).all() and (ends[0].v == ends[1].v).all()


def test_motors_have_limits_and_joints_without_them_take_nothing():
    panda = load("panda")
    robot, nv = Mujoco(panda, ground=False), panda.pin_model.nv
    robot.write(Command(0.0, np.zeros(nv), tau=np.full(nv, 1e6)))
    limit = np.where(panda.actuated, panda.pin_model.upperEffortLimit, 0.0)
    assert robot.torque == pytest.approx(limit)
    solo = load("solo12")
    robot = Mujoco(solo, ground=False)
    robot.write(Command(0.0, np.zeros(18), tau=np.full(18, 1e6)))
    assert not robot.torque[:6].any() and (robot.torque[6:] == solo.pin_model.upperEffortLimit[6:]).all()


def test_stiffness_acts_at_every_step():
    """A spring too stiff for 10 ms steps is stable in ten steps of 1 ms."""
    ur5 = load("ur5")
    nv, goal = 6, ur5.home + 0.1
    command = Command(0.0, np.zeros(nv), goal, np.zeros(nv), np.full(nv, 20.0), np.full(nv, 1.0))
    free = Actuators(limits=False)
    fine = Mujoco(ur5, 1e-3, ground=False, actuators=free)
    coarse = Mujoco(ur5, 1e-2, ground=False, substeps=10, actuators=free)
    assert run(coarse, command, 0.5).q == pytest.approx(run(fine, command, 0.5).q, abs=1e-12)


@pytest.mark.parametrize("name", ["panda", "tiago"])
def test_velocities_are_followed(name):
    """By a servo: within 0.01 rad of where the velocity leads, on a fixed and on a rolling base."""
    description = load(name)
    model, robot = Model(description), Mujoco(load(name), ground=False)
    v = np.where(description.actuated, 0.1, 0.0)
    for mimic in description.mimics:
        v[model.joint(mimic.joint).v] = mimic.ratio * v[model.joint(mimic.of).v]
    state = run(robot, Command(0.0, v), 0.5)
    inside = model.integrate(description.home, 0.5 * v)
    kept = (inside > model.pin.lowerPositionLimit) & (inside < model.pin.upperPositionLimit)
    free = [joint for joint in model.joints.values() if kept[joint.q].all()]
    where = np.concatenate([np.arange(joint.v.start, joint.v.stop) for joint in free])
    assert where.size >= 7
    assert np.abs(model.difference(state.q, inside))[where].max() < 0.01
    assert np.abs(state.v - v)[where].max() < 0.01


def test_joints_that_follow_others_do():
    """Panda's fingers, the second pulled by the first alone: 1e-4 m."""
    panda = load("panda")
    robot, model = Mujoco(panda, ground=False), Model(panda)
    first, second = (model.joint(f"panda_finger_joint{i}") for i in (1, 2))
    v = np.zeros(model.nv)
    v[first.v] = 0.02
    worst = 0.0
    for _ in range(1000):
        robot.write(Command(0.0, v))
        q = robot.read().q
        worst = max(worst, abs(q[first.q][0] - q[second.q][0]))
    assert q[first.q][0] - panda.home[first.q][0] == pytest.approx(0.02, abs=2e-3)
    assert worst < 1e-4


# -- contacts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("friction", "slides"), [(0.5, False), (0.2, True)])
def test_block_on_a_slope(block, friction, slides):
    """Momentum is what gravity and contacts give (1e-9); forces are in their cones; it stays below the friction angle
    (creeping less than 0.1 mm/s) and slides above it, with g (sin − μ cos) within 3 %: MuJoCo lets what slides hop."""
    angle = 0.3  # rad; tan is 0.31
    robot = Mujoco(block, bodies=False, ground=(0.0, angle), friction=friction)
    start = run(robot, nothing(block), 0.2)
    impulse, normal = np.zeros(3), np.array([np.sin(angle), 0.0, np.cos(angle)])
    for _ in range(500):
        robot.write(nothing(block))
        impulse[2] -= 1e-3 * block.mass * GRAVITY
        for touch in robot.touches():
            impulse += 1e-3 * touch.force
            across = np.linalg.norm(touch.force - (touch.force @ normal) * normal)
            assert across <= friction * (touch.force @ normal) + 1e-9
            assert touch.normal == pytest.approx(normal)
    end = robot.read()
    gained = turned(end) @ end.v[:3] - turned(start) @ start.v[:3]
    assert block.mass * gained == pytest.approx(impulse, abs=1e-9)
    down = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    expected = 0.5 * GRAVITY * (np.sin(angle) - friction * np.cos(angle)) if slides else 0.0
    assert gained @ down == pytest.approx(expected, rel=0.03, abs=1e-6)
    assert slides or np.abs(end.q[:3] - start.q[:3]).max() < 5e-5


def turned(state):
    return as_rotation(state.q[3:7])


def test_friction_can_change(block):
    ice = FrictionChange(at=0.2, value=0.2)
    robot = Mujoco(block, bodies=False, ground=(0.0, 0.3), friction=0.5, disturbances=[ice])
    assert np.linalg.norm(run(robot, nothing(block), 0.2).v) < 1e-3
    assert np.linalg.norm(run(robot, nothing(block), 0.5).v) > 0.4


def test_a_push_is_an_impulse(block):
    """In the air: momentum is force times time."""
    push = Push(at=0.05, frame="block", impulse=[3.0, 0.0, 0.0], duration=0.0105)  # no whole number of steps
    robot = Mujoco(block, bodies=False, ground=False, disturbances=[push])
    state = run(robot, nothing(block), 0.1)
    assert (turned(state) @ state.v[:3])[0] * block.mass == pytest.approx(3.0, rel=1e-9)
    robot = Mujoco(block, bodies=False, ground=False)
    robot.external[:3] = [30.0, 0.0, 0.0]
    assert run(robot, nothing(block), 0.1).v[0] * block.mass == pytest.approx(3.0, rel=1e-9)


def test_it_stands_on_a_box_and_touches_with_its_body(block):
    step = sot.Obstacle("step", box=[1.0, 1.0, 0.2], at=[0.0, 0.0, 0.1])
    q = block.home.copy()
    q[2] = 0.25
    robot = Mujoco(block, bodies=False, q=q, obstacles=[step])
    assert run(robot, nothing(block), 0.5).q[2] == pytest.approx(0.2, abs=1e-4)
    assert {touch.thing for touch in robot.touches()} == {"step"}
    solo = load("solo12")
    robot = Mujoco(solo)
    run(robot, nothing(solo), 1.0)  # limp: it falls on more than its feet
    assert {touch.name for touch in robot.touches()} - {foot.frame for foot in solo.feet}


def test_a_viewer_shows_what_happens(block):
    push = Push(at=0.0, frame="block", force=[1.0, 0.0, 0.0], duration=1.0)
    step = sot.Obstacle("step", box=[1.0, 1.0, 0.2], at=[2.0, 0.0, 0.1])
    robot = Mujoco(block, bodies=False, ground=(0.0, 0.1), obstacles=[step], disturbances=[push])
    run(robot, nothing(block), 0.05)
    names = {drawing.name for drawing in robot.sketch(Model(block))}
    assert {"step", "ground", "push 0", "touch 0", "touch 3"} <= names


def test_the_page_of_the_docs_runs(capsys):
    text = (Path(__file__).parents[1] / "docs" / "mujoco.md").read_text(encoding="utf-8")
    names = {}
    exec(compile(re.search(r"```python\n(.*?)```", text, re.S).group(1), "mujoco.md", "exec"), names)
    assert names["run"].final_error["com"] < 1e-3 and not names["run"].fell


# -- mistakes ------------------------------------------------------------------------------------------------


def test_bad_commands_change_nothing():
    solo = load("solo12")
    robot, zero = Mujoco(solo), np.zeros(18)
    bad = np.array([np.nan, *np.zeros(17)])
    for command in (
        Command(0.0, bad),
        Command(0.0, zero, tau=bad),
        Command(0.0, np.zeros(3)),
        Command(0.0, zero, kp=zero),
        Command(0.0, zero, solo.home, kp=zero - 1.0),
        None,
    ):
        with pytest.raises(RobotError, match="solo12"):
            robot.write(command)
        assert robot.read().time == 0.0 and (robot.read().q == solo.home).all()
    robot.external = bad
    with pytest.raises(RobotError, match="external"):
        robot.write(nothing(solo))


def test_divergence_is_an_error_with_the_last_states(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    robot = Mujoco(load("solo12"))
    for _ in range(3):
        robot.write(nothing(robot.robot))
    robot.external[6] = 1e12
    with pytest.raises(RobotError, match="diverged") as caught:
        robot.write(nothing(robot.robot))
    assert [state.time for state in caught.value.states] == pytest.approx([0.0, 1e-3, 2e-3, 3e-3])
    assert np.isfinite(robot.read().q).all()
    with pytest.raises(RobotError, match="closed"):
        robot.write(nothing(robot.robot))
    assert not list(Path(tmp_path).iterdir())  # MuJoCo would write a log file


def test_what_cannot_be_simulated_is_said():
    with pytest.raises(ConfigError, match="joints without inertia: "):
        Mujoco(load("romeo"))
    with pytest.raises(ConfigError, match="'ball' moves"):
        Mujoco(load("ur5"), obstacles=[sot.Obstacle("ball", box=[1, 1, 1], velocity=[1, 0, 0])])
    with pytest.raises(ConfigError, match="extra_mass"):
        Mujoco(load("ur5"), disturbances=[ExtraMass(at=0.0, frame="tool0", mass=1.0)])
    with pytest.raises(ConfigError, match="description"):
        Mujoco("ur5")
    for wrong in ({"dt": 0.0}, {"dt": np.nan}, {"softness": -1.0}, {"q": [0.0]}, {"v": np.full(6, np.inf)}):
        with pytest.raises(RobotError):
            Mujoco(load("ur5"), **wrong)


def test_without_mujoco_one_sentence_says_how_to_get_it(monkeypatch):
    for module in [name for name in sys.modules if name.startswith("sot.mujoco_door")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(RobotError, match=r"pip install 'sot\[mujoco\]'"):
        Mujoco(load("ur5"))


# -- stacks --------------------------------------------------------------------------------------------------


@functools.cache
def squat(name, amplitude, min_force, **options):
    """The stack of the example in MuJoCo: the run, CoM errors and the robot."""
    robot = load(name)
    com = CenterOfMass(name="com", gain=10.0)
    com.reference = sot.sine(amplitude=amplitude, frequency=0.5, fade=1.0)
    feet = [Contact(foot.frame, friction=0.5, min_force=min_force) for foot in robot.feet]
    upright, posture = Orientation("base_link", gain=10.0), Posture(gain=5.0)
    stack = sot.Stack([JointLimits(), TorqueLimits(), *feet], [com], [upright], [posture])
    controller = sot.Controller(robot, stack, output="torque", dt=1e-3)
    simulated, errors, lost = Mujoco(robot, **options), [], 0
    for _ in range(3000):
        simulated.write(controller.step(simulated.read()))
        errors.append(np.linalg.norm(com.error(controller.model)))
        lost += len({touch.name for touch in simulated.touches()}) < len(robot.feet)
    return np.array(errors), simulated, lost


@pytest.mark.parametrize(
    ("name", "amplitude", "force", "rms"),
    [("talos", (0.0, 0.0, 0.05), 20.0, 0.5e-3), ("solo12", (0.0, 0.01, 0.04), 1.0, 1e-3)],
)
def test_torque_stacks_stand_and_squat(name, amplitude, force, rms):
    """3 s at 1 kHz: CoM within 0.5 mm (Talos, whose joints have friction that the stack does not know) and 1 mm rms
    (Solo12, whose ball feet roll, which its point contacts do not know), no foot lifts, soles stay within 0.1 mm."""
    errors, robot, lost = squat(name, amplitude, force)
    assert np.sqrt(np.mean(errors**2)) < rms and errors.max() < 3.0 * rms
    assert lost == 0
    model = Model(robot.robot)
    model.update(robot.robot.home, np.zeros(model.nv))
    before = [model.placement(model.frame(foot.frame)).translation.copy() for foot in robot.robot.feet]
    end = robot.read()
    model.update(end.q, end.v)
    after = [model.placement(model.frame(foot.frame)).translation for foot in robot.robot.feet]
    moved = np.abs(np.array(after) - before).max()
    assert moved < (1e-4 if name == "talos" else 5e-3)
    assert min(touch.gap for touch in robot.touches()) > -2e-5  # m


def test_softness_of_contacts():
    """Contacts of 20 steps instead of 1 sink hundreds of times deeper; the stack still stands, with more error."""
    amplitude = (0.0, 0.0, 0.05)
    hard, stiff, _ = squat("talos", amplitude, 20.0)
    soft, sunk, lost = squat("talos", amplitude, 20.0, softness=20.0)
    depth = [-min(touch.gap for touch in robot.touches()) for robot in (stiff, sunk)]
    assert depth[0] < 5e-6 and 1e-4 < depth[1] < 1e-3
    assert lost == 0 and soft.max() < 2e-3
    assert np.sqrt(np.mean(soft**2)) > 2.0 * np.sqrt(np.mean(hard**2))


def test_velocity_stacks_stand_too():
    """Talos sways at velocity level: the servos carry it, and it does not know that they give way a little."""
    talos = load("talos")
    com = CenterOfMass(name="com", gain=5.0)
    com.reference = sot.sine(amplitude=[0.0, 0.03, 0.0], frequency=0.5, fade=1.0)
    soles = [Pose(foot.frame, gain=5.0) for foot in talos.feet]
    controller = sot.Controller(talos, sot.Stack([JointLimits()], soles, [com], [Posture(gain=1.0)]), dt=1e-3)
    result = sot.run(Mujoco(talos), controller, duration=2.0)
    assert result.final_error["com"] < 5e-3
    assert abs(result.state.q[2] - talos.home[2]) < 5e-3
