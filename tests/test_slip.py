"""A run in which feet slide away is not right, even if nobody falls."""

from __future__ import annotations

import numpy as np
import pytest

import sot
from sot.cli.commands import failures
from sot.robots import Simulated, load
from sot.tasks import BaseOrientation, CenterOfMass, Contact, JointLimits, Posture, TorqueLimits

TILT, DURATION = 0.1, 0.4  # rad, s


def standing(robot: sot.Description, output: str) -> sot.Controller:
    feet = [Contact(foot.frame, friction=0.6, min_force=0.5) for foot in robot.feet]
    limits = [JointLimits(), TorqueLimits()] if output == "torque" else [JointLimits()]
    stack = sot.Stack([*limits, *feet], [CenterOfMass(gain=5.0), BaseOrientation(gain=8.0)], [Posture(gain=5.0)])
    return sot.Controller(robot, stack, output=output, dt=1e-3)


def feet(robot: Simulated) -> np.ndarray:
    """Where the feet are, m, shape (feet, 3)."""
    model, truth = sot.Model(robot.robot), robot.truth()
    model.update(truth.q, truth.v)
    return np.array([model.placement(model.frame(foot.frame)).translation for foot in robot.robot.feet])


@pytest.mark.parametrize("output", ["torque", "velocity"])
@pytest.mark.parametrize(("friction", "slides"), [(0.6, False), (0.02, True)])
def test_a_slide_is_told_and_is_not_ok(output: str, friction: float, slides: bool):
    """Solo12 on a slope of 6°, which a friction of 0.02 does not hold."""
    solo = load("solo12")
    robot = Simulated(solo, ground=[TILT, 0.0], friction=friction)
    start = feet(robot)
    run = sot.run(robot, standing(solo, output), DURATION)
    far = np.linalg.norm(feet(robot) - start, axis=1)  # of their middles; they never turn back
    names = {f"contact_{foot.frame}" for foot in solo.feet}
    assert not run.fell
    assert set(run.physics.foot_slips_m) == names
    assert run.physics.max_foot_slip_m == max(run.physics.foot_slips_m.values()) == run.to_json()["max_foot_slip_m"]
    if slides:
        assert set(run.slid) == names
        np.testing.assert_allclose(list(run.physics.foot_slips_m.values()), far, rtol=0.1)  # the balls turn a little
        assert not run.ok
    else:
        assert run.slid == ()
        assert run.ok
        assert run.physics.max_foot_slip_m < 2e-3
    assert ("SLID" in run.summary()) == slides
    assert any("contact_FL_FOOT slid by" in reason for reason in failures(run)) == slides


def test_a_contact_of_which_nothing_is_known_has_slid():
    """NaN is the worst of all."""
    physics = sot.loop.physics.Physics({"foot": np.nan, "other": 0.0}, None, None, False)
    assert physics.slid == ("foot",)
    assert np.isnan(physics.max_foot_slip_m)
