"""The weighted meaning through other libraries: the same answer, and an answer at all costs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from random_problems import KINDS, random_problem

from sot.controller import Controller
from sot.errors import ConfigError, SolveError
from sot.problem import Problem
from sot.robots import load
from sot.solvers import backends, definition
from sot.solvers.choice import BACKENDS, make_solver
from sot.solvers.lexicographic import Lexicographic
from sot.solvers.quadratic import Quadratic
from sot.solvers.status import NOT_FINITE, OPTIMAL
from sot.stack import Stack
from sot.state import State
from sot.tasks import CenterOfMass, JointLimits, Pose, Position, Posture

LIBRARIES = [name for name in BACKENDS if name != "sot"]
CAP = 2000

# How near the answers come to our own, in x, where x is unique; measured worst: 1e-11 for both.
AGREEMENT = {"daqp": 1e-8, "quadprog": 1e-8}


def problems(kind: str, count: int, *, positive: bool) -> Iterator[Problem]:
    rng = np.random.default_rng([31, KINDS.index(kind)])
    for _ in range(count):
        problem = random_problem(rng, kind)
        metric = np.maximum(problem.metric, 0.3) if positive else problem.metric
        yield replace(problem, A=np.asfortranarray(problem.A, dtype=float), metric=metric)


def own(problem: Problem) -> Lexicographic:
    solver = Lexicographic(problem, 1)
    assert solver.solve(CAP) == OPTIMAL
    return solver


def cost(problem: Problem, x: np.ndarray) -> float:
    soft = problem.violation(x)[problem.rows(0).stop :]
    return 0.5 * float(soft @ soft + np.sum((problem.metric * (x - problem.target)) ** 2))


@pytest.mark.parametrize("backend", LIBRARIES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_library_gives_our_answer(kind: str, backend: str) -> None:
    """Also where the hard rows contradict each other: least violation first, then the cost."""
    alone = 0
    for problem in problems(kind, 50, positive=True):
        ours, theirs = own(problem), Quadratic(problem, backend)
        assert theirs.solve(CAP) == OPTIMAL
        np.testing.assert_allclose(theirs.x, ours.x, rtol=0.0, atol=AGREEMENT[backend])
        alone += theirs.fallbacks == 0
    assert alone >= 45  # the built-in solver stands in now and then, not as a rule


@pytest.mark.parametrize("backend", LIBRARIES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_library_reaches_our_cost_where_the_metric_leaves_freedom(kind: str, backend: str) -> None:
    for problem in problems(kind, 30, positive=False):
        ours, theirs = own(problem), Quadratic(problem, backend)
        theirs.solve(CAP)
        assert abs(theirs.hard_residual() - ours.hard_residual()) <= 1e-8
        assert abs(cost(problem, theirs.x) - cost(problem, ours.x)) <= 1e-7 * (1.0 + cost(problem, ours.x))


@pytest.mark.parametrize("backend", LIBRARIES)
def test_x_keeps_its_bounds_exactly(backend: str) -> None:
    for problem in problems("bounds", 30, positive=False):
        solver = Quadratic(problem, backend)
        solver.solve(CAP)
        assert (solver.x >= problem.x_lower).all() and (solver.x <= problem.x_upper).all()


@pytest.mark.parametrize("backend", LIBRARIES)
def test_the_working_set_holds_what_carries_a_multiplier(backend: str) -> None:
    """What our own solver presses against, the library's answer must touch too."""
    for problem in problems("bounds", 30, positive=True):
        ours, theirs = own(problem), Quadratic(problem, backend)
        theirs.solve(CAP)
        m = problem.lower.size
        first, last = (definition.multipliers(problem, 1, k, ours.x, ours.status)[m:] for k in (0, 1))
        pressure = np.where(np.abs(first) > 1e-9, first, last)
        pressed = np.abs(pressure) > 1e-6
        assert (theirs.status[m:][pressed] == np.sign(pressure[pressed])).all()


# -- when a library fails ----------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [None, (np.full(100, np.nan), 1), (np.full(100, 1e6), 1)])
def test_a_library_that_fails_or_lies_is_replaced_by_the_built_in_solver(
    answer: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(backends.BACKENDS, "daqp", lambda program, cap: answer)
    for problem in problems("bounds", 10, positive=True):
        solver = Quadratic(problem, "daqp")
        assert solver.solve(CAP) == OPTIMAL
        assert solver.fallbacks == 1
        np.testing.assert_allclose(solver.x, own(problem).x, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("backend", LIBRARIES)
def test_numbers_that_are_not_finite_are_said_to_be_so(backend: str) -> None:
    problem = next(problems("full", 1, positive=True))
    for array in (problem.A, problem.lower, problem.upper, problem.x_lower, problem.x_upper, problem.target):
        solver = Quadratic(problem, backend)
        before = array.flat[0]
        array.flat[0] = np.nan
        assert solver.solve(CAP) == NOT_FINITE
        assert np.isfinite(solver.x).all()
        array.flat[0] = before


@pytest.mark.parametrize("backend", LIBRARIES)
def test_a_missing_library_is_named_with_the_command_that_installs_it(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, backend, None)
    problem = next(problems("full", 1, positive=True))
    with pytest.raises(SolveError, match=rf"'{backend}'.*not installed.*pip install .*{backend}"):
        Quadratic(problem, backend)


def test_unknown_words_are_answered_with_the_known_ones() -> None:
    problem = next(problems("full", 1, positive=True))
    with pytest.raises(ConfigError, match="daqp, quadprog"):
        make_solver("weighted", problem, 1, "osqp", True)
    with pytest.raises(ConfigError, match="nullspace, hierarchical, weighted"):
        make_solver("heavy", problem, 1, "sot", True)
    with pytest.raises(ConfigError, match="only the weighted meaning"):
        make_solver("hierarchical", problem, 1, "daqp", True)


# -- a robot -----------------------------------------------------------------------------------------


def talos_run(backend: str, ticks: int = 100) -> tuple[np.ndarray, Controller]:
    robot = load("talos")
    feet = [Pose(f"{side}_sole_link", name=f"{side}_foot", weight=100.0) for side in ("left", "right")]
    hands = [
        Position("gripper_left_base_link", name="hand_left", reference=[0.8, 0.5, 1.3]),
        Position("gripper_right_base_link", name="hand_right", reference=[0.5, -0.3, 1.0]),
    ]
    stack = Stack([JointLimits()], [*feet, CenterOfMass(weight=10.0), *hands, Posture(weight=1e-3)])
    controller = Controller(robot, stack, solver="weighted", backend=backend, dt=5e-3)
    q, v, commands = robot.home, np.zeros(controller.model.nv), []
    for tick in range(ticks):
        v = controller.step(State(5e-3 * tick, q, v)).v
        q = controller.model.integrate(q, 5e-3 * v)
        commands.append(v)
    return np.array(commands), controller


@pytest.mark.parametrize("backend", LIBRARIES)
def test_talos_moves_the_same_with_every_library(backend: str) -> None:
    ours, _ = talos_run("sot")
    theirs, controller = talos_run(backend)
    np.testing.assert_allclose(theirs, ours, rtol=0.0, atol=1e-7)
    assert controller.solver.fallbacks == 0  # type: ignore[attr-defined]  # a Quadratic has it
    assert len(controller.explain().active) >= 1
