"""Memory that callers give to kernels: how much it is, who has which part, and which kernels
need no other.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import texpr as tx
from texpr import ops
from texpr.compiler import pass_pipeline
from texpr.compiler.kernels.workspace import is_self_contained, scratch_bytes, with_scratch
from texpr.graph import Capture, Plan
from texpr.ir.dtypes import F32
from texpr.ir.loop import For
from texpr.runtime.call.kernel_sequence import Entry, sequence
from texpr.targets import emit_llvm, find_target

ROWS = tx.op(
    "op rows(X: f32[10, 8000]) -> Y: f32[10, 8000] { Y[i, k] = X[i, 7999 - k] + X[i, k]  for k in 0..8000 }"
)
SUMS = tx.op(
    "op sums(X: f32[8000], W: f32[100]) -> Y: f32[100] { Y[i] = sum(k in 0..8000: abs(X[k] - W[i]) * X[7999 "
    "- k]) }"
)
TURNED = tx.op("op turned(X: f32[M, N]) -> Y: f32[M, N] { Y[i, k] = X[i, N - 1 - k] + X[i, k] }")
ROW = 8000 * 4
LINES = {
    "serial": ('s.cache_read("X", "i")', (ROW,)),
    "parallel": ('s.parallel("i").cache_read("X", "i")', (10 * ROW,)),
    "several loops, the last of which is short": (
        's.split("i", 4, tail="clip").parallel("ii").cache_read("X", "ii").unroll("io")',
        (4 * ROW,),
    ),
    "nested loops, of which the outer one is shared": (
        's.split("i", 5).parallel("io").cache_read("X", "ii")',
        (2 * ROW,),
    ),
    "small": (
        's.split("k", 100).parallel("i").cache_read("X", "i").set_scope("X_cache", "heap")',
        (10 * ROW,),
    ),
}
GUARD = 4096
NATIVE = find_target("native")


def scheduled(steps: str) -> tx.Schedule:
    return eval(steps, {"s": tx.schedule(ROWS)})


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("name", LINES)
def test_no_more_is_written_than_what_is_given(name: str, threads: int):
    steps, sizes = LINES[name]
    kernel = scheduled(steps).compile().overwriting()
    assert kernel.native.scratch == sizes and kernel.native.self_contained
    x = np.arange(80_000, dtype=np.float32).reshape(10, 8000)
    y, memory = np.zeros_like(x), [np.full(size + GUARD, 7, np.uint8) for size in sizes]
    with tx.options(threads=threads):
        sequence(
            "rows", [Entry(kernel.address, (x, y, *memory))], lambda _: pytest.fail("it failed"), kernel
        )()
    np.testing.assert_array_equal(y, x[:, ::-1] + x)
    for size, given in zip(sizes, memory):
        assert (given[size:] == 7).all(), "memory behind it"


def test_kernels_of_programs_can_be_called():
    capture = Capture()
    plan = Plan(
        capture, [ops.matmul(capture.input("A", (512, 512), F32), capture.input("B", (512, 512), F32))]
    )
    (launch,) = plan.launches
    assert launch.scratch
    a, b = (
        np.eye(512, dtype=np.float32)[::-1].copy(),
        np.arange(512 * 512, dtype=np.float32).reshape(512, 512),
    )
    np.testing.assert_array_equal(launch.kernel(a, b), b[::-1])
    np.testing.assert_array_equal(launch.kernel(a, b, out=np.empty_like(b)), b[::-1])
    np.testing.assert_array_equal(plan(a, b)[0], b[::-1])


def prepared(s: tx.Schedule):
    return with_scratch(pass_pipeline.prepared(s.kernel, NATIVE))


def test_a_range_has_one_part_however_often_its_loop_makes_the_buffer():
    kernel = prepared(scheduled(LINES["parallel"][0]))
    (loop,) = kernel.body
    assert isinstance(loop, For)
    text, _ = emit_llvm(replace(kernel, body=(replace(loop, body=loop.body * 2),)), NATIVE)
    assert text.count(f"mul i64 %part, {ROW}") == 1


def test_what_asks_for_memory_itself():
    """Buffers of unknown size, and those of all threads where they would take more than the
    arrays.
    """
    given = prepared(scheduled(LINES["serial"][0]))
    assert is_self_contained(given) and not is_self_contained(replace(given, scratch=()))
    for own in (
        tx.schedule(SUMS).parallel("i").cache_read("X", "i"),
        tx.schedule(TURNED).cache_read("X", "i"),
    ):
        assert not scratch_bytes(prepared(own)) and not is_self_contained(prepared(own))


def test_kernels_that_call_functions_of_others_may_fail():
    tx.register_extern("scratch_twice", lambda x: 2 * x)
    kernel = tx.op(
        "extern op scratch_twice(X: f64[N]) -> Y: f64[N]\n"
        "op four(X: f64[N]) -> Y: f64[N] { t = scratch_twice(X)  Y[i] = 2 * t[i] }"
    )
    assert not is_self_contained(prepared(tx.schedule(kernel)))
