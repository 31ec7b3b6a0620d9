"""`python -m texpr bench compile`: what making a kernel costs, stage by stage, and what it costs
where the disk cache has it.

A kernel's time is of the wall clock: LLVM makes machine code on another core while the kernel is
proven, where there is one. Its stages are processor time of the thread that asks; the last line has
what it waits for LLVM.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Iterator, Mapping
from statistics import median

from texpr.compiler import op, schedule
from texpr.support.instrumentation import collect
from texpr.support.options import options
from texpr.support.table import Table
from texpr.tools.arguments import Commands, add_command, add_runs
from texpr.tools.bench.bars import verdict
from texpr.tools.bench.measured import COMPILED

DISK_BAR = 1.0
"""Milliseconds of the same where the disk cache has it, in a process that has found another
kernel there.
"""
_CHILD = "import sys; from texpr.tools.bench.compiling import in_child; in_child(sys.argv[1])"


_TABLE = Table({"making one kernel": "<44", "ms": ">7.2f", "bar": ">4.0f", "": "<"})


def add_parser(commands: Commands) -> None:
    """Add the command `bench compile`."""
    parser = add_command(
        commands, "compile", bench_compile, "time the stages of compiling, and kernels from the disk cache"
    )
    add_runs(parser)


def bench_compile(arguments: Namespace) -> int:
    """Print the table of `lines`."""
    for line in lines(arguments.runs):
        print(line, flush=True)
    return 0


def lines(runs: int) -> Iterator[str]:
    """The table: per kernel its time from the program to the address of its code, then its
    stages, then where the disk cache has it.
    """
    yield _TABLE.header()
    for name, (text, sizes, bar) in COMPILED.items():
        made = [_made(text, sizes) for _ in range(runs + 1)][1:]  # the first one imports
        yield _line(name, median(total for total, _ in made), bar)
        for stage in dict.fromkeys(stage for _, stages in made for stage in stages):
            yield _line(f"  {stage}", median(stages.get(stage, 0.0) for _, stages in made))
    found = _from_disk(runs)
    for name in COMPILED:
        yield _line(f"{name}, from the disk cache", median(each[name] for each in found), DISK_BAR)


def _line(name: str, milliseconds: float, bar: float | None = None) -> str:
    return _TABLE.row(name, milliseconds, bar, verdict(milliseconds, bar))


def _made(text: str, sizes: Mapping[str, int]) -> tuple[float, dict[str, float]]:
    """Milliseconds that a kernel takes that was never made, and its stages."""
    with tempfile.TemporaryDirectory() as folder, options(cache_dir=folder), collect() as trace:
        total = _milliseconds(text, sizes)
    stages = {f"{stage}: {name}": seconds * 1e3 for (stage, name), seconds in trace.seconds.items()}
    return total, stages | {"all else, and waiting for LLVM": total - sum(stages.values())}


def _milliseconds(text: str, sizes: Mapping[str, int]) -> float:
    """Time to make a kernel, from an operator that was read to the address of its code."""
    made = op(text)
    start = time.perf_counter()
    _ = schedule(made, **sizes).auto().compile().address
    return (time.perf_counter() - start) * 1e3


def _from_disk(runs: int) -> list[dict[str, float]]:
    """Times to make kernels in processes of their own, by name; the first process fills the cache."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(runs + 1):
            child = subprocess.run(
                [sys.executable, "-c", _CHILD, folder], capture_output=True, text=True, check=True
            )
            found.append(json.loads(child.stdout))
    return found[1:]


def in_child(folder: str) -> None:
    """Print what each kernel takes, the cache being in a folder, in milliseconds as JSON."""
    with options(cache_dir=folder):
        _milliseconds("op negative(X: f32[N]) -> Y: f32[N] { Y[i] = -X[i] }", {"N": 16})
        print(json.dumps({name: _milliseconds(text, sizes) for name, (text, sizes, _) in COMPILED.items()}))
