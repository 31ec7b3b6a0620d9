"""Which kernels are loops over elements alone, and that few of LLVM's passes make the same loops
of them as all do.
"""

from __future__ import annotations

import pytest

import texpr as tx
from bench.inner.assembly import inner_loops
from texpr.compiler import pass_pipeline
from texpr.compiler.kernels.prepacking import with_prepacking
from texpr.compiler.kernels.workspace import with_scratch
from texpr.ir.loop import If
from texpr.targets import emit_llvm, find_target
from texpr.targets.common import llvm_backend
from texpr.targets.emit.pass_selection import is_plain, sums_in_registers

SCALED = "op scaled(X: f32[N, M], b: f32[{of}]) -> Y: f32[N, M] {{ Y[i, j] = X[i, j] * b[{at}] }}"


def emitted(op: tx.Op, size: int, *, scheduled: bool) -> tuple[bool, str]:
    """Whether an operator's naive loops, or those of its default schedule, are plain; and their
    code.
    """
    program, target = op.program(), find_target("native")
    schedule = tx.Schedule(program, dict.fromkeys(program.sizes, size))
    final = pass_pipeline.prepared((schedule.auto() if scheduled else schedule).kernel, target)
    return is_plain(final), emit_llvm(final, target)[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("op add(X: f32[N], Y: f32[N]) -> Z: f32[N] { Z[i] = X[i] + Y[i] }", True),
        ("op tanh(X: f32[N]) -> Y: f32[N] { Y[i] = tanh(X[i]) }", True),
        (SCALED.format(of="M", at="j"), True),
        (SCALED.format(of="N", at="i"), False),
        ("op edges(X: f32[N]) -> Y: f32[N] { Y[i] = X[min(i + 3, N - 1)] }", False),
        ("op either(c: bool[N], X: f32[N]) -> Y: f32[N] { Y[i] = if c[i] then X[i] else 0 }", False),
        ("op total(X: f32[N]) -> y: f32 { y = sum(i: X[i]) }", False),
        ("op twice(X: f32[N]) -> Y: f32[N] { T[i] = exp(X[i])\n Y[i] = T[i] + T[N-1-i] }", False),
    ],
)
def test_elements_that_move_with_the_innermost_loop_are_plain(text: str, expected: bool):
    assert emitted(tx.op(text), 64, scheduled=False)[0] is expected


@pytest.mark.parametrize("name", ["add", "tanh", "gelu", "shift_left", "isnan", "asinh", "diagonal", "sin"])
def test_few_passes_or_none_make_loops_as_short(name: str):
    plain, text = emitted(getattr(tx.ops, name), 1000, scheduled=True)
    assert plain and (
        fewer := next(
            (passes for passes in (llvm_backend.NO_PASSES, llvm_backend.FEW_PASSES) if passes in text), ""
        )
    )
    native = find_target("native")
    few, all_of_them = (
        llvm_backend.generate(each, native.triple, native.cpu, native.features).assembly
        for each in (text, text.replace(fewer, llvm_backend.FUNCTION_PASSES))
    )
    assert sum(map(len, inner_loops(few))) <= 1.01 * sum(map(len, inner_loops(all_of_them)))


def test_what_asks_for_its_next_vectors_is_plain():
    squash = tx.op("op squash(X: f32[M, N], b: f32[N]) -> Y: f32[M, N] { Y[i, j] = tanh(X[i, j] + b[j]) }")
    schedule = tx.schedule(squash, M=1000, N=1024).replay(
        'split("Y.j", 32)\nvectorize("Y.ji")\nprefetch("X", "Y.jo", 8)'
    )
    assert is_plain(pass_pipeline.prepared(schedule.kernel, find_target("native")))


PRODUCT = "op product(A: f32[N, N], B: f32[N, N]) -> C: f32[N, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
WINDOW = """op window(X: f32[2, N, 14, 14], F: f32[N, N, 3, 3]) -> Y: f32[2, N, 14, 14] {
  Y[n, o, y, x] = sum(c, r, s: X[n, c, y + r - 1, x + s - 1 | 0] * F[o, c, r, s]) }"""
POINTS = (
    "op points(X: f32[8, N, 56, 56], F: f32[256, N]) -> Y: f32[8, 256, 56, 56] { Y[n, o, y, x] = sum(c: X[n, "
    "c, y, x] * F[o, c]) }"
)
"""Rows and columns are counted as one, and which lanes of a copy are there is asked of the row."""
COLUMNS = "op columns(X: f32[N, N]) -> y: f32[N] { y[j] = sum(i: X[i, j]) }"
NORM = """op norm(X: f32[8, N, 28, 28], m: f32[N], v: f32[N], w: f32[N], b: f32[N]) -> Y: f32[8, N, 28, 28] {
  Y[n, c, y, x] = max((X[n, c, y, x] - m[c]) / sqrt(v[c] + 1e-5) * w[c] + b[c], 0) }"""
UPDATE = """op update(W: f32[N, N, 1, 1], rate: f64, G: f32[32, N, 16, 16], X: f32[32, N, 16, 16]) -> V: f32[N, N, 1, 1] {
  V[o, c, r, s] = W[o, c, r, s] - f32(rate) * sum(n, y, x: G[n, o, y, x] * X[n, c, y, x]) }"""


@pytest.mark.parametrize(
    ("text", "size", "expected"),
    [
        (PRODUCT, 64, True),
        (WINDOW, 64, True),
        ("op rows(X: f32[N, N]) -> y: f32[N] { y[i] = sum(j: X[i, j]) }", 64, True),
        (COLUMNS, 4096, False),
        (
            "op some(c: bool[N], X: f32[N, N]) -> y: f32[N] { y[i] = sum(j: if c[j] then X[i, j] else 0) }",
            64,
            False,
        ),
        (PRODUCT, 999, True),
        (POINTS, 64, False),
        (SCALED.format(of="N", at="i"), 1024, True),
        (NORM, 64, True),
        (UPDATE, 64, True),
    ],
)
def test_sums_in_registers_are_seen(text: str, size: int, expected: bool):
    program, target = tx.op(text).program(), find_target("x86-64-v4")
    final = pass_pipeline.prepared(
        tx.Schedule(program, dict.fromkeys(program.sizes, size)).auto(target.name).kernel, target
    )
    assert sums_in_registers(final) is expected


@pytest.mark.parametrize(("text", "size"), [(SCALED.format(of="N", at="i"), 1024), (NORM, 64)])
def test_what_stays_the_same_is_read_before_loops(text: str, size: int):
    """So few passes make the longest loop as short as all of them."""
    native = find_target("native")
    _, few = emitted(tx.op(text), size, scheduled=True)
    code = [
        llvm_backend.generate(each, native.triple, native.cpu, native.features).assembly
        for each in (few, few.replace(llvm_backend.REGISTER_PASSES, llvm_backend.FUNCTION_PASSES))
    ]
    assert max(map(len, inner_loops(code[0]))) <= 1.05 * max(map(len, inner_loops(code[1])))


@pytest.mark.parametrize(("text", "size"), [(PRODUCT, 64), (PRODUCT, 999), (WINDOW, 64)])
def test_few_passes_keep_sums_in_registers(text: str, size: int):
    """The longest inner loop, that of the sums, is as long as after all passes, and neither
    reads nor writes the stack.
    """
    native = find_target("native")
    if not native.machine.vector_registers >= 32:
        pytest.skip("tiles for fewer registers are others")
    _, few = emitted(tx.op(text), size, scheduled=True)
    assert llvm_backend.REGISTER_PASSES in few
    longest = []
    for each in (few, few.replace(llvm_backend.REGISTER_PASSES, llvm_backend.FUNCTION_PASSES)):
        loops = inner_loops(llvm_backend.generate(each, native.triple, native.cpu, native.features).assembly)
        longest.append(max((loop for loop in loops if any("fmadd" in n for n in loop)), key=len))
    assert len(longest[0]) <= 1.05 * len(longest[1]) and not any("rsp" in n for n in longest[0])


def test_operands_that_are_packed_once_leave_as_little():
    """The condition that asks whether they are stands outside of all loops."""
    native, op = find_target("native"), tx.op(PRODUCT)
    schedule = tx.Schedule(op.program(), dict.fromkeys(op.program().sizes, 999)).auto(constant=["B"])
    final = with_prepacking(pass_pipeline.prepared(schedule.kernel, native), frozenset({"B"}))
    assert any(isinstance(s, If) for s in final.body) and sums_in_registers(final)
    text, _ = emit_llvm(with_scratch(final), native)
    if native.machine.vector_registers < 32:
        return  # tiles for fewer registers are others
    longest = [
        max(
            map(
                len,
                inner_loops(llvm_backend.generate(each, native.triple, native.cpu, native.features).assembly),
            )
        )
        for each in (text, text.replace(llvm_backend.REGISTER_PASSES, llvm_backend.FUNCTION_PASSES))
    ]
    assert longest[0] <= 1.05 * longest[1]
