"""Force sensors in the feet of a simulated robot."""

from __future__ import annotations

import numpy as np

from sot.kernels.feet import feel
from sot.simulation.engine import Engine


class Feet:
    """Mean wrenches of the feet over a period; see `State.forces`."""

    def __init__(self, engine: Engine) -> None:
        model = engine.model
        self._engine, self._names = engine, [foot.frame for foot in engine.robot.feet]
        attached = [model.attachment(model.frame(name))[:2] for name in self._names]
        self._carriers = np.array([joint for joint, _ in attached], dtype=np.int64)
        places = [np.concatenate([T.rotation.T.ravel(), T.translation]) for _, T in attached]
        self._places = np.array(places).reshape(-1, 12)
        feet = {name: i for i, name in enumerate(self._names)}
        self._foot_of = np.array([feet.get(name, -1) for name in engine.candidates.names], dtype=np.int64)
        self._wrenches = np.zeros((len(feet), 6))

    def clear(self) -> None:
        """Begin a period."""
        self._wrenches[:] = 0.0

    def feel(self, period: float) -> None:
        """Add what the last step of the engine has in the mean over a period of so many seconds."""
        poses, share = self._engine.model.joint_placements, 1.0 / period
        feel(*self._engine.touched(), self._foot_of, self._carriers, self._places, poses, share, self._wrenches)

    def forces(self) -> dict[str, np.ndarray]:
        """Wrench of each foot, N and N·m, in the axes of its frame."""
        return dict(zip(self._names, self._wrenches.copy(), strict=True))
