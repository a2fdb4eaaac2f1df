"""The bound of a haptic device in use: all that is past it is refused, before a run and during it."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from record_periods import recorded
from stylus import T

import sot
from sot.attractor import Affine, Ball, Box, Gaussian, HalfSpace, Parameters, Plane
from sot.errors import ConfigError, RobotError, SotError, SotWarning
from sot.haptic import Device, Hand, Record, bounds
from sot.robots import Haptic
from sot.state import Command
from sot.tasks import Attractor, Impedance, Posture, TorqueLimits, Wall

# Passive are (2 − 1.2) / (T/2) = 3200 N/m. What nothing but the device would refuse: 1.2 / (T/2) = 4800 N/m are stable.
LOW, MIDDLE, HIGH = (Parameters(K, damping=1.2) for K in (1000.0, 1900.0, 4500.0))


def wall(K: float, name: str = "wall") -> Wall:
    return Wall("stylus", stiffness=K, damping=0.5 + K * T / 2, name=name)


def spring(parameters: Parameters = LOW, **options) -> Attractor:
    at = Attractor("stylus", Plane(), 1.0, name="spring", **options)
    at.parameters = parameters
    return at


def run(stack: sot.Stack, change, *, at: float = 0.003, **options) -> tuple[Haptic, list[np.ndarray]]:
    """A run at whose tick `at` something is changed; the device and the forces that it was sent."""
    haptic, sent = Haptic(Device(**options), hand=Hand([0.0, 0.0, -0.01])), []

    def observe(state, command, controller):
        sent.append(haptic.force)
        if abs(state.time - at) < 0.5 * T:
            change(controller)

    sot.run(haptic, sot.Controller(haptic.robot, stack, output="torque", dt=T), 0.02, observers=[observe])
    return haptic, sent


def test_every_setting_past_the_bound_is_refused():
    """Row 40, 100 %: against b ≥ K (T/2 + td) + |B|, with delays of whole periods."""
    random = np.random.default_rng(0)
    for b, late, share in zip(random.uniform(0.1, 9, 500), random.integers(0, 6, 500), random.random(500), strict=True):
        device, B = Device(damping=b, delay=late * T), share * b
        most = (b - B) / (0.5 * T + late * T)
        bounds.check(device, 0.999 * most, B, T, "it")
        for K, damping in ((1.001 * most, B), (1.001 * most, -B), (0.0, 1.01 * b)):
            with pytest.raises(ConfigError, match="past the passive bound"):
                bounds.check(device, K, damping, T, "it")


def test_the_passivity_controller_has_a_bound_too():
    """K (T/2 + td) + |B| ≤ b + m / 4(T + td), and |B| no more than m/2 over the age of what it is made of."""
    device = Device(mass=0.1, damping=1.0, delay=2 * T, passivity=True)
    most = (1.0 + 0.1 / (4 * 3 * T)) / (2.5 * T)
    bounds.check(device, 0.999 * most, 0.0, T, "it")
    words = "17.7 with its passivity controller, b + m/4(T + td) (T = 0.5 ms, td = 1 ms). With this B, K may be up to "
    with pytest.raises(ConfigError, match=re.escape(f"{words}{most:.4g} N/m")):
        bounds.check(device, 1.001 * most, 0.0, T, "it")
    oldest = 0.5 * 0.1 / (2.5 * T + 0.01)
    bounds.check(device, 0.0, 0.999 * oldest, T, "it")
    with pytest.raises(ConfigError, match=r"B = .* 11\.2 ms old in all"):
        bounds.check(device, 0.0, 1.001 * oldest, T, "it")
    bounds.check(Device(bound="off", passivity=True), 1e9, 1e9, T, "it")


@pytest.mark.parametrize(
    "change",
    [
        lambda at: setattr(at, "parameters", HIGH),
        lambda at: setattr(at, "region", Gaussian([0, 0, 0], [1e-4] * 3, scale=1.0, stiffest=4500.0)),
        lambda at: setattr(at, "region", Affine([[1, 0, 0], [0, 1, 5]], weights=[1, 1e4, 1])),
    ],
    ids=["parameters", "stiff region", "askew region"],
)
def test_a_change_past_the_bound_is_refused_where_it_is_made(change):
    at, refused = spring(MIDDLE), []
    before = at.region, at.parameters

    def attempt(controller):
        with pytest.raises(ConfigError, match=r"'spring': K = .* past the passive bound"):
            change(at)
        refused.append(at.rendered())

    _, sent = run(sot.Stack([at]), attempt)
    assert refused == [(1900.0, 1.2)] and (at.region, at.parameters) == before and len(sent) == 40
    _, calm = run(sot.Stack([spring(MIDDLE)]), lambda controller: None)
    np.testing.assert_array_equal(sent, calm)  # nothing of it reached the stylus
    _, felt = run(sot.Stack([spring(MIDDLE)]), lambda controller: change(controller.stack["spring"]), bound="off")
    assert np.abs(np.subtract(felt, calm)).max() > 0.01


def test_an_impedance_keeps_its_old_stiffness():
    task = Impedance("stylus", [100.0] * 3 + [0] * 3, damping=[0.5] * 3 + [1] * 3, mask="xyz")
    haptic = Haptic(Device())
    controller = sot.Controller(haptic.robot, sot.Stack([task]), output="torque", dt=T)
    sot.run(haptic, controller, 0.002)
    with pytest.raises(ConfigError, match="'impedance_stylus': K = 9000 N/m"):
        task.stiffness = [9000.0] * 3 + [0] * 3
    assert task.rendered() == (100.0, 0.5) and task.stiffness == [100.0] * 3 + [0] * 3
    task.stiffness = [3000.0] * 3 + [0] * 3
    assert task.rendered() == (3000.0, 0.5)


def test_an_entry_that_is_pushed_past_the_bound_never_acts():
    stack = sot.Stack([wall(2000.0)])
    with pytest.raises(ConfigError, match="'spring': K = 4500"):
        run(stack, lambda controller: controller.stack.push(spring(HIGH), ramp=0.01))
    assert stack.names() == ["wall"]
    stack = sot.Stack([wall(2000.0)])
    with pytest.raises(ConfigError, match=re.escape("'wall', 'spring' together: K = 3500 N/m")):
        run(stack, lambda controller: controller.stack.push(spring(Parameters(1500.0, damping=0.6)), ramp=0.01))


def test_an_entry_that_is_blended_out_still_counts():
    """What takes its place does not add to it, though: a mixture of two versions is between them."""
    stack = sot.Stack([wall(2000.0)])

    def swap(controller):
        stack.push(wall(2100.0, "new"), 0, ramp=0.01)
        old = stack.remove("wall", ramp=0.01)
        with pytest.raises(ConfigError, match="'wall': K = 4500"):
            old.parameters = HIGH

    run(stack, swap)
    assert stack.names() == ["new"]


def test_a_turned_region_is_not_looked_at_again(monkeypatch):
    at, asked = spring(), []
    monkeypatch.setattr(Haptic, "check", lambda self, controller: asked.append(1))
    run(sot.Stack([at]), lambda controller: setattr(at, "region", Plane([0, 0, 0.01], [1, 2, 3])))
    assert len(asked) == 1


def test_a_spring_in_the_commands_counts_as_well():
    haptic = Haptic(Device())
    gains = sot.JointImpedance(kp=2000.0, kd=0.0)
    controller = sot.Controller(haptic.robot, sot.Stack([spring()]), output="torque", dt=T, impedance=gains)
    haptic.check(controller)
    controller = sot.Controller(
        haptic.robot, sot.Stack([spring(Parameters(3000.0, damping=1.2))]), output="torque", dt=T, impedance=gains
    )
    with pytest.raises(ConfigError, match="'spring', 'joint impedance' together: K = 5000"):
        haptic.check(controller)


def test_the_longest_period_counts():
    """H7: 1000 N/m are fine at 0.5 ms, and not where one period of a recorded loop has 5.3 ms."""
    steady, jittering = Haptic(Device()), Haptic(Device(), periods=recorded())
    controller = sot.Controller(steady.robot, sot.Stack([spring()]), output="torque", dt=T)
    steady.check(controller)
    with pytest.raises(ConfigError, match=rf"T = {1e3 * recorded().max():.3g} ms"):
        jittering.check(controller)
    controller.stack["spring"].parameters = Parameters(0.99 * 1.5 / (recorded().max() / 2), damping=0.5)
    jittering.check(controller)


def test_what_is_not_counted_is_told():
    haptic = Haptic(Device())
    stack = sot.Stack([TorqueLimits(limit=5.0), wall(1000.0)], [Posture()])
    with pytest.warns(SotWarning, match="^'posture': not counted in the bound of the haptic device"):
        haptic.check(sot.Controller(haptic.robot, stack, output="torque", dt=T))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        haptic.check(sot.Controller(haptic.robot, sot.Stack([wall(1000.0)]), output="torque", dt=T))
        free = Haptic(Device(bound="off"))
        free.check(sot.Controller(free.robot, sot.Stack([Posture()]), output="torque", dt=T))


def turned(bound: str, entry, sense: float = 1.0) -> float:
    """Least energy that a hand on a circle had put in, less what moves, J: below zero the device paid for that.

    It begins on the region, where the spring has stored nothing, and goes round twice a second.
    """

    def circle(t: float) -> list[float]:
        angle = 0.75 * np.pi + sense * 4.0 * np.pi * t
        return [4e-3 * np.sin(angle), 0.0, 4e-3 * np.cos(angle)]

    device, hand = Device(damping=3.0, mass=0.1, quantum=0.0, bound=bound), Hand(circle, stiffness=5000.0, damping=10.0)
    haptic = Haptic(device, hand=hand, position=circle(0.0))
    record = Record(haptic)
    controller = sot.Controller(haptic.robot, sot.Stack([], [entry]), output="torque", dt=T)
    sot.run(haptic, controller, 1.0, observers=[record])
    return float((record.works["hand"] - record.works["kinetic"]).min())


ASKEW = {"stiffness": [2000.0, 100.0, 100.0], "damping": 1.0, "name": "it"}
WEIGHTS = Affine([[1, 0, -1], [0, 1, 0]], weights=[10, 1, 1])


@pytest.mark.parametrize(
    ("make", "sense"),
    [
        (lambda: Attractor("stylus", Plane(normal=[1, 0, 1]), **ASKEW), -1.0),
        (lambda: Wall("stylus", normal=[1, 0, 1], **ASKEW), -1.0),
        (lambda: Attractor("stylus", WEIGHTS, 1000.0, damping=1.0, name="it"), 1.0),
    ],
    ids=["plane", "wall", "weights"],
)
def test_springs_that_give_out_energy_on_a_closed_way_are_refused(make, sense):
    """Their forces have no potential: turned the right way round they push along."""
    with pytest.raises(ConfigError, match="'it': gives out energy on a closed way"):
        turned("passive", make())
    assert turned("off", make(), sense) < -0.005


@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_even_springs_give_out_nothing(sense):
    assert turned("passive", Attractor("stylus", Plane(normal=[1, 0, 1]), 2000.0, damping=1.0), sense) > -1e-6


def test_matrices_with_the_axes_of_a_region_are_fine():
    n = np.array([0.6, 0.0, 0.8])
    K = 100.0 * np.eye(3) + 900.0 * np.outer(n, n)
    for region in (Plane(normal=n), HalfSpace(normal=n), Box([0, 0, 0], [1, 1, 1]), Gaussian([0, 0, 0], [1, 4, 9])):
        assert region.keeps(K if not isinstance(region, Box) else np.diag([1.0, 2.0, 3.0]))
    assert not Box([0, 0, 0], [1, 1, 1]).keeps(K) and not Ball([0, 0, 0], 1.0).keeps(K)
    assert Ball([0, 0, 0], 1.0).keeps(np.eye(3)) and not HalfSpace(normal=n).keeps(np.diag([1.0, 2.0, 3.0]))


def test_a_damper_that_swings_alone_is_not_stable():
    """60 N·s/m on a velocity that is 10 ms old."""
    device = Device(bound="stable")
    for K in (0.0, 100.0):
        with pytest.raises(ConfigError, match="swings whatever K is"):
            bounds.check(device, K, 60.0, T, "it")
    bounds.check(device, 0.0, 0.0, T, "it")
    bounds.check(device, 0.0, 5.0, T, "it")
    haptic = Haptic(device)
    with pytest.raises(RobotError, match="swings whatever K is"):
        haptic.write(Command(0.0, np.zeros(3), kd=np.full(3, 60.0)))
    for gains, said in (({"kd": [-50.0, 0, 0]}, "past the passive"), ({"kp": [-1.0, 0, 0]}, "pushes away")):
        with pytest.raises(RobotError, match=said):
            Haptic(Device()).write(Command(0.0, np.zeros(3), **{key: np.array(g) for key, g in gains.items()}))


def test_a_refused_stiffness_is_undone_although_its_array_has_changed():
    K = np.array([100.0] * 3 + [0.0] * 3)
    task = Impedance("stylus", K, damping=[0.5] * 3 + [1] * 3, mask="xyz")
    haptic = Haptic(Device())
    controller = sot.Controller(haptic.robot, sot.Stack([task]), output="torque", dt=T)
    sot.run(haptic, controller, 0.002)
    K *= 1000.0
    with pytest.raises(ConfigError, match="K = 1e\\+05"):
        task.stiffness = K
    assert task.rendered() == (100.0, 0.5)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Haptic(hand=[0, 0, 0]), "held by a sot.haptic.Hand"),
        (lambda: Haptic(periods=[]), "periods: expected one or more"),
        (lambda: Haptic(hand=Hand("abc")), "target: expected 3 finite numbers, got 'abc'"),
        (lambda: Wall("stylus", stifness=3), "Wall: .*'stifness'.*stiffness"),
        (lambda: run(sot.Stack([Attractor("stylus", Plane(), damping=1.0, orientation=[0, 0, 0])]), print), "no joint"),
    ],
)
def test_mistakes_are_named(make, said):
    with pytest.raises((SotError, TypeError), match=said):
        make()
