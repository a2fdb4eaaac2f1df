"""The `sot` command: what it prints, where, and its exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from robot_files import write
from stack_files import EXAMPLES

import sot
from sot import bench
from sot.cli import main
from sot.cli.commands import schema_text

UR5 = """\
robot: ur5
dt: 0.01
duration: {duration}
stack:
  - joint_limits
  - pose: {{frame: tool0, name: tip, gain: 10, reference: {{move: {{by: [0.05, 0.05, 0], duration: 0.5}}}}}}
  - posture
expect: {{tip: {expect}}}
"""
COMMAND = [sys.executable, "-m", "sot"]


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(write(tmp_path, "ur5.yaml", UR5.format(duration=1.0, expect=1e-2)))


def call(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(arguments)
    return code, *capsys.readouterr()


def last(out: str) -> dict[str, Any]:
    return json.loads(out.splitlines()[-1])


# -- run -----------------------------------------------------------------------------------------------


def test_run_prints_a_table(file: str, capsys: pytest.CaptureFixture[str]):
    code, out, err = call("run", file, "--headless", capsys=capsys)
    assert (code, err) == (0, "")
    assert "ur5, hierarchical: 100 ticks of 10 ms" in out
    assert "tip" in out and "kept" in out and "p99" in out


def test_run_ends_with_the_promised_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = str(write(tmp_path, "ur5.yaml", UR5.format(duration=1.0, expect=1.0)))
    code, out, _ = call(
        "run", file, "--headless", "--json", "--solver", "weighted", "--duration", "0.5", capsys=capsys
    )
    assert code == 0
    result = last(out)
    assert result["ticks"] == 50 and result["solver"] == "weighted" and result["infeasible_ticks"] == 0
    assert 0.0 < result["tick_us"]["p50"] <= result["tick_us"]["p99"] <= result["tick_us"]["max"]
    assert set(result["final_error"]) == {"tip", "posture"}
    assert result["max_violation"] == {"joint_limits": pytest.approx(0.0, abs=1e-9)}
    assert result["ok"] is True and result["failures"] == []


def test_a_goal_that_is_missed_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = write(tmp_path, "ur5.yaml", UR5.format(duration=0.3, expect=1e-6))
    code, out, err = call("run", str(file), "--headless", "--json", capsys=capsys)
    assert code == 1
    assert last(out)["ok"] is False
    assert "tip ended with an error of" in err and "expected 1e-06" in err


def test_an_infeasible_run_is_a_failure_and_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Two hard tasks want the tool in two places."""
    file = write(
        tmp_path,
        "torn.yaml",
        """
robot: ur5
duration: 0.05
stack:
  - - position: {frame: tool0, name: here, reference: [0.4, 0.2, 0.4]}
    - position: {frame: tool0, name: there, reference: [0.4, -0.2, 0.4]}
""",
    )
    code, out, err = call("run", str(file), "--headless", "--json", capsys=capsys)
    assert code == 1
    result = last(out)
    assert result["infeasible_ticks"] == result["ticks"] == 10
    assert "10 ticks were infeasible" in err and "first infeasible tick, t = 0 s\n" in err
    assert "s: infeasible" not in err  # once is enough
    assert "here" in err and "there" in err
    code, _, err = call("check", str(file), capsys=capsys)
    assert code == 1 and "the first tick is infeasible, t = 0 s\n" in err and "here" in err


def test_realtime_keeps_pace_with_the_clock(file: str, capsys: pytest.CaptureFixture[str]):
    call("run", file, "--headless", "--duration", "0.1", capsys=capsys)  # everything is loaded and compiled
    begin = time.monotonic()
    assert call("run", file, "--headless", "--realtime", "--duration", "0.4", capsys=capsys)[0] == 0
    assert time.monotonic() - begin >= 0.35


def test_not_finite_numbers_are_null_in_json(capsys: pytest.CaptureFixture[str]):
    code, out, _ = call("show", "panda", "--json", capsys=capsys)
    finger = next(joint for joint in last(out)["joints"] if joint["joint"] == "panda_finger_joint1")
    assert code == 0 and finger["acceleration"] is None  # none known: infinite


# -- check, list, show, schema -------------------------------------------------------------------------


def test_check_shows_the_levels(file: str, capsys: pytest.CaptureFixture[str]):
    code, out, _ = call("check", file, capsys=capsys)
    assert code == 0 and "level  name          kind" in out and "rank" in out
    code, out, _ = call("check", file, "--json", capsys=capsys)
    levels = last(out)["levels"]
    assert [(line["level"], line["name"], line["rows"]) for line in levels] == [
        (0, "joint_limits", 6), (1, "tip", 6), (2, "posture", 6),
    ]  # fmt: skip


def test_check_finds_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = write(tmp_path, "bad.yaml", UR5.format(duration=1.0, expect=1).replace("tool0", "tool1"))
    code, out, err = call("check", str(file), capsys=capsys)
    assert (code, out) == (2, "")
    assert err.startswith(f"sot: error: {file}:6: stack[1].pose.frame: ") and "did you mean 'tool0'" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("what, name", [
    ("robots", "talos"), ("tasks", "joint_limits"), ("features", "FramePose"), ("references", "sine"),
    ("solvers", "nullspace"),
])  # fmt: skip
def test_list(what: str, name: str, capsys: pytest.CaptureFixture[str]):
    code, out, _ = call("list", what, capsys=capsys)
    assert code == 0 and f"\n{name} " in out
    code, out, _ = call("list", what, "--json", capsys=capsys)
    assert code == 0 and name in last(out)[what]


def test_list_all(capsys: pytest.CaptureFixture[str]):
    code, out, _ = call("list", "--json", capsys=capsys)
    assert code == 0 and set(last(out)) == {"robots", "tasks", "features", "references", "solvers"}


def test_show_a_robot(capsys: pytest.CaptureFixture[str]):
    code, out, _ = call("show", "talos", capsys=capsys)
    assert code == 0
    for words in (
        "free_flyer base, 38 degrees of freedom, 90.27 kg",
        "leg_left_4_joint",
        "left_sole_link",
        "half_sitting",
    ):
        assert words in out
    code, out, _ = call("show", "talos", "--json", capsys=capsys)
    facts = last(out)
    knee = next(joint for joint in facts["joints"] if joint["joint"] == "leg_left_4_joint")
    robot = sot.robots.load("talos")
    place = robot.pin_model.joints[robot.pin_model.getJointId("leg_left_4_joint")]
    assert knee["upper"] == robot.pin_model.upperPositionLimit[place.idx_q]
    assert knee["home"] == robot.home[place.idx_q]
    assert [foot["frame"] for foot in facts["feet"]] == ["left_sole_link", "right_sole_link"]


@pytest.mark.parametrize(
    "name, key", [("pose", "relative_to"), ("sine", "amplitude"), ("joint_limits", "damper")]
)
def test_show_the_keys_of_a_word(name: str, key: str, capsys: pytest.CaptureFixture[str]):
    code, out, _ = call("show", name, capsys=capsys)
    assert code == 0 and f"\n{key} " in out
    code, out, _ = call("show", name, "--json", capsys=capsys)
    keys = {line["key"]: line for line in last(out)["keys"]}
    assert all(line["what"] for line in keys.values()), "every key is explained"


def test_schema(capsys: pytest.CaptureFixture[str]):
    code, out, _ = call("schema", capsys=capsys)
    assert code == 0 and out == schema_text()


# -- demo and bench ------------------------------------------------------------------------------------


def test_demo(capsys: pytest.CaptureFixture[str]):
    code, out, _ = call("demo", "--headless", "--duration", "0.5", "--json", capsys=capsys)
    assert code == 0
    result = last(out)
    assert result["robot"] == "talos" and result["infeasible_ticks"] == 0


def test_bench(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    code, out, _ = call("bench", "panda-ik", "--ticks", "50", "--json", capsys=capsys)
    assert code == 0
    case = last(out)["cases"]["panda-ik"]
    assert 0.0 < case["p50_us"] <= case["p99_us"] and case["ticks"] == 50
    assert {"model", "rows", "solve", "command"} <= set(case["stages_us"])
    code, out, _ = call("bench", "panda-ik", "--ticks", "50", capsys=capsys)
    assert code == 0 and "panda-ik" in out
    code, _, err = call("bench", "panda-kk", capsys=capsys)
    assert code == 2 and "did you mean 'panda-ik'" in err
    asked = []
    monkeypatch.setattr(
        bench, "run_cases", lambda names, ticks: asked.append((names, ticks)) or {"cases": {}}
    )
    assert call("bench", "--json", capsys=capsys)[0] == 0
    assert not asked[0][0] and asked[0][1] is None


# -- the process ---------------------------------------------------------------------------------------


def test_version_and_help():
    for arguments, words in (
        (["--version"], f"sot {sot.__version__}"),
        (["--help"], "schema"),
        (["run", "--help"], "--headless"),
    ):
        done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and words in done.stdout


def test_blas_has_one_thread_before_numpy_is_there():
    code = (
        "import sys, sot.cli; assert 'numpy' not in sys.modules; sot.cli.main(['list', 'solvers'])\n"
        "import os; assert os.environ['OPENBLAS_NUM_THREADS'] == os.environ['OMP_NUM_THREADS'] == '1'\n"
        "assert 'numpy' in sys.modules"
    )
    environment = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=environment
    )
    assert done.returncode == 0, done.stderr


def test_ctrl_c_stops_cleanly(tmp_path: Path):
    short = write(tmp_path, "short.yaml", UR5.format(duration=0.1, expect=1))
    subprocess.run([*COMMAND, "run", str(short), "--headless"], capture_output=True, timeout=120)  # everything compiled
    file = write(tmp_path, "long.yaml", UR5.format(duration=1000.0, expect=1))
    process = subprocess.Popen(
        [*COMMAND, "run", str(file), "--headless", "--realtime"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        time.sleep(3.0)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == 130
    assert err == "sot: stopped\n" and out == ""


def test_a_reader_that_goes_away_is_no_error():
    reader = f"{sys.executable} -m sot show talos --json | head -c 20; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", reader], capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith('{"robot": "talos"') and done.stderr == ""


def test_a_script_beside_the_file_is_found_from_anywhere(tmp_path: Path):
    done = subprocess.run(
        [*COMMAND, "check", str(EXAMPLES / "own_task.yaml")],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
    )
    assert done.returncode == 0 and "reach" in done.stdout
