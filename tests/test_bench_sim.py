"""`sot bench sim`: both engines on the same scene, and where the time goes."""

from __future__ import annotations

import importlib.util
import json
import sys

import pytest

from sot import bench_sim
from sot.cli import main
from sot.kernels import stepping


def test_engines_are_compared_on_the_same_scene(capsys):
    before = stepping.prepare
    assert main(["bench", "sim", "--ticks", "100", "--json"]) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert set(result) == {"simulation", "notes"} and set(result["simulation"]) == {"solo12", "talos"}
    for engines in result["simulation"].values():
        ours = engines["sot"]
        assert list(ours["stages_us"]) == [*bench_sim.STAGES, "rest"]
        assert all(ours["stages_us"][stage] > 0.0 for stage in bench_sim.STAGES)  # every part of a stage was found
        assert ours["factor"] == pytest.approx(1e3 / ours["mean_us"]) and ours["p50_us"] <= ours["p99_us"]
        if importlib.util.find_spec("mujoco"):
            theirs = engines["mujoco"]
            assert theirs["height"] == pytest.approx(ours["height"], abs=1e-4)  # m: both stand, and the same
            assert 0.0 < theirs["own_us"]
    assert stepping.prepare is before  # the clocks are gone


def test_every_part_of_a_stage_is_called():
    """So a function that the engine does not use any more is missed."""
    engine = bench_sim.Engine(bench_sim_robot(), bench_sim.Scene([bench_sim.ground()]))
    parts = [(f"{stage}.{name}", owner, name) for stage, owner, name in bench_sim._parts(engine)]
    with bench_sim._clocks(parts) as spent:
        bench_sim._measure(engine.robot, engine, lambda tau: engine.step(tau, 1e-3), 20)
    assert all(spent.values()), spent


def bench_sim_robot():
    from sot.robots import load

    return load("solo12")


def test_without_mujoco_its_lines_are_absent(monkeypatch, capsys):
    for module in [name for name in sys.modules if name.startswith("sot.mujoco_door")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "mujoco", None)
    monkeypatch.setattr(bench_sim, "WARM_UP", 10)
    assert main(["bench", "sim", "--ticks", "20"]) == 0
    text = capsys.readouterr().out
    assert text.count("pip install 'sot[mujoco]'") == 1
    assert text.splitlines()[1].split()[:2] == ["solo12", "sot"] and text.splitlines()[2].startswith("talos")


def test_it_can_be_asked_for_beside_others(monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(bench_sim, "run", lambda steps: asked.append(steps) or {"simulation": {}, "notes": ["done"]})
    assert main(["bench", "panda-ik", "sim", "--ticks", "30"]) == 0
    text = capsys.readouterr().out
    assert asked == [30] and "panda-ik" in text and text.rstrip().endswith("done")
    assert main(["bench", "simm"]) == 2
    assert "did you mean 'sim'" in capsys.readouterr().err
