"""Times the kernels of PolyBench:  python -m bench.polybench [--only REGEX] [--dataset large] [--threads 1] [--json FILE]

Every kernel runs in a process of its own, with a time limit, so that one that is slow or fails does not stop the others. The loops of gcc
are serial; with several threads OpenMP has a column too, and the ratio is that of the faster of the two.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from bench.machine import Limits, describe, measure_limits
from bench.polybench import native
from bench.polybench.measure import Outcome, measure
from bench.polybench.report import table
from bench.polybench.table import DATASETS, KERNELS

ROOT = Path(__file__).parents[2]


def main() -> int:
    """Measure the kernels, each in a child process, and print the table."""
    options = _parser().parse_args()
    if options.child:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-options.threads :])
        print(json.dumps(measure(KERNELS[options.only], options.dataset, options.threads, options.budget).as_json()))
        return 0
    if not native.available():
        print(f"{native.COMPILER} is not here: there is nothing to compare with")
        return 1
    limits = measure_limits(options.threads)
    outcomes = []
    for name in (name for name in KERNELS if re.search(options.only, name)):
        print(f"{name} ...", file=sys.stderr, flush=True)
        outcomes.append(_in_a_process(name, options))
    head = (f"PolyBench 4.2, {options.dataset}, threads: {options.threads}. {describe()}\n"
            f"texpr {version('texpr')}, {native.compiler_version()} {' '.join(native.FLAGS)}; {limits}")
    print(f"{head}\n\n{table(outcomes, limits)}")
    if options.json:
        _write(options.json, head, limits, outcomes)
    return int(not all(isinstance(o, Outcome) and o.correct for o in outcomes))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.polybench", description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="kernels whose names contain this (default: all)")
    parser.add_argument("--dataset", default="large", choices=DATASETS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    parser.add_argument("--limit", type=float, default=300, metavar="SECONDS", help="of one kernel (default: 300)")
    parser.add_argument("--budget", type=float, default=5, metavar="SECONDS", help="for the samples of one kernel (default: 5)")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser


def _in_a_process(name: str, options: argparse.Namespace) -> Outcome | str:
    """What a child process found of one kernel, or the last line of why it did not."""
    command = [sys.executable, "-m", "bench.polybench", "--child", "--only", name, "--dataset", options.dataset,
               "--threads", str(options.threads), "--budget", str(options.budget)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.limit, cwd=ROOT)
    except subprocess.TimeoutExpired:
        return f"{name}: not done in {options.limit:g} s"
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1:] or [f"ended with {done.returncode}"]
        return f"{name}: {reason[0]}"
    return Outcome(**json.loads(done.stdout.splitlines()[-1]))


def _write(path: str, head: str, limits: Limits, outcomes: list[Outcome | str]) -> None:
    kernels = [o.as_json() if isinstance(o, Outcome) else {"failed": o} for o in outcomes]
    Path(path).write_text(json.dumps({"head": head, "limits": limits.as_json(), "kernels": kernels}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
