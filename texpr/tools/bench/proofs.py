"""`python -m texpr bench proofs`: what a step and its check, and certifying a finished nest
cost, against what was promised.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from types import FunctionType
from typing import Any

from texpr import poly
from texpr.compiler import op, schedule
from texpr.compiler.pass_pipeline import certified_loops
from texpr.compiler.schedule import Schedule
from texpr.schedule.script.script import parse_script
from texpr.support.frozen_dataclass import frozen
from texpr.support.table import Table
from texpr.tools.arguments import Commands, add_command, add_runs
from texpr.tools.bench.bars import verdict
from texpr.tools.bench.measured import PRODUCT, SCRIPTS, SIZES

STEP_BAR, CONVOLUTION_BAR, PRODUCT_BAR = 10.0, 100.0, 60.0
"""Milliseconds of processor time: of a step's check, of the certificate of a tiled convolution
and what follows, of a packed product.
"""


@frozen
class Cost:
    """Medians in milliseconds of processor time.

    Attributes:
        whole: of a step, its rewriting included; of a certificate the same as `check`.
        check: of what is proven.
    """

    name: str
    whole: float
    check: float
    bar: float


_TABLE = Table({"step": "<72", "ms": ">7.2f", "check": ">7.2f", "bar": ">4.0f", "": "<"})


def add_parser(commands: Commands) -> None:
    """Add the command `bench proofs`."""
    parser = add_command(
        commands,
        "proofs",
        bench_proofs,
        "time the steps of schedules, their checks, and certificates, in processor time",
    )
    add_runs(parser)


def bench_proofs(arguments: Namespace) -> int:
    """Print a row per step and certificate, then steps together."""
    found = []
    print(_TABLE.header())
    for cost in costs(arguments.runs):
        print(
            _TABLE.row(cost.name, cost.whole, cost.check, cost.bar, verdict(cost.check, cost.bar)), flush=True
        )
        found.append(cost)
    print(summary(found))
    return 0


def costs(runs: int) -> Iterator[Cost]:
    """Each step of each script, then certificates."""
    for name, (text, script) in SCRIPTS.items():
        times = [_steps(schedule(op(text), **SIZES.get(name, {})), script) for _ in range(runs)]
        for k, step in enumerate(parse_script(script)):
            whole, check = (median(t[k][part] for t in times) for part in (0, 1))
            yield Cost(f"{name}: {step}", whole, check, STEP_BAR)
    taken = _certified(*SCRIPTS["convolution"], runs)
    yield Cost("certificate of the convolution", taken, taken, CONVOLUTION_BAR)
    packed = schedule(op(PRODUCT), M=2048, N=2048, K=2048).auto().script()
    taken = _certified(PRODUCT, packed, runs, M=2048, N=2048, K=2048)
    yield Cost("certificate of the packed product", taken, taken, PRODUCT_BAR)


def summary(found: Sequence[Cost]) -> str:
    """Steps together."""
    steps = [c for c in found if c.bar == STEP_BAR]
    (check, most), (whole, longest) = (
        (median(ms), max(ms)) for ms in ([c.check for c in steps], [c.whole for c in steps])
    )
    return (
        f"{len(steps)} steps: checks {check:.2f} ms (median), {most:.2f} ms (largest); whole {whole:.2f} ms, "
        f"{longest:.2f} ms"
    )


def _steps(s: Schedule, script: str) -> list[tuple[float, float]]:
    """Time of each step, and the part of it in questions to `poly`."""
    _ = s.kernel  # lowers
    found = []
    with _questions_timed() as asked:
        for step in parse_script(script):
            before = asked[0]
            whole = _milliseconds(lambda step=step: s.apply(step))
            found.append((whole, asked[0] - before))
    return found


@contextmanager
def _questions_timed() -> Iterator[list[float]]:
    """The milliseconds spent in the functions of `poly`, which steps ask whether they are legal,
    and in what those remember.
    """
    spent, depth = [0.0], [0]

    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **named: Any) -> Any:
            depth[0] += 1
            start = time.process_time()
            try:
                return function(*args, **named)
            finally:
                depth[0] -= 1
                if not depth[0]:
                    spent[0] += (time.process_time() - start) * 1e3

        return run

    doors = [(poly, name) for name in poly.__all__] + [
        (poly.Storage, name) for name in ("__init__", "overwrite", "depth")
    ]
    old = [
        (owner, name, found)
        for owner, name in doors
        if isinstance(found := getattr(owner, name), FunctionType)
    ]
    try:
        for owner, name, function in old:
            setattr(owner, name, timed(function))
        yield spent
    finally:
        for owner, name, function in old:
            setattr(owner, name, function)


def _certified(text: str, script: str, runs: int, **sizes: int) -> float:
    """Of schedules made anew, since what is proven of a kernel is remembered. Their final loops
    are there: compiling needs them too.
    """
    times = []
    for _ in range(runs):
        s = schedule(op(text), **sizes).replay(script)
        certified_loops(s.kernel)
        times.append(_milliseconds(s.certificate))
    return median(times)


def _milliseconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return (time.process_time() - start) * 1e3
