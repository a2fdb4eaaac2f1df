"""The README tells the truth: its code runs, its links lead somewhere, its commands exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "benchmarks" / "README.md"]


def test_the_first_example_prints_what_the_readme_shows(capsys):
    """All lines but those with times."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(import sot.*?)```", text, re.S).group(1)
    shown = re.search(r"```text\n(.*?)```", text, re.S).group(1)
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out

    def stable(output):
        lines = (line.split() for line in output.strip().splitlines() if not line.startswith("tick "))
        return [[_rounded(word) for word in line] for line in lines]

    assert stable(printed) == stable(shown)


def test_torques_and_simulator_work_as_shown():
    """The blocks go on from the first example; that of the stylus is the last."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    first = blocks[0].rsplit("print(", 1)[0]  # without its run
    parts = [block for block in blocks if "output=\"torque\"" in block or "Simulated" in block]
    assert len(parts) == 3
    names = {}
    exec(compile("\n".join([first, *parts]), "README.md", "exec"), names)
    stylus = names["stylus"].truth().q[2]
    assert abs(stylus + 0.02 * 300.0 / 1300.0) < 2e-5  # between the springs of the hand and of the wall
    assert not names["run"].fell and names["run"].ticks == 2000 and names["run"].physics.max_foot_slip_m < 1e-3


def _rounded(word):
    """Errors as powers of ten: digits may differ from machine to machine."""
    return f"1e{word.split('e')[1]}" if re.fullmatch(r"[\d.]+e[+-]\d+", word) else word


def test_the_own_task_works_as_shown():
    import sot
    from sot.robots import Kinematic, load
    from sot.tasks import JointLimits, Posture

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    names = {"sot": sot}
    exec(re.search(r"```python\n(class Height.*?)```", text, re.S).group(1), names)
    talos = load("talos")
    stack = sot.Stack([JointLimits()], [names["Height"](gain=10.0)], [Posture()])
    run = sot.run(Kinematic(talos, dt=5e-3), sot.Controller(talos, stack, dt=5e-3), duration=2.0)
    assert run.final_error["height"] < 1e-6


@pytest.mark.parametrize(
    "name", ["tasks", "singularities", "singularity_guard", "forward_dynamics", "ik", "inverse_dynamics", "finger"]
)
def test_the_code_of_a_page_runs(name, capsys):
    """Block after block, as somebody would copy it."""
    text, names = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8"), {}
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, f"{name}.md", "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / link).exists(), f"{page.name}: {link}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_exist(page):
    folders = "sot|tasks|robots|docs|examples|tests|benchmarks"
    for name in re.findall(rf"`((?:{folders})/[\w./]+)`", page.read_text(encoding="utf-8")):
        made_later = name.startswith("benchmarks/.venvs")
        assert made_later or (ROOT / name).exists(), f"{page.name}: {name}"
