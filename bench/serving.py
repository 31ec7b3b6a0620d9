"""A library in a process of its own: what the workers of benches share."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Collection
from typing import Protocol, TextIO

from bench.timing import measure, measure_processor

CLOCKS = {"wall": measure, "processor": measure_processor}


def begin(libraries: Collection[str] | None = None) -> tuple[argparse.Namespace, TextIO]:
    """What the parent asked for (`library`, `threads`, `clock`), and where answers go; what a
    library prints itself goes to the error stream. The process stays on the last cores.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("library", choices=libraries)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--clock", choices=CLOCKS, required=True)
    options = parser.parse_args()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-options.threads :])
    return options, answers


def answer(found: object, answers: TextIO) -> None:
    """One line of JSON."""
    print(json.dumps(found), file=answers, flush=True)


def absent(problem: Exception, answers: TextIO) -> None:
    """Say why a library cannot be used."""
    answer({"absent": f"{type(problem).__name__}: {problem}"[:200]}, answers)


def failed(problem: Exception) -> dict[str, object]:
    """A column of a library that raised: that is a result, too."""
    return {"failed": f"{type(problem).__name__}: {problem}"[:300]}


class Worker(Protocol):
    """What is asked of a library."""

    def prepare(self, of: str, name: str, /) -> object:
        """Make a row of a class."""

    def sample(self, column: str, seconds: float) -> object:
        """Time a column of it."""


def serve(worker: Worker, questions: TextIO, answers: TextIO) -> None:
    """Answer until there are no more questions."""
    for line in questions:
        match json.loads(line):
            case {"prepare": [of, name]}:
                answer(worker.prepare(of, name), answers)
            case {"sample": column, "seconds": seconds}:
                answer(worker.sample(column, seconds), answers)
            case other:
                raise AssertionError(f"no such question: {other}")


class Calls:
    """Calls by column, and about how long each takes."""

    def __init__(self, clock: str) -> None:
        self.clock = CLOCKS[clock]
        self.known: dict[str, tuple[Callable[[], object], float]] = {}

    def add(self, column: str, call: Callable[[], object]) -> None:
        """Know a call, after one that is not counted."""
        start = time.perf_counter()
        call()
        self.known[column] = call, time.perf_counter() - start

    def sample(self, column: str, seconds: float) -> dict[str, object]:
        """One sample of about so many seconds, after a call that is not counted."""
        call, each = self.known[column]
        call()
        found = self.clock(call, max(1, int(seconds / each)))
        return {"seconds": found.seconds, "clean": found.clean}
