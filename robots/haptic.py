"""A simulated haptic device, as a robot with three sliding joints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sot.controller import Controller
from sot.description.slider import stylus
from sot.errors import ConfigError, RobotError
from sot.haptic import bounds
from sot.haptic.device import Encoders, Plant, Works
from sot.haptic.hand import Hand
from sot.haptic.passivity import Energy, Passivity
from sot.haptic.rendered import check_stack
from sot.haptic.settings import Device
from sot.haptic.sketch import SPAN, sketch
from sot.kernels import haptic as op
from sot.model import Model
from sot.robot_checks import number, numbers
from sot.sketch import Drawing
from sot.state import Command, State


@dataclass
class Counters:
    """What became of commands: forces that were too large, too fast, that sped the stylus up too much; refused ones."""

    clamped: int = 0
    slewed: int = 0
    braked: int = 0
    refused: int = 0


class Haptic:
    """A stylus that somebody holds.

        haptic = Haptic(Device(damping=5.0), hand=Hand([0.0, 0.0, -0.01], release=1.0))
        run = sot.run(haptic, sot.Controller(haptic.robot, stack, output="torque", dt=haptic.dt), duration=2.0)

    A command is a force, held for a period: F = τ + kp (q − q_meas) + kd (v − v_meas), as far as it has these parts.

    Attributes:
        robot: Description of the stylus, for controllers.
        dt: Period, s.
        settings: What the device is like.
        counters: What became of commands.
        span: Size of the space around it that a viewer shows, m.
    """

    span = SPAN

    def __init__(
        self,
        settings: Device | None = None,
        *,
        hand: Hand | None = None,
        dt: float = 5e-4,
        position: Sequence[float] = (0.0, 0.0, 0.0),
        periods: Sequence[float] | None = None,
        name: str = "stylus",
    ) -> None:
        """
        Args:
            settings: What the device is like.
            hand: Who holds it; by default nobody.
            dt: Period, s.
            position: Where the stylus starts, m.
            periods: True lengths of the periods, s, over and over again; by default dt.
            name: Name of the robot and of its frame.
        """
        self.settings = settings or Device()
        if not isinstance(self.settings, Device):
            raise ConfigError(f"a haptic device needs a sot.haptic.Device, got {settings!r}")
        if hand is not None and not isinstance(hand, Hand):
            raise ConfigError(f"a haptic device is held by a sot.haptic.Hand, got {hand!r}")
        if periods is not None and not len(periods):
            raise ConfigError("periods: expected one or more, s")
        self.dt, self.name = number(dt, "dt"), f"{name} device"  # what a viewer calls it
        start = numbers(position, 3, "position")
        self.robot = stylus(name, self.settings.mass, start.tolist(), self.settings.friction, self.settings.damping)
        self._periods = np.array([self.dt] if periods is None else [number(period, "periods") for period in periods])
        self._longest = float(self._periods.max())
        self.plant = Plant(self.settings, start, hand)
        self.counters = Counters()
        self._encoders = Encoders(self.settings, start, self.dt)
        self._passivity = Passivity(self.settings, start.size, self._longest)
        self._sent = np.zeros(start.size)
        self._steps, self._ends, self._lasted, self._cause = 0, 0.0, self.dt, ""

    def check(self, controller: Controller) -> None:
        """Refuse a stack whose walls and springs, each alone and all together, are past the bound."""
        check_stack(self.settings, controller, self._longest)

    def read(self) -> State:
        """What the encoders tell.

        Raises:
            RobotError: The device was unplugged.
        """
        self._plugged()
        return State(self.plant.time, self._encoders.q.copy(), self._encoders.v.copy())

    def truth(self) -> State:
        """What is."""
        return State(self.plant.time, self.plant.x.copy(), self.plant.v.copy())

    def write(self, command: Command) -> None:
        """Go on by one period.

        Raises:
            RobotError: The device is closed or unplugged, or the command is not usable; nothing has moved then.
        """
        self._plugged()
        if self._cause:
            raise RobotError(f"haptic device '{self.robot.name}' is {self._cause} and takes no commands")
        try:
            wanted = self._commanded(command)
        except RobotError:
            self.counters.refused += 1
            raise
        clamped = op.limit(wanted, self._sent, self.settings.force_limit, np.inf) & op.CLAMPED
        force = self._limited(self._passivity.force(wanted, self._encoders.step, self._encoders.pace), clamped)
        period = self._lasted = float(self._periods[self._steps % self._periods.size])
        self._steps += 1
        self._ends = self._steps * self.dt if self._periods.size == 1 else self._ends + period
        self._passivity.acted(self.plant.advance(force, self._ends))
        self._sent = force
        self._encoders.read(self._ends, self.plant.x, self.plant.v)

    def close(self) -> None:
        """Stop. May be called twice; the last state can still be read."""
        self._cause = self._cause or "closed"

    def unplug(self) -> None:
        """Pull the cable: whoever reads or writes from now on gets an error."""
        self._cause = "unplugged"

    @property
    def energy(self) -> Energy:
        """What the passivity observer has seen."""
        return self._passivity.energy

    @property
    def works(self) -> Works:
        """Where energy truly went."""
        return self.plant.works()

    @property
    def force(self) -> np.ndarray:
        """The last force that was sent, N, shape (3,)."""
        return self._sent.copy()

    def sketch(self, model: Model) -> list[Drawing]:
        """The hand, the rendered force, and energies as bars, for a viewer."""
        return sketch(self.plant, self.robot.home, self._sent, self.energy, model)

    def _plugged(self) -> None:
        if self._cause == "unplugged":
            raise RobotError(f"haptic device '{self.robot.name}': unplugged, no answer since {self.plant.time:g} s")

    def _commanded(self, command: Command) -> np.ndarray:
        parts = {}
        for part in ("tau", "q", "v", "kp", "kd"):
            value = getattr(command, part, None)
            where = f"haptic device '{self.robot.name}': command {part}"
            parts[part] = None if value is None else numbers(value, self._sent.size, where)
        tau, q, v, kp, kd = parts.values()
        if tau is None and kp is None and kd is None:
            raise RobotError(f"haptic device '{self.robot.name}': the command has no force; use output=\"torque\"")
        force = np.zeros(self._sent.size) if tau is None else tau
        if kp is not None or kd is not None:
            self._check_gains(kp, kd)
        if kp is not None and q is not None:
            force = force + kp * (q - self._encoders.q)
        if kd is not None and v is not None:
            force = force + kd * (v - self._encoders.v)
        return force

    def _check_gains(self, kp: np.ndarray | None, kd: np.ndarray | None) -> None:
        try:
            bounds.check_gains(self.settings, kp, kd, self._longest, "command kp, kd")
        except ConfigError as error:
            raise RobotError(str(error)) from None

    def _limited(self, force: np.ndarray, clamped: int) -> np.ndarray:
        """Shortened along its direction, slowed down in its change, and less where it would speed the stylus up."""
        device = self.settings
        force = self._braked(force)
        step = np.inf if device.rate_limit is None else device.rate_limit * self._lasted
        done = op.limit(force, self._sent, device.force_limit, step)
        self.counters.clamped += bool((done | clamped) & op.CLAMPED)
        self.counters.slewed += bool(done & op.SLEWED)
        return force

    def _braked(self, force: np.ndarray) -> np.ndarray:
        """|v + 2T F/m| ≤ v_max, with v as it will be when the force acts: no force leads beyond the speed limit."""
        device, T = self.settings, self._longest
        gain = 2.0 * T / device.mass
        v = self._encoders.pace + (self.plant.pending() + 0.5 * self._sent) * T / device.mass
        then = v + gain * force
        speed, most = math.sqrt(then @ then), max(device.speed_limit - device.quantum / self.dt, 0.0)
        if speed <= most:
            return force.copy()
        self.counters.braked += 1
        return (most / speed * then - v) / gain
