"""Times whole networks beside ONNX Runtime and torch.compile:  python -m bench.models [--only NAME,...] [--threads 1,2] [--batches 1,8]

The networks are those that torchvision and transformers define, and a U-Net, with random weights,
or with `--only wider` 51 further ones, also of timm, chosen without looking at how fast texpr is;
the environment of the other libraries (`make bench-peers`, which `--python` names) writes them as
ONNX files once. Calls are medians of samples taken in turns. `cold` is the first call in a process
with an empty cache of kernels, `warm` in another one, which finds them there; loads and imports are
counted apart. Memory is the peak of the process after the first calls.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bench.machine import describe
from bench.models.libraries import LIBRARIES
from bench.models.networks import EVERY, NETWORKS
from bench.models.wider import WIDER
from bench.models.worker import FOLDER
from bench.tables import bars
from bench.x86 import parent
from bench.x86.__main__ import PEERS
from bench.x86.parent import Found, Library, Settings, measure
from texpr.support.progress import progress
from texpr.support.table import aligned

LIMIT = 900.0
"""Seconds for a library to load a network and call it."""
BOUND = 1e-3
"""The largest accepted difference between results, relative to the largest number of them."""
MEAN, EACH, MEMORY = 1.20, 0.95, 1.20
"""Bars: how many times as fast as the best other library, in geometric mean and each; and the peak
of memory, as a multiple of ONNX Runtime's."""


def main() -> int:
    """Measure and print a table for every number of threads and every batch."""
    options = _options()
    names = _asked(options.only)
    if not names:
        print(f"no such network; there are {', '.join(EVERY)}")
        return 2
    print(describe())
    os.environ.setdefault("PYTHONPATH", str(parent.ROOT))
    os.environ[FOLDER] = str(Path(options.folder).resolve())
    for batch in options.batches.split(","):
        command = [options.python, "-m", "bench.models.export", os.environ[FOLDER], batch, *names]
        subprocess.run(command, cwd=parent.ROOT, check=True, stdout=subprocess.DEVNULL)
        for threads in map(int, options.threads.split(",")):
            _run(names, batch, threads, options)
    return 0


def _asked(only: str) -> list[str]:
    """The networks that are named, of `wider` all; those of the page where none is."""
    asked = only.split(",") if only else list(NETWORKS)
    return [name for name in EVERY if name in asked or ("wider" in asked and name in WIDER)]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.models", description=(__doc__ or "").partition(":")[0]
    )
    add = parser.add_argument
    add("--only", default="", metavar="NAME,...", help="networks, or `wider` (default: those of the page)")
    add("--threads", default="1,2", metavar="N,...", help="numbers of threads (default: 1,2)")
    add("--batches", default="1,8", metavar="N,...", help="sizes of batches (default: 1,8)")
    add(
        "--libraries", default=",".join(LIBRARIES), metavar="NAME,...", help=f"default: {','.join(LIBRARIES)}"
    )
    add("--python", default=str(PEERS), help="the interpreter that has the other libraries")
    add("--folder", default=".bench-models", help="where the networks are kept (default: .bench-models)")
    add("--clock", default="wall", choices=("wall", "processor"), help="processor: where other work is done")
    add("--budget", type=float, default=15, metavar="SECONDS", help="for samples of a network (default: 15)")
    return parser.parse_args()


def _run(names: list[str], batch: str, threads: int, options: argparse.Namespace) -> None:
    settings = Settings(
        threads, options.python, options.clock, LIMIT, options.budget, worker="bench.models.worker"
    )
    print(f"\nbatch {batch}, threads: {threads}")
    libraries = options.libraries.split(",")
    each = {name: _found(name, batch, libraries, settings) for name in progress(names, "networks")}
    faster = [times for found in each.values() if (times := _times_as_fast(found)) is not None]
    memory = [share for found in each.values() if (share := _memory(found)) is not None]
    print(aligned([_HEAD, *(_row(name, found) for name, found in each.items())], "<>"))
    print(bars(faster, memory, "the best other", (MEAN, EACH, MEMORY)))


def _found(name: str, batch: str, names: list[str], settings: Settings) -> Found:
    """The figures of one network; each library has a process of its own."""
    with TemporaryDirectory() as empty:
        os.environ["TEXPR_CACHE_DIR"] = empty
        libraries = [Library(each, settings) for each in names]
        try:
            present = [each for each in libraries if not each.absent]
            found = measure(batch, EVERY[name], present, settings)  # type: ignore[arg-type]
        finally:
            for each in libraries:
                each.close()
        again = Library("texpr", settings)
        try:
            warm = again.ask(prepare=[batch, name]).get("texpr", {})
        finally:
            again.close()
    found.details.get("texpr", {})["warm"] = warm.get("first", np.nan)
    return found


_HEAD = (
    "network,texpr ms,best other ms,of,times as fast,load s,cold s,warm s,other load s,other first s,MB,ORT MB,"
    "difference"
).split(",")


def _best(found: Found) -> str:
    """The column of the fastest other library; empty if there is none."""
    others = {column: s for column, s in found.seconds.items() if column != "texpr"}
    return min(others, key=lambda column: others[column], default="")


def _times_as_fast(found: Found) -> float | None:
    """How many times as fast texpr is as the best other library."""
    mine, best = found.seconds.get("texpr"), _best(found)
    return found.seconds[best] / mine if best and mine else None


def _row(name: str, found: Found) -> list[str]:
    """A line of the table."""
    mine, details, best = found.seconds.get("texpr"), found.details.get("texpr", {}), _best(found)
    if mine is None:
        return [name, str(details.get("failed", "absent"))[:60], *[""] * (len(_HEAD) - 2)]
    other, times = found.details.get(best, {}), _times_as_fast(found)
    return [
        name,
        f"{1e3 * mine:.2f}",
        f"{1e3 * found.seconds[best]:.2f}" if best else "",
        best,
        "" if times is None else f"{times:.2f}{'' if found.clean else ' disturbed'}",
        *(f"{details[key]:.2f}" for key in ("load", "first", "warm")),
        *(f"{other[key]:.2f}" if best else "" for key in ("load", "first")),
        *(_megabytes(found, column) for column in ("texpr", "onnxruntime")),
        _difference(found),
    ]


def _megabytes(found: Found, column: str) -> str:
    size = found.details.get(column, {}).get("memory")
    return "" if size is None else f"{float(size) / 1e6:.0f}"  # type: ignore[arg-type]


def _memory(found: Found) -> float | None:
    """The peak of memory as a multiple of ONNX Runtime's."""
    mine, other = (found.details.get(column, {}).get("memory") for column in ("texpr", "onnxruntime"))
    return float(mine) / float(other) if mine and other else None  # type: ignore[arg-type]


def _difference(found: Found) -> str:
    """The largest difference from another library's result, relative to its largest number."""
    mine = np.array(found.details["texpr"]["result"])
    others = [np.array(d["result"]) for c, d in found.details.items() if c != "texpr" and "result" in d]
    gaps = [float(np.max(np.abs(mine - other)) / (np.max(np.abs(other)) or 1)) for other in others]
    worst = max(gaps, default=np.nan)
    return f"{worst:.0e}" + (" WRONG" if worst > BOUND else "")


if __name__ == "__main__":
    sys.exit(main())
