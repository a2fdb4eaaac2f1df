"""Random reachable poses for three arms, the same for every tool, and what is reported of them.

A pose is that of a random configuration inside the joint limits, so a solution exists. Everyone begins at the same
configuration, has the same tolerance, and may begin anew from random configurations.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import cases
import numpy as np
import pinocchio as pin

TOLERANCE = 1e-6  # m and rad
RESTARTS, ITERATIONS = 50, 100


@dataclass(frozen=True)
class Arm:
    """A robot, the frame to place, and the joints that make up random poses (by the start of their names)."""

    robot: str
    urdf: str
    frame: str
    moving: tuple[str, ...]


ARMS = (
    Arm("panda", "panda_description/urdf/panda.urdf", "panda_hand", ("panda_joint",)),
    Arm("ur5", "ur_description/urdf/ur5_robot.urdf", "tool0", ("",)),
    Arm("talos", "talos_data/robots/talos_reduced.urdf", "gripper_left_base_link", ("arm_left", "torso")),
)


def model_of(arm: Arm) -> pin.Model:
    """The arm on a fixed base."""
    return pin.buildModelFromUrdf(cases.robot_file(arm.urdf))


def poses(arm: Arm, count: int) -> list[pin.SE3]:
    """Reachable poses of the frame."""
    model, rng = model_of(arm), np.random.default_rng(1)
    data, frame = model.createData(), model.getFrameId(arm.frame)
    low, high = np.maximum(model.lowerPositionLimit, -np.pi), np.minimum(model.upperPositionLimit, np.pi)
    moving = [model.joints[i].idx_q for i in range(1, model.njoints) if model.names[i].startswith(arm.moving)]
    found = []
    for _ in range(count):
        q = np.clip(pin.neutral(model), low, high)
        q[moving] = rng.uniform(low[moving], high[moving])
        pin.framesForwardKinematics(model, data, q)
        found.append(data.oMf[frame].copy())
    return found


def main(solver_of: Callable[[Arm], Callable[[pin.SE3], bool]]) -> int:
    """Solve all problems; the last line printed is {robot: {success, median_ms, p95_ms, count}}."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    report = {}
    for arm in ARMS:
        solve, times, solved = solver_of(arm), [], 0
        targets = poses(arm, count)
        solve(targets[0])  # compile, allocate
        for target in targets:
            begin = perf_counter()
            solved += bool(solve(target))
            times.append(1e3 * (perf_counter() - begin))
        report[arm.robot] = {
            "success": solved / count,
            "median_ms": float(np.median(times)),
            "p95_ms": float(np.percentile(times, 95)),
            "count": count,
        }
    print(json.dumps(report))
    return 0
