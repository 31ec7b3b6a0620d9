"""A library in a process of its own: it answers what the parent asks, one line of JSON for each.

Runs in the environment of the library, with nothing else of texpr's than `bench`.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import sys
import time
from typing import TextIO

from bench import timing
from bench.x86.candidate import Candidate, Columns, Make
from bench.x86.rows import BOUNDS, CLASSES, Arrays, Row

CLOCKS = {"wall": timing.measure, "processor": timing.measure_processor}
WARM_CALLS, WARM_SECONDS = 4, 0.002


class Worker:
    """The candidates of one row at a time."""

    def __init__(self, columns: Columns, clock: str) -> None:
        self.columns, self.clock = columns, CLOCKS[clock]
        self.candidates: dict[str, Candidate] = {}
        self.typical: dict[str, float] = {}

    def prepare(self, row: Row) -> dict[str, dict[str, object]]:
        """Make every column's candidate, and compare its result: what was found by column."""
        self.candidates, self.typical = {}, {}
        makers = {column: kinds[row.kind] for column, kinds in self.columns.items() if row.kind in kinds}
        if not makers:
            return {}
        arrays = row.arrays()
        found = {column: self._prepared(column, make, row, arrays) for column, make in makers.items()}
        gc.collect()
        return {column: answer for column, answer in found.items() if answer}

    def _prepared(self, column: str, make: Make, row: Row, arrays: Arrays) -> dict[str, object]:
        try:
            start = time.perf_counter()
            candidate = make(row, arrays)
            if candidate is None:
                return {}
            result = candidate.run()
            first = time.perf_counter() - start
            error = None if candidate.result is None else row.error(arrays, candidate.result(result))
            self.candidates[column] = candidate
            self.typical[column] = self._estimate(candidate)
        except Exception as problem:  # whatever a library raises is a result too
            return {"failed": f"{type(problem).__name__}: {problem}"[:300]}
        return (
            {"first": first}
            if error is None
            else {"first": first, "error": error, "correct": error <= BOUNDS[row.dtype]}
        )

    def _estimate(self, candidate: Candidate) -> float:
        for _ in range(WARM_CALLS):
            candidate.run()
        repeats = 1
        while True:
            start = time.perf_counter()
            for _ in range(repeats):
                candidate.run()
            taken = time.perf_counter() - start
            if taken >= WARM_SECONDS:
                return taken / repeats
            repeats *= 4

    def sample(self, column: str, seconds: float) -> dict[str, object]:
        """One sample of about so many seconds, after a run that is not counted."""
        candidate = self.candidates[column]
        candidate.run()
        gc.disable()
        try:
            found = self.clock(candidate.run, max(1, int(seconds / self.typical[column])))
        finally:
            gc.enable()
        return {"seconds": found.seconds, "clean": found.clean}


def serve(worker: Worker, questions: TextIO, answers: TextIO) -> None:
    """Answer until there are no more questions."""
    rows = {(each.name, row.name): row for each in CLASSES for row in each.rows}
    for line in questions:
        match json.loads(line):
            case {"prepare": [of, name]}:
                answer = worker.prepare(rows[of, name])
            case {"sample": column, "seconds": seconds}:
                answer = worker.sample(column, seconds)
            case other:
                raise AssertionError(f"no such question: {other}")
        print(json.dumps(answer), file=answers, flush=True)


def main() -> None:
    """Load a library and serve; what it prints itself goes to the error stream."""
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--clock", choices=CLOCKS, required=True)
    options = parser.parse_args()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-options.threads :])
    try:
        module = importlib.import_module(f"bench.x86.peers.with_{options.library}")
        columns = module.columns(options.threads)
    except Exception as problem:  # a library that cannot be loaded is absent
        print(json.dumps({"absent": f"{type(problem).__name__}: {problem}"[:200]}), file=answers, flush=True)
        return
    print(json.dumps({"version": module.version(), "columns": list(columns)}), file=answers, flush=True)
    serve(Worker(columns, options.clock), sys.stdin, answers)


if __name__ == "__main__":
    main()
