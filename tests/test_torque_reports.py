"""What cannot be had at torque level, in newtons and words: checked against statics and pinocchio."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

import sot
from sot.diagnosis import load_tick, save_tick
from sot.diagnosis.saved_tick import capture
from sot.diagnosis.touch import Touch
from sot.entry import Tick
from sot.robots import load
from sot.state import State
from sot.tasks import CenterOfMass, Contact, JointLimits, Posture, SlidingContact, TorqueLimits
from sot.wrench_cone import wrench_cone

SOLVERS = ("hierarchical", "weighted")
DT = 1e-3  # s
DOWN = sot.trapezoid(by=[0.0, 0.0, -0.5, 0.0, 0.0, 0.0], velocity=5.0, acceleration=20.0)


def one_tick(robot, *levels, solver="hierarchical"):
    controller = sot.Controller(robot, sot.Stack(*levels), output="torque", dt=DT, solver=solver)
    controller.step(State(0.0, robot.home, np.zeros(controller.model.nv)))
    return controller


def soles(friction=0.5, **options):
    return [Contact(f"{side}_sole_link", friction=friction, **options) for side in ("left", "right")]


def clash(report, name):
    return next(clash for clash in (*report.clashes, *report.misses) if clash.entry == name)


def numbers(text):
    return [float(number) for number in re.findall(r"-?\d+\.?\d*(?:e[+-]?\d+)?", text)]


@pytest.fixture(scope="module")
def talos():
    return load("talos")


# -- who would have to do what ---------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
def test_feet_of_a_stiff_robot_that_are_taken_down_faster_than_it_falls_would_have_to_pull(talos, solver):
    """All of it would have to be pulled: Σ pull = m (a − g)."""
    feet = soles(reference=DOWN)
    controller = one_tick(talos, [TorqueLimits(), Posture(name="stiff"), *feet], [CenterOfMass()], solver=solver)
    report = controller.report()
    assert report.infeasible
    needs = clash(report, feet[0].name).needs
    asked = -feet[0].dynamic_rows(controller.model, Tick(0.0, DT, controller.model.v)).lower[2]
    assert asked > 15.0
    pulls = [numbers(text.split("pull")[1])[0] for text in needs]
    assert [text.split(" would")[0] for text in needs] == [foot.name for foot in feet]
    assert sum(pulls) == pytest.approx(talos.mass * (asked - 9.81), rel=1e-2)
    assert needs[0] in " ".join(str(report).split()) and needs[0].endswith(" N")


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("facets", [4, 8])
def test_on_a_slope_without_enough_friction_feet_would_slide(solver, facets):
    """tan 20° is needed along the slope; a pyramid holds it by its apothem, μ cos(π/n)."""
    solo, angle = load("solo12"), np.deg2rad(20.0)
    slope = [np.sin(angle), 0.0, np.cos(angle)]
    feet = [Contact(foot.frame, friction=0.2, normal=slope, facets=facets) for foot in solo.feet]
    report = one_tick(solo, [TorqueLimits(), *feet, Posture(name="stiff")], [CenterOfMass()], solver=solver).report()
    assert report.infeasible
    needs = clash(report, "contact_FL_FOOT").needs
    assert len(needs) == 4 and all("would slide: needs friction" in text for text in needs)
    for text in needs:
        needed, has = numbers(text.split("friction")[1])
        assert needed == pytest.approx(np.tan(angle) / np.cos(np.pi / facets), rel=5e-3) and has == 0.2
    enough = [Contact(foot.frame, friction=1.01 * needed, normal=slope, facets=facets) for foot in solo.feet]
    assert not one_tick(solo, [TorqueLimits(), *enough, Posture(name="stiff")], solver=solver).report().infeasible


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_centre_of_mass_far_outside_the_feet_is_not_theirs_to_hold(talos, solver):
    """What is told is about enough: with such friction, on soles larger by so much, and a bit more, it can be done."""
    goal = sot.Model(talos).com + np.array([0.3, 0.0, 0.0])
    hard = [TorqueLimits(), CenterOfMass(name="com", gain=5.0, reference=goal)]
    report = one_tick(talos, [*hard, *soles()], [Posture()], solver=solver).report()
    needs = " ".join(clash(report, "com").needs)
    friction = max(float(number) for number in re.findall(r"needs friction (\S+),", needs))
    outside = max(float(number) for number in re.findall(r"would be (\S+) cm outside", needs))
    assert friction > 0.6 and outside > 1.0
    larger = [
        Contact(foot.frame, friction=1.3 * friction, points=foot.points + 1.3 * outside / 100.0 * np.sign(foot.points))
        for foot in talos.feet
    ]
    hard = [TorqueLimits(), CenterOfMass(name="com", gain=5.0, reference=goal)]
    assert not one_tick(talos, [*hard, *larger], [Posture()], solver=solver).report().infeasible


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_motor_that_is_too_weak_is_named_with_what_it_needs(solver):
    panda = load("panda")
    weak = TorqueLimits(limit=3.0, joints="panda_joint4")
    report = one_tick(panda, [weak, Posture(name="stiff")], solver=solver).report()
    model = panda.pin_model
    needed = pin.rnea(model, model.createData(), panda.home, np.zeros(model.nv), np.zeros(model.nv))[3]
    (text,) = clash(report, "stiff").needs
    assert text == f"motor panda_joint4 needs {abs(needed):.3g} N·m, has 3 N·m"
    assert text in clash(report, "stiff").text


def test_a_task_of_a_later_level_tells_what_it_would_need_too(talos):
    com = CenterOfMass(name="com", gain=5.0, reference=sot.Model(talos).com + np.array([0.3, 0.0, 0.0]))
    report = one_tick(talos, [TorqueLimits(), *soles()], [com], [Posture()]).report()
    assert not report.infeasible
    assert any("would tip" in text for text in clash(report, "com").needs)


def test_what_was_told_once_is_not_told_again(talos):
    feet = soles(reference=DOWN)
    report = one_tick(talos, [TorqueLimits(), Posture(name="stiff"), *feet]).report()
    first, second = (clash(report, foot.name) for foot in feet)
    assert first.needs == second.needs
    assert " ".join(str(report).split()).count("would have to pull") == 2 and "see above" in second.text


def test_nothing_is_told_where_contacts_and_motors_are_not_to_blame(talos):
    """Two tasks that contradict each other."""
    one = CenterOfMass(name="one", gain=2.0, reference=sot.Model(talos).com + np.array([0.01, 0.0, 0.0]))
    two = CenterOfMass(name="two", gain=2.0, reference=sot.Model(talos).com - np.array([0.01, 0.0, 0.0]))
    report = one_tick(talos, [TorqueLimits(), *soles(), one, two], [Posture()]).report()
    assert clash(report, "one").needs == clash(report, "two").needs == ()


# -- one contact in words --------------------------------------------------------------------------------------


SOLE = np.array([[0.1, 0.05, -0.02], [0.1, -0.05, -0.02], [-0.1, -0.05, -0.02], [-0.1, 0.05, -0.02]])  # m


def said(force, at, spin=0.0, **changes):
    """Words for a force at a point of a sole, and a torque about its normal."""
    cone = wrench_cone(SOLE, np.array([0.0, 0.0, 1.0]), 0.5, 4)
    wrench = np.array([*force, *(np.cross(at, force) + np.array([0.0, 0.0, spin]))])
    y = np.linalg.solve(cone.basis, wrench)
    touch = Touch("sole", 2, 8, 100.0, SOLE, (0.0, 0.0, 1.0), cone.basis, cone.facets, 4, 0.5, 20.0, 500.0)
    return replace(touch, **changes).words(np.array([0.0, 0.0, *y / 100.0]))


@pytest.mark.parametrize(
    ("force", "at", "spin", "words"),
    [
        ([0, 0, 100], [0, 0, -0.02], 0, []),
        ([30, 0, 100], [0.05, 0, -0.02], 0.5, []),
        ([0, 0, -31], [0, 0, -0.02], 0, ["sole would have to pull 31 N"]),
        ([5, 0, -31], [0.2, 0, -0.02], 0, ["sole would have to pull 31 N"]),
        ([0, 0, 7], [0, 0, -0.02], 0, ["sole would push with only 7 N, and has to push with 20 N"]),
        ([0, 0, 600], [0, 0, -0.02], 0, ["sole would have to push 600 N, may push 500 N"]),
        ([0, 58, 100], [0, 0, -0.02], 0, ["sole would slide: needs friction 0.82, has 0.5"]),
        ([0, 0, 100], [0.13, 0, -0.02], 0, ["sole would tip: its centre of pressure would be 3 cm outside"]),
        ([0, 0, 100], [0.13, -0.09, -0.02], 0, ["sole would tip: its centre of pressure would be 5 cm outside"]),
        (
            [58, 0, 100],
            [0, 0.06, -0.02],
            0,
            [
                "sole would slide: needs friction 0.82, has 0.5",
                "sole would tip: its centre of pressure would be 1 cm outside",
            ],
        ),
    ],
)
def test_forces_outside_the_cone_in_words(force, at, spin, words):
    assert said(force, at, spin) == words


def test_too_much_torque_about_the_normal_is_told_with_what_friction_holds():
    """At the centre with no other load friction holds Σ over the corners of what their pyramids give sideways."""
    (text,) = said([0, 0, 100], [0, 0, -0.02], spin=10.0)
    assert text.startswith("sole would turn on the spot: needs 10 N·m about its normal, has ")
    has = numbers(text)[1]
    assert said([0, 0, 100], [0, 0, -0.02], spin=0.999 * has) == []
    assert said([0, 0, 100], [0, 0, -0.02], spin=-0.999 * has) == []
    assert said([0, 0, 100], [0, 0, -0.02], spin=1.02 * has) != []
    assert 0.05 * 100 * 0.5 / np.sqrt(2) < has < np.hypot(0.1, 0.05) * 100 * 0.5


def test_a_point_has_no_centre_of_pressure_and_a_line_one_along_it():
    up = np.array([0.0, 0.0, 1.0])
    cone = wrench_cone(np.zeros((1, 3)), up, 0.5, 4)
    point = Touch("toe", 0, 3, 10.0, np.zeros((1, 3)), up, cone.basis, cone.facets, 4, 0.5, 0.0, 1e5)
    assert point.words(np.array([0.1, 0.0, 1.0])) == []
    assert point.words(np.array([0.0, 0.0, -1.0])) == ["toe would have to pull 10 N"]
    assert point.words(np.array([3.0, 0.0, 0.0])) == [
        "toe would have to hold 42.4 N sideways with nothing that presses on it"
    ]
    ends = np.array([[-0.1, 0.0, 0.0], [0.1, 0.0, 0.0]])
    cone = wrench_cone(ends, up, 0.5, 4)
    line = Touch("edge", 0, 5, 10.0, ends, up, cone.basis, cone.facets, 4, 0.5, 0.0, 1e5)
    for at, words in ((0.09, []), (0.12, ["edge would tip: its centre of pressure would be 2 cm outside"])):
        y = np.linalg.lstsq(cone.basis, np.array([0.0, 0.0, 1.0, 0.0, -at, 0.0]), rcond=None)[0]
        assert line.words(y) == words


# -- units -----------------------------------------------------------------------------------------------------


def test_torques_and_forces_are_told_in_newtons(talos):
    """Active torque limits stand where the command is; a missed torque limit misses by N·m."""
    down = CenterOfMass(name="com", gain=10.0, reference=sot.Model(talos).com - np.array([0.0, 0.0, 0.5]))
    controller = one_tick(talos, [TorqueLimits(scale=0.3), *soles(min_force=20.0)], [down], [Posture()])
    names = controller.model.velocity_names()
    tau = controller.formulation.outcome(controller.solver.x)[talos.pin_model.nv :]
    active = [limit for limit in controller.explain().active if limit.name.startswith("torque_limits")]
    assert active
    for limit in active:
        joint = limit.name.split(" of row ")[1]
        assert limit.unit == "N·m" and limit.value == pytest.approx(tau[names.index(joint)], abs=1e-6)
        bound = 0.3 * talos.pin_model.effortLimit[names.index(joint)]
        assert abs(limit.value) == pytest.approx(bound, rel=1e-9)


def test_a_normal_force_at_its_limit_is_told_in_newtons(talos):
    feet = soles(max_force=300.0)
    controller = one_tick(talos, [*feet], [CenterOfMass(name="com")], [Posture()])
    limits = {limit.name: limit for limit in controller.explain().active}
    for foot in feet:
        limit = limits[f"forces of {foot.name}: upper bound of row normal force"]
        assert (limit.value, limit.unit) == (pytest.approx(300.0, rel=1e-9), "N")
    needs = clash(controller.report(), "com").needs
    pushes = [numbers(text.split("push")[1])[0] for text in needs]
    assert all(text.endswith("may push 300 N") for text in needs)
    assert sum(pushes) == pytest.approx(talos.mass * 9.81, rel=1e-2)


def test_a_multiplier_is_per_newton_metre():
    """∂(½‖ρ‖²)/∂limit = −λ of the level that presses, by central differences of whole controllers."""
    panda = load("panda")

    def solved(limit):
        return one_tick(panda, [TorqueLimits(limit=limit, joints="panda_joint4")], [Posture(name="stiff")])

    def cost(controller):
        tick = capture(controller)
        return 0.5 * np.sum((tick.problem.metric * (tick.x - tick.problem.target)) ** 2)

    (limit,) = (limit for limit in solved(3.0).explain().active if limit.name.startswith("torque_limits"))
    slope = (cost(solved(3.001)) - cost(solved(2.999))) / 0.002
    assert abs(limit.multiplier) == pytest.approx(-slope, rel=1e-4)


def test_a_broken_torque_limit_misses_by_newton_metres():
    """Soft limits that a hard posture breaks."""
    panda = load("panda")
    stack = sot.Stack([Posture(name="stiff")], [TorqueLimits(limit=0.5, joints="panda_joint*")])
    controller = sot.Controller(panda, stack, output="torque", dt=DT)
    command = controller.step(State(0.0, panda.home, np.zeros(controller.model.nv)))
    over = np.abs(command.tau[3]) - 0.5
    assert over > 1.0
    amount = dict((label, abs(value)) for label, value, _ in controller.explain().entry("torque_limits").misses)
    assert amount["panda_joint4"] == pytest.approx(over, rel=1e-6)
    assert clash(controller.report(), "torque_limits").unit == "N·m"


def test_a_joint_that_cannot_be_braked_names_its_motor():
    """Right in front of its limit, at a speed that its motor cannot brake: the torque stays at its own limit."""
    panda = load("panda")
    stack = sot.Stack([JointLimits(), TorqueLimits(limit=0.5, joints="panda_joint*")], [Posture()])
    controller = sot.Controller(panda, stack, output="torque", dt=DT)
    q, v = panda.home.copy(), np.zeros(controller.model.nv)
    q[3], v[3] = panda.pin_model.upperPositionLimit[3] - 1e-4, 2.0
    assert np.abs(controller.step(State(0.0, q, v)).tau[:7]).max() <= 0.5 + 1e-9
    report = str(controller.report())
    assert "panda_joint4 is" in report and "its motor lets it brake no harder" in report


def test_levels_of_active_limits_are_those_of_the_table(talos):
    com = CenterOfMass(name="com", gain=5.0, reference=sot.Model(talos).com + np.array([0.3, 0.0, 0.0]))
    explanation = one_tick(talos, [TorqueLimits(), *soles()], [com], [Posture()]).explain()
    assert {limit.level for limit in explanation.active if "sliding" in limit.name} == {1}
    light = Contact("left_sole_link", max_force=300.0)  # N; forces are shared by the last cost alone
    resting = one_tick(talos, [light, Contact("right_sole_link")], [Posture()]).explain()
    assert {limit.level for limit in resting.active if "normal force" in limit.name} == {resting.strict}
    assert {line.level for line in explanation.levels} == {-2, -1, 0, 1, 2}


def test_a_saved_tick_tells_the_same(talos, tmp_path):
    feet = soles(reference=DOWN)
    controller = one_tick(talos, [TorqueLimits(), Posture(name="stiff"), *feet])
    path = save_tick(controller, tmp_path / "tick.npz")
    again = load_tick(path)
    assert str(again.report()) == str(controller.report())
    assert str(again.explain()) == str(controller.explain())


def test_a_contact_that_slides_is_told_without_friction():
    """A stiff robot on ice that is taken down faster than it falls would have to pull; it is not said to slide."""
    solo = load("solo12")
    feet = [SlidingContact(foot.frame, reference=DOWN) for foot in solo.feet]
    controller = one_tick(solo, [TorqueLimits(), Posture(name="stiff"), *feet])
    needs = clash(controller.report(), feet[0].name).needs
    assert len(needs) == 4 and all("would have to pull" in text for text in needs)
    assert str(controller.explain())
