"""`sot bench haptic`: the loop at 2 kHz, at a wall."""

from __future__ import annotations

import json

import pytest

from sot import bench_haptic
from sot.cli import main


def test_the_loop_is_timed_while_a_hand_rests_in_the_wall(capsys):
    assert main(["bench", "haptic", "--ticks", "2000", "--json"]) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    found = result["haptic"]
    assert set(result) == {"haptic"} and found["ticks"] == 2000 and found["period_us"] == 500.0
    for part in ("tick_us", "device_us"):
        assert 0.0 < found[part]["p50"] <= found[part]["p99"] <= found[part]["max"]
    share = bench_haptic.HELD / (bench_haptic.HELD + bench_haptic.STIFFNESS)
    assert found["depth_mm"] == pytest.approx(1e3 * share * bench_haptic.BEHIND, abs=0.01)  # a step of the encoders


def test_it_can_be_asked_for_beside_others(monkeypatch, capsys):
    asked = []
    run = bench_haptic.run
    monkeypatch.setattr(bench_haptic, "run", lambda ticks: asked.append(ticks) or run(ticks))
    assert main(["bench", "panda-ik", "haptic", "--ticks", "30"]) == 0
    text = capsys.readouterr().out
    assert asked == [30] and "panda-ik" in text and text.splitlines()[-1].startswith("period 500 µs")
    assert main(["bench", "hapticc"]) == 2
    assert "did you mean 'haptic'" in capsys.readouterr().err
