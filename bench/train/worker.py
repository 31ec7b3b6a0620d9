"""A library in a process of its own, as `bench.x86.worker`: one line of JSON for each question."""

from __future__ import annotations

import gc
import sys
import time
from importlib import metadata

from bench import serving
from bench.train.nets import NETS
from bench.train.steps import LIBRARIES

LOSSES = 3


class Worker(serving.Calls):
    """The steps of one network at a time."""

    def __init__(self, library: str, threads: int, clock: str) -> None:
        super().__init__(clock)
        self.library, self.threads = library, threads

    def prepare(self, _: str, name: str) -> dict[str, dict[str, object]]:
        """Make the steps: how long the first one took with all compiling (`first`, processor
        seconds), and the first losses.
        """
        self.known.clear()
        found: dict[str, dict[str, object]] = {}
        for column, make in LIBRARIES[self.library](NETS[name], self.threads).items():
            try:
                start = time.process_time()
                step = make()
                losses = [step()]
                first = time.process_time() - start
                losses += [step() for _ in range(LOSSES - 1)]
            except Exception as problem:  # whatever a library raises is a result too
                found[column] = serving.failed(problem)
                continue
            self.add(column, step)
            found[column] = {"first": first, "losses": losses}
        gc.collect()
        return found


def main() -> None:
    """Serve."""
    options, answers = serving.begin(LIBRARIES)
    try:
        __import__(options.library)
        version = metadata.version(options.library)
    except Exception as problem:  # a library that cannot be loaded is absent
        serving.absent(problem, answers)
        return
    serving.answer({"version": version}, answers)
    worker = Worker(options.library, options.threads, options.clock)
    serving.serve(worker, sys.stdin, answers)


if __name__ == "__main__":
    main()
