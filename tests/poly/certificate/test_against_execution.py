"""Certificates against running: loops changed at random are proven exactly if they compute the
operator.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.poly.certificate.changes import (
    changed_extent,
    dropped_condition,
    marked,
    removed,
    reversed_loop,
    shifted_constant,
    shifted_index,
    swapped,
)
from tests.poly.certificate.exactly import Wrong, outputs
from tests.profiles import examples
from texpr.compiler.pass_pipeline import ready
from texpr.ir.build import integer
from texpr.ir.loop import Kernel
from texpr.ir.printing.loop import full_listing
from texpr.ir.tensor import Program
from texpr.passes import specialize
from texpr.passes.loop.place_buffers import place
from texpr.passes.loop.simplify_guards import drop_guards
from texpr.poly.certificate import certify

OPS = {
    "matmul": (
        "op f(A: i64[M, K], B: i64[K, N]) -> C: i64[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }",
        {"M": 3, "K": 4, "N": 2},
    ),
    "blur": (
        "op f(X: i64[N]) -> Y: i64[N] {\n  T[i] = X[i - 1 | 0] + 3 * X[i]\n  Y[i] = T[i] - T[i + 1 | 5] }",
        {"N": 5},
    ),
    "scan": ("op f(X: i64[N]) -> Y: i64[N] { Y[i] = 2 * Y[i - 1 | 0] + X[i] }", {"N": 4}),
    "rows": (
        "op f(X: i64[N, M]) -> Y: i64[N, M] {\n  m[n] = max(j: X[n, j])\n  Y[n, j] = X[n, j] - m[n] }",
        {"N": 3, "M": 4},
    ),
    "stencil": (
        "op f(X: i64[N, M]) -> Y: i64[N, M] { Y[i, j] = X[i - 1, j | clamp] - 7 * X[i, j + 1 | wrap] }",
        {"N": 3, "M": 3},
    ),
    "edges": (
        """op f(X: i64[N]) -> Y: i64[N] require N > 2 {
  a[i] = X[i - 1 | clamp] - 3 * X[i]
  b[i] = a[i + 1 | reflect] + 5 * a[i]
  Y[i] = b[i - 2 | wrap] - 7 * b[i] }""",
        {"N": 5},
    ),
    "triangle": ("op f(X: i64[N]) -> Y: i64[N] { Y[i] = sum(j in 0..i + 1: X[j] * (j + 2)) }", {"N": 4}),
    "mirror": (
        "op f(X: i64[N]) -> Y: i64[N] {\n  T[i] = X[i + 1 | 0] + 1 for i in 0..N\n  Y[i] = T[i] - 3 * T[N - "
        "1 - i] }",
        {"N": 5},
    ),
    "carried": (
        """op f(X: i64[N, M]) -> Y: i64[N, M] {
  let c: i64[N, M]
  c[t, m] = c[t - 1, m | 0] * 2 + X[t, m]
  Y[t, m] = c[t, m] * 3 }""",
        {"N": 4, "M": 2},
    ),
}
SCRIPTS = {
    "matmul": [
        "",
        'split("k", 3)\nrfactor("ki")',
        'split("i", 2)\nsplit("j", 2)\nreorder("io", "jo", "k", "ii", "ji")\nparallel("io")',
        'reorder("k", "i", "j")',
        'cache_read("B", "k")\npipeline("k")',
        'split("i", 2, tail="peel")\nunroll("ii")\nvectorize("j")',
    ],
    "blur": [
        "",
        'split("Y.i", 2)\nparallel("Y.io")',
        'peel("T.i", 1, 1)',
        'compute_at("T", "Y.i", slide=True)\nfold_storage("T", 0)',
        'split("Y.i", 2)\ncompute_at("T", "Y.io")\npipeline("T")',
    ],
    "scan": ["", 'split("i", 3)'],
    "rows": [
        "",
        'split("m.j", 3)\nrfactor("m.ji")',
        'compute_at("m", "Y.n")\nparallel("Y.n")',
        'vectorize("Y.j")',
        'compute_at("m", "Y.n")\npipeline("m")',
    ],
    "stencil": [
        "",
        'fuse("i", "j")\nvectorize("ij")',
        'peel("j", 1, 1)\nparallel("i")',
        'split("i", 2, tail="guard")',
    ],
    "edges": [
        'inline("a")\ninline("b")',
        'inline("b")\nparallel("Y.i")',
        'inline("a")\ninline("b")\nsplit("i", 2)\nvectorize("ii")',
    ],
    "triangle": ["", 'split("j", 2)', 'pipeline("i", 3)'],
    "mirror": ["", 'split("T.i", 3, tail="pad")', 'split("T.i", 2, tail="pad")\nvectorize("T.ii")'],
    "carried": [
        "",
        'compute_at("c", "Y.t")\nfold_storage("c", 0)',
        'compute_at("c", "Y.t")\nfold_storage("c", 0, 3)',
    ],
}
SOUND = [(name, script) for name, scripts in SCRIPTS.items() for script in scripts]


STRICTER: tuple[str, ...] = ()
"""Obligations that are refused where the result happens to be right."""


@cache
def prepared(name: str, script: str) -> tuple[Kernel, Program, tx.Op]:
    """A kernel as it is certified, with what it should compute."""
    text, sizes = OPS[name]
    op = tx.op(text)
    s = tx.schedule(op, **sizes).replay(script)
    return drop_guards(place(s.kernel)), ready(specialize(s.program, s.sizes)), op


CHANGES = [
    shifted_index,
    shifted_constant,
    changed_extent,
    dropped_condition,
    marked,
    swapped,
    removed,
    reversed_loop,
]


def problem(kernel: Kernel, op: tx.Op) -> str:
    """What is wrong with loops when they are run on some arrays, as a maximum is often right by
    chance; nothing if they compute it.
    """
    return next(
        (found for seed in range(8) if (found := problem_with(kernel, op, np.random.default_rng(seed)))), ""
    )


def problem_with(kernel: Kernel, op: tx.Op, random: np.random.Generator) -> str:
    inputs = {
        t.name: random.integers(-(1 << 20), 1 << 20, [integer(n) or 0 for n in t.shape])
        for t in kernel.inputs
    }
    try:
        (found,) = outputs(kernel, inputs, {})
    except Wrong as e:
        return str(e)
    return "" if np.array_equal(found, np.asarray(tx.interpret(op, *inputs.values()))) else "another result"


def refusal(kernel: Kernel, program: Program) -> str:
    """Why a certificate is refused; nothing if it is not."""
    try:
        certify(kernel, program)
    except tx.ScheduleError as e:
        return f"{e.label}: {e}"
    return ""


@pytest.mark.parametrize(("name", "script"), SOUND)
def test_sound_loops_are_proven_and_run(name: str, script: str):
    kernel, program, op = prepared(name, script)
    assert not refusal(kernel, program)
    assert not problem(kernel, op)


@given(
    st.sampled_from(SOUND),
    st.lists(
        st.tuples(st.sampled_from(CHANGES), st.integers(0, 30), st.sampled_from([1, -1])),
        min_size=1,
        max_size=2,
    ),
)
@examples(40)
def test_changed_loops_are_proven_exactly_if_they_run(sound, changes):
    kernel, program, op = prepared(*sound)
    for change, number, by in changes:
        kernel = change(kernel, number, by)
    refused, wrong = refusal(kernel, program), problem(kernel, op)
    if wrong:
        assert refused, f"accepted, but {wrong}:\n{full_listing(kernel)}"
    elif refused and not any(refused.startswith(reason) for reason in STRICTER):
        raise AssertionError(f"runs, but {refused}\n{full_listing(kernel)}")
