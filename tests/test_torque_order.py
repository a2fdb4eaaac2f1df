"""Torque level: strict order, an independent oracle, and the way back through pinocchio's forward dynamics."""

from __future__ import annotations

import warnings
from itertools import pairwise

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
    """A stack and all of its beginnings: each row of common levels misses by the same, limits and cones included."""
    robot = load(name)
    worst = compared = active = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        whole, contacts = random_stack(robot, rng, "hierarchical")
        state = random_state(robot, rng, contacts)
        found = [misses(robot, seed, keep, state) for keep in range(2, len(whole) + 1)]
        for (shorter, before, _), (problem, after, status) in pairwise(found):
            common = slice(0, shorter.lower.size)
            np.testing.assert_allclose(shorter.A, problem.A[common], atol=1e-12)
            wanted = problem.lower[common][np.isfinite(problem.lower[common])]
            change = (problem.violation(after) - problem.violation(before))[common]
            worst = max(worst, np.abs(change).max() / (1.0 + np.linalg.norm(wanted)))
            compared, active = compared + 1, active + np.count_nonzero(np.abs(status) == 1)
    assert worst <= 1e-8
    assert compared >= 8 and (active > 0 or name == "ur5")  # its motors are strong


def misses(robot, seed, keep, state):
    """Problem, answer and working set of the first levels of a random stack."""
    rng = np.random.default_rng(seed)
    stack, contacts = random_stack(robot, rng, "hierarchical")
    random_state(robot, rng, contacts)
    aim(stack, robot, state, np.random.default_rng(seed))
    controller = controller_of(robot, sot.Stack(*stack.levels[:keep]), "hierarchical")
    controller.step(state)
    return controller.plan.problem, controller.solver.x.copy(), controller.solver.status.copy()


# -- an independent oracle -------------------------------------------------------------------------------------


def solve_weighted(problem):
    """The hard levels one after the other, then all others and the metric in one cost."""
    hard, soft = oracle._levels(problem)[: problem.hard], oracle._levels(problem)[problem.hard :]
    last = oracle._stack([*soft, oracle._metric_rows(problem)])
    return oracle._solve(problem, [*hard, last, oracle._leftover_rows(problem)])


@pytest.fixture
def impatient(monkeypatch):
    """A guess that does not come soon rarely comes at all: those problems are left out."""
    tighten = oracle._tighten

    def tighten_but_stop(settings):
        tighten(settings)
        settings.max_iter = settings.max_iter_in = 100

    monkeypatch.setattr(oracle, "_tighten", tighten_but_stop)


@pytest.mark.parametrize("solver", ["hierarchical", "weighted"])
@pytest.mark.parametrize("name", ["solo12", "anymal", "bolt", "talos", "g1", "ur5"])
def test_answers_are_those_of_the_oracle(name, solver, impatient):
    """Accelerations and forces, against the largest of them, wherever the oracle can prove its own: 10 of 20 at least.

    Forces are counted in weights of the robot, so one scale serves all of x.
    """
    solve = oracle.solve_cascade if solver == "hierarchical" else solve_weighted
    worst = proven = cones = motors = 0
    for controller, _, _ in random_ticks(name, solver, 20, 1, seed=3):
        problem, x = controller.plan.problem, controller.solver.x
        expected = solve(problem)
        if not expected.valid:
            continue
        scale = 1.0 + np.abs(expected.x).max()
        levels = problem.n_levels if solver == "hierarchical" else problem.hard
        residuals = problem.level_residuals(x)[:levels]
        worst = max(worst, np.abs(residuals - expected.residuals[:levels]).max() / scale)
        worst, proven = max(worst, np.abs(x - expected.x).max() / scale), proven + 1
        at_limit = np.abs(controller.solver.status) == 1
        cones += np.count_nonzero(at_limit[problem.rows(0)])
        motors += np.count_nonzero(at_limit[problem.rows(1)])  # no inequality is there but torque limits
    assert worst <= 1e-6
    assert proven >= 10
    assert (cones > 5 and motors > 0) or name == "ur5"


# -- there and back --------------------------------------------------------------------------------------------


def constraints_of(robot, contacts):
    """Pinocchio's own contacts: a point holds three directions, a surface all six."""
    model, found = robot.pin_model, []
    for contact in contacts:
        frame, points = model.frames[model.getFrameId(contact.frame)], points_of(robot, contact)
        kind = pin.ContactType.CONTACT_3D if len(points) == 1 else pin.ContactType.CONTACT_6D
        at = frame.placement * pin.SE3(np.eye(3), np.asarray(points[0], dtype=float))
        found.append(pin.RigidConstraintModel(kind, model, frame.parentJoint, at, pin.LOCAL))
    return pin.StdVec_RigidConstraintModel(found)


@pytest.mark.parametrize("solver", ["hierarchical", "weighted", "nullspace"])
@pytest.mark.parametrize("name", LEGGED)
def test_torques_give_the_planned_acceleration_back(name, solver):
    """Torques alone go into pinocchio's constrained forward dynamics, which finds contact forces by itself."""
    worst = count = 0
    robot = load(name)
    for controller, contacts, look in random_ticks(name, solver, 6, 5, facets=(4, 6), seed=5):
        if controller.solver.hard_residual() > 1e-9 and solver != "nullspace":
            continue  # a contact that cannot hold still
        constraints = constraints_of(robot, contacts)
        data, settings = robot.pin_model.createData(), pin.ProximalSettings(1e-14, 1e-10, 50)
        datas = pin.StdVec_RigidConstraintData([constraint.createData() for constraint in constraints])
        pin.initConstraintDynamics(robot.pin_model, data, constraints, datas)
        back = pin.constraintDynamics(
            robot.pin_model, data, look.state.q, look.state.v, look.command.tau, constraints, datas, settings
        )
        count += 1
        worst = max(worst, np.abs(back - look.acceleration).max() / (1.0 + np.abs(back).max()))
    assert worst <= 1e-8 and count >= 25
