"""`python -m texpr bench plans`: memory-bound functions through the doors that people use, beside
the operator called by name.

Each function is an operator in text, a function under `tx.jit`, a module, and lazy tensors. Calls
alternate in one run. A door may cost 1.05 of the operator and 1 us.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import numpy as np

from texpr import nn
from texpr.compiler import op
from texpr.graph.lazy import jit, tensor
from texpr.support.frozen_dataclass import frozen
from texpr.support.table import Table
from texpr.tools.arguments import Commands, add_command, add_runs
from texpr.tools.bench.bars import verdict

BAR, OVERHEAD = 1.05, 1.0
"""Of the operator's time, and microseconds."""
_SECONDS = 0.1
"""Of a measurement."""
_DOORS = ("jit", "module", "lazy")
_TABLE = Table({"function": "<30", "operator us": ">9.1f", **{d: ">6.2f" for d in _DOORS}, "": "<"})


@frozen
class _Row:
    """A function twice: as an operator, and of tensors.

    Attributes:
        shapes: of the arguments, integers below 1,000 where the name of a dtype begins with i.
    """

    operator: str
    function: Callable[..., Any]
    shapes: tuple[tuple[tuple[int, ...], str], ...]


_LONG, _SQUARE, _PLANES = ((4_000_000,), "f4"), ((4096, 4096), "f4"), ((32, 64, 56, 56), "f4")
_ROWS = {
    "x*2 + y - z, 4M": _Row(
        "op f(X: f32[N], Y: f32[N], Z: f32[N]) -> O: f32[N] { O[i] = X[i] * 2 + Y[i] - Z[i] }",
        lambda x, y, z: x * 2 + y - z,
        (_LONG, _LONG, _LONG),
    ),
    "x if x > 0 else x/10, 4M": _Row(
        "op f(X: f32[N]) -> O: f32[N] { O[i] = if X[i] > 0 then X[i] else X[i] * 0.1 }",
        lambda x: np.where(x > 0, x, x * 0.1),
        (_LONG,),
    ),
    "maximum(x, y), 4M": _Row(
        "op f(X: f32[N], Y: f32[N]) -> O: f32[N] { O[i] = max(X[i], Y[i]) }",
        lambda x, y: np.maximum(x, y),
        (_LONG, _LONG),
    ),
    "sum over axis 0, 4096 x 4096": _Row(
        "op f(X: f32[N, M]) -> O: f32[M] { O[j] = sum(i: X[i, j]) }", lambda x: x.sum(0), (_SQUARE,)
    ),
    "sum over axis 1, 4096 x 4096": _Row(
        "op f(X: f32[N, M]) -> O: f32[N] { O[i] = sum(j: X[i, j]) }", lambda x: x.sum(1), (_SQUARE,)
    ),
    "maximum over axis 1, 4096 x 4096": _Row(
        "op f(X: f32[N, M]) -> O: f32[N] require M >= 1 { O[i] = max(j: X[i, j]) }",
        lambda x: x.max(1),
        (_SQUARE,),
    ),
    "x + b, 4096 x 4096": _Row(
        "op f(X: f32[N, M], b: f32[M]) -> O: f32[N, M] { O[i, j] = X[i, j] + b[j] }",
        lambda x, b: x + b,
        (_SQUARE, ((4096,), "f4")),
    ),
    "even + odd columns, 2048 x 4096": _Row(
        "op f(X: f32[N, M]) -> O: f32[N, M//2] { O[i, j] = X[i, 2*j] + X[i, 2*j + 1] }",
        lambda x: x[:, ::2] + x[:, 1::2],
        (((2048, 4096), "f4"),),
    ),
    "channels last, 32 x 64 x 56 x 56": _Row(
        "op f(X: f32[N, C, H, W]) -> O: f32[N, H, W, C] { O[n, y, x, c] = X[n, c, y, x] }",
        lambda x: x.transpose(0, 2, 3, 1),
        (_PLANES,),
    ),
    "8192 rows of 256": _Row(
        "op f(X: f32[N, M], I: i64[K] in 0..N) -> O: f32[K, M] { O[k, j] = X[I[k], j] }",
        lambda x, i: x[i],
        (((50_000, 256), "f4"), ((8192,), "i8")),
    ),
}


class _Module(nn.Module):
    """A module that computes a function of its arguments."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *arguments: Any) -> Any:
        return self.function(*arguments)


def add_parser(commands: Commands) -> None:
    """Add the command `bench plans`."""
    parser = add_command(
        commands, "plans", bench_plans, "time functions through tx.jit, modules and lazy tensors"
    )
    add_runs(parser)


def bench_plans(arguments: Namespace) -> int:
    """Print a row per function; 1 if a door is over its bar."""
    over = False
    print(_TABLE.header())
    for name, row in _ROWS.items():
        taken = _times(_calls(row), arguments.runs)
        ratios = [(taken[d] - OVERHEAD) / taken["operator"] for d in _DOORS]
        found = " ".join(d for d, ratio in zip(_DOORS, ratios) if verdict(ratio, BAR))
        over |= bool(found)
        print(_TABLE.row(name, taken["operator"], *ratios, f"over: {found}" if found else ""), flush=True)
    return int(over)


def _calls(row: _Row) -> dict[str, Callable[[], object]]:
    """A call through each door, on arrays; lazy tensors are made before."""
    rng = np.random.default_rng(0)
    arrays = [
        rng.integers(0, 1000, shape) if kind[0] == "i" else rng.standard_normal(shape).astype(kind)
        for shape, kind in row.shapes
    ]
    tensors = [tensor(a) for a in arrays]
    operator, jitted, module = op(row.operator), jit(row.function), _Module(row.function)
    return {
        "operator": lambda: operator(*arrays),
        "jit": lambda: jitted(*arrays),
        "module": lambda: module(*arrays),
        "lazy": lambda: row.function(*tensors).realize(),
    }


def _times(calls: dict[str, Callable[[], object]], runs: int) -> dict[str, float]:
    """Microseconds of each call: the median of runs in turns."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for run in range(runs + 1):
        for name, call in calls.items():
            taken = median(_measured(call))
            if run:
                found[name].append(taken)
    return {name: median(each) * 1e6 for name, each in found.items()}


def _measured(call: Callable[[], object]) -> Iterator[float]:
    end = time.perf_counter() + _SECONDS
    while (start := time.perf_counter()) < end:
        call()
        yield time.perf_counter() - start
