"""Operators of several stages: schedules that compute each stage where it is used against the
default schedule.

    python scripts/bench_fusion.py [name ...]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

import texpr as tx  # noqa: E402
from tests.properties.schedule.fused import EXAMPLES  # noqa: E402
from texpr.ir.shapes import flat_shape  # noqa: E402
from texpr.support.table import Table  # noqa: E402

ROUNDS = 25


def main() -> None:
    """Milliseconds of each schedule, measured in turns."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", metavar="name", default=list(EXAMPLES), help="operators (default: all)"
    )
    table = Table({"operator": "<10", "schedule": "<8", "median, ms": ">10.2f", "best, ms": ">8.2f"})
    names = parser.parse_args().names
    print(table.header())
    for name in names:
        example = EXAMPLES[name]
        operator = tx.op(example.text)
        kernels = {"auto": tx.schedule(operator, **example.large).auto().compile()}
        kernels |= {
            label: tx.schedule(operator, **example.large).replay(script).compile()
            for label, script in example.scripts.items()
        }
        program = operator.program()
        sizes = {v: example.large[v.name] for v in program.sizes}
        generator = np.random.default_rng(0)
        arrays = [generator.standard_normal(flat_shape(t, sizes)).astype(np.float32) for t in program.inputs]
        seconds: dict[str, list[float]] = {label: [] for label in kernels}
        for _ in range(ROUNDS):
            for label, kernel in kernels.items():
                start = time.perf_counter()
                kernel(*arrays)
                seconds[label].append(time.perf_counter() - start)
        for label, times in seconds.items():
            print(table.row(name, label, 1e3 * statistics.median(times), 1e3 * min(times)))


if __name__ == "__main__":
    main()
