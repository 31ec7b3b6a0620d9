"""A library in a process of its own, as `bench.train.worker`, for one network."""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from importlib import metadata
from pathlib import Path

import numpy as np

from bench.models.libraries import LIBRARIES, Call
from bench.models.networks import NETWORKS, file_of
from bench.timing import measure, measure_processor

CLOCKS = {"wall": measure, "processor": measure_processor}
FOLDER = "TEXPR_BENCH_MODELS"
"""Names the folder of the networks in the environment."""


class Worker:
    """The calls of one network."""

    def __init__(self, library: str, threads: int, clock: str) -> None:
        self.library, self.threads, self.clock = library, threads, CLOCKS[clock]
        self.calls: dict[str, Call] = {}
        self.typical: dict[str, float] = {}
        self.given = np.zeros(0)

    def prepare(self, name: str, batch: int) -> dict[str, dict[str, object]]:
        """Load and call: seconds of loading (`load`, with the library's import) and of the first
        call (`first`), the peak of memory in bytes, and some numbers of the result.
        """
        self.given, found = NETWORKS[name].input(batch), dict[str, dict[str, object]]()
        file = file_of(Path(os.environ[FOLDER]), name, batch)
        for column, load in LIBRARIES[self.library](name, file, self.threads).items():
            try:
                start = time.perf_counter()
                call = load()
                loaded = time.perf_counter()
                result = call(self.given)
                first = time.perf_counter()
                call(self.given)
            except Exception as problem:  # whatever a library raises is a result too
                found[column] = {"failed": f"{type(problem).__name__}: {problem}"[:300]}
                continue
            self.calls[column], self.typical[column] = call, time.perf_counter() - first
            found[column] = {
                "load": loaded - start,
                "first": first - loaded,
                "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10,
                "result": result.reshape(-1)[:: max(1, result.size // 100)].astype(float).tolist(),
            }
        return found

    def sample(self, column: str, seconds: float) -> dict[str, object]:
        """One sample of about so many seconds, after a call that is not counted."""
        call = self.calls[column]
        call(self.given)
        found = self.clock(lambda: call(self.given), max(1, int(seconds / self.typical[column])))
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
        version = metadata.version(options.library)
    except metadata.PackageNotFoundError as problem:  # a library that is not installed is absent
        print(json.dumps({"absent": str(problem)}), file=answers, flush=True)
        return
    print(json.dumps({"version": version}), file=answers, flush=True)
    worker = Worker(options.library, options.threads, options.clock)
    for line in sys.stdin:
        match json.loads(line):
            case {"prepare": [batch, name]}:
                answer: dict = worker.prepare(name, int(batch))
            case {"sample": column, "seconds": seconds}:
                answer = worker.sample(column, seconds)
            case other:
                raise AssertionError(f"no such question: {other}")
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
