"""What every feature must do, on six robots. A new feature is found by being in a module of `sot.features`."""

from __future__ import annotations

import numpy as np
import pytest
from plugins import ROBOTS, along, examples, feature_classes, model_of, random_state, scale

import sot.features
from sot.feature import Feature, numeric_drift
from sot.lie import SE3, exp3, log3

TOLERANCE = 1e-6
CASES = [(robot, kind) for robot in ROBOTS for kind in feature_classes()]
cases = pytest.mark.parametrize(("robot", "kind"), CASES, ids=lambda x: x if isinstance(x, str) else x.__name__)


def usable(feature: Feature):
    """Anything that is too large here (a line nearly parallel, a point nearly in the lens) makes a bad test."""
    return lambda model: feature.jacobian(model)


def each_at_a_state(robot: str, kind: type[Feature], seed: int = 0):
    model, rng = model_of(robot), np.random.default_rng(seed)
    for label, feature in examples(kind, model):
        feature.setup(model)
        random_state(model, rng, usable(feature))
        yield label, feature, model, rng


def check_jacobian(feature: Feature, model, label: str) -> None:
    """J maps every unit velocity to the rate of s ⊖ s0."""
    here, J = feature.value(model), feature.jacobian(model)
    assert J.shape == (feature.dim, model.nv), label
    units = np.eye(model.nv)
    numeric = [along(model, unit, lambda m: feature.difference(feature.value(m), here)) for unit in units]
    assert np.abs(J - np.array(numeric).T).max() <= TOLERANCE * scale(J), label


def check_drift(feature: Feature, model, label: str) -> None:
    """The drift is the rate of J v while v stays."""
    numeric = along(model, model.v, lambda m: feature.jacobian(m) @ m.v)
    drift = feature.drift(model)
    assert drift.shape == (feature.dim,), label
    assert np.abs(drift - numeric).max() <= TOLERANCE * scale(numeric), label


@cases
def test_jacobian_and_drift_match_finite_differences(robot, kind) -> None:
    for label, feature, model, _ in each_at_a_state(robot, kind):
        check_jacobian(feature, model, label)
        check_drift(feature, model, label)


@cases
def test_integrate_and_difference_undo_each_other(robot, kind) -> None:
    for label, feature, model, rng in each_at_a_state(robot, kind, seed=1):
        start, J = feature.value(model), feature.jacobian(model)
        for size in (1e-9, 1e-4, 1.0):
            step = J @ rng.normal(size=model.nv)  # in the tangent space, also where that is a plane
            step *= size / max(float(np.linalg.norm(step)), 1e-12)
            there = feature.integrate(start, step)
            assert np.abs(feature.difference(there, start) - step).max() <= 1e-12 + 1e-9 * size, label
        random_state(model, rng, usable(feature))
        goal = feature.value(model)
        reached = feature.integrate(start, feature.difference(goal, start))
        assert np.abs(feature.difference(reached, goal)).max() <= 1e-9, label


@cases
def test_labels_are_as_many_as_rows_and_unique(robot, kind) -> None:
    for label, feature, *_ in each_at_a_state(robot, kind):
        assert len(set(feature.labels())) == feature.dim, label


@cases
def test_values_stay_when_the_model_moves_on(robot, kind) -> None:
    for label, feature, model, rng in each_at_a_state(robot, kind, seed=2):
        before, J = feature.value(model), feature.jacobian(model).copy()
        copy = SE3(before) if isinstance(before, SE3) else np.array(before)
        q, v = model.q, model.v
        random_state(model, rng, usable(feature))
        feature.value(model), feature.jacobian(model)
        assert np.abs(feature.difference(before, copy)).max() <= 1e-14, label
        model.update(q, v)
        assert np.array_equal(feature.jacobian(model), J), label


def test_the_checks_can_fail() -> None:
    """A feature with a wrong Jacobian and one with a wrong drift are caught."""
    model = model_of("panda")

    class Wrong(sot.features.CenterOfMass):
        def jacobian(self, model):
            return 1.00001 * super().jacobian(model)

    class Drifting(sot.features.CenterOfMass):
        def drift(self, model):
            return super().drift(model) + 2e-6

    random_state(model, np.random.default_rng(0), lambda m: 0.0)
    for kind, check in ((Wrong, check_jacobian), (Drifting, check_drift)):
        with pytest.raises(AssertionError):
            check(kind(), model, "")


def test_default_drift_is_right_and_leaves_the_state() -> None:
    model = model_of("talos")
    random_state(model, np.random.default_rng(0), lambda m: 0.0)
    feature, q, v = sot.features.CenterOfMass(), model.q, model.v
    numeric = numeric_drift(model, feature.jacobian)
    assert model.q is q and model.v is v
    assert np.abs(numeric - feature.drift(model)).max() <= 1e-8


# -- rotations ---------------------------------------------------------------------------------------------


def axes(count: int = 50) -> np.ndarray:
    random = np.random.default_rng(3).normal(size=(count, 3))
    fixed = np.vstack([np.eye(3), -np.eye(3), [[1, 1, 0]], [[0, -1, 1]], [[1, 1, 1]]])
    vectors = np.vstack([random, fixed])
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def rodrigues(axis: np.ndarray, angle: float) -> np.ndarray:
    """Rotation matrix, written without the package under test; 1 − cos without cancellation."""
    x, y, z = axis
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * K + 2.0 * np.sin(angle / 2) ** 2 * (K @ K)


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-9, 1e-7, 1e-4, 1e-2, 1.0, 3.0])
def test_log3_loses_no_digits_at_small_angles(angle) -> None:
    for axis in axes():
        assert np.abs(log3(rodrigues(axis, angle)) - angle * axis).max() <= 4e-15 * angle


@pytest.mark.parametrize("gap", [1e-1, 1e-2, 1e-3, 1e-5, 1e-7, 1e-9, 1e-12])
def test_log3_loses_no_digits_near_half_a_turn(gap) -> None:
    for axis in axes():
        assert np.abs(log3(rodrigues(axis, np.pi - gap)) - (np.pi - gap) * axis).max() <= 1e-14


def test_log3_at_exactly_half_a_turn() -> None:
    for axis in axes():
        R = 2.0 * np.outer(axis, axis) - np.eye(3)
        turn = log3(R)
        assert abs(np.linalg.norm(turn) - np.pi) <= 1e-14
        assert np.abs(rodrigues(turn / np.linalg.norm(turn), np.pi) - R).max() <= 1e-14


@pytest.mark.parametrize("gap", [1.0, 1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("expressed", ["aligned", "local", "world"])
def test_poses_and_orientations_are_exact_up_to_half_a_turn(gap, expressed) -> None:
    pose = sot.features.FramePose("any", expressed)
    orientation = sot.features.FrameOrientation("any", expressed)
    rng = np.random.default_rng(4)
    for axis in axes():
        start = SE3(exp3(rng.normal(size=3)), rng.normal(size=3))
        step = np.concatenate([rng.normal(size=3), (np.pi - gap) * axis])
        assert np.abs(pose.difference(pose.integrate(start, step), start) - step).max() <= 1e-10
        turned = orientation.integrate(start.rotation, step[3:])
        assert np.abs(orientation.difference(turned, start.rotation) - step[3:]).max() <= 1e-12


@pytest.mark.parametrize("gap", [1.0, 1e-3, 1e-6, 1e-9, 0.0])
def test_directions_are_exact_up_to_the_opposite_one(gap) -> None:
    feature = sot.features.Direction("any")
    for axis in axes():
        turn = np.cross(axis, axis[[1, 2, 0]] + [0.1, 0.2, -0.3])
        step = (np.pi - gap) * turn / np.linalg.norm(turn)
        back = feature.difference(rodrigues(step / np.linalg.norm(step), np.pi - gap) @ axis, axis)
        assert abs(np.linalg.norm(back) - (np.pi - gap)) <= 1e-12
        if gap > 0.0:  # at half a turn every axis is as good; near it the axis is lost in rounding
            assert np.abs(back - step).max() <= 1e-14 / gap + 1e-12
        opposite = feature.difference(-axis, axis)
        assert abs(np.linalg.norm(opposite) - np.pi) <= 1e-12 and abs(opposite @ axis) <= 1e-12


# -- single features ---------------------------------------------------------------------------------------


def test_relative_pose_ignores_common_motion() -> None:
    """Two frames of a flying robot: moving the base changes nothing between them."""
    model = model_of("talos")
    random_state(model, np.random.default_rng(5), lambda m: 0.0)
    hand, foot = "gripper_left_base_link", "left_sole_link"
    feature = sot.features.FramePose(hand, relative_to=foot)
    feature.setup(model)
    T_hand, T_foot = (model.placement(model.frame(name)).homogeneous for name in (hand, foot))
    assert np.abs(feature.value(model).homogeneous - np.linalg.solve(T_foot, T_hand)).max() <= 1e-12
    assert np.abs(feature.jacobian(model)[:, :6]).max() <= 1e-12


def test_image_rows_are_those_of_the_interaction_matrix() -> None:
    model = model_of("panda")
    frame = model.robot.hands[0]
    model.update(model.robot.home, np.zeros(model.nv))
    point = model.placement(model.frame(frame)).act(np.array([0.3, -0.2, 0.7]))
    feature = sot.features.ImagePoint(frame, point, depth=True)
    feature.setup(model)
    u, v, Z = feature.value(model)
    L = np.array(
        [
            [-1 / Z, 0, u / Z, u * v, -(1 + u**2), v],
            [0, -1 / Z, v / Z, 1 + v**2, -u * v, -u],
            [0, 0, -1, -v * Z, u * Z, 0],
        ]
    )
    assert np.allclose([u, v, Z], [0.3 / 0.7, -0.2 / 0.7, 0.7], atol=1e-12)
    assert np.abs(feature.jacobian(model) - L @ model.jacobian(model.frame(frame), "local")).max() <= 1e-12


def test_line_distance_of_parallel_lines() -> None:
    """Parallel, also antiparallel: the distance across, with the right rate when one is carried away."""
    model = model_of("panda")
    frame = model.robot.hands[0]
    random_state(model, np.random.default_rng(6), lambda m: 0.0)
    T = model.placement(model.frame(frame)).copy()
    for sign in (1.0, -1.0):
        across, offset = T.rotation[:, 0], T.act(np.array([0.3, 0.0, 0.8]))
        feature = sot.features.LineDistance(frame, "z", None, sign * T.rotation[:, 2], other_point=offset)
        feature.setup(model)
        assert abs(feature.value(model)[0] - 0.3) <= 1e-12
        J = model.jacobian(model.frame(frame), "aligned")
        translating = np.linalg.pinv(J) @ np.concatenate([across, np.zeros(3)])  # without turning
        assert abs(feature.jacobian(model)[0] @ translating + 1.0) <= 1e-9


def test_line_distance_is_signed_and_smooth_where_lines_cross() -> None:
    model = model_of("panda")
    frame = model.robot.hands[0]
    random_state(model, np.random.default_rng(7), lambda m: 0.0)
    T = model.placement(model.frame(frame)).copy()
    for distance in (0.1, 0.0, -0.1):
        point = T.act(np.array([0.5, distance, 0.4]))
        feature = sot.features.LineDistance(frame, "z", None, T.rotation[:, 0], other_point=point)
        feature.setup(model)
        assert abs(feature.value(model)[0] - distance) <= 1e-12
        check_jacobian(feature, model, str(distance))


def test_touching_points_have_a_finite_jacobian() -> None:
    model = model_of("panda")
    frame = model.robot.hands[0]
    feature = sot.features.PointDistance(frame, frame)
    feature.setup(model)
    assert feature.value(model)[0] == 0.0
    assert np.isfinite(feature.jacobian(model)).all() and np.isfinite(feature.drift(model)).all()


def test_joint_limit_distance_is_the_distance_near_a_limit() -> None:
    model = model_of("panda")
    feature = sot.features.JointLimitDistance()
    feature.setup(model)
    low, high = model.pin.lowerPositionLimit, model.pin.upperPositionLimit
    for inside in (1e-4, 0.0, -1e-4):
        for q, slope in ((low + inside, 1.0), (high - inside, -1.0)):
            model.update(q, np.zeros(model.nv))
            assert np.abs(feature.value(model) - inside).max() <= 1e-6
            assert np.abs(np.diag(feature.jacobian(model)) - slope).max() <= 1e-2
    model.update(0.5 * (low + high), np.zeros(model.nv))
    assert np.allclose(feature.value(model), feature.as_value("middle", ""), atol=1e-12)


def test_posture_of_a_driving_base_and_endless_joints() -> None:
    """Angles beyond half a turn come back the short way."""
    model = model_of("tiago")
    base = next(iter(model.joints))
    feature = sot.features.JointPosture(base)
    feature.setup(model)
    q = model.robot.home
    turned = model.integrate(q, np.array([0.5, 0.2, 3.5] + [0.0] * (model.nv - 3)))
    step = feature.difference(turned[feature.q_index], q[feature.q_index])
    assert abs(step[2] - (3.5 - 2 * np.pi)) <= 1e-12
    free = sot.features.JointPosture()
    free.setup(model)
    assert not set(range(3)) & set(free.columns)


def test_home_is_the_robots_own():
    """xArm7's SRDF has a posture of the name home, which is another one."""
    from sot.tasks import Posture

    model = model_of("xarm7")
    assert not np.allclose(model.robot.postures["home"], model.robot.home)
    posture = Posture()
    posture.setup(model)
    assert np.array_equal(posture.feature.as_value("home", ""), model.robot.home)
