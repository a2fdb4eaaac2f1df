"""The description of a haptic device: a point mass without weight."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from sot.description.slider import stylus
from sot.model import Model

RNG = np.random.default_rng(4)


def test_it_is_a_point_mass_without_weight():
    """M = m I and h = 0 at any state; the frame is at q, and v̇ = τ / m."""
    robot = stylus("pen", 0.3, position=(0.01, 0.02, -0.03))
    model, q, v, tau = Model(robot), *RNG.standard_normal((3, 3))
    model.update(q, v)
    np.testing.assert_allclose(model.mass_matrix, 0.3 * np.eye(3), atol=1e-15)
    np.testing.assert_allclose(model.placement(model.frame("pen")).translation, q, atol=1e-15)
    data = robot.pin_model.createData()
    assert not pin.nonLinearEffects(robot.pin_model, data, q, v).any()
    np.testing.assert_allclose(pin.aba(robot.pin_model, data, q, v, tau), tau / 0.3, rtol=1e-12)


def test_its_names_home_and_friction():
    robot = stylus("pen", 0.3, position=(0.01, 0.02, -0.03), friction=0.1, damping=0.7)
    assert list(robot.pin_model.names)[1:] == ["x", "y", "z"]
    assert robot.name == "pen" and robot.hands == ("pen",) and robot.root == "fixed"
    assert robot.home.tolist() == [0.01, 0.02, -0.03]
    assert robot.joint_friction.tolist() == [0.1] * 3 and robot.joint_damping.tolist() == [0.7] * 3
    assert robot.actuated.all()


def test_each_joint_moves_the_frame_along_its_own_axis():
    model = Model(stylus("pen", 0.3))
    model.update(np.zeros(3), np.zeros(3))
    J = model.jacobian(model.frame("pen"))
    np.testing.assert_allclose(J, np.vstack([np.eye(3), np.zeros((3, 3))]), atol=1e-15)
