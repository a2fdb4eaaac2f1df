"""What a finger gives back for people: summary, table, plot, animations."""

from __future__ import annotations

import builtins
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sot.errors import ConfigError, RobotError
from sot.finger import Body, Record, Simulation, line, pulse

EXAMPLE = Path(__file__).parents[1] / "examples" / "finger_push.py"
FINGER = Body("finger", 0.1, drag=0.5, width=0.02)
CUP = Body("cup", 0.2, position=0.1, width=0.04, mu_static=0.4, mu_kinetic=0.3)


@pytest.fixture(scope="module")
def record() -> Record:
    return Simulation(line(FINGER, [CUP], [0.4], restitution=0.3)).run(pulse(2.0, 0.2, 0.7), 2.0)


def test_the_summary_and_the_table(record: Record):
    text = record.summary()
    for part in ("finger, cup, wall: 2 s", "touching; finger + cup", "held: cup", "momentum", "energy", "hit and part"):
        assert part in text
    assert "sliding: finger →, cup →" in text and "sliding: cup →" in text
    lines = record.table().splitlines()
    assert len(lines) == len(record.events) + 1
    first = record.events[0]
    assert lines[1].split()[0] == f"{first.time:.6f}" and lines[1].split()[1] == first.kind


def test_a_run_without_events_has_a_summary():
    text = Simulation(line(Body("finger", 0.1))).run(0.0, 1.0).summary()
    assert "no events" in text and "separate" in text


def test_motion_between_rows_is_on_the_curve(record: Record):
    """The rows are met, the order is kept, and finite differences of x are v."""
    at = record.at(record.time)
    np.testing.assert_allclose(at.x, record.x, rtol=0.0, atol=1e-12)
    t = np.linspace(0.0, 2.0, 20001)[1:-1]
    fine = record.at(t)
    jumps = [event.time for event in record.events]
    clear = np.min(np.abs(t[1:-1, None] - np.array([*jumps, 0.2, 0.7])), axis=1) > 2e-4
    slope = (fine.x[2:] - fine.x[:-2]) / (t[2:] - t[:-2])[:, None]
    np.testing.assert_allclose(slope[clear], fine.v[1:-1][clear], atol=1e-5)
    with pytest.raises(RobotError, match="from 0 to 2 s"):
        record.at(2.1)
    with pytest.raises(RobotError, match="unknown body 'cap'"):
        record.index("cap")


def test_a_plot_is_a_small_picture(record: Record, tmp_path):
    pytest.importorskip("matplotlib")
    path = record.plot(tmp_path / "finger.png")
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and len(data) < 80_000


def test_a_gif_has_a_picture_for_every_frame(record: Record, tmp_path):
    image = pytest.importorskip("PIL.Image")
    path = record.animate(tmp_path / "finger.gif", rate=20.0)
    with image.open(path) as film:
        frames = [film.convert("RGB") for film.n_seek in range(film.n_frames) if film.seek(film.n_seek) is None]
    assert len(frames) == 41 and path.stat().st_size < 200_000
    blue = [np.flatnonzero((np.asarray(frame)[80] == [0x1F, 0x6F, 0xB4]).all(axis=1)) for frame in frames]
    assert blue[-1].mean() > blue[0].mean() + 50  # the finger went to the right


def test_a_page_needs_nothing_else(record: Record, tmp_path):
    path = record.animate(tmp_path / "finger.html", speed=0.5, rate=20.0)
    text = path.read_text(encoding="utf-8")
    assert len(text) < 60_000 and not re.search(r"https?:|src=|href=|import ", text)
    data = json.loads(re.search(r"const D = (\{.*?\});\n", text).group(1))
    assert data["names"] == ["finger", "cup", "wall"] and len(data["time"]) == len(data["boxes"]) == 81
    boxes = np.array(data["boxes"]).reshape(81, 3, 2)
    scale = (boxes[0, 1, 1] - boxes[0, 1, 0]) / 0.04  # pixels per metre
    moved = (boxes[-1, :2].mean(axis=1) - boxes[0, :2].mean(axis=1)) / scale
    np.testing.assert_allclose(moved, (record.x[-1] - record.x[0])[:2], atol=0.01)


def test_wrong_animations_are_refused(record: Record, tmp_path):
    with pytest.raises(ConfigError, match=r"ends with \.gif or \.html"):
        record.animate(tmp_path / "finger.avi")
    with pytest.raises(ConfigError, match=r"a plot ends with \.png"):
        record.plot(tmp_path / "finger.svg")
    for draw, name in ((record.plot, "f.png"), (record.animate, "f.gif"), (record.animate, "f.html")):
        with pytest.raises(ConfigError, match=r"there is no folder .*nowhere"):
            draw(tmp_path / "nowhere" / name)
    with pytest.raises(ConfigError, match="too many"):
        record.animate(tmp_path / "finger.html", speed=1e-3)
    with pytest.raises(RobotError, match="speed"):
        record.animate(tmp_path / "finger.html", speed=0.0)


@pytest.mark.parametrize(("package", "file"), [("matplotlib", "f.png"), ("PIL", "f.gif")])
def test_missing_packages_are_named(record: Record, tmp_path, monkeypatch, package: str, file: str):
    real = builtins.__import__

    def without(name: str, *args: object, **options: object) -> object:
        if name.split(".")[0] == package:
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConfigError, match=r"not installed. Install it with: pip install 'sot\[log\]'"):
        (record.plot if file.endswith("png") else record.animate)(tmp_path / file)


def test_the_example_pushes_and_lets_go(tmp_path):
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) <= 40
    page = tmp_path / "finger.html"
    done = subprocess.run([sys.executable, str(EXAMPLE), str(page)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    for part in ("touching; finger + cup + saucer; held: finger, cup", "separate; cup + saucer; held", "release"):
        assert part in done.stdout
    assert page.exists()
