"""A haptic device by Force Dimension, as a robot of three sliding joints."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import numpy as np

from sot.description.slider import stylus
from sot.errors import RobotError
from sot.force_dimension.device import Device
from sot.force_dimension.force import bounded, commanded_force
from sot.force_dimension.library import MOST_TICKS, TICK
from sot.force_dimension.velocity import Difference
from sot.robot_checks import number
from sot.state import Command, State

FIRST_STEP = 1e-3  # s for which the force may rise at once where it begins at zero
VENDOR_DELAY = 0.01  # s: half of the 20 ms over which the vendor estimates velocities


class ForceDimension:
    """A haptic device behind the vendor's library. Its joints are x, y and z, its command a force, N:

        with ForceDimension(max_force=8.0) as device:
            controller = sot.Controller(device.robot, stack, output="torque", dt=1e-3)
            sot.run(device, controller, duration=10.0, realtime=True)

        f = τ + kp (q* − q) + kd (v* − v)     as far as the command has these parts

    Forces are off until the first `write`. A command that is not finite is refused and nothing is sent. A device that
    stops answering is stopped and closed; so it is at the end of a `with`, of a run that fails, and of the program.

    Attributes:
        robot: Description, for controllers. Its frame and its hand have the device's name.
        max_force: Largest force, N.
        max_force_rate: Fastest change of the force, N/s.
        velocity_delay: By how much the velocity is behind, s; bounds on damping have to know it.
        force: What was sent last, N, shape (3,).
        clamped: Commands that were longer than `max_force`.
        slowed: Commands that changed faster than `max_force_rate`.
    """

    def __init__(
        self,
        name: str = "stylus",
        mass: float = 0.2,
        *,
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
        self.force, self.clamped, self.slowed = np.zeros(3), 0, 0
        self._where = f"haptic device '{name}'"
        self._clock = clock
        self._watchdog = _watchdog(watchdog)
        self._device = Device(library, _device(device), self.max_force, self._watchdog)
        self._start, self._sent = clock(), np.nan  # nothing was sent
        self._state: State | None = None

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
        now = self._clock()
        wake = not (now - self._sent <= (self._watchdog or np.inf))  # forces are off: before the first, or after a gap
        last, since = (np.zeros(3), FIRST_STEP) if wake else (self.force, now - self._sent)
        limits = bounded(wanted, last, self.max_force, self.max_force_rate * since)
        self._device.push(limits.force, wake)
        self.force, self._sent = limits.force, now
        self.clamped += limits.clamped
        self.slowed += limits.slowed

    def close(self) -> None:
        """Force zero, motors off, device closed. May be called twice."""
        self._device.close()
        self.force = np.zeros(3)

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

    def __enter__(self) -> ForceDimension:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _device(device: object) -> int | None:
    if device is None or (isinstance(device, int) and not isinstance(device, bool) and 0 <= device <= 127):
        return device
    raise RobotError(f"device: expected a number from 0 to 127, got {device!r}")


def _watchdog(seconds: object) -> float:
    value = number(seconds, "watchdog", zero=True)
    if value != 0.0 and not (TICK <= value <= MOST_TICKS * TICK):
        raise RobotError(f"watchdog: expected 0, or from {TICK:g} to {MOST_TICKS * TICK:g} s, got {value:g}")
    return value
