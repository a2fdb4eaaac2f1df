"""A haptic device by Force Dimension, as a robot of three sliding joints."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Literal

import numpy as np

from sot.controller import Controller
from sot.description.slider import stylus
from sot.errors import ConfigError, RobotError
from sot.force_dimension.device import Device
from sot.force_dimension.force import bounded, commanded_force
from sot.force_dimension.library import MOST_TICKS, TICK
from sot.force_dimension.velocity import Difference
from sot.haptic import bounds
from sot.haptic.passivity import Energy, Passivity
from sot.haptic.rendered import check_stack
from sot.haptic.settings import Device as Settings
from sot.robot_checks import number
from sot.state import Command, State

FIRST_STEP = 1e-3  # s for which the force may rise at once where it begins at zero
VENDOR_DELAY = 0.01  # s: half of the 20 ms over which the vendor estimates velocities
PERIOD = 1e-3  # s, until a controller tells its own


class ForceDimension:
    """A haptic device behind the vendor's library. Its joints are x, y and z, its command a force, N:

        with ForceDimension(max_force=8.0, damping=1.5) as device:
            controller = sot.Controller(device.robot, stack, output="torque", dt=1e-3)
            sot.run(device, controller, duration=10.0, realtime=True)

        f = τ + kp (q* − q) + kd (v* − v)     as far as the command has these parts

    Stacks and gains that are past the bound of the device are refused, see `sot.haptic.bounds`: it needs the damping.

    Forces are off until the first `write`. A command that is not finite is refused and nothing is sent. A device that
    stops answering is stopped and closed; so it is at the end of a `with`, of a run that fails, and of the program.

    Attributes:
        robot: Description, for controllers. Its frame and its hand have the device's name.
        settings: What the bound knows of the device.
        max_force: Largest force, N.
        max_force_rate: Fastest change of the force, N/s.
        velocity_delay: By how much the velocity is behind, s.
        force: What was sent last, N, shape (3,).
        clamped: Commands that were longer than `max_force`.
        slowed: Commands that changed faster than `max_force_rate`.
    """

    def __init__(
        self,
        name: str = "stylus",
        mass: float = 0.2,
        *,
        damping: float = 0.0,
        quantum: float = 1e-5,
        delay: float = 5e-4,
        bound: Literal["passive", "stable", "off"] = "passive",
        passivity: bool = False,
        device: int | None = None,
        library: str | Path | None = None,
        max_force: float = 10.0,
        max_force_rate: float = 2000.0,
        watchdog: float = 0.02,
        stale: float = 0.05,
        velocity_filter: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        Args:
            name: Name of the robot and of its frame.
            mass: Effective mass at the tip, kg.
            damping: b, its own viscous friction at the tip, N·s/m; by default nothing is relied on.
            quantum: Smallest step of the encoders at the tip, m.
            delay: Time from a position to the force that answers it, beside the period, s.
            bound: Which settings are refused: `passive`, `stable` or `off`, as of a `sot.haptic.Device`.
            passivity: Let a passivity controller take out the energy that sampling makes.
            device: Which device, from 0 on; by default the first.
            library: Path of the vendor's library; by default `SOT_DHD_LIBRARY`, else the system is searched.
            max_force: Largest force, N; longer ones are shortened along their direction.
            max_force_rate: Fastest change of the force, N/s.
            watchdog: Time without a force after which the device goes limp by itself, 125 µs to 31.8 ms; 0: never.
            stale: Oldest state that a command may answer, s.
            velocity_filter: None for the vendor's velocity; else the time constant of our own estimate, s.
            clock: Monotonic time, s.
        """
        self.robot = stylus(name, number(mass, "mass"))
        self.max_force = number(max_force, "max_force")
        self.max_force_rate = number(max_force_rate, "max_force_rate")
        self._stale = number(stale, "stale")
        lag = None if velocity_filter is None else number(velocity_filter, "velocity_filter", zero=True)
        self._own = None if lag is None else Difference(lag)
        self.velocity_delay = VENDOR_DELAY if lag is None else lag
        self.settings = _settings(mass, damping, quantum, delay, bound, passivity, self.velocity_delay)
        self._period = PERIOD
        self._passivity, self._then = Passivity(self.settings, 3, PERIOD), State(0.0, np.zeros(3), np.zeros(3))
        self.force, self.clamped, self.slowed = np.zeros(3), 0, 0
        self._where = f"haptic device '{name}'"
        self._clock = clock
        self._watchdog = _watchdog(watchdog)
        self._device = Device(library, _device(device), self.max_force, self._watchdog)
        self._start, self._sent = clock(), np.nan  # nothing was sent
        self._state: State | None = None

    def check(self, controller: Controller) -> None:
        """Refuse a stack whose walls and springs, each alone and all together, are past the bound."""
        check_stack(self.settings, controller, controller.dt)
        self._period = controller.dt

    def read(self) -> State:
        """Position, m, and velocity, m/s, now.

        Raises:
            RobotError: The device is closed, or does not answer; it is closed then.
        """
        q = self._device.measure("dhdGetPosition")
        now = self._clock() - self._start
        v = self._device.measure("dhdGetLinearVelocity") if self._own is None else self._own.update(now, q)
        self._state = State(now, q, v)
        return State(now, q.copy(), v.copy())

    def write(self, command: Command) -> None:
        """Send the commanded force, within its limits.

        Raises:
            RobotError: The command is not three finite numbers, has a velocity only, or the last state is too old:
                nothing is sent then, and the watchdog runs. Or the device is closed, or does not answer.
        """
        state = self._answered()
        wanted = commanded_force(command, state, f"{self._where}: command")
        self._check_gains(command)
        now = self._clock()
        wake = not (now - self._sent <= (self._watchdog or np.inf))  # forces are off: before the first, or after a gap
        last, since = (np.zeros(3), FIRST_STEP) if wake else (self.force, now - self._sent)
        most = bounded(wanted, last, self.max_force, np.inf)
        limits = bounded(self._calmed(most.force, state, wake), last, self.max_force, self.max_force_rate * since)
        self._device.push(limits.force, wake)
        late = min(self.settings.delay / self._period, 1.0)
        self._passivity.acted((1.0 - late) * limits.force + late * last)
        self.force, self._sent = limits.force, now
        self.clamped += most.clamped or limits.clamped
        self.slowed += limits.slowed

    def close(self) -> None:
        """Force zero, motors off, device closed. May be called twice."""
        self._device.close()
        self.force = np.zeros(3)

    @property
    def energy(self) -> Energy:
        """What the passivity observer has seen since forces were turned on."""
        return self._passivity.energy

    @property
    def buttons(self) -> int:
        """Mask of the buttons that are pressed: bit 0 for the first."""
        return self._device.buttons

    @property
    def device_name(self) -> str:
        """What the vendor calls the device."""
        return self._device.name

    @property
    def time_guards(self) -> int:
        """How often the library was asked too soon and gave its last answer again."""
        return self._device.codes["time_guard"]

    @property
    def saturations(self) -> int:
        """How often a motor had to give more than it can."""
        return self._device.codes["saturated"]

    def _answered(self) -> State:
        """The last state that was read, if it is fresh enough."""
        if self._state is None:
            return self.read()
        age = self._clock() - self._start - self._state.time
        if not (age <= self._stale):
            raise RobotError(f"{self._where}: the state is {age:.3g} s old, more than {self._stale:g} s; read it again")
        return self._state

    def _check_gains(self, command: Command) -> None:
        if command.kp is None and command.kd is None:
            return
        try:
            bounds.check_gains(self.settings, command.kp, command.kd, self._period, f"{self._where}: command kp, kd")
        except ConfigError as error:
            raise RobotError(str(error)) from None

    def _calmed(self, wanted: np.ndarray, state: State, wake: bool) -> np.ndarray:
        """The force, less what the passivity controller takes out; it begins anew where forces were off."""
        if wake:
            self._passivity, self._then = Passivity(self.settings, 3, self._period), state
        step, gone = state.q - self._then.q, state.time - self._then.time
        self._then = state
        return self._passivity.force(wanted, step, step / max(gone, 0.5 * self._period))

    def __enter__(self) -> ForceDimension:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _settings(
    mass: float, damping: float, quantum: float, delay: float, bound: str, passivity: bool, velocity_delay: float
) -> Settings:
    """A velocity that is late by so much is taken as a mean over twice that time."""
    estimate = "window" if velocity_delay > 0.0 else "difference"
    window = {"window": 2.0 * velocity_delay} if velocity_delay > 0.0 else {}
    try:
        return Settings(mass, damping, 0.0, quantum, delay, estimate, bound=bound, passivity=passivity, **window)  # type: ignore[arg-type]  # checked there
    except ConfigError as error:
        raise RobotError(str(error)) from None


def _device(device: object) -> int | None:
    if device is None or (isinstance(device, int) and not isinstance(device, bool) and 0 <= device <= 127):
        return device
    raise RobotError(f"device: expected a number from 0 to 127, got {device!r}")


def _watchdog(seconds: object) -> float:
    value = number(seconds, "watchdog", zero=True)
    if value != 0.0 and not (TICK <= value <= MOST_TICKS * TICK):
        raise RobotError(f"watchdog: expected 0, or from {TICK:g} to {MOST_TICKS * TICK:g} s, got {value:g}")
    return value
