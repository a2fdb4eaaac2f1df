"""Everything a tick needs, compiled and loaded before the first tick."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator

import numpy as np

from sot.contact import Contact
from sot.controller import Controller
from sot.features import FramePose, JointPosture
from sot.stack import Stack
from sot.state import State
from sot.task import FeatureTask

TICKS = 5


def warm_up(controller: Controller) -> None:
    """Run the kernels of a controller without touching it.

    A stand-in does a few ticks: same robot, same solver, a stack of its own that uses every kernel. The user's
    tasks, whose references begin at their first tick, never notice.
    """
    robot = controller.robot
    frame = robot.pin_model.frames[robot.pin_model.nframes - 1].name
    contacts = [Contact(foot.frame) for foot in robot.feet] or [Contact(frame)]
    stand_in = Controller(
        robot,
        Stack(
            contacts if controller.output == "torque" else [],
            [FeatureTask(FramePose(frame), name="pose")],
            [FeatureTask(JointPosture(), name="posture")],
        ),
        solver=controller.meaning,  # type: ignore[arg-type]  # it was checked when the controller was made
        dt=controller.dt,
        output=controller.output,  # type: ignore[arg-type]  # so was this
        backend=controller.backend,
        compiled=controller.compiled,
    )
    with _notice("sot: compiling the numeric kernels; this happens once and takes some ten seconds"):
        for k in range(TICKS):
            stand_in.step(State(k * controller.dt, robot.home, np.zeros(robot.pin_model.nv)))


@contextlib.contextmanager
def _notice(message: str) -> Iterator[None]:
    """Say what is going on if it takes longer than a moment."""
    timer = threading.Timer(1.5, lambda: print(message, file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
