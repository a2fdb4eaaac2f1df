"""The promises of the stack on real robots: strict order, three meanings, and an independent oracle."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import solve_cascade

from sot import Controller, Stack, State, sine
from sot.robots import load
from sot.tasks import CenterOfMass, JointLimits, Pose, Position, Posture

ROBOTS = ["panda", "ur5", "tiago", "solo12", "talos", "g1"]
DT = 5e-3


def frames(robot):
    return [*robot.hands, *(foot.frame for foot in robot.feet)]


def states(robot, seed, count=20):
    """Random states away from home, where some axes are parallel."""
    rng, model = np.random.default_rng(seed), Controller(robot, Stack([], [Posture()])).model
    for k in range(count):
        yield State(k * DT, model.random_configuration(rng, spread=0.4), np.zeros(model.nv))


@pytest.mark.parametrize("solver", ["nullspace", "hierarchical"])
@pytest.mark.parametrize("name", ROBOTS)
def test_lower_levels_do_not_touch_higher_ones(name, solver):
    """The rows of the first level, solved alone and with two levels below that want something else."""
    robot = load(name)
    frame = frames(robot)[0]

    def top():
        return Position(frame, gain=10.0, reference=sine(amplitude=[0.1, 0.05, -0.1], frequency=1.0))

    below = [[CenterOfMass(gain=30.0, reference=[0.3, 0.2, 0.5])], [Posture(gain=20.0, reference="home")]]
    alone = Controller(robot, Stack([], [top()]), solver=solver, dt=DT)
    full = Controller(robot, Stack([], [top()], *below), solver=solver, dt=DT)
    for state in states(robot, 1):
        one, other = alone.step(state).v, full.step(state).v
        rows = full.plan.problem.rows(1)
        wanted = full.plan.problem.lower[rows]
        residuals = [np.linalg.norm(full.plan.problem.A[rows] @ x - wanted) for x in (one, other)]
        assert abs(residuals[0] - residuals[1]) <= 1e-10 * (1.0 + np.linalg.norm(wanted))
        assert np.linalg.norm(one - other) > 1e-3  # the levels below did want something else


@pytest.mark.parametrize("name", ["panda", "xarm7", "talos", "g1"])
def test_the_meanings_agree_where_they_coincide(name):
    """Tasks that can all be met, with nothing left over and no limit near: the order cannot matter."""
    robot = load(name)
    results = []
    for solver in ("nullspace", "hierarchical", "weighted"):
        base = [] if robot.root == "fixed" else [Pose(robot.feet[0].frame, gain=5.0)]
        levels = [level for level in ([JointLimits()], base, [Posture(gain=0.5)]) if level]
        stack = Stack(*levels)
        controller = Controller(robot, stack, solver=solver, dt=DT)
        q = controller.model.random_configuration(np.random.default_rng(2), spread=0.02)
        results.append(controller.step(State(0.0, q, np.zeros(controller.model.nv))).v)
    np.testing.assert_allclose(results[1], results[0], atol=1e-8)
    np.testing.assert_allclose(results[2], results[0], atol=1e-8)


def test_talos_with_many_limits_against_the_oracle():
    """Slowed-down joints that hands and centre of mass want to move fast: every level's residual is the oracle's."""
    robot = load("talos")
    swing = sine(amplitude=[0.1, 0.1, 0.1, 0.0, 0.0, 0.0], frequency=0.5)
    feet = [Pose(foot.frame, gain=20.0) for foot in robot.feet]
    hands = [Pose(hand, gain=20.0, reference=swing) for hand in robot.hands]
    com = CenterOfMass(gain=20.0, reference=sine(amplitude=[0.0, 0.03, 0.0], frequency=0.5))
    controller = Controller(robot, Stack([JointLimits(scale=0.15)], feet, [com], hands, [Posture()]), dt=DT)
    q, v = robot.home, np.zeros(controller.model.nv)
    checked, active = 0, []
    for k in range(200):
        command = controller.step(State(k * DT, q, v))
        problem = controller.plan.problem
        if k % 5 == 0:
            oracle = solve_cascade(problem)
            if oracle.valid:
                checked += 1
                active.append(np.count_nonzero(np.abs(controller.solver.status) == 1))
                np.testing.assert_allclose(problem.level_residuals(command.v), oracle.residuals, atol=1e-6)
        q, v = controller.model.integrate(q, command.v * DT), command.v
    assert checked >= 35
    assert np.mean(active) > 5
