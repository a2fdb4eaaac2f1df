"""Operational-space inertia: the textbook's far from singularities, bounded and continuous at them."""

from __future__ import annotations

import numpy as np
import pytest

import sot
from sot.errors import TaskError
from sot.robots import load

ROBOTS = [("panda", "panda_hand_tcp"), ("ur5", "tool0"), ("talos", "left_sole_link")]


def at(model, q, frame):
    model.update(q, np.zeros(model.nv))
    return model.jacobian(model.frame(frame), "aligned")


@pytest.mark.parametrize(("name", "frame"), ROBOTS)
def test_far_from_singularities_it_is_that_of_the_textbook(name, frame):
    robot = load(name)
    model = sot.Model(robot)
    J = at(model, robot.home if name != "ur5" else np.array([0.3, -1.0, 1.2, -0.5, 1.0, 0.2]), frame)
    expected = np.linalg.inv(J @ np.linalg.solve(model.mass_matrix, J.T))
    assert np.linalg.eigvalsh(expected).max() < 300.0
    np.testing.assert_allclose(sot.operational_inertia(model, J), expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("largest", [50.0, 1000.0])
def test_a_straight_arm_is_heavy_but_not_infinite(largest):
    """A Panda on its way through its straight configuration: bounded by the number given, no jumps on the way."""
    robot = load("panda")
    model = sot.Model(robot)
    angles, found, plain = np.linspace(-0.3, 0.0, 1201), [], []
    for elbow in angles:
        q = np.array([0.0, 0.0, 0.0, elbow, 0.0, 0.0, 0.0, 0.02, 0.02])  # stretched straight up
        J = at(model, q, "panda_hand_tcp")
        found.append(sot.operational_inertia(model, J, largest))
        plain.append(1.0 / max(np.linalg.eigvalsh(J @ np.linalg.solve(model.mass_matrix, J.T)).min(), 1e-300))
    eigenvalues = np.linalg.eigvalsh(np.array(found))
    assert max(plain) > 1e6  # it is singular on the way
    assert eigenvalues.min() > 0.0 and eigenvalues.max() <= largest * (1.0 + 1e-9)
    assert eigenvalues.max() > 0.9 * largest  # and as heavy as allowed there
    steps = np.abs(np.diff(found, axis=0)).max(axis=(1, 2))
    assert steps.max() < 0.05 * largest
    finer = np.abs(np.diff(np.array(found)[::2], axis=0)).max(axis=(1, 2)).max()
    assert finer > 1.5 * steps.max()  # half the step, half the change: continuous


def test_the_inverse_is_smooth_where_it_leaves_the_textbook():
    """Value, slope and curvature of 1/λ at λ₀."""
    from sot.operational import _bounded_inverse

    h, smallest = 1e-4, 0.3
    x = smallest * (1.0 + h * np.array([-2.0, -1.0, 0.0]))
    np.testing.assert_allclose(_bounded_inverse(x, smallest), 1.0 / x, rtol=3 * (2 * h) ** 3)
    values = np.linspace(0.0, 1.0, 1001)
    inverse = _bounded_inverse(values, smallest)
    assert (np.diff(inverse) < 0.0).all() and inverse[0] == pytest.approx(3.0 / smallest)


def test_more_rows_than_joints_and_bad_input():
    model = sot.Model(load("double_pendulum"))
    J = np.vstack([np.eye(2), np.eye(2)])
    Lambda = sot.operational_inertia(model, J, largest=200.0)
    assert np.linalg.eigvalsh(Lambda).max() == pytest.approx(200.0)
    with pytest.raises(TaskError, match=r"shape \(m, 2\), got \(2, 3\)"):
        sot.operational_inertia(model, np.zeros((2, 3)))
    with pytest.raises(TaskError, match="expected finite numbers"):
        sot.operational_inertia(model, np.full((1, 2), np.nan))
    with pytest.raises(TaskError, match="largest"):
        sot.operational_inertia(model, J, largest=0.0)
