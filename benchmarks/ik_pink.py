"""Inverse kinematics to one pose with pink: `python ik_pink.py [COUNT]`.

pink has no such call, so this is the loop that its users write: solve and integrate until the error is small, begin
anew from a random configuration when it is not after a number of iterations. One frame task with the damping that
did best here, joint limits from the URDF, quadprog, whole steps.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import ik_problems
import numpy as np
import pinocchio as pin
from pink import Configuration, solve_ik
from pink.exceptions import PinkError
from pink.limits import ConfigurationLimit
from pink.tasks import FrameTask

DAMPING = 1e-2  # lm_damping: of 0, 1e-4, 1e-2 and 1 the fastest on all three arms; all of them succeed


def solver_of(arm: ik_problems.Arm) -> Callable[[pin.SE3], bool]:
    """Configuration, task and limits made once, as for a control loop."""
    model = ik_problems.model_of(arm)
    low, high = np.maximum(model.lowerPositionLimit, -np.pi), np.minimum(model.upperPositionLimit, np.pi)
    start = np.clip(pin.neutral(model), low, high)
    configuration = Configuration(model, model.createData(), start)
    task = FrameTask(arm.frame, position_cost=1.0, orientation_cost=1.0, lm_damping=DAMPING)
    limits = [ConfigurationLimit(model, config_limit_gain=1.0)]
    rng = np.random.default_rng(0)

    def descend(q: np.ndarray) -> bool:
        configuration.update(q)
        for _ in range(ik_problems.ITERATIONS):
            if np.linalg.norm(task.compute_error(configuration)) <= ik_problems.TOLERANCE:
                return True
            velocity = solve_ik(configuration, [task], 1.0, solver="quadprog", limits=limits)
            q = np.clip(configuration.integrate(velocity, 1.0), model.lowerPositionLimit, model.upperPositionLimit)
            configuration.update(q)
        return False

    def solve(target: pin.SE3) -> bool:
        task.set_target(target)
        q = start
        for _ in range(ik_problems.RESTARTS + 1):
            try:
                if descend(q):
                    return True
            except PinkError:  # no solution, or a limit passed by rounding
                pass
            q = rng.uniform(low, high)
        return False

    return solve


if __name__ == "__main__":
    sys.exit(ik_problems.main(solver_of))
