"""Choose the cases that `make test` leaves to `make test-all`, from the durations of a run of all:
writes `tests/sweeps.txt`.

    make test-all > LOG
    python scripts/sweeps.py LOG [--unit 0.11] [--single 6]

Of a test with parameters each n-th case stays, one at least; n is the root of the units of seconds
that all of them take, so what takes long is thinned out most. A test without parameters stays
unless it takes longer than `--single`.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from math import sqrt
from pathlib import Path

ALWAYS = ("tests/repo/", "tests/compiler/test_processes.py")
"""Where all stays: what is said of the project's files, and what several processes do, and
Ctrl-C.
"""
TABLE = Path(__file__).resolve().parents[1] / "tests" / "sweeps.txt"
_ROW = re.compile(r"^(\d+\.\d+)s (?:call|setup|teardown)\s+(\S+)", re.MULTILINE)


def main() -> int:
    """Read the log, write the table, say what is left."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("log", type=Path)
    parser.add_argument("--unit", type=float, default=0.11, help="seconds that are no reason to thin out")
    parser.add_argument("--single", type=float, default=6, help="seconds that one case may take")
    arguments = parser.parse_args()
    seconds: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for took, name in _ROW.findall(arguments.log.read_text(encoding="utf-8", errors="replace")):
        seconds[name.partition("[")[0]][name] += float(took)
    rates = {
        name: rate
        for name, cases in seconds.items()
        if not name.startswith(ALWAYS) and (rate := _rate(list(cases.values()), arguments)) != 1
    }
    TABLE.write_text("".join(f"{rate} {name}\n" for name, rate in sorted(rates.items())), encoding="utf-8")
    whole = sum(sum(cases.values()) for cases in seconds.values())
    left = sum(
        sum(list(cases.values())[:: rates.get(name, 1)] if rates.get(name, 1) else ())
        for name, cases in seconds.items()
    )
    print(f"{len(rates)} tests; {left:.0f} of {whole:.0f} seconds stay", file=sys.stderr)
    return 0


def _rate(cases: list[float], arguments: argparse.Namespace) -> int:
    """The n of which each n-th case stays; 0 if none does."""
    if len(cases) == 1:
        return int(cases[0] <= arguments.single)
    return max(1, min(len(cases), round(sqrt(sum(cases) / arguments.unit))))


if __name__ == "__main__":
    sys.exit(main())
