"""Steps that change no value, in native code."""

from __future__ import annotations

import re

import numpy as np
import pytest

import texpr as tx
from tests.properties.schedule.drawing import TEXTS
from tests.schedule.steps.cases import EIGHT, listing, refusals
from texpr.ir.printing.loop import show_kernel
from texpr.ir.verifier.program import verify_kernel
from texpr.passes.loop.legalize_vectors import chunk_vectors
from texpr.passes.loop.place_buffers import place
from texpr.targets import find_target

MATMUL, GATHER = tx.op(TEXTS["matmul"]), tx.op(TEXTS["gather"])
STEPS = [
    (MATMUL, 's.prefetch("B", "k", 8)'),
    (MATMUL, 's.vectorize("j").reorder("C.jo", "C.k", "C.ji").prefetch("B", "k", 8).prefetch("A", "i", 2)'),
    (MATMUL, 's.prefetch("B", "k", 3).reorder("k", "i", "j").vectorize("C.j")'),
    (MATMUL, 's.unroll_and_jam("i", 2).prefetch("A", "k", 2)'),
    (MATMUL, 's.prefetch("A", "i", 1, at="k")'),
    (GATHER, 's.prefetch("E", "k", 4)'),
    (GATHER, 's.prefetch("E", "k", 4).vectorize("d")'),
    (GATHER, 's.vectorize("d").prefetch("E", "k", 4).parallel("k")'),
]


@pytest.mark.parametrize("n", [0, 1, 7, 20])
@pytest.mark.parametrize("op, steps", STEPS)
def test_prefetching_changes_nothing(op, steps, n):
    s = tx.schedule(op)
    exec(steps, {"s": s})
    random = np.random.default_rng(n)
    if op is MATMUL:
        arrays = [random.random((n, 5), np.float32), random.random((5, n), np.float32)]
    else:
        arrays = [random.random((5, n), np.float32), random.integers(0, 5, n).astype(np.int32)]
    np.testing.assert_array_equal(s.compile()(*arrays), tx.interpret(op, *arrays))


CENTRED = tx.op("""op centred(X: f32[N, M]) -> Y: f32[N, M] {
  let T: f32[N, M]
  let S: f32[N]
  T[i, j] = 2 * X[i, j] + 1
  S[i] = sum(j: T[i, j])
  Y[i, j] = T[i, j] - S[i]
}""")
LATER = [
    ("", 5),
    ('s.layout("T", "i j -> i j/4 j%4")', 5),
    ('s.compute_at("T", "S.i")', 5),
    ('s.inline("T")', 2),
    ('s.vectorize("Y.i", 4)', 5),
    ('s.compute_at("S", "Y.i").pipeline("S", 2)', 7),
    ('s.compute_at("S", "Y.i").fold_storage("S", 0)', 5),
    ('s.parallel("S.i")', 5),
    ('s.split("Y.i", 4, tail="peel").unroll("Y.ii").parallel("Y.io")', 8),
    ('s.pad("T", 1, 8).set_scope("T", "heap")', 5),
]


@pytest.mark.parametrize("steps, count", LATER)
def test_a_prefetch_goes_where_its_tensor_goes(steps, count):
    s = tx.schedule(CENTRED).prefetch("T", "Y.i", 2).prefetch("T", "Y.j", 3).prefetch("S", "Y.i", 1)
    s.prefetch("S_acc", "S.j", 1).prefetch("T", "S.j", 1)
    exec(steps, {"s": s})
    assert str(s).count("prefetch") == count
    verify_kernel(s.kernel)
    verify_kernel(place(s.kernel))
    kernel = s.compile()
    for shape in [(0, 0), (1, 1), (5, 9), (16, 3)]:
        X = np.random.default_rng(0).integers(-9, 9, shape).astype(np.float32)
        np.testing.assert_array_equal(kernel(X), tx.interpret(CENTRED, X))


TWICE = tx.op("op twice(X: f32[N]) -> Y: f32[N] { let T: f32[N]  T[i] = 2 * X[i]  Y[i] = T[i] + 1 }")


def test_buffers_of_threads_are_not_asked_for_outside_of_them():
    s = (
        tx.schedule(TWICE, N=8)
        .split("Y.i", 4)
        .compute_at("T", "Y.ii")
        .unroll("Y.ii")
        .prefetch("T", "Y.io", 1)
        .parallel("Y.ii")
    )
    assert "prefetch T" in show_kernel(s.kernel) and "prefetch" not in show_kernel(place(s.kernel))
    verify_kernel(place(s.kernel))
    X = np.arange(8, dtype=np.float32)
    np.testing.assert_array_equal(s.compile()(X), tx.interpret(TWICE, X))


def test_reads_in_loops_inside_unrolled_ones_are_asked_for_there():
    s = tx.schedule(CENTRED, N=8).unroll("Y.i").prefetch("T", "Y.i", 1)
    assert show_kernel(s.kernel).count("prefetch T[min(i + 1, 7), j]") == 1


def test_lanes_that_lie_side_by_side_are_asked_for_line_by_line():
    s = tx.schedule(CENTRED, M=100).split("Y.j", 40).vectorize("Y.ji").prefetch("T", "Y.i", 1)
    assert re.findall(r"prefetch T\[min\(i \+ 1, N - 1\), (.*)\]", show_kernel(s.kernel)) == [
        "jo * 40",
        "jo * 40 + 16",
        "jo * 40 + 32",
    ]
    s = tx.schedule(MATMUL, M=8).vectorize("i", 4).prefetch("A", "C.io", 1)
    assert show_kernel(s.kernel).count("prefetch") == 1


def test_rows_that_are_woven_into_lanes_are_asked_for_each():
    s = tx.schedule(tx.op("op woven(X: f32[M, 64]) -> Y: f32[M, 64] { Y[i, j] = 2 * X[i, j] }"), M=8)
    s = (
        s.split("i", 2, tail="exact")
        .reorder("io", "j", "ii")
        .split("j", 16, tail="exact")
        .unroll("ii")
        .vectorize("ji")
    )
    asked = re.findall(r"prefetch X\[(.*), (.*)\]", show_kernel(s.prefetch("X", "io", 1).kernel))
    assert [j for _, j in asked] == ["jo * 16"] * 2 and asked[0][0] != asked[1][0]


def test_a_prefetch_at_a_loop_stands_in_no_other_one():
    op = tx.op("op f(X: f32[N, M]) -> Y: f32[N, M] { m[i] = max(j: X[i, j])  Y[i, j] = X[i, j] - m[i] }")
    for at, count in ((None, 2), ("m.j", 1), ("Y.j", 1), ("Y.i", 2)):
        s = tx.schedule(op).compute_at("m", "Y.i").prefetch("X", "Y.i", 1, at=at)
        assert show_kernel(s.kernel).count("prefetch X[min(i + 1, N - 1), j]") == count


def test_a_prefetch_is_an_instruction():
    assert "@llvm.prefetch.p0(ptr" in tx.schedule(MATMUL).prefetch("B", "k", 8).compile().llvm
    assert "@llvm.prefetch" not in tx.schedule(MATMUL).compile().llvm


def test_an_instruction_is_asked_for_row_by_row():
    """Eight rows of eight elements, each in a line of its own; the instruction keeps the nest
    that it runs.
    """
    op = tx.op("op turned(X: f32[N, N]) -> Y: f32[N, N] { Y[i, j] = X[j, i] }")
    s = tx.schedule(op, N=64).split("i", 8).split("j", 8).reorder("io", "jo", "ii", "ji")
    s = s.tensorize("ii", "transpose8_f32").prefetch("X", "jo", 2)
    listing = str(s)
    assert (
        listing[listing.index("      for Y.ji") :]
        == """\
      for Y.ji in 0..8  # independent
        prefetch X[min(jo + 2, 7) * 8 + ji, io * 8]
      for Y.ii in 0..8 instruction.transpose8_f32  # proven independent, 64 bytes an iteration
        for Y.ji in 0..8  # independent
          Y[io * 8 + ii, jo * 8 + ji] = X[jo * 8 + ji, io * 8 + ii]
"""
    )
    x = np.random.default_rng(0).random((64, 64), np.float32)
    np.testing.assert_array_equal(s.compile()(x), x.T)


def test_machines_without_it_leave_it_out():
    s = tx.schedule(MATMUL, M=64, N=64, K=64).prefetch("B", "k", 8).bind("i", "block.x").bind("j", "thread.x")
    target = next(name for name in ("sm_80", "sm_90") if find_target(name))
    assert "prefetch" not in s.compile(target).llvm


SCALE = tx.op("op scale(X: f32[N, M]) -> Y: f32[N, M] { Y[i, j] = 2 * X[i, j] }")


@pytest.mark.parametrize(
    "columns, lanes, streams",
    [(64, 16, True), (64, 32, True), (48, 8, True), (63, 16, False), (72, 16, False), (72, 8, False)],
)
def test_whole_aligned_vectors_stream(columns, lanes, streams):
    """Where rows begin at multiples of a vector; a fence stands behind them. The values are the
    same wherever the array stands.
    """
    s = tx.schedule(SCALE, N=6, M=columns).split("j", lanes, tail="peel").vectorize("ji").nontemporal("Y")
    asm = s.compile("x86-64-v4").asm
    assert (re.search(r"vmovnt", asm) is not None) == streams
    assert asm.count("sfence") == streams
    kernel = s.compile()
    X = np.random.default_rng(0).standard_normal((6, columns), np.float32)
    for offset in (0, 1, 16):
        memory = np.zeros(6 * columns + 32, np.float32)
        start = -memory.ctypes.data % 64 // 4 + offset
        Y = memory[start : start + X.size].reshape(X.shape)
        assert (kernel(X, out=Y) == 2 * X).all()


def test_threads_that_stream_wait_for_memory():
    code = tx.schedule(SCALE, N=6, M=64).vectorize("j").parallel("i").nontemporal("Y").compile().llvm
    worker = re.search(r"^define internal void @texpr_scale\.worker0.*?^}", code, re.S | re.M)
    assert worker and "!nontemporal" in worker[0] and "fence" in worker[0]


@pytest.mark.parametrize(
    "text",
    [
        "op f(X: f32[N]) -> (Y: f32[N], Z: f32[N]) { Y[i] = 2 * X[i]\n Z[i] = Y[i] + 1 }",
        "op f(X: f32[N], K: i32[N] in 0..8) -> Y: f32[8] { Y[k] = 0\n Y[K[i]] += X[i] }",
    ],
    ids=["read", "updated"],
)
def test_what_is_read_again_does_not_stream(text, golden):
    with pytest.raises(tx.ScheduleError) as error:
        tx.schedule(tx.op(text)).nontemporal("Y")
    golden(str(error.value))


def test_a_gpu_leaves_streaming_out():
    target = next(name for name in ("sm_80", "sm_90") if find_target(name))
    s = (
        tx.schedule(SCALE, N=64, M=64)
        .bind("i", "block.x")
        .split("j", 4)
        .bind("jo", "thread.x")
        .vectorize("ji")
        .nontemporal("Y")
    )
    assert "nontemporal" not in s.compile(target).llvm


def test_a_copy_for_one_size_runs_for_that_size():
    s = tx.schedule(MATMUL).specialize(N=8).vectorize("j_N8").parallel("i_N8").parallel("i")
    for n in (7, 8, 9):
        a, b = (
            np.random.default_rng(n).random((2, 3, 5), np.float32)[0],
            np.random.default_rng(n).random((5, n), np.float32),
        )
        np.testing.assert_array_equal(s.compile()(a, b), tx.interpret(MATMUL, a, b))


def test_lanes_in_several_registers_ask_once_for_what_they_share():
    s = tx.schedule(MATMUL, N=64).reorder("i", "k", "j").prefetch("A", "i", 1).vectorize("j")
    chunked = show_kernel(chunk_vectors(s.kernel, 64))
    assert chunked.count("prefetch A") == 1 and chunked.count("C_acc[i, j + 48] +=") == 1
    s = tx.schedule(MATMUL, N=64).reorder("i", "k", "j").prefetch("B", "k", 1).vectorize("j")
    assert show_kernel(chunk_vectors(s.kernel, 64)).count("prefetch B") == 4


LISTINGS = {
    "prefetch": (
        "matmul",
        {"N": 16},
        's.reorder("i", "k", "j").vectorize("C.j").prefetch("B", "k", 8).prefetch("A", "i", 2)',
    ),
    "prefetch_gather": ("gather", {}, 's.prefetch("E", "k", 4)'),
}


@pytest.mark.parametrize("name", LISTINGS)
def test_listing(name, golden):
    listing(golden, *LISTINGS[name])


REFUSED = [
    ("matmul", EIGHT, 's.prefetch("D", "k", 1)'),
    ("matmul", EIGHT, 's.prefetch("A", "x", 1)'),
    ("matmul", EIGHT, 's.prefetch("A", "k", 0)'),
    ("matmul", EIGHT, 's.prefetch("A", "k", 1.5)'),
    ("matmul", EIGHT, 's.prefetch("A", "k", 2**30)'),
    ("matmul", EIGHT, 's.prefetch("A", "i", 1, at="x")'),
    ("matmul", EIGHT, 's.prefetch("A", "k", 1, at="i")'),
    ("delayed", {}, 's.prefetch("E", "k", 4)'),
]


def test_refusals(golden):
    golden(refusals(REFUSED))
