"""Run the same cases with sot, pink, PlaCo and TSID and compare: `python benchmarks/compare.py [CASE...]`.

The first run makes one virtual environment per peer under `benchmarks/.venvs/` (their `pin` versions
exclude each other and may exclude ours). Then several short rounds alternate between the tools, so that a
noisy machine is noisy for all; the ratio is that of the medians of the rounds' p50.

Exit code: 0 all required ratios and errors kept, 1 some missed, 2 something did not run.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
VENVS = HERE / ".venvs"
TIMEOUT = 600  # s, one tool in one round; the first includes our compilation
INSTALL_TIMEOUT = 3600  # s, one environment; TSID's includes its compilation, some minutes

# The largest allowed sot / peer ratio of p50; pairs not listed are shown, not judged.
REQUIRED = {
    "panda-ik": {"pink": 0.25},
    "talos-ik": {"pink": 0.35, "placo": 1.0},
    "talos-ik-strict": {"pink": 0.35, "placo": 1.0},
    "talos-id": {"placo": 1.0, "tsid": 1.0},
    "solo12-id": {"placo": 1.0, "tsid": 1.0},
}
# Kinematics: final errors agree if they differ by no more than the targets move in one tick (0.1 m/s * 5 ms).
# Dynamics: the error of half a millimetre is what the weights of the tasks leave, so it shows that they mean the same.
ERROR_TOLERANCES = {"ik": 5e-4, "id": 2e-5}  # m


@dataclass(frozen=True)
class Peer:
    """A tool to compare with: what pip installs, the script with its cases, and which of them it has."""

    requirements: tuple[str, ...]
    script: str
    kinds: tuple[str, ...]  # of ik and id


# TSID's wheels crash with the pin that pip takes for them, so both its parts are compiled against that; anew each
# time, for a part that pip kept from an earlier time may be of another pin.
FROM_SOURCE = ("--no-binary=tsid,libtsid", "--no-cache-dir")
PEERS = {
    "pink": Peer(("pin-pink>=4.4,<5", "quadprog", "example-robot-data"), "pink_cases.py", ("ik",)),
    "placo": Peer(("placo>=0.10,<0.11", "example-robot-data"), "placo_cases.py", ("ik", "id")),
    "tsid": Peer((*FROM_SOURCE, "tsid>=1.10,<1.11", "example-robot-data"), "tsid_cases.py", ("id",)),
}

KEYS = ("p50_us", "p99_us", "max_us", "error")  # µs, µs, µs, m
Figures = dict[str, dict[str, float]]  # case -> key -> figure
Results = dict[str, Figures]  # by tool


class BenchmarkError(Exception):
    """A tool could not be installed or did not run; the message says which and why."""


def run(what: str, command: Sequence[str], env: dict[str, str], timeout: float = TIMEOUT) -> str:
    """Standard output of a command; its failure becomes a sentence with the end of its complaints."""
    try:
        done = subprocess.run(command, env=env, cwd=HERE, capture_output=True, text=True, timeout=timeout)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BenchmarkError(f"{what} failed: {error}") from error
    if done.returncode != 0:
        tail = "\n  ".join((done.stderr or done.stdout).strip().splitlines()[-8:])
        raise BenchmarkError(f"{what} failed with exit code {done.returncode}:\n  {tail}")
    return done.stdout


def environment(isolated: bool) -> dict[str, str]:
    """One thread for everyone; a peer sees only its own packages."""
    hidden = ("PYTHONPATH", "PYTHONHOME") if isolated else ()
    env = {key: value for key, value in os.environ.items() if key not in hidden}
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return env | threads | ({"PYTHONNOUSERSITE": "1"} if isolated else {})


def peer_python(name: str) -> str:
    """The Python of a peer's environment, which is made if it is missing, half-made or out of date."""
    folder, wanted = VENVS / name, "\n".join(PEERS[name].requirements)
    python, stamp = folder / "bin" / "python", folder / "installed.txt"
    if not (stamp.exists() and stamp.read_text() == wanted):
        how = "once; compiled, some minutes" if FROM_SOURCE[0] in PEERS[name].requirements else "once"
        print(f"making the environment of {name} in {folder} ({how})", file=sys.stderr)
        shutil.rmtree(folder, ignore_errors=True)
        try:
            install(name, folder)
        except BenchmarkError as error:
            raise BenchmarkError(f"{error}\n(--without {name} compares with the others)") from error
        stamp.write_text(wanted)
    return str(python)


def install(name: str, folder: Path) -> None:
    """A new environment with the peer in it."""
    env = environment(isolated=True)
    run(f"creating the environment of {name}", [sys.executable, "-m", "venv", str(folder)], env)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", *PEERS[name].requirements]
    run(f"installing {name} with pip", pip, env, INSTALL_TIMEOUT)


def kind_of(case: str) -> str:
    """ik or id, the word after the robot's name."""
    return case.split("-")[1]


def peers_of(case: str, tools: Iterable[str]) -> list[str]:
    """Those of the tools that have the case, ours apart."""
    return [name for name in tools if name in PEERS and kind_of(case) in PEERS[name].kinds]


def case_of(tool: str, case: str) -> str:
    """The peers know weights only: our strict stack is compared with their weighted one."""
    return case.removesuffix("-strict") if tool in PEERS else case


def commands(cases: Sequence[str], peers: Sequence[str]) -> dict[str, list[str]]:
    """The command of each tool that has something to do, in the order of a round."""
    lines = {"sot": [sys.executable, "-m", "sot", "bench", *cases, "--json"]}
    for name in peers:
        theirs = dict.fromkeys(case_of(name, case) for case in cases if peers_of(case, [name]))
        if theirs:
            lines[name] = [peer_python(name), PEERS[name].script, *theirs]
    return lines


def one_run(tool: str, command: Sequence[str]) -> Figures:
    """The `cases` object on the last line a tool prints."""
    lines = run(f"running {tool}", command, environment(isolated=tool in PEERS)).strip().splitlines()
    try:
        cases = json.loads(lines[-1])["cases"]
        return {name: {key: float(case[key]) for key in KEYS} for name, case in cases.items()}
    except (IndexError, KeyError, TypeError, ValueError, AttributeError) as error:
        last = lines[-1][:200] if lines else "nothing"
        raise BenchmarkError(f"{tool} did not end with the expected JSON ({error!r}) but: {last}") from error


def measure(cases: Sequence[str], peers: Sequence[str], rounds: int) -> Results:
    """Medians over the rounds, filed under our names of the cases for every tool."""
    lines = commands(cases, peers)
    runs: dict[str, list[Figures]] = {tool: [] for tool in lines}
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}", file=sys.stderr)
        for tool, command in lines.items():
            runs[tool].append(one_run(tool, command))
    had = {tool: [case for case in cases if tool == "sot" or peers_of(case, [tool])] for tool in lines}
    return {tool: {case: _median(tool, case_of(tool, case), runs[tool]) for case in had[tool]} for tool in lines}


def _median(tool: str, name: str, runs: list[Figures]) -> dict[str, float]:
    missing = [figures for figures in runs if name not in figures]
    if missing:
        raise BenchmarkError(f"{tool} gave no result for {name!r}, only for: {', '.join(missing[0])}")
    return {key: median(figures[name][key] for figures in runs) for key in KEYS}


def judge(results: Results, case: str, peer: str) -> dict[str, Any]:
    """One row of the table; comparisons are written so that NaN fails them."""
    ours, theirs = results["sot"][case], results[peer][case]
    ratio, limit = ours["p50_us"] / theirs["p50_us"], REQUIRED[case].get(peer)
    difference = abs(ours["error"] - theirs["error"])
    return {
        "case": case, "peer": peer, "ratio": ratio, "limit": limit, "error_difference": difference,
        "fast": limit is None or ratio <= limit, "agrees": difference <= ERROR_TOLERANCES[kind_of(case)],
    }  # fmt: skip


def figures(results: Results, cases: Sequence[str]) -> str:
    """Times and final errors, one line per case and tool."""
    form = "{:<16} {:<6} {:>8} {:>8} {:>8} {:>8}"
    lines = [form.format("case", "tool", "p50 µs", "p99 µs", "max µs", "error mm")]
    for case in cases:
        for tool in (tool for tool in results if case in results[tool]):
            p50, p99, most, error = (results[tool][case][key] for key in KEYS)
            lines.append(form.format(case, tool, f"{p50:.1f}", f"{p99:.1f}", f"{most:.1f}", f"{1e3 * error:.4f}"))
    return "\n".join(lines)


def table(results: Results, rows: list[dict[str, Any]]) -> str:
    """Times, ratios and final errors, one line per case and peer."""
    head = ("case", "peer", "sot µs", "peer µs", "ratio", "required", "sot mm", "peer mm", "verdict")
    form = "{:<16} {:<6} {:>8} {:>8} {:>6} {:>8} {:>8} {:>8}  {}"
    return "\n".join([form.format(*head), *(form.format(*_cells(results, row)) for row in rows)])


def _cells(results: Results, row: dict[str, Any]) -> tuple[str, ...]:
    ours, theirs = results["sot"][row["case"]], results[row["peer"]][row["case"]]
    times = (f"{ours['p50_us']:.1f}", f"{theirs['p50_us']:.1f}", f"{row['ratio']:.3f}")
    limit = "-" if row["limit"] is None else f"<= {row['limit']:.2f}"
    errors = (f"{1e3 * ours['error']:.4f}", f"{1e3 * theirs['error']:.4f}")
    faults = ["too slow"] * (not row["fast"]) + ["errors differ"] * (not row["agrees"])
    return (row["case"], row["peer"], *times, limit, *errors, ", ".join(faults) or "ok")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare sot with pink, PlaCo and TSID on the same cases.")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(REQUIRED)} (default: all)")
    parser.add_argument("--json", action="store_true", help="the last line of output is one JSON object")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of all tools in turn (default: 5)")
    parser.add_argument("--without", nargs="+", default=[], choices=PEERS, metavar="PEER", help="peers to leave out")
    options = parser.parse_args()
    for case in options.cases:
        if case not in REQUIRED:
            parser.error(f"unknown case {case!r}; available: {', '.join(REQUIRED)}")
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    return options


def main() -> int:
    options = arguments()
    cases = list(dict.fromkeys(options.cases)) or list(REQUIRED)
    peers = [name for name in PEERS if name not in options.without]
    try:
        results = measure(cases, peers, options.rounds)
    except BenchmarkError as error:
        print(error, file=sys.stderr)
        return 2
    rows = [judge(results, case, peer) for case in cases for peer in peers_of(case, peers)]
    ok = all(row["fast"] and row["agrees"] for row in rows)
    print(figures(results, cases), table(results, rows), sep="\n\n")
    print(f"\nfinal errors agree and required ratios kept: {'yes' if ok else 'NO'}")
    if options.json:
        print(json.dumps({"ok": ok, "rounds": options.rounds, "tools": results, "comparisons": rows}))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
