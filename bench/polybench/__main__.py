"""Times the kernels of PolyBench:  python -m bench.polybench [--only REGEX] [--dataset large] [--threads 1] [--json FILE]

Every kernel runs in a process of its own, with a time limit, so that one that is slow or fails does
not stop the others. The loops of gcc are serial; with several threads OpenMP has a column too, and
the ratio is that of the faster of the two.
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
from bench.polybench.operator import is_proven
from bench.polybench.report import Result, table
from bench.polybench.table import DATASETS, KERNELS

ROOT = Path(__file__).parents[2]


def main() -> int:
    """Measure the kernels, each in a child process, and print the table."""
    options = _parser().parse_args()
    if options.child:
        print(json.dumps(_child(options)))
        return 0
    if not native.available():
        print(f"{native.COMPILER} is not here: there is nothing to compare with")
        return 1
    limits = measure_limits(options.threads)
    head = (
        f"PolyBench 4.2, {options.dataset}, threads: {options.threads}. {describe()}\n"
        f"texpr {version('texpr')}, {native.compiler_version()} {' '.join(native.FLAGS)}; {limits}"
    )
    results = []
    for name in (name for name in KERNELS if re.search(options.only, name)):
        results.append(_result(name, options))
        print(f"{name} {results[-1].progress}", file=sys.stderr, flush=True)
        if options.json:
            _write(options.json, head, limits, results)
    print(f"{head}\n\n{table(results, limits)}")
    return int(not all(result.outcome is not None and result.outcome.correct for result in results))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.polybench", description=(__doc__ or "").partition(":")[0]
    )
    parser.add_argument(
        "--only", default="", metavar="REGEX", help="kernels whose names contain this (default: all)"
    )
    parser.add_argument("--dataset", default="large", choices=DATASETS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    parser.add_argument(
        "--limit", type=float, default=300, metavar="SECONDS", help="of one kernel (default: 300)"
    )
    parser.add_argument(
        "--budget",
        type=float,
        default=5,
        metavar="SECONDS",
        help="for the samples of one kernel (default: 5)",
    )
    parser.add_argument("--rounds", type=int, default=3, help="the least number of samples (default: 3)")
    parser.add_argument(
        "--proof",
        type=float,
        default=60,
        metavar="SECONDS",
        help="for the certificate of one kernel (default: 60)",
    )
    parser.add_argument("--child", choices=("measure", "prove"), help=argparse.SUPPRESS)
    return parser


def _child(options: argparse.Namespace) -> object:
    """What one child finds: the outcome of a kernel, or whether its loops are proven."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-options.threads :])
    kernel = KERNELS[options.only]
    if options.child == "prove":
        return is_proven(kernel, kernel.dataset(options.dataset))
    return measure(kernel, options.dataset, options.threads, options.budget, options.rounds).as_json()


def _result(name: str, options: argparse.Namespace) -> Result:
    """Measure one kernel, then prove its loops, in a process each."""
    try:
        outcome = Outcome(**_in_a_process("measure", name, options, options.limit))  # type: ignore[arg-type]
    except ChildError as problem:
        return Result(name, failed=str(problem))
    try:
        proven = bool(_in_a_process("prove", name, options, options.proof))
    except ChildError:
        proven = False
    return Result(name, outcome, proven)


class ChildError(Exception):
    """A child process failed or took too long."""


def _in_a_process(what: str, name: str, options: argparse.Namespace, limit: float) -> object:
    """What a child process printed last.

    Raises:
        ChildError: it failed, with the last line of why; or it took longer than `limit` seconds.
    """
    command = [
        sys.executable,
        "-m",
        "bench.polybench",
        "--child",
        what,
        "--only",
        name,
        "--dataset",
        options.dataset,
        "--threads",
        str(options.threads),
        "--budget",
        str(options.budget),
        "--rounds",
        str(options.rounds),
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, cwd=ROOT)
    except subprocess.TimeoutExpired:
        raise ChildError(f"not done in {limit:g} s") from None
    if done.returncode:
        raise ChildError((done.stderr.strip().splitlines()[-1:] or [f"ended with {done.returncode}"])[0])
    return json.loads(done.stdout.splitlines()[-1])


def _write(path: str, head: str, limits: Limits, results: list[Result]) -> None:
    record = {"head": head, "limits": limits.as_json(), "kernels": [result.as_json() for result in results]}
    Path(path).write_text(json.dumps(record, indent=1), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
