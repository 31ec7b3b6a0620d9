"""Which kernels are loops over elements alone, and that few of LLVM's passes make the same loops of them as all do."""

from __future__ import annotations

import pytest

import texpr as tx
from tests.targets.assembly import inner_loops
from texpr.compiler import pipeline
from texpr.targets import emit_llvm, find_target, llvm
from texpr.targets.plain import is_plain

SCALED = "op scaled(X: f32[N, M], b: f32[{of}]) -> Y: f32[N, M] {{ Y[i, j] = X[i, j] * b[{at}] }}"


def emitted(op: tx.Op, size: int, *, scheduled: bool) -> tuple[bool, str]:
    """Whether an operator's naive loops, or those of its default schedule, are plain; and their code."""
    program, target = op.program(), find_target("native")
    schedule = tx.Schedule(program, dict.fromkeys(program.sizes, size))
    final = pipeline.prepared((schedule.auto() if scheduled else schedule).kernel, target)
    return is_plain(final), emit_llvm(final, target)[0]


@pytest.mark.parametrize(("text", "expected"), [
    ("op add(X: f32[N], Y: f32[N]) -> Z: f32[N] { Z[i] = X[i] + Y[i] }", True),
    ("op tanh(X: f32[N]) -> Y: f32[N] { Y[i] = tanh(X[i]) }", True),
    (SCALED.format(of="M", at="j"), True),
    (SCALED.format(of="N", at="i"), False),
    ("op edges(X: f32[N]) -> Y: f32[N] { Y[i] = X[min(i + 3, N - 1)] }", False),
    ("op either(c: bool[N], X: f32[N]) -> Y: f32[N] { Y[i] = if c[i] then X[i] else 0 }", False),
    ("op total(X: f32[N]) -> y: f32 { y = sum(i: X[i]) }", False),
    ("op twice(X: f32[N]) -> Y: f32[N] { T[i] = exp(X[i])\n Y[i] = T[i] + T[N-1-i] }", False),
])
def test_elements_that_move_with_the_innermost_loop_are_plain(text: str, expected: bool):
    assert emitted(tx.op(text), 64, scheduled=False)[0] is expected


@pytest.mark.parametrize("name", ["add", "tanh", "gelu", "shift_left", "isnan", "asinh", "diagonal", "sin"])
def test_few_passes_or_none_make_loops_as_short(name: str):
    plain, text = emitted(getattr(tx.ops, name), 1000, scheduled=True)
    assert plain and (fewer := next((passes for passes in (llvm.NONE, llvm.FEW) if passes in text), ""))
    native = find_target("native")
    few, all_of_them = (llvm.generate(each, native.triple, native.cpu, native.features).assembly
                        for each in (text, text.replace(fewer, llvm.BY_FUNCTION)))
    assert sum(map(len, inner_loops(few))) <= 1.01 * sum(map(len, inner_loops(all_of_them)))
