"""`python -m texpr bench calls`: what calling a kernel costs, beside NumPy in the same run.

Bars apply to a call without the loop that times it: what remains is the call and the work.
"""

from __future__ import annotations

import time
import timeit
from collections.abc import Iterator
from statistics import median

import numpy as np

from texpr.compiler import op, schedule

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
