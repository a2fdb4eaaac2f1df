"""A finger that pushes objects along a line: exact from event to event.

    from sot.finger import Body, Simulation, line, pulse

    cup = Body("cup", mass=0.2, position=0.1, mu_static=0.4, mu_kinetic=0.3)
    record = Simulation(line(Body("finger", mass=0.1, drag=0.5), [cup])).run(pulse(5.0, start=1.0, end=1.5), 3.0)
    print(record.summary())

`sot.robots.Finger` is the same as a robot on which stacks of tasks run.
"""

from __future__ import annotations

from sot.finger.balance import Balance, Energy, Momentum
from sot.finger.bodies import Body, Line, Wall, line
from sot.finger.profile import Profile, constant, function, pulse, ramps, steps
from sot.finger.record import Epoch, Event, Reading, Record
from sot.finger.simulation import Simulation

__all__ = [
    "Balance", "Body", "Energy", "Epoch", "Event", "Line", "Momentum", "Profile", "Reading", "Record", "Simulation",
    "Wall", "constant", "function", "line", "pulse", "ramps", "steps",
]  # fmt: skip
