"""Every example runs, reaches its goals, and its Python and YAML forms do the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stack_files import EXAMPLES, FILES

from sot.attractor.fixture import Fixture
from sot.config import load_run
from sot.contact import Contact
from sot.task import Task

ALONE = ("panda_teleoperation",)  # own tests run these
SCRIPTS = sorted(path for path in EXAMPLES.glob("*.py") if path.stem not in ALONE)

# Runs a script as a user would, and then tells what its variable `run` holds.
REPORT = """
import json, runpy, sys
sys.argv = [sys.argv[1]]
run = runpy.run_path(sys.argv[0], run_name="__main__")["run"]
print(json.dumps({**run.to_json(), "final_q": run.state.q.tolist(), "ok": run.ok}))
"""


def outcome(*command: str) -> dict[str, Any]:
    """The JSON in the last line of a command's output; the command must succeed."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, timeout=120, cwd=EXAMPLES, env=environment
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_every_example_has_its_twin():
    assert [file.stem for file in FILES] == [file.stem for file in SCRIPTS]
    assert len(FILES) >= 8


@pytest.mark.parametrize("path", [*SCRIPTS, *FILES], ids=lambda path: path.name)
def test_examples_are_short_and_say_what_they_show(path: Path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 40
    other = path.with_suffix(".yaml" if path.suffix == ".py" else ".py")
    assert f"Twin: {other.name}" in text


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_twins_run_reach_their_goals_and_agree(file: Path):
    config = load_run(file)
    assert config.expect or not any(isinstance(entry, Task) for entry in config.stack), "it says what it should reach"
    script = outcome("-c", REPORT, str(file.with_suffix(".py")))
    stack = outcome("-m", "sot", "run", str(file), "--headless", "--json")
    assert (
        stack["ok"]
        and stack["infeasible_ticks"] == 0
        and stack["ticks"] == round(config.duration / config.dt)
    )
    assert script["ok"]
    for name, limit in config.expect.items():
        assert stack["final_error"][name] <= limit
    assert np.allclose(script["final_q"], stack["final_q"], rtol=0.0, atol=1e-12)
    assert script["final_error"] == pytest.approx(stack["final_error"], abs=1e-12)
    yielding = {entry.name for entry in config.stack if isinstance(entry, Fixture)}  # walls that one presses into
    assert max((worst for name, worst in stack["max_violation"].items() if name not in yielding), default=0.0) <= 1e-6
    if config.output == "torque":
        assert not stack["fell"] and not stack["warnings"]
        assert stack["max_torque_ratio"] is None or stack["max_torque_ratio"] <= 1.0
        forces = [entry.min_force for entry in config.stack if isinstance(entry, Contact)]
        if forces:
            assert stack["max_foot_slip_m"] <= (1e-4 if config.world.kind == "kinematic" else 1e-3)
            assert stack["min_normal_force_n"] >= min(forces) - 1e-6 > 0.0
