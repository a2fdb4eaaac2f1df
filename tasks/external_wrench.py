"""A known force on the robot."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sot.entry import Load, Tick
from sot.force_task import arrow
from sot.model import ALIGNED, Model
from sot.sketch import WARNING, Drawing
from sot.wrench import Measured, Measurement


class ExternalWrench(Load):
    """A force and torque that act on a frame: a tool that is carried, a rope, a push that is measured.

        bucket = ExternalWrench("gripper_left_base_link", [0.0, 0.0, -30.0, 0.0, 0.0, 0.0])

    It has no rows. Torques and contact forces allow for it, M v̇ + h = Sᵀτ + Σ Jcᵀ y + Jᵀ w, so that the robot moves as
    without it; a stack may change it by `wrench` at any time. At velocity level it does nothing.

    Where a function gives nothing usable the last wrench stays: a load does not vanish because a sensor failed.
    """

    kind = "external_wrench"

    def __init__(
        self,
        frame: str,
        wrench: Measurement,
        measured_in: str = "world",
        *,
        name: str | None = None,
    ) -> None:
        """
        Args:
            frame: Frame on which it acts.
            wrench: What acts on the robot, fx fy fz tx ty tz in N and N·m; or a function of (model, tick) that
                gives it.
            measured_in: Where that is given: `world` (its axes, at the frame's origin), `local` (the same in the
                frame's own axes), or the name of a sensor's frame (in its axes, about its origin).
            name: Name in reports and look-ups; by default `wrench_<frame>`.
        """
        self.frame = frame
        super().__init__(name=name)
        self._measured = Measured(wrench, measured_in, f"{self.name}: wrench")

    def default_name(self) -> str:
        return f"wrench_{self.frame}"

    @property
    def wrench(self) -> np.ndarray | Callable[[Model, Tick], Sequence[float]]:
        """What acts on the robot, N and N·m; or a function of (model, tick). Set it at any time."""
        return self._measured.value

    @wrench.setter
    def wrench(self, wrench: Measurement) -> None:
        self._measured.set(wrench)

    @property
    def measured_in(self) -> str:
        """Where it is given."""
        return self._measured.measured_in

    def setup(self, model: Model) -> None:
        self._frame = model.frame(self.frame)
        self._measured.setup(model, self._frame)

    def reset(self) -> None:
        self._measured.reset()

    def begin(self, model: Model, tick: Tick) -> None:
        self._measured.begin(model, tick)

    def torques(self, model: Model, tick: Tick) -> np.ndarray:
        return model.jacobian(self._frame, ALIGNED).T @ self._measured.in_world(model)

    def facts(self, model: Model, tick: Tick, v: np.ndarray) -> dict[str, float | str]:
        """Force, N, torque, N·m, and what was wrong with a function."""
        wrench = self._measured.in_world(model)
        force, torque = (float(np.linalg.norm(part)) for part in (wrench[:3], wrench[3:]))
        facts: dict[str, float | str] = {"force": force, "torque": torque}
        if self._measured.rejected:
            facts["rejected"] = float(self._measured.rejected)
        return facts if self._measured.usable else {**facts, "the last one is used": self._measured.reason}

    def sketch(self, model: Model) -> list[Drawing]:
        """The force where it acts."""
        start = model.placement(self._frame).translation
        return [arrow(model, "force", start, self._measured.in_world(model)[:3], WARNING)]
