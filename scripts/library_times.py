"""Times of the operators of the library, as they run by default on one thread, beside PyTorch's, at
sizes that are multiples of nothing.

    python scripts/library_times.py --torch PYTHON [--only NAME,...] [--elements 200000] [--slower
    1.0]

Each operator's first case of the tests in f32 is enlarged: every size by the same factor, until the
largest array has about so many elements. A row is the time of a call with a given output,
PyTorch's, and PyTorch's over it; rows below `--slower` come first. The two run one after the other:
what is within a tenth of 1 is equal. PyTorch runs in an environment of its own, by
`scripts/peers/times_torch.py`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

import texpr as tx  # noqa: E402
from tests.ops.smooth import CASES, as_tuple  # noqa: E402
from tests.ops.table import Array, Case  # noqa: E402
from texpr import ops  # noqa: E402
from texpr.ir.shapes import bind_sizes, caller_shape  # noqa: E402
from texpr.support.progress import progress  # noqa: E402

PEER = Path(__file__).parent / "peers" / "times_torch.py"
SECONDS = 0.1
"""What one operator is timed for."""
LARGEST = 100.0
"""Magnitude of floats: some cases try the largest there are."""


@dataclass(frozen=True)
class Call:
    """An operator and its arguments."""

    name: str
    inputs: list[Array]
    constants: Mapping[str, object]


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--torch", required=True, help="the interpreter of an environment that has torch")
    parser.add_argument("--only", default="", help="names of operators")
    parser.add_argument("--elements", type=int, default=200_000, help="of the largest array, about")
    parser.add_argument("--slower", type=float, default=1.0, help="rows below this come first")
    arguments = parser.parse_args()
    wanted = set(filter(None, arguments.only.split(",")))
    calls, own, left = [], [], []
    with tx.options(threads=1):
        for case in progress(_cases(wanted), "operators"):
            try:
                call = enlarged(case, arguments.elements)
                own.append(seconds(call))
                calls.append(call)
            except tx.Error as error:
                left.append(f"{case.name}: {str(error).splitlines()[0]}")
    rows = sorted(
        zip(calls, own, beside_torch(arguments.torch, calls)), key=lambda row: (row[2] or np.inf) / row[1]
    )
    print("\n".join(table(rows, arguments.slower)))
    print("\nleft out:", *left, sep="\n  ")
    return 0


def _cases(wanted: set[str]) -> list[Case]:
    """The first case of every operator that takes floats."""
    first = {
        case.name: case for case in reversed(CASES) if case.dtypes[0] in ("f4", "f8") and case.arrays("f4")
    }
    return [case for name, case in sorted(first.items()) if not wanted or name in wanted]


def enlarged(case: Case, elements: int) -> Call:
    """The case with every size times one factor, and one more, filled with values of the range that
    it has.

    Raises:
        CallError: the operator requires something of its sizes that these do not have.
    """
    operator, small = getattr(ops, case.name), case.arrays("f4")
    names = [p.name for p in operator.signature.inputs]
    program, given = operator._instance(dict(zip(names, small)), dict(case.constants))
    shapes = [a.shape for a in given.values()]
    sizes, packs = bind_sizes(program.inputs, shapes)
    largest = max((a for a in small), key=lambda a: a.size)
    factor = max(1.0, (elements / max(1, largest.size)) ** (1 / max(1, largest.ndim)))
    grown = {v: _grown(n, factor) for v, n in sizes.items()}
    packed = {v: tuple(_grown(n, factor) for n in shape) for v, shape in packs.items()}
    for v, shape in packed.items():
        grown[v] = int(np.prod(shape))
    random = np.random.default_rng(zlib.crc32(case.name.encode()))
    return Call(
        case.name,
        [_filled(random, a, caller_shape(t, grown, packed)) for t, a in zip(program.inputs, small)],
        case.constants,
    )


def _grown(n: int, factor: float) -> int:
    return n if n <= 1 else int(n * factor) | 1


def _filled(random: np.random.Generator, like: Array, shape: tuple[int, ...]) -> Array:
    finite = like[np.isfinite(like)]
    low, high = (finite.min(), finite.max()) if finite.size else (0, 1)
    if like.dtype.kind == "f":
        low, high = max(low, -LARGEST), min(high, LARGEST)
        return np.asarray(random.uniform(low, high, shape)).astype(like.dtype)
    return np.asarray(random.integers(low, int(high) + 1, shape)).astype(like.dtype)


def seconds(call: Call) -> float:
    """The median time of a call, after those that compile and warm up."""
    operator = getattr(ops, call.name)
    found = as_tuple(operator(*call.inputs, **call.constants))
    out = found[0] if len(found) == 1 else found
    times = []
    begun = time.perf_counter()
    while len(times) < 5 or time.perf_counter() - begun < SECONDS:
        start = time.perf_counter()
        operator(*call.inputs, **call.constants, out=out)
        times.append(time.perf_counter() - start)
    return median(times[1:])


def beside_torch(python: str, calls: list[Call]) -> list[float | None]:
    """PyTorch's times of the calls; None where it has no such operator."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "cases.json").write_text(json.dumps([(call.name, call.constants) for call in calls]))
        np.savez(
            Path(folder, "arrays.npz"),
            **{f"{k}.x{n}": a for k, call in enumerate(calls) for n, a in enumerate(call.inputs)},
        )
        subprocess.run([python, str(PEER), folder, str(SECONDS)], check=True)
        return json.loads(Path(folder, "times.json").read_text())


def table(rows: list[tuple[Call, float, float | None]], slower: float) -> list[str]:
    """The rows, those that are slower than PyTorch first, and what they come to."""
    lines = []
    for call, own, other in rows:
        shapes = " ".join("x".join(map(str, a.shape)) or "1" for a in call.inputs)
        ratio = "-" if other is None else f"{other / own:.2f}{' !' if other < slower * own else ''}"
        lines.append(
            f"{call.name:30}{own * 1e6:10.1f} us{'' if other is None else f'{other * 1e6:10.1f} us':>13}  "
            f"{ratio:8}{shapes[:80]}"
        )
    ratios = [other / own for _, own, other in rows if other is not None]
    mean = float(np.exp(np.mean(np.log(ratios)))) if ratios else 0.0
    return [
        *lines,
        f"{len(rows)} operators, {len(ratios)} of them in PyTorch: geometric mean {mean:.2f}, "
        f"{sum(r < slower for r in ratios)} below {slower}",
    ]


if __name__ == "__main__":
    sys.exit(main())
