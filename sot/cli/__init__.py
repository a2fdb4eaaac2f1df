"""The `sot` command.

Exit codes: 0 the job was done; 1 it was not (see `sot.cli.commands.failures` for a run); 2 a mistake in a file or an
argument; 130 stopped by Ctrl-C. Messages go to stderr. With `--json` the last line of stdout is one JSON object.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
LISTS = ("robots", "tasks", "features", "references", "solvers")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    # The matrices of a tick are small: BLAS threads would only wait for each other. Read when numpy is imported.
    for variable in THREADS:
        os.environ.setdefault(variable, "1")
    try:
        options = vars(parser().parse_args(argv))
        return _call(options.pop("command"), options)
    except SystemExit as stop:  # argparse: 0 after --help, 2 for a wrong argument
        return stop.code if isinstance(stop.code, int) else 2
    except KeyboardInterrupt:
        print("sot: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _call(command: str, options: dict[str, Any]) -> int:
    from sot.cli import commands
    from sot.errors import SotError, SotWarning, Uncounted

    function: Callable[..., int] = getattr(commands, f"{command}_command")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SotWarning)  # summaries tell them
            warnings.simplefilter("once", Uncounted)
            warnings.showwarning = lambda message, *_: print(f"sot: warning: {message}", file=sys.stderr)
            code = function(**options)
    except SotError as error:
        print(f"sot: error: {error}", file=sys.stderr)
        code = 2
    sys.stdout.flush()
    return code


def parser() -> argparse.ArgumentParser:
    """The command line."""
    from sot import __version__

    top = argparse.ArgumentParser(
        prog="sot", allow_abbrev=False, description="Whole-body control by a stack of tasks."
    )
    top.add_argument("--version", action="version", version=f"sot {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    run = commands.add_parser("run", allow_abbrev=False, help="run a stack file on a simulated robot")
    run.add_argument("file", metavar="FILE", help="a stack file (.yaml)")
    run.add_argument("--solver", metavar="NAME", help="another solver than the file says")
    run.add_argument("--engine", metavar="NAME", help="another engine: kinematic, simulation or mujoco")
    run.add_argument("--plot", metavar="PNG", help="draw the run into a file, in the worlds finger and haptic")
    _run_options(run)

    check = commands.add_parser(
        "check", allow_abbrev=False, help="load a stack file, do one tick, show its levels"
    )
    check.add_argument("file", metavar="FILE", help="a stack file (.yaml)")
    _json(check)

    listing = commands.add_parser("list", allow_abbrev=False, help="list what there is")
    listing.add_argument("what", nargs="?", choices=LISTS, help="only one of the lists")
    _json(listing)

    show = commands.add_parser(
        "show",
        allow_abbrev=False,
        help="joints, limits, frames, mass, feet of a robot; keys of a task or reference",
    )
    show.add_argument(
        "name", metavar="NAME", help="a robot, a file (.yaml, .urdf, .xml), a task or a reference"
    )
    _json(show)

    demo = commands.add_parser(
        "demo", allow_abbrev=False, help="Talos reaches with both hands while it stands"
    )
    _run_options(demo)

    ik = commands.add_parser("ik", allow_abbrev=False, help="joint angles that bring a frame to a place")
    ik.add_argument("robot", metavar="ROBOT", help="a robot, or a file (.yaml, .urdf, .xml)")
    ik.add_argument("--frame", required=True, metavar="NAME", help="the frame; see `sot show ROBOT`")
    ik.add_argument("--position", nargs=3, type=float, required=True, metavar=("X", "Y", "Z"), help="m, in the world")
    ik.add_argument("--rpy", nargs=3, type=float, metavar=("R", "P", "Y"), help="roll, pitch, yaw, rad; or any")
    ik.add_argument("--restarts", type=_count, default=50, metavar="N", help="random starts before giving up")
    ik.add_argument("--collisions", action="store_true", help="the robot must not touch itself")
    _json(ik)

    collisions = commands.add_parser(
        "collisions", allow_abbrev=False, help="collision bodies of a robot and the pairs to watch, as a file"
    )
    collisions.add_argument("robot", metavar="ROBOT", help="a robot, or a file (.yaml, .urdf, .xml)")
    _collision_options(collisions.add_argument)
    _json(collisions)

    bench = commands.add_parser("bench", allow_abbrev=False, help="time of a tick, stage by stage")
    bench.add_argument("cases", nargs="*", metavar="CASE", help="by default all ticks; also `sim`, `haptic`")
    bench.add_argument("--ticks", type=_count, metavar="N", help="ticks per case")
    _json(bench)

    commands.add_parser("schema", allow_abbrev=False, help="JSON schema of stack files, for editors")
    return top


def _run_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--headless", action="store_true", help="without the viewer, as fast as possible")
    command.add_argument(
        "--realtime", action="store_true", help="keep pace with the clock, also without the viewer"
    )
    command.add_argument("--duration", type=_seconds, metavar="S", help="length of the run, s")
    _json(command)


def _collision_options(add: Callable[..., Any]) -> None:
    """What has no default here has it in `sot.collision.survey.survey`."""
    add("--shapes", choices=("auto", "capsule", "convex"), help="what becomes of meshes")
    add("--corners", type=_count, metavar="N", help="most corners of a convex body (16)")
    add("--pairs", choices=("sampled", "srdf"), help="those that come close, or all that the SRDF does not disable")
    add("--samples", type=_count, metavar="N", help="random configurations (5000)")
    add("--seed", type=int, metavar="S", help="of the random numbers")
    add("--margin", type=float, metavar="M", help="distance that is going to be kept, m (0.01)")
    add("--merge", action="append", metavar="LINK[=LINK,…]", help="make one body of several shapes")
    add("--visual", action="append", metavar="LINK", help="take the visual geometry of a link")
    add("--without", action="append", metavar="LINK", help="leave a link out")
    add("--ignore", action="append", metavar="BODY=BODY,…", help="do not watch these pairs")
    add("--output", metavar="FILE", help="the file to write (ROBOT.collisions.yaml)")


def _json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", dest="as_json", action="store_true", help="end with one line of JSON")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number of seconds, got {text!r}") from None
    if not (0.0 < seconds <= 1e6):
        raise argparse.ArgumentTypeError(f"expected seconds, more than 0 and at most 1e6, got {text}")
    return seconds


def _count(text: str) -> int:
    try:
        count = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number, got {text!r}") from None
    if not (1 <= count <= 10_000_000):
        raise argparse.ArgumentTypeError(f"expected a number from 1 to 10000000, got {text}")
    return count
