"""Every example runs, reaches its goals, and its Python and YAML forms do the same."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from stack_files import EXAMPLES, FILES

import sot
from sot.attractor.fixture import Fixture
from sot.cli import main
from sot.config import load_run
from sot.contact import Contact
from sot.task import Task

ALONE = ("panda_teleoperation",)  # own tests run these
SCRIPTS = sorted(path for path in EXAMPLES.glob("*.py") if path.stem not in ALONE)


def of_script(path: Path) -> sot.Run:
    """What a script leaves in its variable `run`."""
    return runpy.run_path(str(path), run_name="__main__")["run"]


def test_every_example_has_its_twin():
    assert [file.stem for file in FILES] == [file.stem for file in SCRIPTS]
    assert len(FILES) >= 8


@pytest.mark.parametrize("path", [*SCRIPTS, *FILES], ids=lambda path: path.name)
def test_examples_are_short_and_say_what_they_show(path: Path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 40
    other = path.with_suffix(".yaml" if path.suffix == ".py" else ".py")
    assert f"Twin: {other.name}" in text


def test_an_example_runs_in_a_process_of_its_own():
    """As a user starts it, from another folder."""
    done = subprocess.run([sys.executable, str(SCRIPTS[0])], capture_output=True, text=True, timeout=120, cwd="/")
    assert done.returncode == 0, done.stderr
    assert "0 infeasible" in done.stdout


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_twins_run_reach_their_goals_and_agree(file: Path, tmp_path, monkeypatch, capsys):
    config = load_run(file)
    assert config.expect or not any(isinstance(entry, Task) for entry in config.stack), "it says what it should reach"
    monkeypatch.setattr(sys, "argv", [str(file)])
    monkeypatch.chdir(tmp_path)
    run = of_script(file.with_suffix(".py"))
    capsys.readouterr()
    assert main(["run", str(file), "--headless", "--json"]) == 0
    script, stack = run.to_json(), json.loads(capsys.readouterr().out.splitlines()[-1])
    assert run.ok and stack["ok"] and stack["infeasible_ticks"] == 0
    assert stack["ticks"] == round(config.duration / config.dt)
    for name, limit in config.expect.items():
        assert stack["final_error"][name] <= limit
    assert np.allclose(run.state.q, stack["final_q"], rtol=0.0, atol=1e-12)
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
