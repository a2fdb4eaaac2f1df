"""The Force Dimension driver against a C library of the same functions, compiled here: no real device is needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fake_dhd import Fake, compiled

import sot
from sot.errors import ConfigError, RobotError
from sot.force_dimension.force import bounded
from sot.force_dimension.velocity import Difference
from sot.haptic import bounds
from sot.robot import Robot
from sot.robots import ForceDimension
from sot.state import Command
from sot.tasks import Impedance, Wall

CLOSING = ["dhdEnableForce0", "dhdStop", "dhdClose"]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("dhd"))


@pytest.fixture
def fake(library: Path) -> Fake:
    return Fake(library)


@pytest.fixture
def opened(fake: Fake):
    """Opens devices whose clock is the simulated one, and closes them after the test."""
    devices = []

    def make(**options):
        devices.append(ForceDimension(library=fake.path, clock=fake.c.fake_time, **options))
        return devices[-1]

    yield make
    for device in devices:
        device.close()


def force(x=0.0, y=0.0, z=0.0):
    return Command(0.0, np.zeros(3), tau=np.array([x, y, z]))


# -- the library ---------------------------------------------------------------------------------------------------


def test_a_missing_library_is_told_in_one_sentence(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SOT_DHD_LIBRARY", "/nowhere/libdhd.so.3")
    with pytest.raises(RobotError, match=r"tried /nowhere/libdhd\.so\.3 .*SOT_DHD_LIBRARY"):
        ForceDimension()
    with pytest.raises(RobotError, match=r"tried other\.so "):  # an argument comes before the variable
        ForceDimension(library="other.so")
    monkeypatch.delenv("SOT_DHD_LIBRARY")
    monkeypatch.setattr("ctypes.util.find_library", lambda name: None)
    monkeypatch.setattr("sot.force_dimension.lookup.NAMES", {"linux": ("libno1.so", "libno2.so")})
    with pytest.raises(RobotError, match=r"libno1\.so .*libno2\.so .*Install the vendor's SDK"):
        ForceDimension()


def test_the_library_is_found_by_variable_and_by_the_system(fake: Fake, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SOT_DHD_LIBRARY", str(fake.path))
    ForceDimension().close()
    monkeypatch.delenv("SOT_DHD_LIBRARY")
    monkeypatch.setattr("ctypes.util.find_library", lambda name: str(fake.path) if name == "dhd" else None)
    ForceDimension().close()
    assert fake.calls.count("dhdOpen") == 2


def test_a_missing_function_is_named(tmp_path: Path):
    path = compiled(tmp_path, "-DdhdSetMaxForce=another_name")
    with pytest.raises(RobotError, match="has no function dhdSetMaxForce: it is another library, or too old"):
        ForceDimension(library=path)


# -- opening -------------------------------------------------------------------------------------------------------


def test_opening_sets_limits_and_leaves_forces_off(fake: Fake, opened):
    device = opened(max_force=7.5, watchdog=0.02)
    assert isinstance(device, Robot) and device.device_name == "fake.3"
    assert fake.c.fake_max_force() == 7.5
    assert fake.c.fake_watchdog() == 160  # of 125 µs
    device.read()
    assert not fake.c.fake_enabled() and "dhdEnableForce1" not in fake.calls and not len(fake.sent)
    device.write(force(0.5))
    assert fake.c.fake_enabled() and fake.calls[-2:] == ["dhdEnableForce1", "dhdSetForce"]
    device.write(force(0.5))
    assert fake.calls.count("dhdEnableForce1") == 1


@pytest.mark.parametrize("seconds, ticks", [(0.0, 0), (125e-6, 1), (0.001, 8), (0.031875, 255)])
def test_watchdog_counts_in_125_us(seconds, ticks, fake: Fake, opened):
    opened(watchdog=seconds)
    assert fake.c.fake_watchdog() == ticks


@pytest.mark.parametrize(
    "options",
    [{"watchdog": 0.1}, {"watchdog": 1e-5}, {"watchdog": np.nan}, {"max_force": np.nan}, {"max_force": 0.0},
     {"mass": -1}, {"damping": -1.0}, {"delay": np.nan}, {"bound": "none"}, {"passivity": 1},
     {"max_force_rate": np.inf}, {"stale": 0.0}, {"velocity_filter": -1.0}, {"device": -2},
     {"device": True}],
)  # fmt: skip
def test_options_that_cannot_be(options, fake: Fake, opened):
    with pytest.raises(RobotError, match=next(iter(options))):
        opened(**options)
    assert fake.calls == []


def test_a_device_has_one_writer_and_its_number(fake: Fake, opened):
    first = opened(device=3)
    first.read()
    assert fake.c.fake_last_id() == 3
    with pytest.raises(RobotError, match="device 3 is open in this process already"):
        opened(device=3)
    assert fake.c.fake_opened()  # the first one is not disturbed
    first.close()
    opened(device=3).close()
    opened()
    with pytest.raises(RobotError, match="device 0 is open"):
        opened(device=0)


@pytest.mark.parametrize("name", ["dhdOpen", "dhdEnableForce0", "dhdSetMaxForce", "dhdSetWatchdog"])
def test_a_device_that_cannot_be_prepared_is_closed(name, fake: Fake, opened):
    fake.fail(name, -1)
    with pytest.raises(RobotError, match=f"{name.rstrip('0')} failed: programmed failure"):
        opened()
    assert not fake.c.fake_opened()
    fake.c.fake_reset()
    opened()  # and can be opened again


# -- reading -------------------------------------------------------------------------------------------------------


def test_read_gives_position_velocity_time_and_buttons(fake: Fake, opened):
    device = opened()
    fake.c.fake_place(0.01, -0.02, 0.03)
    fake.c.fake_move(0.1, 0.2, -0.3)
    fake.c.fake_buttons(5)
    fake.c.fake_wait(0.25)
    state = device.read()
    assert state.time == 0.25 and state.q.tolist() == [0.01, -0.02, 0.03] and state.v.tolist() == [0.1, 0.2, -0.3]
    assert device.buttons == 5 and device.velocity_delay == 0.01


def test_own_velocity_lags_by_its_time_constant(fake: Fake, opened):
    """Of a ramp that begins at 0 the filter has seen 1 − exp(−t/T); at constant acceleration it is T + h/2 behind."""
    device = opened(velocity_filter=0.005)
    assert device.velocity_delay == 0.005
    for k in range(21):
        fake.c.fake_place(0.2 * k * 1e-3, 0.0, 0.0)
        state = device.read()
        fake.c.fake_wait(1e-3)
    np.testing.assert_allclose(state.v, [0.2 * (1.0 - np.exp(-0.020 / 0.005)), 0.0, 0.0], rtol=1e-9)
    assert "dhdGetLinearVelocity" not in fake.calls
    estimate, h, T = Difference(0.005), 1e-4, 0.005
    for k in range(2001):
        v = estimate.update(k * h, np.full(3, 0.5 * 3.0 * (k * h) ** 2))
    np.testing.assert_allclose(v, 3.0 * (2000 * h - T), atol=3.0 * h)
    plain = Difference(0.0)
    plain.update(0.0, np.zeros(3))
    assert not plain.update(0.0, np.ones(3)).any()  # no time has gone by: the sample does not count
    np.testing.assert_allclose(plain.update(0.1, np.full(3, 0.02)), 0.2)


# -- writing -------------------------------------------------------------------------------------------------------


def test_a_command_has_torque_stiffness_and_damping(fake: Fake, opened):
    device = opened(max_force_rate=1e6, bound="off")
    fake.c.fake_place(0.01, 0.0, -0.01)
    fake.c.fake_move(0.1, 0.0, 0.2)
    device.read()
    command = Command(
        0.0, np.array([0.0, 1.0, 0.0]), q=np.array([0.02, 0.0, 0.0]), tau=np.array([1.0, 0.0, 0.0]),
        kp=np.array([100.0, 100.0, 200.0]), kd=np.array([1.0, 2.0, 3.0]),
    )  # fmt: skip
    device.write(command)
    np.testing.assert_allclose(fake.sent[-1], [1.0 + 1.0 - 0.1, 2.0, 2.0 - 0.6], atol=1e-15)


@pytest.mark.parametrize(
    "command, words",
    [
        (force(np.nan), "tau: entry 0 is not finite"),
        (force(0.0, np.inf), "tau: entry 1 is not finite"),
        (Command(0.0, np.zeros(3), tau=np.zeros(2)), "expected 3 numbers"),
        (Command(0.0, np.full(3, np.nan), tau=np.zeros(3)), "v: entry 0"),
        (Command(0.0, np.zeros(3)), "velocity only.*output='torque'"),
        (Command(0.0, np.zeros(3), q=np.full(3, 1e300), kp=np.full(3, 1e300)), "force: entry 0"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow")
def test_what_is_no_force_is_refused_and_nothing_is_sent(command, words, fake: Fake, opened):
    device = opened()
    with pytest.raises(RobotError, match=words):
        device.write(command)
    assert not len(fake.sent) and not fake.c.fake_enabled()
    device.write(force(1.0))  # it goes on


def test_a_large_force_is_clamped_along_its_direction(fake: Fake, opened):
    device = opened(max_force=6.0, max_force_rate=1e9)
    device.write(force(30.0, -40.0, 0.0))
    np.testing.assert_allclose(fake.sent[-1], [3.6, -4.8, 0.0], rtol=1e-12)
    device.write(force(1e300, 1e300, 0.0))
    np.testing.assert_allclose(fake.sent[-1], [6.0 / np.sqrt(2.0), 6.0 / np.sqrt(2.0), 0.0], rtol=1e-12)
    device.write(force(3.0))
    assert fake.sent[-1].tolist() == [3.0, 0.0, 0.0] and device.clamped == 2


def test_no_force_breaks_its_limits():
    """Whatever is asked: length and change stay within their limits, and what fits is left alone."""
    rng = np.random.default_rng(0)
    last = np.zeros(3)
    for _ in range(20_000):
        wanted = rng.standard_normal(3) * 10.0 ** rng.uniform(-3, 3)
        answer = bounded(wanted, last, 5.0, 0.3)
        assert np.linalg.norm(answer.force) <= 5.0 + 1e-12 and np.linalg.norm(answer.force - last) <= 0.3 + 1e-12
        assert answer.clamped == (np.linalg.norm(wanted) > 5.0)
        if not (answer.clamped or answer.slowed):
            assert (answer.force == wanted).all()
        last = answer.force


def test_the_force_rises_no_faster_than_allowed(fake: Fake, opened):
    device = opened(max_force_rate=500.0)  # 0.5 N in a millisecond, the fake's step
    for _ in range(12):
        device.read()
        device.write(force(4.0))
    np.testing.assert_allclose(fake.sent[:, 0], np.minimum(0.5 * np.arange(1, 13), 4.0), atol=1e-9)
    assert device.slowed == 7


def test_after_a_gap_the_watchdog_came_and_the_force_begins_at_zero(fake: Fake, opened):
    device = opened(max_force_rate=500.0, watchdog=0.02, stale=1.0)
    for _ in range(10):
        device.write(force(4.0))
    fake.c.fake_wait(0.03)
    device.write(force(4.0))
    np.testing.assert_allclose(fake.sent[-1], [0.5, 0.0, 0.0], atol=1e-12)
    assert fake.calls.count("dhdEnableForce1") == 2


def test_a_stale_state_is_not_answered(fake: Fake, opened):
    device = opened(stale=0.05)
    device.read()
    fake.c.fake_wait(0.06)
    with pytest.raises(RobotError, match=r"the state is 0\.06 s old, more than 0\.05 s"):
        device.write(force(1.0))
    assert not len(fake.sent)
    device.read()
    device.write(force(1.0))


# -- bounds --------------------------------------------------------------------------------------------------------


def wall(device, K, C):
    return sot.Controller(device.robot, sot.Stack([Wall("stylus", stiffness=K, damping=C)]), output="torque", dt=1e-3)


def test_a_stack_past_the_bound_gets_no_force(fake: Fake, opened):
    """b ≥ K (T/2 + td) + |B|, rows 40 and 43; of a device whose damping nobody told, nothing is expected."""
    device = opened(damping=2.0, delay=1e-3)
    most = (2.0 - 0.8) / 1.5e-3
    with pytest.raises(ConfigError, match=rf"'wall_stylus': K = .* up to {most:.4g} N/m"):
        sot.run(device, wall(device, 1.01 * most, 0.8), 0.01, realtime=False)
    with pytest.raises(RobotError, match=r"command kp, kd: .*past the passive bound"):
        device.write(Command(0.0, np.zeros(3), q=np.zeros(3), kp=np.full(3, 1400.0)))
    assert not len(fake.sent) and not fake.c.fake_enabled()
    sot.run(device, wall(device, 0.99 * most, 0.8), 0.01, realtime=False)
    assert len(fake.sent) == 10
    device.close()
    with pytest.raises(ConfigError, match="but the device has 0"):
        sot.run(opened(), wall(device, 10.0, 0.1), 0.01, realtime=False)


def test_the_bound_knows_that_the_velocity_is_old(opened):
    """Row 43: a stiffness that is fine with our own velocity is refused with the vendor's."""
    options = {"damping": 1.0, "delay": 0.0, "bound": "stable"}
    fresh = opened(device=1, velocity_filter=0.0, **options)
    K = 0.9 * bounds.edge(fresh.settings, 6.0, 1e-3)
    fresh.check(wall(fresh, K, 6.0))
    old = opened(device=2, **options)
    assert bounds.edge(old.settings, 6.0, 1e-3) < 0.5 * K
    with pytest.raises(ConfigError, match=r"stable bound of the device: .* less where the velocity is old"):
        old.check(wall(old, K, 6.0))


@pytest.mark.parametrize("on", [True, False])
def test_passivity_control_takes_out_what_sampling_makes(on, fake: Fake, opened):
    """A held spring drives a free mass: its swing grows as exp(K T t / 4m), e^1.25 in half a second."""
    device = opened(bound="off", passivity=on, delay=0.0, quantum=0.0, max_force_rate=1e6)
    fake.c.fake_place(1e-3, 0.0, 0.0)
    places = []
    for _ in range(500):
        places.append(device.read().q[0])
        device.write(Command(0.0, np.zeros(3), q=np.zeros(3), kp=np.array([2000.0, 0.0, 0.0])))
    swing = np.abs(places[-100:]).max()
    assert swing < 1.05e-3 if on else swing > 3e-3
    assert (device.energy.taken > 1e-4) == on


# -- codes and faults ----------------------------------------------------------------------------------------------


def test_time_guard_and_saturation_are_counted_and_no_errors(fake: Fake, opened):
    device = opened()
    fake.fail("dhdGetPosition", 1)
    device.read()
    device.read()
    fake.fail("dhdSetForce", 2)
    device.write(force(1.0))
    assert (device.time_guards, device.saturations) == (2, 1) and len(fake.sent) == 1


@pytest.mark.parametrize("name", ["dhdGetPosition", "dhdGetLinearVelocity", "dhdSetForce", "dhdEnableForce1"])
def test_an_error_stops_and_closes_the_device(name, fake: Fake, opened):
    device = opened()
    fake.fail(name, -1)
    with pytest.raises(RobotError, match=f"{name.rstrip('1')} failed: programmed failure; the device was stopped"):
        device.read()
        device.write(force(1.0))
    assert fake.calls[-3:] == CLOSING and not fake.c.fake_enabled()
    for again in (device.read, lambda: device.write(force(1.0)), lambda: device.buttons):
        with pytest.raises(RobotError, match=r"the device is closed since: .*programmed failure"):
            again()
    device.close()
    assert fake.calls.count("dhdClose") == 1


def test_a_position_that_is_not_finite_is_a_fault(fake: Fake, opened):
    device = opened()
    fake.c.fake_place(0.0, np.nan, 0.0)
    with pytest.raises(RobotError, match=r"dhdGetPosition gave .*nan"):
        device.read()
    assert not fake.c.fake_opened()


@pytest.mark.parametrize("calls", range(6))
def test_unplugged_at_any_call_of_a_tick(calls, fake: Fake, opened):
    """Row 41 of the fault matrix: all that may stop it is tried in the same tick, and the cause is told."""
    device = opened()
    device.read()
    device.write(force(1.0))
    fake.c.fake_unplug_after(calls)
    with pytest.raises(RobotError, match="cable out; the device was stopped and closed") as fault:
        for _ in range(3):
            device.read()
            device.write(force(1.0))
    assert isinstance(fault.value.__cause__, RobotError)
    assert fake.calls[-4:] == ["dhdSetForce", *CLOSING]


# -- closing -------------------------------------------------------------------------------------------------------


def test_close_sends_zero_and_turns_forces_off_once(fake: Fake, opened):
    device = opened()
    device.write(force(1.0))
    device.close()
    device.close()
    assert fake.calls[-4:] == ["dhdSetForce", *CLOSING] and fake.sent[-1].tolist() == [0.0, 0.0, 0.0]
    assert fake.calls.count("dhdClose") == 1 and not fake.c.fake_enabled() and not fake.c.fake_opened()
    with pytest.raises(RobotError, match=r"the device is closed$"):
        device.read()


def test_a_with_block_closes_also_on_an_exception(fake: Fake, opened):
    with pytest.raises(KeyboardInterrupt), opened() as device:
        device.write(force(1.0))
        raise KeyboardInterrupt
    assert fake.calls[-3:] == CLOSING and not fake.c.fake_opened()


def test_closing_goes_on_when_a_step_fails(fake: Fake, opened):
    device = opened()
    device.write(force(1.0))
    fake.fail("dhdSetForce", -1)
    device.close()
    assert fake.calls[-4:] == ["dhdSetForce", *CLOSING] and not fake.c.fake_enabled()


@pytest.mark.parametrize(
    "ending",
    ["raise ValueError('boom')", "sys.exit(3)", "with device:\n    raise KeyboardInterrupt", "pass"],
    ids=["exception", "exit", "with", "end"],
)
def test_forces_are_off_when_a_program_ends(ending, library: Path, tmp_path: Path):
    journal = tmp_path / "calls"
    code = (
        "import sys, numpy as np\nfrom sot.robots import ForceDimension\nfrom sot.state import Command\n"
        f"device = ForceDimension(library={str(library)!r})\n"
        "device.read()\ndevice.write(Command(0.0, np.zeros(3), tau=np.ones(3)))\n" + ending
    )
    subprocess.run([sys.executable, "-c", code], env={"FAKE_DHD_LOG": str(journal)}, capture_output=True, check=False)
    calls = journal.read_text().split("\n")[:-1]
    assert "dhdEnableForce1 0" in calls
    assert calls[-4:] == ["dhdSetForce 1", "dhdEnableForce0 1", "dhdStop 0", "dhdClose 0"]


# -- in a loop -----------------------------------------------------------------------------------------------------


def test_an_impedance_task_moves_the_mass_as_its_closed_form_says(fake: Fake, opened):
    """m ë + d ė + k e = 0 from 1 cm on, ζ = 1:  e = e₀ (1 + ω t) exp(−ω t), ω = √(k/m)."""
    device = opened(mass=0.2, max_force=10.0, max_force_rate=1e6, bound="off")
    fake.c.fake_place(0.01, -0.005, 0.0)
    task = Impedance("stylus", [80.0] * 3 + [1.0] * 3, reference=[0, 0, 0, 0, 0, 0, 1], mask="xyz")
    controller = sot.Controller(device.robot, sot.Stack([], [task]), output="torque", dt=1e-3)
    rows = []
    run = sot.run(
        device, controller, duration=0.4, realtime=False, observers=[lambda s, c, _: rows.append((s.time, *s.q))]
    )
    t, x, y, z = np.array(rows).T
    w = np.sqrt(80.0 / 0.2)
    expected = (1.0 + w * t) * np.exp(-w * t)
    assert run.ticks == 400 and len(fake.sent) == 400
    np.testing.assert_allclose(x, 0.01 * expected, atol=5e-5)  # m; below e₀ ω dt / 2, half a period of delay
    np.testing.assert_allclose(y, -0.5 * x, atol=1e-12)
    assert np.abs(z).max() < 1e-15 and device.clamped == device.slowed == 0


def test_a_run_that_loses_its_device_ends_with_the_cause(fake: Fake, opened):
    device = opened(bound="off")
    task = Impedance("stylus", [80.0] * 3 + [1.0] * 3, mask="xyz")
    controller = sot.Controller(device.robot, sot.Stack([], [task]), output="torque", dt=1e-3)
    fake.c.fake_unplug_after(100)
    with pytest.raises(RobotError, match="cable out"):
        sot.run(device, controller, duration=1.0, realtime=False)
    assert fake.calls[-3:] == CLOSING
