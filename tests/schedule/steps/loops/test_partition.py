"""Loops cut where conditions begin and cease to hold: every bit stays, at sizes around a tile,
and nothing runs in vain.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import texpr as tx
from tests.properties.schedule.drawing import TEXTS, Scheduled, check, random_arrays
from tests.schedule.steps.cases import listing, refusals
from texpr.autoschedule.driver import auto
from texpr.ir.build import add
from texpr.ir.expr import index
from texpr.ir.interpreter.loop import ORDERS
from texpr.ir.loop import For, If
from texpr.ir.machine import Machine
from texpr.ir.printing.loop import show_kernel
from texpr.ir.shapes import evaluate_size
from texpr.ir.traverse import statements
from texpr.passes.loop.simplify_guards import drop_guards
from texpr.passes.loop.unroll import expand_unrolled
from texpr.schedule.structure.loops import find_loops, loops_around, replace_loops

TRIANGLES = {
    "triangle": (TEXTS["triangle"], 'split("j", 4)\npartition("jo")'),
    "rows": (TEXTS["triangle"], 'split("i", 4)\nreorder("io", "j", "ii")\npartition("Y.ii")'),
    "both": (
        TEXTS["triangle"],
        'split("i", 4)\nsplit("j", 4)\nreorder("io", "jo", "ii", "ji")\npartition("Y.jo")\npartition("Y.ii")',
    ),
    "clipped": (TEXTS["triangle"], 'split("j", 4, tail="clip")\npartition("jo")'),
    "lanes": (
        TEXTS["triangle"],
        'split("j", 4)\nrfactor("ji", reassoc=True)\nvectorize("Y.ji")\npartition("jo")',
    ),
    "upper": (TEXTS["upper"], 'reorder("j", "i")\nsplit("i", 4)\npartition("io")'),
    "skewed": (TEXTS["wave"], 'skew("j", "i")\nreorder("j", "i")\nsplit("i", 4)\npartition("io")'),
    "band": (
        "op band(X: f32[M, N]) -> Y: f32[M] { Y[i] = sum(j where j <= i and i < j + 6: X[i, j]) }",
        'split("j", 4)\npartition("jo")',
    ),
    "padded": (
        "op padded(X: f32[N]) -> Y: f32[N] { Y[i] = X[i - 3 | 0] + X[i] }",
        'split("i", 4)\npartition("io", choices=True)',
    ),
    "line": (
        "op line(X: f32[M, N]) -> Y: f32[M] { Y[i] = sum(j where j == i + 1: X[i, j]) }",
        'partition("j")',
    ),
    "thirds": (
        "op thirds(X: f32[M, N]) -> Y: f32[M] { Y[i] = sum(j where 3 * j + 1 > 2 * i: X[i, j]) }",
        'split("j", 4)\npartition("jo")',
    ),
    "chosen": (
        "op chosen(X: f32[M, N]) -> Y: f32[M] { Y[i] = sum(j where j <= i and X[i, j] > 0: X[i, j]) }",
        'partition("j")',
    ),
    "parallel": (
        "op lower(X: f32[M, N]) -> Y: f32[M, N] { Y[i, j] = X[i, j]  Y[i, j] += X[i, j] for i in 0..M, j in "
        "0..N where j <= i }",
        'parallel("Y.1.j")\npartition("Y.1.j")',
    ),
}
AROUND = [0, 1, 3, 4, 5, 9]
"""Sizes around tiles of 4."""


@pytest.mark.parametrize("name", TRIANGLES)
def test_every_bit_stays_at_sizes_around_a_tile(name: str):
    text, script = TRIANGLES[name]
    operator = tx.op(text)
    symbolic = tx.schedule(operator).replay(script)
    assert symbolic.certificate()
    for m in AROUND:
        for n in {m, 4, 9}:
            sizes = {v: {"M": m, "N": n}[v.name] for v in symbolic.program.sizes}
            arrays = random_arrays(symbolic.program, sizes)
            if "reassoc" in script:
                arrays = [a.round() for a in arrays]
            constant = (
                tx.schedule(operator, **{v.name: size for v, size in sizes.items()}).replay(script)
                if m and n
                else symbolic
            )
            for s in (symbolic, constant):
                check(
                    Scheduled(s.program, sizes, s.kernel, s.steps),
                    s.kernel,
                    arrays,
                    ORDERS[(m + n) % len(ORDERS)],
                )


@pytest.mark.parametrize("name", TRIANGLES)
def test_constant_sizes_are_certified(name: str):
    text, script = TRIANGLES[name]
    sizes = {v.name: 13 + 4 * k for k, v in enumerate(tx.op(text).program().sizes)}
    assert tx.schedule(tx.op(text), **sizes).replay(script).certificate()


def test_tiles_above_the_diagonal_are_not_run_and_whole_ones_have_no_condition():
    s = tx.schedule(tx.op(TEXTS["triangle"]), M=40, N=64).replay('split("j", 8)\npartition("jo")')
    free, bounded = find_loops(s.kernel, "jo")
    assert not any(isinstance(n, If) for n in statements(free)) and any(
        isinstance(n, If) for n in statements(bounded)
    )
    (around,) = loops_around(s.kernel, free)
    for i in range(40):
        runs = [evaluate_size(n.extent, {around.var: i}) for n in (free, bounded)]
        assert runs == [(i + 1) // 8, (i + 1) % 8 > 0]


def test_choices_of_copies_are_decided_where_they_count():
    op = tx.op("op f(W: f32[3, 4], X: f32[4, 30]) -> Y: f32[3, 30] { Y[i, j] = sum(c: W[i, c] * X[c, j]) }")
    s = tx.schedule(op).split("j", 12, tail="pad").reorder("jo", "i", "c", "ji").cache_read("X", "jo")
    s.split("X_cache.d1", 4)
    with pytest.raises(tx.ScheduleError, match="nothing in `d1o` stands under a condition"):
        s.partition("X_cache.d1o")
    copies = [line for line in str(s.partition("X_cache.d1o", choices=True)).splitlines() if "copy" in line]
    assert [(" if " in line, "X[" in line) for line in copies] == [
        (False, True),
        (True, True),
        (False, False),
    ]
    assert s.certificate()


@pytest.mark.parametrize("part", [0, 1])
def test_a_loop_cut_elsewhere_is_not_certified(part: int):
    """One iteration more without conditions, or after them, is one too many."""
    s = tx.schedule(tx.op(TEXTS["triangle"]), M=40, N=64).replay('split("j", 8)\npartition("jo")')
    wrong = find_loops(s.kernel, "jo")[part]
    kernel = replace_loops(s.kernel, [wrong], lambda n: replace(n, extent=add(n.extent, index(1))))
    s.kernel = kernel if part == 0 else _without_conditions(kernel, wrong)
    with pytest.raises(tx.ScheduleError, match="not proven"):
        s.certificate()


def _without_conditions(kernel, loop: For):
    (inner,) = (n for n in statements(*loop.body) if isinstance(n, For))
    (store,) = (n for n in statements(inner) if not isinstance(n, For | If))
    return replace_loops(kernel, [inner], lambda n: replace(n, body=(store,)))


def test_parts_keep_their_buffers_apart():
    """What an iteration computes for itself has a buffer in each part, so that each may lie in
    registers.
    """
    s = tx.schedule(
        tx.op("""op f(X: f32[M, N]) -> Y: f32[M, N] {
        let t: f32[M, N]
        t[i, j] = X[i, j] * 2 where j <= i
        Y[i, j] = t[i, j] + 1 where j <= i
        Y[i, j] = 0 where j > i }"""),
        M=40,
        N=40,
    )
    s.split("Y.0.j", 8).compute_at("t", "Y.0.jo").partition("Y.0.jo")
    assert "t_last" in str(s) and s.certificate()


def test_the_default_schedule_separates_triangles_and_leaves_tails():
    masked = tx.op(
        "op f(X: f32[M, M], v: f32[M]) -> Y: f32[M] { Y[i] = sum(j where j <= i: X[i, j] * v[j]) }"
    )
    assert "partition(" in tx.schedule(masked, M=500).auto().script()
    full = tx.op("op f(X: f32[M, M], v: f32[M]) -> Y: f32[M] { Y[i] = sum(j: X[i, j] * v[j]) }")
    assert "partition(" not in tx.schedule(full, M=500).auto().script() + tx.schedule(full).auto().script()


@pytest.mark.parametrize("length", [1, 63, 64, 65, 150])
def test_default_schedules_of_triangles_compute_them(length: int):
    operator = tx.op("""op causal(Q: f32[L, D], K: f32[L, D]) -> P: f32[L, L] {
        let S: f32[L, L]
        S[i, j] = sum(d: Q[i, d] * K[j, d]) where j <= i
        m[i] = max(j where j <= i: S[i, j])
        P[i, j] = S[i, j] - m[i] where j <= i
        P[i, j] = 0 where j > i }""")
    s = tx.schedule(operator, L=length, D=8).auto()
    assert s.certificate() and "partition(" in s.script()
    q, k = (
        np.random.default_rng(0).integers(-8, 8, (2, length, 8)).astype("f4")
    )  # sums of small integers are exact in any order
    np.testing.assert_array_equal(s.compile()(q, k), tx.interpret(operator, q, k))


def test_terms_that_end_with_the_row_are_no_pairs():
    """Those would ask for the end of each row; cut where conditions begin, terms of all rows
    have none, and the last are written out.
    """
    op = tx.op(
        "op causal(e: f32[N, N], V: f32[N, D]) -> O: f32[N, D] { O[i, d] = sum(j in 0..i + 1: e[i, j] * V[j, "
        "d]) }"
    )
    machine = Machine(vector_bytes=64, vector_registers=32, caches=(48 << 10, 2 << 20), cores=2)
    steps, kernel = auto(tx.schedule(op, N=64, D=64).kernel, machine)
    assert not [
        step for step in steps if step.name == "split" and step.args[0] == "O.j"
    ] and 'partition("O.j")' in map(str, steps)
    assert "if" in show_kernel(kernel) and "if" not in show_kernel(drop_guards(expand_unrolled(kernel)))


LISTINGS = {
    "separate": ("triangle", {"M": 40, "N": 40}, 's.split("j", 8).partition("jo")'),
    "separate_symbolic": ("triangle", {}, 's.split("j", 8).partition("jo")'),
    "separate_both_ends": (
        "wave",
        {"M": 9, "N": 20},
        's.skew("j", "i").split("j", 4).reorder("jo", "i", "ji").partition("i")',
    ),
    "separate_copies": ("matmul", {}, 's.split("i", 8).reorder("k", "j", "io", "ii").partition("C.io")'),
}


@pytest.mark.parametrize("name", LISTINGS)
def test_listing(name, golden):
    listing(golden, *LISTINGS[name])


REFUSED = [
    ("filtered", {}, 's.partition("j")'),
    ("filtered", {}, 's.partition("n")'),
    ("triangle", {}, 's.partition("x")'),
    ("triangle", {}, "s.separate(3)"),
    ("matmul", {}, 's.partition("i")'),
    ("matmul", {}, 's.split("i", 4).reorder("ii", "io").vectorize("C.ii").partition("C.io")'),
    ("stencil", {}, 's.vectorize("j").partition("ji")'),
]


def test_refusals(golden):
    golden(refusals(REFUSED))


@pytest.mark.parametrize(
    ("sizes", "split", "loop"), [({}, 0, "i"), ({"N": 9}, 0, "i"), ({"N": 64}, 8, "io"), ({"N": 1}, 0, "i")]
)
def test_a_clamp_is_no_condition_and_peel_takes_it_away(sizes: dict[str, int], split: int, loop: str):
    s = tx.schedule(
        tx.op("op near(X: f32[N]) -> Y: f32[N] { Y[i] = X[i - 1 | clamp] + X[i + 1 | clamp] }"), **sizes
    )
    s = s.split("i", split) if split else s
    with pytest.raises(tx.ScheduleError, match="stands under a condition, and a clamp is none") as refused:
        s.partition(loop)
    assert refused.value.help.startswith(f'peel("{loop}", FIRST, LAST) runs so many iterations')
    if sizes.get("N", 2) > 1:
        middle = str(s.peel(loop, 1, 1)).split(f"for Y.{loop} ")[2]
        assert "min(" not in middle and "max(i" not in middle
