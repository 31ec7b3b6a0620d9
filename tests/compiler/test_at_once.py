"""Threads that define, schedule, compile and call at once. With the GIL they take turns far more often
than usual; in a free-threaded Python they really run at once (`PYTHON_GIL=0`, `make matrix`).
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

import texpr as tx
from tests.runtime.native.threads import at_once
from texpr.compiler.shape_dispatch import Kernels
from texpr.graph.lazy import inner_functions
from texpr.graph.lazy.inner_functions import interned
from texpr.nn.core.bounded_cache import LruCache
from texpr.poly.constraints import proof_thread, solver
from texpr.support.options import current

THREADS = range(6)
TEXT = """
op scaled(A: f32[M, N], w: f32[N]) -> C: f32[M, N] { C[i, j] = A[i, j] * w[j] }
op product(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }
op both(A: f32[N]) -> (C: f32[N], D: f32[N]) { C[i] = A[i] + 1  D[i] = A[i] * 2 }
"""


@pytest.fixture(autouse=True)
def no_disk_cache():
    """Every kernel is compiled here."""
    before = current().cache_dir
    tx.options(cache_dir=None)
    yield
    tx.options(cache_dir=before)


def numbers(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype="f4").reshape(shape) % 7 - 3


def test_the_same_operators_at_first_calls():
    """All threads want the same kernels first, then kernels of their own."""
    ops = {name: tx.op(TEXT, name) for name in ("scaled", "product", "both")}

    def work(thread: int) -> None:
        for n in (5, 8, 13 + thread):
            a, b = numbers(n, n + 1), numbers(n + 1, 3)
            assert np.array_equal(ops["product"](a, b), a @ b)
            assert np.array_equal(ops["scaled"](a, w=b[:, 0]), a * b[:, 0])
            first, second = ops["both"](a[0])
            assert np.array_equal(first, a[0] + 1) and np.array_equal(second, a[0] * 2)

    at_once(work, THREADS)


def test_the_kernels_of_an_operator():
    """A shape is compiled once, also while threads ask for others and for those that were made."""
    program, made = tx.op(TEXT, "product").program(), Counter[tuple]()

    def compile(program, sizes):
        made.update([tuple(sizes.values())])
        return SimpleNamespace(prepare=lambda shapes: time.sleep(1e-3))

    kernels = Kernels(compile)

    def work(thread: int) -> None:
        for k in range(300):
            kernels.kernel_for(program, {v: 3 + k % 2 for v in program.sizes}, ())

    at_once(work, THREADS)
    assert set(made.values()) == {1}


def test_operators_of_their_own_are_defined_and_scheduled():
    """Proofs share what they know of programs that are alike."""

    def work(thread: int) -> None:
        for k in range(3):
            name = f"own_{thread if k else 'same'}"
            op = tx.op(
                f"op {name}(A: f32[M, N]) -> C: f32[M, N] {{ t[i, j] = A[i, j] + {k}  C[i, j] = t[i, j] * 2 }}"
            )
            s = tx.schedule(op, M=12, N=20 + k).split("C.j", 4).compute_at("t", "C.i")
            a = numbers(12, 20 + k)
            assert np.array_equal(s.compile()(a), (a + k) * 2)
            with pytest.raises(tx.CheckError, match="outside"):
                tx.op("op wrong(A: f32[N]) -> C: f32[N] { C[i] = A[i + 1] }")

    at_once(work, THREADS)


def test_tensors_that_threads_share():
    """One thread computes what others look at, or read as a leaf of their own."""
    x = tx.tensor(numbers(40, 30))
    shared = [((x * k).sum(axis=0), (numbers(40, 30) * k).sum(axis=0)) for k in range(4)]

    def work(thread: int) -> None:
        for k in range(4):
            mine, expected = shared[(k + thread) % 4]
            assert np.array_equal((mine + thread).numpy(), expected + thread)
            assert np.array_equal(mine.numpy(), expected)
            w = tx.tensor(numbers(30), requires_grad=True)
            ((w * mine) * (thread + 1)).sum().backward()
            assert w.grad is not None and np.array_equal(w.grad.numpy(), expected * (thread + 1))

    at_once(work, THREADS)


def test_a_plan_and_a_module():
    """The memory of a plan is of one run at a time, and so is what a module was compiled to."""
    net = tx.nn.Sequential(tx.nn.Linear(8, 16), tx.nn.ReLU(), tx.nn.Linear(16, 3))
    net.eval()

    @tx.jit
    def step(x, y):
        return (x @ y).sum(axis=0), x.mean()

    inputs = [numbers(4 + k % 2, 8) * (k + 1) for k in THREADS]
    expected = [np.asarray(net(x)) for x in inputs]

    def work(thread: int) -> None:
        x = inputs[thread]
        for _ in range(20):
            assert np.array_equal(net(x), expected[thread])
            sums, mean = step(x, x.T)
            assert np.allclose(sums.numpy(), (x @ x.T).sum(axis=0)) and np.allclose(mean.numpy(), x.mean())

    at_once(work, THREADS)


def test_schedules_replace_a_function_while_it_is_called():
    """A thread serves new forms of an operator all the time; calls of others hold what they use."""
    op = tx.op(TEXT, "both")

    def work(thread: int) -> None:
        for k in range(400):
            a = numbers(3 + (k % 40 if thread == 0 else thread))
            assert np.array_equal(op(a)[0], a + 1)

    at_once(work, THREADS)


def test_what_is_kept_of_few():
    """Threads drop the same oldest entries at once."""
    cache = LruCache(4)
    copies = [tx.op(f"op copy{k}(A: f32[{k + 2}]) -> C: f32[{k + 2}] {{ C[i] = A[i] }}") for k in range(3)]

    def work(thread: int) -> None:
        for k in range(2000):
            assert cache.get_or_make(k % 7, lambda k=k: (k % 7,)) == (k % 7,)
        for each in copies * 200:
            assert interned(each.program()).name == each.__name__

    before, inner_functions.MOST_PROGRAMS = inner_functions.MOST_PROGRAMS, 2
    try:
        at_once(work, THREADS)
    finally:
        inner_functions.MOST_PROGRAMS = before


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is of Python 3.12")
def test_isl_is_asked_by_one_thread_at_a_time():
    """And by the same one where there is no GIL: objects of isl end where they began."""
    isl = pytest.importorskip("islpy")
    kinds = {type(isl.Set.union), type(isl.Set.empty), type(isl.Context)} - {type}
    calls, outside, tool = Counter[bool](), Counter[str](), 4
    assert solver.context() is solver.context()  # made by who imports the module

    def called(code, offset, function, first):
        if type(function) in kinds and "isl" in str(getattr(function, "__module__", "")):
            alone = proof_thread.is_alone()
            calls[alone] += 1
            if not alone:
                outside[f"{code.co_filename}: {code.co_name}"] += 1

    monitoring = sys.monitoring
    monitoring.use_tool_id(tool, "test_at_once")
    monitoring.register_callback(tool, monitoring.events.CALL, called)
    monitoring.set_events(tool, monitoring.events.CALL)
    try:
        test_operators_of_their_own_are_defined_and_scheduled()
        test_a_plan_and_a_module()
    finally:
        monitoring.set_events(tool, 0)
        monitoring.register_callback(tool, monitoring.events.CALL, None)
        monitoring.free_tool_id(tool)
    assert calls[True] > 1000 and not outside
