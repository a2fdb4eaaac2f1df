"""Finds robot descriptions: by name, by file, or from keyword arguments."""

from __future__ import annotations

import dataclasses
import functools
import importlib.metadata
import os
from pathlib import Path
from typing import Any

from sot.description import Description
from sot.description.assembly import assemble
from sot.description.recipe import Recipe
from sot.errors import ConfigError, ModelError, missing, unknown
from sot.typed_yaml import arguments, build, read
from sot.typed_yaml.node import Node, wrap

HERE = Path(__file__).parent
FOLDERS_VARIABLE = "SOT_ROBOTS"
DATA = "example-robot-data"


def load(robot: str | Path | None = None, *, folder: str | Path | None = None, **options: Any) -> Description:
    """A robot's description.

    Examples:
        load("talos")                                      a robot of `names()`
        load("my_robot.yaml")                              your own description file
        load("arm.urdf", hands=["tool0"])                  a URDF file (or an MJCF file, .xml)
        load(urdf="legs.urdf", root="free_flyer", feet=[{"frame": "foot"}])
        load("tiago", root="fixed")                        a known robot with something changed

    Args:
        robot: Name, or path of a `.yaml`, `.urdf` or `.xml` file.
        folder: A folder with your own description files, looked at first.
        **options: Any key of a description file; see `sot.description.recipe.Recipe`.

    Raises:
        ConfigError: An unknown name or option, or a mistake in a description file.
        ModelError: The robot's URDF, MJCF, SRDF or meshes are missing or wrong.
    """
    recipe, name, where, base = _find(robot, folder, options)
    return assemble(_resolved(recipe, base, where), where, name)


def names(folder: str | Path | None = None) -> list[str]:
    """Names that `load` knows: the built-in ones, and those in `folder` and in the folders of $SOT_ROBOTS."""
    return sorted(_files(folder))


def _files(folder: str | Path | None) -> dict[str, Path]:
    """Description files by robot name; a user's file hides a built-in one of the same name."""
    places = [Path(place) for place in os.environ.get(FOLDERS_VARIABLE, "").split(os.pathsep) if place]
    if folder is not None:
        places.insert(0, Path(folder))
    for place in places:
        if not place.is_dir():
            raise ConfigError(f"{place}: is not a folder (looking for robot description files)")
    files: dict[str, Path] = {}
    for place in (*places, HERE):
        for path in sorted(place.glob("*.yaml")):
            files.setdefault(path.stem, path)
    return files


def _find(
    robot: str | Path | None, folder: str | Path | None, options: dict[str, Any]
) -> tuple[Recipe, str | None, str, Path]:
    """The recipe, the robot's name, what errors call it, and the folder its paths start from."""
    given = wrap(options, "load()")
    if robot is None:
        return build(given, Recipe), None, "load()", Path.cwd()
    if not isinstance(robot, (str, Path)):
        raise ConfigError(f"load(): expected a robot's name or a file, got {robot!r}")
    suffix = Path(robot).suffix.lower()
    if suffix in (".urdf", ".xml"):
        key = "urdf" if suffix == ".urdf" else "mjcf"
        return build(wrap({**options, key: robot}, "load()"), Recipe), None, "load()", Path.cwd()
    path = Path(robot).expanduser() if suffix in (".yaml", ".yml") else _by_name(str(robot), folder)
    recipe = _with_collisions(build(read(path), Recipe), path, options)
    return _changed(recipe, given), path.stem, str(path), path.parent.absolute()


def _by_name(name: str, folder: str | Path | None) -> Path:
    files = _files(folder)
    if name not in files:
        hint = "A file needs its ending: .yaml, .urdf or .xml"
        raise ConfigError(f"{unknown('robot', name, sorted(files))}. {hint}")
    return files[name]


def _with_collisions(recipe: Recipe, path: Path, options: dict[str, Any]) -> Recipe:
    """The recipe with the file collisions/<robot>.yaml beside its own, if there is one and the robot is that one."""
    default = Path("collisions") / f"{path.stem}.yaml"
    if recipe.collisions is not None or {"urdf", "mjcf"} & set(options) or not (path.parent / default).is_file():
        return recipe
    return dataclasses.replace(recipe, collisions=default)


def _changed(recipe: Recipe, options: Node) -> Recipe:
    """A recipe with some keys replaced. A path in the options is relative to the working directory."""
    given = arguments(options, Recipe)
    for key in ("urdf", "mjcf", "srdf", "collisions"):
        if given.get(key) is not None:
            given[key] = Path.cwd() / given[key].expanduser()
    return dataclasses.replace(recipe, **given)


def _resolved(recipe: Recipe, base: Path, where: str) -> Recipe:
    """The recipe with absolute paths."""
    packages = [base / path.expanduser() for path in recipe.packages]
    collisions = None if recipe.collisions is None else base / recipe.collisions.expanduser()
    if recipe.data is not None:
        try:
            base = data_folder(recipe.data)
        except ModelError as error:
            raise ModelError(f"{where}: {error}") from None
        packages.append(base.parent.parent)  # meshes are package://example-robot-data/robots/...
    paths = {
        key: base / getattr(recipe, key).expanduser()
        for key in ("urdf", "mjcf", "srdf")
        if getattr(recipe, key) is not None
    }
    return dataclasses.replace(recipe, packages=tuple(packages), collisions=collisions, **paths)


@functools.cache
def data_folder(package: str) -> Path:
    """The folder `robots` of an installed data package, found through its list of files."""
    try:
        distribution = importlib.metadata.distribution(package)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        extra = "'sot[robots]'" if package == DATA else package
        raise ModelError(missing(package, "this robot", extra)) from None
    for file in distribution.files or ():
        parts = file.parts
        for i in range(len(parts) - 2):
            if parts[i : i + 2] == (package, "robots"):
                return Path(str(distribution.locate_file(Path(*parts[: i + 2])))).resolve()
    raise ModelError(f"the installed package '{package}' lists no folder {package}/robots")
