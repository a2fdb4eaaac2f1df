"""Ten thousand random states with random stacks at torque level: physics, contacts and limits by pinocchio.

Every robot sees 25 random stacks, each with 50 states that have nothing to do with each other, half of them from the
working set of the last one, half from nothing.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from random_stacks import aim, random_stack, random_state
from torque_oracle import Look, hard_gap

import sot
from sot.robots import load
from sot.tasks import TorqueLimits

ROBOTS = ("solo12", "go2", "anymal", "bolt", "talos", "g1", "panda", "ur5")
SOLVERS = ("hierarchical", "weighted", "nullspace")
STACKS, STATES = 25, 50  # per robot: 8 · 25 · 50 = 10 000 states
FAR = 2000  # iterations: from one state to another that has nothing to do with it is a long way for a working set


def ticks(name):
    """Every state of a robot: controller, what pinocchio sees, contacts, torque limits, whether it was feasible."""
    robot, rng = load(name), np.random.default_rng(ROBOTS.index(name))
    for k in range(STACKS):
        solver = SOLVERS[k % 3]
        stack, contacts = random_stack(robot, rng, solver)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            controller = sot.Controller(robot, stack, solver=solver, output="torque", max_iterations=FAR)
        for i in range(STATES):
            state = random_state(robot, rng, contacts)
            aim(stack, robot, state, rng)
            if i % 2:
                controller.phases[-1].begin_anew()
            before = controller.counters.infeasible
            command = controller.step(state)
            yield controller, Look(controller, state, command), contacts, controller.counters.infeasible == before


@pytest.mark.parametrize("name", ROBOTS)
def test_random_states_with_random_stacks(name):
    """At least 95 of 100 are feasible; the others have a joint too fast for its limit, or fail a linear program."""
    worst = Worst()
    count = feasible = bounded = 0
    for controller, look, contacts, is_feasible in ticks(name):
        has_limits = controller.meaning != "nullspace"
        count += 1
        assert np.isfinite(look.command.tau).all() and np.isfinite(look.command.v).all()
        worst.see("equation of motion", look.residual())
        worst.see("floating base", np.abs(look.command.tau[~look.robot.actuated]).max(initial=0.0))
        if has_limits:
            bounded, feasible = bounded + 1, feasible + is_feasible
            worst.see("circular cones", *(look.outside(contact) for contact in contacts))
        if is_feasible or not has_limits:
            worst.see("contact acceleration", *(look.moving(contact) for contact in contacts))
            worst.see("torque limits", *(beyond(look, entry) for entry in controller.stack))
        else:
            explained(controller)
        assert controller.counters.capped == 0, f"state {count}: {controller.report()}"
    assert count == STACKS * STATES
    assert feasible >= 0.95 * bounded
    assert worst.all_below(1e-9), worst


class Worst(dict):
    """The largest of each kind of error."""

    def see(self, kind, *values):
        assert np.isfinite(values).all()
        self[kind] = max([self.get(kind, 0.0), *(float(value) for value in values)])

    def all_below(self, tolerance):
        return all(value <= tolerance for value in self.values())


def beyond(look, entry):
    """By which part of its limit the worst torque is beyond it."""
    return look.over_limits(entry.scale * look.robot.pin_model.effortLimit) if isinstance(entry, TorqueLimits) else 0.0


def explained(controller):
    """Somebody is named; and either a joint is too fast for its limit, or no linear program finds an answer."""
    report = controller.report()
    assert report.clashes
    if controller.plan.crossed:
        assert any(clash.entry == "joint_limits" for clash in report.clashes)
    else:
        assert hard_gap(controller.plan.problem) > 1e-7
