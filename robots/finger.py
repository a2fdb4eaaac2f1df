"""A finger that pushes objects along a line, as a robot with one sliding joint."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sot.description.slider import slider
from sot.errors import RobotError
from sot.finger.bodies import Body, Restitution, Wall, line, number
from sot.finger.profile import constant
from sot.finger.record import Reading, Record
from sot.finger.simulation import Simulation
from sot.robot_checks import is_command
from sot.state import Command, State


class Finger:
    """A 1-D finger among objects and walls, exact from event to event: impacts, stick and slip, loss of contact.

        cup = Body("cup", mass=0.2, position=0.1, mu_static=0.4, mu_kinetic=0.3)
        finger = Finger(Body("finger", mass=0.1, drag=0.5), [cup], walls=[0.6], restitution=0.3)
        record = finger.run(sot.finger.pulse(5.0, start=1.0, end=1.5), duration=3.0)

    As a robot its configuration is the finger's position, and its command the force on the finger, held for a period:

        F = τ + kp (q − q_meas) + kd (v − v_meas)     as far as the command has these parts
        F = servo (v − v_meas)                        for a command that has a velocity only

    Controllers know the finger alone, `finger.robot`, and not the objects; `force()` is what it feels of them.

    Attributes:
        robot: Description of the finger, for controllers. Its frame and its hand have the finger's name.
        simulation: What is on the line.
        dt: Period of one command, s.
        servo: Gain of the velocity servo, N·s/m.
    """

    def __init__(
        self,
        finger: Body | None = None,
        objects: Sequence[Body] = (),
        walls: Sequence[Wall | float] = (),
        restitution: Restitution = 0.0,
        *,
        dt: float = 1e-3,
        servo: float | None = None,
        rest_speed: float = 1e-7,
        max_events: int = 5000,
        record: bool = True,
    ) -> None:
        """
        Args:
            finger: The finger; by default 0.1 kg at 0, without drag and friction.
            objects: What it may push.
            walls: Walls, or their positions, m.
            restitution: e from 0 to 1 for all pairs; or by pair of names, and 0 for the others.
            dt: Period of one command, s.
            servo: Gain of the velocity servo, N·s/m; by default mass / (5 dt), a time constant of about five periods.
            rest_speed: Two that would part with less than this after a collision stay together, m/s.
            max_events: Most events in a second of the simulation; more are an error.
            record: Keep the motion, for `record()`; False for runs of hours.
        """
        finger = Body("finger", mass=0.1) if finger is None else finger
        everything = line(finger, objects, walls, restitution)
        self.robot = slider(finger.name, finger.mass, finger.position, finger.slide, finger.drag)
        self.simulation = Simulation(everything, rest_speed=rest_speed, max_events=max_events, record=record)
        self.dt = number(dt, "dt", above=0.0)
        self.servo = finger.mass / (5.0 * self.dt) if servo is None else number(servo, "servo", least=0.0)
        self._origin, self._steps = 0.0, 0  # counting steps, not adding periods: the time does not drift
        self._reading = Reading(0.0, 0.0, 0.0, 0.0)
        self._closed = False

    # -- as a simulation -----------------------------------------------------------------------------

    def run(self, force: object, duration: float) -> Record:
        """Go on under a force: a number (N), a function of time, or a profile of `sot.finger` (pulse, steps, ramps)."""
        self._open()
        record = self.simulation.run(force, duration)
        self._reading = Reading(self.simulation.time, float(record.sensor[-1]), 0.0, 0.0)
        self._origin, self._steps = self.simulation.time, 0
        return record

    def step(self, force: float, dt: float | None = None) -> Reading:
        """Go on for dt seconds, by default a period, with a force that is held; the motion in between is exact.

        Raises:
            RobotError: The force is not a finite number; nothing has moved then.
        """
        self._open()
        if dt is not None and dt != self.dt:
            self._reading = self.simulation.step(force, dt)
            self._origin, self._steps = self.simulation.time, 0
            return self._reading
        profile = constant(force)
        self._steps += 1
        self._reading = self.simulation.advance(profile, self._origin + self._steps * self.dt)
        return self._reading

    def force(self) -> float:
        """What the sensor read over the last sample, N: contact force now, plus blows over the time of the sample."""
        return self._reading.force

    def reading(self) -> Reading:
        """The same in its two parts."""
        return self._reading

    def wrench(self) -> np.ndarray:
        """The same as a wrench on the finger, in the axes of the world: −force, and zeros; N and N·m, shape (6,).

        It is what tasks want that take a measured force: `Impedance(…, measured=lambda model, tick: finger.wrench())`.
        """
        return np.array([-self.force(), 0.0, 0.0, 0.0, 0.0, 0.0])

    def positions(self) -> dict[str, float]:
        """Where every body and wall is, m."""
        return dict(zip(self.simulation.line.names, self.simulation.x.tolist(), strict=True))

    def velocities(self) -> dict[str, float]:
        """How fast every body is, m/s."""
        return dict(zip(self.simulation.line.names, self.simulation.v.tolist(), strict=True))

    def record(self) -> Record:
        """Everything since the start: motion, epochs, events, balances."""
        return self.simulation.record()

    # -- as a robot ----------------------------------------------------------------------------------

    def read(self) -> State:
        """The finger's state now, with its force sensor."""
        now, finger = self.simulation, self.simulation.line.finger
        x, v = now.x[finger : finger + 1].copy(), now.v[finger : finger + 1].copy()
        return State(now.time, x, v, forces={self.robot.name: self.wrench()})

    def write(self, command: Command) -> None:
        """Go on for one period with the commanded force.

        Raises:
            RobotError: The finger is closed, or a part of the command is not one finite number. Nothing has moved then.
        """
        self._open()
        self.step(self._commanded(command))

    def close(self) -> None:
        """Stop. May be called twice; the last state and the record can still be read."""
        self._closed = True

    def _commanded(self, command: Command) -> float:
        """Applied force, N."""
        is_command(command, f"finger '{self.robot.name}'")
        state, parts = self.read(), {}
        for name in ("tau", "q", "v", "kp", "kd"):
            value = getattr(command, name)
            parts[name] = None if value is None else _one(value, f"finger '{self.robot.name}': command {name}")
        tau, q, v, kp, kd = parts.values()
        error_v = 0.0 if v is None else v - float(state.v[0])
        if tau is None and kp is None and kd is None:
            if v is None:
                raise RobotError(f"finger '{self.robot.name}': the command has neither a torque nor a velocity")
            return self.servo * error_v
        spring = 0.0 if q is None or kp is None else kp * (q - float(state.q[0]))
        return (tau or 0.0) + spring + (kd or 0.0) * error_v

    def _open(self) -> None:
        if self._closed:
            raise RobotError(f"finger '{self.robot.name}' is closed and takes no commands")


def _one(value: object, where: str) -> float:
    """A number, or an array of one."""
    array = np.asarray(value)
    if array.size != 1 or array.dtype.kind not in "fiu":
        raise RobotError(f"{where}: expected one number, got {value!r}")
    return number(array.reshape(-1)[0], where)
