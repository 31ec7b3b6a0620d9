"""`python -m texpr bench calls`: what calling a kernel costs, beside NumPy in the same run.

Bars apply to a call without the loop that times it: what remains is the call and the work.
"""

from __future__ import annotations

import time
import timeit
from argparse import Namespace
from collections.abc import Callable, Iterator
from statistics import median
from typing import NamedTuple

import numpy as np

from texpr import nn
from texpr.compiler import CompiledKernel, op, schedule
from texpr.graph import lazy
from texpr.graph.lazy import jit, tensor
from texpr.nn import functional
from texpr.support.options import options
from texpr.support.table import Table
from texpr.tools.arguments import Commands, add_command, add_runs
from texpr.tools.bench.bars import verdict

_ADD = "op add(A: f32[N], B: f32[N]) -> C: f32[N] { C[i] = A[i] + B[i] }"
_OTHERS = """
op both(A: f32[N], B: f32[N]) -> (C: f32[N], D: f32[N]) { C[i] = A[i] + B[i]  D[i] = A[i] - B[i] }
op raised(A: f32[N], b: f32) -> C: f32[N] { C[i] = A[i] + b }
op shifted(A: f32[N]; by = 1) -> C: f32[N] { C[i] = A[i] + by }
op biased(A: f32[N], b: f32[N] = 0) -> C: f32[N] { C[i] = A[i] + b[i] }
op squares(A: f32[M, M]) -> C: f32[M, M] { C[i, j] = A[i, j] + A[i, j] }
op taken(A: f32[N], order: i32[N] in 0..N distinct) -> C: f32[N] { C[i] = A[order[i]] }
"""


class _Row(NamedTuple):
    """Timed code, and the nanoseconds that each of its `calls` may take."""

    code: str
    bar: int | None = None
    calls: int = 1


_LOOP = "the loop around them, over the names alone"
_ROWS = {
    _LOOP: _Row("kernel; a; b; c"),
    "kernel, given output": _Row("kernel(a, b, c)", 60),
    "kernel that lets go of the GIL, given output": _Row("released(a, b, c)", 60),
    "kernel of a symbolic size, given output": _Row("symbolic(a, b, c)", 60),
    "operator by name, given output": _Row("add(a, b, out=c)", 250),
    "operator by name, new output": _Row("add(a, b)", 250),
    "two new outputs": _Row("both(a, b)", 250),
    "a Python number for an input of rank 0": _Row("raised(a, 2.0)", 250),
    "a NumPy number of another dtype": _Row("raised(a, number)", 250),
    "an input and `out` by name": _Row("add(a, B=b, out=c)", 250),
    "a constant by name": _Row("shifted(a, by=3)", 250),
    "an optional input left out": _Row("biased(a)", 250),
    "three shapes in turns": _Row("three(a, b); three(d, d); three(e, e)", 250, 3),
    "ten shapes in turns": _Row("; ".join(f"ten(shapes[{k}], shapes[{k}])" for k in range(10)), 250, 10),
    "every second element": _Row("add(stepped, b)", 250),
    "a transposed matrix": _Row("squares(transposed)", 250),
    "a permutation, which is checked": _Row("taken(a, order)", 250),
    "NumPy, given output": _Row("np.add(a, b, out=c)"),
    "NumPy, new output": _Row("a + b"),
}
_TIMES = 20_000
_STEPS = "op steps(X: f32[T, N]) -> Y: f32[T, N] { Y[t, n] = 0.5 * Y[t - 1, n | 0] + X[t, n] }"
_COUNT = 20_000
_JOINED = 100
"""Nanoseconds that a loop over two threads may take beside its work, once they are at work."""


_CHAINS = {
    "five operations of tensors, 1000 floats": ("((x*y + x).tanh()*y - x).numpy()", 15_000),
    "the same, recorded alone": ("(x*y + x).tanh()*y - x", 5_000),
    "the same under tx.jit": ("jitted(a, b)", None),
    "the same with NumPy": ("np.tanh(a*b + a)*b - a", None),
    "F.linear of parameters, recorded": ("F.linear(m, weight, bias)", 6_000),
    "F.layer_norm, recorded": ("F.layer_norm(m, (32,))", 3_000),
    "x @ parameter + parameter, recorded": ("m @ weight + bias", 8_000),
    "nn.Linear, recorded": ("linear(m)", 12_000),
    "where and clip, recorded": ("tensors.where(m > 0, m, 0).clip(0, 1)", 6_000),
    "rows at places, recorded": ("m[places]", 14_000),
    "joined side by side, recorded": ("tensors.stack([m, m])", 9_000),
    "a step of three layers of 32 by hand, Adam": ("step()", None),
}
"""Code with what it may take, in nanoseconds."""
_CHAINED = 2000


_TABLE = Table({"add of 16 floats": "<48", "ns": ">5.0f", "alone": ">6.0f", "bar": ">4", "": "<"})


def add_parser(commands: Commands) -> None:
    """Add the command `bench calls`."""
    parser = add_command(commands, "calls", bench_calls, "time calls of kernels beside NumPy")
    add_runs(parser)


def bench_calls(arguments: Namespace) -> int:
    """Print a row per kind of call."""
    for line in lines(arguments.runs):
        print(line, flush=True)
    return 0


def lines(runs: int) -> Iterator[str]:
    """Nanoseconds of processor time of a call on 16 floats: the median of runs in turns."""
    names = _names()
    timers = {
        name: timeit.Timer(row.code, timer=time.thread_time, globals=names) for name, row in _ROWS.items()
    }
    found = [
        {name: timer.timeit(_TIMES) / _TIMES / _ROWS[name].calls * 1e9 for name, timer in timers.items()}
        for _ in range(runs + 1)
    ][1:]
    taken = {name: median(each[name] for each in found) for name in _ROWS}
    yield _TABLE.header()
    for name, row in _ROWS.items():
        alone = taken[name] - taken[_LOOP]
        yield _TABLE.row(name, taken[name], alone, row.bar, verdict(alone, row.bar))
    joined = _joined(runs)
    yield _TABLE.row(
        "a loop over two threads, begun and ended, hot", None, joined, _JOINED, verdict(joined, _JOINED)
    )
    for name, (code, bar) in _CHAINS.items():
        timer = timeit.Timer(code, timer=time.thread_time, globals=_tensors())
        timer.timeit(_CHAINED)
        found = median(timer.timeit(_CHAINED) / _CHAINED * 1e9 for _ in range(runs))
        yield _TABLE.row(name, None, found, bar, verdict(found, bar))


def _names() -> dict[str, object]:
    """The names in the code of the rows."""
    a, b, c = np.ones((3, 16), np.float32)
    add = op(_ADD)
    others = {name: op(_OTHERS, name) for name in ("both", "raised", "shifted", "biased", "squares", "taken")}
    arrays = {
        "a": a,
        "b": b,
        "c": c,
        "d": a[:15].copy(),
        "e": a[:14].copy(),
        "shapes": [a[:k].copy() for k in range(4, 14)],
        "stepped": np.ones(32, np.float32)[::2],
        "transposed": np.ones((4, 4), np.float32).T,
        "number": np.float64(2),
        "order": np.arange(16, dtype=np.int32)[::-1].copy(),
    }
    # Of a symbolic size, so nobody knows that it is over at once.
    released = schedule(add).vectorize("i", 16).compile().bind((a.shape, b.shape))
    kernel = schedule(add, N=16).auto().compile()
    kernels = {"kernel": kernel, "released": released, "symbolic": schedule(add).vectorize("i", 16).compile()}
    return {"np": np, "add": add, "three": op(_ADD), "ten": op(_ADD), **kernels, **others, **arrays}


def _tensors() -> dict[str, object]:
    """The names in the code of chains."""
    a, b = np.linspace(-1, 1, 1000, dtype=np.float32), np.linspace(2, 3, 1000, dtype=np.float32)
    jitted = jit(lambda x, y: (x * y + x).tanh() * y - x)
    m, places = tensor(np.ones((8, 32), np.float32)), tensor(np.arange(4))
    return {
        "np": np,
        "tensors": lazy,
        "F": functional,
        "a": a,
        "b": b,
        "x": tensor(a),
        "y": tensor(b),
        "m": m,
        "places": places,
        "weight": nn.Parameter(np.ones((32, 32), np.float32)),
        "bias": nn.Parameter(np.ones(32, np.float32)),
        "linear": nn.Linear(32, 32),
        "jitted": jitted,
        "step": by_hand(),
    }


def by_hand() -> Callable[[], None]:
    """A step of training three layers of 32: gradients to zero, forward, backward, update."""
    layers = [layer for _ in range(3) for layer in (nn.Linear(32, 32), nn.Tanh())]
    model, x = nn.Sequential(*layers), tensor(np.ones((8, 32), np.float32))
    optimizer = nn.optim.Adam(model.parameters())

    def step() -> None:
        optimizer.zero_grad()
        (model(x) ** 2).mean().backward()
        optimizer.step()

    return step


def _joined(runs: int) -> float:
    """Nanoseconds of a step of many, each a loop over two threads, beside half of what one
    thread takes for it.
    """
    x = np.ones((_COUNT, 64), np.float32)
    alone = (
        schedule(op(_STEPS), T=_COUNT, N=64)
        .split("n", 32, tail="exact")
        .reorder("t", "no", "ni")
        .vectorize("ni")
    )
    one, two = alone.compile(), alone.replay('parallel("no")').compile()
    with options(threads=2):
        found = [(_step(one, x), _step(two, x)) for _ in range(3 * runs)]
    return min(joined for _, joined in found) - min(whole for whole, _ in found) / 2


def _step(kernel: CompiledKernel, x: np.ndarray) -> float:
    y = kernel(x)
    start = time.perf_counter()
    kernel(x, y)
    return (time.perf_counter() - start) / _COUNT * 1e9
