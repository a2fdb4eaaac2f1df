"""Smooth distances: against coal, against their definition, against finite differences, and without jumps."""

from __future__ import annotations

import coal
import numpy as np
import pytest
from hand_bodies import stick_figure
from plugins import model_of
from scipy.spatial import ConvexHull

from sot.collision import definition
from sot.collision.distances import Damper, Distances, bounding_sphere
from sot.collision.drawing import _directions
from sot.collision.plain import PlainDistances
from sot.collision.shape import Body, Hull, ball, box, capsule, convex
from sot.kernels import distance as at
from sot.lie import SE3, exp3

TAU = 1e-3
KINDS = ("ball", "capsule", "box", "convex")
PANDA = "panda"


# -- helpers -----------------------------------------------------------------------------------------------


def hull_and_oracle(kind: str, rng: np.random.Generator) -> tuple[Hull, object]:
    """A random body, and the same for coal."""
    if kind == "ball":
        hull = ball(rng.uniform(0.02, 0.1))
        return hull, coal.Sphere(hull.radius)
    if kind == "capsule":
        length, radius = rng.uniform(0.05, 0.5), rng.uniform(0.02, 0.1)
        return capsule([0, 0, -length / 2], [0, 0, length / 2], radius), coal.Capsule(radius, length)
    if kind == "box":
        sides = rng.uniform(0.05, 0.4, 3)
        return box(sides), coal.Box(*sides)
    hull = convex(0.1 * rng.normal(size=(16, 3)), radius=0.02)
    oracle = coal_convex(hull.points)
    oracle.setSweptSphereRadius(hull.radius)
    return hull, oracle


def coal_convex(points: np.ndarray) -> coal.Convex:
    surface = ConvexHull(points)
    corners, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for point in points:
        corners.append(point)
    for (a, b, c), plane in zip(surface.simplices, surface.equations, strict=True):
        outwards = np.cross(points[b] - points[a], points[c] - points[a]) @ plane[:3] > 0
        triangles.append(coal.Triangle(int(a), int(b if outwards else c), int(c if outwards else b)))
    return coal.Convex(corners, triangles)


def random_pose(rng: np.random.Generator, spread: float) -> SE3:
    return SE3(exp3(rng.normal(size=3) * 2.0), spread * rng.normal(size=3))


def coal_distance(first: object, T_first: SE3, second: object, T_second: SE3) -> float:
    places = [coal.Transform3s(T.rotation, T.translation) for T in (T_first, T_second)]
    return coal.distance(first, places[0], second, places[1], coal.DistanceRequest(), coal.DistanceResult())


def two(first: Hull, second: Hull, T: SE3, **options: object) -> Distances:
    """Distances of a body that stands still and an obstacle."""
    kind = options.pop("kind", Distances)
    found = kind(model_of(PANDA), [Body("a", 0, first)], [(0, 1)], obstacles=[("b", second)], **options)
    found.place(0, T, np.zeros(6))
    found.update(model_of(PANDA), 1e-3)
    return found


# -- how far ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("second", KINDS)
@pytest.mark.parametrize("first", KINDS)
def test_never_too_far_and_hardly_too_near(first, second) -> None:
    """d − τ log(k_A k_B) ≤ d_τ ≤ d, with d from coal; the exact measure is d itself; kernel and definition agree."""
    rng = np.random.default_rng([KINDS.index(first), KINDS.index(second)])
    apart = 0
    for _ in range(40):
        (A, a), (B, b) = hull_and_oracle(first, rng), hull_and_oracle(second, rng)
        T_a, T_b = random_pose(rng, 0.2), random_pose(rng, 0.2)
        true = coal_distance(a, T_a, b, T_b)
        found = two(A.moved(T_a), B, T_b, smoothing=TAU)
        smooth = found.distances[0]
        if smooth <= -A.radius - B.radius:  # the points overlap: another test's business
            continue
        apart += 1
        assert true - TAU * np.log(len(A.points) * len(B.points)) - 1e-6 <= smooth <= true + 1e-6
        assert abs(two(A.moved(T_a), B, T_b, smoothing=1e-6, exact=True).distances[0] - true) <= 2e-6
        plain = two(A.moved(T_a), B, T_b, smoothing=TAU, kind=PlainDistances)
        assert abs(plain.distances[0] - smooth) <= 1e-12
        assert np.abs(plain.memory[0, : at.DISTANCE] - found.memory[0, : at.DISTANCE]).max() <= 1e-9
    assert apart >= 15


def test_against_points_on_both_surfaces() -> None:
    """No library: the nearest of many points on a capsule and on a box."""
    rng = np.random.default_rng(0)
    t, u = rng.uniform(size=20000), rng.normal(size=(20000, 3))
    on_capsule = 0.3 * t[:, None] * [0, 0, 1] + 0.05 * u / np.linalg.norm(u, axis=1)[:, None]
    on_box = rng.uniform(-1, 1, size=(20000, 3))
    on_box[np.arange(20000), rng.integers(0, 3, 20000)] = rng.choice([-1.0, 1.0], 20000)
    on_box *= [0.1, 0.05, 0.15]
    T = SE3(exp3(np.array([0.3, 0.8, -0.2])), np.array([0.25, 0.1, 0.2]))
    from scipy.spatial import cKDTree

    sampled = cKDTree(on_capsule).query(on_box @ T.rotation.T + T.translation)[0].min()
    found = two(capsule([0, 0, 0], [0, 0, 0.3], 0.05), box([0.2, 0.1, 0.3]), T, smoothing=TAU)
    assert sampled - 5e-3 <= found.distances[0] <= sampled
    exact = two(capsule([0, 0, 0], [0, 0, 0.3], 0.05), box([0.2, 0.1, 0.3]), T, smoothing=1e-6, exact=True)
    assert sampled - 1e-3 <= exact.distances[0] <= sampled
    pair = exact.pair(0)
    assert abs(np.linalg.norm(pair.points[1] - pair.points[0]) - pair.distance) <= 1e-5
    assert np.abs(pair.normal * pair.distance - (pair.points[1] - pair.points[0])).max() <= 1e-5


@pytest.mark.parametrize("kinds", [("box", "box"), ("convex", "box"), ("capsule", "capsule"), ("ball", "box")])
def test_overlapping_bodies_come_apart(kinds) -> None:
    """Moved along the direction by what they overlap, they no longer do; and that is hardly more than needed."""
    rng = np.random.default_rng(5)
    seen, ratios = 0, []
    for _ in range(60):
        (A, a), (B, b) = hull_and_oracle(kinds[0], rng), hull_and_oracle(kinds[1], rng)
        T_a, T_b = random_pose(rng, 0.03), random_pose(rng, 0.03)
        deep = coal_distance(a, T_a, b, T_b)
        found = two(A.moved(T_a), B, T_b, smoothing=TAU)
        n, d = found.pair(0).normal, found.distances[0]
        assert np.isfinite(found.memory[:, : at.CORNER + 4]).all() and d <= deep + 1e-6
        if deep < -0.01:
            seen += 1
            T_out = SE3(T_b.rotation, T_b.translation - d * n)
            assert coal_distance(a, T_a, b, T_out) >= -1e-6
            ratios.append(d / deep)
    assert seen >= 10 and np.median(ratios) <= 1.1 and max(ratios) <= 1.5


def test_the_short_way_out_is_found() -> None:
    """A small cube inside a plate, off its middle: across the plate, and not along the line of the centres."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        T = random_pose(rng, 0.2)
        inside = T * SE3(exp3(0.1 * rng.normal(size=3)), np.array([0.1, 0.03, 0.002]))
        found = two(box([0.4, 0.4, 0.02]).moved(T), box([0.03, 0.03, 0.03]), inside)
        assert -0.04 <= found.distances[0] < 0.0 and abs(found.pair(0).normal @ T.rotation[:, 2]) >= 0.95


def test_several_starts_are_better_than_one() -> None:
    """Of bodies that overlap, the search from centre to centre does not always find the shortest way out."""
    rng = np.random.default_rng(9)
    gains = []
    for _ in range(150):
        A, B = box(rng.uniform(0.01, 0.5, 3)), hull_and_oracle(rng.choice(["box", "convex"]), rng)[0]
        T_a, T_b = random_pose(rng, 0.05), random_pose(rng, 0.05)
        first, second = A.moved(T_a).points, B.moved(T_b).points
        towards = second.mean(axis=0) - first.mean(axis=0)
        one = definition._cool(towards / np.linalg.norm(towards), first, second, TAU)
        if one.gap < 0.0:
            gap = two(A.moved(T_a), B, T_b, smoothing=TAU).distances[0] + B.radius
            gains.append(1.0 - gap / one.gap)
    assert min(gains) >= -0.15 and sum(gain > 0.01 for gain in gains) >= 3


def test_a_jump_of_the_state_starts_anew() -> None:
    """From one side of a plate to the other: the way out is the nearer side, not where the search was before."""
    found = two(box([0.4, 0.4, 0.1]), ball(0.02), SE3(np.eye(3), np.array([0.0, 0.0, 0.04])))
    assert np.allclose(found.pair(0).normal, [0, 0, 1], atol=1e-6)
    found.place(0, SE3(np.eye(3), np.array([0.0, 0.0, -0.04])), np.zeros(6))
    found.update(model_of(PANDA), 1e-3)
    assert np.allclose(found.pair(0).normal, [0, 0, -1], atol=1e-6)
    for z in np.linspace(-0.04, 0.02, 61):  # but bit by bit it keeps its side
        found.place(0, SE3(np.eye(3), np.array([0.0, 0.0, z])), np.zeros(6))
        found.update(model_of(PANDA), 1e-3)
    assert np.allclose(found.pair(0).normal, [0, 0, -1], atol=1e-6)


def test_one_ball_in_the_middle_of_another() -> None:
    """No direction is better than another, and yet there is one."""
    found = two(ball(0.1), ball(0.05), SE3.Identity())
    assert np.isclose(found.distances[0], -0.15) and np.isclose(np.linalg.norm(found.pair(0).normal), 1.0)


def test_plane_in_closed_form() -> None:
    """A tilted capsule over the floor: −τ log Σ exp(−z/τ) − r; the half-space below counts, however deep."""
    floor = Hull(np.zeros((0, 3)))
    for height in (0.5, 0.05, -0.4):
        body = capsule([0.1, 0.2, height], [0.3, -0.1, height + 0.002], 0.04)
        smooth = height - TAU * np.log1p(np.exp(-0.002 / TAU)) - 0.04
        for kind in (Distances, PlainDistances):
            found = two(body, floor, SE3.Identity(), smoothing=TAU, kind=kind)
            pair = found.pair(0)
            assert abs(pair.distance - smooth) <= 1e-12
            assert np.allclose(pair.normal, [0, 0, -1]) and abs(pair.points[1][2]) <= 1e-12
            exact = two(body, floor, SE3.Identity(), smoothing=TAU, kind=kind, exact=True)
            assert abs(exact.distances[0] - (height - 0.04)) <= 1e-12


def test_smooth_pairs_are_not_left_out_too_early() -> None:
    """Two nearly round bodies: the smooth distance is within reach a little before that of their bounding spheres."""
    hull = convex(0.1 * _directions()[0])
    far = two(hull, hull, SE3(np.eye(3), np.array([0.2, 0.15, 0.1])), smoothing=5e-3)
    spheres = np.linalg.norm([0.2, 0.15, 0.1]) - 0.2
    assert far.distances[0] < spheres - 0.01
    reach = 0.5 * (far.distances[0] + spheres)
    assert (
        two(hull, hull, SE3(np.eye(3), np.array([0.2, 0.15, 0.1])), smoothing=5e-3, damper=Damper(0.0, reach)).count
        == 1
    )


def test_bounding_spheres_hold_all_points() -> None:
    rng = np.random.default_rng(2)
    for size in (1, 2, 8, 30):
        points = rng.normal(size=(size, 3))
        center, radius = bounding_sphere(points)
        assert (np.linalg.norm(points - center, axis=1) <= radius + 1e-12).all()
        assert radius <= 1.05 * np.linalg.norm(points[:, None] - points[None], axis=2).max() / np.sqrt(2) + 1e-12


# -- how it changes --------------------------------------------------------------------------------------------


def numeric_gradient(found: Distances, model, h: float = 2e-6) -> np.ndarray:
    """∂d/∂v of all pairs, by differences through the robot's kinematics."""
    q, columns = model.q, []
    for unit in np.eye(model.nv):
        ends = []
        for sign in (1.0, -1.0):
            model.update(model.integrate(q, sign * h * unit), np.zeros(model.nv))
            ends.append(found.measure(model).copy())
        columns.append((ends[0] - ends[1]) / (2 * h))
    model.update(q, np.zeros(model.nv))
    found.measure(model)
    return np.array(columns).T


def gradients(model, found: PlainDistances) -> tuple[np.ndarray, np.ndarray]:
    """Row and bound of every pair at its nearest points, as the definition has them."""
    rows = [found._row(model, pair, np.zeros(4), np.inf) for pair in range(len(found.memory))]
    return np.array([row for row, _ in rows]), np.array([bound for _, bound in rows])


def single_rows(found: Distances) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs that have a single row, and row and bound of each."""
    gaps = found.memory[found.slots, at.CORNER + 3 :: 4]
    slots = np.flatnonzero((found.slots >= 0) & np.isinf(gaps[:, 1:]).all(axis=1))
    first = [at.CORNERS * slot for slot in slots]
    return found.slots[slots], found.A[first], found.lower[first]


@pytest.mark.parametrize("robot", [PANDA, "talos", "g1", "tiago"])
def test_rows_are_the_gradient(robot) -> None:
    """A = ∂d/∂v: capsules and balls of the robot, against each other and against a box and a plane."""
    model, rng = model_of(robot), np.random.default_rng(3)
    figure = stick_figure(model.robot)
    count = len(figure.bodies)
    pairs = list(figure.pairs)[:: max(1, len(figure.pairs) // 12)]
    pairs += [(b, count + k) for b in range(0, count, max(1, count // 4)) for k in (0, 1)]
    around = [("post", box([0.1, 0.2, 0.9])), ("floor", Hull(np.zeros((0, 3))))]
    options = {"obstacles": around, "slots": len(pairs)}
    found, plain = (kind(model, figure.bodies, pairs, **options) for kind in (Distances, PlainDistances))
    for some in (found, plain):
        some.place(0, SE3(exp3(np.array([0.1, 0.2, 0.3])), np.array([0.6, 0.2, 0.5])), np.zeros(6))
        some.place(1, SE3(exp3(np.array([0.1, -0.2, 0.0])), np.array([0.0, 0.0, -0.1])), np.zeros(6))
    single = 0
    for _ in range(3):
        model.update(model.random_configuration(rng, 0.5), np.zeros(model.nv))
        numeric = numeric_gradient(found, model)
        apart = found.distances > -0.1  # else the cores overlap: the gradient is that of one way out
        assert apart.sum() >= 0.75 * len(pairs)
        plain.measure(model)
        assert np.abs(gradients(model, plain)[0] - numeric)[apart].max() <= 1e-6
        which, rows, _ = single_rows(found)
        assert np.abs(rows - numeric[which])[apart[which]].max(initial=0.0) <= 1e-6
        single += len(which)
    assert single >= 3


def parallel_panda() -> tuple[object, list[Body]]:
    """Panda with its forearm along z, and a box on it whose faces are along the world's axes."""
    model = model_of(PANDA)
    q = model.robot.home.copy()
    q[:7] = [0.0, 0.0, 0.0, -np.pi / 2, 0.0, np.pi / 2, 0.0]
    model.update(q, np.zeros(model.nv))
    joint = model.joint("panda_joint5").index
    T = model.data.oMi[joint]
    upright = T.inverse() * SE3(np.eye(3), T.translation)
    bodies = [
        Body("capsule", joint, capsule([0, 0, -0.15], [0, 0, 0.15], 0.05).moved(upright)),
        Body("box", joint, box([0.1, 0.12, 0.3]).moved(upright)),
    ]
    return model, bodies


@pytest.mark.parametrize("body", [0, 1])
def test_rows_are_the_gradient_where_edges_and_faces_are_parallel(body) -> None:
    """Where the nearest points of the true distance jump; the smooth ones are in the middle."""
    model, bodies = parallel_panda()
    place = model.data.oMi[bodies[0].joint].translation
    for hull in (capsule([0, 0, -0.2], [0, 0, 0.2], 0.04), box([0.1, 0.2, 0.4])):
        found = PlainDistances(model, bodies, [(body, 2)], obstacles=[("b", hull)], slots=1)
        found.place(0, SE3(np.eye(3), place + np.array([0.25, 0.0, 0.05])), np.zeros(6))
        numeric = numeric_gradient(found, model)
        assert np.abs(gradients(model, found)[0] - numeric).max() <= 1e-6
        assert np.allclose(found.pair(0).normal, [1, 0, 0], atol=2e-3)


def sweep(tau: float, steps: int = 2000) -> np.ndarray:
    """Nearest point on a capsule that tilts past one that stands upright, for each tilt."""
    found = two(capsule([0, 0, -0.2], [0, 0, 0.2], 0.04), capsule([0, 0, -0.2], [0, 0, 0.2], 0.04), SE3.Identity())
    found.smoothing = tau
    points = []
    for tilt in np.linspace(-0.05, 0.05, steps):
        found.place(0, SE3(exp3(np.array([0.0, tilt, 0.0])), np.array([0.2, 0.0, 0.0])), np.zeros(6))
        found.measure(model_of(PANDA))
        points.append(np.concatenate([found.pair(0).points[0], found.pair(0).normal]))
    return np.array(points)


def test_nearest_points_do_not_jump() -> None:
    """Steps of 5e-5 rad over 0.4 m: smooth points go from end to end gradually, sharp ones in a single step."""
    smooth, sharp = sweep(TAU), sweep(1e-7)
    assert np.ptp(smooth[:, 2]) >= 0.35 and np.ptp(sharp[:, 2]) >= 0.35
    assert np.abs(np.diff(smooth, axis=0)).max() <= 0.01
    assert np.abs(np.diff(sharp, axis=0)).max() >= 0.35


@pytest.mark.parametrize("tau", [TAU, 1e-6])
def test_the_distance_hardly_depends_on_where_the_search_began(tau) -> None:
    """From tick to tick, or from nothing: the same, along a motion of all joints."""
    model, rng = model_of("talos"), np.random.default_rng(4)
    figure = stick_figure(model.robot)
    found = Distances(model, figure.bodies, figure.pairs, smoothing=tau)
    q, v = model.robot.home.copy(), rng.normal(size=model.nv)
    for _ in range(40):
        q = model.integrate(q, 0.005 * v)
        model.update(q, v)
        warm = found.measure(model).copy()
        fresh = Distances(model, figure.bodies, figure.pairs, smoothing=tau)
        cold = fresh.measure(model)
        apart = cold > -0.1
        assert np.abs(warm - cold)[apart].max() <= 1e-12
        assert np.abs(found.memory[apart, : at.DISTANCE] - fresh.memory[apart, : at.DISTANCE]).max() <= (
            1e-8 if tau == TAU else 1e-4
        )


# -- which pairs, and their rows -------------------------------------------------------------------------------


WIDE = Damper(margin=0.01, influence=5.0, rate=20.0, recovery=0.1)
DAMPER = Damper(margin=0.01, influence=0.1, rate=20.0, recovery=0.1)


@pytest.mark.parametrize("slots", [3, 20])
@pytest.mark.parametrize("robot", [PANDA, "g1"])
def test_kernel_and_definition_agree_tick_by_tick(robot, slots) -> None:
    """Nearest pairs, slots, corners and rows, with everything in motion; and what is left out is really far away."""
    model, rng = model_of(robot), np.random.default_rng(6)
    figure = stick_figure(model.robot)
    count = len(figure.bodies)
    pairs = list(figure.pairs)[:: max(1, len(figure.pairs) // 30)]
    pairs += [(b, count + k) for b in range(1, count, 2) for k in range(3)]
    around = [("post", box([0.1, 0.2, 0.9])), ("floor", Hull(np.zeros((0, 3)))), ("ball", ball(0.1))]
    options = {"obstacles": around, "slots": slots}
    fast, plain = (kind(model, figure.bodies, pairs, damper=WIDE, **options) for kind in (Distances, PlainDistances))
    near = Distances(model, figure.bodies, pairs, damper=DAMPER, **options)
    q, v = model.robot.home.copy(), np.zeros(model.nv)
    measured = corners = 0
    for k in range(60):
        v += 0.3 * rng.normal(size=model.nv) - 0.05 * v
        q = model.integrate(q, 0.005 * v)
        model.update(q, v)
        twist = 0.3 * rng.normal(size=6)
        for found in (fast, plain, near):
            found.place(0, SE3(exp3(0.01 * k * np.ones(3)), np.array([0.4, 0.2, 0.6])), twist)
            found.place(1, SE3(exp3(np.array([0.01 * k, 0, 0])), np.array([0.0, 0.0, 0.1])), -twist)
            found.place(2, SE3(np.eye(3), np.array([0.3, -0.01 * k, 0.7])), twist)
            found.update(model, 0.005)
        assert fast.count == plain.count and np.array_equal(fast.slots, plain.slots)
        assert np.abs(fast.distances - plain.distances).max() <= 1e-12
        assert np.abs(fast.A - plain.A).max() <= 1e-9
        assert np.allclose(fast.lower, plain.lower, rtol=1e-7, atol=1e-9)
        within = plain.distances < DAMPER.influence
        assert near.count == within.sum() and (near.distances[~within] >= DAMPER.influence).all()
        assert np.abs(near.distances - plain.distances)[within].max(initial=0.0) <= 1e-12
        measured += within.sum()
        corners += np.isfinite(plain.lower).sum() - (plain.slots >= 0).sum()
    assert measured >= 60 and corners >= 30


def test_a_pair_keeps_its_slot() -> None:
    """While it is among the nearest, whatever the order; so a solver's working set stays what it was."""
    model = model_of(PANDA)
    balls = [Body(str(k), k + 1, ball(0.05)) for k in range(5)]
    found = Distances(model, balls, [(k, 5) for k in range(5)], obstacles=[("o", ball(0.1))], slots=3)
    rng = np.random.default_rng(8)
    before: dict[int, int] = {}
    changes = 0
    for _ in range(200):
        found.place(0, SE3(np.eye(3), np.array([0.2, 0.0, 0.6]) + 0.3 * rng.normal(size=3)), np.zeros(6))
        found.update(model, 1e-3)
        now = {int(pair): slot for slot, pair in enumerate(found.slots)}
        others = [pair for pair in range(5) if pair not in now]
        assert found.distances[list(now)].max() <= found.distances[others].min()
        assert all(now[pair] == slot for pair, slot in before.items() if pair in now)
        changes += len(set(now) - set(before))
        before = now
    assert changes > 20


class Careless(PlainDistances):
    """Pairs are swapped where they stand."""

    def _zone(self, pair: int) -> float:
        return self.damper.influence - self.damper.margin


@pytest.mark.parametrize(("kind", "jumps"), [(Distances, False), (PlainDistances, False), (Careless, True)])
def test_pairs_swap_without_a_jump(kind, jumps) -> None:
    """Two of three balls have rows. Where the third takes over, neither it nor the one before bounds anything."""
    model = model_of(PANDA)
    model.update(model.robot.home, np.zeros(model.nv))
    T = model.data.oMi[7]
    places = [T.actInv(T.translation + offset) for offset in ([0, 0, 0], [0.1, 0, 0], [-0.1, 0, 0])]
    bodies = [Body(str(k), 7, ball(0.02, place)) for k, place in enumerate(places)]
    found = kind(
        model, bodies, [(k, 3) for k in range(3)], obstacles=[("o", ball(0.02))], slots=2, damper=DAMPER
    )  # fmt: skip

    def allowed(shift: float) -> float:
        """How fast the hand may go towards the obstacle and the third ball."""
        found.place(0, SE3(np.eye(3), T.translation + np.array([shift, 0.0, -0.08])), np.zeros(6))
        found.update(model, 1e-3)
        return float(max(found.lower[:: at.CORNERS][found.slots != 0], default=-np.inf))

    before, after = allowed(-1e-6), allowed(1e-6)
    assert (min(before, after) > -10.0) == jumps
    assert found.count == 3


def test_the_bound() -> None:
    """−λδ near the margin, −∞ at the influence distance, the way out below it; continuous and growing."""
    deltas = np.linspace(-0.05, 0.0899, 2000)
    bounds = np.array([definition.least_speed(delta, 0.09, 20.0, 0.1) for delta in deltas])
    assert (np.diff(bounds) <= 0.0).all()
    assert np.abs(np.diff(bounds))[deltas[1:] < 0.08].max() <= 0.1
    assert bounds[0] == 0.1 and definition.least_speed(0.09, 0.09, 20.0, 0.1) == -np.inf
    small = 1e-4
    assert abs(definition.least_speed(small, 0.09, 20.0, 0.1) + 20.0 * small) <= 1e-8
    assert abs(definition.least_speed(-small, 0.09, 20.0, 0.1) - 20.0 * small) <= 1e-12
    assert bounds[-1] < -100.0


@pytest.mark.parametrize("hull", [box([0.1, 0.2, 0.3]), Hull(np.zeros((0, 3))), ball(0.1)])
def test_what_an_obstacle_does_by_itself(hull) -> None:
    """ḋ with the robot at rest is what the obstacle's velocity takes from the bound."""
    model, h = model_of(PANDA), 1e-6
    figure = stick_figure(model.robot)
    v, w = np.array([0.1, -0.3, 0.2]), np.array([0.5, 1.0, -0.7])
    R, p = exp3(np.array([0.3, -0.2, 0.9])), np.array([0.3, 0.3, 0.4])
    ends = []
    for t in (-h, h, 0.0):
        pairs = [(b, len(figure.bodies)) for b in range(len(figure.bodies))]
        far = Damper(margin=-10.0, influence=10.0, rate=0.0)  # no bound but the obstacle's speed
        found = PlainDistances(model, figure.bodies, pairs, obstacles=[("o", hull)], slots=len(pairs), damper=far)
        found.place(0, SE3(exp3(t * w) @ R, p + t * v), np.concatenate([v, w]))
        found.update(model, 1e-3)
        ends.append(found.distances.copy())
    speeds = -gradients(model, found)[1]
    assert np.abs(speeds - (ends[1] - ends[0]) / (2 * h)).max() <= 1e-6


@pytest.mark.parametrize("kind", [Distances, PlainDistances])
def test_a_state_that_is_not_finite_is_noticed_and_forgotten(kind) -> None:
    model = model_of(PANDA)
    figure = stick_figure(model.robot)
    found = kind(model, figure.bodies, figure.pairs, slots=5, damper=DAMPER)
    model.update(model.robot.home, np.zeros(model.nv))
    found.update(model, 1e-3)
    before = found.A.copy(), found.lower.copy()
    model.update(np.full(model.nq, np.nan), np.zeros(model.nv))
    assert found.update(model, 1e-3) == -1 and np.isnan(found.lower).all()
    assert np.isnan(found.measure(model, DAMPER.influence)).all()
    model.update(model.robot.home, np.zeros(model.nv))
    found.update(model, 1e-3)
    assert np.array_equal(found.A, before[0]) and np.array_equal(found.lower, before[1])
