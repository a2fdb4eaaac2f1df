"""Regions and the law of their force, against minimisation, closed forms and simulated orbits."""

from __future__ import annotations

import dataclasses
import doctest
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize

import sot.attractor.law
from sot.attractor import (
    Affine,
    Ball,
    Box,
    Gaussian,
    HalfSpace,
    Law,
    Line,
    NearRank,
    Outside,
    Parameters,
    Path,
    Plane,
    Point,
    Segment,
)  # fmt: skip
from sot.attractor.parameters import check_sampling
from sot.errors import SotError, TaskError

BASES = {
    0: [[], [[0, 0, 0]]],
    1: [[[1, 2, 3]], [[1, 2, 3], [-2, -4, -6]]],
    2: [[[1, 0, 2], [0, 3, 1]], [[1, 0, 2], [0, 3, 1], [1, 3, 3]], [[100, 0, 0], [0, 0.01, 0.02]]],
    3: [[[1, 0, 0], [1, 1, 0], [1, 1, 1]], [[1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 1, 1]]],
}
CURVED = {
    "segment": Segment([0, 0, 0], [0.3, 0.1, 0]),
    "ball": Ball([0.1, 0, 0], 0.2),
    "box": Box([0.1, 0, 0], [0.2, 0.3, 0.4], rpy=[0.3, -0.2, 0.5]),
    "half_space": HalfSpace([0, 0, 0.1], [1, 2, 2]),
    "path": Path([[0, 0, 0], [0.3, 0, 0], [0.3, 0.3, 0.1]], 0.05),
    "outside": Outside([0.1, 0, 0], 0.3),
}


def test_the_numbers_of_the_docstring() -> None:
    assert doctest.testmod(sot.attractor.law).attempted >= 5
    assert doctest.testmod(sot.attractor.law).failed == 0


# -- regions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [(1.0, 1.0, 1.0), (1.0, 20.0, 0.3)])
@pytest.mark.parametrize(("rank", "basis"), [(r, b) for r, bases in BASES.items() for b in bases])
def test_affine_regions_give_the_nearest_point(rank, basis, weights) -> None:
    """p_a minimises Σ wᵢ (p − x)ᵢ² over x = μ + Σ aⱼ bⱼ, whatever spans the region."""
    rng, offset = np.random.default_rng(1), np.array([0.3, -0.1, 0.2])
    region = Affine(basis, offset, weights)
    assert region.rank == rank
    B = np.array(basis, dtype=float).reshape(-1, 3).T
    for p in rng.normal(size=(5, 3)):
        found = offset
        if B.any():
            scaled = B / np.linalg.norm(B, axis=0)
            cost = lambda a, p=p, B=scaled: float(weights @ (p - offset - B @ a) ** 2)  # noqa: E731 - one line
            a = minimize(cost, np.zeros(B.shape[1]), method="BFGS", options={"gtol": 1e-10}).x
            found = offset + scaled @ a
        assert np.abs(region.at(p).point - found).max() <= 1e-6
        assert np.abs(region.nearest(p[None])[0] - region.at(p).point).max() <= 1e-14


def test_a_heavy_axis_moves_little() -> None:
    """On the line x = y, weight on x keeps the x of p."""
    p = np.array([1.0, 0.0, 0.0])
    assert np.allclose(Affine([[1, 1, 0]]).at(p).point, [0.5, 0.5, 0.0])
    assert np.allclose(Affine([[1, 1, 0]], weights=[1e6, 1, 1]).at(p).point, [1.0, 1.0, 0.0], atol=1e-5)
    assert np.allclose(Affine([[1, 1, 0]], weights=[3, 1, 1]).at(p).point, [0.75, 0.75, 0.0])


def test_a_basis_near_another_rank_is_told() -> None:
    with pytest.warns(NearRank, match="rank"):
        region = Affine([[1, 0, 0], [1, 3e-6, 0]])
    assert region.rank == 2 and len(region.near_rank) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Affine([[1, 0, 0], [1, 0.1, 0]]).near_rank == ()


@pytest.mark.parametrize("kind", CURVED)
def test_curved_regions_give_the_nearest_point_of_the_region(kind) -> None:
    """Of many points that lie in the region none is nearer than p_a, and p_a is in it."""
    region, rng = CURVED[kind], np.random.default_rng(2)
    samples = rng.uniform(-0.6, 0.8, size=(8_000 if kind == "path" else 20_000, 3))
    inside = np.array([region.at(x).point for x in samples if not (kind == "path" and _in_the_bend(x))])
    for p in rng.uniform(-0.5, 0.7, size=(20, 3)):
        if kind == "path" and _in_the_bend(p):
            continue
        hold = region.at(p)
        nearest = np.linalg.norm(inside - p, axis=1).min()
        away = np.linalg.norm(hold.point - p)
        assert away <= nearest + 1e-12 and nearest <= away + 0.05
        assert np.abs(region.at(hold.point).point - hold.point).max() <= 1e-12
        assert np.abs(hold.axes @ hold.axes.T - np.eye(3)).max() <= 1e-12
        way = np.maximum(hold.lower, 0.0) + np.minimum(hold.upper, 0.0)
        assert np.abs(hold.axes.T @ way - (hold.point - p)).max() <= 1e-12


def test_a_gaussian_is_its_eigen_form() -> None:
    rng = np.random.default_rng(3)
    A = rng.normal(size=(3, 3))
    S, mean = 1e-3 * A @ A.T, rng.normal(size=3)
    law = Law(Gaussian(mean, S, scale=2.0, stiffest=1e9), Parameters(damping=0.0))
    p = rng.normal(size=3)
    assert np.allclose(law.force(p, np.zeros(3)), -2.0 * np.linalg.solve(S, p - mean), rtol=1e-9)
    flat = Gaussian([0, 0, 0], [0.0, 1e-3, np.inf], stiffest=5000.0)
    assert np.allclose(flat.stiffness, np.diag([5000.0, 1000.0, 0.0])) and flat.rank == 1
    assert np.isinf(flat.at(np.ones(3)).upper).sum() == 1


@pytest.mark.parametrize("kind", [*CURVED, "plane", "line"])
def test_forces_are_continuous(kind) -> None:
    """Along straight ways through surfaces a step of 1 µm changes the force by what K and the fade allow."""
    region = {**CURVED, "plane": Plane(), "line": Line()}[kind]
    law, rng = Law(region, Parameters(stiffness=1000.0, damping=20.0)), np.random.default_rng(4)
    v, allowed = np.array([0.3, -0.5, 0.4]), 1e-6 * (1000.0 + 20.0 * 1.5e3 * 3.0) * 2.0
    for _ in range(60):
        p, d = rng.uniform(-0.3, 0.5, size=3), rng.normal(size=3)
        inner = region.at(p).point  # a point of the region, seen from p: the surface if p is outside
        d *= 1e-6 / np.linalg.norm(d)
        forces = np.array([law.force(inner + k * d, v) for k in range(-20, 21)])
        assert np.abs(np.diff(forces, axis=0)).max() <= allowed


def _in_the_bend(p: np.ndarray) -> bool:
    """Where two parts of the path are nearly as near, but not the same corner of both: there their ways are blended."""
    parts = [Segment([0, 0, 0], [0.3, 0, 0]), Segment([0.3, 0, 0], [0.3, 0.3, 0.1])]
    a, b = (part.at(p).point - p for part in parts)
    near = abs(np.linalg.norm(a) - np.linalg.norm(b)) < 0.1 * (min(np.linalg.norm(a), np.linalg.norm(b)) - 0.05)
    return near and not np.allclose(a, b)


def test_the_force_of_a_path_never_jumps() -> None:
    """Random ways past random paths are halved over and over where the nearest point of the path jumps most.

    Of the two halves always that in which the force changes more; in the end nothing is left of the change.
    """
    rng, jumps, v = np.random.default_rng(6), 0, np.array([0.3, -0.5, 0.4])
    for _ in range(6):
        path = Path(np.cumsum(rng.normal(size=(6, 3)) * [0.15, 0.15, 0.05], axis=0), 0.02)
        law = Law(path, Parameters(stiffness=1000.0, damping=20.0))
        for a, b in np.array(path.points).mean(axis=0) + 0.3 * rng.normal(size=(3, 2, 3)):
            ways = a + np.linspace(0.0, 1.0, 201)[:, None] * (b - a)
            steps = np.linalg.norm(np.diff([_nearest(path, p) for p in ways], axis=0), axis=1)
            low, high = ways[steps.argmax()], ways[steps.argmax() + 1]
            jumps += steps.max() > 0.05
            for _ in range(26):
                middle = 0.5 * (low + high)
                first, f, last = (law.force(p, v) for p in (low, middle, high))
                low, high = (low, middle) if np.linalg.norm(f - first) > np.linalg.norm(last - f) else (middle, high)
            assert np.linalg.norm(law.force(high, v) - law.force(low, v)) <= 1e-4
    assert jumps >= 9


def _nearest(path: Path, p: np.ndarray) -> np.ndarray:
    ends = zip(path.points, path.points[1:], strict=False)
    return min((Segment(a, b).at(p).point for a, b in ends), key=lambda x: np.linalg.norm(x - p))


# -- the law -----------------------------------------------------------------------------------------------

K, C, MASS, DT = 2000.0, 39.0, 0.19, 5e-4


def orbit(law: Law, duration: float) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities of a mass that starts 2 cm from the x axis at 1 m/s around it, the force held for dt."""
    p, v, path = np.array([0.0, 0.02, 0.0]), np.array([0.0, 0.0, 1.0]), []
    for _ in range(round(duration / DT)):
        a = law.step(p, v, DT) / MASS
        p, v = p + DT * v + 0.5 * DT**2 * a, v + DT * a
        path.append((p, v))
    return np.array([x for x, _ in path]), np.array([x for _, x in path])


def test_an_orbit_ends_with_complement_damping_and_grows_without() -> None:
    """K = 2000, C = 39, 0.19 kg, 2 kHz: 0.1 mm within 0.08 s; the legacy law passes 800 m/s in 5 s."""
    region, line = Line(direction=[1, 0, 0]), Parameters(stiffness=K, damping=C)
    p, _ = orbit(Law(region, line), 0.2)
    outside = np.flatnonzero(np.linalg.norm(p, axis=1) >= 1e-4)
    assert (outside[-1] + 1) * DT <= 0.08
    _, v = orbit(Law(region, dataclasses.replace(line, legacy=True)), 5.0)
    assert np.linalg.norm(v[-1]) > 800.0


@pytest.mark.parametrize("region", [Ball([0, 0, 0], 0.01), Path([[-1, 0, 0], [1, 0, 0]], 0.01)])
def test_orbits_around_solids_end_too(region) -> None:
    p, v = orbit(Law(region, Parameters(stiffness=K, damping=C)), 2.0)
    assert np.linalg.norm(v[-1]) < 1.0 and np.linalg.norm(p, axis=1).max() < 0.05


def test_a_million_samples_stay_within_bounds() -> None:
    """NaN, infinities and huge numbers among them: the force is finite, within cap and rate."""
    rng, n, cap, rate = np.random.default_rng(5), 1_000_000, 8.0, 4000.0
    points, speeds = rng.normal(size=(n, 3)) * 0.05, rng.normal(size=(n, 3))
    for array in (points, speeds):
        for bad in (np.nan, np.inf, -np.inf, 1e300, -1e200, 1e60):
            array[rng.integers(n, size=n // 100), rng.integers(3, size=n // 100)] = bad
    points[500_000:501_000] = np.nan  # long enough for the time-out
    parameters = Parameters(stiffness=K, damping=C, cap=cap, rate=rate, timeout=0.05, fade=0.05)
    law = Law(Affine([[1, 2, 3]], weights=[1, 2, 3]), parameters)
    forces = law.along(points, speeds, DT)
    sizes = np.linalg.norm(forces, axis=1)
    assert np.isfinite(forces).all() and sizes.max() <= cap * (1 + 1e-12) and sizes.max() > 0.99 * cap
    steps = np.linalg.norm(np.diff(forces, axis=0, prepend=0.0), axis=1)
    assert steps.max() <= rate * DT * (1 + 1e-9) and steps.max() > 0.99 * rate * DT
    assert not forces[500_210:501_000].any() and forces[500_050].any()


def test_the_cap_keeps_the_direction() -> None:
    law = Law(Point(), Parameters(stiffness=[100.0, 200.0, 300.0], damping=0.0, cap=5.0))
    free = law.force([1.0, -2.0, 0.5], np.zeros(3))
    force = law.step(np.array([1.0, -2.0, 0.5]), np.zeros(3), DT)
    assert np.allclose(force, 5.0 * free / np.linalg.norm(free), rtol=1e-12)


def test_without_fresh_input_the_force_fades_and_says_so() -> None:
    law = Law(Point(), Parameters(stiffness=100.0, damping=0.0, timeout=0.0105, fade=0.02))
    p, v = np.array([0.1, 0.0, 0.0]), np.zeros(3)
    forces, stale = [law.step(p, v, 1e-3)[0]], [law.stale]
    for _ in range(40):
        forces.append(law.step(p, v, 1e-3, fresh=False)[0])
        stale.append(law.stale)
    assert np.allclose(forces[:11], -10.0) and np.isclose(forces[20], -5.25) and not np.any(forces[31:])
    assert stale.index(True) == 11 and all(stale[11:])
    assert law.step(p, v, 1e-3)[0] == -10.0 and not law.stale


def test_bad_parameters_are_refused_and_the_old_stay() -> None:
    law = Law(Point(), Parameters(stiffness=100.0, damping=1.0))
    old = law.parameters
    for bad in ({"stiffness": np.nan}, {"stiffness": -1.0}, {"damping": [1, 2]}, {"cap": np.nan}, {"rate": 0.0},
                {"stiffness": [[1, 2, 0], [0, 1, 0], [0, 0, 1]]}, {"push": [0, 0, np.inf]}, {"fade": 0.0}):  # fmt: skip
        with pytest.raises(TaskError, match=next(iter(bad))):
            law.parameters = dataclasses.replace(old, **bad)
    assert law.parameters is old
    with pytest.raises(TaskError):
        law.parameters = {"stiffness": 3.0}  # type: ignore[assignment]
    law.parameters = dataclasses.replace(old, stiffness=200.0, push=(1.0, 0.0, 0.0))
    assert law.force([1.0, 0, 0], np.zeros(3))[0] == -199.0


def test_a_damping_ratio_is_that_of_every_axis() -> None:
    """ẍ = −B K x − B C ẋ swings with ζ on each mode, for any mass and stiffness."""
    rng, ratio = np.random.default_rng(6), 0.3
    R, S = rng.normal(size=(2, 3, 3))
    B, stiffness = R @ R.T + 0.5 * np.eye(3), 100.0 * (S @ S.T + 0.5 * np.eye(3))
    damper = Parameters(stiffness=stiffness, damping_ratio=ratio).damper(stiffness, B)
    poles = np.linalg.eigvals(np.block([[np.zeros((3, 3)), np.eye(3)], [-B @ stiffness, -B @ damper]]))
    assert np.allclose(-poles.real / np.abs(poles), ratio, atol=1e-9)


@pytest.mark.parametrize("part", [0.98, 1.02])
@pytest.mark.parametrize("limit", ["K dt/2 < C", "C dt < 2 m"])
def test_the_sampling_limit_is_where_motion_grows(limit, part) -> None:
    """2 % below a limit the sampled motion decays, 2 % above it grows, and only that is refused, by name."""
    m, dt = 0.2, 1e-3
    c = 2.0 * m / dt * part if limit == "C dt < 2 m" else 5.0
    k = 10.0 if limit == "C dt < 2 m" else 2.0 * c / dt * part
    step = np.array([[1 - k * dt**2 / 2 / m, dt - c * dt**2 / 2 / m], [-k * dt / m, 1 - c * dt / m]])
    grows = np.abs(np.linalg.eigvals(step)).max() > 1.0
    assert grows == (part > 1.0)
    arguments = (k * np.eye(3), c * np.eye(3), np.eye(3) / m, np.eye(3), dt, "hand")
    if grows:
        with pytest.raises(TaskError, match=limit):
            check_sampling(*arguments)
    else:
        check_sampling(*arguments)


def test_walls_push_and_never_pull() -> None:
    law = Law(HalfSpace(normal=[0, 0, 1]), Parameters(stiffness=1000.0, damping=50.0))
    assert not law.force([0, 0, 0.01], [0, 0, -1.0]).any()
    assert np.allclose(law.force([0.2, 0, -0.01], [3.0, 0, -0.1]), [0, 0, 15.0])
    assert np.abs(law.force([0, 0, -0.01], [0, 0, 5.0])).max() <= 1e-12  # it leaves faster than the spring


def test_regions_say_what_is_wrong() -> None:
    for make, words in (
        (lambda: Plane(normal=[0, 0, 0]), "normal"), (lambda: Ball([0, 0, 0], -1), "radius"),
        (lambda: Affine(weights=[1, 0, 1]), "weights"), (lambda: Affine([[1, np.nan, 0]]), "basis"),
        (lambda: Path([[0, 0, 0]], 0.1), "points"), (lambda: Segment([0, 0, 0], [0, 0, 0]), "end"),
        (lambda: Box([0, 0, 0], [1, 0, 1]), "lengths"), (lambda: Gaussian([0, 0, 0], [1, -1, 1]), "covariance"),
        (lambda: Law("plane"), "region"),
    ):  # fmt: skip
        with pytest.raises(SotError, match=words):
            make()
