"""The rules of the house that a program can check."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted(path for folder in ("sot", "tasks", "robots") for path in (ROOT / folder).rglob("*.py"))

# Library → the only places that may import it.
DOORS = {
    "pinocchio": ("sot/model.py", "sot/lie.py", "sot/description/", "sot/simulation/impulses.py"),
    "numba": ("sot/kernels/compiler.py",),
    "yaml": ("sot/typed_yaml/",),
    "coal": ("sot/collision/",),
    "meshcat": ("sot/viewer/",),
    "daqp": ("sot/solvers/backends.py",),
    "quadprog": ("sot/solvers/backends.py",),
    "mujoco": ("sot/mujoco_door/",),
}


def imports(path):
    """Full names of everything that a file imports, and whether at the top of the file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = set(tree.body)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node in top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((f"{node.module}.{alias.name}", node in top) for alias in node.names)


@pytest.mark.parametrize("library", DOORS)
def test_each_library_has_one_door(library):
    users = {
        str(path.relative_to(ROOT))
        for path in SOURCES
        for name, _ in imports(path)
        if name.split(".")[0] == library
    }
    assert users, f"nobody imports {library}: the rule is out of date"
    assert not [user for user in users if not user.startswith(DOORS[library])]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_layers(path):
    """`sot` knows no concrete task or robot when it is imported; `tasks` and `robots` do not know each other."""
    layer = path.relative_to(ROOT).parts[0]
    forbidden = {"sot": ("sot.tasks", "sot.robots"), "tasks": ("sot.robots",), "robots": ("sot.tasks",)}[layer]
    names = [name for name, top in imports(path) if top or layer != "sot"]
    assert not [name for name in names if name.startswith(forbidden)]


def test_solvers_and_kernels_know_no_robots():
    for folder in ("solvers", "kernels"):
        for path in (ROOT / "sot" / folder).glob("*.py"):
            robots = ("sot.model", "sot.task", "sot.entry", "sot.plan")
            known = [name for name, _ in imports(path) if name.startswith(robots)]
            assert not known, f"{path.name} imports {known}"


def test_importing_sot_is_cheap():
    """Nothing happens at import: not even numpy is loaded."""
    import subprocess
    import sys

    code = "import sot, sys; print(sorted({'numpy', 'numba', 'pinocchio', 'meshcat', 'yaml'} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_every_package_is_shipped():
    """A folder that is not in pyproject.toml works in an editable install and is missing from a wheel."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = set(re.findall(r'"(sot[\w.]*)"', re.search(r"\npackages = \[(.*?)\]", text, re.S).group(1)))
    found = {".".join(path.parent.relative_to(ROOT).parts) for path in (ROOT / "sot").rglob("__init__.py")}
    assert listed == found | {"sot.tasks", "sot.robots"}
