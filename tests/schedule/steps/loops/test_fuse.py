"""`fuse` where the inner extent is a size: what later steps make of the joined loop, and what
they may not.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import texpr as tx
from tests.compare import assert_same_bits
from tests.properties.schedule.drawing import random_arrays
from tests.schedule.steps.cases import EIGHT, listing, refusals
from texpr.compiler.pass_pipeline import ready
from texpr.ir.index.uncollapse import parted
from texpr.ir.interpreter.loop import ORDERS, interpret_kernel
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.printing.loop import show_kernel

OPS = {
    "plain": "op plain(X: f32[M, N]) -> Y: f32[M, N] { Y[i, j] = X[i, j] * 2 + 1 }",
    "product": "op product(A: f32[M, 3], B: f32[3, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) "
    "}",
    "cube": "op cube(X: f32[M, N, 3], w: f32[N]) -> Y: f32[M, N, 3] { Y[i, j, k] = X[i, j, k] * w[j] }",
    "volume": "op volume(X: f32[M, N, M]) -> Y: f32[M, N, M] { Y[i, j, k] = X[k, j, i] + 1 }",
    "chain": "op chain(X: f32[M, N]) -> Y: f32[M, N] { h[i, j] = exp(X[i, j])  Y[i, j] = h[i, j] + h[i, "
    "max(j - 1, 0)] }",
    "rows": "op rows(X: f32[M, N]) -> y: f32[M] { y[i] = sum(j: X[i, j]) }",
    "whole": "op whole(X: i32[M, N]) -> y: i32 { y = sum(i, j: X[i, j]) }",
    "down": "op down(X: f32[M, N]) -> Y: f32[M, N] { Y[i, j] = Y[i - 1, j | 0] + X[i, j] }",
    "right": "op right(X: f32[M, N]) -> Y: f32[M, N] { Y[i, j] = Y[i, j - 1 | 0] + X[i, j] }",
    "far": "op far(X: f32[M, N]) -> Y: f32[M, N] { Y[i, j] = Y[i, j - 9 | 0] + X[i, j] }",
    "both": "op both(X: f32[M, N]) -> Y: f32[M, N] { Y[i, j] = max(Y[i - 1, j | 0], Y[i, j - 1 | 0]) + X[i, "
    "j] }",
    "wrapped": "op wrapped(X: f32[M, N]) -> Y: f32[M, N] { Y[i, j] = (if j > 0 then Y[i, j - 1 | 0] else Y[i "
    "- 1, N - 1 | 0]) + X[i, j] }",
    "inner": """op inner(X: f32[M, N]) -> Y: f32[M, N] require M >= 2, N >= 2 {
        Y[i, j] = 0
        Y[i, j] += X[i, j] for i in 1..M - 1, j in 1..N - 1 }""",
    "band": "op band(X: f32[M, N]) -> Y: f32[M, N] { Y[i, j] = if i <= j then X[i, j] else 0 }",
    "scatter": "op scatter(p: i32[M, N] in 0..3, X: i32[M, N]) -> y: i32[3] { y[k] = 0  y[p[i, j]] += X[i, "
    "j] }",
}
LEGAL = [
    ("plain", 'fuse("i", "j")'),
    ("plain", 'fuse("i", "j", name="e")\nparallel("e")'),
    ("plain", 'fuse("i", "j")\nsplit("ij", 4)\nparallel("ijo")\nvectorize("iji")'),
    ("plain", 'fuse("i", "j")\nsplit("ij", 4, tail="mask")\nparallel("ijo")'),
    ("plain", 'fuse("i", "j")\nsplit("ij", 4, tail="clip")\nparallel("ijo")'),
    ("plain", 'fuse("i", "j")\nsplit("ij", 6)\nsplit("iji", 4)\nunroll("ijii")\nparallel("ijo")'),
    ("plain", 'fuse("i", "j")\nsplit("ij", 4)\nsplit("ijo", 3)\nparallel("ijoo")\nvectorize("iji")'),
    ("plain", 'fuse("i", "j")\nsplit("ij", 4)\nfuse("ijo", "iji")\nparallel("ijoiji")'),
    ("plain", 'fuse("i", "j")\nbind("ij", "thread.x")'),
    ("plain", 'fuse("i", "j")\nsplit("ij", 4)\nbind("ijo", "block.x")\nbind("iji", "thread.x")'),
    ("plain", 'parallel("i")\nfuse("i", "j")'),
    (
        "plain",
        'split("i", 2)\nsplit("j", 3)\nreorder("io", "jo", "ii", "ji")\nfuse("io", '
        '"jo")\nparallel("iojo")\nvectorize("ji")',
    ),
    ("plain", 'split("j", 2)\nfuse("i", "jo")\nparallel("ijo")\nunroll("ji")'),
    ("plain", 'cache_read("X", "j")\nfuse("i", "j")\nparallel("ij")'),
    ("plain", 'fuse("i", "j")\ncache_read("X", "ij")\ncache_write("Y", "ij")\nparallel("Y.ij")'),
    ("plain", 'fuse("i", "j")\nunroll("ij", 4, tail="guard")'),
    ("plain", 'fuse("i", "j")\nunroll_and_jam("ij", 4, tail="guard")'),
    ("plain", 'fuse("i", "j")\nvectorize("ij", 4)\nparallel("ijo")'),
    ("plain", 'fuse("i", "j")\nspecialize(N=8)\nparallel("ij_N8")\nsplit("ij", 4)'),
    ("plain", 'fuse("i", "j")\nprefetch("X", "ij", 4)\nparallel("ij")'),
    ("plain", 'fuse("i", "j")\nsplit("ij", 4)\nprefetch("X", "ijo", 2)\nparallel("ijo")'),
    ("product", 'fuse("i", "j")\nparallel("ij")'),
    ("product", 'fuse("i", "j")\nreorder("k", "ij")'),
    ("product", 'reorder("k", "i", "j")\nfuse("i", "j")\nsplit("ij", 4)\nparallel("ijo")'),
    ("product", 'fuse("i", "j")\nfuse("ij", "k")'),
    (
        "product",
        'split("i", 2)\nsplit("j", 2)\nreorder("io", "jo", "k", "ii", "ji")\nfuse("io", '
        '"jo")\nparallel("iojo")\nvectorize("ji")',
    ),
    ("cube", 'fuse("i", "j")\nfuse("ij", "k")\nsplit("ijk", 4)\nparallel("ijko")\nvectorize("ijki")'),
    ("cube", 'fuse("j", "k")\nfuse("i", "jk")\nparallel("ijk")'),
    ("cube", 'fuse("i", "j")\nreorder("k", "ij")\nparallel("ij")'),
    ("volume", 'fuse("i", "j")\nfuse("ij", "k")\nparallel("ijk")'),
    ("volume", 'fuse("j", "k")\nfuse("i", "jk")\nsplit("ijk", 3)\nparallel("ijko")'),
    ("volume", 'fuse("j", "k")\nparallel("i")\nparallel("jk")'),
    ("chain", 'fuse("Y.i", "Y.j")\ncompute_at("h", "Y.ij")\nparallel("Y.ij")'),
    ("chain", 'fuse("h.i", "h.j")\nfuse("Y.i", "Y.j")\nparallel("h.ij")\nparallel("Y.ij")'),
    ("chain", 'inline("h")\nfuse("i", "j")\nparallel("ij")'),
    ("rows", 'fuse("i", "j")'),
    ("whole", 'fuse("i", "j")\nsplit("ij", 4)'),
    ("whole", 'fuse("i", "j")'),
    ("down", 'fuse("i", "j")\nsplit("ij", 4)'),
    ("both", 'fuse("i", "j")\nsplit("ij", 4)\nunroll("iji")'),
    ("wrapped", 'fuse("i", "j")'),
    (
        "inner",
        'fuse("Y.0.i", "Y.0.j")\nparallel("Y.0.ij")\nfuse("Y.1.i", "Y.1.j")\nsplit("Y.1.ij", '
        '4)\nparallel("Y.1.ijo")',
    ),
    ("band", 'fuse("i", "j")\nsplit("ij", 4)\nparallel("ijo")\nvectorize("iji")'),
    ("scatter", 'fuse("i", "j")\nsplit("ij", 4)'),
]
"""Schedules that keep every bit."""

REFUSED = [
    (
        "down",
        'fuse("i", "j")\nparallel("ij")',
    ),  # what an iteration of the outer loop needs, of the inner one, of either
    ("right", 'fuse("i", "j")\nparallel("ij")'),
    ("both", 'fuse("i", "j")\nparallel("ij")'),
    ("wrapped", 'fuse("i", "j")\nparallel("ij")'),
    ("down", 'fuse("i", "j")\nsplit("ij", 4)\nvectorize("iji")'),
    (
        "right",
        'fuse("i", "j")\nsplit("ij", 4)\nparallel("ijo")',
    ),  # two different tiles, at sizes at which there are two
    ("down", 'fuse("i", "j")\nsplit("ij", 4)\nparallel("ijo")'),
    (
        "far",
        'fuse("i", "j")\nsplit("ij", 4)\nvectorize("iji")',
    ),  # legal, but tiles of pairs are no linear question
    ("right", 'parallel("i")\nfuse("i", "j")'),
    ("whole", 'fuse("i", "j")\nparallel("ij")'),
    ("scatter", 'fuse("i", "j")\nparallel("ij")'),
    ("right", 'fuse("i", "j")\nsplit("ij", 4)\nreorder("iji", "ijo")'),
    ("product", 'fuse("i", "j")\nsplit("ij", 4)\nreorder("ijo", "k", "iji")'),
    ("product", 'fuse("i", "j")\ntile("ij", "k", sizes=(4, 2))'),
    ("plain", 'fuse("i", "j")\nsplit("ij", 4, tail="peel")'),
    ("plain", 'fuse("i", "j")\nsplit("ij", 4, tail="overlap")'),
    ("plain", 'fuse("i", "j")\nunroll("ij", 4)'),
    ("plain", 'fuse("i", "j")\npeel("ij", 1, 1)'),
    ("plain", 'fuse("i", "j")\nsplit("ij", 4)\npartition("ijo")'),
    ("plain", 'fuse("i", "j")\nreverse("ij")'),
    ("chain", 'fuse("Y.i", "Y.j")\nsplit("Y.ij", 4)\ncompute_at("h", "Y.ijo")'),
    ("chain", 'fuse("h.i", "h.j")\ninline("h")'),
]


@pytest.mark.parametrize(("name", "script"), LEGAL, ids=[f"{name}-{k}" for k, (name, _) in enumerate(LEGAL)])
def test_every_bit_is_kept(name: str, script: str):
    """At sizes from 0, whatever runs at once in several orders; and both provers see it."""
    s = tx.schedule(tx.op(OPS[name])).replay(script)
    program = ready(s.program)
    for m, n in product((0, 1, 2, 3, 5), repeat=2):
        sizes = {v: {"M": m, "N": n}[v.name] for v in program.sizes}
        if name == "inner" and min(m, n) < 2:
            continue
        arrays = random_arrays(program, sizes)
        expected = interpret(program, arrays)
        for order in ORDERS if min(m, n) > 1 else ("serial",):
            for found, wanted in zip(interpret_kernel(s.kernel, arrays, sizes, order), expected):
                assert_same_bits(found, wanted)
    assert s.certificate()


@pytest.mark.parametrize(
    ("name", "script"), REFUSED, ids=[f"{name}-{k}" for k, (name, _) in enumerate(REFUSED)]
)
def test_refused(name: str, script: str, golden):
    *before, last = script.split("\n")
    s = tx.schedule(tx.op(OPS[name])).replay("\n".join(before))
    with pytest.raises(tx.ScheduleError) as error:
        s.replay(last)
    text = str(error.value)
    if error.value.code == "order" and error.value.witness:
        text += f"\n{error.value.replay()}"
    golden(text)


def test_fuse(golden):
    s = tx.schedule(tx.op(OPS["cube"])).fuse("i", "j").split("ij", 8).parallel("ijo")
    golden(str(s))


def test_what_provers_see(golden):
    s = (
        tx.schedule(tx.op(OPS["product"]))
        .split("i", 2)
        .split("j", 4)
        .reorder("io", "jo", "k", "ii", "ji")
        .fuse("io", "jo")
    )
    golden(show_kernel(parted(s.parallel("iojo").kernel).kernel))


def test_lanes_are_contiguous():
    """The divisions by a row's length cancel in addresses: whole vectors, whatever the length."""
    s = tx.schedule(tx.op(OPS["plain"])).fuse("i", "j").split("ij", 8).vectorize("iji")
    kernel = s.compile(target="x86-64-v3")
    assert "sdiv" not in kernel.llvm and "masked.load.v8f32" in kernel.llvm and "gather" not in kernel.llvm


@pytest.mark.parametrize("shape", [(3, 5), (1, 17), (17, 1), (0, 4), (4, 0)])
def test_compiled(shape):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    s = tx.schedule(tx.op(OPS["plain"])).fuse("i", "j").split("ij", 8).parallel("ijo").vectorize("iji")
    np.testing.assert_array_equal(s.compile()(x), x * 2 + 1)
    w = np.random.default_rng(1).standard_normal((*shape, 3)).astype(np.float32)
    v = np.ones(shape[1], np.float32)
    t = (
        tx.schedule(tx.op(OPS["cube"]))
        .fuse("i", "j")
        .fuse("ij", "k")
        .split("ijk", 8)
        .parallel("ijko")
        .vectorize("ijki")
    )
    np.testing.assert_array_equal(t.compile()(w, v), w * v[:, None])


def test_more_iterations_than_a_number_counts():
    s = tx.schedule(tx.op("op f(X: f32[M], Y: f32[N]) -> s: f32 { s = sum(i, j: X[i] * Y[j]) }")).fuse(
        "i", "j"
    )
    kernel = s.compile()
    shapes = (1 << 31,), (1 << 31,)
    with pytest.raises(tx.ResourceError) as e:
        kernel.bind(shapes)
    assert str(e.value) == "error[size]: f: a loop would have M * N = 4611686018427387904 iterations"


LISTINGS = {
    "fuse": ("stencil", {"N": 8}, 's.fuse("i", "j")'),
    "fuse_named": ("stencil", {"M": 3, "N": 8}, 's.fuse("i", "j", name="pixel")'),
    "fuse_imperfect": ("matmul", {"N": 4, "K": 5}, 's.fuse("i", "j").fuse("ij", "k")'),
}


@pytest.mark.parametrize("name", LISTINGS)
def test_listing(name, golden):
    listing(golden, *LISTINGS[name])


WRONG = [
    ("matmul", EIGHT, 's.fuse("i", "j", name="k")'),
    ("matmul", EIGHT, 's.fuse("i", "j", name="")'),
    ("matmul", EIGHT, 's.fuse("i", "j", name="B")'),
    ("matmul", EIGHT, 's.fuse("i", "k")'),
    ("matmul", EIGHT, 's.fuse("j", "i")'),
    ("matmul", EIGHT, 's.fuse("i", "i")'),
    ("ragged", {}, 's.fuse("i", "j")'),
]


def test_refusals(golden):
    golden(refusals(WRONG))
