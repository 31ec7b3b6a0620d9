"""`python -m texpr bench calls`: what calling a kernel costs, beside NumPy in the same run.

Bars apply to a call without the loop that times it: what remains is the call and the work.
"""

from __future__ import annotations

import time
import timeit
from collections.abc import Iterator
from statistics import median

import numpy as np

from texpr.compiler import CompiledKernel, op, schedule
from texpr.support.options import options

_ADD = "op add(A: f32[N], B: f32[N]) -> C: f32[N] { C[i] = A[i] + B[i] }"
_LOOP = "the loop around them, over the names alone"
_CALLS = {
    _LOOP: ("kernel; a; b; c", None),
    "kernel, given output": ("kernel(a, b, c)", 60),
    "kernel that lets go of the GIL, given output": ("released(a, b, c)", 60),
    "operator by name, given output": ("add(a, b, c)", 250),
    "operator by name, new output": ("add(a, b)", 250),
    "NumPy, given output": ("np.add(a, b, out=c)", None),
    "NumPy, new output": ("a + b", None),
}
_TIMES = 20_000
_STEPS = "op steps(X: f32[T, N]) -> Y: f32[T, N] { Y[t, n] = 0.5 * Y[t - 1, n | 0] + X[t, n] }"
_COUNT = 20_000
_JOINED = 100
"""Nanoseconds that a loop over two threads may take beside its work, once they are at work."""


def lines(runs: int) -> Iterator[str]:
    """Nanoseconds of processor time of a call on 16 floats: the median of runs in turns."""
    a, b, c = np.ones((3, 16), np.float32)
    add = op(_ADD)
    kernel = schedule(add, N=16).auto().compile()
    # Of a symbolic size, so nobody knows that it is over at once.
    released = schedule(add).vectorize("i", 16).compile().bind((a.shape, b.shape))
    names = {"a": a, "b": b, "c": c, "np": np, "add": add, "kernel": kernel, "released": released}
    timers = {name: timeit.Timer(code, timer=time.thread_time, globals=names) for name, (code, _) in _CALLS.items()}
    found = [{name: timer.timeit(_TIMES) / _TIMES * 1e9 for name, timer in timers.items()} for _ in range(runs + 1)][1:]
    taken = {name: median(each[name] for each in found) for name in _CALLS}
    yield f"{'add of 16 floats':<48}{'ns':>6}{'alone':>8}{'bar':>8}"
    for name, (_, bar) in _CALLS.items():
        alone = taken[name] - taken[_LOOP]
        yield f"{name:<48}{taken[name]:6.0f}{alone:8.0f}" + ("" if bar is None else f"{bar:8}{'' if alone <= bar else '   over'}")
    joined = _joined(runs)
    yield f"{'a loop over two threads, begun and ended, hot':<54}{joined:8.0f}{_JOINED:8}{'' if joined <= _JOINED else '   over'}"


def _joined(runs: int) -> float:
    """Nanoseconds of a step of many, each a loop over two threads, beside half of what one thread takes for it."""
    x = np.ones((_COUNT, 64), np.float32)
    alone = schedule(op(_STEPS), T=_COUNT, N=64).split("n", 32, tail="exact").reorder("t", "no", "ni").vectorize("ni")
    one, two = alone.compile(), alone.replay('parallel("no")').compile()
    with options(threads=2):
        found = [(_step(one, x), _step(two, x)) for _ in range(3 * runs)]
    return min(joined for _, joined in found) - min(whole for whole, _ in found) / 2


def _step(kernel: CompiledKernel, x: np.ndarray) -> float:
    y = kernel(x)
    start = time.perf_counter()
    kernel(x, y)
    return (time.perf_counter() - start) / _COUNT * 1e9
