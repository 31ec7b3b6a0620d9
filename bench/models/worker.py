"""A library in a process of its own, as `bench.x86.worker`, for one network."""

from __future__ import annotations

import os
import resource
import sys
import time
from importlib import metadata
from pathlib import Path

from bench import serving
from bench.models.libraries import LIBRARIES
from bench.models.networks import EVERY, file_of

FOLDER = "TEXPR_BENCH_MODELS"
"""Names the folder of the networks in the environment."""


class Worker(serving.Calls):
    """The calls of one network."""

    def __init__(self, library: str, threads: int, clock: str) -> None:
        super().__init__(clock)
        self.library, self.threads = library, threads

    def prepare(self, batch: str, name: str) -> dict[str, dict[str, object]]:
        """Load and call: seconds of loading (`load`, with the library's import) and of the first
        call (`first`), the peak of memory in bytes, and some numbers of the result.
        """
        given = EVERY[name].input(int(batch))
        found: dict[str, dict[str, object]] = {}
        file = file_of(Path(os.environ[FOLDER]), name, batch)
        for column, load in LIBRARIES[self.library](name, file, self.threads).items():
            try:
                start = time.perf_counter()
                call = load()
                loaded = time.perf_counter()
                result = call(given)
                first = time.perf_counter()
            except Exception as problem:  # whatever a library raises is a result too
                found[column] = serving.failed(problem)
                continue
            self.add(column, lambda call=call: call(given))
            found[column] = {
                "load": loaded - start,
                "first": first - loaded,
                "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10,
                "result": result.reshape(-1)[:: max(1, result.size // 100)].astype(float).tolist(),
            }
        return found


def main() -> None:
    """Serve."""
    options, answers = serving.begin(LIBRARIES)
    try:  # not loaded here: its import is part of what is timed
        version = metadata.version(options.library)
    except metadata.PackageNotFoundError as problem:
        serving.absent(problem, answers)
        return
    serving.answer({"version": version}, answers)
    worker = Worker(options.library, options.threads, options.clock)
    serving.serve(worker, sys.stdin, answers)


if __name__ == "__main__":
    main()
