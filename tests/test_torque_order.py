"""Torque level: strict order, an independent oracle, and the way back through pinocchio's forward dynamics."""

from __future__ import annotations

import warnings

import numpy as np
import oracle
import pinocchio as pin
import pytest
from random_stacks import aim, random_stack, random_state
from torque_oracle import Look, points_of

import sot
from sot.robots import load

LEGGED = ("solo12", "go2", "anymal", "bolt", "talos", "g1")
FAR = 2000  # iterations, see test_torque_states


def controller_of(robot, stack, solver):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sot.Controller(robot, stack, solver=solver, output="torque", max_iterations=FAR)


def random_ticks(name, solver, stacks, states, facets=(4,), seed=0):
    """Controllers of random stacks after one tick each, with contacts and what pinocchio sees."""
    robot, rng = load(name), np.random.default_rng(seed)
    for _ in range(stacks):
        stack, contacts = random_stack(robot, rng, solver, facets)
        controller = controller_of(robot, stack, solver)
        for _ in range(states):
            state = random_state(robot, rng, contacts)
            aim(stack, robot, state, rng)
            yield controller, contacts, Look(controller, state, controller.step(state))


# -- strict order ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*LEGGED, "panda", "ur5"])
def test_lower_levels_do_not_change_what_higher_ones_miss(name):
    """A stack and all of its beginnings: each row of the common levels misses by the same, limits and cones included."""
    robot = load(name)
    worst = compared = active = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        whole, contacts = random_stack(robot, rng, "hierarchical")
        state = random_state(robot, rng, contacts)
        found = [misses(robot, seed, keep, state) for keep in range(2, len(whole) + 1)]
        for shorter, (problem, x, status) in zip(found, found[1:], strict=False):
            rows = shorter[0].lower.size if shorter[0].metric.max() <= 1.0 else 0
            rows = slice(0, min(rows, problem.lower.size))
            scale = 1.0 + np.abs(problem.lower[rows][np.isfinite(problem.lower[rows])]).max(initial=0.0)
            change = problem.violation(x)[rows] - problem.violation(shorter[1])[rows]
            worst, compared = max(worst, np.abs(change).max() / scale), compared + 1
            active += np.count_nonzero(np.abs(status) == 1)
    assert worst <= 1e-8
    assert compared >= 8 and active > 0


def misses(robot, seed, keep, state):
    """Problem, answer and working set of the first levels of a random stack."""
    rng = np.random.default_rng(seed)
    stack, contacts = random_stack(robot, rng, "hierarchical")
    random_state(robot, rng, contacts)
    aim(stack, robot, state, np.random.default_rng(seed))
    controller = controller_of(robot, sot.Stack(*stack.levels[:keep]), "hierarchical")
    controller.step(state)
    return controller.plan.problem, controller.solver.x.copy(), controller.solver.status.copy()
