"""Inverse kinematics to one pose with `sot.solve_ik`: `python ik_sot.py [COUNT]`."""

from __future__ import annotations

import sys
from collections.abc import Callable

import ik_problems
import pinocchio as pin

import sot
from sot.robots import load
from sot.tasks import Pose


def solver_of(arm: ik_problems.Arm) -> Callable[[pin.SE3], bool]:
    """The call that a user writes, all set-up included."""
    robot = load(arm.robot, **({} if arm.robot != "talos" else {"root": "fixed"}))

    def solve(target: pin.SE3) -> bool:
        return sot.solve_ik(
            robot,
            Pose(arm.frame, reference=target),
            tolerance=ik_problems.TOLERANCE,
            restarts=ik_problems.RESTARTS,
            iterations=ik_problems.ITERATIONS,
        ).success

    return solve


if __name__ == "__main__":
    sys.exit(ik_problems.main(solver_of))
