"""Watching stages at work: `TEXPR_PRINT=after:lower` prints what a pass made, `collect` gathers
how long each stage took.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

from texpr.support.options import current
from texpr.support.table import aligned

V = TypeVar("V")


@dataclass(slots=True)
class Trace:
    """Seconds of processor time spent in every pass, `(stage, pass)` in the order in which they
    were first over.

    A pass that runs inside of another one counts for itself alone.
    """

    seconds: dict[tuple[str, str], float] = field(default_factory=dict)
    inside: float = 0.0

    def __str__(self) -> str:
        rows = ((".".join(name), f"{1000 * seconds:9.3f} ms") for name, seconds in self.seconds.items())
        return aligned(rows, "<>")


_collecting: ContextVar[Trace | None] = ContextVar("texpr_trace", default=None)


@contextmanager
def collect() -> Iterator[Trace]:
    """Gather the times of all passes that run inside the block."""
    trace = Trace()
    token = _collecting.set(trace)
    try:
        yield trace
    finally:
        _collecting.reset(token)


@contextmanager
def timed(stage: str, name: str) -> Iterator[None]:
    """Count what the block takes, without what is timed inside of it, for `collect`."""
    trace = _collecting.get()
    if trace is None:
        yield
        return
    before, trace.inside = trace.inside, 0.0
    start = time.thread_time()
    try:
        yield
    finally:
        taken = time.thread_time() - start
        trace.seconds[stage, name] = trace.seconds.get((stage, name), 0.0) + taken - trace.inside
        trace.inside = before + taken


def traced(stage: str, name: str, value: V, show: Callable[[V], str]) -> V:
    """`value`, printed to stderr where the option `print` asks for it after this pass
    (`after:name` or `after:*`).
    """
    chosen = current().print
    if chosen and not {f"after:{name}", "after:*"}.isdisjoint(chosen):
        print(f"-- {stage}: after {name}", show(value), sep="\n", file=sys.stderr)
    return value


def run_passes(
    stage: str,
    passes: Sequence[Callable[[V], V]],
    value: V,
    show: Callable[[V], str],
    verify: Callable[[V], None],
) -> V:
    """Apply passes in order; each is timed, printed on request, and its result verified where
    the option `verify` is set.
    """
    checking = current().verify
    for step in passes:
        name = getattr(step, "__name__", type(step).__name__)
        with timed(stage, name):
            value = step(value)
        traced(stage, name, value, show)
        if checking:
            verify(value)
    return value
