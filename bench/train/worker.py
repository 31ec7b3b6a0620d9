"""A library in a process of its own, as `bench.x86.worker`: one line of JSON for each question."""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import time
from importlib import metadata

from bench.timing import measure, measure_processor
from bench.train.nets import NETS
from bench.train.steps import LIBRARIES, Step

CLOCKS = {"wall": measure, "processor": measure_processor}
LOSSES = 3


class Worker:
    """The steps of one network at a time."""

    def __init__(self, library: str, threads: int, clock: str) -> None:
        self.library, self.threads, self.clock = library, threads, CLOCKS[clock]
        self.steps: dict[str, Step] = {}
        self.typical: dict[str, float] = {}

    def prepare(self, name: str) -> dict[str, dict[str, object]]:
        """Make the steps: how long the first one took with all compiling (`first`, processor
        seconds), and the first losses.
        """
        self.steps, self.typical = {}, {}
        found: dict[str, dict[str, object]] = {}
        for column, make in LIBRARIES[self.library](NETS[name], self.threads).items():
            try:
                start = time.process_time()
                step = make()
                losses = [step()]
                first = time.process_time() - start
                losses += [step() for _ in range(LOSSES - 1)]
            except Exception as problem:  # whatever a library raises is a result too
                found[column] = {"failed": f"{type(problem).__name__}: {problem}"[:300]}
                continue
            start = time.perf_counter()
            step()
            self.steps[column], self.typical[column] = step, time.perf_counter() - start
            found[column] = {"first": first, "losses": losses}
        gc.collect()
        return found

    def sample(self, column: str, seconds: float) -> dict[str, object]:
        """One sample of about so many seconds, after a step that is not counted."""
        step = self.steps[column]
        step()
        found = self.clock(step, max(1, int(seconds / self.typical[column])))
        return {"seconds": found.seconds, "clean": found.clean}


def main() -> None:
    """Serve; what a library prints itself goes to the error stream."""
    parser = argparse.ArgumentParser()
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--clock", choices=CLOCKS, required=True)
    options = parser.parse_args()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-options.threads :])
    try:
        __import__(options.library)
        version = metadata.version(options.library)
    except Exception as problem:  # a library that cannot be loaded is absent
        print(json.dumps({"absent": f"{type(problem).__name__}: {problem}"[:200]}), file=answers, flush=True)
        return
    print(json.dumps({"version": version}), file=answers, flush=True)
    worker = Worker(options.library, options.threads, options.clock)
    for line in sys.stdin:
        match json.loads(line):
            case {"prepare": [_, name]}:
                answer: dict = worker.prepare(name)
            case {"sample": column, "seconds": seconds}:
                answer = worker.sample(column, seconds)
            case other:
                raise AssertionError(f"no such question: {other}")
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
