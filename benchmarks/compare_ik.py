"""Inverse kinematics to one pose, sot and pink back to back: `python benchmarks/compare_ik.py [COUNT]`."""

from __future__ import annotations

import json
import sys

from compare import HERE, BenchmarkError, environment, peer_python, run


def main() -> int:
    """Print success and time of both tools."""
    count = sys.argv[1] if len(sys.argv) > 1 else "2000"
    try:
        ours = run("sot", [sys.executable, str(HERE / "ik_sot.py"), count], environment(False))
        theirs = run("pink", [peer_python("pink"), str(HERE / "ik_pink.py"), count], environment(True))
    except BenchmarkError as error:
        print(f"benchmark failed: {error}", file=sys.stderr)
        return 2
    results = {tool: json.loads(text.strip().splitlines()[-1]) for tool, text in (("sot", ours), ("pink", theirs))}
    print(f"{'robot':<8}{'tool':<6}{'success':>9}{'median ms':>11}{'p95 ms':>9}")
    for robot in results["sot"]:
        for tool, report in results.items():
            figures = report[robot]
            line = f"{100 * figures['success']:>8.2f}%{figures['median_ms']:>11.2f}{figures['p95_ms']:>9.2f}"
            print(f"{robot:<8}{tool:<6}{line}")
    return 0 if all(figures["success"] >= 0.995 for figures in results["sot"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())
