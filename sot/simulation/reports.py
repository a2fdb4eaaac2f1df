"""What an engine tells about its steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Touch:
    """A contact in the last step.

    Attributes:
        name: Frame of the foot, or body.
        thing: What it touches: an obstacle, or another body of the robot.
        point: Where, in the world, m.
        normal: Out of what it touches.
        gap: Distance before the step, m.
        force: Mean force on the robot over the step, in the world, N.
    """

    name: str
    thing: str
    point: np.ndarray
    normal: np.ndarray
    gap: float
    force: np.ndarray


@dataclass
class Counters:
    """What a simulation went through.

    Attributes:
        steps: Steps so far.
        unconverged: Steps in which the contact solver stopped at its cap. Impulses are inside their cones even then.
        crowded: Steps with more contacts than there is room for; those beyond were left out.
    """

    steps: int = 0
    unconverged: int = 0
    crowded: int = 0


@dataclass(frozen=True)
class Mark:
    """All that a step of an engine changes and the next one begins with.

    Attributes:
        q: Configuration.
        v: Velocity.
        before: Kinetic energy one step ago, J.
        counters: What happened so far.
        memories: What is remembered of contacts and joints.
    """

    q: np.ndarray
    v: np.ndarray
    before: float
    counters: Counters
    memories: tuple[np.ndarray, ...]
