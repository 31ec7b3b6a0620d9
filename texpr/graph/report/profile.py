"""Profiles of programs: each kernel's time beside the least time on this machine, and a trace to
look at.
"""

from __future__ import annotations

import html
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from texpr.graph.fusion.producer_consumer import tensor_bytes
from texpr.graph.lowering.launch_sequence import Launch
from texpr.graph.passes.flatten_calls import shape_of
from texpr.graph.report.roofline import least_seconds
from texpr.ir.dtypes import F32, DType
from texpr.runtime.native import native_library
from texpr.support.files import write_file
from texpr.support.frozen_dataclass import frozen
from texpr.support.table import Table

_TABLE = Table(
    {
        "kernel": "<",
        "calls": ">",
        "ms": ">.3f",
        "%": ">.1f",
        "GFLOP/s": ">.2f",
        "GB/s": ">.2f",
        "roofline": ">",
        "bound": "<",
        "shapes": "<",
    }
)


@frozen
class Event:
    """One kernel, one run.

    Attributes:
        program: that the kernel is of.
        start, seconds: when it began, from the beginning of the profile, and how long it took.
        thread: that called it.
    """

    program: str
    launch: Launch
    start: float
    seconds: float
    thread: int


@frozen
class Row:
    """All runs of one kernel.

    Attributes:
        seconds: altogether.
        operations, moved: float operations, and bytes of what is read and written, of one run.
        least: seconds that one run takes at least; 0 on a device.
        bound: by "arithmetic" or "memory"; empty on a device.
    """

    name: str
    shapes: str
    calls: int
    seconds: float
    operations: int
    moved: int
    least: float
    bound: str

    @property
    def share(self) -> float:
        """Share of the roofline that the kernel reaches: 1 is as fast as the machine."""
        return self.calls * self.least / max(self.seconds, 1e-12)


@dataclass
class Profile:
    """Record of the launches in a `with tx.profile()` block.

    Attributes:
        events: every kernel, in the order in which they ran.
        threads: with which kernels ran.
    """

    events: list[Event] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)
    threads: int = field(default_factory=native_library.threads)

    def run(self, program: str, launches: Sequence[Launch], steps: Sequence[Callable[[], object]]) -> None:
        """Run a plan's kernels one by one."""
        for launch, step in zip(launches, steps, strict=True):
            start = time.perf_counter()
            step()
            self.events.append(
                Event(program, launch, start - self.began, time.perf_counter() - start, threading.get_ident())
            )

    @property
    def rows(self) -> list[Row]:
        """One row per kernel and shapes, the most expensive first."""
        found: dict[tuple[str, str, str], list[Event]] = {}
        for event in self.events:
            found.setdefault((event.program, event.launch.program.name, shapes_of(event.launch)), []).append(
                event
            )
        rows = [self._row(name, shapes, events) for (_, name, shapes), events in found.items()]
        return sorted(rows, key=lambda r: -r.seconds)

    def _row(self, name: str, shapes: str, events: Sequence[Event]) -> Row:
        launch = events[0].launch
        moved = _bytes_of(launch)
        # Nothing is known of how fast a GPU can be.
        least, bound = (
            (0.0, "")
            if launch.kernel.target.gpu
            else least_seconds(launch.operations, moved, _dtype_of(launch), self.threads)
        )
        return Row(
            name, shapes, len(events), sum(e.seconds for e in events), launch.operations, moved, least, bound
        )

    def __str__(self) -> str:
        rows = self.rows
        if not rows:
            return "no program ran"
        total, least = sum(r.seconds for r in rows), sum(r.calls * r.least for r in rows)
        lines = [self._cells(r, total) for r in rows]
        roofline = f"{100 * least / total:.0f}%" if least else ""
        return _TABLE.text(
            [*lines, ("altogether", len(self.events), total * 1e3, None, None, None, roofline)]
        )

    @staticmethod
    def _cells(row: Row, total: float) -> tuple[object, ...]:
        """A line of the table; `total` are the seconds of all rows."""
        rates = (amount * row.calls / row.seconds / 1e9 for amount in (row.operations, row.moved))
        share = f"{100 * row.share:.0f}%" if row.bound else ""
        return (
            row.name,
            row.calls,
            row.seconds * 1e3,
            100 * row.seconds / total,
            *rates,
            share,
            row.bound,
            row.shapes,
        )

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def trace(self) -> dict[str, object]:
        """The events as chrome://tracing and Perfetto read them, times in microseconds."""
        events: list[dict[str, object]] = []
        for e in self.events:
            about = {
                "program": e.program,
                "shapes": shapes_of(e.launch),
                "operations": e.launch.operations,
                "bytes": _bytes_of(e.launch),
            }
            events.append(
                {
                    "name": e.launch.program.name,
                    "cat": "kernel",
                    "ph": "X",
                    "ts": e.start * 1e6,
                    "dur": e.seconds * 1e6,
                    "pid": os.getpid(),
                    "tid": e.thread,
                    "args": about,
                }
            )
        return {"traceEvents": events, "displayTimeUnit": "ms"}

    def save(self, path: str | Path) -> None:
        """Write the trace as JSON, for chrome://tracing or ui.perfetto.dev."""
        write_file(path, json.dumps(self.trace()).encode())


watching: ContextVar[Profile | None] = ContextVar("texpr_profile", default=None)


@contextmanager
def profile() -> Iterator[Profile]:
    """Measure the kernels of all programs that run in the block: networks, training steps, lazy
    tensors, functions under `tx.jit`.

    Printing the result shows per kernel its time, its rates and the share of the machine's limit.
    `save("trace.json")` writes a trace for chrome://tracing. Kernels run one by one, which costs a
    few microseconds each. An operator that is called on arrays by itself is no program. The
    machine's limits are measured when the result is printed, once.

    Example:
        >>> f = tx.jit(lambda x: (x * x).sum())
        >>> with tx.profile() as p:
        ...     y = f(tx.ones(1000)).item()
        >>> len(p.events) > 0
        True
    """
    found = Profile()
    token = watching.set(found)
    try:
        yield found
    finally:
        watching.reset(token)


def shapes_of(launch: Launch) -> str:
    """Shapes of the inputs and outputs; of a sweep, how many elements its parts have."""
    if launch.lengths:
        return f"{len(launch.lengths)} parts of {' '.join(map(str, launch.lengths))}"
    return " ".join("x".join(map(str, shape_of(t))) or "1" for t in (*launch.inputs, *launch.outputs))


def _bytes_of(launch: Launch) -> int:
    return sum(map(tensor_bytes, dict.fromkeys((*launch.inputs, *launch.outputs))))


def _dtype_of(launch: Launch) -> DType:
    """The dtype that most of the elements have."""
    sizes: dict[DType, int] = {}
    for t in (*launch.inputs, *launch.outputs):
        if t.dtype.is_float:
            sizes[t.dtype] = sizes.get(t.dtype, 0) + tensor_bytes(t)
    return max(sizes, key=lambda t: sizes[t], default=F32)
