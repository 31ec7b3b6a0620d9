"""Default schedules of nests that are joined by row: normalizations over rows that the caches do
not hold.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import texpr as tx
from texpr.autoschedule.driver import auto
from texpr.ir.loop_kind import VECTOR
from texpr.ir.machine import Machine
from texpr.schedule.structure.loops import all_loops

ROWS = Machine(64, 32, (32 << 10, 1 << 20, 32 << 20), 2, prefers_nontemporal_stores=True)
SOFTMAX = tx.op("""op softmax(X: f32[N, M]) -> Y: f32[N, M] {
  m[i] = max(j: X[i, j])
  e[i, j] = exp(X[i, j] - m[i])
  Y[i, j] = e[i, j] / sum(k: e[i, k])
}""")


BIAS = tx.op("op f(X: f32[N, M], b: f32[M]) -> Y: f32[N, M] { Y[i, j] = max(X[i, j] + b[j], 0) }")
NORM = tx.op("""op norm(X: f32[N, M], g: f32[M], b: f32[M]) -> Y: f32[N, M] {
  m[i] = sum(j: X[i, j]) / f32(M)
  v[i] = sum(j: (X[i, j] - m[i]) * (X[i, j] - m[i])) / f32(M)
  Y[i, j] = (X[i, j] - m[i]) * rsqrt(v[i] + 1e-5) * g[j] + b[j]
}""")


def _steps(op: tx.Op, **sizes: int) -> list[str]:
    return [str(step) for step in auto(tx.schedule(op, **sizes).kernel, ROWS)[0]]


@pytest.mark.parametrize(
    "n, m, rows, early",
    [(4096, 1024, "Y.io", True), (65536, 2048, "Y.i", True), (64, 1024, "", False), (64, 100000, "", False)],
)
def test_rows_from_memory_are_asked_for_while_functions_are_computed(n, m, rows, early):
    """Where the second cache does not hold the tensor, and has room for two rows."""
    steps = _steps(SOFTMAX, N=n, M=m)
    assert [step for step in steps if step.startswith("prefetch")] == [
        f'prefetch("X", "{rows}", 1, at="e.jo")'
    ] * early


@pytest.mark.parametrize(
    "op, n, m, cut",
    [
        (SOFTMAX, 4096, 1024, "m"),
        (NORM, 256, 1024, "v"),
        (NORM, 257, 130, "v"),
        (SOFTMAX, 127, 1024, None),
        (NORM, 256, 1280, None),
        (NORM, 4096, 1024, None),
    ],
    ids=["sums", "operands", "rest", "few", "long", "far"],
)
def test_rows_that_are_summed_are_computed_in_pairs(op, n, m, cut):
    """Cut behind the first sum, or before elements that have operands in common where the second
    cache holds them all; if there are many rows and the first cache holds two.
    """
    steps = _steps(op, N=n, M=m)
    assert [step for step in steps if "fission" in step][:1] == [f'fission("Y.ii", "{cut}", name="row")'] * (
        cut is not None
    )
    assert ('reorder("Y.jo", "Y.row")' in steps) == (cut == "v")


@pytest.mark.parametrize("op", [SOFTMAX, NORM], ids=["softmax", "norm"])
@pytest.mark.parametrize("n, m", [(2048, 128), (2049, 130)])
def test_pairs_of_rows_are_proven_and_right(op, n, m):
    s = tx.schedule(op, N=n, M=m).auto()
    assert 'name="row"' in s.script() and s.certificate()
    arrays = [
        np.random.default_rng(k).random([{"N": n, "M": m}[v.name] for v in t.shape], np.float32)
        for k, t in enumerate(op.program().inputs)
    ]
    assert np.allclose(s.compile()(*arrays), tx.interpret(op, *arrays), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "n, m, streams, turns",
    [
        (16384, 1024, True, ['pipeline("e", 2)', 'split("e.jo", 4, tail="exact")', 'merge("e.joo", "Y.jo")']),
        (16384, 1040, True, []),
        (16384, 1024, False, []),
        (2048, 1024, True, []),
    ],
    ids=["far", "ragged", "none", "near"],
)
def test_rows_past_the_caches_take_turns_with_functions_of_the_next(n, m, streams, turns):
    """Where loops over both are of whole vectors alone, and the output is written past the
    caches at all.
    """
    steps = [
        str(step)
        for step in auto(
            tx.schedule(SOFTMAX, N=n, M=m).kernel, replace(ROWS, prefers_nontemporal_stores=streams)
        )[0]
    ]
    assert steps[len(steps) - len(turns) :] == turns and ("pipeline" in " ".join(steps)) == bool(turns)


@pytest.mark.parametrize("n", [128, 129])
def test_rows_that_take_turns_are_proven_and_right(n):
    machine = replace(ROWS, caches=(32 << 10, 1 << 16, 1 << 17))
    s = tx.schedule(SOFTMAX, N=n, M=256).replay(
        "\n".join(str(step) for step in auto(tx.schedule(SOFTMAX, N=n, M=256).kernel, machine)[0])
    )
    assert ("merge" in s.script()) == (n == 128) and s.certificate()
    x = np.random.default_rng(0).standard_normal((n, 256), np.float32)
    assert np.allclose(s.compile()(x), tx.interpret(SOFTMAX, x), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    "n, m, row",
    [(4096, 1024, "Y.i"), (16384, 256, "Y.i"), (65536, 64, ""), (64, 1024, "")],
    ids=["pages", "lines", "short", "near"],
)
def test_the_last_nest_of_rows_from_memory_asks_for_the_next_one(n, m, row):
    asked = [step for step in _steps(NORM, N=n, M=m) if step.startswith("prefetch")]
    assert asked == [f'prefetch("X", "{row}", 1, at="Y.jo")'] * bool(row)


def test_pairs_of_rows_ask_for_the_next_pair_alone():
    op = tx.op(
        "op f(X: f32[N, M]) -> Y: f32[N, M] { m[i] = sum(j: X[i, j])  v[i] = sum(j: X[i, j] * m[i])  Y[i, j] "
        "= X[i, j] * v[i] }"
    )
    assert [step for step in _steps(op, N=4096, M=1024) if step.startswith("prefetch")] == [
        'prefetch("X", "Y.io", 1, at="Y.jo")'
    ]


@pytest.mark.parametrize(
    "value, n, ahead",
    [
        ("tanh(X[i, j] + b[j])", 4096, True),
        ("X[i, j] + b[j]", 4096, False),
        ("tanh(X[i, j] + b[j])", 16, False),
        ("tanh(X[j, i] + b[j])", 4096, False),
    ],
    ids=["functions", "light", "near", "across"],
)
def test_vectors_from_memory_are_asked_for_while_functions_are_computed(value, n, ahead):
    """A kilobyte early, of what nothing else reads."""
    steps = _steps(tx.op(f"op f(X: f32[N, N], b: f32[N]) -> Y: f32[N, N] {{ Y[i, j] = {value} }}"), N=n)
    assert [step for step in steps if step.startswith("prefetch")] == ['prefetch("X", "Y.jo", 8)'] * ahead


def test_what_a_row_keeps_near_is_not_computed_twice():
    """256 MB of exponentials, of which a row is used at a time."""
    steps = _steps(SOFTMAX, N=65536, M=1024)
    assert 'inline("e")' not in steps and 'compute_at("e", "Y.i", recompute=False)' in steps


def test_reciprocals_of_rows_are_computed_with_their_rows():
    op = tx.op(
        "op f(X: f32[A, D, B]) -> Y: f32[A, D, B] { q[a, b] = sum(d: X[a, d, b] * X[a, d, b])  "
        "Y[a, d, b] = X[a, d, b] / max(sqrt(q[a, b]), 1e-9) }"
    )
    steps = _steps(op, A=200, D=200, B=200)
    assert (
        'compute_at("Y_inv", "Y.a", recompute=False)' in steps
        and 'compute_at("q", "Y.a", recompute=False)' in steps
    )


@pytest.mark.parametrize(
    "n, m, together",
    [(512, 1024, False), (512, 4096, True), (4096, 4096, False)],
    ids=["near", "long", "past"],
)
def test_rows_follow_each_other_where_what_they_share_is_near_or_they_are_written_past_the_caches(
    n, m, together
):
    steps, _ = auto(tx.schedule(BIAS, N=n, M=m).kernel, ROWS)
    assert any(step.name == "unroll" for step in steps) == together


@pytest.mark.parametrize(
    "value, n, halves",
    [
        ("X[i, j] + 1", 512, True),
        ("X[i, j] + 1", 64, False),
        ("exp(X[i, j])", 512, False),
        ("X[i, j] + 1", 8192, False),
    ],
    ids=["light", "near", "functions", "past"],
)
def test_what_waits_for_what_it_loads_takes_halves_of_registers(value, n, halves):
    """Where the machine loads these as fast; what is written past the caches is written by whole
    lines.
    """
    op = tx.op(f"op f(X: f32[N, M]) -> Y: f32[N, M] {{ Y[i, j] = {value} }}")
    for least in (0, 1 << 20):
        steps, kernel = auto(
            tx.schedule(op, N=n, M=1024).kernel, replace(ROWS, half_vector_threshold_bytes=least)
        )
        lanes = {loop.extent.value for loop in all_loops(kernel) if loop.kind == VECTOR}
        assert (lanes == {8}) == (halves and least > 0)


@pytest.mark.parametrize("n, lanes", [(64, 16), (8192, 32)], ids=["near", "past"])
def test_functions_past_the_caches_are_written_by_two_lines(n, lanes):
    steps, kernel = auto(
        tx.schedule(
            tx.op("op f(X: f32[N, M]) -> Y: f32[N, M] { Y[i, j] = tanh(X[i, j]) }"), N=n, M=1024
        ).kernel,
        ROWS,
    )
    assert ("nontemporal" in {step.name for step in steps}) == (lanes == 32)
    assert {loop.extent.value for loop in all_loops(kernel) if loop.kind == VECTOR} == {lanes}


def test_sums_of_what_all_moves_with_the_lanes_take_two_registers_of_each_row():
    """Three would share nothing that is loaded, and of windows with edges they did not fit the
    registers.
    """
    op = tx.op("""op depthwise(X: f32[N, H, W, C], F: f32[3, 3, C]) -> Y: f32[N, (H + 1)//2, (W + 1)//2, C] require H >= 1, W >= 1 {
  Y[n, y, x, c] = sum(r, q: X[n, 2*y + r - 1, 2*x + q - 1, c | 0] * F[r, q, c]) }""")
    s = tx.schedule(op, N=1, H=28, W=28, C=96).auto("x86-64-v4")
    assert 'split("Y.c", 32' in s.script() and not re.search(
        r"\(%rsp.*zmm|zmm.*\(%rsp", s.compile("x86-64-v4").asm
    )


def test_axes_of_one_element_behind_a_row_do_not_hide_its_lines():
    op = tx.op(
        "op f(X: f32[*A:axis, D, *B]; axis = 0) -> Y: f32[*A, D, *B] { Y[*a, j, *b] = X[*a, j, *b] * 2 }"
    )
    s = tx.schedule(op, axis=1, A=4096, D=1024, B=1).replay(
        'fuse("Y.j", "Y.b", name="jb")\nvectorize("jb", 16)\nnontemporal("Y")'
    )
    assert "!nontemporal" in s.compile("x86-64-v4").llvm
