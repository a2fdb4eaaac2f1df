"""The solvers against oracles that share no code with them, and against each other where they must agree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from oracle import beaten_at, solve_cascade, solve_daqp_hierarchical, solve_weighted
from random_problems import KINDS, random_problem

from sot.problem import Problem
from sot.solvers.lexicographic import SLICE, Lexicographic
from sot.solvers.nullspace import NullSpace
from sot.solvers.status import CAPPED, NOT_FINITE, OPTIMAL

CAP = 2000
PER_KIND = 84  # times two seeds and six kinds: 1,008 problems
SEEDS = (1, 2)


def problems(kind: str, seed: int, count: int, *, metric: str = "any") -> Iterator[Problem]:
    """Random problems in the memory layout of a plan; `metric` may be made positive or zero everywhere."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    for _ in range(count):
        problem = random_problem(rng, kind)
        given = problem.metric
        weights = {"any": given, "positive": np.maximum(given, 0.3), "zero": 0.0 * given}[metric]
        yield replace(problem, A=np.asfortranarray(problem.A, dtype=float), metric=weights)


def solved(problem: Problem, strict: int, *, compiled: bool = True) -> Lexicographic:
    solver = Lexicographic(problem, strict, compiled=compiled)
    assert solver.solve(CAP) == OPTIMAL
    return solver


def inside(problem: Problem, x: np.ndarray) -> bool:
    return bool(((x >= problem.x_lower - 1e-12) & (x <= problem.x_upper + 1e-12)).all())


def cut(problem: Problem, levels: int) -> Problem:
    """The first levels of a problem."""
    m = problem.rows(levels - 1).stop
    A, offsets = np.asfortranarray(problem.A[:m]), problem.offsets[: levels + 1]
    return replace(problem, A=A, lower=problem.lower[:m], upper=problem.upper[:m], offsets=offsets)


def unbounded(problem: Problem) -> Problem:
    """The same rows as equalities, without bounds on x, and with minimum norm as the last line."""
    value = np.where(np.isfinite(problem.lower), problem.lower, np.minimum(problem.upper, 1e6))
    n = problem.n
    return replace(
        problem, lower=value, upper=value.copy(), x_lower=np.full(n, -np.inf), x_upper=np.full(n, np.inf),
        metric=np.ones(n), target=np.zeros(n),
    )  # fmt: skip


# -- against oracles ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_level_residual_of_the_hierarchy_is_that_of_a_proven_cascade(kind: str, seed: int) -> None:
    valid = 0
    for problem in problems(kind, seed, PER_KIND):
        oracle = solve_cascade(problem)
        if oracle.valid:
            x = solved(problem, problem.n_levels).x
            assert inside(problem, x)
            np.testing.assert_allclose(problem.level_residuals(x), oracle.residuals, rtol=0.0, atol=1e-6)
            valid += 1
    assert valid >= 0.95 * PER_KIND


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_weighted_cost_is_that_of_a_proven_quadratic_program(kind: str, seed: int) -> None:
    valid = 0
    for problem in problems(kind, seed, PER_KIND // 2, metric="positive"):
        oracle = solve_weighted(problem)
        if oracle.valid:
            np.testing.assert_allclose(solved(problem, 1).x, oracle.x, rtol=0.0, atol=1e-6)
            valid += 1
    assert valid >= 0.9 * (PER_KIND // 2)


@pytest.mark.parametrize("kind", KINDS)
def test_no_level_is_worse_than_with_daqps_hierarchical_mode(kind: str) -> None:
    compared = 0
    for problem in problems(kind, 3, 60):
        other = solve_daqp_hierarchical(problem)
        if other is not None:
            assert beaten_at(problem, solved(problem, problem.n_levels).x, other) is None
            compared += 1
    assert compared >= 30


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("kind", ["full", "rank_deficient", "conflicting"])
def test_nullspace_is_the_textbook_recursion(kind: str, compiled: bool) -> None:
    """x ← x + (J N)⁺ (b − J x), N ← N − (J N)⁺ (J N): Nakamura; Siciliano and Slotine."""
    for problem in map(unbounded, problems(kind, 4, 60)):
        x, N = np.zeros(problem.n), np.eye(problem.n)
        for k in range(problem.n_levels):
            J, b = problem.A[problem.rows(k)], problem.lower[problem.rows(k)]
            JN = J @ N
            # Singular values below the rounding of J itself are zero, also where JN is nothing but rounding.
            cut_off = 1e-9 * np.linalg.norm(J) / max(np.linalg.norm(JN, 2) if JN.size else 1.0, 1e-300)
            pinv = np.linalg.pinv(JN, rcond=min(cut_off, 2.0))
            x, N = x + pinv @ (b - J @ x), N - pinv @ JN
        solver = NullSpace(problem, problem.n_levels, compiled=compiled)
        solver.solve(CAP)
        np.testing.assert_allclose(solver.x, x, rtol=0.0, atol=1e-10 * max(1.0, np.abs(x).max()))


# -- the two kernels ---------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["positive", "any"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_compiled_kernel_computes_its_definition(kind: str, weighted: bool, metric: str) -> None:
    for problem in problems(kind, 5, 25, metric=metric):
        strict = 1 if weighted else problem.n_levels
        fast, plain = solved(problem, strict), solved(problem, strict, compiled=False)
        np.testing.assert_allclose(fast.x, plain.x, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(("seed", "number"), [(5, 7), (21, 0), (24, 3), (31, 21), (34, 34), (106, 35), (123, 60)])
def test_degenerate_vertices_do_not_lock_what_must_leave(seed: int, number: int, compiled: bool) -> None:
    """Problems on which a hastier guard against cycling, or tighter bounds on rounding, gave a wrong answer."""
    problem = list(problems("degenerate", seed, number + 1, metric="positive"))[number]
    oracle = solve_cascade(problem)
    assert oracle.valid
    x = solved(problem, problem.n_levels, compiled=compiled).x
    np.testing.assert_allclose(x, oracle.x, rtol=0.0, atol=1e-9)


# -- laws --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_lower_levels_change_nothing_above_them(kind: str) -> None:
    for problem in problems(kind, 6, 40):
        violation = problem.violation(solved(problem, problem.n_levels).x)
        for k in range(1, problem.n_levels):
            above = cut(problem, k)
            alone = above.violation(solved(above, k).x)
            np.testing.assert_allclose(violation[: alone.size], alone, rtol=0.0, atol=1e-10)


def test_three_meanings_of_compatible_tasks_are_one() -> None:
    """Without a metric and without conflict, all of them are the smallest x with A x = b."""
    rng = np.random.default_rng(7)
    for _ in range(100):
        problem = unbounded(random_problem(rng, "full", n=20))
        m = problem.rows(min(2, problem.n_levels - 1)).stop
        problem = cut(replace(problem, metric=np.zeros(20)), min(3, problem.n_levels))
        if np.linalg.matrix_rank(problem.A) < m:
            continue
        wanted = np.linalg.pinv(problem.A) @ problem.lower
        levels = problem.n_levels
        for solver in (Lexicographic(problem, levels), Lexicographic(problem, 1), NullSpace(problem, levels)):
            solver.solve(CAP)
            np.testing.assert_allclose(solver.x, wanted, rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_one_soft_level_without_metric_is_the_same_hierarchical_or_weighted(kind: str) -> None:
    for problem in problems(kind, 8, 40, metric="zero"):
        two = cut(problem, 2)
        strict, weighted = (two.violation(solved(two, levels).x) for levels in (2, 1))
        np.testing.assert_allclose(strict, weighted, rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_the_answer_does_not_depend_on_the_warm_start(kind: str) -> None:
    rng = np.random.default_rng(9)
    for problem in problems(kind, 9, 30, metric="positive"):
        for strict in (1, problem.n_levels):
            cold, warm = solved(problem, strict), Lexicographic(problem, strict)
            warm.status[:] = rng.integers(-1, 3, warm.status.size)
            warm.x[:] = rng.normal(size=problem.n)
            assert warm.solve(CAP) == OPTIMAL
            np.testing.assert_allclose(warm.x, cold.x, rtol=0.0, atol=1e-8)


def test_solving_again_costs_one_iteration() -> None:
    for problem in problems("mixed", 10, 50):
        solver = solved(problem, problem.n_levels)
        x = solver.x.copy()
        solver.solve(CAP)
        assert solver.iterations == 1
        np.testing.assert_allclose(solver.x, x, rtol=0.0, atol=1e-12)


# -- bounded work ------------------------------------------------------------------------------------


@pytest.mark.parametrize("compiled", [True, False])
def test_at_the_iteration_cap_x_is_inside_its_bounds_and_the_next_solve_goes_on(compiled: bool) -> None:
    capped = 0
    for problem in problems("bounds", 11, 40, metric="positive"):
        solver = Lexicographic(problem, problem.n_levels, compiled=compiled)
        outcome, calls = solver.solve(2), 1
        capped += outcome == CAPPED
        while outcome == CAPPED and calls < 200:
            assert solver.iterations == 2
            assert inside(problem, solver.x)
            outcome, calls = solver.solve(2), calls + 1
        assert outcome == OPTIMAL
        np.testing.assert_allclose(solver.x, solved(problem, problem.n_levels).x, rtol=0.0, atol=1e-9)
    assert capped >= 20


def test_a_time_budget_ends_the_solve_after_a_slice_of_iterations() -> None:
    stopped = 0
    for problem in problems("bounds", 12, 60):
        solver = Lexicographic(problem, problem.n_levels)
        outcome = solver.solve(CAP, budget=0.0)
        assert solver.iterations <= SLICE
        assert inside(problem, solver.x)
        stopped += outcome == CAPPED
        assert solver.solve(CAP, budget=10.0) == OPTIMAL
    assert stopped >= 5


# -- numbers that are none ---------------------------------------------------------------------------

BROKEN = [
    ("A", np.nan), ("A", np.inf), ("lower", np.nan), ("lower", np.inf), ("upper", np.nan), ("upper", -np.inf),
    ("x_lower", np.nan), ("x_lower", np.inf), ("x_upper", np.nan), ("x_upper", -np.inf),
    ("target", np.nan), ("target", np.inf),
]  # fmt: skip


@pytest.mark.parametrize("solver", ["compiled", "definition", "nullspace", "nullspace definition"])
@pytest.mark.parametrize(("where", "number"), BROKEN)
def test_a_number_that_is_not_finite_is_always_found(where: str, number: float, solver: str) -> None:
    """Wherever it stands: also in rows that are not active, and in columns that are held."""
    make = NullSpace if solver.startswith("nullspace") else Lexicographic
    problem = next(problems("full", 13, 1, metric="positive"))
    arrays = {name: value.copy() for name, value in vars(problem).items() if isinstance(value, np.ndarray)}
    problem = replace(problem, **arrays)
    problem = replace(problem, A=np.asfortranarray(problem.A))
    answer = make(problem, problem.n_levels, compiled="definition" not in solver)
    assert answer.solve(CAP) == OPTIMAL
    x = answer.x.copy()
    array = getattr(problem, where)
    for index in np.ndindex(array.shape):
        before = array[index]
        array[index] = number
        assert answer.solve(CAP) == NOT_FINITE
        assert np.isfinite(answer.x).all()
        array[index] = before
    assert answer.solve(CAP) == OPTIMAL
    np.testing.assert_allclose(answer.x, x, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_numbers_that_overflow_are_not_finite(compiled: bool) -> None:
    problem = next(problems("full", 14, 1, metric="positive"))
    problem = unbounded(replace(problem, A=1e200 * problem.A))
    problem.lower[:] = problem.upper[:] = 1e300
    solver = Lexicographic(problem, problem.n_levels, compiled=compiled)
    solver.solve(CAP)
    assert np.isfinite(solver.x).all()


# -- a robot -----------------------------------------------------------------------------------------


def test_talos_at_its_limits_agrees_with_the_cascade_and_beats_daqp() -> None:
    """Feet, centre of mass and hands in strict order, with hand targets out of reach."""
    from sot.controller import Controller
    from sot.robots import load
    from sot.stack import Stack
    from sot.state import State
    from sot.tasks import CenterOfMass, JointLimits, Pose, Position, Posture

    feet = [Pose("left_sole_link"), Pose("right_sole_link")]
    hands = [
        Position("gripper_left_base_link", reference=[1.5, 0.5, 1.5]),
        Position("gripper_right_base_link", reference=[1.0, -0.8, 0.6]),
    ]
    robot = load("talos")
    stack = Stack([JointLimits(acceleration=20.0)], feet, [CenterOfMass()], hands, [Posture()])
    controller = Controller(robot, stack, dt=5e-3)
    q, v, compared = robot.home, np.zeros(controller.model.nv), 0
    for tick in range(120):
        v = controller.step(State(5e-3 * tick, q, v)).v
        q = controller.model.integrate(q, 5e-3 * v)
        problem, x = controller.plan.problem, controller.solver.x
        active = int(np.count_nonzero(controller.solver.status[problem.lower.size :]))
        if tick % 8 == 0 and active >= 5:
            oracle, other = solve_cascade(problem), solve_daqp_hierarchical(problem)
            if oracle.valid:
                np.testing.assert_allclose(problem.level_residuals(x), oracle.residuals, rtol=0.0, atol=1e-6)
                compared += 1
            assert other is None or beaten_at(problem, x, other) is None
    assert compared >= 5
    assert controller.counters.capped == 0
