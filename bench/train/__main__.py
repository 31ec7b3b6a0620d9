"""Times training steps beside other libraries:  python -m bench.train [--only NET,...] [--threads 1,2] [--clock processor]

The other libraries live in an environment of their own (`make bench-peers`, which `--python`
names); those that are not there are shown as absent. Figures are medians of samples taken in turns;
`first` is processor time of the first step with all that is compiled for it, texpr's with an empty
cache of kernels, `warm` the same in another process, which finds texpr's kernels there. A step is
within its bar if it takes at most a share of the best other's time, or of the least time in which
this processor could do its products.
"""

from __future__ import annotations

import argparse
import os
import sys
from math import nan
from tempfile import TemporaryDirectory

from bench.machine import describe, instructions, product_rate
from bench.train.floor import FLOOR, operations
from bench.train.nets import NETS
from bench.train.steps import LIBRARIES
from bench.x86 import parent
from bench.x86.__main__ import PEERS
from bench.x86.parent import Found, Library, Settings, measure
from texpr.support.table import aligned

LIMIT = 900.0
"""Seconds for the first steps of a library: torch.compile takes minutes for large networks."""
FIRST, WARM = 2.0, 0.2
"""Shares of jax.jit's time that texpr's first step may take: with an empty cache, and with a
full one.
"""


def main() -> int:
    """Measure and print a table for every number of threads."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.train", description=(__doc__ or "").partition(":")[0]
    )
    parser.add_argument(
        "--only", default="", metavar="NET,...", help=f"networks: {', '.join(NETS)} (default: all)"
    )
    parser.add_argument("--threads", default="1,2", metavar="N,...", help="numbers of threads (default: 1,2)")
    parser.add_argument(
        "--libraries", default=",".join(LIBRARIES), metavar="NAME,...", help=f"default: {','.join(LIBRARIES)}"
    )
    parser.add_argument("--python", default=str(PEERS), help="the interpreter that has the other libraries")
    parser.add_argument(
        "--clock",
        default="wall",
        choices=("wall", "processor"),
        help="processor: where the machine does other work",
    )
    parser.add_argument(
        "--budget",
        type=float,
        default=12,
        metavar="SECONDS",
        help="for the samples of one network (default: 12)",
    )
    options = parser.parse_args()
    names = [name for name in NETS if not options.only or name in options.only.split(",")]
    if not names:
        print(f"no such network; there are {', '.join(NETS)}")
        return 2
    print(describe())
    os.environ.setdefault("PYTHONPATH", str(parent.ROOT))
    with TemporaryDirectory() as empty:
        os.environ["TEXPR_CACHE_DIR"] = empty
        for threads in map(int, options.threads.split(",")):
            _run(names, threads, options)
    return 0


def _run(names: list[str], threads: int, options: argparse.Namespace) -> None:
    settings = Settings(
        threads, options.python, options.clock, LIMIT, options.budget, worker="bench.train.worker"
    )
    libraries = [Library(name, settings) for name in options.libraries.split(",")]
    print(
        f"\nthreads: {threads}; "
        + ", ".join(f"{each.name} {each.version or 'absent: ' + each.absent}" for each in libraries)
    )
    present = [each for each in libraries if not each.absent]
    rate = product_rate(instructions()["f32"], threads)
    print(f"multiplications and additions of f32, measured: {rate / 1e9:.0f} GFLOP/s")
    try:
        for name in names:
            found = measure("train", NETS[name], present, settings)  # type: ignore[arg-type]
            if "first" in found.details.get("texpr", {}):
                found.details["texpr"]["warm"] = _warm(name, settings)
            print(_table(name, found, rate), flush=True)
    finally:
        for each in libraries:
            each.close()


def _warm(name: str, settings: Settings) -> float:
    """Seconds of the first step in a new process, which finds the kernels in the cache; NaN if
    it failed.
    """
    library = Library("texpr", settings)
    try:
        answer = library.ask(prepare=["train", name])
    finally:
        library.close()
    return answer.get("texpr", {}).get("first", nan)


def _table(name: str, found: Found, rate: float) -> str:
    """One line per column: a step in ms, the first step in s, the loss after some steps. Then what
    there are bars for.

    Args:
        rate: multiplications and additions per second that the processor reaches.
    """
    rows = [["step of " + name, "ms", "first s", "warm s", "losses"]]
    for column, details in found.details.items():
        if "failed" in details:
            rows.append([column, "failed", "", "", str(details["failed"])[:60]])
            continue
        losses = " ".join(f"{loss:.5f}" for loss in details["losses"])  # type: ignore[attr-defined]
        warm = f"{details['warm']:.2f}" if "warm" in details else ""
        rows.append([column, f"{1e3 * found.seconds[column]:.3f}", f"{details['first']:.2f}", warm, losses])
    return "\n".join([aligned(rows, "<>"), *_verdicts(name, found, rate)])


def _verdicts(name: str, found: Found, rate: float) -> list[str]:
    """Time beside the best other library and beside the least of the arithmetic, and compiling
    beside jax.jit.
    """
    verdicts = []
    others = [s for column, s in found.seconds.items() if column != "texpr"]
    if others and "texpr" in found.seconds:
        ratio = found.seconds["texpr"] / min(others)
        verdicts.append(
            f"{name}: {ratio:.2f} of the best other's time; bar "
            f"{NETS[name].bar:.2f}{'' if found.clean else '; disturbed'}"
        )
    if NETS[name].optimizer and "texpr" in found.seconds:
        least = operations(NETS[name]) / rate
        verdicts.append(
            f"{name}: {found.seconds['texpr'] / least:.2f} of the least time of its products, "
            f"{1e3 * least:.2f} ms; "
            f"or bar {FLOOR:.2f}"
        )
    mine, jax = found.details.get("texpr", {}), found.details.get("jax.jit", {}).get("first")
    for which, bar in (("first", FIRST), ("warm", WARM)):
        if jax is not None and which in mine:
            verdicts.append(
                f"{name}, {which} step: {mine[which] / jax:.2f} of jax.jit's first; bar {bar:.2f}"
            )  # type: ignore[operator]
    return verdicts


if __name__ == "__main__":
    sys.exit(main())
