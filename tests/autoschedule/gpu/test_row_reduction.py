"""Sums on a GPU: rows by warps and blocks, columns, long sums in parts; registers that threads
of a block share out.
"""

from __future__ import annotations

import re
from math import prod

import numpy as np
import pytest

import texpr as tx
from tests.runtime.emulator.test_fibers import SM80, emulated, lowered
from tests.targets.cases import SOFTMAX, Case, assert_close, kernel_of, problem
from tests.targets.gpu.test_barriers import BARRIER, CALL, kernel, loop, refusal, tensor, without_barrier
from tests.targets.gpu.test_ptx import assemble
from texpr.compiler.pass_pipeline import prepared
from texpr.ir.build import add, integer, mul
from texpr.ir.expr import Read, Var, index
from texpr.ir.loop import Alloc, Store
from texpr.support.errors import ScheduleError
from texpr.targets import compile_kernel, emit_llvm, find_target

LAYERNORM = """
op layernorm(X: f32[M, N], g: f32[N], b: f32[N]) -> Y: f32[M, N] {
  mu[i] = sum(j: X[i, j]) / N
  v[i] = sum(j: (X[i, j] - mu[i]) ** 2) / N
  Y[i, j] = (X[i, j] - mu[i]) / sqrt(v[i] + 0.00001) * g[j] + b[j]
}"""
ENTROPY = """
op entropy(X: f32[B, T, V], y: i32[B, T] in 0..V) -> L: f32[B, T] {
  m[i, t] = max(j: X[i, t, j])
  L[i, t] = log(sum(j: exp(X[i, t, j] - m[i, t]))) + m[i, t] - X[i, t, y[i, t]]
}"""
ROWS = "op rows(X: f32[M, N]) -> Y: f32[M] { Y[i] = sum(j: X[i, j]) }"
COLUMNS = "op columns(X: f32[M, N]) -> Y: f32[N] { Y[j] = sum(i: X[i, j]) }"
ONE = "op one(X: f32[M, K], W: f32[N, K]) -> Y: f32[M, N] { Y[i, o] = sum(k: X[i, k] * W[o, k]) }"
TOTAL = "op total(X: f32[N]) -> Y: f32[] { Y = sum(i: X[i] * X[i]) }"
SQUARES = (
    "op squares(X: f32[A, B, C]) -> Y: f32[] { Y = sum(a, b, c: X[a, b, c] * X[a, b, c]) / (A * B * C) }"
)
BATCHES = "op batches(X: f32[A, B, C]) -> Y: f32[C] { Y[c] = sum(a, b: X[a, b, c]) }"
WEIGHTED = (
    "op weighted(X: f32[A, B, C], w: f32[A, B]) -> Y: f32[C] { Y[c] = sum(a, b: X[a, b, c] * w[a, b]) }"
)
CHANNELS = "op channels(X: f32[A, B, C, D]) -> Y: f32[B] { Y[b] = sum(a, c, d: X[a, b, c, d]) }"
ADAM = """
op adam(W: f32[M, N], G: f32[M, N], A: f32[M, N], B: f32[M, N], t: f64) -> (V: f32[M, N], P: f32[M, N], Q: f32[M, N]) {
  P[i, j] = 0.9 * A[i, j] + 0.1 * G[i, j]
  Q[i, j] = 0.99 * B[i, j] + 0.01 * G[i, j] * G[i, j]
  V[i, j] = W[i, j] - f32(t) * P[i, j] / (sqrt(Q[i, j]) + 0.001)
}"""
BIAS = "op bias(X: f32[M, N], b: f32[N]) -> Y: f32[M, N] { Y[i, j] = max(X[i, j] + b[j], 0.0) }"
HALF = "op half(X: bf16[N], Z: f64[N]) -> Y: bf16[N] { Y[i] = bf16(f32(X[i]) + f32(Z[i])) }"

CASES = [
    Case("softmax", SOFTMAX, ((9, 1024),), {"axis": 1}),
    Case("softmax", SOFTMAX, ((3, 5000),), {"axis": 1}),
    Case("softmax", SOFTMAX, ((6, 131),), {"axis": 1}, fixed=False),
    Case("layernorm", LAYERNORM, ((5, 768), (768,), (768,))),
    Case("entropy", ENTROPY, ((3, 4, 130), (3, 4))),
    Case("rows", ROWS, ((6, 37),)),
    Case("rows", ROWS, ((7, 1000),)),
    Case("rows", ROWS, ((7, 1000),), fixed=False),
    Case("rows", ROWS, ((3, 70000),)),
    Case("columns", COLUMNS, ((1030, 70),)),
    Case("columns", COLUMNS, ((300, 5),), fixed=False),
    Case("total", TOTAL, ((40003,),)),
    Case("total", TOTAL, ((4003,),), fixed=False),
    Case("one", ONE, ((1, 34), (34, 34))),
    Case("bias", BIAS, ((33, 72), (72,))),
    Case("bias", BIAS, ((33, 71), (71,)), fixed=False),
    Case("half", HALF, ((1030,), (1030,))),
    Case("squares", SQUARES, ((9, 70, 65),)),
    Case("batches", BATCHES, ((11, 100, 40),)),
    Case("weighted", WEIGHTED, ((3, 100, 40), (3, 100))),
    Case("channels", CHANNELS, ((5, 3, 90, 80),)),
    Case("adam", ADAM, (*((33, 72),) * 4, ())),
    Case("adam", ADAM, (*((5, 7),) * 4, ())),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_emulated(case: Case):
    """Sums in another order: of thousands of terms of size 2, which cancel, to 1e-3."""
    for found, expected in zip(emulated(case), problem(case).expected, strict=True):
        np.testing.assert_allclose(
            found, expected, rtol=2e-5, atol=1e-3 if np.prod(case.shapes[0]) > 40000 else 2e-5
        )


def proven(case: Case) -> None:
    given = problem(case)
    tx.Schedule(given.program, given.sizes if case.fixed else {}).auto("sm_80").certificate()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_certified(case: Case):
    proven(case)


def report(case: Case, folder, target: str = "sm_80") -> tuple[str, str]:
    artifact = compile_kernel(kernel_of(case, find_target(target)), find_target(target))
    return artifact.assembly, assemble(artifact.assembly, target, folder)


@pytest.mark.parametrize("case", [CASES[0], CASES[1], CASES[3]], ids=str)
def test_one_launch_without_local_memory(case: Case, tmp_path):
    """A row is read as vectors of 16 bytes, once; what it needs stays in registers; lanes are
    folded by shuffles.
    """
    text, said = report(case, tmp_path)
    assert said.count("Compiling entry function") == 1
    assert " 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in said and ".local" not in text
    assert int(re.findall(r"Used (\d+) registers", said)[0]) <= 64
    assert "ld.global.nc.v4" in text and "st.global.v4" in text and text.count("shfl.sync.bfly") == 10
    assert not re.search(r"ld\.global\.nc\.(f32|b32)", text)


def test_softmax_with_vectors_of_bf16(tmp_path):
    case = Case("half", HALF, ((4096,), (4096,)))
    text, _ = report(case, tmp_path)
    assert "ld.global.nc.v2" in text and "st.global" in text


def test_a_sum_of_warps_without_its_barrier():
    """One warp adds what the other has not summed yet: shared memory holds NaNs."""
    case = Case("rows", ROWS, ((2, 1000),))
    assert lowered(case)[1].count(CALL) == 1
    assert np.isnan(emulated(case, change=without_barrier(0))[0]).all()


def test_picture(golden):
    golden(tx.schedule(tx.op(LAYERNORM), M=64, N=256).auto("sm_80").script())


SUMMED = {"A": 16, "B": 256, "C": 512}


@pytest.mark.parametrize(
    "text, sizes",
    (
        (SQUARES, SUMMED),
        (BATCHES, SUMMED),
        (WEIGHTED, SUMMED),
        (CHANNELS, {"A": 32, "B": 64, "C": 56, "D": 56}),
        (ADAM, {"M": 512, "N": 512}),
    ),
)
def test_no_processor_waits(text: str, sizes: dict[str, int]):
    """Terms that several loops count are for many threads, columns for many blocks, and what one
    thread may compute for one.
    """
    target = find_target("sm_90a")
    artifact = compile_kernel(
        prepared(tx.schedule(tx.op(text), **sizes).auto("sm_90a").kernel, target), target
    )
    grids = [
        tuple(prod(integer(n) or 0 for n in extents) for extents in (g.grid, g.block))
        for g in artifact.launches
    ]
    busy = [(blocks, threads) for blocks, threads in grids if blocks * threads > 256]
    assert (
        len(busy) == 1 and max(blocks for blocks, _ in busy) >= 64 and max(b * t for b, t in busy) >= 1 << 14
    ), grids


def test_an_order_of_its_own():
    s = tx.schedule(tx.op(ROWS), M=4, N=32)
    with pytest.raises(ScheduleError) as error:
        s.tensorize("j", "warp_add_f32")
    assert "warp_add_f32 adds in an order of its own" in str(error.value) and "reassoc=True" in str(
        error.value
    )
    assert "instruction.warp_add_f32" in str(s.tensorize("j", "warp_add_f32", reassoc=True))


def shared_out(first: int, second: int, size: int = 8):
    """T in registers, of which thread i fills `first` * i and reads `second` * i."""
    x, y, t = tensor("X", size), tensor("Y", size), tensor("T", size, scope="register")
    b, i, j = (Var(n) for n in "bij")
    fill = loop(i, 4, "thread.x", Store(t, (mul(i, index(first)),), Read(x, (i,))))
    use = loop(j, 4, "thread.x", Store(y, (j,), Read(t, (mul(j, index(second)),))))
    return kernel([x], [y], loop(b, 1, "block.x", Alloc(t), fill, use))


def test_registers_of_others():
    assert refusal(shared_out(1, 2)) == (
        "error[set_scope]: T lives in registers, and which thread uses which element differs between its "
        "uses\n"
        '  help: set_scope("T", "shared") lets threads of a block share it'
    )
    x, y, t = tensor("X", 8), tensor("Y", 8), tensor("T", 8, scope="register")
    b, i, k = (Var(n) for n in "bik")
    overlapping = loop(
        i,
        4,
        "thread.x",
        loop(k, 2, "unroll", Store(t, (add(i, k),), Read(x, (i,)))),
        Store(y, (i,), Read(t, (i,))),
    )
    assert refusal(kernel([x], [y], loop(b, 1, "block.x", Alloc(t), overlapping))) == (
        "error[set_scope]: T lives in registers, and threads use the same elements of it\n"
        '  help: set_scope("T", "shared") lets threads of a block share it'
    )


def test_no_barrier_between_registers():
    assert BARRIER not in emit_llvm(shared_out(2, 2), SM80)[0]


def test_too_many_registers():
    x, y, t = tensor("X", 512), tensor("Y", 512), tensor("T", 512, scope="register")
    b, i, k, j, w = (Var(n) for n in "bikjw")
    fill = loop(i, 1, "thread.x", loop(k, 512, "serial", Store(t, (k,), Read(x, (k,)))))
    use = loop(j, 1, "thread.x", loop(w, 512, "serial", Store(y, (w,), Read(t, (w,)))))
    assert refusal(kernel([x], [y], loop(b, 1, "block.x", Alloc(t), fill, use))) == (
        "error[set_scope]: T needs 2048 bytes of registers in each thread; there are 1020\n  help: use "
        "smaller tiles"
    )


def test_a_warp_of_another_size():
    case = Case("rows", ROWS, ((4, 64),))
    script = 'split("j", 32)\nrfactor("ji", reassoc=True)\nbind("i", "block.x")\nbind("ji", "thread.y")\n'
    script += 'tensorize("ji_sum", "warp_add_f32")'
    assert_message(
        case,
        script,
        "warp_add_f32 is run by a warp: 32 threads along thread.x, and no loop over them around it",
    )


def assert_message(case: Case, script: str, text: str) -> None:
    with pytest.raises(Exception, match=re.escape(text)):
        emit_llvm(kernel_of(case, SM80, script), SM80)


def test_all_rows_close():
    assert_close(emulated(CASES[5]), problem(CASES[5]).expected)
