"""Times classes of operators beside other libraries:  python -m bench.x86 [--only CLASS,...] [--threads 1,2] [--json FILE]

The other libraries live in an environment of their own (`make bench-peers`, which `--python`
names); those that are not there are shown as absent. One thread is bound to one CPU, two to two.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from pathlib import Path

from bench.machine import describe, measure_limits
from bench.x86 import parent
from bench.x86.parent import LIBRARIES, Found, Library, Settings
from bench.x86.report import LEGEND, summary, table
from bench.x86.rows import CLASSES, Class

PEERS = parent.ROOT / ".bench-peers" / "bin" / "python"


def main() -> int:
    """Measure and print a table for every class and number of threads."""
    options = _parser().parse_args()
    chosen = [each for each in CLASSES if not options.only or each.name in options.only.split(",")]
    if not chosen:
        print(f"no such class; there are {', '.join(each.name for each in CLASSES)}")
        return 2
    record: dict[str, object] = {"machine": describe(), "runs": []}
    print(f"{record['machine']}\n{LEGEND}")
    for threads in map(int, options.threads.split(",")):
        run = _run(chosen, threads, options)
        record["runs"].append(run)  # type: ignore[attr-defined]
    if options.json:
        Path(options.json).write_text(json.dumps(record, indent=1), encoding="utf-8")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.x86", description=(__doc__ or "").partition(":")[0]
    )
    names = ", ".join(each.name for each in CLASSES)
    parser.add_argument("--only", default="", metavar="CLASS,...", help=f"classes: {names} (default: all)")
    parser.add_argument(
        "--rows", default="", metavar="REGEX", help="rows whose names contain this (default: all)"
    )
    parser.add_argument("--threads", default="1,2", metavar="N,...", help="numbers of threads (default: 1,2)")
    parser.add_argument(
        "--libraries",
        default=",".join(LIBRARIES),
        metavar="NAME,...",
        help=f"columns (default: {','.join(LIBRARIES)})",
    )
    parser.add_argument("--python", default=str(PEERS), help="the interpreter that has the other libraries")
    parser.add_argument(
        "--clock",
        default="wall",
        choices=("wall", "processor"),
        help="processor: for one thread on a machine that does other work",
    )
    parser.add_argument(
        "--budget", type=float, default=12, metavar="SECONDS", help="for the samples of one row (default: 12)"
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=240,
        metavar="SECONDS",
        help="for one answer of a library (default: 240)",
    )
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    return parser


def _run(chosen: list[Class], threads: int, options: argparse.Namespace) -> dict[str, object]:
    """All chosen classes with one number of threads: prints tables, gives the figures."""
    settings = Settings(threads, options.python, options.clock, options.limit, options.budget)
    limits = measure_limits(threads)
    os.environ.setdefault("PYTHONPATH", str(parent.ROOT))
    libraries = [Library(name, settings) for name in options.libraries.split(",")]
    present = {each.name: each.version for each in libraries if not each.absent}
    print(
        f"\nthreads: {threads}; {limits}\n"
        + ", ".join(f"{name} {version}" for name, version in present.items())
    )
    print("".join(f"absent: {each.name}: {each.absent}\n" for each in libraries if each.absent))
    measured: dict[str, tuple[Class, list[Found]]] = {}
    try:
        for each in chosen:
            found = []
            for row in each.rows:
                if not re.search(options.rows, row.name):
                    continue
                print(f"{each.name}: {row.name} ...", file=sys.stderr, flush=True)
                found.append(
                    parent.measure(each.name, row, [one for one in libraries if not one.absent], settings)
                )
            if found:
                measured[each.name] = each, found
                print(table(each, found, limits), flush=True)
    finally:
        for library in libraries:
            library.close()
    print(summary(measured, limits.threads))
    return {
        "threads": threads,
        "limits": limits.as_json(),
        "versions": present,
        "classes": {name: [f.as_json() for f in found] for name, (_, found) in measured.items()},
    }


if __name__ == "__main__":
    sys.exit(main())
