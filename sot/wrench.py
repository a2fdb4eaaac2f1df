"""Forces and torques at a tool: measured ones, set from outside or a function of the robot, and wanted ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sot.checks import vector
from sot.entry import Tick
from sot.errors import ModelError, TaskError, unknown
from sot.lie import skew
from sot.model import Model

LOCAL, WORLD = "local", "world"
Measurement = Sequence[float] | Callable[[Model, Tick], Sequence[float]]
NONE = -1  # in place of a frame's index: the axes of the world


def axes_id(model: Model, axes: str, frame: int) -> int:
    """Index of the frame whose axes are meant by `local` (those of `frame`), `world` (NONE) or a frame's name."""
    if axes == LOCAL:
        return frame
    if axes == WORLD:
        return NONE
    if axes not in model.frames:
        raise ModelError(f"robot '{model.robot.name}': {unknown('axes', axes, (LOCAL, WORLD, *model.frames))}")
    return model.frame(axes)


class Measured:
    """The wrench that the environment exerts on a tool: fx fy fz (N), tx ty tz (N·m).

    A function may fail. At the first tick that is an error. Later the wrench is not `usable` for that tick, and
    counted: what to do without is the task's business.

    Attributes:
        measured_in: `world`: in the world's axes, acting at the tool's origin; `local`: the same in the tool's axes;
            or the name of a frame: as a sensor there gives it, in its axes and about its origin.
        usable: False if the function gave nothing usable at this tick.
        rejected: How often that happened.
        reason: What was wrong the last time.
    """

    def __init__(self, value: Measurement | None, measured_in: str, where: str) -> None:
        self.measured_in, self._where = measured_in, where
        self._function: Callable[[Model, Tick], Sequence[float]] | None = None
        self.set(value)
        self.reset()

    def set(self, value: Measurement | None) -> None:
        """Take a wrench, or a function of (model, tick) that gives one. Raises a TaskError if it is not finite."""
        if callable(value):
            self._function, self._now = value, np.zeros(6)
        else:
            self._now = np.zeros(6) if value is None else vector(value, 6, self._where, repeat=False)
            self._function = None

    @property
    def value(self) -> np.ndarray | Callable[[Model, Tick], Sequence[float]]:
        """What was set."""
        return self._now if self._function is None else self._function

    def reset(self) -> None:
        """Forget an earlier run."""
        self.usable, self.rejected, self.reason = True, 0, ""
        self._asked = False

    def setup(self, model: Model, frame: int) -> None:
        """Look up names."""
        self._frame, self._at = frame, axes_id(model, self.measured_in, frame)

    def begin(self, model: Model, tick: Tick) -> None:
        """Ask the function, if it is one. It may be asked twice for the same tick."""
        if self._function is None:
            self.usable = True
            return
        try:
            self._now = vector(self._function(model, tick), 6, self._where, repeat=False)
            self.usable = self._asked = True
        except Exception as error:  # foreign code: whatever it raises, the robot must still get a command
            if not self._asked:
                raise _explained(error, self._where) from error
            self.usable, self.reason = False, str(error) or type(error).__name__
            self.rejected += 1

    def in_world(self, model: Model) -> np.ndarray:
        """The wrench of this tick at the tool's origin, in the axes of the world, shape (6,)."""
        if self._at == NONE:
            return self._now
        T = model.placement(self._at)
        wrench = self._now.reshape(2, 3).dot(T.rotation.T).ravel()
        if self._at != self._frame:
            arm = T.translation - model.placement(self._frame).translation
            wrench[3:] += skew(arm).dot(wrench[:3])
        return wrench


class Wrenches:
    """What tasks have in common that know a measured wrench, f_measured, and a wanted one, f*."""

    name: str
    _measured: Measured
    _wrench: np.ndarray

    def _take_wrenches(self, measured: Measurement | None, measured_in: str, wrench: Sequence[float] | None) -> None:
        self._measured = Measured(measured, measured_in, f"{self.name}: measured")
        self.wrench = wrench

    @property
    def measured(self) -> np.ndarray | Callable[[Model, Tick], Sequence[float]]:
        """What the environment exerts on the tool, N and N·m; or a function of (model, tick). Set it at any time.

        A wrench that is not finite is refused with a TaskError, and the one before it stays.
        """
        return self._measured.value

    @measured.setter
    def measured(self, measured: Measurement | None) -> None:
        self._measured.set(measured)

    @property
    def measured_in(self) -> str:
        """Where it is measured."""
        return self._measured.measured_in

    @property
    def rejected(self) -> int:
        """In how many ticks the function gave nothing usable."""
        return self._measured.rejected

    @property
    def reason(self) -> str:
        """What was wrong with it the last time."""
        return self._measured.reason

    @property
    def wrench(self) -> np.ndarray:
        """f*, what the tool should exert on the environment, N and N·m. Set it at any time."""
        return self._wrench

    @wrench.setter
    def wrench(self, wrench: Sequence[float] | None) -> None:
        self._wrench = np.zeros(6) if wrench is None else vector(wrench, 6, f"{self.name}: wrench", repeat=False)


def _explained(error: Exception, where: str) -> TaskError:
    text = str(error)
    return TaskError(text if text.startswith(where) else f"{where}: raised {type(error).__name__}: {text}")
