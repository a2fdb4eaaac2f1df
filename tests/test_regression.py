"""Runs of the example robots against recorded ones. After a change that is meant: python tests/record.py"""

from __future__ import annotations

import numpy as np
import pytest
import record

from sot.config import load_run

# Rounding differs from machine to machine and grows along a run; the runs stay away from where it would explode.
COMMANDS = 1e-7  # rad/s, m/s
ERRORS = 1e-8  # rad, m
STATES = 2e-5  # m, rad
TORQUES = 1e-4  # N·m: forces that nobody decides have little weight, so rounding shows in them


BOTH = (True, False)  # compiled, which leads the motion, and plain, which says on its way what it would do


def compare(found: list[record.Rows], kept: dict[str, np.ndarray], rows: tuple[int, int], **tolerances: float) -> None:
    """So many rows of the compiled controller, and of the plain one, against those that were recorded."""
    for one, count in zip(found, rows, strict=True):
        for what, tolerance in tolerances.items():
            assert one[what].shape == kept[what][:count].shape
            assert np.abs(one[what] - kept[what][:count]).max() <= tolerance


def recorded(name: str, solver: str) -> dict[str, np.ndarray]:
    """What is kept of one solver."""
    kept = np.load(record.FOLDER / f"{name}.npz")
    return {key.removeprefix(f"{solver}_"): kept[key] for key in kept if key.startswith(solver)}


@pytest.mark.parametrize("solver", record.MEANINGS)
@pytest.mark.parametrize("robot", record.ROBOTS)
def test_the_run_is_as_recorded(robot: str, solver: str):
    found = record.run(robot, solver, BOTH)
    compare(found, recorded(robot, solver), (50, 13), commands=COMMANDS, errors=ERRORS)


@pytest.mark.parametrize("solver", record.MEANINGS)
@pytest.mark.parametrize("name", record.SQUATS)
def test_the_squat_is_as_recorded(name: str, solver: str):
    found = record.squat(name, solver, BOTH)
    compare(found, recorded(name, solver), (40, 40), commands=COMMANDS, torques=TORQUES, errors=ERRORS)


@pytest.mark.parametrize("name", record.LOOPS)
def test_the_loop_in_the_simulator_is_as_recorded(name: str):
    """Contacts are solved to a tolerance, so rounding grows faster here than along a motion that is only planned."""
    kept = np.load(record.FOLDER / f"{name}.npz")
    states, torques = record.loop(name)
    assert np.abs(states - kept["states"]).max() <= STATES
    assert np.abs(torques - kept["torques"]).max() <= 0.01 * np.abs(kept["torques"]).max()
    assert np.ptp(kept["states"], axis=0).max() > 1e-3  # it moves


@pytest.mark.parametrize("name", record.LOOPS)
def test_what_is_recorded_of_a_loop_is_what_it_shows(name: str):
    """All that happens to the stack and to the robot is in the recording; and the loop is closed at 1 kHz."""
    config = load_run(record.FOLDER.parent.parent / "examples" / f"{name}.yaml")
    disturbances = getattr(config.world, "disturbances", ())
    ends = [event.at for event in config.events] + [thing.at + thing.duration for thing in disturbances]
    assert config.dt == 1e-3 and config.output == "torque" and config.world.kind in ("simulation", "finger")
    assert max(ends, default=0.0) < record.LOOPS[name] * config.dt
    kept = np.load(record.FOLDER / f"{name}.npz")
    assert len(kept["states"]) == len(kept["torques"]) == record.LOOP_ROWS


@pytest.mark.parametrize("name", record.SQUATS)
def test_what_is_recorded_is_a_squat(name: str):
    """Legs move, motors carry the robot, and feet stay where they are."""
    kept = np.load(record.FOLDER / f"{name}.npz")
    for solver in record.MEANINGS:
        torques = kept[f"{solver}_torques"]
        assert np.isfinite(torques).all() and (torques[:, :6] == 0.0).all()  # no motor on the base
        assert 0.5 < np.abs(torques).max() < 300.0 and np.ptp(torques, axis=0).max() > 0.05
    commands = kept["hierarchical_commands"]
    assert 0.3 < np.abs(commands).max() < 20.0
    assert kept["hierarchical_errors"][:, 0].max() < 1e-4  # a foot


@pytest.mark.parametrize("robot", record.ROBOTS)
def test_what_is_recorded_is_a_motion(robot: str):
    """A recording in which nothing moves, or nothing is reached, would hide mistakes."""
    kept = np.load(record.FOLDER / f"{robot}.npz")
    for solver in record.MEANINGS:
        commands, errors = kept[f"{solver}_commands"], kept[f"{solver}_errors"]
        assert np.isfinite(commands).all() and np.isfinite(errors).all()
        assert 0.01 < np.abs(commands).max() < 20.0
    first_task = kept["hierarchical_errors"][:, 0]
    assert first_task[-1] < 5e-3


def test_the_recordings_are_small_and_complete():
    files = sorted(record.FOLDER.glob("*.npz"))
    assert [file.stem for file in files] == sorted([*record.ROBOTS, *record.SQUATS, *record.LOOPS])
    assert sum(file.stat().st_size for file in files) < 1_000_000
