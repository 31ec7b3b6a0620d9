"""A library in a process of its own: it answers what the parent asks, one line of JSON for each.

Runs in the environment of the library, with nothing else of texpr's than `bench`.
"""

from __future__ import annotations

import gc
import importlib
import sys
import time

from bench import serving
from bench.x86.candidate import Candidate, Columns, Make
from bench.x86.rows import BOUNDS, CLASSES, Arrays, Row

ROWS = {(each.name, row.name): row for each in CLASSES for row in each.rows}
WARM_CALLS, WARM_SECONDS = 4, 0.002


class Worker:
    """The candidates of one row at a time."""

    def __init__(self, columns: Columns, clock: str) -> None:
        self.columns, self.clock = columns, serving.CLOCKS[clock]
        self.candidates: dict[str, Candidate] = {}
        self.typical: dict[str, float] = {}

    def prepare(self, of: str, name: str) -> dict[str, dict[str, object]]:
        """Make every column's candidate of a row, and compare its result: what was found by column."""
        row = ROWS[of, name]
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
            return serving.failed(problem)
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


def main() -> None:
    """Load a library and serve."""
    options, answers = serving.begin()
    try:
        module = importlib.import_module(f"bench.x86.peers.with_{options.library}")
        columns = module.columns(options.threads)
    except Exception as problem:  # a library that cannot be loaded is absent
        serving.absent(problem, answers)
        return
    serving.answer({"version": module.version(), "columns": list(columns)}, answers)
    serving.serve(Worker(columns, options.clock), sys.stdin, answers)


if __name__ == "__main__":
    main()
