"""`python -m texpr bench proofs`: what checking a step and certifying a finished nest cost, against what was promised."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median

from texpr.compiler import op, schedule
from texpr.compiler.pipeline import certified_loops
from texpr.compiler.schedule import Schedule
from texpr.schedule.script import parse_script
from texpr.tools.measured import PRODUCT, SCRIPTS, SIZES

STEP_BAR, CONVOLUTION_BAR, PRODUCT_BAR = 10.0, 100.0, 60.0
"""Milliseconds of processor time: of a step, of the certificate of a tiled convolution with what follows it, of a packed product."""


def rows(runs: int) -> Iterator[tuple[str, float, float]]:
    """What was timed, the median in milliseconds, and its bar: each step of each script, then certificates."""
    for name, (text, script) in SCRIPTS.items():
        times = [_steps(schedule(op(text), **SIZES.get(name, {})), script) for _ in range(runs)]
        for k, step in enumerate(parse_script(script)):
            yield f"{name}: {step}", median(t[k] for t in times), STEP_BAR
    yield "certificate of the convolution", _certified(*SCRIPTS["convolution"], runs), CONVOLUTION_BAR
    packed = schedule(op(PRODUCT), M=2048, N=2048, K=2048).auto().script()
    yield "certificate of the packed product", _certified(PRODUCT, packed, runs, M=2048, N=2048, K=2048), PRODUCT_BAR


def _steps(s: Schedule, script: str) -> list[float]:
    _ = s.kernel  # lowers
    return [_milliseconds(lambda step=step: s.apply(step)) for step in parse_script(script)]


def _certified(text: str, script: str, runs: int, **sizes: int) -> float:
    """Of schedules made anew, since what is proven of a kernel is remembered. Their final loops are there: compiling needs them too."""
    times = []
    for _ in range(runs):
        s = schedule(op(text), **sizes).replay(script)
        certified_loops(s.kernel)
        times.append(_milliseconds(s.certificate))
    return median(times)


def _milliseconds(run) -> float:
    start = time.process_time()
    run()
    return (time.process_time() - start) * 1e3
